"""Documents, chunks, fetched text, and what an ingest does with them, on the wire.

Chunks and documents come in as the mappings that an index shows (``StoredChunk``,
``StoredDoc`` of ``kb_core.ports``).

The types of an ingest are imported where they are used: a search does not pay for them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from kb_core.citations import citation_of
from kb_core.clock import from_epoch
from kb_core.values import as_dict
from kb_core.wire._json import Json, error as error_of, given, timestamp, timestamp_or_none
from kb_core.wire._search import citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_core.citations import Citation
    from kb_core.errors import KbError
    from kb_core.ingest import IngestEvent, IngestItem, IngestReport
    from kb_core.ports import StoredChunk, StoredDoc, StoredFile
    from kb_core.search import GrepQuery
    from kb_core.wire import types

__all__ = [
    "chunk",
    "chunk_inspection",
    "coverage",
    "doc_inspection",
    "doc_list",
    "doc_summary",
    "fetch_chunk",
    "fetch_doc",
    "fetch_results",
    "fetch_span",
    "file_status",
    "grep_response",
    "ingest_event",
    "ingest_item",
    "ingest_report",
    "link_item",
    "link_list",
    "outline",
]


def chunk(stored: StoredChunk, embeddings: Mapping[str, int]) -> types.ChunkInspection:
    """Return a chunk as part of a larger object; *embeddings*: model key → dimensions."""
    out: types.ChunkInspection = {
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
    if symbol := stored["symbol"]:
        out["symbol"] = symbol
    if part := stored["part"]:
        out["part"] = part
    if stored["flags"]:
        out["flags"] = list(stored["flags"])
    return out


def chunk_inspection(stored: StoredChunk, embeddings: Mapping[str, int]) -> types.ChunkInspection:
    """Return chunk_inspection.v1."""
    out = {"schema_version": "chunk_inspection.v1", **chunk(stored, embeddings)}
    return cast("types.ChunkInspection", out)


def fetch_chunk(
    target: types.ChunkInspection,
    before: Iterable[types.ChunkInspection],
    after: Iterable[types.ChunkInspection],
    *,
    indexed_at: int,
    stale: bool,
) -> types.FetchResult:
    """Return fetch_result.v1 of a chunk; all three hold what ``chunk`` makes."""
    head = _fetched("chunk", target["doc_id"], target["doc_path"], indexed_at, stale=stale)
    return {
        **head,
        "chunk": target,
        "context_before": list(before),
        "context_after": list(after),
    }


def fetch_doc(
    doc: StoredDoc, text: str, *, stale: bool, omitted_chars: int | None = None
) -> types.FetchResult:
    """Return fetch_result.v1 of a document; with *omitted_chars*, a budget cut it."""
    head = _fetched("doc", doc["doc_id"], doc["path"], doc["indexed_at"], stale=stale)
    return _cut({**head, "text": text}, omitted_chars)


def fetch_span(
    doc: StoredDoc,
    text: str,
    asked: tuple[int, int],
    effective_end: int,
    *,
    stale: bool,
    omitted_chars: int | None = None,
) -> types.FetchResult:
    """Return fetch_result.v1 of lines; with *omitted_chars*, a budget cut them."""
    head = _fetched("span", doc["doc_id"], doc["path"], doc["indexed_at"], stale=stale)
    out: types.FetchResult = {
        **head,
        "text": text,
        "line_start": asked[0],
        "line_end": asked[1],
        "effective_end": effective_end,
    }
    return _cut(out, omitted_chars)


def _fetched(
    kind: str, doc_id: str, path: str, indexed_at: int, *, stale: bool
) -> types.FetchResult:
    return {
        "schema_version": "fetch_result.v1",
        "kind": kind,
        "doc_id": doc_id,
        "doc_path": path,
        "indexed_at": timestamp(indexed_at),
        "stale": stale,
        "truncated": False,
    }


def _cut(out: types.FetchResult, omitted_chars: int | None) -> types.FetchResult:
    if omitted_chars is None:
        return out
    return {**out, "truncated": True, "omitted_chars": omitted_chars}


def fetch_results(
    places: Iterable[str | Mapping[str, Any]],
    outcomes: Iterable[types.FetchResult | KbError],
    *,
    corpus_revision: int,
) -> types.FetchResults:
    """Return fetch_results.v1: what was asked for, each with its text or its error."""
    results: list[types.FetchResultsResults] = []
    for place, outcome in zip(places, outcomes, strict=True):
        asked = place if isinstance(place, str) else dict(place)
        if isinstance(outcome, Exception):
            results.append({"place": asked, "result": None, "error": error_of(outcome)})
        else:
            results.append({"place": asked, "result": outcome, "error": None})
    return {
        "schema_version": "fetch_results.v1",
        "results": results,
        "truncated": any(one["result"] and one["result"]["truncated"] for one in results),
        "corpus_revision": corpus_revision,
    }


def outline(
    doc: StoredDoc,
    entries: Iterable[types.OutlineEntries],
    *,
    lines: int | None,
    omitted: int,
    stale: bool,
) -> types.Outline:
    """Return outline.v1; *lines* is ``None`` for a document that has none."""
    out: types.Outline = {
        "schema_version": "outline.v1",
        "doc_id": doc["doc_id"],
        "doc_path": doc["path"],
        "media": doc["media"],
        "chars": doc["text_chars"],
        "entries": list(entries),
        "omitted": omitted,
        "indexed_at": timestamp(doc["indexed_at"]),
        "stale": stale,
    }
    if lines is not None:
        out["lines"] = lines
    return out


def grep_response(
    query: GrepQuery,
    files: Sequence[types.GrepResponseFiles],
    counts: Mapping[str, int],
    *,
    complete: bool,
    warnings: Sequence[str] = (),
) -> types.GrepResponse:
    """Return grep_response.v1: *files* may be some; *counts*, under their names, are of all."""
    left_out = not query.files_only and any(one["omitted"] for one in files)
    out: types.GrepResponse = {
        "schema_version": "grep_response.v1",
        "pattern": query.pattern,
        "case": "ignore" if query.ignores_case else "exact",
        "files": list(files),
        "total_files": counts["total_files"],
        "total_lines": counts["total_lines"],
        "searched": counts["searched"],
        "complete": complete,
        "truncated": left_out or len(files) < counts["total_files"],
        "corpus_revision": counts["corpus_revision"],
    }
    if warnings:
        out["warnings"] = list(warnings)
    return out


def doc_summary(doc: StoredDoc) -> types.DocSummary:
    """Return a document as it stands in a list."""
    out: types.DocSummary = {
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
    if code_lang := doc["code_lang"]:
        out["code_lang"] = code_lang
    if repo := doc["repo"]:
        out["repo"] = repo
    if container := doc.get("container"):
        out["container"] = container
    return out


def doc_list(
    docs: Iterable[StoredDoc],
    *,
    total: int,
    next_cursor: str | None = None,
    warnings: Sequence[str] = (),
) -> types.DocSummaryList:
    """Return doc_summary_list.v1: one page of *total* documents."""
    out: types.DocSummaryList = {
        "schema_version": "doc_summary_list.v1",
        "items": [doc_summary(doc) for doc in docs],
        "total": total,
        "next_cursor": next_cursor,
    }
    if warnings:
        out["warnings"] = list(warnings)
    return out


def doc_inspection(doc: StoredDoc, enclosed: Sequence[StoredDoc] = ()) -> types.DocInspection:
    """Return doc_inspection.v1: all that is known of a document, but for its text."""
    head = {"schema_version": "doc_inspection.v1", **doc_summary(doc)}
    out = cast("types.DocInspection", head)
    if branch := doc["repo_branch"]:
        out["repo_branch"] = branch
    if commit := doc["repo_commit"]:
        out["repo_commit"] = commit
    if digest := doc["bytes_hash"]:
        out["bytes_hash"] = digest
    if enclosed:
        out["enclosed"] = [each["path"] for each in enclosed]
    out["aliases"] = list(doc["aliases"])
    out["metadata"] = dict(doc["metadata"])
    out["blocks"] = [_block(block) for block in doc["blocks"]]
    out["links"] = [_link(link) for link in doc["links"]]
    out["provenance"] = list(_provenance(doc))
    out["warnings"] = list(doc["warnings"])
    return out


def _block(block: Mapping[str, Any]) -> types.DocInspectionBlocks:
    out = {
        "kind": block["kind"],
        "heading_path": list(block.get("heading_path") or ()),
        "char_start": block["start"],
        "char_end": block["end"],
    }
    known = {k: block[k] for k in ("level", "symbol", "symbol_kind") if block.get(k)}
    return cast("types.DocInspectionBlocks", out | known)


def _link(link: Mapping[str, Any]) -> types.DocInspectionLinks:
    known = {key: link.get(key) for key in ("kind", "target", "text")}
    return cast("types.DocInspectionLinks", given({**known, "char_start": link.get("start")}))


def link_list(
    doc: StoredDoc, items: Iterable[types.LinkListItems], *, direction: str, total: int
) -> types.LinkList:
    """Return link_list.v1: a page of the links out of *doc*, or ``in`` to it."""
    head = {"schema_version": "link_list.v1", **_named(doc), "direction": direction}
    return cast("types.LinkList", head | {"items": list(items), "total": total})


def link_item(
    link: Mapping[str, Any], other: StoredDoc | None, place: Citation | None, excerpt: str
) -> types.LinkListItems:
    """Return a link as it stands in a list: with the *other* document, and where it stands."""
    out = given({key: link.get(key) or None for key in ("kind", "target", "text")})
    if excerpt:
        out["excerpt"] = excerpt
    if place is not None:
        out["citation"] = citation(place)
    return cast("types.LinkListItems", out | (_named(other) if other else {}))


def _named(doc: StoredDoc) -> Json:
    names = {"doc_id": "doc_id", "doc_path": "path", "source_id": "source_id", "title": "title"}
    return {name: doc[key] for name, key in names.items()}  # type: ignore[literal-required]


def _provenance(doc: StoredDoc) -> Iterable[types.DocInspectionProvenance]:
    modified = timestamp(from_epoch(doc["mtime_ns"] // _NANOSECONDS))
    yield {"kind": "modified", "at": modified, "detail": doc["bytes_hash"]}
    at = timestamp(doc["indexed_at"])
    yield {"kind": "parsed", "at": at, "detail": doc["parser_version"]}
    yield {"kind": "chunked", "at": at, "detail": doc["chunker_version"]}


_NANOSECONDS = 1_000_000_000


def ingest_event(event: IngestEvent) -> types.IngestProgress:
    """Return one line of ingest_progress.v1; the event's data stand beside its kind.

    Data are JSON values under the names of the schema; ``item`` may be an ``IngestItem``.
    """
    from kb_core.ingest import IngestItem

    out: Json = {"schema_version": "ingest_progress.v1", "kind": event.kind}
    out["at"] = timestamp(event.at)
    for name, value in event.data.items():
        out[name] = ingest_item(value) if isinstance(value, IngestItem) else value
    return cast("types.IngestProgress", out)


def ingest_item(item: IngestItem) -> types.IngestItem:
    """Return one file's outcome."""
    out = given(as_dict(item))
    out["kind"] = str(item.kind)
    out["warnings"] = list(item.warnings)
    if item.error is not None:
        out["error"] = dict(item.error)
    return cast("types.IngestItem", out)


