"""One state of the index in memory, and the snapshot that answers from it.

Filters, and which requirements of a query are let go, are evaluated in plain Python: slow,
and easy to believe. Words are folded, case and diacritics gone; runs of CJK letters become
overlapping pairs, so that a short word is found inside a longer one; everything else stays
whole. Vectors are float32 for queries, quantised for passages.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, TypeAlias, TypeVar, assert_never

from kb_core.clock import to_epoch
from kb_core.filters import FIELDS, And, Filter, Glob, Not, OneOf, Or, Range, Tagged, Words
from kb_core.linking import called, given_names, names_meant
from kb_core.media import TrustLevel
from kb_core.ports import StoredChunk, StoredDoc, StoredFile, TextBatch
from kb_core.records import ChunkRecord, Control, DocumentRecord, FileRecord
from kb_core.search import (
    FULL_MATCH_WORDS,
    Clause,
    KnownWord,
    KnownWords,
    LexicalQuery,
    Parent,
    Relaxation,
    Sampling,
    Scored,
)
from kb_core.stored import Ledger
from kb_core.testing.documents import ledger_of, stored_chunk, stored_doc, stored_file
from kb_core.values import dataclass, replace

__all__ = ["Analysed", "Entry", "Facts", "MemorySnapshot", "State", "contains_phrase", "dot"]
__all__ += ["floats", "glob_matches", "normalized", "pack_floats", "passes", "relax"]
__all__ += ["relaxation_of", "words"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def fold(text: str) -> str:
    """Return *text* without case and diacritics; Hangul syllables stay whole."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in apart if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFKC", bare)


def words(text: str) -> list[str]:
    """Return the words of *text* in order."""
    return [word for run in runs(text) for word in run]


def runs(text: str) -> list[list[str]]:
    """Return the words of *text* in order, pairs of the same run of CJK letters together."""
    found: list[list[str]] = []
    for word in _WORD.findall(fold(text)):
        if len(word) > 1 and _IS_CJK.match(word):
            found.append([word[at : at + 2] for at in range(len(word) - 1)])
        else:
            found.append([word])
    return found


def floats(data: bytes) -> tuple[float, ...]:
    """Read a vector of float32, little-endian."""
    return struct.unpack(f"<{len(data) // 4}f", data)


def pack_floats(vector: Sequence[float]) -> bytes:
    """Write a vector as float32, little-endian."""
    return struct.pack(f"<{len(vector)}f", *vector)


def dot(left: Iterable[float], right: Iterable[float]) -> float:
    """Return the inner product."""
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def normalized(vector: Sequence[float]) -> list[float]:
    """Return *vector* with length 1; a vector of zeros points along the first axis."""
    length = math.sqrt(dot(vector, vector))
    if not length:
        return [1.0, *([0.0] * (len(vector) - 1))]
    return [value / length for value in vector]


