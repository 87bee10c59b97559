"""``kebab ingest``: index everything that is new or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from kb_app.knowledge_base import KnowledgeBase
    from kb_core.ingest import IngestEvent

__all__ = ["command"]

_EXAMPLE = """
kebab ingest
kebab ingest ~/notes/rust --no-embed
"""


@make("ingest", example=_EXAMPLE)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--force-reingest", is_flag=True, help="Process files again that did not change.")
@click.option("--summary-only", is_flag=True, help="Report counts, not every file.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@click.option("--no-embed", is_flag=True, help="Stop before computing embeddings.")
@click.option("--retry-failed", is_flag=True, help="Try files again that failed.")
@click.option("--allow-empty", is_flag=True, help="Believe it when a whole source is gone.")
@pass_cli
def command(  # noqa: PLR0913, PLR0917 - one argument for each option
    cli: CliContext,
    paths: tuple[str, ...],
    force_reingest: bool,
    summary_only: bool,
    dry_run: bool,
    no_embed: bool,
    retry_failed: bool,
    allow_empty: bool,
) -> None:
    """Index everything that is new or changed.

    PATHs narrow the run to files and folders inside the sources. Ctrl-C once finishes the
    batch at hand and reports; twice ends at once. What was done is kept either way.
    """
    from kb_cli._follow import follow
    from kb_cli._report import render
    from kb_core.ingest import IngestOptions

    cli.writes("ingest")
    options = IngestOptions(
        paths=_absolute(cli, paths),
        force=force_reingest,
        dry_run=dry_run,
        embed=not no_embed and cli.config.ingest.embed,
        retry_failed=retry_failed,
        allow_empty=allow_empty,
        summary_only=summary_only,
    )

    def start(kb: KnowledgeBase, stop: threading.Event) -> Iterator[IngestEvent]:
        return kb.ingest(options, stop=stop)

    report = follow(cli, start)
    if not cli.as_json:
        click.echo("\n".join(render(report, is_dry_run=dry_run)))
        cli.warn(*report.warnings)


def _absolute(cli: CliContext, paths: tuple[str, ...]) -> tuple[str, ...]:
    from kb_app.paths import from_argument

    try:
        return tuple(str(from_argument(path, cli.environ)) for path in paths)
    except ValueError as error:
        raise InvalidInput(str(error), details={"field": "paths"}) from error
