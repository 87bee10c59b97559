"""``kebab similar``: neighbours of a chunk or a document."""

from __future__ import annotations

from typing import Any

import click

from kb_cli._asking import hits_option, page_options
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._filters import filter_options, filters_of

__all__ = ["command"]

_EXAMPLE = """
kebab similar notes/storage.md -k 5
kebab similar 5669ef1867462f24 --media code
"""


@make("similar", example=_EXAMPLE)
@click.argument("origin", metavar="CHUNK_OR_DOC")
@hits_option("How many hits.")
@page_options
@filter_options
@pass_cli
def command(cli: CliContext, /, origin: str, **options: Any) -> None:  # noqa: ANN401
    """Find passages of other documents that are like one.

    Give an id, the beginning of one, or the path of a document. By meaning where there
    are embeddings, else by the words that are special to it.
    """
    from kb_cli._hits import show
    from kb_core.search import SearchQuery

    query = SearchQuery(
        text=origin or " ",
        k=options.pop("k") or cli.config.search.default_k,
        snippet_chars=options.pop("snippet_chars") or cli.config.search.snippet_chars,
        max_tokens=options.pop("max_tokens"),
        cursor=options.pop("cursor"),
        filters=filters_of(options),
    )
    with cli.open() as kb:
        show(cli, query, kb.similar(origin, query))
