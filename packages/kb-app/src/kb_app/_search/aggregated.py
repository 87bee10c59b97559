"""Several queries, one list: ranked, shown, and made to fit one budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kb_app._search.aggregation import Merged, QueryList, aggregate
from kb_app._search.budget import fit
from kb_app._search.bulk import Asked, checked, each
from kb_app._search.ranking import as_ranked, page_of
from kb_app._search.service import Engine, Ranking
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.filters import Filter
from kb_core.ports import StoredChunk
from kb_core.search import AggregatedResponse, Hit, Outcome, SearchQuery, SearchResponse

__all__ = ["DEPTH", "Pool", "remarks", "search_aggregated"]

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
) -> AggregatedResponse:
    """Return the best *k* of what all queries found, by default as many as any of them asks for.

    *max_tokens* bounds bulk_search_response.v1 without its traces, in which *asked* are
    the queries as they came.
    """
    pool = Pool(engine, [_refuse_own(query) for query in checked(queries)])
    outcomes = pool.outcomes()
    size = k or max((query.k for query in pool.queries), default=0)
    merged = pool.merge(size)[:size]
    plain = AggregatedResponse(outcomes=outcomes, hits=())

    def render(snippet_chars: int) -> list[Hit]:
        return pool.hits(merged, snippet_chars)

    def assemble(hits: Sequence[Hit], omitted: dict[str, int] | None) -> AggregatedResponse:
        left_out = omitted is not None
        return replace(plain, hits=tuple(hits), truncated=left_out, omitted=omitted)

    longest = max((query.snippet_chars for query in pool.queries), default=0)
    if max_tokens is None:
        return assemble(render(longest), None)
    echoes = asked or [_echo(query) for query in queries]

    def measure(response: AggregatedResponse) -> int:
        untraced = replace(response, outcomes=tuple(map(_without_trace, response.outcomes)))
        return len(wire.dumps(wire.aggregated_search_response(echoes, untraced)))

    return fit(render, assemble, longest, max_tokens, measure)


@dataclass(frozen=True, slots=True)
class _Found:
    """What one query found: its list, and the response without hits."""

    position: int
    query: SearchQuery
    ranking: Ranking
    response: SearchResponse


class Pool:
    """What several queries found over one engine, before and after it is merged.

    *where* narrows each query further than its own filters do.
    """

    def __init__(
        self,
        engine: Engine,
        queries: Sequence[Asked],
        where: Sequence[Filter | None] | None = None,
    ) -> None:
        self._engine = engine
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
        self, size: int, *, usable: Callable[[StoredChunk], bool] = lambda _: True
    ) -> list[Merged]:
        """Return one list, of at least the best *size* of each query that are *usable*."""
        lists = [self._list(found, max(DEPTH, size)) for found in self._found]
        keys = dict.fromkeys(row.chunk_key for one in lists for row in one.rows)
        chunks = self._engine.renderer.chunks(list(keys))
        return aggregate(lists, {key: chunk for key, chunk in chunks.items() if usable(chunk)})

    def hits(self, merged: Sequence[Merged], snippet_chars: int) -> list[Hit]:
        """Return the results as hits, each with the words of the query that it is shown for."""
        return [self._hit(rank, one, snippet_chars) for rank, one in enumerate(merged, start=1)]

    def _find(self, position: int, query: SearchQuery) -> _Found:
        ranking = self._engine.ranking(query, self._where[position])
        return _Found(position, query, ranking, self._engine.without_hits(ranking))

    def _list(self, found: _Found, depth: int) -> QueryList:
        page = page_of(found.ranking.rows, 0, depth, self._engine.renderer.places)
        mode = found.query.mode
        rows = [as_ranked(row, mode, rank) for rank, row in enumerate(page, start=1)]
        return QueryList(_identity(found.query, self._where[found.position]), rows)

    def _hit(self, rank: int, merged: Merged, snippet_chars: int) -> Hit:
        query = self._found[merged.shown_for].query
        renderer = self._engine.renderer
        row = replace(merged.row, score=merged.score, kind="aggregated")
        (hit,) = renderer.hits(
            [row],
            first_rank=rank,
            method=query.mode.value,
            highlighter=renderer.highlighter(query.text),
            snippet_chars=min(snippet_chars, query.snippet_chars),
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


def _identity(query: SearchQuery, where: Filter | None) -> tuple[str, ...]:
    """Return what two queries have in common when they are the same but for their spelling."""
    words = " ".join(query.text.casefold().split())
    return (words, query.mode.value, str(asdict(query.filters)), str(query.rerank), str(where))


def _echo(query: Asked) -> Mapping[str, Any]:
    return {"query": query.text} if isinstance(query, SearchQuery) else {}


def _without_trace(outcome: Outcome) -> Outcome:
    return outcome if isinstance(outcome, KbError) else replace(outcome, trace=None)


def remarks(outcomes: Iterable[Outcome], name: str) -> tuple[str, ...]:
    """Return what the responses say under *name*, ``degraded`` or ``warnings``, each once."""
    answered = (one for one in outcomes if not isinstance(one, KbError))
    return tuple(dict.fromkeys(said for one in answered for said in getattr(one, name)))
