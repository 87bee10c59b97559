"""SECURITY.md promises what a test shows: each line names one that there is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)
"""Contracts, which several test files run, among them."""


def test_every_line_of_the_threat_model_names_tests_that_there_are() -> None:
    places = ("packages/*/tests/test_*.py", "packages/*/src/*/testing/*.py")
    files = [
        file for place in (*places, "tests-integration/test_*.py") for file in ROOT.glob(place)
    ]
    known = {name for file in files for name in TESTS.findall(file.read_text("utf-8"))}
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith(("| a", "| the"))]
    named = [re.findall(r"`(test_\w+)`", row) for row in rows]

    assert len(rows) >= 10
    assert all(named)
    assert {name for names in named for name in names} <= known
