"""Why a document is not among the hits, or where it is, and what to ask instead.

The questions are asked in the order in which a search loses a document: is it in the
ledger; was it indexed; does it pass the filters; does it share a word with the query,
or have an embedding; is it among the candidates; among the hits asked for; within the
budget. The first "no" is the verdict.

What to ask instead is a short query of the document's own words that finds it: rare words
of the question that it has come first, then what it is called by, then its rarest ones. One
word is tried before several, and of several as few as will do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from kb_app._search.channels import Channel, Deadline, propose
from kb_app._search.engine import Engine, RankedList, pool_size
from kb_app._search.filtering import compile_each, compile_filters, left_out, told_of
from kb_app._search.hits import file_of
from kb_app._search.lookup import file_named, find, paths_named
from kb_app._search.query import counted_words, parse_query, words_of
from kb_app._search.ranking import Row, page_of
from kb_core import wire
from kb_core.citations import citation_of
from kb_core.filters import And, Filter, Not, OneOf, Or, Words, all_of
from kb_core.media import SearchMode
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.records import FileState
from kb_core.search import Clause, LexicalQuery, Scored, SearchFilters, SearchQuery
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["DEEPEST", "Standing", "explain_miss", "shortest_query", "standings"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What was found out about one document and one query."""

    engine: Engine
    query: SearchQuery
    doc: StoredDoc
    file: Json
    """State, reason and detail of its file in the ledger."""
    chunks: Sequence[StoredChunk]
    filters: list[Json]
    passing: int
    embedded: int
    found: list[str]
    missing: list[str]
    lexical: Standing | None
    vector: Standing | None
    fused: tuple[Row, int] | None
    shown: bool
    """Whether the search, budget and all, delivers it."""


def explain_miss(engine: Engine, query: SearchQuery, text: str) -> types.ExplainMiss:
    """Return explain_miss.v1 for the document that *text* names, or for a path that has none."""
    asked = replace(query, cursor=None, deadline_ms=None, trace=False)
    head = {"query": query.text, "mode": query.mode.value, "k": query.k}
    named = find(engine.snapshot, text)
    if named is None:
        return wire.explain_miss(
            {**head, **_not_indexed(engine.snapshot, text)},
            corpus_revision=engine.snapshot.control.corpus_revision,
        )
    case = _examine(engine, asked, named.doc)
    verdict, summary = _verdict(case)
    if verdict != "shown" and case.file["state"] == FileState.PENDING:
        summary += f"; it is pending: {case.file['detail']}"
    suggestion = None
    if verdict != "shown":
        suggestion = shortest_query(engine, asked, case.chunks, case.found)
    return wire.explain_miss(
        {**head, "verdict": verdict, "summary": summary, **_facts(case), "suggestion": suggestion},
        corpus_revision=engine.snapshot.control.corpus_revision,
    )


def _not_indexed(snapshot: IndexSnapshot, text: str) -> Json:
    paths = paths_named(snapshot, text)
    path = paths[-1] if paths else text
    file = file_named(snapshot, text) or left_out(snapshot, paths)
    if file is None:
        return {
            "verdict": "not_in_ledger",
            "summary": f"{path!r} was never seen by an ingest: it is outside all sources, "
            "ignored, or new since the last run",
            "doc_path": path,
        }
    state = FileState(file["state"]).value
    return {
        "verdict": "not_indexed",
        "summary": f"{file['path']!r} is {told_of(file)}",
        "doc_path": file["path"],
        "source_id": file["source_id"],
        "file": {"state": state, "reason": file.get("reason"), "detail": file.get("detail")},
    }


