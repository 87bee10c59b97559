"""Several queries, one list: an aggregated bulk search, merged, shown, and fit to one budget.

Hits that several queries found, which are the same place, are one result. It keeps its best
score as base, and gets a bonus of 5 % of that for each further query that it matches: in whose
list it stands in the upper half of the scores. In a small folder every query finds everything,
and that says nothing. Neither the order of the queries nor asking one of them twice changes the
list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kb_app._search.bulk import Asked, checked, each
from kb_app._search.engine import Engine, RankedList
from kb_app._search.page import about_of, fit
from kb_app._search.ranking import LeftOut, Row, as_ranked, limited, page_of, with_more
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.filters import Filter
from kb_core.ports import StoredChunk
from kb_core.search import AggregatedResponse, Hit, Outcome, SearchQuery, SearchResponse
from kb_core.values import as_dict, dataclass, replace

__all__ = [
    "BONUS",
    "DEPTH",
    "Gathering",
    "Merged",
    "QueryList",
    "merge_lists",
    "remarks",
    "search_aggregated",
]

BONUS = 0.05
"""Share of the base score that each further query adds."""

_TELLING = 0.5
"""How far up a list's scores, from the least that its kind can have to its best, a match
stands. Cosines start at the list's own least: what they are above that is what they say."""

_NEAR = 0.5
"""Share of the shorter of two passages that both must hold to be one result."""


@dataclass(frozen=True, slots=True)
class QueryList:
    """What one query found, best first.

    Queries with the same *identity* are one query asked twice; it also decides which
    query a result is shown for when several gave it the same score.
    """

    identity: tuple[str, ...]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Merged:
    """One result of the aggregated list."""

    row: Row
    """Of the list in which it stands best."""
    shown_for: int
    """The position of that list."""
    base: float
    found_by: frozenset[int]
    """Positions of the lists that it matches, of which it is shown for one."""
    matches: int
    """How many different queries these are."""
    count: int
    """How many results were merged into it."""

    @property
    def score(self) -> float:
        """What the list is ordered by."""
        return self.base + abs(self.base) * BONUS * (self.matches - 1)


@dataclass(slots=True)
class _Place:
    """A chunk, and where it was found; grows while others are merged into it."""

    chunk: StoredChunk
    best: tuple[float, tuple[str, ...], int, Row]
    """Base score, identity and position of the list, and the row in it."""
    found_by: set[int]
    """Positions of the lists that it stands in."""
    matched: set[int]
    """Of those, the ones whose scores say that it is a match."""
    count: int = 1


def merge_lists(lists: Sequence[QueryList], chunks: Mapping[int, StoredChunk]) -> list[Merged]:
    """Return one list, best first, equal scores by source, path and place in the document.

    Scores of one kind are compared as they are. BM25 has no common scale, nor have scores
    of different kinds: they are divided by the best score of their own list first.
    *chunks* are the chunks of all rows; rows of others are left out.
    """
    by_document: dict[str, list[_Place]] = {}
    for place in _places(lists, chunks):
        by_document.setdefault(place.chunk["doc_id"], []).append(place)
    merged = [place for places in by_document.values() for place in _merge(places)]
    finished = [(_finish(place, lists), place.chunk) for place in merged]
    finished.sort(key=lambda pair: (-round(pair[0].score, 6), _position(pair[1])))
    return [one for one, _ in finished]


def _places(lists: Sequence[QueryList], chunks: Mapping[int, StoredChunk]) -> Iterator[_Place]:
    """Yield each chunk once, with the best that any list says of it."""
    found: dict[int, _Place] = {}
    for position, scores in enumerate(_comparable(lists)):
        identity = lists[position].identity
        least = _least_of_a_match(lists[position].rows)
        for score, row in zip(scores, lists[position].rows, strict=True):
            key = row.chunk_key
            seen = (score, identity, position, row)
            if key not in chunks:
                continue
            if key not in found:
                found[key] = _Place(chunks[key], seen, set(), set())
            found[key].found_by.add(position)
            if row.score >= least:
                found[key].matched.add(position)
            if _order(seen) < _order(found[key].best):
                found[key].best = seen
    yield from found.values()


def _least_of_a_match(rows: Sequence[Row]) -> float:
    scores = [row.score for row in rows]
    best = max(scores, default=0.0)
    low = min(scores, default=0.0) if any(row.kind == "cosine" for row in rows) else 0.0
    return low + _TELLING * (best - low)


def _order(best: tuple[float, tuple[str, ...], int, Row]) -> tuple[float, tuple[str, ...], int]:
    score, identity, position, _ = best
    return (-score, identity, position)


def _comparable(lists: Sequence[QueryList]) -> list[list[float]]:
    kinds = {row.kind for one in lists for row in one.rows}
    if len(kinds) <= 1 and "bm25" not in kinds:
        return [[row.score for row in one.rows] for one in lists]
    return [_share_of_best([row.score for row in one.rows]) for one in lists]


