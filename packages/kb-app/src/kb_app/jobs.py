"""Jobs: the run that some process is at, and the runs that are over.

``run/job.json`` is what the running one is doing, for other processes to read: replaced
atomically, at most a few times a second, removed at the end. After a kill it stays; its
pid tells that nobody is behind it. What is over is in the published state, and the newest
runs that had nothing to do in ``run/quiet.json``. The store is not asked, so looking at an
ingest does not wait for it.

The other way round, ``run/wishes`` is what searches would like the running job to embed
next: a line of chunk keys for each search, taken before the next batch.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._data_dir import DataDir
from kb_core.values import as_dict, dataclass, field

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = ["JobFile", "Jobs", "PastRun", "RunningJob", "all_seen_at", "jobs", "last_ingest_at"]
__all__ += ["leave_wish", "note_quiet_run", "take_wishes"]

_QUIET_KEPT = 30
_EVERY_SECS = 0.3
_OF_ONE_FILE = frozenset({"doc_path", "phase"})
_WISHES = "wishes"
_WISHES_BYTES = 1 << 16
"""More than a job takes in a minute: what is asked then waits like everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run that ended. Times are seconds since the epoch."""

    kind: str
    """``ingest`` or ``embed``."""
    state: str
    """``completed``, ``aborted``, ``failed`` or ``interrupted``."""
    started_at: int
    finished_at: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """Files by outcome, and ``embedded``."""
    seen: Sequence[str] = ()
    """Sources that it saw all of, where it had nothing to do: else the store says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A run that a living process is at, as it last told."""

    kind: str
    pid: int
    started: str
    """RFC 3339."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its last event, under the names of ``ingest_progress.v1``."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """What is running and what was, newest first."""

    running: RunningJob | None
    past: tuple[PastRun, ...]


def jobs(data_dir: Path, snapshot: IndexSnapshot | None) -> Jobs:
    """Return the jobs of the knowledge base in *data_dir*."""
    data = DataDir(data_dir)
    rows = snapshot.control.stats.get("runs", ()) if snapshot else ()
    past = [*_quiet_runs(data), *(PastRun(**row) for row in rows)]
    past.sort(key=lambda run: run.started_at, reverse=True)
    return Jobs(_running(data.job), tuple(past[: max(len(rows), _QUIET_KEPT)]))


def note_quiet_run(data: DataDir, run: PastRun) -> None:
    """Add a run that had nothing to do to those that are over."""
    kept = [run, *_quiet_runs(data)][:_QUIET_KEPT]
    new = data.quiet_runs.with_name(f"{data.quiet_runs.name}.{os.getpid()}")
    new.write_text(json.dumps([as_dict(one) for one in kept]), "utf-8")
    new.chmod(0o600)
    new.replace(data.quiet_runs)


def last_ingest_at(data_dir: Path, stats: Mapping[str, Any]) -> int | None:
    """Return when the last ingest ended, by the published *stats* or after them."""
    ends = [stats.get("last_ingest_at"), *(r.finished_at for r in _quiet_runs(DataDir(data_dir)))]
    return max((end for end in ends if end is not None), default=None)


def all_seen_at(
    data_dir: Path, sources: Mapping[str, Mapping[str, Any]], ids: Iterable[str]
) -> int | None:
    """Return until when runs have seen all of these sources; ``None`` where one was never seen.

    *sources* are the published ones: with what a run changed, they say when it began.
    """
    quiet = _quiet_runs(DataDir(data_dir))

    def last(source_id: str) -> int:
        starts = [run.started_at for run in quiet if source_id in run.seen]
        return max(sources.get(source_id, {}).get("verified_at") or 0, 0, *starts)

    return min(map(last, ids), default=0) or None


def leave_wish(data: DataDir, chunk_keys: Sequence[int]) -> None:
    """Ask the job that is running, if one is, to embed these passages next.

    What cannot be written is not asked for: they are embedded anyway, later.
    """
    if not chunk_keys or _running(data.job) is None:
        return
    line = " ".join(map(str, chunk_keys)).encode() + b"\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with suppress(OSError):
        descriptor = os.open(data.wishes, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size < _WISHES_BYTES:
                os.write(descriptor, line)  # appended whole: others write, too
        finally:
            os.close(descriptor)


def take_wishes(data: DataDir) -> list[int]:
    """Return the chunk keys that were asked for since the last time, the newest search first."""
    taken = data.wishes.with_name(f"{_WISHES}.{os.getpid()}")
    try:
        data.wishes.replace(taken)
        lines = taken.read_bytes().splitlines()
        taken.unlink()
    except OSError:
        return []
    keys = (key for line in reversed(lines) for key in line.split() if key.isdigit())
    return list(dict.fromkeys(map(int, keys)))


def _quiet_runs(data: DataDir) -> list[PastRun]:
    try:
        return [PastRun(**row) for row in json.loads(data.quiet_runs.read_bytes())]
    except (OSError, ValueError, TypeError):
        return []


def _running(path: Path) -> RunningJob | None:
    """Return the job of the file, unless its process is gone: a kill leaves the file."""
    try:
        told = json.loads(path.read_text("utf-8"))
        job = RunningJob(
            kind=str(told.pop("kind")),
            pid=int(told.pop("pid")),
            started=str(told.pop("started")),
            told=told,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return job if _is_alive(job.pid) else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:  # alive, and somebody else's
        return True
    except (OSError, OverflowError):
        return False
    return True


class JobFile:
    """Writes the state of one job."""

    def __init__(self, path: Path, kind: str, started: str) -> None:
        self._path = path
        self._state: dict[str, Any] = {"kind": kind, "pid": os.getpid(), "started": started}
        self._written = 0.0
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.update({}, now=True)

    def update(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Take in *state*, and write the file if it was not written just now.

        Amounts stay until others come; what is said of one file is over with the event.
        """
        kept = {name: value for name, value in self._state.items() if name not in _OF_ONE_FILE}
        self._state = {**kept, **state}
        if not now and time.monotonic() - self._written < _EVERY_SECS:
            return
        self._written = time.monotonic()
        temporary = self._path.with_name(f"job.{os.getpid()}.tmp")
        temporary.write_text(json.dumps(self._state), "utf-8")
        temporary.replace(self._path)

    def remove(self) -> None:
        """The job is over, and what was asked of it."""
        self._path.unlink(missing_ok=True)
        self._path.with_name(_WISHES).unlink(missing_ok=True)
