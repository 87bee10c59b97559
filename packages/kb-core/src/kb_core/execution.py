"""The port behind which work is done: in this process, in others, on other machines.

``run`` takes tasks from an iterable, a few ahead of what the caller consumes, and yields an
outcome for each, in the order in which they end. Whatever happens to a task is its own
outcome: an exception, a crash, a limit. What a task comes to does not depend on who does
it, nor on how many do. One ``run`` at a time; closing the iterator drops what is under way.

``follow`` does the same, and yields a ``Notice`` when a task begins and whenever it says what
it is at. Notices of one task come in their order, before its outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from kb_core.values import dataclass

__all__ = ["Executor", "Executors", "Notice", "Outcome"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T, R]):
    """What came of one task: a value, or an error in the form of ``error.v1``.

    ``error["details"]["kind"]`` is ``exception``, ``crash``, ``timeout`` or ``memory``.
    ``index`` counts tasks from 0 in the order in which they were taken.
    """

    index: int
    task: T
    value: R | None = None
    error: Mapping[str, Any] | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Notice(Generic[T]):
    """A task has begun, or is at another phase, which has a name."""

    index: int
    task: T
    phase: str = ""
    reached: float = 0.0
    whole: float = 0.0
    """How much of the phase is done, of how much, where that takes long; else 0."""


class Executor(Protocol[T, R]):
    """Does tasks."""

    def run(self, tasks: Iterable[T], /) -> Iterator[Outcome[T, R]]:
        """Yield the outcome of every task, in no particular order."""
        ...

    def follow(self, tasks: Iterable[T], /) -> Iterator[Outcome[T, R] | Notice[T]]:
        """As ``run``, and tell what tasks are at meanwhile."""
        ...

    def close(self) -> None:
        """End at once; what is under way is lost. ``run`` may be called again."""
        ...


class Executors(Protocol):
    """Gives what does a kind of tasks."""

    def __call__(self, task: Callable[[T], R], wanted: int, /) -> Executor[T, R]:
        """Return what does *task*, *wanted* times; it costs nothing before the first."""
        ...
