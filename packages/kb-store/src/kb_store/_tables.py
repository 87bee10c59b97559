"""The small tables: aliases, sources, runs, costly results, settings.

An alias of a moved document always leads to the newest id in one step, and never hides a
document: an id that names one has no alias. A run is recorded when it starts, so that one
that dies is not forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kb_core.errors import KbError
from kb_store._meta import bump_sequence
from kb_store._session import (
    Record,
    Session,
    blobs,
    from_json,
    from_us,
    instants,
    strings,
    to_json,
    to_us,
)

__all__ = [
    "all_aliases",
    "describe_sources",
    "erase",
    "expired_aliases",
    "finish_run",
    "forget_aliases",
    "get_derivation",
    "get_setting",
    "interrupt_runs",
    "last_runs",
    "load_sources",
    "put_derivation",
    "put_setting",
    "read_aliases",
    "record_moves",
    "start_run",
]

_ALL = "SELECT old_doc_id, new_doc_id FROM aliases ORDER BY old_doc_id"
_OF_OLD = """
SELECT old_doc_id, new_doc_id FROM aliases WHERE old_doc_id IN (SELECT unnest(?::VARCHAR[]))
"""
_OF_NEW = """
SELECT old_doc_id, new_doc_id FROM aliases WHERE new_doc_id IN (SELECT unnest(?::VARCHAR[]))
"""
_EXPIRED = "SELECT old_doc_id FROM aliases WHERE epoch_us(moved_at) < ?"
_DELETE = "DELETE FROM aliases WHERE old_doc_id IN (SELECT unnest(?::VARCHAR[]))"


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
        session.insert("aliases", columns)
    return set(touched)


def expired_aliases(session: Session, before_us: int) -> list[str]:
    """Return the old ids of aliases that were recorded before an instant."""
    return [old for (old,) in session.rows(_EXPIRED, [before_us])]


def forget_aliases(session: Session, old_doc_ids: Iterable[str]) -> None:
    """Delete aliases."""
    session.run(_DELETE, [list(old_doc_ids)])


_ALL_SOURCES = "SELECT source_id, description FROM sources ORDER BY source_id"
_DELETE_SOURCES = "DELETE FROM sources WHERE source_id IN (SELECT unnest(?::VARCHAR[]))"


def load_sources(session: Session) -> dict[str, dict[str, Any]]:
    """Return the description of every source, by id."""
    return {
        source_id: from_json(description) for source_id, description in session.rows(_ALL_SOURCES)
    }


def describe_sources(session: Session, sources: Mapping[str, Mapping[str, Any]]) -> bool:
    """Replace descriptions as given; return whether anything was different."""
    if not sources:
        return False
    stored = load_sources(session)
    changed = {key: dict(value) for key, value in sources.items() if stored.get(key) != value}
    if changed:
        columns = {
            "source_id": strings(changed),
            "description": strings(
                to_json(value, f"source {key!r}") for key, value in changed.items()
            ),
        }
        session.run(_DELETE_SOURCES, [list(changed)])
        session.insert("sources", columns)
    return bool(changed)


_LED_BY = """
DELETE FROM aliases
WHERE new_doc_id IN (SELECT unnest($ids::VARCHAR[]))
   OR old_doc_id IN (SELECT unnest($ids::VARCHAR[]))
