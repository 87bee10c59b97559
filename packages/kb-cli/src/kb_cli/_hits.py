"""Hits as text: one block each, a footer, and how they were found.

A person reads the part of a passage that answers, with the words that match; a program
reads snippets, which are slices of the text (``--json``). On a terminal a path leads to
its file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.shown import NO_ANSWER, PER_DOC, count, flat, is_doubtful, printable
from kb_app.shown.excerpts import Passage, excerpt
from kb_app.shown.marks import marks
from kb_cli._text import echo, style, terminal_width, width, wrap
from kb_core.citations import CellSpan, CodeSpan, LineSpan, PageSpan
from kb_core.clock import from_epoch
from kb_core.errors import InvalidInput
from kb_core.search import CHARS_PER_TOKEN
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_app import KnowledgeBase
    from kb_app.shown.excerpts import Excerpt
    from kb_app.shown.trace import TraceRow
    from kb_cli._context import CliContext
    from kb_core.citations import Citation
    from kb_core.search import AggregatedResponse, Hit, SearchQuery, SearchResponse, Trace

__all__ = ["answered", "for_people", "place_of", "show", "show_aggregated"]

_INDENT = "    "
_CITATION_COLUMNS = 44
_SHOWN = 3
_SHORT_ID = 8
_WIDE_COLUMNS = 100
_ROWS, _WIDE_ROWS = 3, 5
_WHOLE_CHARS = 10_000
"""Snippets so long are whole passages, of which the best part is shown."""
_USUAL_CHARS = 220
"""Who left the setting alone gets what the terminal has room for."""


@dataclass(frozen=True, slots=True)
class _Page:
    """How the hits of one response are shown."""

    query: str
    columns: int
    most_chars: int | None = None
    roots: dict[str, Path] | None = None
    """Of each source; where there are none, paths lead nowhere."""
    ambiguous: frozenset[str] = frozenset()
    """Paths that several sources have."""

    def file_of(self, hit: Hit) -> Path | None:
        """Return the file that a hit leads to, if anything is to lead anywhere."""
        if self.roots is None or not (hit.source_id in self.roots or hit.doc_path[0] == "/"):
            return None
        return self.roots.get(hit.source_id, Path("/")) / hit.doc_path


def for_people(cli: CliContext, query: SearchQuery) -> SearchQuery:
    """Return *query* as it is asked where a person reads the hits.

    Passages come whole, where there is no budget, and a few of each document, where nothing
    is said of that: neither by an option, nor by a cursor, nor by asking one document.
    """
    if cli.as_json:
        return query
    if query.max_tokens is None:
        query = replace(query, snippet_chars=_WHOLE_CHARS)
    said = (query.per_doc, query.cursor, query.filters.doc_id)
    return replace(query, per_doc=PER_DOC) if said == (None, None, None) else query


def answered(
    cli: CliContext, query: SearchQuery, answer: Callable[[SearchQuery], SearchResponse]
) -> SearchResponse:
    """Return what *answer* says to *query* as it is to be shown, with room for what JSON adds.

    That are the commands in its remarks, which are named in full; the least that a budget takes
    is exceeded by them.
    """
    query = for_people(cli, query)
    found = answer(query)
    if not cli.as_json or query.max_tokens is None:
        return found
    longer = sum(len(cli.named(one)) - len(one) for one in (*found.degraded, *found.warnings))
    if not longer:
        return found
    with suppress(InvalidInput):
        room = max(1, query.max_tokens - -(-longer // CHARS_PER_TOKEN))
        return answer(replace(query, max_tokens=room))
    return found


def show(
    cli: CliContext,
    kb: KnowledgeBase,
    query: SearchQuery,
    response: SearchResponse,
    *,
    about: str | None = None,
) -> None:
    """Print a response of *kb* as the command line was asked to.

    What is marked are the words of *about*, of the query if there is none.
    """
    if cli.as_json:
        from kb_core import wire

        cli.print_json(wire.search_response(response))
        return
    marked = query.text if about is None else about
    page = _page(cli, kb, marked, response.hits, query.snippet_chars)
    echo("\n".join(_lines(page, response)), color=cli.color)
    cli.note(*(f"degraded: {reason}" for reason in response.degraded))
    cli.warn(*response.warnings)
    if response.next_cursor and (response.truncated or query.cursor):
        cli.note(f"more: --cursor {response.next_cursor}")


def show_aggregated(
    cli: CliContext, kb: KnowledgeBase, queries: Iterable[str], found: AggregatedResponse
) -> None:
    """Print one list for several queries."""
    page = _page(cli, kb, " ".join(queries), found.hits, None)
    for hit in found.hits:
        echo("\n".join(_hit(page, hit)), color=cli.color)
    hits = count(len(found.hits), "hit") if found.hits else "no hits"
    echo(f"{hits} for {count(len(found.outcomes), 'query', 'queries')}")


def _page(
    cli: CliContext, kb: KnowledgeBase, query: str, hits: Sequence[Hit], most_chars: int | None
) -> _Page:
    return _Page(
        query,
        terminal_width(),
        None if most_chars == _USUAL_CHARS else most_chars,
        _roots(cli) if cli.has_terminal else None,
        kb.shared_paths(hit.doc_path for hit in hits),
    )


def _roots(cli: CliContext) -> dict[str, Path]:
    return {source.id: source.root for source in cli.config.sources}


def _lines(page: _Page, response: SearchResponse) -> Iterator[str]:
    if response.hits and is_doubtful(response.confidence, response.hits[0].score_kind):
        yield style(NO_ANSWER, fg="yellow")
    for hit in response.hits:
        yield from _hit(page, hit)
    if response.trace:
        yield from _trace(response.trace)
    for said in response.about:
        place = f"{said.source_id}{f'/{said.path}' if said.path else ''}"
        words = wrap(printable(f"{place}: {said.text}"), page.columns)
        yield from (style(part, dim=True) for part in words)
    yield _footer(response)


def _hit(page: _Page, hit: Hit) -> Iterator[str]:
    columns = page.columns - len(_INDENT)
    shown = _excerpt(page, hit, columns)
    yield _head(page, hit, shown)
    heading = " › ".join(map(flat, hit.heading_path)) or flat(hit.section_label or hit.title)
    if heading.casefold() != Path(hit.doc_path).stem.casefold():  # the path has said it
        yield from (_INDENT + style(part, bold=True) for part in wrap(heading, columns))
    for line in shown.lines:
        text = printable(line.text.expandtabs(4).rstrip())
        yield from (_INDENT + _marked(part, page.query) for part in wrap(text, columns))
    if hit.more_in_doc:
        option = f"--doc-id {hit.doc_id[:_SHORT_ID]}"
        more = f"+{hit.more_in_doc:,} more in this document: {option}"
        yield _INDENT + style(more, dim=True)


def _excerpt(page: _Page, hit: Hit, columns: int) -> Excerpt:
    rows = _WIDE_ROWS if page.columns >= _WIDE_COLUMNS else _ROWS
    if page.most_chars is not None:
        columns, rows = page.most_chars, 1
    passage = Passage(
        text=hit.snippet,
        medium=hit.media,
        shown=(*hit.heading_path, hit.title),
        starts=getattr(hit.citation.span, "start", 0) == 1,
    )
    return excerpt(passage, page.query, columns=columns, rows=rows)


def _head(page: _Page, hit: Hit, shown: Excerpt) -> str:
    several = len(hit.matched_queries or ())
    own = (
        hit.source_id if hit.doc_path in page.ambiguous else "",
        "stale" if hit.stale else "",
        f"{several} queries" if several > 1 else "",
    )
    marked = [f"[{flat(mark)}]" for mark in (*own, *hit.flags) if mark]
    place, plain = _place(page, hit, shown)
    gap = " " * max(0, _CITATION_COLUMNS - width(plain)) if marked else ""
    score = style(f"{hit.score:.2f}", dim=True)
    identifier = style(hit.chunk_id[:_SHORT_ID], dim=True)
    return "  ".join([f"{hit.rank:>2}. {score}", f"{place}{gap}", identifier, *marked])


def _place(page: _Page, hit: Hit, shown: Excerpt) -> tuple[str, str]:
    """Return ``path:line``, styled and leading to the file on a terminal, and without that."""
    path, where, line = place_of(hit.citation, beyond=shown.line)
    styled = style(path, fg="cyan")
    styled += where if line is None else ":" + style(str(line), fg="green")
    file = page.file_of(hit)
    return (_link(styled, file, line) if file else styled), path + where


def place_of(citation: Citation, *, beyond: int = 0) -> tuple[str, str, int | None]:
    """Return a path and where in it as a person reads them, and the line if it has lines.

    The line is so many *beyond* the first.
    """
    path, span = printable(citation.path), citation.span
    match span:
        case LineSpan() | CodeSpan():
            line = min(span.start + beyond, span.end)
            return path, f":{line}", line
        case PageSpan():
            return path, f", page {span.page}", None
        case CellSpan():
            return path, f", {printable(span.sheet)}!{span.range}", None
        case _:
            return path, f"#{printable(citation.uri.rpartition('#')[2])}", None


def _link(text: str, file: Path, line: int | None) -> str:
    """Return *text* as a hyperlink of a terminal (OSC 8); the line is kitty's way of saying it."""
    uri = file.as_uri().replace("file://", f"file://{os.uname().nodename}", 1)
    return f"\x1b]8;;{uri}{f'#{line}' if line else ''}\x1b\\{text}\x1b]8;;\x1b\\"


