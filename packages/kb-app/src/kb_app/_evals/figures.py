"""Figures of rankings, how sure a mean is, and whether a difference is more than luck. Pure.

A *ranking* is ids, best first, each once; *grades* say how much each judged id is worth, and
one above 0 is relevant. The figures are those of ``trec_eval``: gains are grades, discounted
by the logarithm of the rank; precision divides by the depth, however short the ranking is.
All lie between 0 and 1. Where nothing is relevant they are 0, and callers leave that out.

Chance is drawn by the standard library's generator from a seed: the same values give the
same answer on every machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kb_core.values import dataclass

__all__ = [
    "Difference",
    "Mean",
    "Values",
    "compare",
    "hit",
    "holm",
    "mean_of",
    "mrr",
    "ndcg",
    "precision",
    "quantile",
    "recall",
    "recall_within",
    "trec_order",
]

Values = Sequence[float]
Grades = Mapping[str, int]

_ROUNDS = 10_000
_BOOTSTRAP = 2_000
"""Rounds for an interval: its ends move by a fiftieth of its width from seed to seed."""
_SURE = (0.025, 0.975)
_BITS = 8


def ndcg(ranking: Sequence[str], grades: Grades, depth: int = 10) -> float:
    """Return the discounted gain of the first *depth*, as a share of the best possible."""
    best = _gain(sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:depth])
    found = _gain([max(grades.get(one, 0), 0) for one in ranking[:depth]])
    return found / best if best else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def recall(ranking: Sequence[str], grades: Grades, depth: int = 100) -> float:
    """Return which share of what is relevant is among the first *depth*."""
    relevant = _relevant(grades)
    return len(relevant.intersection(ranking[:depth])) / len(relevant) if relevant else 0.0


def precision(ranking: Sequence[str], grades: Grades, depth: int = 10) -> float:
    """Return which share of *depth* places has something relevant."""
    return len(_relevant(grades).intersection(ranking[:depth])) / depth


def hit(ranking: Sequence[str], grades: Grades, depth: int = 10) -> float:
    """Return 1 if anything relevant is among the first *depth*, else 0."""
    return float(not _relevant(grades).isdisjoint(ranking[:depth]))


def mrr(ranking: Sequence[str], grades: Grades, depth: int = 10) -> float:
    """Return one over the rank of the first that is relevant, 0 beyond *depth*."""
    relevant = _relevant(grades)
    ranks = (rank for rank, one in enumerate(ranking[:depth], start=1) if one in relevant)
    return 1 / next(ranks, math.inf)


def recall_within(read: Mapping[str, float], grades: Grades, budget: float) -> float:
    """Return which share of what is relevant a reader has met within *budget*.

    *read* gives, of each id that was met, how much had been read by its end.
    """
    relevant = _relevant(grades)
    met = [one for one in relevant if read.get(one, math.inf) <= budget]
    return len(met) / len(relevant) if relevant else 0.0


def _relevant(grades: Grades) -> set[str]:
    return {one for one, grade in grades.items() if grade > 0}


def trec_order(scores: Mapping[str, float]) -> list[str]:
    """Return ids by score as ``trec_eval`` reads a run: of equal ones the last name first."""
    return sorted(sorted(scores, reverse=True), key=lambda one: -scores[one])


# ------------------------------------------------------------------- certainty


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of *count* values; ``low`` and ``high`` bound it with 95 % confidence.

    The interval says how far another draw of questions of the same kind might lead.
    """

    mean: float
    low: float
    high: float
    count: int


def mean_of(values: Values, *, rounds: int = _BOOTSTRAP, seed: int = 1) -> Mean | None:
    """Return the mean and its interval by the bootstrap; ``None`` of nothing."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    low, high = _interval(values, rounds, seed)
    return Mean(mean, low, high, len(values))


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better one run is than another over the same queries.

    ``p`` is of the two-sided randomisation test; ``low`` and ``high`` bound the mean
    difference with 95 % confidence, by the bootstrap.
    """

    mean: float
    p: float
    low: float
    high: float


def compare(better: Values, worse: Values, *, rounds: int = _ROUNDS, seed: int = 1) -> Difference:
    """Compare paired values."""
    pairs = [after - before for after, before in zip(better, worse, strict=True)]
    if not any(pairs):
        return Difference(0.0, 1.0, 0.0, 0.0)
    mean = math.fsum(pairs) / len(pairs)
    low, high = _interval(pairs, min(rounds, _BOOTSTRAP), seed)
    return Difference(mean, _randomised(pairs, rounds, seed), low, high)


def _randomised(pairs: Values, rounds: int, seed: int) -> float:
    """Return how often chance alone gives as large a sum, if it did not matter which is which.

    Every pair keeps its sign or changes it. The sums of all signs of eight pairs are made
    once, so that a round looks up a byte for each eight.
    """
    tables = [_signed(pairs[at : at + _BITS]) for at in range(0, len(pairs), _BITS)]
    generator = random.Random(seed)  # noqa: S311 - repeatable, nothing secret
    observed = abs(math.fsum(pairs)) - 1e-9
    look: Callable[[list[float], int], float] = list.__getitem__
    extreme = sum(
        abs(sum(map(look, tables, generator.randbytes(len(tables))))) >= observed
        for _ in range(rounds)
    )
    # The observed assignment is one of those that chance could have made.
    return (extreme + 1) / (rounds + 1)


def _signed(pairs: Values) -> list[float]:
    """Return the sum of up to eight values for every choice of their signs."""
    sums = [0.0]
    for value in pairs:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums * (1 << _BITS - len(pairs))


def _interval(values: Values, rounds: int, seed: int) -> tuple[float, float]:
    """Return the ends of the middle 95 % of means over values drawn with replacement."""
    if min(values) == max(values):
        return values[0], values[0]
    generator, size = random.Random(seed), len(values)  # noqa: S311 - as above
    drawn = sorted(sum(generator.choices(values, k=size)) / size for _ in range(rounds))
    return quantile(drawn, _SURE[0]), quantile(drawn, _SURE[1])


def quantile(ordered: Values, share: float) -> float:
    """Return the value below which a *share* of *ordered* lies, between its neighbours."""
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    """Return p values of several tests, adjusted so that together they err in 5 % (Holm 1979)."""
    return dict(_stepped(sorted(chances.items(), key=lambda item: item[1])))


def _stepped(ordered: Iterable[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    rows, worst = list(ordered), 0.0
    for step, (name, chance) in enumerate(rows):
        worst = max(worst, min(1.0, chance * (len(rows) - step)))
        yield name, worst
