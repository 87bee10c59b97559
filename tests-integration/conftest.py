"""Fixtures of the integration tests: the command, in a plain environment.

``installed`` runs the installed command, for what only a process of its own can show.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab


@pytest.fixture
def kebab(tmp_path: Path) -> InstalledKebab:
    """Return the command over an empty folder, without an embedding model, run in this process."""
    return KebabHere(tmp_path)


@pytest.fixture
def installed(tmp_path: Path) -> InstalledKebab:
    """Return the installed command over an empty folder, without an embedding model."""
    return InstalledKebab(tmp_path)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KEBAB_")]:
        monkeypatch.delenv(name)
