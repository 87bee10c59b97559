"""``kebab add`` and ``kebab remove``: what the sources are."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from kb_app.shown import printable
from kb_cli._command import command, completed_by
from kb_cli._context import CliContext, pass_cli
from kb_core.media import TrustLevel

if TYPE_CHECKING:
    from kb_app.config import Config

__all__ = ["add", "remove"]

_ADDING = """
kebab add ~/notes
kebab add ~/src/kebab --id kebab --source-type code
"""


@command("add", example=_ADDING)
@click.argument("path", shell_complete=completed_by("dir"))
@click.option("--id", metavar="ID", help="Its name, instead of the folder's.")
@click.option("--source-type", metavar="WORD", help="A word to filter by, such as note or code.")
@click.option(
    "--trust",
    type=click.Choice([level.value for level in TrustLevel]),
    help="How far it is to be trusted.",
)
@pass_cli
def add(
    cli: CliContext,
    path: str,
    id: str | None,  # noqa: A002 - the word that people read
    source_type: str | None,
    trust: str | None,
) -> None:
    """Add a folder to what is indexed.

    Writes a source into the configuration, and the configuration too if there is none.
    """
    from kb_app.config import add_source

    cli.writes("add")
    edit = add_source(
        path,
        path=cli.config_path,
        environ=cli.environ,
        id=id,
        source_type=source_type,
        trust_level=trust,
    )
    if cli.as_json:
        cli.print_json(_source_list(edit.config, added=edit.source.id))
        return
    if edit.is_new_file:
        click.echo(f"made {printable(str(edit.config.file))}")
    click.echo(f"source {edit.source.id!r} is {printable(str(edit.source.root))}")
    cli.note("next: kebab ingest")


@command("remove", example="kebab remove notes")
@click.argument("id", shell_complete=completed_by("source"))
@pass_cli
def remove(cli: CliContext, id: str) -> None:  # noqa: A002 - the word that people read
    """Take a source out of the configuration.

    What was indexed of it stays until `kebab reset --orphans-only`.
    """
    from kb_app.config import remove_source

    cli.writes("remove")
    edit = remove_source(id, path=cli.config_path, environ=cli.environ)
    if cli.as_json:
        cli.print_json(_source_list(edit.config, removed=edit.source.id))
        return
    click.echo(f"source {edit.source.id!r}, {printable(str(edit.source.root))}, is removed")
    cli.note("its documents stay; `kebab reset --orphans-only` deletes them")


def _source_list(
    config: Config, *, added: str | None = None, removed: str | None = None
) -> dict[str, Any]:
    """Return source_list.v1 of a configuration that was changed."""
    from kb_core import wire

    sources = map(asdict, config.sources)
    return wire.source_list(sources, str(config.file), added=added, removed=removed)
