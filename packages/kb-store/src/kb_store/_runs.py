"""Runs at rest: recorded when they start, so that one that dies is not forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kb_core.errors import KbError
from kb_store._meta import bump_sequence
from kb_store._rows import from_json, from_us, instants, strings, to_json, to_us
from kb_store._session import Row, Session

__all__ = ["finish_run", "interrupt_runs", "last_runs", "start_run"]

_START = "INSERT INTO runs BY NAME SELECT * FROM incoming"
_EXISTS = "SELECT count(*) FROM runs WHERE run_id = ?"
_FINISH = """
UPDATE runs SET state = ?, report = ?::JSON, finished_at = make_timestamptz(?::BIGINT)
WHERE run_id = ?
"""
_RUNNING = "SELECT count(*) FROM runs WHERE state = 'running'"
_INTERRUPT = "UPDATE runs SET state = 'interrupted' WHERE state = 'running'"
_LAST = """
SELECT run_id, kind, scope, state, epoch_us(started_at), epoch_us(finished_at), report
FROM runs ORDER BY started_at DESC, run_id DESC LIMIT ?
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
    session.insert(_START, columns)


def finish_run(
    session: Session, run_id: str, state: str, report: Mapping[str, Any], now: datetime
) -> None:
    """Record how a run ended; the index is owed the new time of the last run."""
    text = to_json(dict(report), "the report of a run")
    with session.transaction():
        if session.row(_EXISTS, [run_id]) == (0,):
            raise KbError(f"run {run_id!r} was never started")
        session.run(_FINISH, [state, text, to_us(now), run_id])
        bump_sequence(session)


def interrupt_runs(session: Session) -> None:
    """Mark runs that nobody finished: their process is gone, since this one may write."""
    if session.row(_RUNNING) != (0,):
        session.run(_INTERRUPT)


def last_runs(session: Session, count: int) -> list[dict[str, Any]]:
    """Return the newest runs, newest first."""
    return [_from_row(row) for row in session.rows(_LAST, [count])]


def _from_row(row: Row) -> dict[str, Any]:
    run_id, kind, scope, state, started, finished, report = row
    return {
        "run_id": run_id,
        "kind": kind,
        "scope": from_json(scope),
        "state": state,
        "started_at": from_us(started),
        "finished_at": from_us(finished),
        "report": from_json(report),
    }
