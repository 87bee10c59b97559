"""Our figures are those of ``ir-measures``, which stands on the reference ``trec_eval``."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kb_app._evals import figures

reference: Any = pytest.importorskip("ir_measures", reason="ir-measures is a development tool")

RUNS = 1_000
DEPTHS = (1, 3, 5, 10, 20)


def _random(chance: random.Random) -> tuple[dict[str, int], dict[str, float]]:
    """Return judgements, one at least relevant, and a run with ties, strangers, or nothing."""
    docs = [f"d{n}" for n in range(chance.randint(1, 40))]
    grades = {doc: chance.choice((0, 0, 1, 1, 2, 3)) for doc in chance.sample(docs, len(docs) // 2)}
    grades[docs[0]] = chance.randint(1, 3)
    pool = [*docs, *(f"x{n}" for n in range(20))]
    found = chance.sample(pool, chance.choice((0, chance.randint(1, len(pool)))))
    return grades, {doc: float(chance.randint(0, 6)) for doc in found}


def test_figures_are_the_references_on_a_thousand_random_runs() -> None:
    chance = random.Random(5)
    drawn = {f"q{n}": _random(chance) for n in range(RUNS)}
    pairs = {
        f"{name}@{depth}": (reference.parse_measure(f"{name}@{depth}"), ours, depth)
        for depth in DEPTHS
        for name, ours in (
            ("nDCG", figures.ndcg),
            ("P", figures.precision),
            ("R", figures.recall),
            ("Success", figures.hit),
        )
    }
    pairs["RR"] = (reference.RR, figures.mrr, 1_000)

    told = reference.iter_calc(
        [measure for measure, _, _ in pairs.values()],
        {query: grades for query, (grades, _) in drawn.items()},
        {query: scores for query, (_, scores) in drawn.items()},
    )
    theirs = {(row.query_id, str(row.measure)): row.value for row in told}

    for query, (grades, scores) in drawn.items():
        ranking = figures.trec_order(scores)
        for name, (_, ours, depth) in pairs.items():
            assert ours(ranking, grades, depth) == pytest.approx(
                theirs.get((query, name), 0.0), abs=1e-9
            ), (query, name)
    assert any(not scores for _, scores in drawn.values())