def ingest_report(report: IngestReport) -> types.IngestReport:
    """Return ingest_report.v1; ``counts`` of the report is keyed by ``ItemKind``."""
    from kb_core.ingest import ItemKind

    counts = {kind: report.counts.get(kind, 0) for kind in ItemKind}
    shown: types.IngestReport = {
        "schema_version": "ingest_report.v1",
        "scope": dict(report.scope),
        "scanned": report.scanned,
        "new": counts[ItemKind.NEW],
        "updated": counts[ItemKind.UPDATED],
        "moved": counts[ItemKind.MOVED],
        "unchanged": counts[ItemKind.UNCHANGED],
        "skipped": counts[ItemKind.SKIPPED],
        "deleted": counts[ItemKind.DELETED],
        "errors": counts[ItemKind.ERROR],
        "duration_ms": report.duration_ms,
        "skipped_by_reason": _sorted(report.skipped_by_reason),
        "skipped_by_extension": _sorted(report.skipped_by_extension),
        "skip_examples": {k: list(v) for k, v in sorted(report.skip_examples.items())},
        "slowest": [cast("types.IngestReportSlowest", dict(row)) for row in report.slowest],
        "items": None if report.items is None else [ingest_item(item) for item in report.items],
        "aborted": report.aborted,
        "corpus_revision": report.corpus_revision,
        "embedded": report.embedded,
        "embeddings_missing": report.embeddings_missing,
        "phases_ms": dict(report.phases_ms),
        "warnings": list(report.warnings),
    }
    if report.expected:
        rows = [cast("types.IngestReportExpected", dict(row)) for row in report.expected]
        shown["expected"] = rows
    return shown