def _marked(line: str, query: str) -> str:
    """Return *line* with the words of *query* in it set off."""
    parts, at = [], 0
    for start, end in marks(line, query):
        parts += [line[at:start], style(line[start:end], fg="red", bold=True)]
        at = end
    return "".join([*parts, line[at:]])


def _footer(response: SearchResponse) -> str:
    size = response.index_size
    documents = count(int(size.get("documents", 0)), "document")
    chunks = count(int(size.get("chunks", 0)), "chunk")
    hits = count(len(response.hits), "hit") if response.hits else "no hits"
    spent = f"{response.elapsed_ms:.0f} ms"
    said = " · ".join([hits, str(response.mode), spent, f"{documents}, {chunks}"])
    return style(said, dim=True)


def _trace(trace: Trace) -> Iterator[str]:
    from kb_app.shown.trace import listings, stages

    yield "Trace:"
    for listing in listings(trace):
        size = count(len(listing.rows), "candidate")
        yield f"  {listing.name:<8}{size:>16}  {listing.spent_ms} ms"
        yield from (f"{_INDENT}{_row(row)}" for row in listing.rows[:_SHOWN])
    if trace.relaxation is not None:
        yield from (f"  words   {printable(said)}" for said in trace.relaxation.sentences())
    for asked in trace.dates:
        since, until = (f"{from_epoch(end):%Y-%m-%d}" for end in (asked.since, asked.until))
        period = since if since == until else f"{since} to {until}"
        yield f"  dates   {printable(asked.text)!r}: documents of {period} count for more"
    spent = stages(trace.timing)
    total, known = trace.timing.total_ms, sum(ms for _, ms in spent)
    parts = " + ".join(f"{name} {ms}" for name, ms in spent)
    beside = ", some side by side" if known > total else ""
    yield f"  total   {total} ms{f' = {parts}{beside}' if parts else ''}"


def _row(row: TraceRow) -> str:
    shown = f"{row.rank}. {row.score:.4f}  {printable(row.doc_path or row.chunk_id)}"
    if row.ranks is None:
        return shown
    lexical, vector = row.ranks
    return f"{shown}  (lexical {lexical or '-'}, vector {vector or '-'})"
