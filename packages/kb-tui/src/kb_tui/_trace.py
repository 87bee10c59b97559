"""The trace of a search as lines: timing, both channels' lists, and the fused one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb_core.media import SearchMode
from kb_core.search import Candidate, SearchResponse, Trace
from kb_tui._text import counted
from kb_tui.widgets.lines import Row

__all__ = ["trace_rows"]

_NOTHING = "  (nothing)"


def trace_rows(query: str, response: SearchResponse) -> list[Row]:
    """Return what the trace popup shows of *response*, which was asked for with a trace."""
    story = response.trace or Trace()
    timing = story.timing
    embed = f" and {timing.embed_ms} ms for the query's vector" if timing.embed_ms else ""
    lexical_off = response.mode is SearchMode.VECTOR
    vector_off = response.mode is SearchMode.LEXICAL
    hits = counted(len(response.hits), "hit")
    return [
        Row(f"{response.mode}: {query}", "head"),
        Row(f"{hits} in {timing.total_ms} ms, revision {response.corpus_revision}"),
        *(Row(remark, "note") for remark in (*response.degraded, *response.warnings)),
        Row(""),
        Row(f"Lexical: {_size(story.lexical)} in {timing.lexical_ms} ms", "head"),
        *_list(story.lexical, is_off=lexical_off),
        Row(""),
        Row(f"Vector: {_size(story.vector)} in {timing.vector_ms} ms{embed}", "head"),
        *_list(story.vector, is_off=vector_off),
        Row(""),
        Row(f"Fused: {_size(story.fused)} in {timing.fusion_ms} ms", "head"),
        *_fused(story),
    ]


def _size(rows: Sequence[object]) -> str:
    return counted(len(rows), "candidate")


def _list(rows: Sequence[Candidate], *, is_off: bool) -> Iterator[Row]:
    if not rows:
        yield Row("  (not asked in this mode)" if is_off else _NOTHING, "note")
        return
    yield Row("  rank    score  chunk     document", "note")
    for row in rows:
        yield Row(f"  {row.rank:>4}  {row.score:>7.4f}  {row.chunk_id[:8]}  {row.doc_path}")


def _fused(story: Trace) -> Iterator[Row]:
    if not story.fused:
        yield Row(_NOTHING, "note")
        return
    paths = {row.chunk_id: row.doc_path for row in (*story.lexical, *story.vector)}
    yield Row("  rank    score  lexical  vector  chunk     document", "note")
    for rank, row in enumerate(story.fused, start=1):
        ranks = f"{_rank(row.lexical_rank):>7}  {_rank(row.vector_rank):>6}"
        path = paths.get(row.chunk_id, "")
        yield Row(f"  {rank:>4}  {row.fusion_score:>7.4f}  {ranks}  {row.chunk_id[:8]}  {path}")


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)
