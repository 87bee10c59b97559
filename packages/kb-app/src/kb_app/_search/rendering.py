"""Rows of a ranking as hits that can be shown: text, place, provenance, freshness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb_app._search.freshness import Freshness
from kb_app._search.ranking import Place, Row
from kb_core.citations import citation_of
from kb_core.search import Hit, Retrieval
from kb_search.snippets import Highlighter

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot, StoredChunk

__all__ = ["Renderer"]


class Renderer:
    """Reads chunks of one snapshot, each once, and makes hits of them.

    Shared by all queries of one call; not by threads.
    """

    def __init__(
        self, snapshot: IndexSnapshot, *, now: int, stale_days: int, model_key: str | None
    ) -> None:
        self._snapshot = snapshot
        self._fresh = Freshness(snapshot, now=now, threshold_days=stale_days)
        self._model_key = model_key
        self._chunks: dict[int, StoredChunk] = {}

    def chunks(self, keys: Sequence[int]) -> dict[int, StoredChunk]:
        """Return those chunks that exist, by key."""
        missing = [key for key in keys if key not in self._chunks]
        if missing:
            self._chunks.update(self._snapshot.chunks(missing))
        return {key: self._chunks[key] for key in keys if key in self._chunks}

    def places(self, keys: Sequence[int]) -> dict[int, Place]:
        """Return what orders chunks of equal score."""
        return {
            key: (chunk["source_id"], chunk["path"], chunk["ordinal"])
            for key, chunk in self.chunks(keys).items()
        }

    def highlighter(self, text: str) -> Highlighter:
        """Return what finds the words of *text*."""
        return Highlighter(text, self._snapshot.languages)

    def hits(
        self,
        rows: Sequence[Row],
        *,
        first_rank: int,
        method: str,
        highlighter: Highlighter,
        snippet_chars: int,
    ) -> list[Hit]:
        """Return the hits of a page, ranks counting from *first_rank*."""
        chunks = self.chunks([row.chunk_key for row in rows])
        shown = [row for row in rows if row.chunk_key in chunks]
        return [
            self._hit(
                rank,
                row,
                chunks[row.chunk_key],
                method,
                highlighter.snippet(chunks[row.chunk_key]["text"], snippet_chars),
            )
            for rank, row in enumerate(shown, start=first_rank)
        ]

    def _hit(
        self,
        rank: int,
        row: Row,
        chunk: StoredChunk,
        method: str,
        snippet: tuple[str, bool],
    ) -> Hit:
        headings = tuple(chunk["heading_path"])
        text, whole = snippet
        return Hit(
            rank=rank,
            score=row.score,
            score_kind=row.kind,
            chunk_id=chunk["chunk_id"],
            doc_id=chunk["doc_id"],
            doc_path=chunk["path"],
            title=chunk["title"],
            heading_path=headings,
            section_label=chunk["symbol"] or (headings[-1] if headings else None),
            snippet=text,
            snippet_full_text=whole,
            citation=citation_of(chunk),
            retrieval=_retrieval(row, method),
            index_version=self._snapshot.control.index_version,
            chunker_version=chunk["chunker_version"],
            embedding_model=None if row.fused.vector_rank is None else self._model_key,
            indexed_at=chunk["indexed_at"],
            stale=self._fresh.is_stale(chunk),
            source_id=chunk["source_id"],
            source_type=chunk["source_type"],
            trust_level=chunk["trust_level"],
            lang=chunk["lang"],
            media=chunk["media"],
            repo=chunk["repo"],
            code_lang=chunk["code_lang"],
            flags=tuple(chunk["flags"]),
        )


def _retrieval(row: Row, method: str) -> Retrieval:
    fused = row.fused
    return Retrieval(
        method=method,
        fusion_score=fused.score,
        lexical_score=fused.lexical_score,
        vector_score=fused.vector_score,
        lexical_rank=fused.lexical_rank,
        vector_rank=fused.vector_rank,
        rerank_score=row.rerank_score,
    )
