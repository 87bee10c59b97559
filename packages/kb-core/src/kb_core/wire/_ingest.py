"""Runs of ingest, their events and the ledger on the wire.

The types are imported where they are used: a search does not pay for them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kb_core.wire._json import Json, given, timestamp, timestamp_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kb_core.ingest import IngestEvent, IngestItem, IngestReport
    from kb_core.ports import StoredFile

__all__ = ["coverage", "file_status", "ingest_event", "ingest_item", "ingest_report"]

_NANOSECONDS = 1_000_000_000


def ingest_event(event: IngestEvent) -> Json:
    """Return one line of ingest_progress.v1; the event's data stand beside its kind.

    Data are JSON values under the names of the schema; ``item`` may be an ``IngestItem``.
    """
    from kb_core.ingest import IngestItem

    out: Json = {"schema_version": "ingest_progress.v1", "kind": event.kind}
    out["at"] = timestamp(event.at)
    for name, value in event.data.items():
        out[name] = ingest_item(value) if isinstance(value, IngestItem) else value
    return out


def ingest_item(item: IngestItem) -> Json:
    """Return one file's outcome."""
    out = given({name: getattr(item, name) for name in item.__dataclass_fields__})
    out["kind"] = str(item.kind)
    out["warnings"] = list(item.warnings)
    if item.error is not None:
        out["error"] = dict(item.error)
    return out


def ingest_report(report: IngestReport) -> Json:
    """Return ingest_report.v1; ``counts`` of the report is keyed by ``ItemKind``."""
    from kb_core.ingest import ItemKind

    counts = {kind: report.counts.get(kind, 0) for kind in ItemKind}
    errors = counts.pop(ItemKind.ERROR)
    items = None if report.items is None else [ingest_item(item) for item in report.items]
    return {
        "schema_version": "ingest_report.v1",
        "scope": dict(report.scope),
        "scanned": report.scanned,
        **{str(kind): count for kind, count in counts.items()},
        "errors": errors,
        "duration_ms": report.duration_ms,
        "skipped_by_reason": _sorted(report.skipped_by_reason),
        "skipped_by_extension": _sorted(report.skipped_by_extension),
        "skip_examples": {k: list(v) for k, v in sorted(report.skip_examples.items())},
        "slowest": [dict(row) for row in report.slowest],
        "items": items,
        "aborted": report.aborted,
        "corpus_revision": report.corpus_revision,
        "embedded": report.embedded,
        "embeddings_missing": report.embeddings_missing,
        "phases_ms": dict(report.phases_ms),
        "warnings": list(report.warnings),
    }


def file_status(files: Iterable[StoredFile], totals: Json, *, total: int | None = None) -> Json:
    """Return file_status.v1; *files* may be narrowed, *totals* (``coverage``) are not.

    *total* is for a page: how many files there are on all of its kind.
    """
    rows = [_file(row) for row in files]
    return {
        "schema_version": "file_status.v1",
        "files": rows,
        "total": len(rows) if total is None else total,
        "coverage": totals,
    }


def coverage(
    files: Iterable[StoredFile], *, chunks: int | None = None, embedded: int | None = None
) -> Json:
    """Count ledger rows by state and skipped ones by reason; add what is given."""
    from kb_core.records import FileState

    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for row in files:
        states[str(row["state"])] += 1
        if row["state"] == "skipped":
            reasons[row["reason"] or "unknown"] += 1
    out: Json = {"files": states.total()}
    out |= {str(state): states[state] for state in FileState}
    out["by_reason"] = _sorted(reasons)
    return out | given({"chunks": chunks, "embedded": embedded})


def _file(row: StoredFile) -> Json:
    known = {key: row.get(key) for key in ("reason", "detail", "error_code", "doc_id", "media")}
    processed = row["processed_at"] if row["state"] == "indexed" else None
    return {
        "source_id": row["source_id"],
        "doc_path": row["path"],
        "state": str(row["state"]),
        **given(known),
        **given(
            {
                "indexed_at": timestamp_or_none(processed),
                "changed_at": timestamp_or_none(row["changed_at"]),
            }
        ),
        "mtime": timestamp(int(row["mtime_ns"]) // _NANOSECONDS),
        "size": row["size"],
    }


def _sorted(counts: Mapping[str, Any]) -> Json:
    return {str(key): counts[key] for key in sorted(counts)}
