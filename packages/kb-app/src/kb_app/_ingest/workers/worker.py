"""The child's side of ``executor``: a process that does one task after another.

It speaks in frames (eight bytes of length, then a pickle) over two pipes of its own, so what
a library prints goes nowhere and harms nothing. It ignores Ctrl-C, which is the parent's to
handle, and dies with the parent, even in the middle of a task: the end of a third
pipe, which nobody writes to, raises SIGIO. The standard library is all that it imports before
its first task. A task may say what it is at; that goes ahead of its reply.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import importlib
import math
import os
import pickle
import resource
import signal
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import FileIO
from threading import Lock, Thread
from typing import IO, Any

from kb_core.values import dataclass

__all__ = ["HEADER", "Phase", "Reply", "Without", "Work", "error_of", "hearing", "left_out"]
__all__ += ["main", "resolve", "say", "watched"]

HEADER = struct.Struct("<Q")

_WORTH_COLLECTING = 20_000
"""New objects before garbage is looked for; a file makes thousands, and hardly any in cycles."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a child is for: ``init`` runs once, ``task`` for every task.

    Either is a function that can be imported, or ``"module:function"``.
    """

    task: Callable[[Any], Any] | str
    init: Callable[[], object] | str | None = None
    memory_mb: int = 0
    cpu_secs: float = 0
    """How much memory the child may have, and a task processor time; 0: no limit."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a child answers: a value or an error, and whether it gives up afterwards."""

    value: Any = None
    error: Mapping[str, Any] | None = None
    seconds: float = 0.0
    is_last: bool = False
    oversized: int | None = None
    """In place of a value: the step that took more memory than it may. There may be one without."""


@dataclass(frozen=True, slots=True)
class Without:
    """A task that is begun anew, without the steps that took too much memory."""

    frame: bytes
    """The task, as it was sent at first."""
    steps: frozenset[int]


@dataclass(frozen=True, slots=True)
class Phase:
    """What a task that is under way is at now; none where it has just begun."""

    name: str = ""
    reached: float = 0.0
    whole: float = 0.0
    """How much of it is done, of how much: pages, or seconds of sound. 0: it is quick."""
    patience_secs: float = 0.0
    """How long the next step may take, where that is longer than a task may."""


hearing: ContextVar[Callable[[Phase], object]] = ContextVar("hearing", default=lambda _: None)
"""Who hears of the phases of the task that runs here; nobody, unless it is set."""


left_out: ContextVar[frozenset[int]] = ContextVar("left_out", default=frozenset())
"""The steps that the task which runs here has to do without."""


class _Watch:
    """Ends this process once it has grown by more than a step may, in the middle of any call.

    A library that is written in C can neither be stopped nor be told how much it may take, and
    a limit of the system would end it without a word. Where the system does not tell how large
    a process is, nothing is watched.
    """

    _EVERY_SECS = 0.005

    def __init__(self) -> None:
        self.tell: Callable[[Reply], object] | None = None
        self._most = 0.0
        self._step: int | None = None
        self._is_looking = False

    def begin(self, step: int, megabytes: float) -> None:
        if self.tell is None or not (size := _resident_mb()):
            return
        if not self._is_looking:
            self._is_looking = True
            Thread(target=self._look, name="kebab-watch", daemon=True).start()
        self._most, self._step = size + megabytes, step

    def end(self) -> None:
        self._step = None

    def _look(self) -> None:
        while self.tell is not None:
            time.sleep(self._EVERY_SECS)
            step = self._step
            if step is not None and _resident_mb() > self._most and step == self._step:
                self.tell(Reply(oversized=step, is_last=True))
                os._exit(0)


_watch = _Watch()


def _resident_mb() -> float:
    """Return how much memory this process has; 0 where that cannot be told."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - often
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


@contextmanager
def watched(step: int, megabytes: float) -> Iterator[Callable[[], None]]:
    """Let a step of a task take so much memory; yield what ends that before the step does.

    A worker process that grows by more does the task anew without it: ``left_out`` has the
    steps. Elsewhere nothing is watched.
    """
    _watch.begin(step, megabytes)
    try:
        yield _watch.end
    finally:
        _watch.end()


def say(
    phase: str, reached: float = 0.0, whole: float = 0.0, *, patience_secs: float = 0.0
) -> None:
    """Tell what this task is at now; from anywhere in it, and to nobody outside an executor.

    What takes long says how far it is, in pages or seconds of sound: it may take the time
    that a task has for each step, or *patience_secs* for the next one, if that is longer.
    """
    hearing.get()(Phase(phase, reached, whole, patience_secs))


def resolve(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return the function that *function* is, or names as ``module:function``."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def error_of(error: BaseException) -> dict[str, Any]:
    """Return *error* in the form of ``error.v1``; of another's errors, the type leads."""
    code = getattr(type(error), "code", None)
    details: dict[str, Any] = {"kind": "exception", "type": type(error).__name__}
    if isinstance(code, str) and hasattr(error, "hint"):
        own = {"code": code, "message": str(error), "hint": error.hint}
        return {**own, "details": {**getattr(error, "details", {}), **details}}
    text = str(error)
    message = f"{details['type']}: {text}" if text else details["type"]
    return {"code": "internal", "message": message[:2000], "hint": None, "details": details}


