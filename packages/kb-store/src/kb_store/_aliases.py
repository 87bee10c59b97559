"""Aliases: where the documents of moved files are now.

An alias always leads to the newest id in one step, and never hides a document: an
id that names one has no alias.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from kb_store._rows import instants, strings
from kb_store._session import Session

__all__ = ["all_aliases", "expired_aliases", "forget_aliases", "read_aliases", "record_moves"]

_ALL = "SELECT old_doc_id, new_doc_id FROM aliases ORDER BY old_doc_id"
_OF_OLD = """
SELECT old_doc_id, new_doc_id FROM aliases WHERE old_doc_id IN (SELECT unnest(?::VARCHAR[]))
"""
_OF_NEW = """
SELECT old_doc_id, new_doc_id FROM aliases WHERE new_doc_id IN (SELECT unnest(?::VARCHAR[]))
"""
_EXPIRED = "SELECT old_doc_id FROM aliases WHERE epoch_us(moved_at) < ?"
_DELETE = "DELETE FROM aliases WHERE old_doc_id IN (SELECT unnest(?::VARCHAR[]))"
_INSERT = "INSERT INTO aliases BY NAME SELECT * FROM incoming"


def all_aliases(session: Session) -> dict[str, str]:
    """Return every alias, by old id."""
    return session.mapping(_ALL)


def read_aliases(session: Session, touched: Collection[str]) -> dict[str, str]:
    """Return what *touched* ids lead to; one that has no alias any more leads to itself."""
    if not touched:
        return {}
    known = session.mapping(_OF_OLD, [list(touched)])
    return {old: known.get(old, old) for old in sorted(touched)}


def record_moves(
    session: Session, moves: Mapping[str, str], written: Collection[str], now: datetime
) -> set[str]:
    """Record that documents moved from old ids to new ones; return the old ids touched.

    *written* are the ids of all documents of the batch, those of moved ones included.
    """
    led = session.mapping(_OF_NEW, [list(moves)]) if moves else {}
    hidden = session.mapping(_OF_OLD, [list(written)]) if written else {}
    aliases = {old: moves[new] for old, new in led.items()} | dict(moves)
    kept = {old: new for old, new in aliases.items() if old not in written}
    touched = led.keys() | hidden.keys() | kept.keys()
    if touched:
        session.run(_DELETE, [list(touched)])
    if kept:
        columns = {
            "old_doc_id": strings(kept),
            "new_doc_id": strings(kept.values()),
            "moved_at": instants(now for _ in kept),
        }
        session.insert(_INSERT, columns)
    return set(touched)


def expired_aliases(session: Session, before_us: int) -> list[str]:
    """Return the old ids of aliases that were recorded before an instant."""
    return [old for (old,) in session.rows(_EXPIRED, [before_us])]


def forget_aliases(session: Session, old_doc_ids: Iterable[str]) -> None:
    """Delete aliases."""
    session.run(_DELETE, [list(old_doc_ids)])
