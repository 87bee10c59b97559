"""What a run has to do, decided before anything is opened: the walk beside the ledger.

Pure but for the walk itself. A file whose size, time and settings are those of the
ledger is not read; a file that is gone is told apart from one that could not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kb_app._ingest.judging.kinds import Kind, Skip, check_medium, check_size, detect
from kb_app._ingest.judging.secrets import check_secret_name
from kb_app._ingest.seeing.walk import LEADS_NOWHERE, Seen, Walk, walk
from kb_app._ingest.settings import (
    UNKNOWN,
    Settings,
    SourceSpec,
    locked_hash,
    remembering_hashes,
    settings_hash,
)
from kb_core.documents import SourceFile
from kb_core.ingest import IngestItem, IngestOptions, ItemKind, SkipReason
from kb_core.media import Media
from kb_core.records import FileRecord, FileState
from kb_core.values import dataclass, field, replace

__all__ = [
    "Known",
    "Plan",
    "Wanted",
    "has_these_settings",
    "judge_unread",
    "plan_sources",
    "source_row",
]


HashOf: TypeAlias = Callable[[SourceFile, Settings], str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that has to be read, and what the ledger knew of it."""

    file: SourceFile
    raw_path: str | None
    known: FileRecord | None
    asset: str | None = None
    """Its name among the assets, if it is from outside the sources: then it was judged when
    it was added, and nothing but its removal takes it away."""
    title: str | None = None
    """A title that was given along with the bytes; it goes before any other."""


