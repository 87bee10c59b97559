"""What an examination found that is found badly, each with what can be done.

It follows from what was asked and from the documents of one snapshot; nothing is asked here.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._evals import figures
from kb_app._evals.known_items import DIFFICULTIES, Difficulty, KnownItem
from kb_core.control import ADDED_SOURCE
from kb_core.media import SearchMode
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.control import EmbeddingModel
    from kb_core.ports import IndexSnapshot, StoredDoc
    from kb_core.search import Hit

__all__ = ["Asked", "Examined", "findings"]

_NAMED = 5
"""How many examples a finding has."""
_NEXT_TO_NOTHING = 20
"""Characters of a document that says nothing."""
_READ = 20_000
"""Characters of a document that are looked over."""
_GARBLED = 0.01
_SHOWN = 3
"""How many paths are named beside the first of a group."""
_FRONT = 3
_HUB = 4
"""From how many questions of other documents on a passage that comes up first is a hub."""
_FEW_QUESTIONS = 8
_FAILS = 0.5
_SURE = 0.05
_ENGLISH = "English"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question in one mode: the reciprocal rank of its document, and what was found."""

    item: KnownItem
    mode: SearchMode
    mrr: float
    hits: tuple[Hit, ...]


class Examined:
    """What was asked so far."""

    def __init__(
        self, snapshot: IndexSnapshot, docs: Sequence[StoredDoc], modes: tuple[SearchMode, ...]
    ) -> None:
        self.snapshot = snapshot
        self.docs = docs
        self.modes = modes
        self.sampled: list[StoredDoc] = []
        self.asked: list[Asked] = []

    def add(self, item: KnownItem, mode: SearchMode, mrr: float, hits: tuple[Hit, ...]) -> None:
        """Keep what came of one question."""
        self.asked.append(Asked(item, mode, mrr, hits))

    def of(self, *difficulties: Difficulty) -> list[Asked]:
        """Return the questions of these difficulties in the first mode."""
        mode = self.modes[0]
        return [a for a in self.asked if a.mode is mode and a.item.difficulty in difficulties]


Row = dict[str, Any]


def findings(examined: Examined, model: EmbeddingModel | None) -> list[Row]:
    """Return every finding that there is, what concerns whole documents first."""
    looks: tuple[Callable[[Examined], Iterable[Row]], ...] = (
        *(_empty, _garbled, _duplicates, _same_texts, _same_titles, _own_title, _own_words),
        *(_copied, _hubs, _sources),
    )
    found = [row for look in looks for row in look(examined)]
    return found + list(_by_meaning(examined, model))


def _finding(
    kind: str,
    of: int,
    says: str,
    advice: str,
    examples: Sequence[tuple[str, str]],
    *,
    number: int | None = None,
) -> Iterator[Row]:
    """Yield a finding unless there is nothing that it is about.

    *number* is how many that is, where an example stands for several.
    """
    if examples:
        shown = [
            {"what": what, "detail": detail} if detail else {"what": what}
            for what, detail in examples[:_NAMED]
        ]
        told = {"says": says, "advice": advice, "examples": shown}
        yield {"kind": kind, "count": number or len(examples), "of": of, **told}


def _empty(examined: Examined) -> Iterator[Row]:
    rows = [
        (doc["path"], f"{doc['text_chars']} characters of {doc['byte_len']:,} bytes")
        for doc in examined.docs
        if doc["text_chars"] < _NEXT_TO_NOTHING or not doc["chunk_count"]
    ]
    yield from _finding(
        "empty",
        len(examined.docs),
        "documents have next to no text, so nothing finds them",
        "scans and pictures are read with the extra ocr (kebab doctor says what is missing); "
        "leave out what has nothing to say by .kebabignore",
        rows,
    )


def _garbled(examined: Examined) -> Iterator[Row]:
    rows = []
    for doc in examined.sampled:
        text = (examined.snapshot.doc_text(doc["doc_id"]) or "")[:_READ]
        share = _unreadable(text)
        if share > _GARBLED:
            rows.append((doc["path"], f"{share:.0%} of its characters cannot be read"))
    yield from _finding(
        "garbled",
        len(examined.sampled),
        "documents have text that nobody can read",
        "look at one with kebab fetch doc; a PDF whose fonts tell nothing is better scanned "
        "anew, a text in a lost encoding better saved as UTF-8",
        rows,
    )


def _unreadable(text: str) -> float:
    """Return which share of *text* is no character that anybody wrote."""
    bad = sum(c == "\ufffd" or unicodedata.category(c) == "Co" for c in text if c > "\x7f")
    bad += sum(c < " " and c not in "\n\t\r\f" for c in text) + 6 * text.count("(cid:")
    return bad / max(1, len(text))


