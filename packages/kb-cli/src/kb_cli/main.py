"""The ``kebab`` command.

``cli`` is the group that holds every command; ``run`` is what the console calls. Both
are cheap: a command's module loads when the command runs, and the application below
it when the command needs it (lesson 51). ``kebab --help`` imports click and nothing
else of weight.
"""

from __future__ import annotations

import gc
import os
import sys

from kb_cli._group import KebabGroup

__all__ = ["cli", "main", "run"]

_WORTH_COLLECTING = 50_000
"""Objects more than before, after which garbage is looked for. Nearly all that a command makes
while it starts stays: looking through it every 700 objects is a twentieth of a search."""
_WITHOUT_THREADS = "OPENBLAS_NUM_THREADS"
"""Of numpy's library for matrices, which starts its threads when it is imported, a fourteenth of
a cold search by meaning: nothing here multiplies what is large enough for two."""

_LOOK_AT_THE_END = frozenset(
    {"coverage", "kb_mcp", "kb_store", "kb_tui", "multiprocessing", "tempfile"}
)
"""Modules that have something to do when a process ends, or whose users do."""

cli = KebabGroup()


def main() -> None:
    """Run the command line of this process, and end it with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character gets an escape instead of a traceback, and a
        # file name that is not UTF-8 stays readable.
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_WORTH_COLLECTING)
    os.environ.setdefault(_WITHOUT_THREADS, "1")
    try:
        cli.main()
    finally:
        # The end of the process frees everything: nothing is to be looked through once more.
        # Only DuckDB, which a store loads, wants to see each of its objects go.
        if "kb_store" not in sys.modules:
            gc.freeze()


def run() -> None:
    """Be the process of a command: as ``main``, and away with it where nobody looks at its end.

    Python takes a thirtieth of a cold search to let go of what the end of the process frees.
    """
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int) and _is_done():
            os._exit(end.code)
        raise


def _is_done() -> bool:
    """Say whether everything is written, and nothing is left to be done by anyone."""
    threads = sys.modules.get("threading")
    if not sys.modules.keys().isdisjoint(_LOOK_AT_THE_END):
        return False
    if threads is not None and threads.active_count() > 1:
        return False
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True