def _examine(engine: Engine, query: SearchQuery, doc: StoredDoc) -> _Case:
    snapshot, own = engine.snapshot, OneOf("doc_id", (doc["doc_id"],))
    parsed = parse_query(query.text)
    filters = [
        {"name": name, "value": value, "passes": snapshot.count(And((own, part))) > 0}
        for name, value, part in _filters(query, parsed.where, snapshot)
    ]
    where = all_of([parsed.where, compile_filters(query.filters, snapshot)])
    passing = snapshot.count(all_of([own, where]))
    chunks = snapshot.doc_chunks(doc["doc_id"])
    keys = {chunk["chunk_key"] for chunk in chunks}
    ranking = engine.ranking(query, depth=DEEPEST)
    # A document that the filters keep out is looked for without them.
    lane = where if passing else None
    lexical, vector = standings(engine, ranking, lane, own, keys, is_asked=passing > 0)
    words = words_of(query.text)
    found = [word for word in words if snapshot.lexical(_one_word(word), own, 1)]
    key = engine.settings.model_key
    embedded = len(snapshot.with_vector(list(keys), key)) if key else 0
    fused = _fused(engine, ranking, keys) if passing else None
    return _Case(
        engine=engine,
        query=query,
        doc=doc,
        file=_file(snapshot, doc),
        chunks=chunks,
        filters=filters,
        passing=passing,
        embedded=embedded,
        found=found,
        missing=[word for word in words if word not in found],
        lexical=lexical,
        vector=vector,
        fused=fused,
        shown=fused is not None and _is_shown(engine, ranking, doc),
    )


def _file(snapshot: IndexSnapshot, doc: StoredDoc) -> Json:
    """Return what the ledger says of a document's file."""
    own = And((OneOf("source_id", (doc["source_id"],)), OneOf("path", (file_of(doc),))))
    row = next(iter(snapshot.files(own)), None)
    if row is None:
        return {"state": FileState.INDEXED.value, "reason": None, "detail": None}
    return {"state": row["state"], "reason": row.get("reason"), "detail": row.get("detail")}


def _is_shown(engine: Engine, ranking: RankedList, doc: StoredDoc) -> bool:
    return any(hit.doc_id == doc["doc_id"] for hit in engine.answer(ranking).hits)


def _fused(engine: Engine, ranking: RankedList, keys: set[int]) -> tuple[Row, int] | None:
    """Return the document's best row of the list that the search makes, and its rank."""
    rows = ranking.rows
    if keys.isdisjoint(row.chunk_key for row in rows):
        return None  # of all others nobody needs the order, which reads them
    ordered = page_of(rows, 0, len(rows), engine.renderer.places)
    ranked = ((row, rank) for rank, row in enumerate(ordered, 1) if row.chunk_key in keys)
    return next(ranked, None)


def _verdict(case: _Case) -> tuple[str, str]:
    query = case.query
    if not case.passing and case.filters:
        blocking = [_told(each) for each in case.filters if not each["passes"]]
        what = ", ".join(blocking) or "the filters together"
        return "filtered_out", f"kept out by {what}"
    if case.shown and case.fused:
        return "shown", f"it is hit {case.fused[1]}"
    if case.fused is None:
        return _no_candidate(case)
    at = f"found at rank {case.fused[1]}"
    if case.fused[1] > query.k:
        return (
            "beyond_k",
            f"{at} of a search for {query.k} hits: ask for more, or follow the cursor",
        )
    return "budget", f"{at}, but the budget of {query.max_tokens} tokens ends before it"


def _told(filtered: Mapping[str, Any]) -> str:
    value = filtered["value"]
    shown = value if isinstance(value, str) else ", ".join(value)
    return shown if filtered["name"] == "query" else f"{filtered['name']} {shown}"


def _no_candidate(case: _Case) -> tuple[str, str]:
    pool = pool_size(case.query.k)
    places = {
        "by words": case.lexical.rank if case.lexical else None,
        "by meaning": case.vector.rank if case.vector else None,
    }
    told = ", ".join(f"{name} {_at(rank)}" for name, rank in places.items() if rank)
    if told:
        return "beyond_candidates", f"{told}: beyond the {pool} candidates of each channel"
    if case.query.mode is not SearchMode.LEXICAL and not case.embedded:
        words = "" if case.query.mode is SearchMode.VECTOR else ", and none of the words is in it"
        if case.engine.settings.model_key is None:
            absent = case.engine.settings.absent
            off = absent or "search by meaning is switched off (embedding.model is 'none')"
            return "no_embedding", f"{off}{words}"
        return "no_embedding", f"none of its chunks has an embedding yet{words}: run 'kebab embed'"
    return "no_match", "none of the words of the query is in it"