def _duplicates(examined: Examined) -> Iterator[Row]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for doc in examined.docs:
        if doc["bytes_hash"] and doc["byte_len"]:
            groups[doc["bytes_hash"]].append(doc["path"])
    yield from _told_together(
        "duplicate",
        examined,
        groups.values(),
        "files are there several times, byte for byte, and take each other's places among hits",
        "keep one, or leave the others out by .kebabignore",
    )


def _same_texts(examined: Examined) -> Iterator[Row]:
    """Yield documents of which the same text was read, though their files differ."""
    by_length: defaultdict[int, list[StoredDoc]] = defaultdict(list)
    for doc in examined.docs:
        if doc["text_chars"] >= _NEXT_TO_NOTHING:
            by_length[doc["text_chars"]].append(doc)
    groups: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for docs in by_length.values():
        if len({doc["bytes_hash"] for doc in docs}) > 1:
            for doc in docs:
                text = examined.snapshot.doc_text(doc["doc_id"]) or ""
                groups[text].setdefault(doc["bytes_hash"], doc["path"])
    yield from _told_together(
        "same_text",
        examined,
        [list(paths.values()) for paths in groups.values()],
        "files differ, and the same text was read of them: nothing tells them apart",
        "kebab fetch doc PATH shows it; if their own text is missing there, a file of another "
        "kind (the source of a page, a text export) says more",
    )


def _told_together(
    kind: str, examined: Examined, groups: Iterable[Sequence[str]], says: str, advice: str
) -> Iterator[Row]:
    """Yield a finding about groups of paths, the largest first."""
    same = sorted((paths for paths in groups if len(paths) > 1), key=len, reverse=True)
    rows = [(paths[0], f"also {_few(paths[1:])}") for paths in same]
    yield from _finding(kind, len(examined.docs), says, advice, rows, number=sum(map(len, same)))


