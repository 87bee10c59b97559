"""Measures over whole test collections. Pure.

A *run* gives a ranking of document ids for each query, *qrels* the grade of each judged
document. The figures themselves, and whether a difference is more than luck, are those of the
product, ``kb_app._evals.figures``. A query that the run lacks counts as one with an empty
ranking; a query without a relevant document counts nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from kb_app._evals.figures import Difference, compare, mrr, ndcg, recall

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


def by_best_chunk(doc_ids: Iterable[str]) -> list[str]:
    """Return documents in the order of their best chunk, given the document of each chunk."""
    return list(dict.fromkeys(doc_ids))


def evaluate(run: Run, qrels: Qrels) -> dict[str, float]:
    """Return the means over all judged queries, and how many queries got nothing."""
    judged = {query: grades for query, grades in qrels.items() if _is_judged(grades)}
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
        if _is_judged(grades)
    }


def _is_judged(grades: Mapping[str, int]) -> bool:
    return any(grade > 0 for grade in grades.values())
