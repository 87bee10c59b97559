"""How good the best of a list is, from 0 to 1, in terms that mean the same everywhere.

A score orders one list and says nothing of another. What tells an answer from the best of
nothing is how much of what the question's words can score the best passage scores, and how
far the nearest passage stands out among those near it. Weighed together they are about the
chance that the first hit answers the question.

The constants are those of a logistic regression over development collections: each query
asked with its answers in the index and with them taken out, and questions that were made for
another collection. Each collection weighs the same; ``tools/bench/confidence.py`` fits and
measures them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kb_app._search.channels import Channel, Proposals
from kb_core.search import Scored

__all__ = ["confidence_of", "features_of"]

_MODEL = "multilingual-e5-small."
"""The model whose cosines the constants know, whatever its quantization and revision."""
_WORDS = (-2.96, 1.55, 3.51)
_MEANING = (-2.59, 0.73, 0.66, 0.65)
_BOTH = (-2.97, 0.46, 1.79, 0.59, 0.61, 0.37)
_COVERED = 0.5
"""The share of passages that need a vector: the nearest of a few is near to nothing."""
_COSINE, _SPREAD, _STEP = 0.87, 0.03, 0.02
"""What the nearest passage of a question is like, how much that varies, and by how much it
is nearer than the next."""


def confidence_of(proposals: Proposals, wanted: Channel, model_key: str | None) -> float | None:
    """Return the confidence, 0 where nothing was found; ``None`` where nothing can be told."""
    if not proposals.lexical and not proposals.vector:
        return 0.0
    channels = wanted & (Channel.LEXICAL | Channel.VECTOR)
    is_known = str(model_key).startswith(_MODEL) and proposals.vector
    if not is_known or proposals.basis.coverage < _COVERED:
        channels &= ~Channel.VECTOR
    weights = {
        Channel.LEXICAL: _WORDS,
        Channel.VECTOR: _MEANING,
        Channel.LEXICAL | Channel.VECTOR: _BOTH,
    }.get(channels)
    if weights is None:
        return None
    features = features_of(proposals, channels)
    odds = math.fsum(w * f for w, f in zip(weights, (1.0, *features), strict=True))
    return round(1 / (1 + math.exp(-odds)), 3)


def features_of(proposals: Proposals, channels: Channel) -> tuple[float, ...]:
    """Return what *channels* say of the best: of the words first, then of the meaning."""
    words = _words(proposals) if Channel.LEXICAL in channels else ()
    meaning = _meaning(proposals.vector) if Channel.VECTOR in channels else ()
    return (*words, *meaning)


def _words(proposals: Proposals) -> tuple[float, float]:
    """Return the best score and its lead, as shares of what a passage with all words scores."""
    known, found = proposals.basis.known, proposals.lexical
    if known is None or not found or not known.full_match:
        return (0.0, 0.0)
    first, second = found[0].score, found[1].score if len(found) > 1 else 0.0
    return (min(first / known.full_match, 2.0), min((first - second) / known.full_match, 1.0))


def _meaning(found: Sequence[Scored]) -> tuple[float, float, float]:
    """Return the best cosine, and its lead over the mean of the pool and over the second."""
    best = found[0].score
    mean = math.fsum(row.score for row in found) / len(found)
    second = found[1].score if len(found) > 1 else best
    return ((best - _COSINE) / _SPREAD, (best - mean) / _SPREAD, (best - second) / _STEP)
