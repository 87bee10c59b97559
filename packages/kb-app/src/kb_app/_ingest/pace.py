"""How far a later phase is, and when it will be through: told while one file takes minutes.

Files differ by hundreds, so they count by their bytes, and what is under way as far as it says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

__all__ = ["Pace"]

_SETTLED_SECS = 2.0
"""Before that, nothing can be said."""


class Pace:
    """The pace at which files of these *sizes*, by any key, are done from now on."""

    def __init__(
        self, sizes: Mapping[object, int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._left = {key: max(1, size) for key, size in sizes.items()}
        self._clock, self._begun = clock, clock()
        self._done = 0.0
        self._part: dict[object, float] = {}

    def reached(self, key: object, reached: float, whole: float) -> None:
        """Note how much of a file is done."""
        if key in self._left and whole > 0:
            self._part[key] = min(1.0, reached / whole) * self._left[key]

    def finished(self, key: object) -> None:
        """Note that a file is done."""
        self._part.pop(key, None)
        self._done += self._left.pop(key, 0)

    def expected(self) -> dict[str, int]:
        """Return what an event says of it: how long the rest takes, unless it is too early."""
        spent = self._clock() - self._begun
        part = sum(self._part.values())
        done = self._done + part
        if spent < _SETTLED_SECS or done <= 0:
            return {}
        left = max(0.0, sum(self._left.values()) - part)
        return {"eta_ms": round(spent / done * left * 1000)}
