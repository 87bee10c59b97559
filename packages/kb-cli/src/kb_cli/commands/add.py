"""``kebab add``: a folder becomes a source."""

from __future__ import annotations

import click

from kb_app.shown import printable
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_core.media import TrustLevel

__all__ = ["command"]

_EXAMPLE = """
kebab add ~/notes
kebab add ~/src/kebab --id kebab --source-type code
"""


@make("add", example=_EXAMPLE)
@click.argument("path")
@click.option("--id", metavar="ID", help="Its name, instead of the folder's.")
@click.option("--source-type", metavar="WORD", help="A word to filter by, such as note or code.")
@click.option(
    "--trust",
    type=click.Choice([level.value for level in TrustLevel]),
    help="How far it is to be trusted.",
)
@pass_cli
def command(
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
        from kb_cli._sources import source_list

        cli.print_json(source_list(edit.config, added=edit.source.id))
        return
    if edit.is_new_file:
        click.echo(f"made {printable(str(edit.config.file))}")
    click.echo(f"source {edit.source.id!r} is {printable(str(edit.source.root))}")
    cli.note("next: kebab ingest")
