"""click's commands, made of what ``kb_cli._declared`` tells of ours (ruling R22).

A command takes the global options after its name, too, and its help shows an example.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kb_cli._context import CliContext
from kb_cli._declared import (
    GLOBAL,
    Declared,
    DeclaredGroup,
    NewFile,
    OneOf,
    Parameter,
    Real,
    Whole,
    first_word,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["KebabCommand", "KebabSubgroup", "as_click", "global_options", "pass_cli"]

pass_cli = click.make_pass_decorator(CliContext, ensure=True)


def as_click(declared: Declared) -> click.Command:
    """Return click's command for one of ours, with those under it."""
    kept: dict[str, Any] = {
        "help": declared.help,
        "example": declared.example,
        "params": [_parameter(each) for each in declared.parameters],
    }
    if not isinstance(declared, DeclaredGroup):
        return KebabCommand(declared.name, callback=pass_cli(declared.function), **kept)
    group = KebabSubgroup(declared.name, callback=declared.function, **kept)
    group.chosen, group.implied = declared.chosen, declared.implied
    for each in declared.commands.values():
        group.add_command(as_click(each))
    return group


def global_options(*, hidden: bool) -> list[click.Parameter]:
    """Return new options; *hidden* where the command above shows them already.

    They are eager, so that ``--json`` is known before anything else can be wrong.
    """
    version = click.Option(
        ["--version"],
        is_flag=True,
        help="Print the version, and exit.",
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_print_version,
    )
    return [*(_parameter(each, is_eager=True, hidden=hidden) for each in GLOBAL), version]


def _parameter(declared: Parameter, **asked: bool) -> click.Parameter:
    """Return click's parameter for one of ours."""
    given: dict[str, Any] = {**declared.given, **asked}
    if "type" in given:
        given["type"] = _type(given["type"])
    if not declared.is_option:
        return click.Argument(declared.words, **given)
    if not declared.sets:
        return click.Option(declared.words, **given)
    given |= {"expose_value": False, "callback": _remember}
    return click.Option([*declared.words, declared.sets], **given)


def _type(declared: object) -> Any:  # noqa: ANN401 - as click's
    """Return click's type for one of ours; without bounds, it says nothing of any."""
    match declared:
        case Whole(None, None) | Real(None, None):
            return int if isinstance(declared, Whole) else float
        case Whole(least, most):
            return click.IntRange(least, most)
        case Real(least, most):
            return click.FloatRange(least, most)
        case OneOf(choices):
            return click.Choice(choices)
        case NewFile():
            return click.Path(path_type=Path, dir_okay=False)
        case _:
            return declared


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    cli = ctx.ensure_object(CliContext)
    # An option that is absent here may have been given before the command.
    if (value or value == "") and param.name:  # an option that is empty was given: --config "$KB"
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # of a value too many or too few, click leaves it out
            raise

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

    chosen: Callable[[str], str | None] = staticmethod(lambda word: word)
    """Says which command a word names or implies."""
    implied: Callable[[str], str | None] = staticmethod(lambda _: None)
    """Says which command a word implies that names none, an option or not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as click's
        kwargs.setdefault("no_args_is_help", False)  # "missing command" is one clear line
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the command that is implied by what stands after ``--``, or after its options."""
        at = first_word(args, {opt for param in self.params for opt in param.opts})
        rest, telling = args[at:], list[str]()
        if rest[:1] == ["--"]:
            telling = [word for word in rest[1:2] if word not in self.commands]
        elif rest and rest[0].startswith("-") and not self.commands.keys() & {*args}:
            telling = rest[::-1]
        chosen = next(filter(None, map(self.implied, telling)), None)
        return super().parse_args(ctx, args if chosen is None else [*args[:at], chosen, *rest])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that *incomplete* may be, and what an implied one may be given."""
        found = super().shell_complete(ctx, incomplete)
        implied = self.commands.get(self.implied(f"./{incomplete}") or "")
        if implied is None or incomplete.startswith("-"):
            return found
        given = next(one for one in implied.params if isinstance(one, click.Argument))
        return [*found, *given.shell_complete(ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        chosen = self.chosen(args[0])
        if chosen is not None and chosen != args[0]:
            args = [chosen, *args]
        return super().resolve_command(ctx, args)