def _at(rank: int) -> str:
    return f"at rank {rank:,}" if rank <= DEEPEST else f"after rank {DEEPEST:,}"


def _facts(case: _Case) -> Json:
    fused = case.fused
    nearest = fused[0].chunk_key if fused else None
    if nearest is None:
        nearest = next((s.chunk_key for s in (case.vector, case.lexical) if s), None)
    chunks = case.engine.renderer.chunks([nearest]) if nearest is not None else {}
    return {
        "doc_id": case.doc["doc_id"],
        "doc_path": case.doc["path"],
        "source_id": case.doc["source_id"],
        "title": case.doc["title"],
        "file": case.file,
        "chunks": {
            "total": case.doc["chunk_count"],
            "embedded": case.embedded,
            "passing": case.passing,
        },
        "filters": case.filters,
        "words": {"found": case.found, "missing": case.missing},
        "nearest": next((_nearest(chunk) for chunk in chunks.values()), None),
        "lexical": _standing(case, case.lexical),
        "vector": _standing(case, case.vector),
        "fused": None
        if fused is None
        else {
            "rank": fused[1],
            "score": fused[0].score,
            "score_kind": fused[0].kind,
            "chunk_id": _chunk_id(case, fused[0].chunk_key),
        },
        "pool": pool_size(case.query.k),
    }


def _nearest(chunk: StoredChunk) -> Json:
    return {"chunk_id": chunk["chunk_id"], "citation": wire.citation(citation_of(chunk))}


def _standing(case: _Case, standing: Standing | None) -> Json | None:
    if standing is None:
        return None
    return {
        "rank": standing.rank,
        "score": standing.score,
        "chunk_id": _chunk_id(case, standing.chunk_key),
    }


def _chunk_id(case: _Case, key: int) -> str:
    return str(case.engine.renderer.chunks([key])[key]["chunk_id"])


def _filters(
    query: SearchQuery, spoken: Filter | None, snapshot: IndexSnapshot
) -> Iterator[tuple[str, Any, Filter]]:
    """Yield every filter by itself: its name, its value as given, and its meaning."""
    for row, part in compile_each(query.filters, snapshot):
        value = getattr(query.filters, row.name)
        yield row.name, list(value) if row.many else value, part
    parts = spoken.parts if isinstance(spoken, And) else (spoken,) if spoken else ()
    for part in parts:
        yield "query", _as_typed(part), part


def _as_typed(part: Filter) -> str:
    match part:
        case Not(inner):
            return f"-{_as_typed(inner)}"
        case Words(field, text, phrase):
            quoted = f'"{text}"' if phrase else text
            return quoted if field == "body" else f"{field}:{quoted}"
        case OneOf(field, values):
            return f"{field}:{','.join(map(str, values))}"
        case And(parts) | Or(parts):
            return " ".join(map(_as_typed, parts))
        case _:
            return str(part)


def _one_word(word: str) -> LexicalQuery:
    return LexicalQuery((Clause(word),))


DEEPEST = 2_000
"""How far down a list a document is looked for."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The best chunk of a document in one list, ranks from 1."""

    chunk_key: int
    rank: int
    score: float