def file_status(
    files: Iterable[StoredFile],
    totals: types.FileStatusCoverage,
    *,
    total: int | None = None,
    as_of: int | None = None,
) -> types.FileStatus:
    """Return file_status.v1; *files* may be narrowed, *totals* (``coverage``) are not.

    *total* is for a page: how many files there are on all of its kind. *as_of* is the time
    of the last change that is known, in epoch seconds.
    """
    rows = [_file(row) for row in files]
    out: types.FileStatus = {
        "schema_version": "file_status.v1",
        "files": rows,
        "total": len(rows) if total is None else total,
        "coverage": totals,
    }
    if as_of is not None:
        out["as_of"] = timestamp(as_of)
    return out


def coverage(
    counts: Mapping[tuple[str, str | None], int],
    *,
    chunks: int | None = None,
    embedded: int | None = None,
) -> types.FileStatusCoverage:
    """Sum up files by state, of *counts* by state and reason; add what is given."""
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for (state, reason), count in counts.items():
        states[state] += count
        if state == "skipped":
            reasons[reason or "unknown"] += count
    out: types.FileStatusCoverage = {
        "files": states.total(),
        "indexed": states["indexed"],
        "skipped": states["skipped"],
        "failed": states["failed"],
        "pending": states["pending"],
        "deleted": states["deleted"],
        "by_reason": _sorted(reasons),
    }
    if chunks is not None:
        out["chunks"] = chunks
    if embedded is not None:
        out["embedded"] = embedded
    return out


def _file(row: StoredFile) -> types.FileStatusFiles:
    known = {
        "source_id": row["source_id"],
        "doc_path": row["path"],
        "state": str(row["state"]),
        "reason": row["reason"],
        "detail": row["detail"],
        "error_code": row["error_code"],
        "doc_id": row["doc_id"],
        "media": row["media"],
        "indexed_at": timestamp_or_none(row["processed_at"] if row["state"] == "indexed" else None),
        "changed_at": timestamp_or_none(row["changed_at"]),
        "mtime": timestamp(row["mtime_ns"] // _NANOSECONDS),
        "size": row["size"],
    }
    return cast("types.FileStatusFiles", given(known))


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return {str(key): counts[key] for key in sorted(counts)}
