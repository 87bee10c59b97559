"""The verdict of the server's load test; what it measures is not tested."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1] / "tools" / "bench"


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ([90, 93, 93, 94], True),
        ([60, 93, 93, 94], True),
        ([90, 93, 93, 120], False),
        ([90, 100, 110, 120], False),
    ],
)
def test_memory_is_flat_when_the_second_half_is_like_the_first(
    memory: list[float], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))

    assert importlib.import_module("mcp_load").is_flat(memory) is expected
