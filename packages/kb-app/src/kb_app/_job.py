"""``run/job.json``: what the running job is doing, for other processes to read.

Replaced atomically, at most a few times a second, removed when the job ends. After a
kill it stays; its pid tells that nobody is behind it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["JobFile"]

_EVERY_SECS = 0.3
_OF_ONE_FILE = frozenset({"doc_path", "phase"})


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
        """The job is over."""
        self._path.unlink(missing_ok=True)
