"""Waiting until what was written is found: files of sources, as they are on disk now.

A file is fresh when the index knows of it what the disk says, size and time, whatever became
of it: indexed, skipped, gone. What is not is indexed, in its place and by the rules of its
source, all of it in one run; where another process writes, it may have done so first.
"""

# What a model names may be too long for the system: os.path says that it is not there.
# ruff: noqa: PTH110, PTH112, PTH120

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kb_app._ingest.added.placing import allowed_folders, not_allowed, place_in
from kb_app._ingest.seeing.files import inside, path_of
from kb_app._ingest.settings import SourceSpec, source_specs
from kb_app._search.lookup import paths_read
from kb_app.config import Config
from kb_app.paths import environment, from_argument
from kb_core.clock import clamp_ns
from kb_core.errors import InvalidInput, StoreBusy
from kb_core.filters import And, OneOf
from kb_core.ids import enclosing_paths
from kb_core.records import FileState
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot, StoredFile

__all__ = ["MOST_FILES", "Deadline", "SourceFile", "files_named", "wait"]

MOST_FILES = 100
"""How many files one call may wait for."""
_KEPT = "it is not there, and still found: its folder may be away, such as a disk, or ask again"
_GONE = "there is no such file"
_UNKNOWN = f"{_GONE}, and the index knows of none"
_PAUSE_S = 0.1
"""Between two looks at what another process publishes."""


