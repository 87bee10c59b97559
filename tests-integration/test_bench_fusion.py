"""The benchmark of fusions: what it compares, and when it says that a promise is broken."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kb_core.search import Scored

BENCH = Path(__file__).resolve().parents[1] / "tools" / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The benchmark; its plain name and those of its parts are gone afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("fusion")
    for name in set(sys.modules) - before:
        if (BENCH / f"{name}.py").exists():
            del sys.modules[name]


def scores(*keys: int) -> list[Scored]:
    """Give a list whose first is far ahead of the others."""
    return [Scored(key, 9.0 if rank == 0 else 1.0 / rank) for rank, key in enumerate(keys)]


def test_every_method_ranks_the_same_candidates(bench: ModuleType) -> None:
    """Chunk 1 is of the relevant document; words find it first, meaning finds it last."""
    pools = {"q": bench.Pools(scores(1, 2), scores(3, 2, 1), bench.Basis())}
    collection = bench.Collection("tiny", (), {"q": "text"}, {"q": {"a": 1}})

    result = bench.measure(collection, pools, {1: "a", 2: "b", 3: "c"})

    assert result.values.keys() == bench.FUSE.keys() >= {"lexical", "vector", "rrf", "auto"}
    assert result.mean("lexical") == 1.0
    assert result.mean("vector") == 0.5
    assert result.better == "lexical"
    assert 0 < result.weight < 1


def result(bench: ModuleType, name: str, lexical: float, vector: float, auto: float) -> object:
    others = dict.fromkeys(bench.FUSE, 0.0)
    found = {**others, "lexical": lexical, "vector": vector, "auto": auto}
    return bench.Result(name, {method: [value] for method, value in found.items()}, 0.5)


def test_a_promise_is_broken_beyond_the_tolerance(bench: ModuleType) -> None:
    results = [result(bench, "near", 0.8, 0.1, 0.796), result(bench, "far", 0.1, 0.8, 0.794)]

    near, far, mean = bench.verdicts(results)

    assert near.startswith("kept   near: auto >= lexical")
    assert far.startswith("MISSED far: auto >= vector")
    assert mean.startswith("kept ")


def test_the_table_has_a_row_per_collection_and_one_of_means(bench: ModuleType) -> None:
    table = bench.render([result(bench, "one", 0.2, 0.4, 0.5), result(bench, "two", 0.4, 0.2, 0.5)])

    rows = [line.split() for line in table.splitlines()[2:5]]
    assert [row[0] for row in rows] == ["one", "two", "mean"]
    assert rows[2][3:5] == ["0.3000", "0.3000"]


def test_where_nothing_is_kept_nothing_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "fusion.py"), str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert "ir.py with --keep" in done.stderr
