"""Fusion: two rankings of the same chunks become one.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009) looks at ranks only,
so a BM25 score and a cosine need no common scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kb_core.search import Scored

__all__ = ["Fused", "reciprocal_rank_fusion"]


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk of the union, with what each channel said of it."""

    chunk_key: int
    score: float
    lexical_rank: int | None = None
    lexical_score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None


def reciprocal_rank_fusion(
    lexical: Sequence[Scored], vector: Sequence[Scored], *, k: int = 60
) -> list[Fused]:
    """Fuse two rankings, best first; ties by chunk key.

    The score is ``sum(1 / (k + rank))`` over the channels, divided by its largest value
    ``2 / (k + 1)``, so it lies in 0..1 and 1 means first in both.
    """
    by_words = {scored.chunk_key: (rank, scored.score) for rank, scored in enumerate(lexical, 1)}
    by_meaning = {scored.chunk_key: (rank, scored.score) for rank, scored in enumerate(vector, 1)}
    best = 2 / (k + 1)
    fused = []
    for key in by_words | by_meaning:
        lexical_rank, lexical_score = by_words.get(key, (None, None))
        vector_rank, vector_score = by_meaning.get(key, (None, None))
        ranks = [rank for rank in (lexical_rank, vector_rank) if rank is not None]
        score = round(sum(1 / (k + rank) for rank in ranks) / best, 6)
        fused.append(Fused(key, score, lexical_rank, lexical_score, vector_rank, vector_score))
    return sorted(fused, key=lambda row: (-row.score, row.chunk_key))
