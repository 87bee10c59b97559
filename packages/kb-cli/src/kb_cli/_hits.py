"""Hits as text: one block each, a footer, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kb_app.shown import count, flat, printable
from kb_cli._text import pad, terminal_width, wrap

if TYPE_CHECKING:
    from kb_app.shown.trace import TraceRow
    from kb_cli._context import CliContext
    from kb_core.search import AggregatedResponse, Hit, SearchQuery, SearchResponse, Trace

__all__ = ["render", "render_aggregated", "show"]

_INDENT = "    "
_CITATION_COLUMNS = 44
_SHOWN = 3


def show(cli: CliContext, query: SearchQuery, response: SearchResponse) -> None:
    """Print a response as the command line was asked to."""
    if cli.as_json:
        from kb_core import wire

        cli.print_json(wire.search_response(response))
        return
    click.echo("\n".join(render(response)))
    cli.note(*(f"degraded: {reason}" for reason in response.degraded))
    cli.warn(*response.warnings)
    if response.next_cursor and (response.truncated or query.cursor):
        cli.note(f"more: --cursor {response.next_cursor}")


def render(response: SearchResponse) -> Iterator[str]:
    """Yield the lines of a response."""
    columns = terminal_width() - len(_INDENT)
    for hit in response.hits:
        yield from _hit(hit, columns)
    if response.trace:
        yield from _trace(response.trace)
    yield _footer(response)


def render_aggregated(found: AggregatedResponse) -> Iterator[str]:
    """Yield the lines of one list for several queries."""
    columns = terminal_width() - len(_INDENT)
    for hit in found.hits:
        yield from _hit(hit, columns)
    hits = count(len(found.hits), "hit") if found.hits else "no hits"
    yield f"{hits} for {len(found.outcomes)} queries"


def _hit(hit: Hit, columns: int) -> Iterator[str]:
    several = len(hit.matched_queries or ())
    own = ("stale" if hit.stale else "", f"{several} queries" if several > 1 else "")
    marks = [f"[{flat(mark)}]" for mark in (*own, *hit.flags) if mark]
    citation = printable(hit.citation.uri)
    if marks:
        citation = "  ".join([pad(citation, _CITATION_COLUMNS), *marks])
    yield f"{hit.rank:>2}. {hit.score:.2f}  {citation}"
    heading = " › ".join(map(flat, hit.heading_path)) or flat(hit.section_label or hit.title)
    # The lines of code mean something; those of prose are where an editor broke them.
    text = hit.snippet.splitlines() if hit.media == "code" else [" ".join(hit.snippet.split())]
    for line in (heading, *text):
        shown = printable(line.expandtabs(4).rstrip())
        yield from (_INDENT + part for part in wrap(shown, columns))


def _footer(response: SearchResponse) -> str:
    size = response.index_size
    documents = count(int(size.get("documents", 0)), "document")
    chunks = count(int(size.get("chunks", 0)), "chunk")
    hits = count(len(response.hits), "hit") if response.hits else "no hits"
    spent = f"{response.elapsed_ms:.0f} ms"
    return " · ".join([hits, str(response.mode), spent, f"{documents}, {chunks}"])


def _trace(trace: Trace) -> Iterator[str]:
    from kb_app.shown.trace import listings

    yield "Trace:"
    for listing in listings(trace):
        size = count(len(listing.rows), "candidate")
        yield f"  {listing.name:<8}{size:>16}  {listing.spent_ms} ms"
        yield from (f"{_INDENT}{_row(row)}" for row in listing.rows[:_SHOWN])
    if trace.relaxation is not None:
        yield from (f"  words   {printable(said)}" for said in trace.relaxation.sentences())
    yield f"  total   {trace.timing.total_ms} ms"


def _row(row: TraceRow) -> str:
    shown = f"{row.rank}. {row.score:.4f}  {printable(row.doc_path or row.chunk_id)}"
    if row.ranks is None:
        return shown
    lexical, vector = row.ranks
    return f"{shown}  (lexical {lexical or '-'}, vector {vector or '-'})"
