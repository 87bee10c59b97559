"""The benchmark of fusions: what it compares, and when it says that a promise is broken."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

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


def parallel(bench: ModuleType, name: str) -> Any:  # noqa: ANN401 - of a module that is loaded late
    docs = tuple(sys.modules["beir"].Doc(f"p{n}", "", f"{name} {n}") for n in range(10))
    qrels = {f"q{n}": {f"p{n}": 1} for n in range(10)}
    return bench.Collection(name, docs, dict.fromkeys(qrels, f"{name}?"), qrels)


def test_crossed_collections_ask_in_one_language_and_answer_in_another(bench: ModuleType) -> None:
    made = bench.crossed(parallel(bench, "en"), parallel(bench, "de"))

    assert made.name == "en > de"
    assert {doc.text.split()[0] for doc in made.docs} == {"de"}
    assert set(made.queries.values()) == {"en?"}


def test_a_mixed_collection_has_each_passage_once_and_all_questions(bench: ModuleType) -> None:
    first, second = parallel(bench, "en"), parallel(bench, "de")

    made = bench.mixed(first, second)

    assert [doc.doc_id for doc in made.docs] == [doc.doc_id for doc in first.docs]
    assert sorted(doc.text.split()[0] for doc in made.docs) == ["de"] * 5 + ["en"] * 5
    assert made.queries.keys() == made.qrels.keys()
    assert (made.queries["en:q3"], made.queries["de:q3"]) == ("en?", "de?")
    assert bench.mixed(first, second) == made


def test_more_vectors_contain_the_fewer_of_the_same_order(bench: ModuleType) -> None:
    newest_first = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]

    assert bench.first_embedded(newest_first, "newest", 0.2) == {9, 8}
    assert bench.first_embedded(newest_first, "ingest", 0.2) == {0, 1}
    for order in bench.ORDERS:
        parts = [bench.first_embedded(newest_first, order, share) for share in bench.SHARES]
        assert all(less <= more for less, more in pairwise(parts))
        assert (len(parts[0]), len(parts[-1])) == (0, 10)


def test_without_vectors_hybrid_is_words_and_with_all_it_is_the_product(bench: ModuleType) -> None:
    pools = {"q": bench.Pools(scores(1, 2), scores(3, 2, 1), bench.Basis())}
    collection = bench.Collection("tiny", (), {"q": "text"}, {"q": {"a": 1}})
    doc_of = {1: "a", 2: "b", 3: "c"}

    covered = bench.measure_covered(collection, pools, doc_of, [3, 2, 1])

    assert covered.words == 1.0
    whole = bench.measure(collection, pools, doc_of).mean("auto")
    for order in bench.ORDERS:
        assert covered.hybrid[order, 0.0] == covered.words
        assert covered.hybrid[order, 1.0] == whole
        assert covered.waiting[order, 1.0] == 0.0
    assert covered.waiting["newest", 0.5] == covered.hybrid["newest", 0.5] - covered.words


def test_a_part_of_the_vectors_that_is_worse_than_none_is_told(bench: ModuleType) -> None:
    places = [(order, share) for order in bench.ORDERS for share in bench.SHARES]
    values = {place: 0.8 + place[1] / 10 for place in places}
    falling = {**values, ("newest", 0.5): 0.79}
    none = dict.fromkeys(places, 0.0)

    good = list(bench.verdicts_covered([bench.Covered("one", 0.8, values, none)]))
    bad = list(bench.verdicts_covered([bench.Covered("one", 0.8, falling, none)]))

    assert all(line.startswith("kept ") for line in good)
    assert bad[0].startswith("MISSED one, 50% newest: auto >= words")
    assert [line[:6] for line in bad if "no worse with more" in line].count("MISSED") == 1
    table = bench.render_covered([bench.Covered("one", 0.8, falling, none)])
    assert table.count("embedded in order") == 3
    assert "-0.0100" in table


def test_where_nothing_is_kept_nothing_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "fusion.py"), str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert "ir.py with --keep" in done.stderr
