"""The file of a store, its log, and copies that take its place when they are whole.

A DuckDB file never shrinks by itself, so it is rewritten beside itself; whatever kills
that, either the old file is there, or the new one. A file that DuckDB has open is never
opened here; its name and size are all that is looked at.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from kb_core.errors import IoError
from kb_store._session import Session

__all__ = [
    "beside",
    "checkpoint",
    "compact",
    "free_share",
    "remove_leftovers",
    "set_log_aside",
    "sizes",
    "take_place",
    "wal_bytes",
    "wal_of",
]

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


_CHECKPOINT = "CHECKPOINT"
_BLOCKS = "SELECT block_size, total_blocks, free_blocks FROM pragma_database_size()"
_UNUSED = """
DELETE FROM embeddings WHERE passage_hash NOT IN (SELECT passage_hash FROM chunks)
"""
_UNUSED_BYTES = """
SELECT greatest(0, (SELECT count(*) FROM embeddings)
                   - (SELECT coalesce(sum(chunk_count), 0) FROM models))
       * coalesce((SELECT octet_length(vector) FROM embeddings LIMIT 1), 0)
"""
_NAME = "SELECT current_database()"


def wal_bytes(session: Session) -> int:
    """Return the size of the write-ahead log."""
    try:
        return wal_of(session.path).stat().st_size
    except FileNotFoundError:
        return 0


def sizes(session: Session) -> dict[str, int]:
    """Return bytes of the file, of its log, and of the file's part that is free, or unused.

    What is unused are embeddings that no chunk needs; those of passages that several chunks
    have are not told from them, so there may be more.
    """
    blocks = session.records(_BLOCKS)[0]
    return {
        "database": session.path.stat().st_size,
        "wal": wal_bytes(session),
        "free": blocks["block_size"] * blocks["free_blocks"],
        "unused": session.count(_UNUSED_BYTES),
    }


def checkpoint(session: Session) -> None:
    """Fold the log into the file."""
    session.run(_CHECKPOINT)


def free_share(session: Session) -> float:
    """Return which part of the file's blocks is free."""
    blocks = session.records(_BLOCKS)[0]
    total: int = blocks["total_blocks"]
    return blocks["free_blocks"] / total if total else 0.0


def compact(session: Session, min_free_share: float) -> bool:
    """Drop embeddings that no chunk needs; rewrite the file if enough of it is free."""
    session.run(_UNUSED)
    checkpoint(session)
    if free_share(session) < min_free_share:
        return False
    remove_leftovers(session.path)
    try:
        _copy_into(session, beside(session.path))
        session.close()
        if wal_of(session.path).exists():
            raise IoError("the log was not folded into the file, so it is not replaced")
        take_place(session.path)
    finally:
        session.open()
        remove_leftovers(session.path)
    return True


def _copy_into(session: Session, copy: Path) -> None:
    ((database,),) = session.rows(_NAME)
    name = str(database).replace('"', '""')
    target = str(copy).replace("'", "''")
    session.run(f"ATTACH '{target}' AS compacted")
    try:
        session.run(f'COPY FROM DATABASE "{name}" TO compacted')
        session.run("CHECKPOINT compacted")
    finally:
        session.run("DETACH compacted")
