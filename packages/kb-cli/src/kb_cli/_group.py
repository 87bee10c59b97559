"""The group of all commands: what is found, and what becomes of an error.

Nothing between a command and this group catches a ``KbError``. An error is one line
(and a hint) on stderr, error.v1 with ``--json``, and an exit code: 1 for a refusal, 2
for everything else, 130 for an interruption. Stdout holds results only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from kb_cli._catalog import COMMANDS, COMPLETE_VAR, EXTRAS
from kb_cli._command import as_click, global_options
from kb_cli._context import CliContext, Ended
from kb_cli._interfaces import installed_interfaces

__all__ = ["KebabGroup", "end_of"]

_HELP = """A knowledge base over your own files: search by words and by meaning, with citations.

\b
  kebab add ~/notes
  kebab ingest
  kebab search "where did I write about chunking"
"""

_INTERRUPTED = 130


class KebabGroup(click.Group):
    """``kebab``: commands load when they run, errors are shown in one place."""

    def __init__(self) -> None:
        super().__init__(
            "kebab",
            help=_HELP,
            params=global_options(hidden=False),
            callback=_help_alone,
            invoke_without_command=True,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return [*COMMANDS, *installed_interfaces()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            return as_click(getattr(import_module(f"kb_cli.commands.{module}"), attribute))
        if interface := installed_interfaces().get(cmd_name):
            return interface.command()
        if cmd_name in EXTRAS and not ctx.resilient_parsing:
            from kb_core.errors import MissingExtra

            raise MissingExtra(
                f"{cmd_name!r} comes with {EXTRAS[cmd_name]}, which is not installed",
                hint=f"install {EXTRAS[cmd_name]} beside kb-cli",
                details={"extra": EXTRAS[cmd_name]},
            )
        return None

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - as click calls it
        formatter: click.HelpFormatter,
    ) -> None:
        # click would load every command for its line.
        rows = [(name, line) for name, (_, line) in COMMANDS.items()]
        rows += [(name, found.summary) for name, found in installed_interfaces().items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401 - as click's
    ) -> Any:  # noqa: ANN401 - as click's
        """Run, show what went wrong, and end the process with the exit code."""
        if not standalone_mode:
            extra["windows_expand_args"] = windows_expand_args
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        name = prog_name or _program()
        # One variable, so that the script of one name completes the other, too.
        self._main_shell_completion(extra, name, complete_var or COMPLETE_VAR)
        words = list(sys.argv[1:] if args is None else args)
        sys.exit(self._run(words, name, extra))

    def _run(self, words: list[str], name: str, extra: dict[str, Any]) -> int:
        cli: CliContext = extra.setdefault("obj", CliContext())
        extra.setdefault("color", cli.color)
        try:
            with self.make_context(name, list(words), **extra) as ctx:
                self.invoke(ctx)
            _flush()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - it is shown
            return end_of(error, cli, words)
        return 0


def end_of(error: BaseException, cli: CliContext, words: Sequence[str]) -> int:
    """Show what ended the command line *words*, and return the exit code."""
    match error:
        case Ended():
            _let_go_of_output()
            return error.code
        case click.exceptions.Exit():
            return error.exit_code
        case KeyboardInterrupt() | EOFError() | click.Abort():
            click.echo(err=True)  # closes the line that the terminal wrote ^C on
            return _INTERRUPTED
        case BrokenPipeError():
            return _stop_writing()
        case Exception():
            from kb_cli._errors import show

            # A mistake in the arguments may come before --json was read.
            cli.as_json = cli.as_json or "--json" in words
            code = show(error, cli)
            _let_go_of_output()
            return code
        case _:
            raise error


@click.pass_context
def _help_alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None and not ctx.ensure_object(CliContext).quiet:
        click.echo(ctx.get_help())


def _program() -> str:
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 - pathlib costs help milliseconds
    return name if name in {"kebab", "kb"} else "kebab"


def _flush() -> None:
    # Here, and not when the interpreter ends, an error can still be told.
    if sys.stdout is not None:
        sys.stdout.flush()


def _let_go_of_output() -> None:
    """Drop what cannot be written: the interpreter would try again, and exit with 120."""
    try:
        _flush()
    except OSError:
        _stop_writing()


def _stop_writing() -> int:
    """Whoever read our output has enough of it: that is no error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return 0
