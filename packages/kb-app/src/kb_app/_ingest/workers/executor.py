"""Executors: tasks are done in this process, or in others that may crash, hang or eat memory.

Worker processes are fresh interpreters, not forks, so they are safe beside the threads of
other libraries. They start when there are tasks for them, last until ``close``, but for one
that may be kept as a spare, and die with this process. A thread for each feeds it, so that they
work while the caller does; tasks are taken from the iterable only in the caller's thread.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from queue import Empty
from typing import Any, Generic, TypeVar

from kb_app._ingest.workers.process import Done, Feeder, Limits, Queues, Spare
from kb_app._ingest.workers.worker import Phase, Reply, Work, error_of, hearing, resolve
from kb_core.execution import Notice, Outcome

__all__ = ["InlineExecutor", "ProcessExecutor", "frozen", "outcomes_of", "told"]

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 3
"""Tasks per worker that are taken before the caller has consumed the outcome of the first."""
_AHEAD_SECS, _MOST_AHEAD, _MOST_WEIGHT = 2.0, 100, 16 << 20
"""Where tasks are weighed, more are taken: as many as each worker does in that time, in which the
caller may be busy with what it has, up to so many for each, and to such a weight of all."""
_RECENT = 25
_LOOK_SECS = 0.5
_SHORTEST_SECS = 1e-4


class InlineExecutor(Generic[T, R]):
    """Does tasks in this process, one after another; without limits, and a crash is a crash."""

    def __init__(
        self, task: Callable[[T], R] | str, *, init: Callable[[], object] | str | None = None
    ) -> None:
        self._work = Work(task, init)
        self._task: Callable[[T], R] | None = None

    def run(self, tasks: Iterable[T], /) -> Iterator[Outcome[T, R]]:
        return outcomes_of(self.follow(tasks))

    def follow(self, tasks: Iterable[T], /) -> Generator[Outcome[T, R] | Notice[T]]:
        """As ``run``; what a task says is told when it has ended: it is this thread's."""
        for index, task in enumerate(tasks):
            if self._task is None:
                self._task = resolve(self._work.task)
                if self._work.init is not None:
                    resolve(self._work.init)()
            yield Notice(index, task)
            said: list[Phase] = []
            listening = hearing.set(said.append)
            try:
                outcome = Outcome(index, task, self._task(task))
            except Exception as error:  # noqa: BLE001 - any exception is the task's outcome
                outcome = Outcome(index, task, error=error_of(error))
            finally:
                hearing.reset(listening)
            yield from (told((index, task, phase)) for phase in said)
            yield outcome

    def close(self) -> None:
        """Do nothing; there is nothing that goes on."""


