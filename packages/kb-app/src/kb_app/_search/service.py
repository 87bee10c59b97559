"""One search from question to answer, over one snapshot.

Both channels give candidates, a pool that does not depend on the page asked for; the
lists are fused; the first ``k`` are read and shown. When a channel cannot run, the
other answers and ``degraded`` says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kb_app._search.filters import compile_filters, media_warnings
from kb_app._search.freshness import Freshness
from kb_app._search.grammar import ParsedQuery, parse_query
from kb_core.errors import KbError
from kb_core.filters import Filter, all_of
from kb_core.media import SearchMode
from kb_core.places import citation_of
from kb_core.search import (
    Candidate,
    FusionInput,
    Hit,
    Retrieval,
    Scored,
    SearchQuery,
    SearchResponse,
    Timing,
    Trace,
)
from kb_search.fusion import Fused, reciprocal_rank_fusion
from kb_search.snippets import Highlighter

if TYPE_CHECKING:
    from kb_core.ports import Embedder, IndexSnapshot

__all__ = ["Channels", "SearchSettings", "search"]

_POOL_FACTOR = 5
_POOL_MIN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What a search needs of the configuration."""

    rrf_k: int = 60
    stale_threshold_days: int = 30
    model_key: str | None = None
    """Names the vectors to search; ``None`` where embedding is switched off."""


@dataclass(slots=True)
class Channels:
    """What both channels proposed, and how long that took in seconds."""

    lexical: Sequence[Scored] = ()
    vector: Sequence[Scored] = ()
    lexical_secs: float = 0.0
    vector_secs: float = 0.0
    embed_secs: float = 0.0
    degraded: tuple[str, ...] = ()


class _Search:
    """The state of one search; lives as long as the call."""

    def __init__(self, query: SearchQuery, snapshot: IndexSnapshot) -> None:
        self.query = query
        self.snapshot = snapshot
        self.chunks: dict[int, Mapping[str, Any]] = {}

    def read(self, keys: Sequence[int]) -> Mapping[int, Mapping[str, Any]]:
        missing = [key for key in keys if key not in self.chunks]
        if missing:
            self.chunks.update(self.snapshot.chunks(missing))
        return self.chunks

    def place(self, key: int) -> tuple[str, str, int]:
        chunk = self.chunks.get(key)
        if chunk is None:
            return ("", "", key)
        return (chunk["source_id"], chunk["path"], chunk["ordinal"])


def search(
    query: SearchQuery,
    snapshot: IndexSnapshot,
    embedder: Callable[[], Embedder],
    settings: SearchSettings,
    now: int,
) -> SearchResponse:
    """Answer *query* at the state that *snapshot* holds.

    *embedder* is called when a vector is needed; loading a model is what costs.
    """
    started = time.perf_counter()
    running = _Search(query, snapshot)
    parsed = parse_query(query.text)
    where = all_of([parsed.where, compile_filters(query.filters)])
    channels = _ask(running, parsed, where, embedder, settings)
    fusing = time.perf_counter()
    fused = reciprocal_rank_fusion(channels.lexical, channels.vector, k=settings.rrf_k)
    page = _first(running, fused, query.k)
    fused_secs = time.perf_counter() - fusing
    hits = _hits(running, page, settings, now)
    timing = _timing(channels, fused_secs, time.perf_counter() - fusing - fused_secs, started)
    stats = snapshot.control.stats
    return SearchResponse(
        hits=hits,
        corpus_revision=snapshot.control.corpus_revision,
        degraded=channels.degraded,
        warnings=tuple(media_warnings(query.filters.media)),
        trace=_trace(running, channels, fused, timing) if query.trace else None,
        mode=query.mode,
        elapsed_ms=(time.perf_counter() - started) * 1000,
        index_size={"documents": stats.get("doc_count", 0), "chunks": stats.get("chunk_count", 0)},
    )


def _ask(
    running: _Search,
    parsed: ParsedQuery,
    where: Filter | None,
    embedder: Callable[[], Embedder],
    settings: SearchSettings,
) -> Channels:
    query, snapshot = running.query, running.snapshot
    pool = max(_POOL_FACTOR * query.k, _POOL_MIN)
    channels = Channels()
    if query.mode is not SearchMode.VECTOR:
        started = time.perf_counter()
        channels.lexical = snapshot.lexical(parsed.lexical, where, pool)
        channels.lexical_secs = time.perf_counter() - started
    if query.mode is not SearchMode.LEXICAL:
        _ask_vectors(running, parsed, where, embedder, settings, channels, pool)
    return channels


def _ask_vectors(  # noqa: PLR0913, PLR0917 - the parts of one search, passed on
    running: _Search,
    parsed: ParsedQuery,
    where: Filter | None,
    embedder: Callable[[], Embedder],
    settings: SearchSettings,
    channels: Channels,
    pool: int,
) -> None:
    reason, runs = _coverage(running.snapshot, settings.model_key)
    if reason:
        channels.degraded = (f"vector: {reason}",)
    if not runs or settings.model_key is None:
        return
    started = time.perf_counter()
    try:
        asked = embedder().embed_query(parsed.text)
    except KbError as error:
        channels.degraded = (f"vector: {error}",)
        return
    embedded = time.perf_counter()
    channels.vector = running.snapshot.vector(asked, settings.model_key, where, pool)
    channels.embed_secs = embedded - started
    channels.vector_secs = time.perf_counter() - embedded


