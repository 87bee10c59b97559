"""What one question's hits and answer are worth, and what all of them come to. Pure.

Figures of one question, by name; those that do not apply are left out:

    ndcg@10 mrr@10 hit@1 hit@5 recall@10 recall@N precision@5     of its ranking, N the depth
    recall@500t recall@1000t recall@2000t     of what a reader has met in so many tokens
    doubt       1 where "nothing here seems to answer this" was rightly said, or rightly not
    refusal     1 where an answer was given to what has one, or refused to what has none
    grounded    1 where the answer has all texts that it must contain, and none that is forbidden
    cited       1 where the answer cites something that was expected

``consistency`` is of a group: how much of the first ten hits two of its questions share, the
mean over all pairs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from kb_app._evals import figures
from kb_app.shown import is_doubtful
from kb_core.search import CHARS_PER_TOKEN, Hit, SearchResponse
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._evals.binding import Bound
    from kb_app._evals.stored import Asked, Kept
    from kb_core.answers import Answer

__all__ = ["GATED", "Found", "figures_of", "judge", "judge_answer", "summed"]

BUDGETS = (500, 1000, 2000)
GATED = ("ndcg@10", "mrr@10", "hit@5", "recall@10", "refusal", "grounded", "cited")
"""Figures by which a run is better or worse than another."""
_FIRST = 10


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gave for a case; ``chars`` are the lengths of whole passages by chunk."""

    response: SearchResponse
    chars: Mapping[str, int]


def judge(bound: Bound, found: Found, depth: int) -> Asked:
    """Return what the hits of a case are worth, and where its targets stand among them."""
    ranking: dict[str, int] = {}
    read: dict[str, float] = {}
    kept, spent = [], 0.0
    for hit in found.response.hits:
        units = bound.units(hit.chunk_id, hit.doc_id)
        spent += found.chars.get(hit.chunk_id, len(hit.snippet)) / CHARS_PER_TOKEN
        for unit in units:
            ranking.setdefault(unit, len(ranking) + 1)
            read.setdefault(unit, spent)
        kept.append(_kept(hit, [unit for unit in units if unit in bound.grades]))
    told = _doubted(bound, found.response)
    if bound.grades:
        told |= figures_of(list(ranking), bound.grades, depth)
        told |= {
            f"recall@{budget}t": figures.recall_within(read, bound.grades, budget)
            for budget in BUDGETS
        }
    ranks = {target: ranking.get(target) for target in bound.grades}
    return {"figures": told, "ranks": ranks, "hits": kept}


def figures_of(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> dict[str, float]:
    """Return the figures of one ranking."""
    return {
        "ndcg@10": figures.ndcg(ranking, grades, _FIRST),
        "mrr@10": figures.mrr(ranking, grades, _FIRST),
        "hit@1": figures.hit(ranking, grades, 1),
        "hit@5": figures.hit(ranking, grades, 5),
        "recall@10": figures.recall(ranking, grades, _FIRST),
        f"recall@{depth}": figures.recall(ranking, grades, depth),
        "precision@5": figures.precision(ranking, grades, 5),
    }


def _doubted(bound: Bound, response: SearchResponse) -> dict[str, float]:
    """Return whether it was rightly said, or not, that nothing seems to answer."""
    if response.confidence is None or not response.hits:
        return {}
    doubted = is_doubtful(response.confidence, response.hits[0].score_kind)
    return {"doubt": float(doubted == bound.case.wants_refusal)}


def _kept(hit: Hit, met: list[str]) -> Kept:
    return {
        "rank": hit.rank,
        "uri": hit.citation.uri,
        "chunk_id": hit.chunk_id,
        "doc_id": hit.doc_id,
        "score": round(hit.score, 6),
        "lexical_rank": hit.retrieval.lexical_rank,
        "vector_rank": hit.retrieval.vector_rank,
        "rerank_score": hit.retrieval.rerank_score,
        "met": met,
    }


def judge_answer(bound: Bound, answer: Answer) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the figures of an answer, and what of it is worth keeping."""
    case, refused = bound.case, answer.refusal is not None
    told = {"refusal": float(refused == case.wants_refusal)}
    if not refused and (case.must_contain or case.forbidden):
        said = answer.text.casefold()
        holds = all(text.casefold() in said for text in case.must_contain)
        told["grounded"] = float(holds and not any(t.casefold() in said for t in case.forbidden))
    if not refused and bound.grades:
        cited = [(one.hit.chunk_id, one.hit.doc_id) for one in answer.citations]
        met = any(target.is_met_by(*one) for target in bound.targets for one in cited)
        told["cited"] = float(met)
    kept = {
        "text": answer.text,
        "refusal": answer.refusal,
        "confidence": answer.confidence,
        "citations": [one.citation.uri for one in answer.citations],
        "ms": answer.latency_ms,
    }
    return told, kept


def summed(asked: Sequence[Asked], groups: Mapping[str, str]) -> dict[str, Any]:
    """Return what the questions of one variant come to; *groups* gives those of cases."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for one in asked:
        for name, value in one.get("figures", {}).items():
            values[name].append(value)
    values["consistency"] = list(_consistency(asked, groups))
    told = [
        {"name": name, "mean": mean.mean, "low": mean.low, "high": mean.high, "count": mean.count}
        for name, found in values.items()
        if (mean := figures.mean_of(found)) is not None
    ]
    times = sorted(one["ms"] for one in asked if "ms" in one)
    return {
        "asked": len(asked),
        "empty": sum("hits" in one and not one["hits"] for one in asked),
        "failed": sum("error" in one for one in asked),
        "p50_ms": round(figures.quantile(times, 0.5), 3) if times else None,
        "p95_ms": round(figures.quantile(times, 0.95), 3) if times else None,
        "degraded": list(dict.fromkeys(why for one in asked for why in one.get("degraded", ()))),
        "figures": told,
    }


def _consistency(asked: Iterable[Asked], groups: Mapping[str, str]) -> Iterator[float]:
    """Yield, of each group, how much of their first hits two questions share."""
    firsts: defaultdict[str, list[set[str]]] = defaultdict(list)
    for one in asked:
        if one["case"] in groups and "hits" in one:
            ids = {hit["chunk_id"] for hit in one["hits"][:_FIRST]}
            firsts[groups[one["case"]]].append(ids)
    for sets in firsts.values():
        shares = [len(a & b) / len(a | b) for a, b in combinations(sets, 2) if a | b]
        if shares:
            yield math.fsum(shares) / len(shares)
