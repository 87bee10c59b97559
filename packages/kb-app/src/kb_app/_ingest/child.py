"""The parent's side of one child process of ``executor``: start it, ask it, end it.

The child is a fresh interpreter with this one's module path, in a process group of its own
so that Ctrl-C reaches the parent alone, and with pipes of its own. All waiting is bounded by
the caller's time limit and ends at once when the child does.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from threading import Lock

from kb_app._ingest.worker import HEADER

__all__ = ["Child", "ChildDied", "ChildTimedOut"]

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from kb_app._ingest.worker import main
main(*map(int, sys.argv[2:]))
"""
_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
_READ_SIZE = 1 << 20
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", None)


class ChildDied(Exception):
    """The child ended instead of answering; the message says how."""


class ChildTimedOut(Exception):
    """The child took longer than it was allowed."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class Child:
    """One child. ``kill`` may be called from any thread, the rest from one only."""

    def __init__(self) -> None:
        tasks_in, self._tasks = os.pipe()
        self._replies, replies_out = os.pipe()
        life_in, self._life = os.pipe()
        theirs = (tasks_in, replies_out, life_in)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), *map(str, theirs)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
                pass_fds=theirs,
                process_group=0,
            )
        except BaseException:
            for descriptor in (self._tasks, self._replies, self._life):
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._lock = Lock()
        for descriptor in (self._tasks, self._replies):
            os.set_blocking(descriptor, False)
            _widen(descriptor)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, frame: bytes, timeout: float | None) -> Iterator[bytearray]:
        """Send *frame* and yield what is answered, without end: the caller knows the last.

        Raise ``ChildDied``, or ``ChildTimedOut`` where all of it takes too long.
        """
        limit = _Limit(timeout)
        self._write(HEADER.pack(len(frame)), limit)
        self._write(frame, limit)
        while True:
            (size,) = HEADER.unpack(self._read(HEADER.size, limit))
            yield self._read(size, limit)

    def kill(self) -> None:
        """End the child, and what it started, at once; whoever waits for it notices."""
        with self._lock:
            if self._process.poll() is None:
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the child, and forget it."""
        self.kill()
        with self._lock:
            self._process.wait()
        for descriptor in (self._tasks, self._replies, self._life):
            os.close(descriptor)

    def _write(self, data: bytes, limit: _Limit) -> None:
        view = memoryview(data)
        while view:
            limit.wait_for(self._tasks, select.POLLOUT)
            try:
                view = view[os.write(self._tasks, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise ChildDied(self._how_it_ended()) from None

    def _read(self, size: int, limit: _Limit) -> bytearray:
        data = bytearray()
        while len(data) < size:
            limit.wait_for(self._replies, select.POLLIN)
            try:
                part = os.read(self._replies, min(_READ_SIZE, size - len(data)))
            except BlockingIOError:
                continue
            if not part:
                raise ChildDied(self._how_it_ended())
            data += part
        return data

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "the worker process closed its pipe"  # a task that closes every descriptor
        if code >= 0:
            return f"the worker process ended itself with status {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the worker process was ended by {name}"


class _Limit:
    """A time limit that begins now."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._started = time.monotonic()

    def wait_for(self, descriptor: int, event: int) -> None:
        """Wait until *event* or the other end's end; raise ``ChildTimedOut`` at the limit."""
        poll = select.poll()
        poll.register(descriptor, event)
        seconds = time.monotonic() - self._started
        left = None if self._timeout is None else max(0, self._timeout - seconds) * 1000
        if not poll.poll(left):
            seconds = time.monotonic() - self._started
            raise ChildTimedOut(f"took longer than {self._timeout:g} seconds", seconds)


def _widen(descriptor: int) -> None:
    """Make a pipe hold more, where the system lets us: fewer switches for large values."""
    if _F_SETPIPE_SZ is not None:
        try:
            fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _READ_SIZE)
        except OSError:
            return
