"""Two runs side by side: what counts as a loss, and what may be luck."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app._evals.comparing import compare_runs
from kb_app._evals.judging import summed
from kb_app._evals.stored import RunFolder
from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.evals import EvalCase
from kb_core.testing import closed_schema


def asked(case: str, ndcg: float, **fields: Any) -> Any:  # noqa: ANN401 - Asked
    usual = {"variant": "hybrid", "query": f"about {case}", "ms": 1.0, "ranks": {}, "hits": []}
    return {"case": case, "figures": {"ndcg@10": ndcg, "mrr@10": ndcg}, **usual, **fields}


def kept(folder: Path, rows: Sequence[Any], **fields: Any) -> str:  # noqa: ANN401
    """Write a run of *rows*, and return its folder."""
    told = summed(rows, {})
    run: Mapping[str, Any] = {
        "run_id": folder.name,
        "state": "completed",
        "started_at": datetime(2025, 6, 30, tzinfo=UTC),
        "duration_ms": 1,
        "depth": 20,
        "ask": False,
        "cases": {"path": "g", "digest": "d", "total": 1, "judged": 1}
        | {"unanswerable": 0, "broken": []},
        "variants": [{"name": "hybrid", "mode": "hybrid", **told}],
        "kebab_version": "0",
        "index": {"store_id": "s", "corpus_revision": 1},
        "settings": {},
        "machine": {},
    }
    made = RunFolder(folder)
    made.begin([EvalCase(id="a", query="b")])
    for row in rows:
        made.add(row)
    made.finish(wire.eval_run({**run, **fields}))
    return str(folder)


def compared(tmp_path: Path, old: Sequence[Any], new: Sequence[Any], **options: Any) -> Any:  # noqa: ANN401
    names = kept(tmp_path / "old", old), kept(tmp_path / "new", new)
    given = {"tolerance": 0.01, "strict": False, **options}
    found = compare_runs(tmp_path, *names, **given)
    Draft202012Validator(closed_schema("eval_compare")).validate(found)
    return found


def verdicts(found: Any) -> set[str]:  # noqa: ANN401
    return {row["verdict"] for row in found["figures"]}


def test_a_steady_loss_has_regressed(tmp_path: Path) -> None:
    old = [asked(str(n), 0.8 + 0.001 * n) for n in range(40)]
    new = [asked(str(n), 0.7 + 0.002 * n) for n in range(40)]

    found = compared(tmp_path, old, new)

    assert found["regressed"]
    assert verdicts(found) == {"regressed"}


def test_luck_has_not_regressed_though_it_lost_more_than_the_tolerance(tmp_path: Path) -> None:
    chance = random.Random(4)
    old = [asked(str(n), chance.random()) for n in range(40)]
    new = [asked(str(n), chance.random() - 0.03) for n in range(40)]

    found = compared(tmp_path, old, new)

    assert not found["regressed"]
    assert verdicts(found) == {"unclear"}
    assert abs(found["figures"][0]["difference"]) > 0.01


def test_strictly_a_loss_beyond_the_tolerance_counts_however_few_the_questions(
    tmp_path: Path,
) -> None:
    old = [asked(str(n), 1.0) for n in range(5)]
    new = [asked(str(n), 1.0 if n else 0.5) for n in range(5)]

    found = compared(tmp_path, old, new, strict=True)

    assert found["regressed"]
    assert [row["case"] for row in found["lost"]] == ["0"]


def test_a_loss_within_the_tolerance_is_none(tmp_path: Path) -> None:
    old = [asked(str(n), 0.9) for n in range(40)]
    new = [asked(str(n), 0.895) for n in range(40)]

    found = compared(tmp_path, old, new)

    assert not found["regressed"]
    assert verdicts(found) == {"worse"}


def test_equal_runs_are_the_same(tmp_path: Path) -> None:
    rows = [asked(str(n), n / 10) for n in range(10)]

    found = compared(tmp_path, rows, rows, strict=True, tolerance=0)

    assert (found["regressed"], verdicts(found), found["lost"], found["won"]) == (
        False,
        {"same"},
        [],
        [],
    )


def test_only_questions_that_both_asked_in_the_same_words_are_compared(tmp_path: Path) -> None:
    old = [asked("a", 1), asked("b", 1), asked("c", 1)]
    new = [asked("a", 1), asked("b", 0, query="in other words"), asked("d", 1)]

    found = compared(tmp_path, old, new)

    assert found["paired"] == 1
    assert (found["only_before"], found["only_after"]) == (["b", "c"], ["b", "d"])


def test_what_was_lost_is_told_with_where_it_stood_in_both(tmp_path: Path) -> None:
    hit = {"rank": 2, "uri": "a.md#L1", "lexical_rank": 5, "vector_rank": None, "met": ["a.md"]}
    other = {**hit, "uri": "b.md#L1", "met": []}
    old = [asked("x", 0.6, ranks={"a.md": 2}, hits=[other, hit])]
    new = [asked("x", 0.0, ranks={"a.md": None}, hits=[other])]

    (row,) = compared(tmp_path, old, new)["lost"]

    assert row["targets"] == [
        {
            "expected": "a.md",
            "before": {"rank": 2, "lexical_rank": 5, "vector_rank": None},
            "after": None,
        }
    ]
    assert (row["hits_before"], row["hits_after"]) == (["b.md#L1", "a.md#L1"], ["b.md#L1"])


def test_runs_without_a_common_question_and_stopped_ones_are_refused(tmp_path: Path) -> None:
    one = kept(tmp_path / "one", [asked("a", 1)])
    other = kept(tmp_path / "other", [asked("b", 1)])
    stopped = kept(tmp_path / "stopped", [asked("a", 1)], state="stopped")

    def refused(before: str, after: str) -> str:
        with pytest.raises(InvalidInput) as caught:
            compare_runs(tmp_path, before, after, tolerance=0, strict=False)
        return str(caught.value)

    assert "no question in common" in refused(one, other)
    assert "was stopped" in refused(one, stopped)
    assert "has no variant 'fast'" in refused(one, f"{one}:fast")
    assert "names no run" in refused(one, "last~7")


def test_what_is_not_the_same_of_both_runs_is_named(tmp_path: Path) -> None:
    one = kept(tmp_path / "one", [asked("a", 1)])
    other = kept(tmp_path / "other", [asked("a", 1)], settings={"search.fusion": "rrf"})

    found = compare_runs(tmp_path, one, other, tolerance=0, strict=False)

    assert found["changed"] == [{"name": "settings.search.fusion", "before": None, "after": "rrf"}]
