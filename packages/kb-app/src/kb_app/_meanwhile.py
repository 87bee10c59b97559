"""Who waits for whom: work that is done while nobody asks, and calls that wait for less than all.

``Meanwhile`` has a thread of its own. A turn of it ends as soon as somebody asks, and the next
one waits until it has been quiet. ``Behind`` ends work that nobody waits for any more. ``Waits``
lets calls that a part will do for go before those that want all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kb_core import logs
from kb_core.errors import KbError, StoreBusy
from kb_core.ingest import Sought

__all__ = ["Behind", "Call", "Meanwhile", "Waits"]

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


class Behind:
    """Work of which the caller waits for a part: *work* gets what says that this is done.

    What goes wrong after that is for the log.
    """

    def __init__(self, work: Callable[[Callable[[], object]], object]) -> None:
        self._is_ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._do, args=(work,), name="kebab-behind", daemon=True
        )
        self._thread.start()

    @property
    def is_at_work(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Return once that part is done, or all; raise what stood in its way."""
        self._is_ready.wait()
        if self._error is not None:
            raise self._error

    def end(self, seconds: float | None = None) -> None:
        """Return once all is done, or after some time."""
        self._thread.join(seconds)

    def _do(self, work: Callable[[Callable[[], object]], object]) -> None:
        try:
            work(self._is_ready.set)
        except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
            if self._is_ready.is_set():
                logger.warning("what is done behind an answer: %s", error)
            else:
                self._error = error
        finally:
            self._is_ready.set()


class Call:
    """What a call waits for, and whether the folder was looked at for that."""

    def __init__(self, sought: Sought | None = None, share: float = 1.0) -> None:
        self.sought = sought
        """What chooses what is read, where a part will do; ``None`` for all."""
        self.share = share
        """How much of what a search reads; 0 for nothing new."""
        self.has_looked = False
        self.yields = True
        """Whether it stops reading all for calls that wait for a part."""


class _Own(threading.local):
    """The call of this thread."""

    def __init__(self) -> None:
        self.call = Call()


class Waits:
    """What calls wait for; those that a part will do for go before those that want all."""

    def __init__(self) -> None:
        self._own = _Own()
        self.cut = threading.Event()
        """Who reads all is to stop."""
        self._parts: list[Call] = []
        self._fewer = threading.Condition()

    @property
    def own(self) -> Call:
        """What the call of this thread waits for."""
        return self._own.call

    @contextmanager
    def for_part(self, sought: Sought | None, share: float) -> Iterator[None]:
        """Say which part the call waits for, unless it is all: then *sought* is ``None``.

        Who is reading all stops, and goes on when the call has ended.
        """
        if sought is None:
            yield
            return
        before, call = self._own.call, Call(sought, share)
        self._own.call = call
        with self._fewer:
            self._parts.append(call)
        self.cut.set()
        try:
            yield
        finally:
            self._own.call = before
            with self._fewer:
                self._parts.remove(call)
                self._fewer.notify_all()

    def let_others_go_first(self) -> None:
        """Wait until the calls have ended that wait for a part now."""
        with self._fewer:
            before = list(self._parts)
            self._fewer.wait_for(lambda: not any(call in self._parts for call in before))
            if not self._parts:
                self.cut.clear()

    @property
    def many(self) -> int:
        """How many calls wait for a part, or work with theirs."""
        return len(self._parts)

    def asking(self) -> list[Call]:
        """Return the calls whose questions choose what is read, and that nothing was read for."""
        with self._fewer:
            return [
                call for call in self._parts if isinstance(call.sought, str) and not call.has_looked
            ]
