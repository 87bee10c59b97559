"""The parent's side of a worker process: start it, ask it, feed it, replace it.

The child is a fresh interpreter with this one's module path, in a process group of its own
so that Ctrl-C reaches the parent alone, and with pipes of its own. All waiting is bounded by
the caller's time limit and ends at once when the child does.

A thread feeds it. Tasks and what came of them go through two queues, which all feeders of an
executor share. A task that ends its child, or exceeds its time, gets a reply that says so;
only a child that does not even start ends the run. What an executor leaves idle may be kept as
a ``Spare``.
"""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Lock, Thread, Timer
from typing import Any, NamedTuple, TypeAlias

from kb_app._allocator import return_large_blocks
from kb_app._ingest.workers.worker import HEADER, Phase, Reply, Without, error_of
from kb_core.errors import KbError

__all__ = ["Child", "ChildDied", "ChildTimedOut", "Done", "Feeder", "Limit", "Limits"]
__all__ += ["Frame", "Queues", "Spare"]

Done: TypeAlias = tuple[int, Any, Reply | Phase]
"""A task's number, the task, and what came of it, or what it is at."""

_START_SECS = 120.0
"""How long a child may take to import what its ``init`` needs, on a cold disk."""

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from kb_app._ingest.workers.worker import main
main(*map(int, sys.argv[2:]))
"""
_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
_READ_SIZE = 1 << 20
_READ_AHEAD = 1 << 16
"""Most answers are read at once with what says how long they are: each time this thread waits,
it has to wait for the interpreter, too."""
_MOST_WITHOUT = 8
"""How often a task is begun anew without what took too much memory."""
_LARGE_ANSWER = 8 << 20
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", None)


class Frame(bytes):
    """A task that was pickled elsewhere, and is handed on as it is."""


class Limits(NamedTuple):
    """What a task may take: seconds, seconds of processor time, and memory; 0: as it likes."""

    wall_secs: float | None = None
    cpu_secs: float = 0
    memory_mb: int = 0


class ChildDied(Exception):
    """The child ended instead of answering; the message says how, ``by`` by which signal."""

    def __init__(self, message: str, by: int = 0) -> None:
        super().__init__(message)
        self.by = by


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
        self._ahead = bytearray()
        for descriptor in (self._tasks, self._replies):
            os.set_blocking(descriptor, False)
            _widen(descriptor)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        with self._lock:
            return self._process.poll() is None

    def ask(self, frame: bytes, limit: Limit) -> Iterator[bytearray]:
        """Send *frame* and yield what is answered, without end: the caller knows the last.

        Raise ``ChildDied``, or ``ChildTimedOut`` where it takes longer than *limit*.
        """
        self._write(HEADER.pack(len(frame)) + frame, limit)
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

    def _write(self, data: bytes, limit: Limit) -> None:
        view = memoryview(data)
        while view:
            limit.wait_for(self._tasks, select.POLLOUT)
            try:
                view = view[os.write(self._tasks, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._end() from None

    def _read(self, size: int, limit: Limit) -> bytearray:
        """Return so many bytes; what comes along with them is kept for the next time."""
        if size >= _LARGE_ANSWER:
            return_large_blocks()
        data, self._ahead = self._ahead, bytearray()
        while len(data) < size:
            limit.wait_for(self._replies, select.POLLIN)
            try:
                part = os.read(self._replies, min(_READ_SIZE, max(_READ_AHEAD, size - len(data))))
            except BlockingIOError:
                continue
            if not part:
                raise self._end()
            data += part
        if len(data) > size:
            self._ahead = data[size:]
            del data[size:]
        return data

    def _end(self) -> ChildDied:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # A task that closes every descriptor.
            return ChildDied("the worker process closed its pipe")
        if code >= 0:
            return ChildDied(f"the worker process ended itself with status {code}")
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return ChildDied(f"the worker process was ended by {name}", by=-code)


class Spare:
    """One idle child, kept for who needs the next for the same *work*, and so long, in seconds.

    It has loaded what the last tasks needed, which takes longer than most of them.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._guard = Lock()
        self._kept: tuple[bytes, Child, Timer] | None = None
        self._is_closed = False

    def take(self, work: bytes) -> Child | None:
        """Return the child that is kept for *work*, if it lives; it is the caller's then."""
        kept = self._swap(None)
        if kept is not None and kept[0] == work and kept[1].is_alive:
            return kept[1]
        _let_go(kept)
        return None

    def put(self, work: bytes, child: Child) -> None:
        """Keep *child*, which is idle, in place of the one before."""
        timer = Timer(self._seconds, lambda: self._expire(child))
        timer.daemon, timer.name = True, "kebab-spare"
        _let_go(self._swap((work, child, timer)))

    def close(self) -> None:
        """End what is kept, and keep nothing from here on."""
        self._is_closed = True
        _let_go(self._swap(None))

    def _swap(self, new: tuple[bytes, Child, Timer] | None) -> tuple[bytes, Child, Timer] | None:
        with self._guard:
            if new is not None and self._is_closed:
                return new
            old, self._kept = self._kept, new
            if new is not None:
                new[2].start()
        if old is not None:
            old[2].cancel()
        return old

    def _expire(self, child: Child) -> None:
        with self._guard:
            kept = self._kept
            if kept is None or kept[1] is not child:
                return
            self._kept = None
        _let_go(kept)