Values: TypeAlias = Mapping[str, tuple[str | int, ...]]


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be asked about a chunk, a document or a file."""

    values: Values
    """Field → its values; a field that has none is in no range and equal to nothing."""
    text_of: Callable[[str], Sequence[str]]
    """Words of ``body``, ``title``, ``path`` or ``name``."""


def passes(facts: Facts, where: Filter | None) -> bool:  # noqa: C901, PLR0911 - a case per node
    """Say whether *where* lets it pass."""
    match where:
        case None:
            return True
        case OneOf(field, wanted):
            return any(value in wanted for value in facts.values.get(field, ()))
        case Tagged(tags):
            above = tuple(f"{tag}/".casefold() for tag in tags)
            return any(f"{t}/".casefold().startswith(above) for t in facts.values.get("tag", ()))
        case Range(field, low, high):
            return any(_within(value, low, high) for value in facts.values.get(field, ()))
        case Glob(pattern):
            return any(glob_matches(pattern, str(path)) for path in facts.values["path"])
        case Words(field, text, phrase):
            return _has_words(facts.text_of(field), words(text), phrase=phrase)
        case And(parts):
            return all(passes(facts, part) for part in parts)
        case Or(parts):
            return any(passes(facts, part) for part in parts)
        case Not(part):
            return not passes(facts, part)
        case _:
            assert_never(where)


def contains_phrase(text: Sequence[str], phrase: Sequence[str]) -> bool:
    """Say whether the words of *phrase* stand side by side in *text*."""
    size = len(phrase)
    return any(list(text[at : at + size]) == list(phrase) for at in range(len(text) - size + 1))


def glob_matches(pattern: str, path: str) -> bool:
    """Say whether a gitignore-like *pattern* matches *path*."""
    return _compile(pattern).fullmatch(path) is not None


def _within(value: str | int, low: int | None, high: int | None) -> bool:
    number = int(value)
    return (low is None or low <= number) and (high is None or number <= high)


def _has_words(text: Sequence[str], wanted: Sequence[str], *, phrase: bool) -> bool:
    if not wanted:
        return False
    return contains_phrase(text, wanted) if phrase else set(wanted) <= set(text)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[(?:[!^][^]]+|[^]!^][^]]*)\]|\\.|.", re.DOTALL)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.rstrip("/")
    whole = pattern.removeprefix("/") + ("**" if pattern.endswith("/") else "")
    body = "".join(_translate(piece) for piece in _PIECE.findall(whole))
    return re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL)


def _translate(piece: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in fixed:
        return fixed[piece]
    if piece.startswith("[") and len(piece) > 1:
        inside = re.sub(r"([\\\[&~|])", r"\\\1", piece[1:-1])
        return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
    return re.escape(piece[-1])


Analysed: TypeAlias = tuple[Clause, list[str]]
"""A clause and its words."""


def relax(
    clauses: Sequence[Analysed], is_met: Callable[[Sequence[Analysed]], bool]
) -> list[Analysed]:
    """Turn what cannot be met into words that only rank; *is_met* asks about several at once."""
    kept: list[Analysed] = []
    relaxed: list[Analysed] = []
    for clause, found in clauses:
        if clause.kind == "must" and is_met([*kept, (clause, found)]):
            kept.append((clause, found))
        elif clause.kind == "must":
            clause = replace(clause, kind="should", phrase=False)  # noqa: PLW2901 - the same one
        relaxed.append((clause, found))
    return relaxed


def relaxation_of(
    asked: Sequence[Analysed],
    relaxed: Sequence[Analysed],
    frequency: Mapping[str, int],
    total: int,
) -> Relaxation | None:
    """Say what became of *asked*; *frequency* is of every word, in *total* chunks."""
    made = Relaxation(
        asked=_required(asked),
        required=_required(relaxed),
        common=tuple(word for word, n in frequency.items() if n > total / 2),
        unknown=tuple(word for word, n in frequency.items() if not n),
    )
    return made if made.let_go or made.common or made.unknown else None


def _required(clauses: Sequence[Analysed]) -> tuple[str, ...]:
    musts = (clause for clause, _ in clauses if clause.kind == "must")
    return tuple(f'"{clause.text}"' if clause.phrase else clause.text for clause in musts)


_K1 = 1.2
_B = 0.75
_Row = TypeVar("_Row")


class Entry:
    """A chunk with its document, analysed once."""

    def __init__(self, doc: DocumentRecord, chunk: ChunkRecord) -> None:
        self.doc = doc
        self.chunk = chunk

    @cached_property
    def text(self) -> list[str]:
        """Every word the chunk can be found by; an empty word parts the fields."""
        around = (self.doc.title, *self.chunk.heading_path, self.chunk.symbol or "", self.doc.path)
        found = words(self.chunk.text)
        for part in around:
            found += ["", *words(part)]
        return found

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(word for word in self.text if word)

    @cached_property
    def facts(self) -> Facts:
        values = {**_values(self.doc), "chunk_id": (self.chunk.chunk_id,)}
        return Facts(values, _text_of(self.doc, self.chunk.text, self.chunk.symbol or ""))

    @cached_property
    def stored(self) -> StoredChunk:
        return stored_chunk(self.chunk, self.doc)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one publication left behind; never changed, only followed by the next."""

    control: Control
    docs: Mapping[int, DocumentRecord]
    entries: Mapping[int, Entry]
    files: Mapping[tuple[str, str], FileRecord]
    aliases: Mapping[str, str]
    vectors: Mapping[str, Mapping[int, Sequence[float]]]


