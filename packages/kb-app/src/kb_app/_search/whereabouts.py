"""Where a document stands in each channel, however far down that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kb_app._search.candidates import Channel, propose
from kb_app._search.deadline import Deadline
from kb_app._search.grammar import parse_query
from kb_app._search.service import Engine
from kb_core.filters import Filter
from kb_core.search import Scored, SearchQuery

__all__ = ["Standing", "standings"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The best chunk of a document in one list, ranks from 1."""

    chunk_key: int
    rank: int
    score: float


def standings(
    engine: Engine, query: SearchQuery, where: Filter | None, keys: set[int]
) -> tuple[Standing | None, Standing | None]:
    """Return the standings of *keys* in the exhaustive lists of both channels."""
    everything = max(1, engine.snapshot.count(None))
    found = propose(
        engine.snapshot,
        parse_query(query.text),
        where,
        everything,
        wanted=Channel.of(query.mode),
        model_key=engine.settings.model_key,
        embed=engine.embed,
        deadline=Deadline(None),
    )
    return _first(found.lexical, keys), _first(found.vector, keys)


def _first(ranked: Sequence[Scored], keys: set[int]) -> Standing | None:
    """Return the best of *keys*; equal scores share the best rank among them."""
    best = next((row for row in ranked if row.chunk_key in keys), None)
    if best is None:
        return None
    rank = 1 + sum(row.score > best.score for row in ranked)
    return Standing(best.chunk_key, rank, best.score)
