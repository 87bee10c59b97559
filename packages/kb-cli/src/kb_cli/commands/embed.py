"""``kebab embed``: compute the embeddings that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from kb_app.knowledge_base import KnowledgeBase
    from kb_core.ingest import IngestEvent

__all__ = ["command"]


@make("embed", example="kebab embed")
@pass_cli
def command(cli: CliContext) -> None:
    """Compute the embeddings that are missing.

    Newest documents come first, and every batch can be searched at once. Ctrl-C loses
    nothing: the next run goes on.
    """
    from kb_cli._follow import follow
    from kb_cli._report import render

    cli.writes("embed")

    def start(kb: KnowledgeBase, stop: threading.Event) -> Iterator[IngestEvent]:
        return kb.embed(stop=stop)

    report = follow(cli, start)
    if not cli.as_json:
        click.echo("\n".join(render(report)))
        cli.warn(*report.warnings)
