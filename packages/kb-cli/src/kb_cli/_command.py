"""The classes of our commands, and the options that all of them take (ruling R22).

A command takes the global options after its name, too, and its help shows an example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kb_cli._context import CliContext

__all__ = ["KebabCommand", "KebabSubgroup", "command", "completed_by", "global_options", "subgroup"]

_FLAGS = {
    "as_json": ("--json", "Print wire objects, one a line, instead of text."),
    "readonly": ("--readonly", "Write nothing; commands that would are refused."),
    "quiet": ("--quiet", "Print results and errors only."),
    "verbose": ("--verbose", "Log to stderr; show where an error came from."),
}


def completed_by(what: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Return what completes a value: ``file``, ``dir``, ``document``, or a filter's name."""

    def items(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Any:  # noqa: ANN401
        from kb_cli._completing import complete  # only a shell that asks needs it

        return complete(what, ctx, incomplete)

    return items


def global_options(*, hidden: bool) -> list[click.Parameter]:
    """Return new options; *hidden* where the command above shows them already.

    They are eager, so that ``--json`` is known before anything else can be wrong.
    """
    config = click.Option(
        ["--config", "config_option"],
        metavar="PATH",
        help="The configuration file, instead of the usual one.",
        shell_complete=completed_by("file"),
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_remember,
    )
    flags = [
        click.Option(
            [flag, name],
            is_flag=True,
            help=text,
            expose_value=False,
            is_eager=True,
            hidden=hidden,
            callback=_remember,
        )
        for name, (flag, text) in _FLAGS.items()
    ]
    version = click.Option(
        ["--version"],
        is_flag=True,
        help="Print the version, and exit.",
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_print_version,
    )
    return [config, *flags, version]


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    cli = ctx.ensure_object(CliContext)
    # An option that is absent here may have been given before the command.
    if value and param.name:
        setattr(cli, param.name, value)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from kb_core.version import __version__

        click.echo(f"kebab {__version__}")
        ctx.exit()


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
