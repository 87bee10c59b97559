"""A thread that feeds one child of ``executor``, and replaces it when it dies.

Tasks and what came of them go through two queues, which all feeders of an executor share. A
task that ends its child, or exceeds its time, gets a reply that says so; only a child
that does not even start ends the run.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from kb_app._ingest.child import Child, ChildDied, ChildTimedOut
from kb_app._ingest.worker import Phase, Reply, error_of
from kb_core.errors import KbError

__all__ = ["Done", "Feeder", "Queues"]

Done: TypeAlias = tuple[int, Any, Reply | Phase]
"""A task's number, the task, and what came of it, or what it is at."""

_START_SECS = 120.0
"""How long a child may take to import what its ``init`` needs, on a cold disk."""


class Queues:
    """What an executor and its feeders share; no two runs that were given up share any."""

    __slots__ = ("done", "tasks")

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[int, Any] | None] = SimpleQueue()
        self.done: SimpleQueue[Done | BaseException] = SimpleQueue()


class Feeder(Thread):
    """One child's thread; it starts the child at the first task."""

    def __init__(self, work: bytes, queues: Queues, timeout: float | None) -> None:
        super().__init__(name="kebab-worker", daemon=True)
        self._work = work
        self._queues = queues
        self._timeout = timeout
        self._child: Child | None = None
        self._is_stopped = False

    @property
    def pid(self) -> int:
        """The child's process id, or 0."""
        child = self._child
        return child.pid if child is not None else 0

    def run(self) -> None:
        try:
            while (item := self._queues.tasks.get()) is not None:
                index, task = item
                for said in self._answers(task):
                    if self._is_stopped:
                        return
                    self._queues.done.put((index, task, said))
        except BaseException as error:  # noqa: BLE001 - who iterates the run has to hear of it
            if not self._is_stopped:
                self._queues.done.put(error)
        finally:
            self._drop_child()

    def stop(self) -> None:
        """End the child; the thread notices, and ends too."""
        self._is_stopped = True
        child = self._child
        if child is not None:
            child.kill()

    def _answers(self, task: object) -> Iterator[Reply | Phase]:
        """Yield the phases of the task, the first without a name, and its reply."""
        yield Phase()
        try:
            frame = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001 - whatever a task's own pickling raises
            yield Reply(error=error_of(error))
            return
        said: Reply | Phase = Phase()
        answers = self._living_child().ask(frame, self._timeout)
        while not isinstance(said, Reply):
            try:
                said = _unpickled(next(answers))
            except (ChildDied, ChildTimedOut) as error:
                lost = _lost(error)
                said = Reply(error=lost, seconds=getattr(error, "seconds", 0.0), is_last=True)
            if isinstance(said, Reply) and said.is_last:
                self._drop_child()
            yield said

    def _living_child(self) -> Child:
        if self._child is not None:
            return self._child
        self._child = child = Child()
        if self._is_stopped:
            child.kill()  # `stop` may have come before there was a child to kill
        try:
            answer = next(child.ask(self._work, _START_SECS))
        except (ChildDied, ChildTimedOut) as error:
            raise KbError(f"a worker process did not start: {error}") from error
        ready: Reply = pickle.loads(answer)  # noqa: S301 - our child wrote it
        if ready.error is not None:
            raise KbError(f"a worker process did not start: {ready.error['message']}")
        return child

    def _drop_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()


def _unpickled(answer: bytearray) -> Reply | Phase:
    try:
        said: Reply | Phase = pickle.loads(answer)  # noqa: S301 - our child wrote it
    except Exception as error:  # noqa: BLE001 - whatever a value's own unpickling raises
        return Reply(error=error_of(error))
    return said


def _lost(error: ChildDied | ChildTimedOut) -> dict[str, Any]:
    is_timeout = isinstance(error, ChildTimedOut)
    return {
        "code": "timeout" if is_timeout else "internal",
        "message": str(error),
        "hint": None,
        "details": {"kind": "timeout" if is_timeout else "crash"},
    }
