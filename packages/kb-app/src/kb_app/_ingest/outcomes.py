"""What came of a file, as a row of the ledger and as an item of the report; and their sum."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from kb_app._ingest.making.record import Made
from kb_app._ingest.plan import Wanted, skipped_item, unchanged_item
from kb_app._ingest.settings import Settings, fingerprint_of, settings_hash
from kb_core.ingest import IngestItem, IngestReport, ItemKind, Left, Looked, SkipReason
from kb_core.records import DocumentRecord, FileRecord, FileState
from kb_core.values import dataclass, field, replace

__all__ = [
    "Tally",
    "deleted_item",
    "failure",
    "knows_more",
    "moved_away",
    "nothing_more",
    "refused",
    "same_again",
    "skip",
    "stays",
    "stored_item",
    "stored_row",
    "with_old_passages",
]

_EXAMPLES = 5
_SLOWEST = 5
_CAME = frozenset({ItemKind.NEW, ItemKind.MOVED})


@dataclass(slots=True)
class Tally:
    """Collects the items of a run. Counters of the report derive from the items alone."""

    items: list[IngestItem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    scanned: int = 0
    left: Left = field(default_factory=Left)
    looked: Looked = field(default_factory=Looked)
    embedded: int = 0
    embeddings_missing: int = 0
    corpus_revision: int = 0
    phase_secs: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    started: float = field(default_factory=time.perf_counter)

    def add(self, item: IngestItem) -> None:
        """Count one file's outcome."""
        self.items.append(item)

    def replace(self, item: IngestItem) -> None:
        """Correct the outcome of the file that *item* is about."""
        where = (item.source_id, item.doc_path)
        self.items = [one for one in self.items if (one.source_id, one.doc_path) != where]
        self.items.append(item)

    def complete(self, item: IngestItem) -> IngestItem:
        """Correct the outcome of a file by what a later phase gave; new is new still."""
        where = (item.source_id, item.doc_path)
        before = next((i for i in self.items if (i.source_id, i.doc_path) == where), None)
        if before is not None and before.kind in _CAME and item.kind is ItemKind.UPDATED:
            spent = before.duration_ms + item.duration_ms
            moved = before.moved_from
            item = replace(item, kind=before.kind, moved_from=moved, duration_ms=spent)
        self.replace(item)
        return item

    def add_plan(self, items: Iterable[IngestItem], scanned: int, warnings: Iterable[str]) -> None:
        """Count what a plan decided without reading anything."""
        self.items += items
        self.scanned += scanned
        self.warnings += warnings

    def add_looked(self, looked: Looked) -> None:
        """Take in what another walk looked at."""
        self.looked = Looked(
            marks={**self.looked.marks, **looked.marks},
            has_links=self.looked.has_links or looked.has_links,
        )

    def counts(self) -> dict[str, int]:
        """Return how many files came out how."""
        seen = Counter(item.kind for item in self.items)
        return {kind.value: seen[kind] for kind in ItemKind}

    @property
    def has_changes(self) -> bool:
        """Whether anything was done that changed the store."""
        still = {ItemKind.UNCHANGED, ItemKind.SKIPPED, ItemKind.ERROR}
        return bool(self.embedded) or any(item.kind not in still for item in self.items)

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Add the time spent inside to a phase."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.phase_secs[name] += time.perf_counter() - started

    @property
    def duration_ms(self) -> int:
        """Milliseconds since the run began."""
        return round((time.perf_counter() - self.started) * 1000)

    def report(
        self, scope: Mapping[str, Any], *, aborted: bool, summary_only: bool
    ) -> IngestReport:
        """Return the report of the run as it stands."""
        skipped = [item for item in self.items if item.kind is ItemKind.SKIPPED]
        examples: defaultdict[str, list[str]] = defaultdict(list)
        for item in skipped:
            if len(examples[item.reason or ""]) < _EXAMPLES:
                examples[item.reason or ""].append(item.doc_path)
        slowest = sorted(self.items, key=lambda item: -item.duration_ms)[:_SLOWEST]
        return IngestReport(
            scope=dict(scope),
            items=None if summary_only else tuple(self.items),
            counts=self.counts(),
            scanned=self.scanned,
            duration_ms=self.duration_ms,
            left=self.left,
            looked=self.looked,
            aborted=aborted,
            corpus_revision=self.corpus_revision,
            embedded=self.embedded,
            embeddings_missing=self.embeddings_missing,
            skipped_by_reason=Counter(item.reason or "" for item in skipped),
            skipped_by_extension=Counter(_extension(item.doc_path) for item in skipped),
            skip_examples={reason: tuple(paths) for reason, paths in examples.items()},
            slowest=tuple(
                {"doc_path": item.doc_path, "duration_ms": item.duration_ms}
                for item in slowest
                if item.duration_ms
            ),
            phases_ms={name: round(secs * 1000) for name, secs in self.phase_secs.items()},
            warnings=tuple(self.warnings),
        )


