"""``kebab remove``: a source leaves the configuration."""

from __future__ import annotations

import click

from kb_app.shown import printable
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli

__all__ = ["command"]


@make("remove", example="kebab remove notes")
@click.argument("id")
@pass_cli
def command(cli: CliContext, id: str) -> None:  # noqa: A002 - the word that people read
    """Take a source out of the configuration.

    What was indexed of it stays until `kebab reset --orphans-only`.
    """
    from kb_app.config import remove_source

    cli.writes("remove")
    edit = remove_source(id, path=cli.config_path, environ=cli.environ)
    if cli.as_json:
        from kb_cli._sources import source_list

        cli.print_json(source_list(edit.config, removed=edit.source.id))
        return
    click.echo(f"source {edit.source.id!r}, {printable(str(edit.source.root))}, is removed")
    cli.note("its documents stay; `kebab reset --orphans-only` deletes them")
