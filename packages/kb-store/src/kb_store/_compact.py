"""Space: checkpoints, sizes, and rewriting a file that never shrinks by itself.

A rewrite is a copy beside the file that takes its place in one step when it is
whole. Whatever kills it, either the old file is there, or the new one.
"""

from __future__ import annotations

from pathlib import Path

from kb_core.errors import IoError
from kb_store._files import beside, remove_leftovers, take_place, wal_of
from kb_store._session import Session

__all__ = ["checkpoint", "compact", "free_share", "sizes", "wal_bytes"]

_CHECKPOINT = "CHECKPOINT"
_BLOCKS = "SELECT block_size, total_blocks, free_blocks FROM pragma_database_size()"
_UNUSED = """
DELETE FROM embeddings WHERE passage_hash NOT IN (SELECT passage_hash FROM chunks)
"""
_NAME = "SELECT current_database()"


def wal_bytes(session: Session) -> int:
    """Return the size of the write-ahead log."""
    try:
        return wal_of(session.path).stat().st_size
    except FileNotFoundError:
        return 0


def sizes(session: Session) -> dict[str, int]:
    """Return bytes of the file, of its log, and of the file's part that is free."""
    block_size, _, free_blocks = session.row(_BLOCKS) or (0, 0, 0)
    return {
        "database": session.path.stat().st_size,
        "wal": wal_bytes(session),
        "free": block_size * free_blocks,
    }


def checkpoint(session: Session) -> None:
    """Fold the log into the file."""
    session.run(_CHECKPOINT)


def free_share(session: Session) -> float:
    """Return which part of the file's blocks is free."""
    _, total, free = session.row(_BLOCKS) or (0, 0, 0)
    return free / total if total else 0.0


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
    row = session.row(_NAME)
    assert row is not None, "a connection has a database"  # noqa: S101
    name = str(row[0]).replace('"', '""')
    target = str(copy).replace("'", "''")
    session.run(f"ATTACH '{target}' AS compacted")
    try:
        session.run(f'COPY FROM DATABASE "{name}" TO compacted')
        session.run("CHECKPOINT compacted")
    finally:
        session.run("DETACH compacted")
