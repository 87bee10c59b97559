"""The files around a store: its log, and copies that take its place when they are whole.

A file that DuckDB has open is never opened here; its name and size are all that is
looked at.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

__all__ = ["beside", "remove_leftovers", "set_log_aside", "take_place", "wal_of"]

_SUFFIX = "unfinished"


def beside(path: Path) -> Path:
    """Return where a file is made that is to become the one at *path*."""
    return path.with_name(f"{path.name}.{_SUFFIX}")


def wal_of(path: Path) -> Path:
    """Return the write-ahead log of the database at *path*."""
    return path.with_name(f"{path.name}.wal")


def take_place(path: Path) -> None:
    """Put the finished file beside *path* there, in one step that survives a power cut."""
    _sync(beside(path))
    beside(path).replace(path)
    _sync(path.parent)


def set_log_aside(path: Path) -> None:
    """Rename a log whose database is gone: a new one must not read it, and it stays."""
    log = wal_of(path)
    if log.exists():
        number = next(n for n in count(1) if not log.with_name(f"{log.name}.old-{n}").exists())
        log.rename(log.with_name(f"{log.name}.old-{number}"))


def remove_leftovers(path: Path) -> None:
    """Delete what a process left that was killed while it made a file."""
    for leftover in (beside(path), wal_of(beside(path))):
        leftover.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
