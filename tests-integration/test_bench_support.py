"""The check of answers, over sentences of real passages and copies of them that are false."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "tools" / "bench"
DATA = ROOT.parent / "shared" / "data" / "ir"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The benchmark; its plain name and those of its parts are gone afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("support")
    for name in set(sys.modules) - before:
        if (BENCH / f"{name}.py").exists():
            del sys.modules[name]


@pytest.mark.parametrize("lang", ["en", "de", "es", "zh", "ko", "ja"])
def test_right_sentences_are_kept_and_false_copies_caught(bench: ModuleType, lang: str) -> None:
    if not (DATA / bench.SETS[lang]).is_dir():
        pytest.skip("the collections are not here")

    right: dict[bool, list[bool]] = {True: [], False: []}
    for case in bench.cases(DATA, lang, 25):
        is_kept = case.kind == "kept"
        right[is_kept].append(bench.judged(case).is_good == is_kept)

    assert len(right[True]) > 50
    assert sum(right[True]) / len(right[True]) >= 0.93
    assert sum(right[False]) / len(right[False]) >= 0.88