def _share_of_best(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    return [score / best for score in scores] if best > 0 else list(scores)


def _merge(places: Sequence[_Place]) -> list[_Place]:
    """Return the places of one document with those that are the same as a better one in it."""
    kept: list[_Place] = []
    for place in sorted(places, key=lambda place: (-place.best[0], _position(place.chunk))):
        same = next((other for other in kept if _is_same(place.chunk, other.chunk)), None)
        if same is None:
            kept.append(place)
        else:
            same.found_by |= place.found_by
            same.matched |= place.matched
            same.count += place.count
    return kept


def _is_same(one: StoredChunk, other: StoredChunk) -> bool:
    """Say whether two passages of a document share characters, and lines or most of the text.

    Pieces of one line are the same: they would be shown as one place.
    """
    if _lines(one) == _lines(other) and one["line_start"] == one["line_end"]:
        return one["path"] == other["path"]
    shared = min(one["end"], other["end"]) - max(one["start"], other["start"])
    if shared <= 0:
        return False
    shorter = min(one["end"] - one["start"], other["end"] - other["start"])
    return _lines(one) == _lines(other) or shared >= _NEAR * shorter


def _lines(chunk: StoredChunk) -> tuple[int, int]:
    return (chunk["line_start"], chunk["line_end"])


def _position(chunk: StoredChunk) -> tuple[str, str, int]:
    return (chunk["source_id"], chunk["path"], chunk["ordinal"])


def _finish(place: _Place, lists: Sequence[QueryList]) -> Merged:
    base, identity, position, row = place.best
    alike = {at for at in place.found_by if lists[at].identity == identity}
    matched = place.matched | alike
    return Merged(
        row=row,
        shown_for=position,
        base=base,
        found_by=frozenset(matched),
        matches=len({lists[at].identity for at in matched}),
        count=place.count,
    )


DEPTH = 50
"""How many results each query contributes at least: what two queries found need not be
among the first of either."""

_OWN = {"max_tokens": "one for all queries", "cursor": "no cursor"}
"""What a query of an aggregated search cannot have, and what there is instead."""


def search_aggregated(
    engine: Engine,
    queries: Sequence[Asked],
    *,
    k: int | None,
    max_tokens: int | None,
    asked: Sequence[Mapping[str, Any]] | None,
    per_doc: int | None = None,
) -> AggregatedResponse:
    """Return the best *k* of what all queries found, by default as many as any of them asks for.

    *per_doc* bounds the one list, by default the most that a query asks for if all do.
    *max_tokens* bounds bulk_search_response.v1 without its traces, in which *asked* are the
    queries as they came.
    """
    own = [_refuse_own(query) for query in checked(queries)]
    pool = Gathering(engine, [_without_limit(query) for query in own])
    outcomes = pool.outcomes()
    size = k or max((query.k for query in pool.queries), default=0)
    merged, left_out = pool.limited(size, _most_per_doc(own) if per_doc is None else per_doc)
    shown = merged[:size]
    plain = AggregatedResponse(outcomes=outcomes, hits=())

    def render(snippet_chars: int) -> list[Hit]:
        return pool.hits(shown, snippet_chars)

    def assemble(hits: Sequence[Hit], omitted: dict[str, int] | None) -> AggregatedResponse:
        end = len(hits) if len(hits) < len(merged) else None
        found = tuple(with_more(hits, left_out, end))
        told = tuple(_with_about(engine, at, one, found) for at, one in enumerate(outcomes))
        return replace(
            plain, outcomes=told, hits=found, truncated=omitted is not None, omitted=omitted
        )

    longest = max((query.snippet_chars for query in pool.queries), default=0)
    if max_tokens is None:
        return assemble(render(longest), None)
    echoes = asked or [_echo(query) for query in queries]

    def measure(response: AggregatedResponse) -> int:
        untraced = replace(response, outcomes=tuple(map(_without_trace, response.outcomes)))
        return len(wire.dumps(wire.aggregated_search_response(echoes, untraced)))

    return fit(render, assemble, longest, max_tokens, measure)


def _with_about(engine: Engine, at: int, outcome: Outcome, hits: Sequence[Hit]) -> Outcome:
    """Return what became of a query, with what is said of where the hits that it has are from."""
    if isinstance(outcome, KbError) or not engine.settings.about:
        return outcome
    own = [hit for hit in hits if at in (hit.matched_queries or ())]
    return replace(outcome, about=about_of(own, engine.settings.about))


@dataclass(frozen=True, slots=True)
class _Found:
    """What one query found: its list, and the response without hits."""

    position: int
    query: SearchQuery
    ranking: RankedList
    response: SearchResponse


class Gathering:
    """What several queries found over one engine, before and after it is merged.

    *where* narrows each query further than its own filters do; *by_role* as for
    ``Engine.ranking``.
    """

    def __init__(
        self,
        engine: Engine,
        queries: Sequence[Asked],
        where: Sequence[Filter | None] | None = None,
        *,
        by_role: bool = True,
    ) -> None:
        self._engine = engine
        self._by_role = by_role
        self._where = where or [None] * len(queries)
        self._answers = list(each(engine, queries, self._find))
        self._found = [one for one in self._answers if isinstance(one, _Found)]

    @property
    def queries(self) -> list[SearchQuery]:
        """The queries that were answered."""
        return [found.query for found in self._found]

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what became of each query, in the order asked."""
        return tuple(one.response if isinstance(one, _Found) else one for one in self._answers)

    def merge(
        self,
        size: int,
        *,
        usable: Callable[[StoredChunk], bool] = lambda _: True,
        only: int | None = None,
    ) -> list[Merged]:
        """Return one list, of at least the best *size* of each query that are *usable*.

        With *only*, the position of a query in the order asked, the list of that one.
        """
        lists = [
            self._list(found, max(DEPTH, size) if only in {None, found.position} else 0)
            for found in self._found
        ]
        keys = dict.fromkeys(row.chunk_key for one in lists for row in one.rows)
        chunks = self._engine.renderer.chunks(list(keys))
        return merge_lists(lists, {key: chunk for key, chunk in chunks.items() if usable(chunk)})

    def limited(self, size: int, per_doc: int) -> tuple[list[Merged], list[LeftOut]]:
        """Return ``merge(size)`` with at most *per_doc* of a document, and what that left out.

        Where that leaves fewer than *size*, the whole lists are merged. 0 is no limit.
        """
        merged = self.merge(size)
        if not per_doc:
            return merged, []
        kept, left_out = limited(merged, self._doc_ids(merged), per_doc)
        if len(kept) < size:
            merged = self.merge(max((len(found.ranking.rows) for found in self._found), default=0))
            kept, left_out = limited(merged, self._doc_ids(merged), per_doc)
        return kept, left_out

    def _doc_ids(self, merged: Sequence[Merged]) -> list[str]:
        chunks = self.chunks(merged)
        return [chunks[one.row.chunk_key]["doc_id"] for one in merged]

    def chunks(self, merged: Sequence[Merged]) -> dict[int, StoredChunk]:
        """Return the chunks of the results by key."""
        return self._engine.renderer.chunks([one.row.chunk_key for one in merged])

    def hits(self, merged: Sequence[Merged], snippet_chars: int) -> list[Hit]:
        """Return the results as hits, each with the words of the query that it is shown for."""
        return [self._hit(rank, one, snippet_chars) for rank, one in enumerate(merged, start=1)]

    def _find(self, position: int, query: SearchQuery) -> _Found:
        ranking = self._engine.ranking(query, self._where[position], by_role=self._by_role)
        return _Found(position, query, ranking, self._engine.without_hits(ranking))

    def _list(self, found: _Found, depth: int) -> QueryList:
        page = page_of(found.ranking.rows, 0, depth, self._engine.renderer.places)
        mode = found.query.mode
        rows = [as_ranked(row, mode, rank) for rank, row in enumerate(page, start=1)]
        return QueryList(_identity(found.query, self._where[found.position]), rows)

    def _hit(self, rank: int, merged: Merged, snippet_chars: int) -> Hit:
        query = self._found[merged.shown_for].query
        renderer = self._engine.renderer
        row = merged.row._replace(score=merged.score, kind="aggregated")
        (hit,) = renderer.hits(
            [row],
            first_rank=rank,
            method=query.mode.value,
            highlighter=renderer.highlighter(query.text),
            snippet_chars=min(snippet_chars, query.snippet_chars),
            passages=query.passages,
        )
        return replace(
            hit,
            matched_queries=tuple(sorted(self._found[at].position for at in merged.found_by)),
            matched_count=merged.count if merged.count > 1 else None,
            base_score=merged.base,
        )


def _refuse_own(query: Asked) -> Asked:
    for name, instead in _OWN.items():
        value = getattr(query, name, None)
        if value is not None:
            return InvalidInput(
                f"{name} of a single query has no meaning in one list for all",
                hint=f"such a list has {instead}",
                details={"field": name, "value": value},
            )
    return query


def _most_per_doc(queries: Sequence[Asked]) -> int:
    """Return the most hits of a document that a query asks for; 0, no limit, if one has none."""
    asked = [query.per_doc or 0 for query in queries if isinstance(query, SearchQuery)]
    return max(asked, default=0) if all(asked) else 0


def _without_limit(query: Asked) -> Asked:
    return replace(query, per_doc=None) if isinstance(query, SearchQuery) else query


def _identity(query: SearchQuery, where: Filter | None) -> tuple[str, ...]:
    """Return what two queries have in common when they are the same but for their spelling."""
    words = " ".join(query.text.casefold().split())
    return (words, query.mode.value, str(as_dict(query.filters)), str(query.rerank), str(where))


def _echo(query: Asked) -> Mapping[str, Any]:
    return {"query": query.text} if isinstance(query, SearchQuery) else {}


def _without_trace(outcome: Outcome) -> Outcome:
    return outcome if isinstance(outcome, KbError) else replace(outcome, trace=None)


def remarks(outcomes: Iterable[Outcome], name: str) -> tuple[str, ...]:
    """Return what the responses say under *name*, ``degraded`` or ``warnings``, each once."""
    answered = (one for one in outcomes if not isinstance(one, KbError))
    return tuple(dict.fromkeys(said for one in answered for said in getattr(one, name)))
