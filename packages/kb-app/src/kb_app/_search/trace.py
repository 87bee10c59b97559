"""The trace of a search: what each channel proposed, how it was fused, what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb_app._search.channels import Proposals, Stopwatch
from kb_app._search.hits import Renderer
from kb_app._search.ranking import Row, as_ranked, page_of
from kb_core.media import SearchMode
from kb_core.search import Candidate, FusionInput, Scored, Timing, Trace

if TYPE_CHECKING:
    from kb_core.ports import StoredChunk

__all__ = ["trace_of"]


def trace_of(
    renderer: Renderer,
    proposals: Proposals,
    rows: Sequence[Row],
    mode: SearchMode,
    watch: Stopwatch,
) -> Trace:
    """Return the story of one search; reads every candidate.

    *rows* are those of the list before anything was reranked. Where one channel ranks
    alone, its list is shown as the hits stand; else as the channel gave it to fusion.
    """
    total = watch.total_secs
    chunks = renderer.chunks([row.chunk_key for row in rows])
    ordered = page_of(rows, 0, len(rows), renderer.places)
    ordered = [as_ranked(row, mode, rank) for rank, row in enumerate(ordered, start=1)]
    alone = [Scored(row.chunk_key, row.score) for row in ordered]
    return Trace(
        lexical=_candidates(alone if mode is SearchMode.LEXICAL else proposals.lexical, chunks),
        vector=_candidates(alone if mode is SearchMode.VECTOR else proposals.vector, chunks),
        fused=tuple(
            FusionInput(
                chunks[row.chunk_key]["chunk_id"],
                row.fused.lexical_rank,
                row.fused.vector_rank,
                row.fused.score,
            )
            for row in ordered
            if row.chunk_key in chunks
        ),
        timing=Timing(
            lexical_ms=_ms(proposals.lexical_secs),
            vector_ms=_ms(proposals.vector_secs),
            fusion_ms=_ms(watch.fusion_secs),
            total_ms=_ms(total),
            embed_ms=_ms(proposals.embed_secs),
            hydrate_ms=_ms(watch.read_secs),
            rerank_ms=None if proposals.rerank_secs is None else _ms(proposals.rerank_secs),
        ),
    )


def _candidates(
    scored: Sequence[Scored], chunks: Mapping[int, StoredChunk]
) -> tuple[Candidate, ...]:
    found = []
    for rank, row in enumerate(scored, start=1):
        chunk = chunks.get(row.chunk_key)
        if chunk is not None:
            found.append(
                Candidate(chunk["chunk_id"], chunk["doc_id"], chunk["path"], rank, row.score)
            )
    return tuple(found)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