def standings(
    engine: Engine,
    ranking: RankedList,
    where: Filter | None,
    own: Filter,
    keys: set[int],
    *,
    is_asked: bool,
) -> tuple[Standing | None, Standing | None]:
    """Return the standings of *keys*, which *own* lets pass, in the lists of both channels.

    The lists are those of the query of *ranking* within *where*, which *is_asked* says it has
    down to ``DEEPEST`` itself. They are looked through so far, since a list of everything takes
    gigabytes where there are a million passages; what comes later has the rank behind that.
    """
    run, proposed = ranking.run, ranking.proposals

    def asked(narrow: Filter | None, pool: int, wanted: Channel) -> Sequence[Sequence[Scored]]:
        found = propose(
            engine.snapshot,
            run.parsed,
            narrow,
            pool,
            wanted=wanted,
            settings=engine.settings,
            embed=engine.embed,
            deadline=Deadline(None),
        )
        return found.lexical, found.vector

    most = min(_passages(engine.snapshot), DEEPEST)
    both = Channel.of(run.query.mode)
    inside = asked(all_of([where, own]), max(1, len(keys)), both)
    found: list[Standing | None] = [None, None]
    for at, channel in enumerate((Channel.LEXICAL, Channel.VECTOR)):
        if inside[at]:
            ranked = proposed.deeper[at] if is_asked else asked(where, most, channel)[at]
            found[at] = _first(ranked, keys) or _behind(inside[at], most)
    return found[0], found[1]


def _passages(snapshot: IndexSnapshot) -> int:
    """Return how many passages there are, 1 or more, as the index says without counting."""
    return max(1, int(snapshot.control.stats.get("chunk_count", 0)))


def _behind(inside: Sequence[Scored], depth: int) -> Standing:
    """Return the standing of what is found by itself, and not among the first *depth*."""
    return Standing(inside[0].chunk_key, depth + 1, inside[0].score)


def _first(ranked: Sequence[Scored], keys: set[int]) -> Standing | None:
    """Return the best of *keys*; equal scores share the best rank among them."""
    best = next((row for row in ranked if row.chunk_key in keys), None)
    if best is None:
        return None
    rank = 1 + sum(row.score > best.score for row in ranked)
    return Standing(best.chunk_key, rank, best.score)


_MIN_CHARS = 3
_LONGEST_TYPED = 20
_EXAMINED = 40
"""Words whose rarity is looked up."""
_SINGLE = 6
"""Words that are tried alone."""
_MOST_WORDS = 8
"""Of a query that is suggested."""
_BY_MEANING = (1, 2, 4, _MOST_WORDS)
"""How many words are tried where each try has to be read by a model."""
_TOO_COMMON = 1_000
"""Passages with a word, above which it is tried alone only if it is the best."""
_LIKELY = 1.3
"""What a word counts that a person is likely to type: of the question, a title or a heading."""


def shortest_query(
    engine: Engine, query: SearchQuery, chunks: Sequence[StoredChunk], shared: Sequence[str]
) -> dict[str, Any] | None:
    """Return ``{query, rank}`` of a query that finds a document, or ``None``.

    *chunks* are those of the document, *shared* the words of the question that it has. The
    query is tried without filters, in the mode and for the number of hits that were asked
    for. By words a dozen tries cost less than one by meaning: what words find is tried first.
    """
    trying = copy(engine)
    trying.snapshot = cast("IndexSnapshot", _Remembering(engine.snapshot))
    tried = _Tried(trying, query, {chunk["chunk_key"] for chunk in chunks})
    alone, together = _telling(engine.snapshot.roughly(), chunks, shared)
    texts = [*alone[:1], *(" ".join(together[:size]) for size in _BY_MEANING)]
    if query.mode is not SearchMode.VECTOR:
        by_words = _least(tried, alone[:_SINGLE], together[:_MOST_WORDS])
        if query.mode is SearchMode.LEXICAL or by_words is None:
            return by_words
        first = by_words["query"]
        texts = [first, *(text for text in texts if len(text) > len(first))]
    found = (tried.asked(text, query.mode) for text in dict.fromkeys(texts) if text)
    return next((each for each in found if each is not None), None)


