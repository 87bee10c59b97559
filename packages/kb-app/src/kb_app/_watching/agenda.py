"""When to look: after changes have settled, where something may have been missed, now and then.

Times are seconds of a clock that never goes back, but for *wall*, the time of day. Nothing
here reads a clock, and nothing grows with the number of changes.
"""

from __future__ import annotations

__all__ = ["Agenda"]

SETTLE_SECS = 0.4
"""Editors write a file in several steps: a look waits until nothing has come for so long."""
PATIENCE_SECS = 4.0
"""And begins after so long where changes do not end."""
SCAN_SECS = 600.0
"""Between two looks at everything where changes are told: some are told of nowhere."""
JUMP_SECS = 30.0
"""How far the time of day may go from the other clock before somebody has to ask why."""
_SHARE = 0.02
"""Looks that nobody asked for take so much of the time, at most."""
_RETRY_SECS = 1.0
_LEAST_WAIT_SECS, _MOST_WAIT_SECS = 0.05, 5.0


class Agenda:
    """Says when the next look is due. The first one is at once."""

    def __init__(self, now: float, wall: float, *, scan_secs: float = SCAN_SECS) -> None:
        self.scan_secs = scan_secs
        self._apart = wall - now
        self._first: float | None = None
        self._last = now
        self._scan_at = now
        self._not_before = now
        self._retry_secs = 0.0

    def changed(self, now: float) -> None:
        """Take in that something has changed."""
        self._first = now if self._first is None else self._first
        self._last = now

    def jumped(self, now: float, wall: float) -> float:
        """Return by how many seconds the time of day left the other clock, if it jumped.

        So it does where the machine slept, and where somebody set the clock; a look is due.
        """
        jump = wall - now - self._apart
        if abs(jump) < JUMP_SECS:
            return 0.0
        self._apart, self._scan_at = wall - now, now
        return jump

    def is_due(self, now: float) -> bool:
        """Say whether it is time to look."""
        if now < self._not_before:
            return False
        if now >= self._scan_at:
            return True
        if self._first is None:
            return False
        return now - self._last >= SETTLE_SECS or now - self._first >= PATIENCE_SECS

    def wait_secs(self, now: float) -> float:
        """Return how long there is nothing to do, if nothing changes."""
        at = self._scan_at
        if self._first is not None:
            at = min(at, self._last + SETTLE_SECS, self._first + PATIENCE_SECS)
        return min(max(max(at, self._not_before) - now, _LEAST_WAIT_SECS), _MOST_WAIT_SECS)

    def is_of_itself(self, now: float) -> bool:
        """Say whether a look is due that no change asked for."""
        return now >= self._scan_at

    def begin(self, now: float) -> None:
        """Take in that a look begins: what changes from now on asks for another one."""
        self._first, self._last = None, now

    def done(self, now: float, took: float) -> None:
        """Take in that a look ended well after *took* seconds; it rests for as long."""
        self._retry_secs = 0.0
        self._not_before = now + min(took, PATIENCE_SECS)
        self._scan_at = now + max(self.scan_secs, took / _SHARE)

    def failed(self, now: float, most_secs: float) -> None:
        """Take in that a look could not be finished; it is tried again, less and less often."""
        self._retry_secs = min(max(_RETRY_SECS, self._retry_secs * 2), most_secs)
        self._not_before = self._scan_at = now + self._retry_secs
