"""Hits as text: one block each, a footer, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb_cli._text import count, flat, pad, printable, terminal_width, wrap

if TYPE_CHECKING:
    from kb_core.search import Candidate, FusionInput, Hit, SearchResponse, Trace

__all__ = ["render"]

_INDENT = "    "
_CITATION_COLUMNS = 44
_SHOWN = 3


def render(response: SearchResponse) -> Iterator[str]:
    """Yield the lines of a response."""
    columns = terminal_width() - len(_INDENT)
    for hit in response.hits:
        yield from _hit(hit, columns)
    if response.trace:
        yield from _trace(response.trace)
    yield _footer(response)


def _hit(hit: Hit, columns: int) -> Iterator[str]:
    marks = [f"[{flat(mark)}]" for mark in ("stale" if hit.stale else "", *hit.flags) if mark]
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
    timing = trace.timing
    places = {c.chunk_id: c.doc_path for c in (*trace.vector, *trace.lexical)}
    yield "Trace:"
    yield from _channel("lexical", trace.lexical, timing.lexical_ms)
    yield from _channel("vector", trace.vector, timing.vector_ms)
    yield f"  {'fused':<8}{count(len(trace.fused), 'candidate'):>16}  {timing.fusion_ms} ms"
    for rank, row in enumerate(trace.fused[:_SHOWN], start=1):
        path = printable(places.get(row.chunk_id, row.chunk_id))
        yield f"{_INDENT}{rank}. {row.fusion_score:.4f}  {path}  ({_ranks(row)})"
    yield f"  total   {timing.total_ms} ms"


def _channel(name: str, found: Sequence[Candidate], spent_ms: int) -> Iterator[str]:
    yield f"  {name:<8}{count(len(found), 'candidate'):>16}  {spent_ms} ms"
    for candidate in found[:_SHOWN]:
        path = printable(candidate.doc_path)
        yield f"{_INDENT}{candidate.rank}. {candidate.score:.4f}  {path}"


def _ranks(row: FusionInput) -> str:
    ranks = {"lexical": row.lexical_rank, "vector": row.vector_rank}
    return ", ".join(f"{name} {rank or '-'}" for name, rank in ranks.items())
