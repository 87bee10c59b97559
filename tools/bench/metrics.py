"""Measures of ranking, and whether a difference is more than luck. Pure.

A *run* gives a ranking of document ids for each query, *qrels* the grade of each judged
document; a grade above 0 is relevant. The measures are those of ``trec_eval``: gains are
grades, discounted by the logarithm of the rank. A query that the run lacks counts as one
with an empty ranking; a query without a relevant document counts nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "Difference",
    "Qrels",
    "Run",
    "by_best_chunk",
    "compare",
    "evaluate",
    "mrr",
    "ndcg",
    "ndcg_by_query",
    "recall",
]

Run: TypeAlias = Mapping[str, Sequence[str]]
Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
Values: TypeAlias = npt.NDArray[np.float64]

_BLOCK = 500


def by_best_chunk(doc_ids: Iterable[str]) -> list[str]:
    """Return documents in the order of their best chunk, given the document of each chunk."""
    return list(dict.fromkeys(doc_ids))


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Return the discounted gain of the first *depth*, as a share of the best possible."""
    best = _gain(sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:depth])
    found = _gain([max(grades.get(doc, 0), 0) for doc in ranking[:depth]])
    return found / best if best else 0.0


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 100) -> float:
    """Return which share of the relevant documents is among the first *depth*."""
    relevant = _relevant(grades)
    return len(relevant.intersection(ranking[:depth])) / len(relevant) if relevant else 0.0


def mrr(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Return one over the rank of the first relevant document, 0 beyond *depth*."""
    relevant = _relevant(grades)
    ranks = (rank for rank, doc in enumerate(ranking[:depth], start=1) if doc in relevant)
    return 1 / next(ranks, math.inf)


def evaluate(run: Run, qrels: Qrels) -> dict[str, float]:
    """Return the means over all judged queries, and how many queries got nothing."""
    judged = {query: grades for query, grades in qrels.items() if _relevant(grades)}
    rankings = {query: run.get(query, ()) for query in judged}

    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(judged) if judged else 0.0

    return {
        "ndcg@10": mean(ndcg(rankings[query], grades) for query, grades in judged.items()),
        "recall@100": mean(recall(rankings[query], grades) for query, grades in judged.items()),
        "mrr@10": mean(mrr(rankings[query], grades) for query, grades in judged.items()),
        "queries": len(judged),
        "empty": sum(not ranking for ranking in rankings.values()),
        "docs": mean(len(ranking) for ranking in rankings.values()),
    }


def ndcg_by_query(run: Run, qrels: Qrels) -> dict[str, float]:
    """Return nDCG@10 of each judged query, in the order of their ids."""
    return {
        query: ndcg(run.get(query, ()), grades)
        for query, grades in sorted(qrels.items())
        if _relevant(grades)
    }


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


def compare(
    better: Sequence[float], worse: Sequence[float], *, rounds: int = 10_000, seed: int = 1
) -> Difference:
    """Compare paired values; the same values and seed give the same answer."""
    pairs: Values = np.asarray(better, np.float64) - np.asarray(worse, np.float64)
    if not len(pairs):
        return Difference(0.0, 1.0, 0.0, 0.0)
    generator = np.random.default_rng(seed)
    observed = float(pairs.mean())
    blocks = [_BLOCK] * max(1, rounds // _BLOCK)
    flipped = np.concatenate([_flipped(pairs, size, generator) for size in blocks])
    drawn = np.concatenate([_drawn(pairs, size, generator) for size in blocks])
    # The observed assignment is one of those that chance could have made.
    extreme = int((np.abs(flipped) >= abs(observed) - 1e-12).sum())
    low, high = (float(bound) for bound in np.quantile(drawn, (0.025, 0.975)))
    return Difference(observed, (extreme + 1) / (len(flipped) + 1), low, high)


def _flipped(pairs: Values, size: int, generator: np.random.Generator) -> Values:
    """Return mean differences as they would be if it did not matter which run is which."""
    signs = generator.integers(0, 2, (size, len(pairs)), np.int8) * 2 - 1
    means: Values = signs @ pairs / len(pairs)
    return means


def _drawn(pairs: Values, size: int, generator: np.random.Generator) -> Values:
    """Return mean differences over queries drawn with replacement."""
    means: Values = pairs[generator.integers(0, len(pairs), (size, len(pairs)))].mean(axis=1)
    return means


def _relevant(grades: Mapping[str, int]) -> set[str]:
    return {doc for doc, grade in grades.items() if grade > 0}


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))
