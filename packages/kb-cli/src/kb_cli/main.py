"""The ``kebab`` command.

``run`` is what the console calls, and ``cli`` click's group of all commands. A plain command
line is read and run without that; help, completion, interfaces and mistakes are click's. A
command's module loads when the command runs, and the application below it when the command
needs it (lesson 51): ``kebab --help`` imports click and nothing else of weight.
"""

from __future__ import annotations

import sys

try:
    import gc
    import os
    from typing import TYPE_CHECKING

    from kb_cli._catalog import COMPLETE_VAR
    from kb_cli._context import CliContext
    from kb_cli._declared import read
except KeyboardInterrupt:  # a tenth of a second is long enough for Ctrl-C
    sys.stderr.write("\n")
    sys.exit(130)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_cli._group import KebabGroup

    cli: KebabGroup

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

_held: list[CliContext] = []
"""What has a model and an index open, which take longer to let go of than a search does."""


def __getattr__(name: str) -> KebabGroup:
    if name != "cli":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kb_cli._group import KebabGroup

    globals()[name] = made = KebabGroup()
    return made


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
        words = sys.argv[1:]
        code = None if COMPLETE_VAR in os.environ else _run_plain(words)
        if code is None:
            __getattr__("cli").main(words)
        sys.exit(code)
    finally:
        # The end of the process frees everything: nothing is to be looked through once more.
        # Only DuckDB, which a store loads, wants to see each of its objects go.
        if "kb_store" in sys.modules:
            _held.clear()
        else:
            gc.freeze()


def _run_plain(words: Sequence[str]) -> int | None:
    """Run a plain command line, and return its exit code; of another return nothing."""
    cli = CliContext()
    _held.append(cli)
    try:
        line = read(words)
        if line is None:
            return None
        for name, value in line.settings.items():
            setattr(cli, name, value)
        line.function(cli, **line.values)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, and not when the interpreter ends, an error can be told
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - it is shown
        from kb_cli._group import end_of

        return end_of(error, cli, words)
    return 0


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
    except KeyboardInterrupt:  # before a command has begun, or again while its end is told
        sys.stderr.write("\n")
        sys.exit(130)


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