def _is_out_of_memory(error: BaseException) -> bool:
    """Say whether an allocation failed, or a file could not be mapped for that reason."""
    return isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )


def _out_of_memory(error: BaseException, work: Work) -> dict[str, Any]:
    if not work.memory_mb:
        return error_of(error)
    limit = f"{work.memory_mb:,} MB of memory; [limits] memory_mb is {work.memory_mb}"
    details = {"kind": "memory", "type": type(error).__name__}
    return {"code": "internal", "message": f"needs more than {limit}", "hint": None,
            "details": details}  # fmt: skip


def main(tasks: int, replies: int, life: int) -> None:
    """Do tasks until there are no more. The arguments are descriptors of pipes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(_WORTH_COLLECTING)
    _die_with_parent(life)
    reader, writer = os.fdopen(tasks, "rb"), FileIO(replies, "wb")
    try:
        work: Work = pickle.loads(_frame(reader))  # noqa: S301 - our parent wrote it
        _limit(resource.RLIMIT_CORE, 0)  # what was read is nobody's to find in a core file
        if work.memory_mb:
            _limit(resource.RLIMIT_AS, work.memory_mb * 1_000_000)
        task = resolve(work.task)
        if work.init is not None:
            resolve(work.init)()
    except BaseException as error:  # noqa: BLE001 - the parent has to hear of anything
        _send(writer, Reply(error=error_of(error), is_last=True))
        return
    _send(writer, Reply())

    def tell(said: Reply | Phase) -> None:
        if isinstance(said, Phase) and said.whole and work.cpu_secs:
            _limit_time(max(work.cpu_secs, said.patience_secs))
        _send(writer, said)

    hearing.set(tell)
    _watch.tell = tell
    while frame := _frame(reader):
        _limit_time(work.cpu_secs)
        reply = _do(task, frame, work)
        _send(writer, reply)
        if reply.is_last:
            return


_speaking = Lock()


def _frame(reader: IO[bytes]) -> bytes:
    header = reader.read(HEADER.size)
    return reader.read(HEADER.unpack(header)[0]) if len(header) == HEADER.size else b""


def _limit_time(seconds: float) -> None:
    """Have the kernel end this process once it has worked so much longer."""
    if seconds:
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds))


def _limit(kind: int, most: int) -> None:
    """Lower a limit of this process, where its system knows it; it can be raised again."""
    _, hard = resource.getrlimit(kind)
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, hard))


def _do(task: Callable[[Any], Any], frame: bytes, work: Work) -> Reply:
    started = time.perf_counter()
    try:
        given, steps = pickle.loads(frame), frozenset[int]()  # noqa: S301 - our parent wrote it
        if isinstance(given, Without):
            given, steps = pickle.loads(given.frame), given.steps  # noqa: S301 - as above
        left_out.set(steps)
        value = task(given)
    except BaseException as error:  # noqa: BLE001 - SystemExit of a library, too, is one task's error
        seconds = time.perf_counter() - started
        if not _is_out_of_memory(error):
            return Reply(error=error_of(error), seconds=seconds)
        # What is left of the heap is in pieces; a new process does better.
        _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)  # telling it takes some, too
        return Reply(error=_out_of_memory(error, work), seconds=seconds, is_last=True)
    return Reply(value, None, time.perf_counter() - started)


def _send(writer: FileIO, said: Reply | Phase) -> None:
    try:
        frame = pickle.dumps(said, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever a value's own pickling raises
        seconds = said.seconds if isinstance(said, Reply) else 0.0
        frame = pickle.dumps(Reply(error=error_of(error), seconds=seconds))
    left = [memoryview(HEADER.pack(len(frame))), memoryview(frame)]
    with _speaking:  # the watch speaks from a thread of its own
        while left:  # both at once: who reads them wakes once
            written = os.writev(writer.fileno(), left)
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            left[:1] = [view[written:] for view in left[:1]]


def _die_with_parent(life: int) -> None:
    """Have the kernel end this process when the last writer of *life* is gone."""
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        gone = os.read(life, 1) == b""
    except BlockingIOError:
        gone = False
    if gone:  # before we listened
        os._exit(1)
