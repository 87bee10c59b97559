"""The gate: whether the evidence answers the question at all, as a chance from 0 to 1.

It goes by the best passage and the best unit of ``evidence``, not by scores of the list, so
that it says the same whichever way they were found. The constants are those of a logistic
regression over development collections: each question asked as it is, and with every
document taken out that answers it, its near neighbours left; each collection weighs the same.
``tools/bench/answers.py`` fits and measures them, by collection, language and model.
"""

from __future__ import annotations

import math
from operator import mul

from kb_app._ask.evidence import Evidence, mean
from kb_core.values import dataclass

__all__ = ["FEATURES", "Gate", "chance_of", "features", "gate_of"]

FEATURES = (
    "nearness of the best unit", "its farthest token", "its share of the words",
    "its lead over the next five", "nearness of the first passage", "its farthest token",
    "its lead over the others", "its share of the words", "the best share of the words",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gate:
    """The constants of one way to read."""

    weights: tuple[float, ...]
    """The constant, then one for each of ``FEATURES``."""
    threshold: float
    """Below it, there is no answer."""


_GATES: dict[str, Gate] = {
    "multilingual-e5-small": Gate(
        (-23.1, 13.8, 2.3, 1.07, 48.6, -3.94, 11, 24.5, 7.11, -1.82), 0.49
    ),
    "multilingual-e5-small, foreign": Gate(
        (-15.8, 8.41, -8.03, 4.22, 77.1, 2.55, 16.5, 10.8, -6.25, -1.04), 0.68
    ),
    "": Gate((-2.47, 0, 0, 2.71, 0, 0, 0, 0, 5.81, -1.46), 0.52),
}
"""By the name of the model that reads, and for questions most of whose words no passage
holds, such as those in another language; ``""``: words alone."""


def gate_of(model: str, evidence: Evidence) -> Gate | None:
    """Return the gate for what *model* read; ``None`` for a model that nobody measured."""
    if not evidence.is_read:
        return _GATES[""]
    return _GATES.get(f"{model}, foreign" if evidence.is_foreign else model)


def chance_of(evidence: Evidence, gate: Gate) -> float:
    """Return about how likely *evidence* answers its question."""
    if not any(passage.pieces for passage in evidence.passages):
        return 0.0
    odds = gate.weights[0] + math.fsum(map(mul, gate.weights[1:], features(evidence)))
    return round(1 / (1 + math.exp(-odds)), 3)


def features(evidence: Evidence) -> tuple[float, ...]:
    """Return ``FEATURES`` of the evidence, which has a unit at least."""
    pieces = [
        piece
        for passage in evidence.passages
        for piece in passage.pieces
        if piece.unit.kind != "heading"
    ] or [piece for passage in evidence.passages for piece in passage.pieces]
    best, *rest = sorted(pieces, key=lambda piece: (-piece.nearness, -piece.share))
    first, *others = evidence.passages
    return (
        best.nearness,
        best.farthest,
        best.share,
        best.nearness - mean([piece.nearness for piece in rest[:5]], best.nearness),
        first.nearness,
        min(first.nearest, default=0.0),
        first.nearness - mean([passage.nearness for passage in others], first.nearness),
        first.share,
        max(passage.share for passage in evidence.passages),
    )
