"""The ``kebab`` command.

``cli`` is the group that holds every command; ``main`` is what the console calls. Both
are cheap: a command's module loads when the command runs, and the application below
it when the command needs it (lesson 51). ``kebab --help`` imports click and nothing
else of weight.
"""

from __future__ import annotations

import sys

from kb_cli._group import KebabGroup

__all__ = ["cli", "main"]

cli = KebabGroup()


def main() -> None:
    """Run the command line of this process, and end it with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character gets an escape instead of a traceback, and a
        # file name that is not UTF-8 stays readable.
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    cli.main()
