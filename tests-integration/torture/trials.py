"""Trials: jobs in children of one process that has everything imported, and runs no thread.

A fork costs milliseconds where a new process pays a second for its imports. What is to go
wrong is set in the child: a fault by the preloaded library (``refusing_disk.c``), the end at
a named step of the write protocol (``steps``), or the end after so much processor time.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from kb_core.errors import KbError

__all__ = [
    "Fault",
    "Outcome",
    "Trial",
    "build_shim",
    "has_shim",
    "import_as",
    "preloaded",
    "run",
    "threads",
]

_PATIENCE_SECS = 300.0
_MOST_STDERR = 4000
_HOME = "KEBAB_TORTURE_HOME"
_MEMORY = "/dev/shm"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong in a child; nothing, as it stands."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """What ``refusing_disk.c`` reads."""
    step: str = ""
    """The step of the write protocol at which the child is killed, as ``steps`` names it."""
    nth: int = 1
    """Which time the step is reached."""
    cpu_secs: float = 0.0
    """The child is killed when it has used so much processor time; 0: it is not."""
    file_bytes: int = 0
    """No file can become larger than this; 0: any can."""


@dataclass(frozen=True)
class Outcome:
    """How a child ended."""

    ended: str
    """``done``, ``killed``, ``said`` (a ``KbError``), ``broke`` (any other), ``hung``."""
    value: Any = None
    """What the job returned."""
    told: str = ""
    """The code of the error, or the traceback of what should not have been raised."""
    calls: int = 0
    """How many calls the fault could have met; unknown where the child was killed."""
    cpu_secs: float = 0.0
    stderr: str = ""


class Trial:
    """A child that was started, and will end."""

    def __init__(self, job: Callable[[], Any], fault: Fault, stderr: Path) -> None:
        self._stderr = stderr
        stderr.write_bytes(b"")
        self._pipe, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._pipe)
            _work(job, fault, writing, stderr)
        os.close(writing)

    def wait(self) -> Outcome:
        """Wait for the end; a child that does not come to one is killed."""
        told, deadline = b"", time.monotonic() + _PATIENCE_SECS
        while select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (part := os.read(self._pipe, 1 << 20)):
                break
            told += part
        else:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self._pipe)
        _, status, used = os.wait4(self.pid, 0)
        cpu, errors = used.ru_utime + used.ru_stime, self._said()
        if time.monotonic() >= deadline:
            return Outcome("hung", cpu_secs=cpu, stderr=errors)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in {signal.SIGKILL, signal.SIGPROF}:
            return Outcome("killed", cpu_secs=cpu, stderr=errors)
        if os.WIFSIGNALED(status) or not told:
            return Outcome("broke", told=f"status {status}", cpu_secs=cpu, stderr=errors)
        ended, value, said, calls = pickle.loads(told)
        return Outcome(ended, value, said, calls, cpu, errors)

    def kill(self) -> None:
        """Kill it, wherever it is."""
        os.kill(self.pid, signal.SIGKILL)

    def _said(self) -> str:
        return self._stderr.read_bytes()[-_MOST_STDERR:].decode("utf-8", "replace")


def run(job: Callable[[], Any], stderr: Path, fault: Fault | None = None) -> Outcome:
    """Do *job* in a child that *fault* happens to, and wait for its end."""
    return Trial(job, fault or Fault(), stderr).wait()


def preloaded(name: str) -> Path:
    """Return a new folder for this program, which is begun anew once if there is a compiler.

    Then what refuses calls is preloaded; files are in memory where that can be.
    """
    if _HOME not in os.environ:
        _begin_anew(name)
    return Path(os.environ[_HOME])


def _begin_anew(name: str) -> NoReturn:
    room = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    made = Path(tempfile.mkdtemp(prefix=name, dir=room))
    environ = os.environ | {_HOME: str(made), "OPENBLAS_NUM_THREADS": "1"}
    if library := build_shim(made):
        environ["LD_PRELOAD"] = str(library)
    os.execve(sys.executable, [sys.executable, *sys.argv], environ)


def has_shim() -> bool:
    """Say whether what refuses calls is preloaded."""
    return hasattr(ctypes.CDLL(None), "fault_counted")


def import_as(job: Callable[[], Any], stderr: Path, *, but: tuple[str, ...] = ()) -> None:
    """Import here whatever *job* does in a child, *but* packages that begin threads."""
    for name in run(partial(_modules_of, job), stderr).value:
        if name.startswith(but):
            continue
        with suppress(ImportError):  # what is no module of its own, or is meant to be missing
            import_module(name)


def _modules_of(job: Callable[[], Any]) -> list[str]:
    job()
    return [name for name in sys.modules if name != "__main__"]


def threads() -> int:
    """Return how many threads this process runs: only with one may it fork."""
    return len([*Path("/proc/self/task").iterdir()])


def build_shim(folder: Path) -> Path | None:
    """Build the library that refuses calls; ``None`` where there is no compiler."""
    made, source = folder / "refusing_disk.so", Path(__file__).parents[1] / "refusing_disk.c"
    line = ["cc", "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"]
    try:
        done = subprocess.run(line, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else made


def _work(job: Callable[[], Any], fault: Fault, pipe: int, stderr: Path) -> NoReturn:
    """Do *job* in the child, and tell its parent what came of it."""
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_APPEND), 2)
    try:
        _arm(fault)
        told = ("done", job(), "")
    except KbError as error:
        told = ("said", str(error), error.code)
    except BaseException:  # noqa: BLE001 - whatever it is, the parent judges it
        told = ("broke", None, traceback.format_exc())
    data = pickle.dumps((*told, _counted()))
    while data:
        data = data[os.write(pipe, data) :]
    os._exit(0)


def _arm(fault: Fault) -> None:
    os.environ.update(fault.environ)
    if fault.step:
        _end_at(fault.step, fault.nth)
    if fault.cpu_secs:
        signal.setitimer(signal.ITIMER_PROF, fault.cpu_secs)  # nobody handles it: it kills
    if fault.file_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.file_bytes, fault.file_bytes))


def _end_at(step: str, nth: int) -> None:
    """Have this process killed ``before`` or ``after`` the *nth* call of what *step* names."""
    when, _, place = step.partition(" ")
    module, _, path = place.partition(":")
    owner: Any = import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    bound = vars(owner)[name]
    real = bound.__func__ if isinstance(bound, (classmethod, staticmethod)) else bound
    calls = 0

    def ending(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the real one
        nonlocal calls
        calls += 1
        if when == "before" and calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = real(*args, **options)
        if when == "after" and calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    made = type(bound)(ending) if bound is not real else ending
    setattr(owner, name, made)


def _counted() -> int:
    if not has_shim():
        return 0
    return ctypes.c_int.in_dll(ctypes.CDLL(None), "fault_counted").value
