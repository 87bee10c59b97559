"""A look at a folder before it is a source: what would be read, what is left alone, and why.

Names, sizes and times are all that is looked at; only files of ignore rules are opened. So
files whose names say nothing count as ``unknown``, and what only bytes tell (binary,
generated, a secret in a text) is not among what is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from typing import Any

from kb_app._ingest.judging.kinds import detect
from kb_app._ingest.plan import judge_unread
from kb_app._ingest.seeing.walk import Seen, walk
from kb_app._ingest.settings import UNKNOWN, Settings, SourceSpec
from kb_core.ingest import SkipReason

__all__ = ["Amount", "amount", "preview"]

_MOST = 200_000
"""Entries after which a preview says what it has seen, and that it is not complete."""
_LARGEST = 5
_WITH_DETAIL = {SkipReason.IGNORED, SkipReason.UNSUPPORTED, SkipReason.SECRET_SUSPECTED}
"""Reasons whose detail is the same for many files."""


@dataclass(slots=True)
class _Left:
    """Entries that are left alone for one reason."""

    example: str
    files: int = 0
    folders: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _Taken:
    """Files that would be read."""

    files: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    sizes: list[tuple[int, str]] = field(default_factory=list)


def preview(
    root: str,
    settings: Settings,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
) -> dict[str, Any]:
    """Return what an ingest of *root* would read, by kind, and what it would leave, by reason."""
    found = walk(root, source_id="", include=include, exclude=exclude, follow_links=follow_links)
    entries = iter(found)
    taken, left = _sorted_out(islice(entries, _MOST), settings)
    return {
        "root": root,
        "files": taken.files.total(),
        "bytes": taken.bytes.total(),
        "kinds": [
            {"media": kind[0], "code_lang": kind[1], "files": files, "bytes": taken.bytes[kind]}
            for kind, files in taken.files.most_common()
        ],
        "largest": [
            {"path": path, "bytes": size} for size, path in nlargest(_LARGEST, taken.sizes)
        ],
        "left_alone": [
            {
                "reason": reason,
                "detail": detail,
                "files": row.files,
                "folders": row.folders,
                "bytes": row.bytes,
                "example": row.example,
            }
            for (reason, detail), row in sorted(
                left.items(), key=lambda item: -(item[1].files + item[1].folders)
            )
        ],
        "complete": next(entries, None) is None,
    }


@dataclass(slots=True)
class Amount:
    """What an ingest would read, or what of it was counted."""

    files: int = 0
    bytes: int = 0
    is_complete: bool = True


def amount(
    sources: Sequence[SourceSpec], settings: Settings, most_files: int, most_bytes: int
) -> Amount:
    """Count what an ingest of *sources* would read; not on beyond so many files, or bytes."""
    found, entries = Amount(), 0
    for source in sources:
        for seen in walk(source.root, source_id="", include=source.include, exclude=source.exclude):
            entries += 1
            kind = None if seen.is_folder else detect(seen.path)
            if seen.reason or judge_unread(seen.path, seen.size, kind, settings):
                continue
            found.files += 1
            found.bytes += seen.size
            if found.files > most_files or found.bytes > most_bytes or entries > _MOST:
                found.is_complete = False
                return found
    return found


def _sorted_out(
    entries: Iterable[Seen], settings: Settings
) -> tuple[_Taken, dict[tuple[str, str | None], _Left]]:
    taken = _Taken()
    left: dict[tuple[str, str | None], _Left] = {}
    for seen in entries:
        kind = None if seen.is_folder else detect(seen.path)
        reason, detail = seen.reason, seen.detail
        if reason is None and (skip := judge_unread(seen.path, seen.size, kind, settings)):
            reason, detail = SkipReason(skip.reason.partition(":")[0]), skip.detail
        if reason is None:
            key = (kind.media.value, kind.code_lang) if kind else (UNKNOWN, None)
            taken.files[key] += 1
            taken.bytes[key] += seen.size
            taken.sizes.append((seen.size, seen.path))
            continue
        why = (reason.value, detail if reason in _WITH_DETAIL else None)
        row = left.setdefault(why, _Left(seen.path))
        row.files += not seen.is_folder
        row.folders += seen.is_folder
        row.bytes += seen.size
    return taken, left