class Deadline(threading.Event):
    """Is set when its time is up, or *stop* is."""

    def __init__(self, seconds: float, stop: threading.Event | None) -> None:
        super().__init__()
        self._until, self._stop = time.monotonic() + seconds, stop

    def is_set(self) -> bool:
        """Say whether it is time to stop."""
        is_told = super().is_set() or (self._stop is not None and self._stop.is_set())
        return is_told or time.monotonic() > self._until


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a source has, or had: where it really is, and what the index calls it."""

    real: str
    source_id: str
    path: str
    refused: str = ""
    """Why its source leaves it alone, if it does."""

    def row(self, snapshot: IndexSnapshot | None) -> StoredFile | None:
        """Return what is known of it."""
        if snapshot is None:
            return None
        where = And((OneOf("source_id", (self.source_id,)), OneOf("path", (self.path,))))
        return next(iter(snapshot.files(where)), None)

    def is_known(self, snapshot: IndexSnapshot | None) -> bool:
        """Say whether there is something of it in the index."""
        row = self.row(snapshot)
        return row is not None and row["state"] != FileState.DELETED.value

    def is_fresh(self, snapshot: IndexSnapshot | None) -> bool:
        """Say whether the index knows of it what the disk says, and has nothing left alone."""
        row = self.row(snapshot)
        if self.refused:
            return row is None or row["state"] != FileState.INDEXED.value
        try:
            found = Path(self.real).stat()
        except OSError:
            return row is None or row["state"] == FileState.DELETED.value
        if row is None or row["state"] == FileState.DELETED.value:
            return False
        return (row["size"], row["mtime_ns"]) == (found.st_size, clamp_ns(found.st_mtime_ns))

    def told(self, snapshot: IndexSnapshot | None) -> StoredFile:
        """Return its row; of what is not fresh, one that says so."""
        row, is_fresh = self.row(snapshot), self.is_fresh(snapshot)
        if row is not None and is_fresh and not self.refused:
            return row
        state, reason = FileState.PENDING.value, "changed"
        detail = "it is not indexed as it is now; ask again, or 'kebab ingest'"
        if self.refused and is_fresh:
            state, reason, detail = FileState.SKIPPED.value, "ignored", self.refused
        elif not os.path.exists(self.real):
            reason, detail = "missing", _KEPT
            if not self.is_known(snapshot):
                state, detail = FileState.DELETED.value, _GONE if row else _UNKNOWN
        known = row or {"size": 0, "mtime_ns": 0}
        names = ("raw_path", "media", "bytes_hash", "fingerprint", "doc_id", "error_code")
        blank = dict.fromkeys((*names, "processed_at", "changed_at"))
        own = {"source_id": self.source_id, "path": self.path}
        said = {"state": state, "reason": reason, "detail": detail}
        return cast("StoredFile", {**blank, **known, **own, **said})


def files_named(
    config: Config, paths: Sequence[str], snapshot: IndexSnapshot | None
) -> list[SourceFile]:
    """Return the files that a model named, as hits print them or absolute.

    Of the files that a relative path may mean, the one that is there, else the one that the
    index knows. ``InvalidInput`` for none or too many, and for a path outside the folders that a
    model may add from, or in no source, in the same words whether there is such a file or not.
    """
    if not 0 < len(paths) <= MOST_FILES:
        raise InvalidInput(
            f"paths: max {MOST_FILES} items" if paths else "there is no file to wait for",
            hint='give at least one, as {"paths": ["notes/a.md"]}',
            details={"field": "paths", "value": len(paths), "max": MOST_FILES},
        )
    specs = source_specs(config, ())
    return [_file_named(config, specs, path, snapshot) for path in paths]


def _file_named(
    config: Config, specs: Sequence[SourceSpec], path: str, snapshot: IndexSnapshot | None
) -> SourceFile:
    meant = [real for real in _meant(specs, path) if _is_allowed(config, real)]
    if not meant:
        raise not_allowed(path)
    there = [real for real in meant if os.path.exists(real)]
    if there and os.path.isdir(there[0]):
        raise InvalidInput(
            f"{path!r} is a folder, and files are waited for",
            hint="name the files in it that you wrote, moved or deleted",
            details={"field": "paths", "value": path},
        )
    files = [file for real in there[:1] or meant if (file := _file_at(specs, real))]
    if not files:
        raise InvalidInput(
            f"{path!r} is in no source",
            hint="ingest_file keeps a copy of a file that is in none",
            details={"field": "paths", "value": path},
        )
    return max(
        files,
        key=lambda file: (file.is_known(snapshot), os.path.isdir(os.path.dirname(file.real))),
    )


def _meant(specs: Sequence[SourceSpec], text: str) -> list[str]:
    """Return which real files *text* may mean: itself, or what has the place that it names.

    Each is in a source, as hits print it, or from here.
    """
    read = [path for each in paths_read(text) for path in reversed(enclosing_paths(each))]
    try:
        tried = [where for path in dict.fromkeys((text, *read)) for where in _tried(specs, path)]
        return [os.path.realpath(where) for where in tried]
    except (OSError, ValueError):
        return []


def _tried(specs: Sequence[SourceSpec], path: str) -> list[Path]:
    here = from_argument(path, environment())
    return [here] if Path(path).is_absolute() else [*(Path(s.root, path) for s in specs), here]


def _is_allowed(config: Config, real: str) -> bool:
    try:
        allowed_folders(config, real, real)
    except InvalidInput:
        return False
    return True


def _file_at(specs: Sequence[SourceSpec], real: str) -> SourceFile | None:
    if place := place_in(specs, real):
        why = place.refused.detail if place.refused and os.path.exists(real) else ""
        below = path_of(place.top, place.below)
        if place.spec.forgotten.has(place.spec.source_id, below, place.spec.root):
            why = "the person had it forgotten"
        return SourceFile(real, place.spec.source_id, below, why)
    for spec in specs:
        if below := inside(real, os.path.realpath(spec.root)) or "":
            return SourceFile(real, spec.source_id, below)
    return None


def wait(
    files: Sequence[SourceFile],
    look: Callable[[], IndexSnapshot | None],
    index: Callable[[Sequence[str], Deadline], None],
    deadline: Deadline,
) -> list[StoredFile]:
    """Return what became of *files* when all are fresh, or the deadline has come.

    The paths of those that are not are given to *index* once, together: who sees one end of a
    move alone takes it for a deletion. A writer that is busy is waited for.
    """
    while (late := _late(files, look())) and not deadline.is_set():
        try:
            index(late, deadline)
            break
        except StoreBusy:
            deadline.wait(_PAUSE_S)
    snapshot = look()
    return [file.told(snapshot) for file in files]


def _late(files: Sequence[SourceFile], snapshot: IndexSnapshot | None) -> list[str]:
    return [file.real for file in files if not file.is_fresh(snapshot)]
