"""Fixtures of the integration tests: the command, in a plain environment.

``installed`` runs the installed command, for what only a process of its own can show.
``again`` is for what many tests of a file begin with: it is made once, and put back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

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


Make: TypeAlias = Callable[[Path], object]


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Make], Path]:
    """Return a function that gives a folder as another makes it of an empty one.

    A run that makes a knowledge base takes a quarter of a second, so it is made once and put
    back for each test where it was: it knows where its files lie. A seal knows the very files,
    so the next run looks at everything. Not for tests that leave a process behind.
    """
    made: dict[Make, Path] = {}

    def put_back(make: Make) -> Path:
        folder = made.get(make)
        if folder is None:
            folder = made[make] = tmp_path_factory.mktemp("again") / "home"
            folder.mkdir()
            make(folder)
            shutil.copytree(folder, folder.with_name("copy"), symlinks=True)
        else:
            shutil.rmtree(folder)
            shutil.copytree(folder.with_name("copy"), folder, symlinks=True)
        return folder

    return put_back


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KEBAB_")]:
        monkeypatch.delenv(name)
