"""What ``ingest-file`` and ``ingest-stdin`` print: one document, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb_app.shown import printable
from kb_cli._follow import Start, follow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_cli._context import CliContext
    from kb_core.ingest import IngestReport

__all__ = ["show"]


def show(cli: CliContext, start: Start) -> None:
    """Do the work that *start* starts, and say what became of the document."""
    from kb_cli._report import render

    report = follow(cli, start)
    if not cli.as_json:
        rest = render(report) if report.scanned else ()  # of a removal that is all
        click.echo("\n".join([*_documents(report), *rest]))
        cli.warn(*report.warnings)


def _documents(report: IngestReport) -> Iterator[str]:
    for item in report.items or ():
        named = f" ({item.doc_id})" if item.doc_id else ""
        yield f"{item.kind}: {printable(item.doc_path)}{named}"