"""
_NEEDED_BY_NOTHING = """
DELETE FROM derivations
WHERE content_hash NOT IN (SELECT bytes_hash FROM files WHERE bytes_hash IS NOT NULL)
"""
_EMPTY_SCOPES = "UPDATE runs SET scope = '{}'"


def erase(session: Session, doc_ids: Sequence[str], source_ids: Sequence[str]) -> None:
    """Delete what is still said of documents and sources that are gone."""
    with session.transaction():
        session.run(_LED_BY, {"ids": list(doc_ids)})
        session.run(_DELETE_SOURCES, [list(source_ids)])
        session.run(_NEEDED_BY_NOTHING)
        session.run(_EMPTY_SCOPES)


_EXISTS = "SELECT count(*) FROM runs WHERE run_id = ?"
_FINISH = """
UPDATE runs SET state = ?, report = ?::JSON, finished_at = make_timestamptz(?::BIGINT)
WHERE run_id = ?
"""
_RUNNING = "SELECT count(*) FROM runs WHERE state = 'running'"
_INTERRUPT = "UPDATE runs SET state = 'interrupted' WHERE state = 'running'"
_LAST = """
SELECT run_id, kind, scope, state, epoch_us(started_at) AS started_at,
       epoch_us(finished_at) AS finished_at, report
FROM runs ORDER BY started_at DESC, rowid DESC LIMIT ?
"""


def start_run(
    session: Session, run_id: str, kind: str, scope: Mapping[str, Any], now: datetime
) -> None:
    """Record that a run begins."""
    columns = {
        "run_id": strings([run_id]),
        "kind": strings([kind]),
        "scope": strings([to_json(dict(scope), "the scope of a run")]),
        "state": strings(["running"]),
        "started_at": instants([now]),
    }
    session.insert("runs", columns)


def finish_run(
    session: Session, run_id: str, state: str, report: Mapping[str, Any], now: datetime
) -> None:
    """Record how a run ended; the index is owed the new time of the last run."""
    text = to_json(dict(report), "the report of a run")
    with session.transaction():
        if not session.count(_EXISTS, [run_id]):
            raise KbError(f"run {run_id!r} was never started")
        session.run(_FINISH, [state, text, to_us(now), run_id])
        bump_sequence(session)


def interrupt_runs(session: Session) -> None:
    """Mark runs that nobody finished: their process is gone, since this one may write."""
    if session.count(_RUNNING):
        session.run(_INTERRUPT)


def last_runs(session: Session, count: int) -> list[dict[str, Any]]:
    """Return the newest runs, newest first."""
    return [_run(row) for row in session.records(_LAST, [count])]


def _run(row: Record) -> Record:
    made = {name: from_us(row[name]) for name in ("started_at", "finished_at")}
    return row | made | {name: from_json(row[name]) for name in ("scope", "report")}


_GET_DERIVATION = """
SELECT value FROM derivations WHERE kind = ? AND content_hash = ? AND settings_hash = ?
"""
_DELETE_DERIVATION = """
DELETE FROM derivations WHERE kind = ? AND content_hash = ? AND settings_hash = ?
"""
_GET_SETTING = "SELECT value FROM settings WHERE name = ?"
_DELETE_SETTING = "DELETE FROM settings WHERE name = ?"


def get_derivation(session: Session, key: tuple[str, str, str]) -> bytes | None:
    """Return the result of a kind for a content under settings, if there is one."""
    row = session.record(_GET_DERIVATION, key)
    return None if row is None else row["value"]


def put_derivation(
    session: Session, key: tuple[str, str, str], value: bytes, now: datetime
) -> None:
    """Keep a result, in place of an older one."""
    kind, content_hash, settings_hash = key
    columns = {
        "kind": strings([kind]),
        "content_hash": strings([content_hash]),
        "settings_hash": strings([settings_hash]),
        "value": blobs([value]),
        "made_at": instants([now]),
    }
    with session.transaction():
        session.run(_DELETE_DERIVATION, key)
        session.insert("derivations", columns)


def get_setting(session: Session, name: str) -> Any:  # noqa: ANN401 (JSON)
    """Return a setting, or ``None``."""
    row = session.record(_GET_SETTING, [name])
    return None if row is None else from_json(row["value"])


def put_setting(session: Session, name: str, value: object) -> None:
    """Write a setting."""
    columns = {
        "name": strings([name]),
        "value": strings([to_json(value, f"setting {name!r}")]),
    }
    with session.transaction():
        session.run(_DELETE_SETTING, [name])
        session.insert("settings", columns)