class ProcessExecutor(Generic[T, R]):
    """Does tasks in child processes.

    *task* and *init* are functions that can be imported by name, or ``"module:function"``;
    *init* runs once in each child. A task that takes longer than *timeout_secs* (0: no
    limit), or needs more processor time than *cpu_secs*, both counted anew whenever it says
    how far it is, is ended with its child, which is replaced. *memory_mb* limits each child's
    address space. Tasks and values have to be picklable.

    A few tasks are taken ahead for each worker. Where *weigh* tells what keeping a task and its
    value may take, in bytes, more are, so that workers go on while the caller publishes.

    With *worth_secs*, one worker begins, and another joins where what is left of the
    *expected* tasks takes longer than that, since each has to load all that it needs.

    A child that is idle at the end goes to the *spare*, and the first one comes from there.
    """

    def __init__(  # noqa: PLR0913 - each is a limit of its own
        self,
        task: Callable[[T], R] | str,
        *,
        workers: int,
        init: Callable[[], object] | str | None = None,
        timeout_secs: float = 0,
        cpu_secs: float = 0,
        memory_mb: int = 0,
        ahead: int = _AHEAD,
        weigh: Callable[[T], int] | None = None,
        expected: int = 0,
        worth_secs: float = 0,
        spare: Spare | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}; expected at least 1")
        self._work = frozen(Work(task, init, memory_mb, cpu_secs))
        self._limits = Limits(timeout_secs or None, cpu_secs, memory_mb)
        self._workers = workers
        self._ahead = ahead
        self._weigh = weigh
        self._spare = spare
        self._pace = _Pace(expected, worth_secs)
        self._feeders: list[Feeder] = []
        self._queues = Queues()
        self._current: object = None
        """The run that is going on."""

    def __enter__(self) -> ProcessExecutor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """Process ids of the children that live now."""
        return [feeder.pid for feeder in self._feeders if feeder.pid]

    def run(self, tasks: Iterable[T], /) -> Generator[Outcome[T, R]]:
        return outcomes_of(self.follow(tasks))

    def follow(self, tasks: Iterable[T], /) -> Generator[Outcome[T, R] | Notice[T]]:
        """As the port has it; the first task is begun before anything is asked for."""
        if self._current is not None:
            raise RuntimeError("this executor is running already; finish or close that run first")
        numbered = enumerate(tasks)
        first = next(numbered, None)
        self._current = object()
        if first is not None:
            self._submit(*first, 0)
        return self._followed(first, numbered)

    def _followed(
        self, first: tuple[int, T] | None, rest: Iterator[tuple[int, T]]
    ) -> Generator[Outcome[T, R] | Notice[T]]:
        this_run, queues, under_way, weight = self._current, self._queues, 0, 0
        weigh = self._weigh or _nothing
        try:
            for index, task in () if first is None else chain([first], rest):
                if under_way or index:
                    self._submit(index, task, under_way)
                under_way += 1
                weight += weigh(task)
                while done := self._take(queues, wait=self._is_enough(under_way, weight)):
                    one = told(done)
                    if isinstance(one, Outcome):
                        under_way -= 1
                        weight -= weigh(one.task)
                    yield one
            while under_way and (done := self._take(queues, wait=True)):
                one = told(done)
                under_way -= isinstance(one, Outcome)
                yield one
        finally:
            if self._current is this_run:
                self._current = None
                if under_way:
                    self.close()

    def close(self) -> None:
        feeders, self._feeders = self._feeders, []
        queues, self._queues = self._queues, Queues()
        is_idle, self._current = self._current is None, None
        for feeder in feeders:
            if self._spare is None or not is_idle:
                feeder.stop()
            queues.tasks.put(None)
        for feeder in feeders:
            feeder.join()
        queues.done.put(RuntimeError("this executor was closed while it ran"))

    def _is_enough(self, under_way: int, weight: int) -> bool:
        """Say whether no more tasks are to be taken before one of those under way is done."""
        least = self._workers * self._ahead
        if under_way < least:
            return False
        if self._weigh is None or weight > _MOST_WEIGHT:
            return True
        each = min(_MOST_AHEAD, self._pace.done_in(_AHEAD_SECS))
        return under_way >= max(least, each * len(self._feeders))

    def _submit(self, index: int, task: T, under_way: int) -> None:
        self._queues.tasks.put((index, task))
        if not self._feeders or (len(self._feeders) <= under_way and self._may_grow()):
            self._grow()

    def _may_grow(self) -> bool:
        return len(self._feeders) < self._workers and self._pace.pays(len(self._feeders))

    def _grow(self) -> None:
        feeder = Feeder(self._work, self._queues, self._limits, self._spare)
        self._feeders.append(feeder)
        feeder.start()

    def _take(self, queues: Queues, *, wait: bool) -> Done | None:
        while True:
            may_grow = wait and 0 < len(self._feeders) < self._workers
            try:
                done = queues.done.get(block=wait, timeout=_LOOK_SECS if may_grow else None)
            except Empty:
                if not wait:
                    return None
                if queues.tasks.qsize() and self._may_grow():
                    self._grow()  # what waits behind a slow one
                continue
            if isinstance(done, BaseException):
                raise done
            self._pace.note(done[2])
            return done


class _Pace:
    """Says whether one worker more pays, by how long tasks took so far."""

    def __init__(self, expected: int, worth_secs: float) -> None:
        self._left = expected
        self._worth = worth_secs
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._heard = time.monotonic()

    def note(self, said: Reply | Phase) -> None:
        """Take in what a worker said."""
        self._heard = time.monotonic()
        if isinstance(said, Reply):
            self._left -= 1
            self._recent.append(said.seconds)

    def pays(self, workers: int) -> bool:
        """Say so where the rest takes *workers* too long, or a task holds up the others."""
        if not self._worth or time.monotonic() - self._heard > self._worth:
            return True
        return self._usual() * self._left > self._worth * workers

    def done_in(self, seconds: float) -> int:
        """Return how many tasks a worker did in that time, lately; 0 before any is done."""
        return int(seconds / max(self._usual(), _SHORTEST_SECS)) if self._recent else 0

    def _usual(self) -> float:
        # Not the mean: the first ones load what all of them need.
        # Nor the module of medians: it brings fractions and decimals along.
        return sorted(self._recent)[len(self._recent) // 2] if self._recent else 0.0


def _nothing(_: object) -> int:
    return 0


def outcomes_of(following: Generator[Outcome[T, R] | Notice[T]]) -> Generator[Outcome[T, R]]:
    """Yield what ``follow`` does, but for the notices."""
    with closing(following):
        for one in following:
            if isinstance(one, Outcome):
                yield one


def told(done: Done) -> Outcome[Any, Any] | Notice[Any]:
    """Return what a worker said of a task as the port has it."""
    index, task, said = done
    if isinstance(said, Reply):
        return Outcome(index, task, said.value, said.error, said.seconds)
    return Notice(index, task, said.name, said.reached, said.whole)


def frozen(work: Work) -> bytes:
    """Return *work* as another process is told it; raise ``ValueError`` where it cannot be."""
    for function in (work.task, work.init):
        if getattr(function, "__module__", None) == "__main__":
            raise ValueError(
                f"{function!r} is of the main module, which a child does not have; "
                "put it into a module of its own"
            )
    return pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
