"""``kebab init``: directories and a configuration with every key explained."""

from __future__ import annotations

import click

from kb_app.shown import printable
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli

__all__ = ["command"]

_EXAMPLE = """
kebab init
kebab --config ./kb/config.toml init
"""


@make("init", example=_EXAMPLE)
@click.option("--force", is_flag=True, help="Start anew; the old file stays as a copy.")
@pass_cli
def command(cli: CliContext, force: bool) -> None:
    """Write a configuration with every key explained.

    It goes to the usual place, or to the file that --config names; then everything else is
    kept beside that file.
    """
    from kb_app.config import init_config

    cli.writes("init")
    report = init_config(cli.config_path, cli.environ, force=force)
    if cli.as_json:
        from kb_core import wire

        config = report.config
        created, existing = map(str, report.created), map(str, report.existing)
        cli.print_json(
            wire.init_report(
                str(config.file), str(config.storage.data_dir), created=created, existing=existing
            )
        )
        return
    for path in report.created:
        click.echo(f"made {printable(str(path))}")
    if report.backup:
        click.echo(f"the old file is {printable(str(report.backup))}")
    cli.note("next: kebab add PATH")
