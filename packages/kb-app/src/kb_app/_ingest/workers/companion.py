"""One other process that does tasks beside this one, in the order in which they are handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from kb_app._ingest.workers.executor import frozen
from kb_app._ingest.workers.process import Feeder, Limits, Queues
from kb_app._ingest.workers.worker import Reply, Work
from kb_core import logs

__all__ = ["Companion"]

T = TypeVar("T")
R = TypeVar("R")


class Companion(Generic[T, R]):
    """A process that does *task*; it starts with the first one, and ends with ``close``.

    Tasks may be handed over while what came of those before is taken in another thread. One that
    fails, ends its process or takes longer than *timeout_secs* (0: no limit) comes to ``None``,
    and so does each where no process can be started: who asked does these.
    """

    def __init__(self, task: Callable[[T], R] | str, *, timeout_secs: float = 0) -> None:
        self._work, self._limits = frozen(Work(task)), Limits(timeout_secs or None)
        self._queues = Queues()
        self._feeder: Feeder | None = None
        self._count = 0
        self._is_gone = False
        """Whether no process is to be had any more."""

    @property
    def pid(self) -> int:
        """The id of the process, or 0."""
        return self._feeder.pid if self._feeder is not None else 0

    def __call__(self, tasks: Sequence[T], /) -> Iterator[R | None]:
        """Hand over *tasks*; return what waits for what comes of each, in their order."""
        first, self._count = self._count, self._count + len(tasks)
        for number, task in enumerate(() if self._is_gone else tasks, first):
            self._queues.tasks.put((number, task))
        if tasks and not self._is_gone and self._feeder is None:
            self._feeder = Feeder(self._work, self._queues, self._limits)
            self._feeder.start()
        return map(self._take, range(first, self._count))

    def _take(self, wanted: int) -> R | None:
        while not self._is_gone:
            done = self._queues.done.get()
            if isinstance(done, BaseException):
                self._queues.done.put(done)  # for whoever waits as well
                if not self._is_gone:
                    logs.logger(__name__).warning("nothing is done beside this process: %s", done)
                self._is_gone = True
                break
            number, _, said = done
            if isinstance(said, Reply) and number == wanted:  # of those before, nobody took it
                value: Any = said.value
                return None if said.error else value
        return None

    def close(self) -> None:
        """End the process, whatever it is at, and all waiting; closing twice is harmless."""
        feeder, self._feeder, self._is_gone = self._feeder, None, True
        if feeder is not None:
            feeder.stop()
            self._queues.tasks.put(None)
            feeder.join()
            self._queues.done.put(EOFError("it was ended"))
