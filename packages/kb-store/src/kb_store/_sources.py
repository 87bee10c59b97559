"""Sources at rest: root, trust and the time of their last complete walk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_store._rows import from_json, strings, to_json
from kb_store._session import Session

__all__ = ["describe_sources", "load_sources"]

_ALL = "SELECT source_id, description FROM sources ORDER BY source_id"
_DELETE = "DELETE FROM sources WHERE source_id IN (SELECT unnest(?::VARCHAR[]))"
_INSERT = "INSERT INTO sources BY NAME SELECT * FROM incoming"


def load_sources(session: Session) -> dict[str, dict[str, Any]]:
    """Return the description of every source, by id."""
    return {source_id: from_json(description) for source_id, description in session.rows(_ALL)}


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
        session.run(_DELETE, [list(changed)])
        session.insert(_INSERT, columns)
    return bool(changed)
