"""What a run has to do, decided before anything is opened: the walk beside the ledger.

Pure but for the walk itself. A file whose size, time and settings are those of the
ledger is not read; a file that is gone is told apart from one that could not be seen.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kb_app._ingest.judging.kinds import Kind, Skip, check_medium, check_size, detect
from kb_app._ingest.judging.secrets import check_secret_name
from kb_app._ingest.seeing.repository import Checkouts
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
from kb_core.ingest import IngestItem, IngestOptions, ItemKind, Looked, SkipReason
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
    """Where the source is: what lies at its root on another one may be something else."""
    mounts: Mapping[str, int] = field(default_factory=dict)
    """Folders in it that are on devices of their own: one that is empty now may be away."""
    repos: Mapping[str, str] | None = None
    """The repositories that its folders are; ``None`` where that is not known."""
    folders: set[str] = field(default_factory=set)
    """Absolute paths of the folders that the walk looked into."""
    looked: Looked = field(default_factory=Looked)
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
            known.sources.get(source.source_id, {}),
        )


def _make_plan(
    source: SourceSpec,
    walked: Walk,
    ledger: Mapping[str, FileRecord],
    settings: Settings,
    options: IngestOptions,
    before: Mapping[str, Any],
) -> Plan:
    """Walk *source* and compare with its ledger."""
    plan = Plan(source)
    seen: set[str] = set()
    checkouts = Checkouts(source.root, walked.checkouts, before.get("repos"))
    for found in walked:
        seen.add(found.path)
        known = ledger.get(found.path)
        if known is not None and known.doc_id and checkouts.is_other(found.path):
            known = replace(known, fingerprint=None)  # so that it is made again
        _consider(plan, found, known, settings, options)
    plan.warnings += [f"source {source.source_id!r}: {each}" for each in walked.unread_rules]
    for path in source.narrow:
        if not _is_known(path, source, walked, (ledger, seen)):
            told = f"there is no {path!r}, and the index knows of none"
            plan.warnings.append(f"source {source.source_id!r}: {told}")
    there = [row for row in ledger.values() if _counts(row)]
    missing = [row for row in there if row.path not in seen]
    lost = _Lost(len(missing), _documents(missing), _documents(there), is_all=not seen)
    plan.device = _device(plan, walked, lost, before.get("device"), options)
    away = [] if options.allow_empty else _away(walked, seen, before.get("mounts", {}))
    if _may_sweep(plan, walked, lost, before.get("device"), options):
        _sweep(plan, walked, missing, away)
    mounts = before.get("mounts", {}).items()
    plan.mounts = {p: d for p, d in mounts if source.narrow or p in away} | walked.mounts
    is_whole = walked.root_exists and not source.narrow
    plan.repos = checkouts.names if is_whole else checkouts.names_in_part
    plan.verified = is_whole
    plan.folders = walked.folders
    plan.looked = Looked(marks=walked.marks, has_links=walked.has_links)
    return plan


def _is_known(
    path: str, source: SourceSpec, walked: Walk, known: Iterable[Collection[str]]
) -> bool:
    """Say whether there is a *path* that a run was narrowed to, or was, or that cannot be told."""
    if walked.fate_of(path) != "gone" or os.path.lexists(f"{source.root}/{path}"):
        return True
    below = f"{path}/"
    return any(path in paths or any(each.startswith(below) for each in paths) for paths in known)


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
    if plan.source.forgotten.has(plan.source.source_id, found.path, plan.source.root):
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
    if options.force or known is None or not _is_current(plan, want, known, settings):
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


def _is_current(plan: Plan, want: Wanted, known: FileRecord, settings: Settings) -> bool:
    file = want.file
    # A name may have been normalised on disk, where it is other bytes and in here the same path.
    same = (file.size, file.mtime_ns, want.raw_path) == (known.size, known.mtime_ns, known.raw_path)
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


class _Lost(NamedTuple):
    """How many files of a source a walk did not see, how many documents, and of how many."""

    files: int
    documents: int
    of: int
    is_all: bool
    """It saw nothing else, either."""


def _documents(rows: Iterable[FileRecord]) -> int:
    return sum(row.state in {FileState.INDEXED, FileState.PENDING} for row in rows)


def _device(
    plan: Plan, walked: Walk, lost: _Lost, before: int | None, options: IngestOptions
) -> int:
    """Return the device that the source is on from now on.

    A disk may be called otherwise after each start of the machine, and what is at the place of
    one that is away may not be taken for it: there, most documents are missing.
    """
    if not before or (options.allow_empty and walked.root_exists):
        return walked.device
    is_known = not lost.documents or lost.documents * 2 < lost.of
    is_it = walked.root_exists and not plan.source.narrow and is_known
    return walked.device if is_it else before


def _may_sweep(
    plan: Plan, walked: Walk, lost: _Lost, device_before: int | None, options: IngestOptions
) -> bool:
    """Say whether what was not seen may be gone (ruling R8); warn where it may not."""
    source, problem = plan.source, None
    unless = f"without {_believing(plan)!r}"
    is_elsewhere = device_before and walked.device != device_before
    is_elsewhere = is_elsewhere and lost.files and not options.allow_empty
    if not walked.root_exists:
        problem = f"{source.root} cannot be read; what was indexed is kept"
    elif is_elsewhere and plan.device == device_before and not source.narrow:
        problem = (
            f"{source.root} is on another device now, and {lost.documents} of {lost.of} documents "
            f"are not there; nothing is removed {unless}"
        )
    elif is_elsewhere:
        problem = f"{source.root} is on another device now; nothing is removed"
    elif lost.documents and lost.is_all and not (options.allow_empty or source.narrow):
        problem = (
            f"nothing is in {source.root}, where {lost.documents} documents were; "
            f"nothing is removed {unless}"
        )
    if problem:
        plan.warnings.append(f"source {source.source_id!r}: {problem}")
    return problem is None


def _believing(plan: Plan) -> str:
    """Return the command that takes what was not seen of this source as gone, and of no other."""
    return f"kebab ingest {shlex.quote(plan.source.root)} --allow-empty"


def _away(walked: Walk, seen: Collection[str], before: Collection[str]) -> list[str]:
    """Return which folders were on devices of their own *before*, and now hold nothing."""
    listed, mounts, dangling = walked.listed, walked.mounts, walked.dangling
    bare = [p for p in before if p in dangling or (p in listed and p not in mounts)]
    return [path for path in bare if not any(each.startswith(f"{path}/") for each in seen)]


def _sweep(plan: Plan, walked: Walk, missing: Sequence[FileRecord], away: Sequence[str]) -> None:
    source = plan.source
    for folder in away:
        kept = [row for row in missing if row.path.startswith(f"{folder}/")]
        missing = [row for row in missing if not row.path.startswith(f"{folder}/")]
        if documents := _documents(kept):
            plan.warnings.append(
                f"source {source.source_id!r}: nothing is at {source.root}/{folder}, where another "
                f"disk was with {documents} documents; they are not removed without "
                f"{_believing(plan)!r}"
            )
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
        **({"mounts": dict(plan.mounts)} if plan.mounts else {}),
        **({"repos": dict(plan.repos)} if plan.repos is not None else {}),
    }
