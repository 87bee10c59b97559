"""The bench of aggregated lists: its ways of putting lists together, and its forms."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[1] / "tools" / "bench"
LISTS = ({"a": 0.9, "b": 0.5}, {"b": 0.8, "a": 0.2, "c": 0.1})


@pytest.fixture
def aggregate(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Let the bench find its siblings, and leave none of their plain names behind."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("aggregate")
    for name in set(sys.modules) - before:
        if (BENCH / f"{name}.py").exists():
            del sys.modules[name]


@pytest.mark.parametrize(
    ("way", "scores"),
    [
        ("first + 5 %", {"a": 0.945, "b": 0.525, "c": 0.1}),
        ("last + 5 %", {"a": 0.21, "b": 0.84, "c": 0.1}),
        ("best + 0 %", {"a": 0.9, "b": 0.8, "c": 0.1}),
        ("sum", {"a": 1.1, "b": 1.3, "c": 0.1}),
        ("rrf", {"a": 1 / 61 + 1 / 62, "b": 1 / 62 + 1 / 61, "c": 1 / 63}),
    ],
)
def test_each_way_is_what_it_is_called(
    aggregate: ModuleType, way: str, scores: dict[str, float]
) -> None:
    assert aggregate.WAYS[way](LISTS) == pytest.approx(scores)


def test_equal_scores_stand_in_no_query_s_order(aggregate: ModuleType) -> None:
    assert aggregate._ranked({"b": 0.5, "c": 0.7, "a": 0.50000001}) == ["c", "a", "b"]


def test_a_question_has_a_form_without_its_empty_words_and_one_in_another_order(
    aggregate: ModuleType,
) -> None:
    assert aggregate._ruled("How do I sort a list of strings?") == [
        "How do I sort a list of strings?",
        "sort list strings?",
        "list strings? sort",
    ]
    assert aggregate._ruled("how is it")[1] == "how is it"


@pytest.mark.parametrize("tool", ["aggregate", "bulk"])
def test_without_collections_nothing_is_measured(
    aggregate: ModuleType, tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = importlib.import_module(tool).main

    assert main(["--keep", str(tmp_path), "--data", str(tmp_path)]) == 0
    assert "not there; ir.py --keep ingests it" in capsys.readouterr().err
