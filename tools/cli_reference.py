"""Write ``docs/reference/cli.md`` from the commands themselves.

With ``check``, say whether the page is up to date, and fail if it is not.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from kb_cli.main import cli

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"
WIDTH = 88
HEAD = """\
<!-- Written by tools/cli_reference.py: run `tools/dev cli-reference`. -->

# The command line

What `--help` says, for every command. `kb` is the same command under a shorter name.
"""


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    # The command's own settings first: without them `-h` would be missing from the help.
    settings = {**command.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _sections(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[str]:
    context = _context(command, name, parent)
    depth = "#" * min(2 + context.command_path.count(" "), 4)
    yield f"{depth} `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            child = command.get_command(context, sub)
            if child is not None and not child.hidden:
                yield from _sections(child, sub, context)


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_sections(cli, "kebab")])


def _check(text: str) -> int:
    old = PAGE.read_text("utf-8") if PAGE.is_file() else ""
    if old == text:
        print(f"{PAGE.relative_to(ROOT)} is up to date")
        return 0
    print(*difflib.unified_diff(old.splitlines(), text.splitlines(), lineterm="", n=1), sep="\n")
    print(f"{PAGE.relative_to(ROOT)} is stale: run `tools/dev cli-reference`", file=sys.stderr)
    return 1


def main(words: list[str]) -> int:
    """Write the page, or check it."""
    text = page()
    if words == ["check"]:
        return _check(text)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
