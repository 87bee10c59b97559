"""Small things kept by name: costly results by what they were made of, and settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kb_store._rows import blobs, from_json, instants, strings, to_json
from kb_store._session import Session

__all__ = ["get_derivation", "get_setting", "put_derivation", "put_setting"]

_GET_DERIVATION = """
SELECT value FROM derivations WHERE kind = ? AND content_hash = ? AND settings_hash = ?
"""
_DELETE_DERIVATION = """
DELETE FROM derivations WHERE kind = ? AND content_hash = ? AND settings_hash = ?
"""
_PUT_DERIVATION = "INSERT INTO derivations BY NAME SELECT * FROM incoming"
_GET_SETTING = "SELECT value FROM settings WHERE name = ?"
_DELETE_SETTING = "DELETE FROM settings WHERE name = ?"
_PUT_SETTING = "INSERT INTO settings BY NAME SELECT * FROM incoming"


def get_derivation(session: Session, key: tuple[str, str, str]) -> bytes | None:
    """Return the result of a kind for a content under settings, if there is one."""
    row = session.row(_GET_DERIVATION, key)
    return None if row is None else row[0]


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
        session.insert(_PUT_DERIVATION, columns)


def get_setting(session: Session, name: str) -> Any:  # noqa: ANN401 (JSON)
    """Return a setting, or ``None``."""
    row = session.row(_GET_SETTING, [name])
    return None if row is None else from_json(row[0])


def put_setting(session: Session, name: str, value: object) -> None:
    """Write a setting."""
    columns = {
        "name": strings([name]),
        "value": strings([to_json(value, f"setting {name!r}")]),
    }
    with session.transaction():
        session.run(_DELETE_SETTING, [name])
        session.insert(_PUT_SETTING, columns)
