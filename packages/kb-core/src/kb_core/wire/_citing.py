"""Verified citations on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb_core.wire._json import Json, given

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["citation_check"]

_STATUSES = ("unchanged", "moved", "changed", "gone")
_WELL = ("unchanged", "moved")


def citation_check(checks: Iterable[Mapping[str, Any]]) -> Json:
    """Return citation_check.v1; fields as the schema names them, absent ones ``None``."""
    rows = [given(check) for check in checks]
    counts = {status: sum(row["status"] == status for row in rows) for status in _STATUSES}
    return {
        "schema_version": "citation_check.v1",
        "ok": all(row["status"] in _WELL for row in rows),
        "checks": rows,
        "summary": {"total": len(rows), **counts},
    }