def _coverage(snapshot: IndexSnapshot, model_key: str | None) -> tuple[str | None, bool]:
    """Return what is to be said of the vector channel, and whether it can run."""
    if model_key is None:
        return "switched off (embedding.model is 'none')", False
    chunks = int(snapshot.control.stats.get("chunk_count", 0))
    files = snapshot.control.vectors.get(model_key)
    embedded = files.rows - files.dead if files else 0
    if chunks and not embedded:
        return "no embeddings for this model yet (run 'kebab embed')", False
    if embedded < chunks:
        return f"{embedded:,} of {chunks:,} chunks embedded", True
    return None, bool(embedded)


def _first(running: _Search, fused: Sequence[Fused], k: int) -> list[Fused]:
    """Return the first *k*, equal scores in the order of source, path and ordinal (R14)."""
    mode = running.query.mode
    end = min(k, len(fused))
    while 0 < end < len(fused) and _score(fused[end], mode)[0] == _score(fused[end - 1], mode)[0]:
        end += 1
    page = fused[:end]
    running.read([row.chunk_key for row in page])
    page = [row for row in page if row.chunk_key in running.chunks]
    page.sort(key=lambda row: (-_score(row, mode)[0], running.place(row.chunk_key)))
    return [_ranked_as_shown(row, mode, rank) for rank, row in enumerate(page[:k], start=1)]


def _ranked_as_shown(row: Fused, mode: SearchMode, rank: int) -> Fused:
    """Where one channel ranks alone, its rank is the hit's."""
    if mode is SearchMode.LEXICAL:
        return replace(row, lexical_rank=rank)
    return replace(row, vector_rank=rank) if mode is SearchMode.VECTOR else row


def _hits(
    running: _Search, page: Sequence[Fused], settings: SearchSettings, now: int
) -> tuple[Hit, ...]:
    query, snapshot = running.query, running.snapshot
    highlighter = Highlighter(query.text, getattr(snapshot, "languages", ("en",)))
    fresh = Freshness(snapshot, now=now, threshold_days=settings.stale_threshold_days)
    return tuple(
        _hit(rank, row, running.chunks[row.chunk_key], running, highlighter, fresh, settings)
        for rank, row in enumerate(page, start=1)
    )


def _hit(  # noqa: PLR0913, PLR0917 - one value per source of a hit's fields
    rank: int,
    row: Fused,
    chunk: Mapping[str, Any],
    running: _Search,
    highlighter: Highlighter,
    fresh: Freshness,
    settings: SearchSettings,
) -> Hit:
    mode = running.query.mode
    score, kind = _score(row, mode)
    snippet, whole = highlighter.snippet(chunk["text"], running.query.snippet_chars)
    headings = tuple(chunk["heading_path"])
    return Hit(
        rank=rank,
        score=score,
        score_kind=kind,
        chunk_id=chunk["chunk_id"],
        doc_id=chunk["doc_id"],
        doc_path=chunk["path"],
        title=chunk["title"],
        heading_path=headings,
        section_label=chunk["symbol"] or (headings[-1] if headings else None),
        snippet=snippet,
        snippet_full_text=whole,
        citation=citation_of(chunk),
        retrieval=Retrieval(
            method=mode.value,
            fusion_score=row.score,
            lexical_score=row.lexical_score,
            vector_score=row.vector_score,
            lexical_rank=row.lexical_rank,
            vector_rank=row.vector_rank,
        ),
        index_version=running.snapshot.control.index_version,
        chunker_version=chunk["chunker_version"],
        embedding_model=settings.model_key if row.vector_rank is not None else None,
        indexed_at=chunk["indexed_at"],
        stale=fresh.is_stale(chunk),
        source_id=chunk["source_id"],
        source_type=chunk["source_type"],
        trust_level=chunk["trust_level"],
        lang=chunk["lang"],
        media=chunk["media"],
        repo=chunk["repo"],
        code_lang=chunk["code_lang"],
        flags=tuple(chunk["flags"]),
    )


def _score(row: Fused, mode: SearchMode) -> tuple[float, str]:
    if mode is SearchMode.LEXICAL:
        return row.lexical_score or 0.0, "bm25"
    if mode is SearchMode.VECTOR:
        return row.vector_score or 0.0, "cosine"
    return row.score, "rrf"


def _timing(channels: Channels, fusion_secs: float, read_secs: float, started: float) -> Timing:
    return Timing(
        lexical_ms=_ms(channels.lexical_secs),
        vector_ms=_ms(channels.vector_secs),
        fusion_ms=_ms(fusion_secs),
        total_ms=_ms(time.perf_counter() - started),
        embed_ms=_ms(channels.embed_secs),
        hydrate_ms=_ms(read_secs),
    )


def _trace(running: _Search, channels: Channels, fused: Sequence[Fused], timing: Timing) -> Trace:
    running.read([row.chunk_key for row in fused])
    ordered = sorted(fused, key=lambda row: (-row.score, running.place(row.chunk_key)))
    return Trace(
        lexical=_candidates(running, channels.lexical),
        vector=_candidates(running, channels.vector),
        fused=tuple(
            FusionInput(
                running.chunks[row.chunk_key]["chunk_id"],
                row.lexical_rank,
                row.vector_rank,
                row.score,
            )
            for row in ordered
            if row.chunk_key in running.chunks
        ),
        timing=timing,
    )


def _candidates(running: _Search, scored: Sequence[Scored]) -> tuple[Candidate, ...]:
    found = []
    for rank, row in enumerate(scored, start=1):
        chunk = running.chunks.get(row.chunk_key)
        if chunk is not None:
            found.append(
                Candidate(chunk["chunk_id"], chunk["doc_id"], chunk["path"], rank, row.score)
            )
    return tuple(found)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