class MemorySnapshot:
    """``IndexSnapshot`` over one state: BM25 over words, exact cosine, all by looking."""

    def __init__(self, state: State, sampling: Sampling | None = None) -> None:
        self._state = state
        self._sampling = sampling or Sampling()

    @property
    def control(self) -> Control:
        return self._state.control

    @property
    def damage(self) -> Mapping[str, str]:
        return {}  # in memory, nothing rots

    @property
    def languages(self) -> tuple[str, ...]:
        return ("en",)  # nothing is stemmed

    def lexical(self, query: LexicalQuery, where: Filter | None, limit: int, /) -> list[Scored]:
        ranked = self._relaxed(_analysed(query))
        if not any(clause.kind != "must_not" for clause, _ in ranked):
            return []
        weights = self._weights({w for _, found in ranked for w in found})
        scored = [
            Scored(key, sum(weights(entry, w) for c, found in ranked for w in _scores(c, found)))
            for key, entry in self._state.entries.items()
            if _matches(entry, ranked) and passes(entry.facts, where)
        ]
        return _best(scored, limit)

    def known_words(self, query: LexicalQuery, /) -> KnownWords:
        spoken = [clause.text for clause in query.clauses if clause.kind != "must_not"]
        asked = [run for text in spoken for run in runs(text)]
        counts = Counter(word for run in asked for word in run)
        entries = self._state.entries.values()
        held = {word: sum(word in entry.counts for entry in entries) for word in counts}
        told = {word: n * _idf(len(entries), max(1, held[word])) for word, n in counts.items()}
        known = [any(held[word] for word in run) for run in asked]
        return KnownWords(
            share=sum(known) / len(known) if known else 1.0,
            full_match=math.fsum(sorted(told.values(), reverse=True)[:FULL_MATCH_WORDS]),
            words=tuple(KnownWord((word,), weight) for word, weight in told.items()),
        )

    def relaxation(self, query: LexicalQuery, /) -> Relaxation | None:
        asked = _analysed(query)
        wanted = dict.fromkeys(w for c, found in asked if c.kind != "must_not" for w in found)
        entries = self._state.entries.values()
        frequency = {word: sum(word in entry.counts for entry in entries) for word in wanted}
        return relaxation_of(asked, self._relaxed(asked), frequency, len(entries))

    def roughly(self) -> MemorySnapshot:
        return self

    def sampled(self, sampling: Sampling, /) -> MemorySnapshot:
        return MemorySnapshot(self._state, sampling)

    def drift(self) -> float:
        return 0.0  # every answer counts what is there

    def vector(
        self,
        query: bytes,
        model_key: str,
        where: Filter | None,
        limit: int,
        /,
        *,
        above: float = 0.0,
    ) -> list[Scored]:
        wanted = floats(query)
        scored = [
            Scored(key, math.fsum(a * b for a, b in zip(wanted, vector, strict=True)) + above)
            for key, vector in self._state.vectors.get(model_key, {}).items()
            if passes(self._state.entries[key].facts, where)
        ]
        return _best(scored, limit)

    def vectors_of(self, keys: Sequence[int], model_key: str, /) -> dict[int, bytes]:
        held = self._state.vectors.get(model_key, {})
        return {key: pack_floats(held[key]) for key in keys if key in held}

    def with_vector(self, keys: Sequence[int], model_key: str, /) -> set[int]:
        return {key for key in keys if key in self._state.vectors.get(model_key, {})}

    def elsewhere(self, keys: Sequence[int], than: int, model_key: str, /) -> None:
        """Return nothing: questions are compared as they are."""

    def count(self, where: Filter | None, /) -> int:
        return sum(passes(entry.facts, where) for entry in self._state.entries.values())

    def chunks(self, keys: Sequence[int], /) -> dict[int, StoredChunk]:
        entries = self._state.entries
        return {key: entries[key].stored for key in keys if key in entries}

    def parents(self, keys: Sequence[int], /) -> dict[int, Parent]:
        docs = {key: self._state.entries[key].doc for key in keys if key in self._state.entries}
        return {
            key: Parent(
                doc.doc_key, len(doc.chunks), to_epoch(doc.doc_date) if doc.doc_date else None
            )
            for key, doc in docs.items()
        }

    def find_chunks(self, id_prefix: str, limit: int, /) -> list[StoredChunk]:
        found = [e for e in self._state.entries.values() if e.chunk.chunk_id.startswith(id_prefix)]
        return [e.stored for e in sorted(found, key=lambda e: e.chunk.chunk_id)[:limit]]

    def doc_chunks(self, doc_id: str, /) -> list[StoredChunk]:
        found = [entry for entry in self._state.entries.values() if entry.doc.doc_id == doc_id]
        return [entry.stored for entry in sorted(found, key=lambda entry: entry.chunk.ordinal)]

    def find_docs(self, id_prefix: str, limit: int, /) -> list[StoredDoc]:
        by_id = {doc.doc_id: doc for doc in self._state.docs.values()}
        found = {i: doc for i, doc in by_id.items() if i.startswith(id_prefix)}
        for old in self._state.aliases:
            new = self._follow(old)
            if old.startswith(id_prefix) and old not in by_id and new in by_id:
                found[new] = by_id[new]
        return [stored_doc(found[key]) for key in sorted(found)][:limit]

    def doc_text(self, doc_id: str, /) -> str | None:
        texts = (doc.text for doc in self._state.docs.values() if doc.doc_id == doc_id)
        return next(texts, None)

    def texts(
        self,
        where: Filter | None,
        needs: Sequence[Sequence[str]],  # noqa: ARG002 - it may leave texts out, and leaves none
        /,
    ) -> Iterator[TextBatch]:
        for doc in self.docs(where):
            text = self.doc_text(doc["doc_id"]) or ""
            data = text.encode("utf-8", "replace")
            form = "ascii" if text.isascii() else "other"
            yield TextBatch(data, form, [(doc["doc_key"], 0, len(data))])

    def count_docs(self, where: Filter | None, /) -> int:
        return len(self.docs(where))

    def docs(self, where: Filter | None, /) -> list[StoredDoc]:
        found = [
            doc
            for doc in self._state.docs.values()
            if passes(Facts(_values(doc), _text_of(doc, doc.text)), where)
        ]
        return [stored_doc(doc) for doc in _in_order(found, lambda d: (d.source_id, d.path))]

    def docs_of(self, keys: Sequence[int], /) -> dict[int, StoredDoc]:
        return {doc["doc_key"]: doc for doc in self.docs(OneOf("doc_key", tuple(keys)))}

    def docs_called(self, names: Sequence[str], /) -> list[StoredDoc]:
        return [
            doc
            for doc in self.docs(None)
            if {*names} & {*called(doc["path"], given_names(doc["aliases"], doc["metadata"]))}
        ]

    def docs_linking(self, names: Sequence[str], /) -> list[StoredDoc]:
        return [d for d in self.docs(None) if {*names} & {*names_meant(d["path"], d["links"])}]

    def files(self, where: Filter | None, /) -> list[StoredFile]:
        files = self._state.files.values()
        rows = [row for row in files if passes(Facts(_standing(row), _no_text), where)]
        return [stored_file(row) for row in _in_order(rows, lambda r: (r.source_id, r.path))]

    def ledger(self, where: Filter | None, /) -> Ledger:
        return ledger_of(self.files(where))

    def _follow(self, doc_id: str) -> str:
        seen = set[str]()
        while doc_id in self._state.aliases and doc_id not in seen:
            seen.add(doc_id)
            doc_id = self._state.aliases[doc_id]
        return doc_id

    def _relaxed(self, clauses: Sequence[Analysed]) -> list[Analysed]:
        def is_met(required: Sequence[Analysed]) -> bool:
            entries = self._state.entries.values()
            return any(all(_holds(entry, c, found) for c, found in required) for entry in entries)

        return relax(clauses, is_met)

    def _weights(self, wanted: Iterable[str]) -> Callable[[Entry, str], float]:
        """Return BM25 of a word in a chunk, over all chunks, whatever the filter."""
        entries = self._state.entries.values()
        total = round(len(entries) * self._sampling.passages)
        lengths = [entry.counts.total() for entry in entries]
        mean = sum(lengths) / max(len(entries), 1) or 1.0
        held = {word: sum(word in entry.counts for entry in entries) for word in wanted}
        df = {word: min(self._sampling.held(word, n), total) for word, n in held.items()}

        def weigh(entry: Entry, word: str) -> float:
            tf = entry.counts[word]
            idf = _idf(total, df[word])
            return idf * tf * (_K1 + 1) / (tf + _K1 * (1 - _B + _B * entry.counts.total() / mean))

        return weigh


