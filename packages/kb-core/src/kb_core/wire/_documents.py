"""Documents, chunks, fetched text, and what an ingest does with them, on the wire.

Chunks and documents come in as the mappings that an index shows (``StoredChunk``,
``StoredDoc`` of ``kb_core.ports``).

The types of an ingest are imported where they are used: a search does not pay for them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kb_core.citations import citation_of
from kb_core.clock import from_epoch
from kb_core.wire._json import Json, given, timestamp, timestamp_or_none
from kb_core.wire._search import citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_core.ingest import IngestEvent, IngestItem, IngestReport
    from kb_core.ports import StoredChunk, StoredDoc, StoredFile

__all__ = [
    "chunk",
    "chunk_inspection",
    "coverage",
    "doc_inspection",
    "doc_list",
    "doc_summary",
    "fetch_chunk",
    "fetch_doc",
    "fetch_span",
    "file_status",
    "ingest_event",
    "ingest_item",
    "ingest_report",
]


def chunk(stored: StoredChunk, embeddings: Mapping[str, int]) -> Json:
    """Return a chunk as part of a larger object; *embeddings*: model key → dimensions."""
    out: Json = {
        "chunk_id": stored["chunk_id"],
        "doc_id": stored["doc_id"],
        "doc_path": stored["path"],
        "ordinal": stored["ordinal"],
        "heading_path": list(stored["heading_path"]),
        "text": stored["text"],
        "char_start": stored["start"],
        "char_end": stored["end"],
        "source_spans": [citation(citation_of(stored))],
        "token_count": stored["token_count"],
        "chunker_version": stored["chunker_version"],
        "embeddings": [
            {"model": model, "dimensions": size} for model, size in sorted(embeddings.items())
        ],
    }
    if stored["symbol"]:
        out["symbol"] = stored["symbol"]
    if stored["part"]:
        out["part"] = stored["part"]
    if stored["flags"]:
        out["flags"] = list(stored["flags"])
    return out


def chunk_inspection(stored: StoredChunk, embeddings: Mapping[str, int]) -> Json:
    """Return chunk_inspection.v1."""
    return {"schema_version": "chunk_inspection.v1", **chunk(stored, embeddings)}


def fetch_chunk(
    target: Json, before: Iterable[Json], after: Iterable[Json], *, indexed_at: int, stale: bool
) -> Json:
    """Return fetch_result.v1 of a chunk; all three hold what ``chunk`` makes."""
    head = _fetched("chunk", target["doc_id"], target["doc_path"], indexed_at, stale=stale)
    return {
        **head,
        "chunk": target,
        "context_before": list(before),
        "context_after": list(after),
    }


def fetch_doc(doc: StoredDoc, text: str, *, stale: bool, omitted_chars: int | None = None) -> Json:
    """Return fetch_result.v1 of a document; with *omitted_chars*, a budget cut it."""
    head = _fetched("doc", doc["doc_id"], doc["path"], doc["indexed_at"], stale=stale)
    return {**head, "text": text, **_cut(omitted_chars)}


def fetch_span(
    doc: StoredDoc,
    text: str,
    asked: tuple[int, int],
    effective_end: int,
    *,
    stale: bool,
    omitted_chars: int | None = None,
) -> Json:
    """Return fetch_result.v1 of lines; with *omitted_chars*, a budget cut them."""
    head = _fetched("span", doc["doc_id"], doc["path"], doc["indexed_at"], stale=stale)
    lines = {"line_start": asked[0], "line_end": asked[1], "effective_end": effective_end}
    return {**head, "text": text, **lines, **_cut(omitted_chars)}


def _fetched(kind: str, doc_id: str, path: str, indexed_at: int, *, stale: bool) -> Json:
    return {
        "schema_version": "fetch_result.v1",
        "kind": kind,
        "doc_id": doc_id,
        "doc_path": path,
        "indexed_at": timestamp(indexed_at),
        "stale": stale,
        "truncated": False,
    }


def _cut(omitted_chars: int | None) -> Json:
    return {} if omitted_chars is None else {"truncated": True, "omitted_chars": omitted_chars}


def doc_summary(doc: StoredDoc) -> Json:
    """Return a document as it stands in a list."""
    out: Json = {
        "doc_id": doc["doc_id"],
        "doc_path": doc["path"],
        "source_id": doc["source_id"],
        "title": doc["title"],
        "lang": doc["lang"],
        "tags": list(doc["tags"]),
        "trust_level": doc["trust_level"],
        "source_type": doc["source_type"],
        "media": doc["media"],
        "byte_len": doc["byte_len"],
        "chunk_count": doc["chunk_count"],
        "created_at": timestamp_or_none(doc["created_at"]),
        "updated_at": timestamp_or_none(doc["updated_at"]),
        "indexed_at": timestamp(doc["indexed_at"]),
        "parser_version": doc["parser_version"],
        "chunker_version": doc["chunker_version"],
    }
    if (dated := doc["doc_date"]) is not None:
        out["doc_date"] = timestamp(dated)
    return out | {key: doc[key] for key in ("code_lang", "repo") if doc.get(key)}


def doc_list(
    docs: Iterable[StoredDoc],
    *,
    total: int,
    next_cursor: str | None = None,
    warnings: Sequence[str] = (),
) -> Json:
    """Return doc_summary_list.v1: one page of *total* documents."""
    out: Json = {
        "schema_version": "doc_summary_list.v1",
        "items": [doc_summary(doc) for doc in docs],
        "total": total,
        "next_cursor": next_cursor,
    }
    return out | ({"warnings": list(warnings)} if warnings else {})


def doc_inspection(doc: StoredDoc) -> Json:
    """Return doc_inspection.v1: all that is known of a document, but for its text."""
    out = {"schema_version": "doc_inspection.v1", **doc_summary(doc)}
    out |= {key: doc[key] for key in ("repo_branch", "repo_commit", "bytes_hash") if doc.get(key)}
    out["aliases"] = list(doc["aliases"])
    out["metadata"] = dict(doc["metadata"])
    out["blocks"] = [_block(block) for block in doc["blocks"]]
    out["links"] = [_link(link) for link in doc["links"]]
    out["provenance"] = list(_provenance(doc))
    out["warnings"] = list(doc["warnings"])
    return out


def _block(block: Mapping[str, Any]) -> Json:
    out = {
        "kind": block["kind"],
        "heading_path": list(block.get("heading_path") or ()),
        "char_start": block["start"],
        "char_end": block["end"],
    }
    return out | {k: block[k] for k in ("level", "symbol", "symbol_kind") if block.get(k)}


def _link(link: Mapping[str, Any]) -> Json:
    known = {key: link.get(key) for key in ("kind", "target", "text")}
    return given({**known, "char_start": link.get("start")})


def _provenance(doc: StoredDoc) -> Iterable[Json]:
    modified = from_epoch(int(doc["mtime_ns"]) // 1_000_000_000)
    yield given({"kind": "modified", "at": timestamp(modified), "detail": doc["bytes_hash"]})
    for kind in ("parsed", "chunked"):
        version = doc["parser_version" if kind == "parsed" else "chunker_version"]
        yield {"kind": kind, "at": timestamp(doc["indexed_at"]), "detail": version}


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
