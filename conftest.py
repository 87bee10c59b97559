"""What every test runs under: no limit of time, files in memory, and long test files first.

Caches are the run's own, but for the prepared models: what one run looked at in a folder is
not there for the next, which may be given a folder of the same name.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

_BASE = "ci" if os.environ.get("CI") else "default"
settings.register_profile("kebab", settings.get_profile(_BASE), deadline=None, max_examples=60)
settings.load_profile("kebab")

_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own there
_ROOM = 3_000_000_000
"""What has to be free for it; the whole suite needs a fraction."""

_QUICK = {"kb-app", "kb-cli", "kb-core"}
"""Packages of many files that take little each: they fill up the end."""

# Tests have thousands of files synced: on a disk, they wait for that half of their time.
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    tempfile.tempdir = str(_MEMORY)


def _caches_of_its_own() -> None:
    """Set a new folder for caches, with the prepared models of the one that there was."""
    before = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kebab", "models")
    before.mkdir(parents=True, exist_ok=True)
    caches = Path(tempfile.mkdtemp(prefix="kebab-caches-"))
    atexit.register(shutil.rmtree, caches, ignore_errors=True)
    caches.joinpath("kebab").mkdir()
    caches.joinpath("kebab", "models").symlink_to(before.resolve())
    os.environ["XDG_CACHE_HOME"] = str(caches)


_caches_of_its_own()


def pytest_configure(config: pytest.Config) -> None:
    """Let files be handed out whole, in the order below, and not those of many tests first.

    What the tests of a file share is made once then. Until all of them are read, nothing is
    thrown away that a collection would find.
    """
    gc.disable()
    if getattr(config.option, "dist", "") == "load":  # nobody asked for another way
        config.option.dist = "loadfile"
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is left with one of them."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, bool(_QUICK & {*item.path.parts})))


def pytest_collection_finish() -> None:
    """Let what stays for the whole run, as the tests themselves, out of every collection.

    A tenth of what tests cost in this process is looking at it again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    _keep_sheets()
    _keep_an_empty_store()


def pytest_unconfigure() -> None:
    """Take it back, so that all of it is thrown away in order."""
    gc.unfreeze()


def _keep_sheets() -> None:
    """Let an application of the terminal take the rules of its sheets from the one before it.

    A fifth of what its tests cost is parsing the same sheets with the same variables.
    """
    if "textual" not in sys.modules:
        return
    from textual.css.stylesheet import Stylesheet

    parse = Stylesheet._parse_rules  # noqa: SLF001 - there is no other way to them
    parsed: dict[tuple[Any, ...], Any] = {}

    def parse_once(self: Stylesheet, *sheet: Any, **where: Any) -> Any:  # noqa: ANN401
        key = (*sheet, *where.items(), *self._variables.items())
        if key not in parsed:
            parsed[key] = parse(self, *sheet, **where)
        return parsed[key]

    Stylesheet._parse_rules = parse_once  # type: ignore[method-assign]  # noqa: SLF001 - as above


def _keep_an_empty_store() -> None:
    """Let a new store be a copy of one that was made by its SQL, without an identity as yet.

    A sixth of what a first run of a few files costs is making it. Tests of the store make each.
    """
    if "kb_store.store" not in sys.modules:
        return
    from kb_core.clock import utc_now
    from kb_store import store
    from kb_store._migrate import create
    from kb_store._session import Session

    make = store._make
    made: list[bytes] = []

    def make_once(path: Path, clock: Any) -> None:  # noqa: ANN401
        if clock is not utc_now or "kb-store" in os.environ.get("PYTEST_CURRENT_TEST", ""):
            make(path, clock)
            return
        if not made:
            with contextlib.closing(Session(path)) as session, session.transaction():
                create(session, clock)
            made.append(path.read_bytes())
        path.write_bytes(made[0])

    store._make = make_once
