"""The oracle of ``storm.py``; what it lets go wrong is in short in ``test_rounds.py``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("storm", Path(__file__).with_name("storm.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


storm = load()


def test_the_oracle_notices_what_is_lost(tmp_path: Path) -> None:
    """An oracle that cannot object is worth nothing."""
    torture = object.__new__(storm.Storm)
    torture.files, torture.added, torture.unsure = {"a.md": "mark a m1m"}, {}, {}
    torture.once, torture.counts = {"a.md": {"mark a m1m"}}, storm.Counter()
    torture.kebab = Ingested()

    for seen in ({}, {"a.md": "mark a m0m"}, {"a.md": "mark a m1m", "b.md": "x"}):
        torture.texts = lambda seen=seen: seen
        with pytest.raises(AssertionError):
            torture.heal()
    torture.texts = lambda: {"a.md": "mark a m0m"}
    with pytest.raises(AssertionError, match="a text that never was"):
        torture.look()
    torture.added = {"b": "mark b m2m"}
    torture.texts = lambda: {"a.md": "mark a m1m"}
    with pytest.raises(AssertionError, match="acknowledged is gone"):
        torture.look()


class Ingested:
    """A command whose every run ends well."""

    def ingest(self) -> dict[str, int]:
        return {"errors": 0}
