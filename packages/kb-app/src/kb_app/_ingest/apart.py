"""An ingest in a process of its own, for callers that must never wait for the interpreter.

A thread would do, but for libraries that hold the interpreter's lock: building the
tokenizer of the embedding model takes it for a second, in which a screen stands still.
The child runs behind everything else on the machine, and its events come over a pipe.

    parent → child   the module path, then the configuration and the options; later one
                     byte that asks it to stop after its batch. The end of the pipe, which
                     is also the parent's end, ends the run at its next event.
    child → parent   events, and at last what was raised, if anything was
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from kb_core.errors import KbError

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ingest import IngestEvent, IngestOptions

__all__ = ["ingest_apart", "main"]

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from kb_app._ingest.apart import main
from kb_app._wiring import parts_of
main(int(sys.argv[2]), int(sys.argv[3]), parts_of)
"""
_NICE = 10
_STOP = b"s"
_LOOK_EVERY_S = 0.1


def ingest_apart(
    config: Config, options: IngestOptions, stop: threading.Event
) -> Generator[IngestEvent]:
    """Yield the events of an ingest in a child; setting *stop* ends it after its batch.

    Closing the iterator ends the child at its next event, and waits for that.
    """
    asks_in, asks = os.pipe()
    events, events_out = os.pipe()
    command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(asks_in), str(events_out)]
    nothing = subprocess.DEVNULL
    try:
        child = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            pass_fds=(asks_in, events_out),
            process_group=0,
        )
    finally:
        os.close(asks_in)
        os.close(events_out)
    over = threading.Event()
    asking = os.fdopen(asks, "wb", buffering=0)
    try:
        with suppress(BrokenPipeError):
            asking.write(pickle.dumps((config, options)))
        threading.Thread(target=_pass_on, args=(stop, over, asking), daemon=True).start()
        with os.fdopen(events, "rb") as told:
            yield from _read(told)
    finally:
        over.set()
        asking.close()
        child.wait()


def _pass_on(stop: threading.Event, over: threading.Event, asking: IO[bytes]) -> None:
    """Tell the child when *stop* is set, unless all is *over* before that."""
    while not over.is_set():
        if stop.wait(_LOOK_EVERY_S):
            with suppress(OSError, ValueError):  # the child, or the pipe, is gone
                asking.write(_STOP)
            return


def _read(told: IO[bytes]) -> Iterator[IngestEvent]:
    while True:
        try:
            message: Any = pickle.load(told)  # noqa: S301 - from our own child
        except (EOFError, pickle.UnpicklingError):
            raise KbError(
                "the ingest ended without a word; perhaps it was killed",
                hint="ingest again: it goes on where it stopped",
            ) from None
        if isinstance(message, BaseException):
            raise message
        yield message
        if message.report is not None:
            return


def main(asks: int, events: int, parts_of: Callable[[Config], Parts]) -> None:
    """Run the child: one ingest, asked for over the pipe *asks*, told over *events*."""
    from kb_app._ingest.run import ingest

    with suppress(OSError):
        os.nice(_NICE)
    asked = os.fdopen(asks, "rb", buffering=0)
    stop, abandoned = threading.Event(), threading.Event()
    with os.fdopen(events, "wb") as out, suppress(BrokenPipeError):
        try:
            config, options = pickle.load(asked)  # noqa: S301 - from our own parent
            listener = threading.Thread(target=_listen, args=(asked, stop, abandoned), daemon=True)
            listener.start()
            _tell(ingest(config, options, parts_of(config), stop), out, abandoned)
        except KbError as error:
            _send(out, error)
        except Exception as error:  # noqa: BLE001 - shown where the interface shows bugs
            _send(out, RuntimeError(f"{type(error).__name__}: {error}"))


def _listen(asked: IO[bytes], stop: threading.Event, abandoned: threading.Event) -> None:
    while asked.read(1):
        stop.set()
    stop.set()
    abandoned.set()


def _tell(events: Iterator[IngestEvent], out: IO[bytes], abandoned: threading.Event) -> None:
    try:
        for event in events:
            _send(out, event)
            if abandoned.is_set():
                return
    finally:
        if isinstance(events, Generator):
            events.close()


def _send(out: IO[bytes], message: object) -> None:
    pickle.dump(message, out)
    out.flush()
