"""The terminal itself: it is resized, it goes away, an editor borrows it.

Its size is what the terminal says: COLUMNS and LINES, where somebody exported them, are
of the time before, and stay what they were when the window changes.

A terminal that is made smaller and large again has lost what did not fit in between.
Textual draws only where the size it hears of is another one than before, and on a busy
machine it hears of the last one only: so every resize draws everything.

A closed window sends SIGHUP and, to wake what is stopped, SIGCONT. The driver takes
SIGCONT for the return from a suspension, would begin to draw once more on a terminal
that is gone, and waits for ever: so it is told only while there is a terminal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from kb_app.editors import FilePlace
from kb_core.errors import InvalidInput, IoError

__all__ = [
    "OpenPlace",
    "ReadingOn",
    "check_terminal",
    "forget_exported_size",
    "leave_on_signals",
    "needs_terminal",
    "redraw_on_resize",
    "run_beside",
    "run_editor",
]

_STANDARD = (0, 1, 2)
_WITHOUT = 'kebab search "..." answers without one'
_FRAME = "╭─╮│▌━"
_SOON_S = 5.0
"""Within this a viewer that ends with an error has shown nothing."""


def check_terminal(environ: Mapping[str, str]) -> None:
    """Raise ``InvalidInput`` unless there is a terminal to draw on, and to read keys from.

    Without one the screen would be written into a file or a pipe, and no key would end it.
    """
    if not all(map(os.isatty, _STANDARD)):
        raise InvalidInput("the terminal interface needs a terminal", hint=_WITHOUT)
    if environ.get("TERM") == "dumb":
        raise InvalidInput(
            "TERM=dumb: this terminal cannot be drawn on",
            hint=f"set TERM to what it is, such as xterm-256color; {_WITHOUT}",
            details={"field": "TERM", "value": "dumb"},
        )
    encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
    try:
        _FRAME.encode(encoding)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"this terminal's encoding, {encoding}, has no signs to draw frames with",
            hint=f"set LC_ALL to a locale of UTF-8, such as C.UTF-8; {_WITHOUT}",
            details={"field": "LC_ALL", "value": encoding},
        ) from error


def forget_exported_size() -> None:
    """Let neither this program nor the editor that it starts believe COLUMNS and LINES."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


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


def redraw_on_resize(redraw: Callable[[], object]) -> None:
    """Call *redraw* on this event loop at every resize, to whichever size it leads."""
    loop = asyncio.get_running_loop()
    with suppress(ValueError):  # not the main thread
        resize = signal.getsignal(signal.SIGWINCH)

        def carry_on(number: int, frame: FrameType | None) -> None:
            if callable(resize):
                resize(number, frame)
            loop.call_soon_threadsafe(redraw)

        signal.signal(signal.SIGWINCH, carry_on)


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


class OpenPlace(Message):
    """Open this, in an editor that gets the terminal or in a viewer beside it."""

    def __init__(self, place: FilePlace) -> None:
        super().__init__()
        self.place = place


def needs_terminal(place: FilePlace, environ: Mapping[str, str]) -> bool:
    """Say whether what opens *place* is an editor, which may want the terminal for itself."""
    return place.is_text and any(environ.get(name, "").strip() for name in ("VISUAL", "EDITOR"))


def run_editor(command: Sequence[str]) -> int:
    """Run *command* to its end, and return its exit code; ``IoError`` if it cannot start.

    Ctrl-C in the editor is for the editor: it reaches the whole foreground group.
    """
    with _interrupts_are_the_editors(), _started(command):
        return subprocess.run(command, check=False).returncode  # noqa: S603 - the person's own


def run_beside(command: Sequence[str], failed: Callable[[int], None]) -> None:
    """Start *command* and leave it to itself; ``IoError`` if it cannot start.

    *failed* is called, on a thread, with its exit code if it ends with an error at once: on a
    machine without a desktop, what opens files there starts, and opens nothing.
    """
    nothing = subprocess.DEVNULL
    with _started(command):
        process = subprocess.Popen(  # noqa: S603 - the desktop's own
            command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )

    def wait() -> None:
        began = time.monotonic()
        if (code := process.wait()) and time.monotonic() - began < _SOON_S:
            failed(code)

    threading.Thread(target=wait, name="viewer", daemon=True).start()


class ReadingOn(LinuxDriver):
    """Reads on after what is no UTF-8, which ends textual's own reader, and the program with it.

    A terminal may speak another encoding, or tell clicks by bytes, as GNU screen does.
    """

    def run_input_thread(self) -> None:
        while not self.exit_event.is_set():
            with suppress(UnicodeDecodeError):
                super().run_input_thread()


@contextmanager
def _started(command: Sequence[str]) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise IoError(
            f"{command[0]!r} cannot be started: {error.strerror}",
            hint="set VISUAL or EDITOR to a program that is there",
            details={"command": command[0]},
        ) from error


@contextmanager
def _interrupts_are_the_editors() -> Generator[None]:
    # A handler, not SIG_IGN: what is ignored would stay ignored in the editor.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
