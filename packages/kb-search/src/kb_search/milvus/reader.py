"""Reading the index on Milvus: snapshots of the published state, from any machine.

Before each question the newest control row is read; when it has changed, a new snapshot
begins. Nothing is written, no lock is taken, and no file is needed.
"""

from __future__ import annotations

import threading

from kb_core.errors import IoError
from kb_search.milvus import Place
from kb_search.milvus.engine import Engine
from kb_search.milvus.snapshot import Snapshot
from kb_search.milvus.state import read_newest, state_of

__all__ = ["Reader"]

_TRIES = 20


class Reader:
    """An ``IndexReader`` of the index at a place."""

    def __init__(self, place: Place) -> None:
        self._engine = Engine(place)
        self._base = place.collection
        self._lock = threading.Lock()
        self._told = ""
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """Return the newest published state; raise ``NotIndexed`` if there is none."""
        with self._lock:
            for _ in range(_TRIES):
                term, told = read_newest(self._engine, self._base)
                if self._snapshot is not None and told == self._told:
                    return self._snapshot
                state = state_of(self._engine, self._base, term, told)
                if state is not None:
                    self._told = told
                    self._snapshot = Snapshot(self._engine, self._base, state)
                    return self._snapshot
        raise IoError(f"the control row of {self._base!r} changes faster than it can be read")

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._snapshot = None
            self._engine.close()
