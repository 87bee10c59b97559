"""The measures that tuning trusts, against values worked out by hand."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[1] / "tools" / "bench"


def load(name: str) -> ModuleType:
    """Load a module of the benchmarks that imports none of the others."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


metrics = load("metrics")
tables = load("tables")


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    """3/log2(2) + 1/log2(4) of the best possible 3/log2(2) + 1/log2(3)."""
    value = metrics.ndcg(["a", "x", "b"], {"a": 3, "b": 1, "c": 0})

    assert value == pytest.approx((3 + 1 / 2) / (3 + 1 / math.log2(3)))


def test_ndcg_of_the_ideal_ranking_is_one() -> None:
    assert metrics.ndcg(["a", "b", "x"], {"b": 1, "a": 2}) == pytest.approx(1.0)


def test_the_order_of_equal_grades_does_not_matter() -> None:
    grades = {"a": 1, "b": 1, "c": 1}

    assert metrics.ndcg(["a", "b", "x"], grades) == metrics.ndcg(["c", "a", "x"], grades)


def test_ndcg_looks_at_ten_and_divides_by_the_best_ten() -> None:
    """Twelve relevant documents cannot all be in ten places: ten of them are a perfect list."""
    grades = {f"d{n}": 1 for n in range(12)}

    assert metrics.ndcg([f"d{n}" for n in range(10)], grades) == pytest.approx(1.0)
    assert metrics.ndcg(["x"] * 10 + ["d0"], grades) == 0.0


def test_a_grade_below_zero_counts_as_none() -> None:
    assert metrics.ndcg(["bad", "a"], {"a": 1, "bad": -2}) == pytest.approx(1 / math.log2(3))


def test_an_empty_ranking_scores_nothing() -> None:
    assert metrics.ndcg([], {"a": 1}) == 0.0
    assert metrics.recall([], {"a": 1}) == 0.0
    assert metrics.mrr([], {"a": 1}) == 0.0


def test_recall_is_the_share_of_what_is_relevant() -> None:
    assert metrics.recall(["a", "x", "c"], {"a": 1, "b": 2, "c": 0}) == 0.5


def test_mrr_ends_at_its_depth() -> None:
    assert metrics.mrr(["x", "a"], {"a": 1}) == 0.5
    assert metrics.mrr(["x"] * 10 + ["a"], {"a": 1}) == 0.0


def test_documents_rank_by_their_best_chunk() -> None:
    assert metrics.by_best_chunk(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_a_query_that_the_run_lacks_counts_as_empty() -> None:
    """Otherwise a mode that fails on hard queries would look better for it."""
    found = metrics.evaluate({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"b": 1}})

    assert found["ndcg@10"] == pytest.approx(0.5)
    assert (found["queries"], found["empty"]) == (2, 1)


def test_a_query_without_a_relevant_document_counts_nowhere() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 0}}

    assert metrics.evaluate({"q1": ["a"]}, qrels)["ndcg@10"] == pytest.approx(1.0)
    assert metrics.ndcg_by_query({"q1": ["a"]}, qrels) == {"q1": pytest.approx(1.0)}


def test_nothing_judged_gives_zeros() -> None:
    assert metrics.evaluate({}, {})["ndcg@10"] == 0.0


def test_equal_runs_do_not_differ() -> None:
    values = [0.1, 0.5, 0.9] * 10

    assert metrics.compare(values, values, rounds=500).p == 1.0


def test_a_steady_gain_is_not_luck() -> None:
    worse = [n / 50 for n in range(40)]
    better = [value + 0.05 + 0.01 * (n % 3) for n, value in enumerate(worse)]

    found = metrics.compare(better, worse, rounds=2000)

    assert found.p < 0.01
    assert 0 < found.low < found.mean < found.high


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = [0.2, 0.4, 0.9, 0.1], [0.3, 0.1, 0.8, 0.2]

    assert metrics.compare(first, second, rounds=500) == metrics.compare(first, second, rounds=500)


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 2.5), (1.0, 4.0), (0.25, 1.75)])
def test_a_quantile_lies_between_its_neighbours(share: float, value: float) -> None:
    assert tables.quantile([4.0, 1.0, 3.0, 2.0], share) == value


@pytest.mark.parametrize(
    ("value", "shown"), [(0.4567, "0.46"), (4.567, "4.57"), (45.67, "45.7"), (4567.8, "4568")]
)
def test_milliseconds_have_three_digits(value: float, shown: str) -> None:
    assert tables.milliseconds(value) == shown


def test_rounds_measure_every_subject_on_every_input() -> None:
    seen: list[tuple[str, int]] = []
    subjects = {name: lambda value, name=name: seen.append((name, value)) for name in "ab"}

    taken = tables.run_rounds(subjects, [1, 2], warm=0)

    assert seen == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    assert [(len(taken[name].wall), len(taken[name].cpu)) for name in "ab"] == [(2, 2), (2, 2)]


def test_a_table_is_aligned() -> None:
    shown = tables.render_table(("what", "ms"), [("search", "1.5"), ("a", "12")])

    assert shown.splitlines() == ["what     ms", "------  ---", "search  1.5", "a        12"]
