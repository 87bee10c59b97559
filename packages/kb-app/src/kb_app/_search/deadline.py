"""Work that may take longer than there is time.

A model that is being loaded, or runs, cannot be interrupted. It is left to finish on
its own thread, where its result serves the next search, and this one goes on without.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Deadline", "Late", "is_working"]

_Result = TypeVar("_Result")

_left_behind: set[threading.Thread] = set()


class Late(Exception):
    """The time was up before the work was done."""


class Deadline:
    """A moment after which nothing is waited for; without *millis*, there is none."""

    def __init__(self, millis: int | None) -> None:
        self.millis = millis
        self._until = None if millis is None else time.perf_counter() + millis / 1000

    def is_over(self) -> bool:
        """Say whether the time is up."""
        return self._until is not None and time.perf_counter() >= self._until

    def start(self, work: Callable[[], _Result]) -> Callable[[], _Result]:
        """Start *work*; what is returned waits for its result, or raises ``Late``.

        Without a deadline the work is done by whoever asks for the result.
        """
        if self._until is None:
            return work
        from concurrent.futures import Future  # rarely needed, and not cheap to load

        future: Future[_Result] = Future()
        thread = threading.Thread(target=_fulfil, args=(future, work), daemon=True)
        thread.start()
        until = self._until

        def wait() -> _Result:
            try:
                return future.result(max(0.0, until - time.perf_counter()))
            except TimeoutError:
                if not future.done():
                    _left_behind.add(thread)
                    raise Late from None
                raise

        return wait


def is_working() -> bool:
    """Say whether work that was not waited for still runs in this process."""
    _left_behind.difference_update([t for t in _left_behind if not t.is_alive()])
    return bool(_left_behind)


def _fulfil(future: Future[_Result], work: Callable[[], _Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
        future.set_exception(error)
