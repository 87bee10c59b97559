"""Questions in SQL: a store read as it is, by somebody who knows what to ask.

A statement is run by a process of its own (``kb_store.asked``), which opens the file for
reading alone and can reach no other file, no setting and no extension. It ends after a time, at
a size of memory, and when enough was told; what it does to itself is an error, and no more. A
writer at work keeps the file closed, hence ``StoreBusy``; what is wrong with the statement is
``InvalidInput``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from kb_core.errors import InvalidInput, IoError, KbError, NotIndexed, Timeout
from kb_core.stored import QueryResult

__all__ = ["query"]

_PROGRAM = [sys.executable, "-P", "-m", "kb_store.asked"]
"""-P: no module is taken from the folder that somebody happens to be in."""
_LAST_WORDS_SECS = 10
"""What a process has for starting, and for telling that its time is over."""


def query(
    path: Path, sql: str, limit: int, *, seconds: float = 30.0, memory_mb: int = 512
) -> QueryResult:
    """Return at most *limit* rows of *sql* over the store at *path*.

    ``Timeout`` after *seconds*; ``InvalidInput`` for a statement that is no question, is wrong,
    or wants more than *memory_mb* or than can be told.
    """
    if not path.exists():
        raise NotIndexed(f"there is no store at {str(path)!r}", hint="run 'kebab ingest'")
    asked = {
        "path": str(path),
        "sql": sql,
        "limit": limit,
        "seconds": seconds,
        "memory_mb": memory_mb,
    }
    given = json.dumps(asked).encode()
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            _PROGRAM,
            input=given,
            capture_output=True,
            timeout=seconds + _LAST_WORDS_SECS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise too_long(seconds) from None
    except OSError as error:
        raise IoError(f"could not start a process for the statement: {error}") from error
    return _result(done, memory_mb)


def too_long(seconds: float) -> Timeout:
    """Return what to say of a statement that was not done in time."""
    return Timeout(
        f"the statement was not done in {seconds:g} seconds",
        hint="ask for less, or allow more: --timeout",
        details={"seconds": seconds},
    )


def _result(done: subprocess.CompletedProcess[bytes], memory_mb: int) -> QueryResult:
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise InvalidInput(
            f"the statement ended the process that ran it, most likely for want of memory: it "
            f"may have {memory_mb} MB",
            hint="ask for less at once",
            details={"field": "sql", "exit_code": done.returncode},
        ) from None
    if "error" in told:
        _raise(told["error"])
    rows = tuple(map(tuple, told["rows"]))
    return QueryResult(tuple(told["columns"]), rows, told["truncated"])


def _raise(error: dict[str, Any]) -> NoReturn:
    kinds = {kind.code: kind for kind in KbError.__subclasses__()}
    raise kinds.get(error["code"], KbError)(
        error["message"], hint=error["hint"], details=error["details"]
    )
