"""``kebab ingest-stdin``: what comes in on standard input becomes a document."""

from __future__ import annotations

import sys
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
kebab ingest-stdin --title "Minutes of May" < minutes.md
kebab ingest-stdin --title Locks --source-uri https://example.org/locks.md < locks.md
"""


@make("ingest-stdin", example=_EXAMPLE)
@click.option("--title", required=True, metavar="TEXT", help="The title of the document.")
@click.option("--source-uri", metavar="URI", help="Where it comes from; its name from then on.")
@click.option(
    "--media",
    type=click.Choice(["markdown", "text"]),
    default="markdown",
    show_default=True,
    help="What the text is written in.",
)
@click.option("--no-embed", is_flag=True, help="Stop before computing embeddings.")
@pass_cli
def command(
    cli: CliContext, title: str, source_uri: str | None, media: str, no_embed: bool
) -> None:
    """Add the text on standard input as a document.

    It is kept under its source URI, else under a slug of its title; the same one replaces
    it. It belongs to the source `_added`, until `kebab ingest-file --remove` takes it away.
    """
    cli.writes("ingest-stdin")
    embed = not no_embed and cli.config.ingest.embed
    text = _read(cli, cli.config.ingest.max_file_mb)

    def start(kb: KnowledgeBase, stop: threading.Event) -> Iterator[IngestEvent]:
        return kb.ingest_text(
            text, title=title, source_uri=source_uri, media=media, embed=embed, stop=stop
        )

    show_document(cli, start)


def _read(cli: CliContext, max_mb: int) -> str:
    """Return the text on standard input, of which no more is read than may be indexed."""
    if cli.can_ask():
        cli.note("reading from the terminal; Ctrl-D on a line of its own ends the text")
    most = max_mb * 1_000_000
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise InvalidInput(
            f"standard input holds more than {max_mb:,} MB",
            hint="[ingest] max_file_mb is the limit",
            details={"field": "text", "max_file_mb": max_mb},
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8: byte {error.start:,} is {data[error.start]:#04x}",
            hint="iconv -t UTF-8, or save it as a file for 'kebab ingest-file'",
            details={"field": "text", "byte": error.start},
        ) from error
