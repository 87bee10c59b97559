"""The trace of a search in rows: what each channel proposed, and what fusing made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb_core.search import Candidate, Timing, Trace

__all__ = ["Listing", "TraceRow", "listings", "stages"]


class TraceRow(NamedTuple):
    """A chunk in a list."""

    rank: int
    score: float
    chunk_id: str
    doc_path: str
    """Empty where neither channel's list names the document."""
    ranks: tuple[int | None, int | None] | None = None
    """Of a fused row: where it stood by words and by meaning, if it did."""


class Listing(NamedTuple):
    """One list of a trace, whole, in order."""

    name: str
    spent_ms: int
    rows: tuple[TraceRow, ...]


def listings(trace: Trace) -> tuple[Listing, Listing, Listing]:
    """Return the lists by words and by meaning, and the fused one."""
    timing = trace.timing
    paths = {each.chunk_id: each.doc_path for each in (*trace.lexical, *trace.vector)}
    fused = (
        TraceRow(
            rank,
            row.fusion_score,
            row.chunk_id,
            paths.get(row.chunk_id, ""),
            (row.lexical_rank, row.vector_rank),
        )
        for rank, row in enumerate(trace.fused, start=1)
    )
    return (
        Listing("lexical", timing.lexical_ms, _rows(trace.lexical)),
        Listing("vector", timing.vector_ms, _rows(trace.vector)),
        Listing("fused", timing.fusion_ms, tuple(fused)),
    )


def stages(timing: Timing) -> list[tuple[str, int]]:
    """Return each stage that took part with its milliseconds, and what no stage took.

    They add up to the total, unless stages ran side by side: then they are more.
    """
    known = [
        ("question", timing.embed_ms or 0),
        ("words", timing.lexical_ms),
        ("meaning", timing.vector_ms),
        ("fusion", timing.fusion_ms),
        ("reranking", timing.rerank_ms or 0),
        ("reading", timing.hydrate_ms or 0),
    ]
    rest = timing.total_ms - sum(spent for _, spent in known)
    return [(name, spent) for name, spent in (*known, ("rest", max(0, rest))) if spent]


def _rows(found: Iterable[Candidate]) -> tuple[TraceRow, ...]:
    return tuple(TraceRow(each.rank, each.score, each.chunk_id, each.doc_path) for each in found)
