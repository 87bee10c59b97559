"""The child's side of ``executor``: a process that does one task after another.

It speaks in frames (eight bytes of length, then a pickle) over two pipes of its own, so what
a library prints goes nowhere and harms nothing. It ignores Ctrl-C, which is the parent's to
handle, and dies with the parent, even in the middle of a task: the end of a third
pipe, which nobody writes to, raises SIGIO. The standard library is all that it imports before
its first task. A task may say what it is at; that goes ahead of its reply.
"""

from __future__ import annotations

import fcntl
import importlib
import math
import os
import pickle
import resource
import signal
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from io import FileIO
from typing import IO, Any

from kb_core.values import dataclass

__all__ = ["HEADER", "Phase", "Reply", "Work", "error_of", "hearing", "main", "resolve", "say"]

HEADER = struct.Struct("<Q")


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


def _out_of_memory(error: MemoryError, work: Work) -> dict[str, Any]:
    if not work.memory_mb:
        return error_of(error)
    limit = f"{work.memory_mb:,} MB of memory; [limits] memory_mb is {work.memory_mb}"
    details = {"kind": "memory", "type": type(error).__name__}
    return {"code": "internal", "message": f"needs more than {limit}", "hint": None,
            "details": details}  # fmt: skip


def main(tasks: int, replies: int, life: int) -> None:
    """Do tasks until there are no more. The arguments are descriptors of pipes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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

    def tell(phase: Phase) -> None:
        if phase.whole and work.cpu_secs:
            _limit_time(max(work.cpu_secs, phase.patience_secs))
        _send(writer, phase)

    hearing.set(tell)
    while frame := _frame(reader):
        _limit_time(work.cpu_secs)
        reply = _do(task, frame, work)
        _send(writer, reply)
        if reply.is_last:
            return


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
        value = task(pickle.loads(frame))  # noqa: S301 - our parent wrote it
    except MemoryError as error:
        # What is left of the heap is in pieces; a new process does better.
        _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)  # telling it takes some, too
        seconds = time.perf_counter() - started
        return Reply(error=_out_of_memory(error, work), seconds=seconds, is_last=True)
    except BaseException as error:  # noqa: BLE001 - SystemExit of a library, too, is one task's error
        return Reply(error=error_of(error), seconds=time.perf_counter() - started)
    return Reply(value, None, time.perf_counter() - started)


def _send(writer: FileIO, said: Reply | Phase) -> None:
    try:
        frame = pickle.dumps(said, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever a value's own pickling raises
        seconds = said.seconds if isinstance(said, Reply) else 0.0
        frame = pickle.dumps(Reply(error=error_of(error), seconds=seconds))
    for part in (HEADER.pack(len(frame)), frame):
        view = memoryview(part)
        while view:
            view = view[writer.write(view) :]


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
