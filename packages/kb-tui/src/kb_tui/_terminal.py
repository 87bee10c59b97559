"""What happens when the terminal goes away, or somebody asks the process to end.

A closed window sends SIGHUP and, to wake what is stopped, SIGCONT. The driver takes
SIGCONT for the return from a suspension, would begin to draw once more on a terminal
that is gone, and waits for ever: so it is told only while there is a terminal.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

__all__ = ["leave_on_signals"]

_STANDARD = (0, 1, 2)


def leave_on_signals(leave: Callable[[], None]) -> None:
    """Call *leave* on this event loop when the terminal is closed or the process is to end.

    To be called by the main thread, once the driver has set its own handlers.
    """
    loop = asyncio.get_running_loop()

    def hang_up() -> None:
        if not os.isatty(0):
            _write_to_nobody()
        leave()

    with suppress(NotImplementedError, ValueError):  # no such signals, or not the main thread
        loop.add_signal_handler(signal.SIGTERM, leave)
        loop.add_signal_handler(signal.SIGHUP, hang_up)
        _resume_only_on_a_terminal()


def _resume_only_on_a_terminal() -> None:
    resume = signal.getsignal(signal.SIGCONT)

    def carry_on(number: int, frame: FrameType | None) -> None:
        if callable(resume) and os.isatty(0):
            resume(number, frame)

    signal.signal(signal.SIGCONT, carry_on)


def _write_to_nobody() -> None:
    """Let what is still written, and read, go nowhere instead of failing."""
    nobody = os.open(os.devnull, os.O_RDWR)
    for stream in _STANDARD:
        os.dup2(nobody, stream)
    os.close(nobody)
