"""Work that is done while nobody asks anything, on a thread of its own.

A turn of it ends as soon as somebody asks, and the next one waits until it has been quiet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kb_core import logs
from kb_core.errors import KbError, StoreBusy

__all__ = ["Meanwhile"]

logger = logs.logger(__name__)

_QUIET_SECS = 1.0
"""How long nobody has asked anything when a turn begins."""
_BREATH_SECS = 0.2
"""Between two turns, in which another process that writes gets its own."""
_BUSY_SECS = 15.0
"""How long another process that writes is left alone."""
_GRACE_SECS = 2.0
"""How long the end waits for the batch at hand, which whoever ends the process may kill."""


class Meanwhile:
    """Takes turns at *work* until it says that nothing is left.

    *work* gets an event that is set when somebody asks, and then ends what it is at soon;
    what goes wrong with it is for the log, and ends the turns until they are begun again.
    """

    def __init__(self, work: Callable[[threading.Event], bool]) -> None:
        self._work = work
        self._is_asked = threading.Event()
        self._asked_at = time.monotonic()
        self._ended = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def goes_on(self) -> bool:
        """Whether something is left to do, as far as is known."""
        return self.is_at_work and not self._ended.is_set()

    @property
    def is_at_work(self) -> bool:
        """Whether a turn may still be going on."""
        return self._thread is not None and self._thread.is_alive()

    def asked(self) -> None:
        """Say that somebody asks something now."""
        self._asked_at = time.monotonic()
        self._is_asked.set()

    def begin(self) -> None:
        """Go on with what is left, if that is not done already."""
        with self._guard:
            if self._ended.is_set() or self.is_at_work:
                return
            self._thread = threading.Thread(target=self._go_on, name="kebab-meanwhile", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Let the turn at hand end, and begin no other."""
        with self._guard:
            self._ended.set()
            thread = self._thread
        self._is_asked.set()
        if thread is not None:
            thread.join(_GRACE_SECS)

    def _go_on(self) -> None:
        pause = _QUIET_SECS
        while not self._ended.wait(pause):
            self._is_asked.clear()
            pause = self._asked_at + _QUIET_SECS - time.monotonic()
            if pause > 0:
                continue
            try:
                if not self._work(self._is_asked):
                    return
                pause = _BREATH_SECS
            except StoreBusy:
                pause = _BUSY_SECS
            except (KbError, OSError) as error:
                logger.warning("what is done meanwhile: %s", error)
                return
