"""Jobs: the run that some process is at, and the runs that are over.

Read from the published state and from ``run/job.json``, never from the store, so that
looking at an ingest does not wait for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._data_dir import DataDir

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = ["Jobs", "PastRun", "RunningJob", "jobs"]


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
    rows = snapshot.control.stats.get("runs", ()) if snapshot else ()
    return Jobs(_running(DataDir(data_dir).job), tuple(PastRun(**row) for row in rows))


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
