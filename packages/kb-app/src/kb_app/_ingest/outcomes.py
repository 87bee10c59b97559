"""What came of a file, as a row of the ledger and as an item of the report. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kb_app._ingest.fingerprint import fingerprint_of, settings_hash
from kb_app._ingest.plan import Wanted, skipped_item, unchanged_item
from kb_app._ingest.settings import Settings
from kb_app._ingest.work import Made
from kb_core.ingest import IngestItem, ItemKind
from kb_core.records import DocumentRecord, FileRecord, FileState

__all__ = [
    "deleted_item",
    "failure",
    "moved_away",
    "refused",
    "same_again",
    "skip",
    "stored_item",
    "stored_row",
    "with_old_passages",
]


def stored_row(want: Wanted, made: Made, document: DocumentRecord, now: datetime) -> FileRecord:
    """Return the row of a file that is indexed."""
    return _row(want, made, now, FileState.INDEXED, media=document.media, doc_id=document.doc_id)


def stored_item(
    want: Wanted, made: Made, document: DocumentRecord, moved_from: FileRecord | None
) -> IngestItem:
    """Return the item of a file that was indexed: new, updated or moved."""
    was_indexed = want.known is not None and want.known.doc_id is not None
    kind = ItemKind.UPDATED if was_indexed else ItemKind.NEW
    return IngestItem(
        kind=ItemKind.MOVED if moved_from else kind,
        source_id=document.source_id,
        doc_path=document.path,
        doc_id=document.doc_id,
        media=document.media,
        byte_len=document.byte_len,
        chunk_count=len(document.chunks),
        parser_version=document.parser_version,
        chunker_version=document.chunker_version,
        moved_from=moved_from.path if moved_from else None,
        warnings=document.warnings,
        duration_ms=round(sum(made.phases_ms.values())),
    )


def moved_away(old: FileRecord, to: str, now: datetime) -> FileRecord:
    """Return the row of the path that a file was moved from."""
    return replace(
        old, state=FileState.DELETED, reason="moved", detail=to, doc_id=None, changed_at=now
    )


def with_old_passages(document: DocumentRecord, old: DocumentRecord | None) -> DocumentRecord:
    """Let the chunks of a moved file keep the context they were embedded with.

    A context may name the path, or a title that comes from the file's name; that a file
    was renamed is no reason to compute its vectors again.
    """
    if old is None or [c.text for c in old.chunks] != [c.text for c in document.chunks]:
        return document
    pairs = zip(document.chunks, old.chunks, strict=True)
    chunks = (
        replace(chunk, context=before.context, passage_hash=before.passage_hash)
        for chunk, before in pairs
    )
    return replace(document, chunks=tuple(chunks))


def same_again(want: Wanted, made: Made) -> tuple[FileRecord, IngestItem]:
    """Return row and item of a file whose bytes and settings are what they were."""
    known = want.known
    assert known is not None  # noqa: S101 - only a known fingerprint can be equal
    row = replace(known, size=want.file.size, mtime_ns=want.file.mtime_ns, raw_path=want.raw_path)
    if known.state is FileState.SKIPPED:
        return row, skipped_item(made.file, known.reason or "", known.media)
    return row, unchanged_item(made.file, known.doc_id)


def skip(want: Wanted, made: Made, now: datetime) -> tuple[FileRecord, IngestItem]:
    """Return row and item of a file that is left alone."""
    row = _row(
        want,
        made,
        now,
        FileState.SKIPPED,
        reason=made.skipped,
        detail=made.detail,
        media=made.file.media,
    )
    return row, skipped_item(made.file, made.skipped or "")


def failure(
    want: Wanted, error: Mapping[str, Any], settings: Settings, now: datetime
) -> tuple[FileRecord, IngestItem]:
    """Return row and item of a file that could not be made.

    What was indexed before stays searchable; the ledger says that it is out of date.
    """
    message = str(error.get("message", "the worker died"))
    code = str(error.get("code", "internal"))
    file = want.file
    row = FileRecord(
        source_id=file.source_id,
        path=file.path,
        raw_path=want.raw_path,
        state=FileState.FAILED,
        detail=message,
        error_code=code,
        media=file.media,
        size=file.size,
        mtime_ns=file.mtime_ns,
        fingerprint=fingerprint_of("", settings_hash(file, settings)),
        doc_id=want.known.doc_id if want.known else None,
        processed_at=now,
        changed_at=now,
    )
    item = IngestItem(
        kind=ItemKind.ERROR,
        source_id=file.source_id,
        doc_path=file.path,
        media=file.media,
        byte_len=file.size,
        error={"code": code, "message": message},
    )
    return row, item


def refused(
    row: FileRecord,
    before: DocumentRecord | None,
    document: DocumentRecord,
    error: Mapping[str, Any],
    now: datetime,
) -> tuple[FileRecord, IngestItem]:
    """Return row and item of a file whose *document* could not be stored or indexed.

    What was indexed *before*, if it is there still, stays searchable.
    """
    failed = replace(
        row,
        state=FileState.FAILED,
        detail=str(error["message"]),
        error_code=str(error["code"]),
        doc_id=before.doc_id if before is not None else None,
        processed_at=now,
        changed_at=now,
    )
    item = IngestItem(
        kind=ItemKind.ERROR,
        source_id=row.source_id,
        doc_path=row.path,
        media=document.media,
        byte_len=document.byte_len,
        error={"code": failed.error_code, "message": failed.detail},
    )
    return failed, item


def deleted_item(row: FileRecord) -> IngestItem:
    """Return the item of a document that is gone."""
    return IngestItem(
        kind=ItemKind.DELETED,
        source_id=row.source_id,
        doc_path=row.path,
        doc_id=row.doc_id,
        media=row.media,
        reason=row.reason,
    )


def _row(
    want: Wanted,
    made: Made,
    now: datetime,
    state: FileState,
    **more: Any,  # noqa: ANN401 - further fields of the row
) -> FileRecord:
    before = want.known
    same = before is not None and before.state is state
    return FileRecord(
        source_id=want.file.source_id,
        path=want.file.path,
        raw_path=want.raw_path,
        state=state,
        size=want.file.size,
        mtime_ns=want.file.mtime_ns,
        bytes_hash=made.bytes_hash,
        fingerprint=made.fingerprint,
        processed_at=now,
        changed_at=before.changed_at if same and before else now,
        **more,
    )