def _idf(total: int, holding: int) -> float:
    return math.log(1 + max(0, total - holding + 0.5) / (holding + 0.5))


def _analysed(query: LexicalQuery) -> list[Analysed]:
    clauses = ((clause, words(clause.text)) for clause in query.clauses)
    return [(clause, found) for clause, found in clauses if found]


def _scores(clause: Clause, found: Sequence[str]) -> Sequence[str]:
    return () if clause.kind == "must_not" else found


def _matches(entry: Entry, clauses: Sequence[tuple[Clause, list[str]]]) -> bool:
    """Nothing excluded; everything demanded; and, where nothing is, something wanted."""
    holds = [(clause.kind, _holds(entry, clause, found)) for clause, found in clauses]
    if any(held for kind, held in holds if kind == "must_not"):
        return False
    demanded = [held for kind, held in holds if kind == "must"]
    return all(demanded) if demanded else any(held for kind, held in holds if kind == "should")


def _holds(entry: Entry, clause: Clause, found: Sequence[str]) -> bool:
    if clause.phrase:
        return contains_phrase(entry.text, found)
    present = [word in entry.counts for word in found]
    return all(present) if clause.kind == "must" else any(present)


def _best(scored: Iterable[Scored], limit: int) -> list[Scored]:
    return sorted(scored, key=lambda s: (-s.score, s.chunk_key))[:limit]


def _values(doc: DocumentRecord) -> dict[str, tuple[str | int, ...]]:
    shown: Mapping[str, Any] = stored_doc(doc)
    values: dict[str, tuple[str | int, ...]] = {}
    for name in FIELDS.keys() - {"chunk_id", "tag", "trust"}:
        value = shown.get(name)
        values[name] = () if value is None else (value,)
    lang = values["lang"] or ("",)
    return values | {
        "lang": lang,
        "tag": doc.tags,
        "trust": (TrustLevel(doc.trust_level).rank,),
    }


def _text_of(doc: DocumentRecord, body: str, symbol: str = "") -> Callable[[str], list[str]]:
    names = (each.rpartition(".")[2] for each in symbol.split(", "))
    texts = {"body": body, "title": doc.title, "path": doc.path, "name": " ".join(names)}
    return lambda field: words(texts[field])


def _standing(row: FileRecord) -> dict[str, tuple[str | int, ...]]:
    return {"path": (row.path,), "source_id": (row.source_id,), "state": (str(row.state),)}


def _no_text(field: str) -> list[str]:
    del field
    return []


def _in_order(rows: Iterable[_Row], key: Callable[[_Row], tuple[str, str]]) -> list[_Row]:
    return sorted(rows, key=key)
