"""Figures of rankings, how sure a mean is, and what chance alone would give.

Those that the benches use, too, are worked out by hand in ``test_bench_metrics``.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from kb_app._evals import figures

IDS = [f"d{n}" for n in range(12)]
rankings = st.lists(st.sampled_from(IDS), unique=True)
graded = st.dictionaries(st.sampled_from(IDS), st.integers(-1, 3), max_size=12)


@given(rankings, graded, st.integers(1, 15))
def test_every_figure_lies_between_none_and_all(
    ranking: list[str], grades: dict[str, int], depth: int
) -> None:
    measures = (figures.ndcg, figures.mrr, figures.recall, figures.precision, figures.hit)
    for measure in measures:
        assert 0 <= measure(ranking, grades, depth) <= 1


@given(rankings, graded, st.integers(1, 15))
def test_something_found_shows_in_every_figure_alike(
    ranking: list[str], grades: dict[str, int], depth: int
) -> None:
    found = figures.hit(ranking, grades, depth) > 0

    for measure in (figures.ndcg, figures.mrr, figures.recall, figures.precision):
        assert (measure(ranking, grades, depth) > 0) == found


def test_precision_divides_by_the_depth_however_short_the_list_is() -> None:
    assert figures.precision(["a"], {"a": 1}, 5) == 0.2


def test_a_budget_is_spent_by_what_was_read_up_to_the_end_of_a_passage() -> None:
    read, grades = {"a": 400.0, "b": 900.0}, {"a": 1, "b": 2, "c": 1}

    shares = [figures.recall_within(read, grades, budget) for budget in (399, 400, 1000)]

    assert shares == [0, 1 / 3, 2 / 3]


def test_a_run_of_equal_scores_is_read_as_trec_eval_reads_it() -> None:
    assert figures.trec_order({"a": 1.0, "c": 2.0, "b": 1.0}) == ["c", "b", "a"]


def test_a_mean_without_values_is_none_and_of_one_value_is_that() -> None:
    assert figures.mean_of([]) is None
    assert figures.mean_of([0.25]) == figures.Mean(0.25, 0.25, 0.25, 1)


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    chance = random.Random(3)
    values = [chance.gauss(0.5, 0.1) for _ in range(400)]

    found = figures.mean_of(values)

    assert found is not None
    assert found.low < found.mean < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.1 / 20, rel=0.2)


def test_the_test_of_a_difference_errs_as_often_as_it_says() -> None:
    """Of two runs that differ by luck alone, five in a hundred seem to differ."""
    chance = random.Random(11)
    found = []
    for _ in range(200):
        pairs = [chance.gauss(0, 0.2) for _ in range(30)]
        found.append(figures.compare(pairs, [0.0] * 30, rounds=200).p)

    assert sum(p < 0.05 for p in found) / len(found) == pytest.approx(0.05, abs=0.035)


def test_eight_pairs_of_one_sign_are_as_sure_as_two_in_two_to_the_eighth() -> None:
    found = figures.compare([0.1] * 8, [0.0] * 8)

    assert found.p == pytest.approx(2 / 2**8, abs=0.003)


def test_holm_weighs_the_smallest_chance_by_all_tests_and_keeps_their_order() -> None:
    adjusted = figures.holm({"a": 0.01, "b": 0.04, "c": 0.03})

    assert adjusted == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert figures.holm({}) == {}
