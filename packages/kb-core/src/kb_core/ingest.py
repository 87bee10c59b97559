"""Ingest: what is asked for, what happens, what came of it.

Long work yields events and ends with a report; closing the generator cancels.
Counters of a report derive from its items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_core.values import dataclass, field

if TYPE_CHECKING:
    from kb_core.search import Sampling

__all__ = [
    "IngestEvent",
    "IngestItem",
    "IngestOptions",
    "IngestReport",
    "ItemKind",
    "Left",
    "Looked",
    "Mark",
    "SkipReason",
    "Sought",
]

Sought: TypeAlias = "str | Sequence[Sequence[str]]"
"""A question; or literals, of each list of which a text needs one, in whichever case."""


class ItemKind(StrEnum):
    """What became of one file in one run."""

    NEW = "new"
    UPDATED = "updated"
    MOVED = "moved"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    DELETED = "deleted"
    ERROR = "error"


class SkipReason(StrEnum):
    """Why a file was not indexed; ``missing_extra`` is followed by ``:`` and its name."""

    IGNORED = "ignored"
    FORGOTTEN = "forgotten"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    GENERATED = "generated"
    BINARY = "binary"
    EMPTY = "empty"
    MISSING_EXTRA = "missing_extra"
    UNREADABLE = "unreadable"
    ENCRYPTED = "encrypted"
    SECRET_SUSPECTED = "secret_suspected"  # noqa: S105 - a reason, not a password


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """What one run shall do."""

    paths: tuple[str, ...] = ()
    """Absolute files or folders inside known sources; none means everything."""
    force: bool = False
    dry_run: bool = False
    embed: bool = True
    retry_failed: bool = False
    allow_empty: bool = False
    summary_only: bool = False
    without: tuple[str, ...] = ()
    """Later phases that are left for another run; what waits for them goes on waiting."""
    is_first_look: bool = False
    """Nobody sees anything before its end, so that it is published in as few steps as can be."""
    sought: Sought | None = None
    """What waits for the end: of new texts, those which promise most for a question are read, up
    to ``sought_bytes`` of them (0 for none), or those that lack no literal; others are left for
    another run."""
    sought_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestItem:
    """One file's outcome."""

    kind: ItemKind
    source_id: str
    doc_path: str
    doc_id: str | None = None
    media: str | None = None
    byte_len: int | None = None
    chunk_count: int | None = None
    enclosed_count: int | None = None
    """How many documents within the file were indexed, if any."""
    parser_version: str | None = None
    chunker_version: str | None = None
    reason: str | None = None
    moved_from: str | None = None
    warnings: tuple[str, ...] = ()
    error: Mapping[str, Any] | None = None
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestEvent:
    """One thing that happened; ``kind`` is one of ``ingest_progress.v1``."""

    kind: str
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON values under the names of ``ingest_progress.v1``; ``item`` is an ``IngestItem``."""
    report: IngestReport | None = None
    """With ``completed`` and ``aborted``, which are always last, and only with them."""
    looked: Looked | None = None
    """That of the report, with a ``committed`` after which nothing changes what readers see."""


Mark: TypeAlias = tuple[int, int, int, int]
"""Of a file or folder: when it was modified and changed, in nanoseconds, its size, its inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How all was that walks looked at, before any of it was read."""

    marks: Mapping[str, Mark | None] = field(default_factory=dict)
    """By paths on disk, those of folders with a slash; none of a tree that is too large."""
    has_links: bool = False
    """Whether there are links, so that what is at one path may depend on others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a run for a question left for another one: files, and how many hold words of it."""

    files: int = 0
    promising: int = 0
    sampling: Sampling | None = None
    """What all texts are to those that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What a run did, counted."""

    scope: Mapping[str, Any]
    items: tuple[IngestItem, ...] | None
    counts: Mapping[str, int]
    scanned: int
    duration_ms: int
    left: Left = field(default_factory=Left)
    """What a run for a question left for another one."""
    looked: Looked = field(default_factory=Looked)
    aborted: bool = False
    corpus_revision: int = 0
    embedded: int = 0
    embeddings_missing: int = 0
    skipped_by_reason: Mapping[str, int] = field(default_factory=dict)
    skipped_by_extension: Mapping[str, int] = field(default_factory=dict)
    skip_examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slowest: tuple[Mapping[str, Any], ...] = ()
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    expected: tuple[Mapping[str, Any], ...] = ()
    """Of a dry run: what would be read, by medium, and about how long that takes."""