def stored_row(want: Wanted, made: Made, document: DocumentRecord, now: datetime) -> FileRecord:
    """Return the row of a file that is indexed, or waits for more with what is known of it."""
    more = {"media": document.media, "doc_id": document.doc_id}
    if made.waits_for is None:
        return _row(want, made, now, FileState.INDEXED, **more)
    detail = f"waits for {made.waits_for}; what is known without is indexed"
    return _row(want, made, now, FileState.PENDING, reason=made.waits_for, detail=detail, **more)


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
        chunk_count=sum(len(each.chunks) for each in made.documents),
        enclosed_count=len(made.documents) - 1 + len(made.kept) or None,
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


def nothing_more(want: Wanted, made: Made, now: datetime) -> tuple[FileRecord, IngestItem]:
    """Return row and item of a file that was added, and of which a later phase gives no more."""
    known = want.known
    assert known is not None  # noqa: S101 - it waited
    row = replace(
        known,
        state=FileState.INDEXED,
        reason=None,
        detail=made.detail,
        processed_at=now,
        changed_at=now,
    )
    warnings = (made.detail,) if made.detail else ()
    item = unchanged_item(made.file, known.doc_id)
    return row, replace(item, kind=ItemKind.UPDATED, warnings=warnings)


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
        bytes_hash=_bytes_of(want),
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


def knows_more(want: Wanted, made: Made) -> bool:
    """Say whether what is indexed of these bytes has what *made* still waits for.

    It stays until the later phase has gone over it: nothing is found less for being read again.
    """
    known = want.known
    return (
        made.waits_for is not None
        and known is not None
        and known.doc_id == made.documents[0].doc_id
        and known.bytes_hash == made.bytes_hash
        and (known.state is FileState.INDEXED or known.fingerprint == made.fingerprint)
    )


def stays(want: Wanted, made: Made) -> bool:
    """Say whether what is indexed of a file stays, whatever it is skipped for.

    It does of what was added, and where the disk refused the bytes: that tells nothing of them.
    """
    is_unread = made.skipped == SkipReason.UNREADABLE and made.fingerprint is None
    is_indexed = want.known is not None and want.known.doc_id is not None
    return want.asset is not None or (is_unread and is_indexed)


def unmade(
    want: Wanted, made: Made, settings: Settings, now: datetime
) -> tuple[FileRecord, IngestItem]:
    """Return row and item of what was accepted once, and cannot be made anew.

    It stays as it is. Bytes that the disk refused are read again by every run until they come.
    """
    error = {"code": "io_error", "message": made.detail or made.skipped}
    row, item = failure(want, error, settings, now)
    return row if made.fingerprint else replace(row, fingerprint=None), item


def _bytes_of(want: Wanted) -> str | None:
    """Return the hash of the bytes of a file that is as it was: costly results go by it."""
    known, file = want.known, want.file
    is_same = known and (known.size, known.mtime_ns) == (file.size, file.mtime_ns)
    return known.bytes_hash if known and is_same else None


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


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return f".{extension.lower()}" if dot and stem else ""
