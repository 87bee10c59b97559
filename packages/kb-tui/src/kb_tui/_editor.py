"""Opening a citation in the person's editor, and coming back; viewers run beside us."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from textual.message import Message

from kb_app.editors import FilePlace
from kb_core.errors import IoError

__all__ = ["OpenPlace", "needs_terminal", "run_beside", "run_editor"]


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


def run_beside(command: Sequence[str]) -> None:
    """Start *command* and leave it to itself; ``IoError`` if it cannot start."""
    nothing = subprocess.DEVNULL
    with _started(command):
        subprocess.Popen(  # noqa: S603 - the desktop's own
            command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )


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
