"""``kebab stats``: counts and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import bytes_text, local_time
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import pairs

__all__ = ["command"]

_BREAKDOWNS = {
    "media": "media_breakdown",
    "languages": "lang_breakdown",
    "code": "code_lang_breakdown",
    "repositories": "repo_breakdown",
    "sources": "source_breakdown",
}


@make("stats", example="kebab stats")
@pass_cli
def command(cli: CliContext) -> None:
    """Show counts and sizes."""
    with cli.open() as kb:
        found = kb.stats()
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found)))


def _lines(stats: Mapping[str, Any]) -> Iterator[str]:
    sizes = stats["index_bytes"]
    kept = ", ".join(f"{part} {bytes_text(size)}" for part, size in sizes.items() if size)
    yield from pairs(
        [
            ("documents", stats["doc_count"]),
            ("chunks", stats["chunk_count"]),
            ("stale", stats["stale_doc_count"]),
            ("last ingest", local_time(stats["last_ingest_at"])),
            ("revision", stats["corpus_revision"]),
            ("on disk", f"{bytes_text(sum(sizes.values()))}{f' ({kept})' if kept else ''}"),
            *((name, _counts(stats[key])) for name, key in _BREAKDOWNS.items()),
        ]
    )


def _counts(breakdown: Mapping[str, int]) -> str | None:
    """Return the kinds that occur, the most frequent first."""
    present = sorted(((n, kind) for kind, n in breakdown.items() if n), key=lambda p: (-p[0], p[1]))
    return ", ".join(f"{'none' if kind == 'null' else kind} {n:,}" for n, kind in present) or None
