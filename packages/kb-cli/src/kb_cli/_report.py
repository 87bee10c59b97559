"""The report of long work, for people: what was done, what was not, what next.

``ingest-file`` and ``ingest-stdin`` also name the one document and what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kb_app.shown import count, duration, flat, printable
from kb_cli._follow import Start, follow
from kb_cli._text import table

if TYPE_CHECKING:
    from kb_cli._context import CliContext
    from kb_core.ingest import IngestReport

__all__ = ["render", "show_document"]

_KINDS = {
    "new": "new",
    "updated": "updated",
    "moved": "moved",
    "unchanged": "unchanged",
    "skipped": "skipped",
    "deleted": "deleted",
    "error": "failed",
}
_FAILURES = 5
_SLOW_MS = 1000


def render(report: IngestReport, *, is_dry_run: bool = False) -> Iterator[str]:
    """Yield the lines of a report."""
    yield _headline(report, is_dry_run=is_dry_run)
    yield from _skips(report)
    yield from _failures(report)
    yield from _slowest(report)
    yield from _embeddings(report)
    if report.phases_ms:
        spent = ", ".join(f"{name} {duration(ms / 1000)}" for name, ms in report.phases_ms.items())
        yield f"time: {spent}"
    if not is_dry_run:
        yield f"next: {_next_step(report)}"


def show_document(cli: CliContext, start: Start) -> None:
    """Do the work that *start* starts, and say what became of the document."""
    report = follow(cli, start)
    if not cli.as_json:
        rest = render(report) if report.scanned else ()  # of a removal that is all
        click.echo("\n".join([*_documents(report), *rest]))
        cli.warn(*report.warnings)


def _documents(report: IngestReport) -> Iterator[str]:
    for item in report.items or ():
        named = f" ({item.doc_id})" if item.doc_id else ""
        yield f"{item.kind}: {printable(item.doc_path)}{named}"


def _headline(report: IngestReport, *, is_dry_run: bool) -> str:
    mark = "aborted: " if report.aborted else "dry run: " if is_dry_run else ""
    spent = duration(report.duration_ms / 1000)
    if not report.scanned:  # no folder was walked: embed, or no source has a file
        done = count(report.embedded, "embedding") if report.embedded else "nothing to do"
        return f"{mark}{done} in {spent}"
    counts = {word: report.counts.get(kind, 0) for kind, word in _KINDS.items()}
    done = ", ".join(f"{n:,} {word}" for word, n in counts.items() if n) or "nothing to do"
    return f"{mark}{count(report.scanned, 'file')} in {spent}: {done}"


def _skips(report: IngestReport) -> Iterator[str]:
    by_size = sorted(report.skipped_by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [
        (n, reason, ", ".join(map(printable, report.skip_examples.get(reason, ()))))
        for reason, n in by_size
    ]
    if rows:
        yield "skipped"
        yield from ("  " + line for line in table(("FILES", "REASON", "SUCH AS"), rows))


def _failures(report: IngestReport) -> Iterator[str]:
    failed = [item for item in report.items or () if item.kind == "error"]
    if failed:
        yield "failed"
    for item in failed[:_FAILURES]:
        yield f"  {printable(item.doc_path)}: {flat(str((item.error or {}).get('message', '')))}"
    if len(failed) > _FAILURES:
        yield f"  and {len(failed) - _FAILURES:,} more"


def _slowest(report: IngestReport) -> Iterator[str]:
    slow = [row for row in report.slowest if row["duration_ms"] >= _SLOW_MS]
    if slow:
        yield "slowest"
        rows = [(duration(row["duration_ms"] / 1000), row["doc_path"]) for row in slow]
        yield from ("  " + line for line in table(("TIME", "PATH"), rows))


def _embeddings(report: IngestReport) -> Iterator[str]:
    chunks = sum(item.chunk_count or 0 for item in report.items or () if item.kind != "unchanged")
    parts = [count(chunks, "chunk")] if chunks else []
    if report.embedded and report.scanned:
        parts.append(count(report.embedded, "embedding"))
    if report.embeddings_missing:
        parts.append(f"{report.embeddings_missing:,} still without an embedding")
    if parts:
        yield ", ".join(parts)


def _next_step(report: IngestReport) -> str:
    if report.aborted:
        return "the same command goes on where this one stopped"
    if report.counts.get("error"):
        return "kebab status --state failed"
    if not report.scanned and not report.embedded and not report.embeddings_missing:
        return "kebab add PATH, if a folder is missing"
    if report.embeddings_missing:
        return "kebab embed, so that search finds by meaning, too"
    return 'kebab search "..."'
