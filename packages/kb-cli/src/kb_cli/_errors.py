"""How an error is shown, and the exit code it becomes."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import click

from kb_core.disk import disk_hint
from kb_core.errors import InvalidInput, IoError, KbError, ReadonlyMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_cli._context import CliContext

__all__ = ["show"]

_REFUSED = 1
_FAILED = 2
_SYNONYMS = {
    "--explain": "--trace",
    "--k": "-k",
    "--language": "--lang",
    "--limit": "-k",
    "--n": "-k",
    "--path": "--path-glob",
    "--tags": "--tag",
    "--top-k": "-k",
    "--type": "--media",
}
"""What other tools call an option of ours; where the command has one of that name, it is meant."""


def show(error: Exception, cli: CliContext) -> int:
    """Print *error* on stderr, and return the exit code."""
    from kb_core import wire

    known = _translated(error)
    told = wire.reworded(wire.error(known), cli.named)
    if cli.as_json:
        click.echo(wire.dumps(told), err=True)
    else:
        _show_text(told, cli)
    if cli.verbose:
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    return _REFUSED if isinstance(known, ReadonlyMode) else _FAILED


def _show_text(told: Mapping[str, Any], cli: CliContext) -> None:
    from kb_app.shown import printable

    word = click.style("error:", fg="red", bold=True)
    click.echo(f"{word} {printable(told['message'])}", err=True, color=cli.color)
    if told["hint"]:
        click.echo(f"  hint: {printable(told['hint'])}", err=True, color=cli.color)


def _translated(error: Exception) -> Exception:
    if isinstance(error, KbError):
        return error
    if isinstance(error, click.UsageError):
        return _usage(error)
    if isinstance(error, click.ClickException):
        return InvalidInput(_lowered(error.format_message()))
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return InvalidInput(f"{error.object!r} holds bytes that are not UTF-8")
    if isinstance(error, OSError) and error.errno is not None:
        number = errno.errorcode.get(error.errno)
        return IoError(_reason(error), hint=disk_hint(error.errno), details={"errno": number})
    return error


def _usage(error: click.UsageError) -> InvalidInput:
    """Return what is wrong with the arguments, with the words that are nearest."""
    path = error.ctx.command_path if error.ctx else "kebab"
    details: dict[str, object] = {}
    near: list[str] = []
    message = error.message  # without click's own suggestions, which go into the hint
    if isinstance(error, click.NoSuchOption):
        own = _SYNONYMS.get(error.option_name)
        near = [own] if own else list(error.possibilities or ())
        details = {"field": error.option_name, "nearest": near}
    elif isinstance(error, click.NoSuchCommand):
        near = _near_commands(error)
        details = {"field": "command", "value": error.command_name, "nearest": near}
    elif isinstance(error, click.BadParameter):
        message = " ".join(error.format_message().split())  # click lists choices by the line
        details = {"field": error.param.name} if error.param else {}
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"{path} --help"
    if isinstance(error, click.NoSuchCommand):
        hint += _as_what_is_implied(error)
    if isinstance(error, click.NoSuchOption):
        hint = _where_it_goes(error) or (hint if near else f"{hint}{_as_a_text(error)}")
    return InvalidInput(_lowered(message.rstrip(".")), hint=hint, details=details)


def _where_it_goes(error: click.NoSuchOption) -> str | None:
    """Return the way out where another command has that option, or is called so."""
    ctx, option = error.ctx, error.option_name
    for each in (ctx, ctx.parent if ctx else None):
        if each is None or not isinstance(each.command, click.Group):
            continue
        if each is not ctx and each.parent is None:  # of all commands, none is meant
            continue
        for name in sorted(each.command.list_commands(each), key=lambda name: name != "search"):
            whole = f"{each.command_path} {name}"
            if option == f"--{name}":
                return f"it is a command: {whole}"
            command = each.command.get_command(each, name) if each is ctx else None
            if command and any(option in param.opts for param in command.params):
                return f"it goes after the command: {whole} {option}"
    return None


def _as_a_text(error: click.NoSuchOption) -> str:
    """Return how a text is given that looks like an option, where the command takes one."""
    params = error.ctx.command.params if error.ctx else []
    is_taken = any(isinstance(param, click.Argument) for param in params)
    return "; a text that begins with '-' comes after '--'" if is_taken else ""


def _as_what_is_implied(error: click.NoSuchCommand) -> str:
    """Return how the word is given to the command that a group implies, if it implies one."""
    from kb_cli._command import KebabSubgroup

    group = error.ctx.command if error.ctx else None
    implied = group.implied(f"./{error.command_name}") if isinstance(group, KebabSubgroup) else None
    if implied is None or error.ctx is None:
        return ""
    return f" or what is called so: {error.ctx.command_path} {implied} {error.command_name}"


def _near_commands(error: click.NoSuchCommand) -> list[str]:
    from difflib import get_close_matches

    group = error.ctx.command if error.ctx else None
    known = group.list_commands(error.ctx) if error.ctx and isinstance(group, click.Group) else []
    return get_close_matches(error.command_name, known)


def _lowered(message: str) -> str:
    """Return a sentence of click's as our messages are written."""
    return message[:1].lower() + message[1:]


def _reason(error: OSError) -> str:
    what = (error.strerror or str(error)).lower()
    return f"'{error.filename}': {what}" if error.filename else what