class _Remembering:
    """A snapshot that looks for the same words once: what was tried by words is tried by both."""

    def __init__(self, snapshot: IndexSnapshot) -> None:
        self._snapshot = snapshot
        self.lexical = cache(snapshot.lexical)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a snapshot has
        return getattr(self._snapshot, name)


@dataclass(frozen=True, slots=True)
class _Tried:
    """Queries that may find a document, which has *keys*."""

    engine: Engine
    query: SearchQuery
    keys: set[int]

    def asked(self, text: str, mode: SearchMode = SearchMode.LEXICAL) -> Json | None:
        """Return ``{query, rank}`` where *text* finds it."""
        asked = replace(self.query, text=text, mode=mode, filters=SearchFilters(), max_tokens=None)
        rows = self.engine.ranking(asked).rows
        shown = page_of(rows, 0, self.query.k, self.engine.renderer.places)
        rank = next((n for n, row in enumerate(shown, 1) if row.chunk_key in self.keys), None)
        return None if rank is None else {"query": text, "rank": rank}


def _least(tried: _Tried, alone: Sequence[str], together: Sequence[str]) -> Json | None:
    """Return the first word that finds a document by words, or as few as will do *together*."""
    single = (tried.asked(word) for word in alone)
    if found := next((each for each in single if each is not None), None):
        return found
    most = tried.asked(" ".join(together)) if len(together) > 1 else None
    if most is None:
        return None
    # Each further word lifts the passage that has them all: halve how many there have to be.
    low, high = 2, len(together)
    while low < high:
        middle = (low + high) // 2
        fewer = tried.asked(" ".join(together[:middle]))
        if fewer is None:
            low = middle + 1
        else:
            most, high = fewer, middle
    return most


def _telling(
    snapshot: IndexSnapshot, chunks: Sequence[StoredChunk], shared: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return words of a document to try alone, best first; and all those of one passage.

    Best are those that few chunks have, and that stand often in one here. It is the passage
    that has the best ones. Numbers, dates and identifiers stand only where there is nothing
    else.
    """
    held = [counted_words(chunk["text"]) for chunk in chunks]
    asked = [word.lower() for word in shared]
    examined = _examined(Counter(word for each in held for word in each))
    spread = {word: snapshot.count(Words("body", word)) for word in (*asked, *examined)}
    passages = _passages(snapshot)
    likely = {word for chunk in chunks for word in _named(chunk)}.union(asked)

    def tells(word: str, times: int) -> float:
        rarity = math.log1p(passages / max(1, spread[word]))
        return rarity * times / (1 + times) * (_LIKELY if word in likely else 1)

    known = [word for word, count in spread.items() if count]
    told = [{word: tells(word, each[word]) for word in known if each[word]} for each in held]
    best: dict[str, float] = {}
    for each in told:
        best |= {word: max(score, best.get(word, 0.0)) for word, score in each.items()}
    richest = max(told, key=lambda each: sum(sorted(each.values())[-_MOST_WORDS:]), default={})
    first, *others = _by_score(best) or [""]
    rare = [word for word in others if spread[word] <= _TOO_COMMON]
    return [first, *rare] if first else [], _by_score(richest)


def _named(chunk: StoredChunk) -> Iterator[str]:
    for text in (chunk["title"], *chunk["heading_path"]):
        yield from counted_words(text)


def _examined(counted: Counter[str]) -> list[str]:
    """Return the words whose rarity is looked up."""
    long_enough = [word for word in counted if len(word) >= _MIN_CHARS or not word.isascii()]
    long_enough = [word for word in long_enough if _is_typed(word)] or long_enough
    # Long words and words that return in the document are likelier to be its own.
    return sorted(long_enough, key=lambda w: (-counted[w] * len(w), w))[:_EXAMINED]


def _by_score(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda word: (-scores[word], word))


def _is_typed(word: str) -> bool:
    return len(word) <= _LONGEST_TYPED and word.replace("-", "").replace("'", "").isalpha()
