"""``kebab fetch``: text exactly as it stands in a source."""

from __future__ import annotations

import click

from kb_cli._command import command as make, subgroup
from kb_cli._context import CliContext, pass_cli
from kb_cli._fetched import show

__all__ = ["command"]

_TOKENS = click.option(
    "--max-tokens", type=click.IntRange(min=1), help="Print at most about this many tokens."
)


@subgroup("fetch", example="kebab fetch span 5669ef18 12 34")
def command() -> None:
    """Print text exactly as it stands in a source.

    An id may be shortened to its first eight characters or more, while it names one thing.
    """


@make("chunk", example="kebab fetch chunk 5669ef18 --context 1")
@click.argument("chunk_id", metavar="ID")
@click.option(
    "--context",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also print up to N chunks before and after it.",
)
@pass_cli
def _chunk(cli: CliContext, chunk_id: str, context: int) -> None:
    """Print a chunk, perhaps with its neighbours."""
    with cli.open() as kb:
        result = kb.fetch_chunk(chunk_id, context=context)
    show(cli, result)


@make("doc", example="kebab fetch doc 1c0ffee5 --max-tokens 2000")
@click.argument("doc_id", metavar="ID")
@_TOKENS
@pass_cli
def _doc(cli: CliContext, doc_id: str, max_tokens: int | None) -> None:
    """Print the text of a document."""
    with cli.open() as kb:
        result = kb.fetch_doc(doc_id, max_tokens=max_tokens)
    show(cli, result)


@make("span", example="kebab fetch span 1c0ffee5 12 34")
@click.argument("doc_id", metavar="DOC_ID")
@click.argument("start", type=int)
@click.argument("end", type=int)
@_TOKENS
@pass_cli
def _span(cli: CliContext, doc_id: str, start: int, end: int, max_tokens: int | None) -> None:
    """Print lines START to END of a document, both included, from 1."""
    with cli.open() as kb:
        result = kb.fetch_span(doc_id, start, end, max_tokens=max_tokens)
    show(cli, result)


for _sub in (_chunk, _doc, _span):
    command.add_command(_sub)