def _few(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _same_titles(examined: Examined) -> Iterator[Row]:
    titles: defaultdict[str, list[str]] = defaultdict(list)
    for doc in examined.docs:
        titles[doc["title"].casefold()].append(doc["path"])
    same = [(title, paths) for title, paths in titles.items() if len(paths) > 1]
    same.sort(key=lambda row: -len(row[1]))
    yield from _finding(
        "same_title",
        len(examined.docs),
        "documents share their title with others, so no title tells them apart",
        "give documents a title of their own: a first heading, or title in the front matter",
        [(title, f"{len(paths)} documents, such as {paths[0]}") for title, paths in same],
        number=sum(len(paths) for _, paths in same),
    )


def _own_title(examined: Examined) -> Iterator[Row]:
    asked = examined.of("title")
    yield from _finding(
        "own_title",
        len(asked),
        "documents are not among the first ten for their own title",
        'kebab explain-miss "the title" --doc PATH says what stands before it',
        [(a.item.doc["path"], a.item.query) for a in asked if not a.mrr],
    )


def _own_words(examined: Examined) -> Iterator[Row]:
    asked = examined.of("sentence")
    copied = {doc for doc, _ in _copies(examined)}
    yield from _finding(
        "own_words",
        len(asked),
        "documents are not among the first ten for a sentence of their own",
        'kebab explain-miss "the sentence" --doc PATH says why',
        [
            (a.item.doc["path"], a.item.query)
            for a in asked
            if not a.mrr and a.item.doc["path"] not in copied
        ],
    )


def _copies(examined: Examined) -> Iterator[tuple[str, str]]:
    """Yield documents whose sentence stands word for word in another that comes before them."""
    hashes = {doc["doc_id"]: doc["bytes_hash"] for doc in examined.docs}
    for asked in examined.of("sentence"):
        source, own = _flat(asked.item.source), asked.item.doc["doc_id"]
        for hit in asked.hits:
            if hit.doc_id == own:
                break
            if hashes.get(hit.doc_id) == hashes[own] is not None:
                continue
            chunks = examined.snapshot.find_chunks(hit.chunk_id, 1)
            if chunks and source in _flat(chunks[0]["text"]):
                yield asked.item.doc["path"], f"the same stands in {hit.doc_path}"
                break


def _copied(examined: Examined) -> Iterator[Row]:
    yield from _finding(
        "copied",
        len(examined.of("sentence")),
        "documents say what another says word for word, and that one comes before them",
        "where one is an old copy, leave it out by .kebabignore, or trust its source less",
        list(_copies(examined)),
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _hubs(examined: Examined) -> Iterator[Row]:
    """Yield passages that come up first for many documents that they are not of."""
    asked = examined.of("sentence", "hard")
    drawn: defaultdict[str, set[str]] = defaultdict(set)
    place: dict[str, str] = {}
    for one in asked:
        for hit in one.hits[:_FRONT]:
            if hit.doc_id != one.item.doc["doc_id"]:
                drawn[hit.chunk_id].add(one.item.doc["doc_id"])
                place[hit.chunk_id] = hit.citation.uri
    least = max(_HUB, len(examined.sampled) // 10)
    hubs = [(uri, len(docs)) for uri, docs in _placed(drawn, place) if len(docs) >= least]
    hubs.sort(key=lambda row: -row[1])
    yield from _finding(
        "hub",
        len(examined.sampled),
        "passages come up among the first three for many documents that they are not of",
        "lists, templates and boilerplate do that: leave them out by .kebabignore, or split "
        "a file that speaks of everything",
        [(uri, f"for {number} other documents") for uri, number in hubs],
    )


def _placed(drawn: dict[str, set[str]], place: dict[str, str]) -> Iterator[tuple[str, set[str]]]:
    for chunk_id, docs in drawn.items():
        yield place[chunk_id], docs


def _sources(examined: Examined) -> Iterator[Row]:
    counted = Counter(doc["source_id"] for doc in examined.docs)
    known = [name for name in examined.snapshot.control.sources if name != ADDED_SOURCE]
    yield from _finding(
        "empty_source",
        len(known),
        "sources have no document at all",
        "kebab status says what became of their files; kebab ingest reads what is new",
        [(name, "") for name in known if not counted[name]],
    )
    sampled = Counter(doc["source_id"] for doc in examined.sampled)
    hit = {hit.source_id for asked in examined.asked for hit in asked.hits}
    yield from _finding(
        "silent_source",
        len(sampled),
        "sources were asked for and never came up in any list",
        "kebab explain-miss for one of their documents says why",
        [
            (name, f"{number} documents asked for")
            for name, number in sampled.items()
            if name not in hit
        ],
    )


def _by_meaning(examined: Examined, model: EmbeddingModel | None) -> Iterator[Row]:
    """Yield what search by meaning does not reach, or does not understand."""
    if model is None:
        return
    control = examined.snapshot.control
    chunks = int(control.stats.get("chunk_count", 0))
    missing = chunks - int(control.stats.get("embedded", {}).get(model.key, 0))
    if missing > 0:
        told = [(f"{missing:,} of {chunks:,} passages", "")]
        says = "passages have no embedding yet, so only words find them"
        for row in _finding("no_embedding", chunks, says, "kebab embed", told):
            yield {**row, "count": missing}
    langs = Counter(doc["lang"] for doc in examined.docs if doc["lang"] not in {None, "und", "en"})
    if model.languages == _ENGLISH:
        yield from _finding(
            "unread_language",
            len(examined.docs),
            "languages are not those of the embedding model, which reads English",
            "set embedding.model to multilingual-e5-small, then kebab embed",
            [(str(lang), f"{number} documents") for lang, number in langs.most_common()],
        )
    yield from _failing(examined)
    yield from _losing(examined)


def _losing(examined: Examined) -> Iterator[Row]:
    """Yield difficulties at which words alone find more than words and meaning together."""
    rows = []
    for difficulty in DIFFICULTIES:
        by_mode = {
            mode: {
                a.item.doc["doc_id"]: a.mrr
                for a in examined.asked
                if a.mode is mode and a.item.difficulty == difficulty
            }
            for mode in (SearchMode.LEXICAL, SearchMode.HYBRID)
        }
        words, both = by_mode.values()
        docs = [doc for doc in words if doc in both]
        found = figures.compare([words[doc] for doc in docs], [both[doc] for doc in docs])
        if found.mean > 0 and found.p < _SURE:
            rows.append((difficulty, f"mrr@10 is {found.mean:.3f} higher by words alone"))
    yield from _finding(
        "hybrid_loses",
        len(DIFFICULTIES),
        "questions of these kinds are found better by words alone, and that is more than luck",
        "quotes and half-remembered sentences are best asked with --mode lexical; for your own "
        "questions, kebab eval run --mode hybrid --mode lexical tells",
        rows,
    )


def _failing(examined: Examined) -> Iterator[Row]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for asked in examined.asked:
        if asked.mode is SearchMode.VECTOR and asked.item.difficulty in {"sentence", "hard"}:
            values[asked.item.doc["lang"] or asked.item.doc["code_lang"] or "-"].append(asked.mrr)
    rows = [
        (lang, f"{sum(mrr > 0 for mrr in found)} of {len(found)} questions find their document")
        for lang, found in sorted(values.items())
        if len(found) >= _FEW_QUESTIONS and sum(m > 0 for m in found) < _FAILS * len(found)
    ]
    yield from _finding(
        "meaning_fails",
        len(values),
        "languages are badly found by meaning",
        "search these by words (--mode lexical), or try another embedding.model",
        rows,
    )
