"""``kebab list``: what is indexed."""

from __future__ import annotations

from typing import Any

import click

from kb_app.shown import bytes_text, count
from kb_cli._command import command as make, subgroup
from kb_cli._context import CliContext, pass_cli
from kb_cli._filters import filter_options, filters_of
from kb_cli._text import table

__all__ = ["command"]


@subgroup("list", example="kebab list docs --media code")
def command() -> None:
    """List what is indexed."""


@make("docs", example="kebab list docs --tag rust --limit 20")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many."
)
@click.option(
    "--offset", type=click.IntRange(min=0), default=0, help="How many to leave out before."
)
@filter_options
@pass_cli
def _docs(cli: CliContext, /, limit: int, offset: int, **filters: Any) -> None:  # noqa: ANN401
    """List documents, by source and path."""
    with cli.open() as kb:
        found = kb.list_docs(filters_of(filters), limit=limit, offset=offset)
    if cli.as_json:
        cli.print_json(found)
        return
    docs = found["items"]
    rows = [
        (
            doc["doc_id"][:8],
            doc["media"],
            doc.get("code_lang") or doc["lang"],
            doc["chunk_count"],
            bytes_text(doc["byte_len"]),
            doc["source_id"],
            doc["doc_path"],
        )
        for doc in docs
    ]
    if rows:
        head = ("ID", "MEDIA", "LANG", "CHUNKS", "SIZE", "SOURCE", "PATH")
        click.echo("\n".join(table(head, rows)))
    shown = f"{offset + 1:,}-{offset + len(docs):,} of " if len(docs) < found["total"] else ""
    click.echo(f"{shown if docs else ''}{count(found['total'], 'document')}")


command.add_command(_docs)
