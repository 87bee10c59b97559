"""Options that every command takes, before its name and after it (ruling R22)."""

from __future__ import annotations

import click

from kb_cli._context import CliContext

__all__ = ["global_options"]

_FLAGS = {
    "as_json": ("--json", "Print wire objects, one a line, instead of text."),
    "readonly": ("--readonly", "Write nothing; commands that would are refused."),
    "quiet": ("--quiet", "Print results and errors only."),
    "verbose": ("--verbose", "Log to stderr; show where an error came from."),
}


def global_options(*, hidden: bool) -> list[click.Parameter]:
    """Return new options; *hidden* where the command above shows them already.

    They are eager, so that ``--json`` is known before anything else can be wrong.
    """
    config = click.Option(
        ["--config", "config_option"],
        metavar="PATH",
        help="The configuration file, instead of the usual one.",
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
