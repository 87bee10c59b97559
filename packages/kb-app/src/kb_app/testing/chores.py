"""Tasks for tests of executors: some work, some crash, hang, or take what there is."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kb_app._ingest.workers.worker import left_out, say, watched
from kb_core.errors import InvalidInput

__all__ = ["bad_init", "climb", "do", "double", "hoard", "init", "noted", "size", "steps"]
__all__ += ["stroll", "whose"]

_started: list[str] = []


def init() -> None:
    """Note what the libraries of a child are told."""
    _started.append(os.environ["TOKENIZERS_PARALLELISM"] + os.environ["OMP_NUM_THREADS"])


def noted() -> None:
    """Make the file that ``STARTED`` names."""
    Path(os.environ["STARTED"]).open("x").close()


def bad_init() -> None:
    """Fail."""
    raise RuntimeError("no grammar")


def whose() -> dict[str, str]:
    """Return what no two processes have in common."""
    return {"kebab": "1", "process": str(os.getpid())}


def double(n: int) -> int:
    """Return twice as much."""
    return 2 * n


def size(data: bytes) -> int:
    """Return how many there are."""
    return len(data)


def stroll(n: int) -> int:
    """Go through two phases."""
    say("left")
    say("right")
    return n


def climb(many: int) -> int:
    """Take *many* steps of 0.2 seconds."""
    for n in range(many):
        say("climbing", n + 1, many)
        time.sleep(0.2)
    return many


def hoard(many: int) -> list[int]:
    """Take *many* steps, of which every other one takes memory without end; return the others."""
    taken, hoarded = [], []
    for step in range(many):
        if step in left_out.get():
            continue
        with watched(step, 40):
            while step % 2:
                hoarded.append(b"a" * 1_000_000)
        taken.append(step)
    return taken


def steps(many: int) -> int:
    """Take *many* steps of 0.7 seconds of work."""
    for step in range(many):
        say("ocr", step + 1, many)
        _work(0.7)
    return many


def do(what: str) -> object:
    """Do what is said, or return it."""
    if what in _DEEDS:
        return _DEEDS[what]()
    word, _, of = what.partition(" ")
    if word == "work":
        _work(float(of))
    elif word == "wait":
        _wait_for(of)
    return what


def _work(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def _wait_for(path: str) -> None:
    say("waiting")
    while not Path(path).exists():
        time.sleep(0.01)


def _fail() -> object:
    raise ValueError("no good")


def _refuse() -> object:
    raise InvalidInput("not like this", hint="like that", details={"a": 1})


def _print() -> str:
    print("noise" * 100_000, flush=True)  # noqa: T201 - that is the deed
    os.write(1, b"noise")
    return "print"


_DEEDS: dict[str, Callable[[], object]] = {
    "abort": os.abort,
    "big": lambda: b"x" * 50_000_000,
    "end actor": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "exit": lambda: os._exit(3),
    "hang": lambda: time.sleep(600),
    "kb": _refuse,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "lambda": lambda: lambda: 0,
    "memory": lambda: len(b"x" * 2_000_000_000),
    "pid": os.getpid,
    "print": _print,
    "raise": _fail,
    "regex": lambda: re.match("(a*)*b", "a" * 60),
    "segfault": lambda: ctypes.string_at(0),
    "started": lambda: _started,
    "sys.exit": lambda: sys.exit(4),
}
