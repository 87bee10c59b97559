"""The executor whose tasks are done by actors of a Ray cluster.

A task goes over the wire with all that it needs of this machine, if it is ``Packable``, and is
kept here until its outcome is: what a lost node had is done again by another, and since
outcomes are told by the task's number, each is told once. Whoever iterates the run is the only
one who takes in what came of it.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from kb_app._ingest.workers.cluster.actor import Versions
from kb_app._ingest.workers.cluster.crew import SLOT_SECS, Crew, Hand, Lost, Sent
from kb_app._ingest.workers.executor import frozen, outcomes_of, told
from kb_app._ingest.workers.process import Limits
from kb_app._ingest.workers.worker import Phase, Reply, Work, error_of
from kb_core.execution import Notice, Outcome

__all__ = ["Packable", "RayExecutor"]

T = TypeVar("T")
R = TypeVar("R")

_LARGEST_BLOCK = 16
_BLOCKS = 2
"""How many blocks an actor has at most: one that it is at, and one to go on with."""
_BLOCK_BYTES = 8_000_000
_MOST_BYTES = 512_000_000
"""What may be under way in all; a task above that goes alone."""
_SHARES = 4
"""Into how many blocks for each actor the rest is cut, so that all end together."""
_MOST_LOSSES = 3


@runtime_checkable
class Packable(Protocol):
    """A task that needs something of the machine that it was made on."""

    def packed(self) -> object:
        """Return the task with that in it."""
        ...


def _nothing() -> Mapping[str, str]:
    return {}


class RayExecutor(Generic[T, R]):
    """Does tasks in child processes of actors, one each, on the nodes of a Ray cluster.

    Tasks, limits and what comes of them are as with ``ProcessExecutor``. *address* is that of
    the cluster; without one, it is started here. There are *actors*, at most one for each of the
    *expected* tasks; 0: one for each processor of the cluster. *versions* has to give the same
    here and on every node: where it does not, the run ends with an error that names it.
    """

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        task: Callable[[T], R] | str,
        *,
        actors: int = 0,
        address: str = "",
        init: Callable[[], object] | str | None = None,
        timeout_secs: float = 0,
        cpu_secs: float = 0,
        memory_mb: int = 0,
        expected: int = 0,
        versions: Versions = _nothing,
        slot_secs: float = SLOT_SECS,
    ) -> None:
        self._work = frozen(Work(task, init, memory_mb, cpu_secs))
        self._limits = Limits(timeout_secs or None, cpu_secs, memory_mb)
        self._where = (address, actors, versions, slot_secs)
        self._expected = expected
        self._crew: Crew | None = None
        self._current: object = None
        """The run that is going on."""

    def __enter__(self) -> RayExecutor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, tasks: Iterable[T], /) -> Generator[Outcome[T, R]]:
        return outcomes_of(self.follow(tasks))

    def follow(self, tasks: Iterable[T], /) -> Generator[Outcome[T, R] | Notice[T]]:
        if self._current is not None:
            raise RuntimeError("this executor is running already; finish or close that run first")
        this_run = self._current = object()
        going = _Run(enumerate(tasks), self._expected)
        try:
            while going.has_more():
                crew = self._crew = self._crew or self._hired()
                going.hand_out(crew)
                for one in going.hear(crew):
                    yield one
                    if self._current is not this_run:
                        raise RuntimeError("this executor was closed while it ran")
        finally:
            if self._current is this_run:
                self._current = None
                if going.is_under_way:
                    self.close()

    def close(self) -> None:
        crew, self._crew = self._crew, None
        self._current = None
        if crew is not None:
            crew.close()

    def _hired(self) -> Crew:
        address, actors, versions, slot_secs = self._where
        return Crew(
            self._work,
            self._limits,
            address=address,
            actors=actors,
            most=self._expected or actors or 1,
            versions=versions,
            slot_secs=slot_secs,
        )


class _Run:
    """What one run still has to do, and who has what of it."""

    def __init__(self, tasks: Iterator[tuple[int, Any]], expected: int) -> None:
        self._source = tasks
        self._ahead: deque[tuple[int, Any]] = deque(maxlen=1)
        self._left = expected
        self._tasks: dict[int, Any] = {}
        self._bytes = 0
        self._again: deque[Sent] = deque()
        self._unsendable: list[tuple[int, BaseException]] = []

    @property
    def is_under_way(self) -> bool:
        return bool(self._tasks)

    def has_more(self) -> bool:
        """Say whether a task is under way, or left."""
        return bool(self._tasks) or self._peek() is not None

    def hand_out(self, crew: Crew) -> None:
        """Give every actor that waits what it may have."""
        for hand in crew.free():
            more = self._block(hand, crew.size)
            if more or hand.has:
                crew.ask(hand, more)

    def hear(self, crew: Crew) -> Generator[Outcome[Any, Any] | Notice[Any]]:
        """Yield what came of tasks, and what they are at."""
        for index, error in self._unsendable:
            task = self._tasks.pop(index)
            yield Notice(index, task)
            yield Outcome(index, task, error=error_of(error))
        self._unsendable.clear()
        for heard in crew.hear():
            if isinstance(heard, Lost):
                yield from self._take_back(heard.sent)
                continue
            sent, word = heard
            if self._is_news(sent, word):
                yield told((sent.index, self._finished(sent, word), word))

    def _is_news(self, sent: Sent, word: Reply | Phase) -> bool:
        """Say whether it is: that a task begins is told once, however often it is lost."""
        is_first, sent.is_begun = not sent.is_begun, True
        return is_first or isinstance(word, Reply) or bool(word.name)

    def _finished(self, sent: Sent, word: Reply | Phase) -> object:
        if not isinstance(word, Reply):
            return self._tasks[sent.index]
        self._bytes -= len(sent.frame)
        self._left -= 1
        return self._tasks.pop(sent.index)

    def _take_back(self, sent: Sequence[Sent]) -> Generator[Outcome[Any, Any]]:
        """Have others do what was lost; what is lost again and again is at fault itself."""
        for each in sent:
            each.losses += 1
            if each.losses < _MOST_LOSSES:
                self._again.append(each)
                continue
            message = f"the Ray actors that did it were lost {each.losses} times"
            details = {"kind": "crash"}
            error = {"code": "internal", "message": message, "hint": None, "details": details}
            yield Outcome(each.index, self._finished(each, Reply()), error=error)

    def _block(self, hand: Hand, actors: int) -> list[Sent]:
        """Return the next tasks for *hand*, none if it has enough."""
        if self._again:
            # Alone, so that what ends actors does not take others with it again.
            return [] if hand.has else [self._again.popleft()]
        size = max(1, min(_LARGEST_BLOCK, self._left // (_SHARES * actors)))
        if len(hand.has) > (_BLOCKS - 1) * size:
            return []
        block: list[Sent] = []
        while len(block) < size and sum(len(sent.frame) for sent in block) < _BLOCK_BYTES:
            if self._bytes > _MOST_BYTES or (task := self._take()) is None:
                break
            if sent := self._sent(*task):
                block.append(sent)
        return block

    def _sent(self, index: int, task: object) -> Sent | None:
        self._tasks[index] = task
        try:
            whole = task.packed() if isinstance(task, Packable) else task
            sent = Sent(index, pickle.dumps(whole, pickle.HIGHEST_PROTOCOL))
        except Exception as error:  # noqa: BLE001 - whatever a task's own pickling raises
            self._unsendable.append((index, error))
            return None
        self._bytes += len(sent.frame)
        return sent

    def _peek(self) -> tuple[int, Any] | None:
        if not self._ahead and (task := next(self._source, None)) is not None:
            self._ahead.append(task)
        return self._ahead[0] if self._ahead else None

    def _take(self) -> tuple[int, Any] | None:
        task = self._peek()
        self._ahead.clear()
        return task