def _let_go(kept: tuple[bytes, Child, Timer] | None) -> None:
    if kept is not None:
        kept[1].close()


class Limit:
    """A time limit that begins now."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._started = time.monotonic()

    def renew(self, timeout: float | None) -> None:
        """Begin anew, with another time."""
        self._timeout, self._started = timeout, time.monotonic()

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


class Queues:
    """What an executor and its feeders share; no two runs that were given up share any."""

    __slots__ = ("done", "tasks")

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[int, Any] | None] = SimpleQueue()
        self.done: SimpleQueue[Done | BaseException] = SimpleQueue()


class Feeder(Thread):
    """One child's thread; it starts the child at the first task, or takes the *spare* one."""

    def __init__(
        self, work: bytes, queues: Queues, limits: Limits, spare: Spare | None = None
    ) -> None:
        super().__init__(name="kebab-worker", daemon=True)
        self._work = work
        self._queues = queues
        self._limits = limits
        self._spare = spare
        self._child: Child | None = None
        self._is_stopped = False

    @property
    def pid(self) -> int:
        """The child's process id, or 0."""
        child = self._child
        return child.pid if child is not None else 0

    def run(self) -> None:
        try:
            while (item := self._queues.tasks.get()) is not None:
                index, task = item
                for said in self._answers(task):
                    if self._is_stopped:
                        return
                    self._queues.done.put((index, task, said))
            self._hand_on()
        except BaseException as error:  # noqa: BLE001 - who iterates the run has to hear of it
            if not self._is_stopped:
                self._queues.done.put(error)
        finally:
            self._drop_child()

    def stop(self) -> None:
        """End the child; the thread notices, and ends too."""
        self._is_stopped = True
        child = self._child
        if child is not None:
            child.kill()

    def _hand_on(self) -> None:
        """Leave the child, which is idle, to who needs the next one."""
        child = self._child
        if child is not None and self._spare is not None and not self._is_stopped:
            self._child = None
            self._spare.put(self._work, child)

    def _answers(self, task: object) -> Iterator[Reply | Phase]:
        """Yield the phases of the task, the first without a name, and its reply."""
        try:
            frame = task if isinstance(task, Frame) else pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001 - whatever a task's own pickling raises
            yield Phase()
            yield Reply(error=error_of(error))
            return
        child = self._living_child()  # its start is no task's time
        said: Reply | Phase = Phase()
        yield said
        limit = Limit(self._limits.wall_secs)
        answers, without = child.ask(frame, limit), frozenset[int]()
        while not isinstance(said, Reply):
            try:
                said = _unpickled(next(answers))
            except (ChildDied, ChildTimedOut) as error:
                lost = _lost(error, self._limits)
                said = Reply(error=lost, seconds=getattr(error, "seconds", 0.0), is_last=True)
            if isinstance(said, Phase) and said.whole:
                secs = self._limits.wall_secs
                limit.renew(secs and max(secs, said.patience_secs))
            if isinstance(said, Reply) and said.is_last:
                self._drop_child()
            if isinstance(said, Reply) and said.oversized is not None:
                without |= {said.oversized}
                if len(without) > _MOST_WITHOUT:
                    message = f"{len(without)} parts of it need more memory than a part may"
                    said = Reply(error=_error("memory", message), is_last=True)
                else:
                    again = pickle.dumps(Without(bytes(frame), without), pickle.HIGHEST_PROTOCOL)
                    answers, said = self._living_child().ask(again, limit), Phase()
            yield said

    def _living_child(self) -> Child:
        if self._child is not None:
            return self._child
        if self._spare is not None and (spare := self._spare.take(self._work)) is not None:
            self._child = spare
            return spare
        self._child = child = Child()
        if self._is_stopped:
            child.kill()  # `stop` may have come before there was a child to kill
        try:
            answer = next(child.ask(self._work, Limit(_START_SECS)))
        except (ChildDied, ChildTimedOut) as error:
            raise KbError(f"a worker process did not start: {error}") from error
        ready: Reply = pickle.loads(answer)  # noqa: S301 - our child wrote it
        if ready.error is not None:
            raise KbError(f"a worker process did not start: {ready.error['message']}")
        return child

    def _drop_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()


def _unpickled(answer: bytearray) -> Reply | Phase:
    try:
        said: Reply | Phase = pickle.loads(answer)  # noqa: S301 - our child wrote it
    except Exception as error:  # noqa: BLE001 - whatever a value's own unpickling raises
        return Reply(error=error_of(error))
    return said


def _lost(error: ChildDied | ChildTimedOut, limits: Limits) -> dict[str, Any]:
    """Return the error of a task that was lost with its child."""
    kind, message = "crash", str(error)
    if isinstance(error, ChildTimedOut):
        kind, message = "timeout", f"{message}; [limits] wall_secs"
    elif error.by == signal.SIGXCPU and limits.cpu_secs:
        secs = f"{limits.cpu_secs:g}"
        kind = "timeout"
        message = f"took more than {secs} seconds of processor time; [limits] cpu_secs is {secs}"
    elif error.by in {0, signal.SIGABRT} and limits.memory_mb:  # as libraries give up
        message += f"; perhaps it needed more memory than [limits] memory_mb, {limits.memory_mb}"
    return _error(kind, message)


def _error(kind: str, message: str) -> dict[str, Any]:
    code = "timeout" if kind == "timeout" else "internal"
    return {"code": code, "message": message, "hint": None, "details": {"kind": kind}}
