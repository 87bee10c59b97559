"""The side of a node: an actor, which has one worker process and hands it one task after another.

The process is that of ``workers.process``, so whatever crashes, hangs or eats memory is one
task's error here, too. It starts with the first task, and dies with the actor, which dies
with its node. Ray is not imported.
"""

from __future__ import annotations

import pickle
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty

from kb_app._ingest.workers.process import Done, Feeder, Frame, Limits, Queues
from kb_app._ingest.workers.worker import Reply

__all__ = ["Actor", "Said", "Versions"]

Said = tuple[int, bytes]
"""A task's number, and what was said of it, pickled: a ``Reply`` or a ``Phase``."""
Versions = Callable[[], Mapping[str, str]]
"""What is installed where it is called, of all that has to be the same everywhere."""

_PATIENCE_SECS = 2.0
"""How long to wait for a word before saying that there is none."""
_GATHER_SECS = 0.1
"""How long words are gathered, so that tasks of a moment do not each cost a call."""


class Actor:
    """Does tasks; called by one driver, with one call at a time."""

    def __init__(self, work: bytes, limits: Limits) -> None:
        self._work = work
        self._limits = limits
        self._queues = Queues()
        self._left = 0
        self._has_begun = False

    def hello(self, versions: Versions) -> tuple[str, Mapping[str, str]]:
        """Return the name of this machine, and what is installed here."""
        return platform.node(), versions()

    def exchange(self, tasks: Sequence[tuple[int, bytes]]) -> list[Said]:
        """Take *tasks*, pickled, and return what was said since the last call; perhaps nothing.

        Raises ``KbError`` where the process does not even start.
        """
        for index, task in tasks:
            self._queues.tasks.put((index, Frame(task)))
        self._left += len(tasks)
        if tasks and not self._has_begun:
            self._has_begun = True
            Feeder(self._work, self._queues, self._limits).start()
        said: list[Said] = []
        until = time.monotonic() + _PATIENCE_SECS
        with suppress(Empty):
            while self._left:
                index, _, word = self._next(until - time.monotonic())
                self._left -= isinstance(word, Reply)
                said.append((index, pickle.dumps(word, pickle.HIGHEST_PROTOCOL)))
                if len(said) == 1:
                    until = time.monotonic() + _GATHER_SECS
        return said

    def _next(self, seconds: float) -> Done:
        done = self._queues.done.get(timeout=max(0.0, seconds))
        if isinstance(done, BaseException):
            raise done
        return done
