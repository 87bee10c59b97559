"""The classes of our commands: global options after the name, and an example in the help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kb_cli._globals import global_options

__all__ = ["KebabCommand", "KebabSubgroup", "command", "subgroup"]


class _WithExample(click.Command):
    """A command that takes the global options too, and whose help shows *example*."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.params += global_options(hidden=True)
        self.example = example

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002 - as click calls it
        formatter: click.HelpFormatter,
    ) -> None:
        if self.example:
            with formatter.section("Example"):
                for line in self.example.strip().splitlines():
                    formatter.write(f"  $ {line.strip()}\n")
        formatter.write("\nGlobal options work here, too: see 'kebab --help'.\n")


class KebabCommand(_WithExample):
    """A command that does something."""


class KebabSubgroup(_WithExample, click.Group):
    """A word with commands under it, such as ``fetch``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as click's
        kwargs.setdefault("no_args_is_help", False)  # "missing command" is one clear line
        super().__init__(*args, **kwargs)


def command(name: str, *, example: str) -> Callable[[Callable[..., None]], KebabCommand]:
    """Make a command of a function; *example* has one command a line."""
    return click.command(name, cls=KebabCommand, example=example)


def subgroup(name: str, *, example: str) -> Callable[[Callable[..., None]], KebabSubgroup]:
    """Make a group of a function whose docstring is its help."""
    return click.group(name, cls=KebabSubgroup, example=example)