@dataclass(slots=True)
class Plan:
    """The work of one source."""

    source: SourceSpec
    wanted: list[Wanted] = field(default_factory=list)
    rows: list[FileRecord] = field(default_factory=list)
    """Ledger rows that are decided without reading: skipped or ignored, new or changed."""
    items: list[IngestItem] = field(default_factory=list)
    waiting: list[Wanted] = field(default_factory=list)
    """Files that are as they were, and wait for a later phase that this run goes through."""
    gone: list[FileRecord] = field(default_factory=list)
    """Rows whose file is really gone, or is ignored now (``reason``)."""
    scanned: int = 0
    unchanged: int = 0
    warnings: list[str] = field(default_factory=list)
    verified: bool = False
    """The whole source was seen: its unchanged documents count as verified."""
    device: int = 0
    folders: set[str] = field(default_factory=set)
    """Absolute paths of the folders that the walk looked into."""
    hash_of: HashOf = field(default_factory=remembering_hashes)

    def await_more(self, want: Wanted, options: IngestOptions) -> None:
        """Leave a file as it is until the phase that it waits for, if this run goes through it."""
        known = want.known
        self.unchanged += 1
        self.items.append(unchanged_item(want.file, known.doc_id if known else None))
        if known is not None and known.reason not in options.without:
            self.waiting.append(want)

    @property
    def asks(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.wanted or self.waiting or self.rows or self.gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known before a run: of the store, or of what is published of it."""

    ledger: Callable[[str], Mapping[str, FileRecord]]
    """Gives the rows of a source by path."""
    sources: Mapping[str, Mapping[str, Any]]
    """What readers are told of each source."""
    sequence: int = 0
    corpus_revision: int = 0


def plan_sources(
    sources: Sequence[SourceSpec], known: Known, settings: Settings, options: IngestOptions
) -> Iterator[Plan]:
    """Walk every source and decide what has to be done."""
    for source in sources:
        seen = walk(
            source.root,
            source_id=source.source_id,
            include=source.include,
            exclude=source.exclude,
            follow_links=source.follow_links,
            narrow=source.narrow,
        )
        yield _make_plan(
            source,
            seen,
            known.ledger(source.source_id),
            settings,
            options,
            known.sources.get(source.source_id, {}).get("device"),
        )


def _make_plan(
    source: SourceSpec,
    walked: Walk,
    ledger: Mapping[str, FileRecord],
    settings: Settings,
    options: IngestOptions,
    device_before: int | None = None,
) -> Plan:
    """Walk *source* and compare with its ledger."""
    plan = Plan(source, device=walked.device)
    seen: set[str] = set()
    for found in walked:
        seen.add(found.path)
        _consider(plan, found, ledger.get(found.path), settings, options)
    plan.warnings += [f"source {source.source_id!r}: {each}" for each in walked.unread_rules]
    missing = [row for path, row in ledger.items() if path not in seen and _counts(row)]
    if _may_sweep(plan, walked, missing, device_before, empty=not seen and not options.allow_empty):
        _sweep(plan, walked, missing)
    plan.verified = walked.root_exists and not source.narrow
    plan.folders = walked.folders
    return plan


def _counts(row: FileRecord) -> bool:
    return row.state is not FileState.DELETED


def _consider(
    plan: Plan,
    found: Seen,
    known: FileRecord | None,
    settings: Settings,
    options: IngestOptions,
) -> None:
    if not found.is_folder:
        plan.scanned += 1
    if found.reason is not None:
        _leave(plan, found, known, found.reason, found.detail)
        return
    if plan.source.forgotten.has(plan.source.source_id, found.path):
        _leave_forgotten(plan, found, known)
        return
    kind = detect(found.path)
    skip = judge_unread(found.path, found.size, kind, settings)
    if skip is not None:
        _leave(plan, found, known, skip.reason, skip.detail, kind.media if kind else None)
        return
    file = SourceFile(
        source_id=plan.source.source_id,
        path=found.path,
        media=kind.media if kind else UNKNOWN,
        code_lang=kind.code_lang if kind else None,
        size=found.size,
        mtime_ns=found.mtime_ns,
        source_type=plan.source.source_type,
        trust_level=plan.source.trust_level,
    )
    want = Wanted(file, found.raw_path, known)
    if options.force or known is None or not _is_current(plan, file, known, settings):
        plan.wanted.append(want)
    else:
        _leave_as_it_is(plan, want, known, options)


def _leave_as_it_is(plan: Plan, want: Wanted, known: FileRecord, options: IngestOptions) -> None:
    """Take in a file that is as it was, unless it is to be tried again."""
    match known.state:
        case FileState.SKIPPED:
            plan.items.append(skipped_item(want.file, known.reason or "", known.media))
        case FileState.INDEXED:
            plan.unchanged += 1
            plan.items.append(unchanged_item(want.file, known.doc_id))
        case FileState.PENDING:
            plan.await_more(want, options)
        case FileState.FAILED if not options.retry_failed:
            plan.items.append(failed_item(want.file, known))
        case _:
            plan.wanted.append(want)


def judge_unread(path: str, size: int, kind: Kind | None, settings: Settings) -> Skip | None:
    """Judge a file by its name and size; *kind* is what its name says that it is."""
    if kind is not None and (unread := check_medium(kind.media, path)):
        return unread
    if not settings.allow_secrets and (secret := check_secret_name(path)):
        return secret
    return check_size(size, kind.media if kind else Media.TEXT, settings.caps)


def _is_current(plan: Plan, file: SourceFile, known: FileRecord, settings: Settings) -> bool:
    same = (file.size, file.mtime_ns) == (known.size, known.mtime_ns)
    return same and has_these_settings(file, known, settings, plan.hash_of)


def has_these_settings(
    file: SourceFile, known: FileRecord, settings: Settings, hash_of: HashOf = settings_hash
) -> bool:
    """Say whether what is known of *file* came of these settings, whatever its bytes."""
    is_locked = known.reason == SkipReason.ENCRYPTED
    prefix = (locked_hash if is_locked else hash_of)(file, settings)[:16]
    return known.fingerprint is not None and known.fingerprint.startswith(prefix)


def _leave_forgotten(plan: Plan, found: Seen, known: FileRecord | None) -> None:
    """Leave a file alone that a person had forgotten: no row of the ledger names it."""
    if known is not None and _counts(known):  # an older copy of the store was put back
        plan.gone.append(_gone(known, SkipReason.FORGOTTEN.value))
        return
    plan.items.append(
        IngestItem(
            kind=ItemKind.SKIPPED,
            source_id=plan.source.source_id,
            doc_path=found.path,
            reason=SkipReason.FORGOTTEN.value,
        )
    )


def _leave(
    plan: Plan,
    found: Seen,
    known: FileRecord | None,
    reason: str,
    detail: str | None,
    media: str | None = None,
) -> None:
    """Record a file that is left alone without being read."""
    is_unread = reason == SkipReason.UNREADABLE and detail != LEADS_NOWHERE
    if is_unread and known is not None and known.doc_id:
        _leave_unread(plan, known, detail)
        return
    row = FileRecord(
        source_id=plan.source.source_id,
        path=found.path,
        raw_path=found.raw_path,
        state=FileState.SKIPPED,
        reason=str(reason),
        detail=detail,
        media=media,
        size=found.size,
        mtime_ns=found.mtime_ns,
    )
    if known is None or _differs(known, row):
        plan.rows.append(row)
    if known is not None and known.doc_id:  # of a file that failed last time, too
        plan.gone.append(_gone(known, row.reason))  # reported as deleted, not as skipped
        return
    plan.items.append(
        IngestItem(
            kind=ItemKind.SKIPPED,
            source_id=row.source_id,
            doc_path=row.path,
            media=media,
            reason=row.reason,
            byte_len=None if found.is_folder else found.size,
        )
    )


def _leave_unread(plan: Plan, known: FileRecord, detail: str | None) -> None:
    """Keep what is indexed of a file that the disk does not tell of now."""
    row = replace(
        known,
        state=FileState.FAILED,
        reason=None,
        detail=detail,
        error_code="io_error",
        fingerprint=None,
    )
    if _differs(known, row):
        plan.rows.append(row)
    file = SourceFile(source_id=row.source_id, path=row.path, media=row.media or UNKNOWN)
    plan.items.append(replace(failed_item(file, row), reason=None))


def _differs(known: FileRecord, row: FileRecord) -> bool:
    fields = ("state", "reason", "detail", "size", "mtime_ns", "raw_path")
    return any(getattr(known, name) != getattr(row, name) for name in fields)


def _may_sweep(
    plan: Plan,
    walked: Walk,
    missing: Sequence[FileRecord],
    device_before: int | None,
    *,
    empty: bool,
) -> bool:
    """Say whether what was not seen may be gone (ruling R8); warn where it may not."""
    source = plan.source
    indexed = sum(row.state in {FileState.INDEXED, FileState.PENDING} for row in missing)
    problem = None
    if not walked.root_exists:
        problem = f"{source.root} cannot be read; what was indexed is kept"
    elif device_before and walked.device != device_before:
        problem = f"{source.root} is on another device now; nothing is removed"
    elif indexed and empty and not source.narrow:
        problem = (
            f"nothing is in {source.root}, where {indexed} documents were; "
            "nothing is removed without --allow-empty"
        )
    if problem:
        plan.warnings.append(f"source {source.source_id!r}: {problem}")
    return problem is None


def _sweep(plan: Plan, walked: Walk, missing: Sequence[FileRecord]) -> None:
    for row in missing:
        fate = walked.fate_of(row.path)
        if fate == "gone":
            plan.gone.append(_gone(row, None))
        elif fate == "ignored":
            plan.gone.append(_gone(row, SkipReason.IGNORED.value))


def _gone(row: FileRecord, reason: str | None) -> FileRecord:
    return replace(row, reason=reason)


def skipped_item(file: SourceFile, reason: str, media: str | None = None) -> IngestItem:
    """Return the item of a file that is left alone."""
    return IngestItem(
        kind=ItemKind.SKIPPED,
        source_id=file.source_id,
        doc_path=file.path,
        media=media or file.media,
        byte_len=file.size,
        reason=reason,
    )


def unchanged_item(file: SourceFile, doc_id: str | None) -> IngestItem:
    """Return the item of a file that is as it was."""
    return IngestItem(
        kind=ItemKind.UNCHANGED,
        source_id=file.source_id,
        doc_path=file.path,
        doc_id=doc_id,
        media=file.media,
        byte_len=file.size,
    )


def failed_item(file: SourceFile, known: FileRecord) -> IngestItem:
    """Return the item of a file that failed before and has not changed since."""
    return IngestItem(
        kind=ItemKind.ERROR,
        source_id=file.source_id,
        doc_path=file.path,
        media=file.media,
        byte_len=file.size,
        error={"code": known.error_code or "internal", "message": known.detail or ""},
        reason="failed before; use --retry-failed",
    )


def source_row(plan: Plan) -> dict[str, Any]:
    """Return what readers are told of the source."""
    source = plan.source
    return {
        "root": source.root,
        "trust_level": source.trust_level,
        "source_type": source.source_type,
        "device": plan.device,
    }
