"""``kebab ingest-file``: one file comes in, or goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._report import show_document
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from kb_app.knowledge_base import KnowledgeBase
    from kb_core.ingest import IngestEvent

__all__ = ["command"]

_EXAMPLE = """
kebab ingest-file ~/Downloads/minutes.md
kebab ingest-file --remove ~/Downloads/minutes.md
"""


@make("ingest-file", example=_EXAMPLE)
@click.argument("path")
@click.option("--remove", is_flag=True, help="Remove what was added: by path, source URI or id.")
@click.option("--no-embed", is_flag=True, help="Stop before computing embeddings.")
@pass_cli
def command(cli: CliContext, path: str, remove: bool, no_embed: bool) -> None:
    """Add one file, wherever it is.

    A file of a source is indexed in place. Of any other, and of one that its source ignores,
    the bytes are kept, so the file itself may go. Adding it again replaces it. It belongs to
    the source `_added`, and only --remove takes it away.
    """
    cli.writes("ingest-file")
    embed = not no_embed and cli.config.ingest.embed

    def start(kb: KnowledgeBase, stop: threading.Event) -> Iterator[IngestEvent]:
        if remove:
            return kb.remove_added(path, stop=stop)
        return kb.ingest_file(_absolute(cli, path), embed=embed, stop=stop)

    show_document(cli, start)


def _absolute(cli: CliContext, path: str) -> str:
    from kb_app.paths import from_argument

    try:
        return str(from_argument(path, cli.environ))
    except ValueError as error:
        raise InvalidInput(str(error), details={"field": "path", "value": path}) from error
