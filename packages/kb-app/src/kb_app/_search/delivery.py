"""A page of a ranking as a response: hits, what was left out, where the list goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kb_app._search.ranking import Row, as_ranked, page_of
from kb_app._search.rendering import Renderer
from kb_core.control import Control
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchQuery, SearchResponse

__all__ = ["Delivery", "deliver"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A whole ranking, and which part of it is wanted."""

    query: SearchQuery
    rows: Sequence[Row]
    offset: int
    highlight: str
    """The text whose words a snippet shows."""
    cursor_at: Callable[[int], str]
    """Gives the cursor of the place after so many hits."""
    remarks_at_end: Callable[[], tuple[str, ...]]
    """Gives the warnings of a page that ends the list."""
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    stages: tuple[str, ...] | None = None


def deliver(delivery: Delivery, renderer: Renderer, control: Control) -> SearchResponse:
    """Return the response, within the budget of its query if that has one."""
    query, offset = delivery.query, delivery.offset
    shown = page_of(delivery.rows, offset, query.k, renderer.places)
    ranked = [as_ranked(row, query.mode, rank) for rank, row in enumerate(shown, offset + 1)]
    highlighter = renderer.highlighter(delivery.highlight)
    plain = _without_hits(delivery, control)
    remarks = delivery.remarks_at_end() if offset + len(ranked) >= len(delivery.rows) else ()

    def render(snippet_chars: int) -> list[Hit]:
        return renderer.hits(
            ranked,
            first_rank=offset + 1,
            method=query.mode.value,
            highlighter=highlighter,
            snippet_chars=snippet_chars,
        )

    def assemble(hits: Sequence[Hit], omitted: dict[str, int] | None) -> SearchResponse:
        after = offset + len(hits)
        is_end = after >= len(delivery.rows)
        return replace(
            plain,
            hits=tuple(hits),
            next_cursor=None if is_end else delivery.cursor_at(after),
            truncated=omitted is not None,
            omitted=omitted,
            warnings=plain.warnings + remarks if is_end else plain.warnings,
        )

    if query.max_tokens is None:
        return assemble(render(query.snippet_chars), None)
    from kb_app._search.budget import fit, size_of  # the wire: only where it is measured

    return fit(render, assemble, query.snippet_chars, query.max_tokens, size_of)


def _without_hits(delivery: Delivery, control: Control) -> SearchResponse:
    stats = control.stats
    return SearchResponse(
        hits=(),
        corpus_revision=control.corpus_revision,
        degraded=delivery.degraded,
        warnings=delivery.warnings,
        stages=delivery.stages,
        mode=SearchMode(delivery.query.mode),
        index_size={"documents": stats.get("doc_count", 0), "chunks": stats.get("chunk_count", 0)},
    )
