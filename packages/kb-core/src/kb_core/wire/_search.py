"""Citations, hits and search responses on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_core.places import kind_of, span_fields
from kb_core.wire._json import Json, decimal, given, timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb_core.citations import Citation
    from kb_core.search import (
        Candidate,
        FusionInput,
        Hit,
        Relaxation,
        Retrieval,
        SearchResponse,
        Trace,
    )

__all__ = ["citation", "hit", "search_response", "trace"]


def citation(place: Citation) -> Json:
    """Return a citation, flat; ``kind`` says which fields of the span there are."""
    span = place.span
    out: Json = {"kind": kind_of(span), "path": place.path, "uri": place.uri, **span_fields(span)}
    if "bbox" in out:
        out["bbox"] = [decimal(side) for side in out["bbox"]]
    if place.content_hash:
        out["content_hash"] = place.content_hash
    return out


def hit(found: Hit) -> Json:
    """Return a hit as it stands in a response."""
    out: Json = {
        "rank": found.rank,
        "score": decimal(found.score),
        "score_kind": found.score_kind,
        "chunk_id": found.chunk_id,
        "doc_id": found.doc_id,
        "doc_path": found.doc_path,
        "title": found.title,
        "heading_path": list(found.heading_path),
        "section_label": found.section_label,
        "snippet": found.snippet,
        "snippet_full_text": found.snippet_full_text,
        "citation": citation(found.citation),
        "retrieval": _retrieval(found.retrieval),
        "index_version": found.index_version,
        "chunker_version": found.chunker_version,
        "embedding_model": found.embedding_model,
        "indexed_at": timestamp(found.indexed_at),
        "stale": found.stale,
        "source_id": found.source_id,
        "source_type": found.source_type,
        "trust_level": found.trust_level,
        "lang": found.lang,
        "media": found.media,
    }
    if found.repo:
        out["repo"] = found.repo
    if found.code_lang:
        out["code_lang"] = found.code_lang
    if found.flags:
        out["flags"] = list(found.flags)
    if found.matched_queries is not None:
        out["matched_queries"] = list(found.matched_queries)
    if found.matched_count is not None:
        out["matched_count"] = found.matched_count
    if found.base_score is not None:
        out["base_score"] = decimal(found.base_score)
    return out


def search_response(response: SearchResponse) -> Json:
    """Return search_response.v1."""
    out: Json = {
        "schema_version": "search_response.v1",
        "hits": [hit(found) for found in response.hits],
        "next_cursor": response.next_cursor,
        "truncated": response.truncated,
        "corpus_revision": response.corpus_revision,
    }
    if response.omitted is not None:
        out["omitted"] = dict(response.omitted)
    if response.degraded:
        out["degraded"] = list(response.degraded)
    if response.warnings:
        out["warnings"] = list(response.warnings)
    if response.stages is not None:
        out["stages"] = list(response.stages)
    if response.trace is not None:
        out["trace"] = trace(response.trace)
    return out


def trace(story: Trace) -> Json:
    """Return the trace of one query."""
    timing = story.timing
    out: Json = {
        "lexical": _candidates(story.lexical),
        "vector": _candidates(story.vector),
        "rrf_inputs": [_fusion_input(row) for row in story.fused],
        "timing": {
            "lexical_ms": timing.lexical_ms,
            "vector_ms": timing.vector_ms,
            "fusion_ms": timing.fusion_ms,
            "total_ms": timing.total_ms,
        },
    }
    further = {
        "embed_ms": timing.embed_ms,
        "hydrate_ms": timing.hydrate_ms,
        "rerank_ms": timing.rerank_ms,
    }
    out["timing"] |= given(further)
    if story.relaxation is not None:
        out["relaxation"] = _relaxation(story.relaxation)
    return out


def _relaxation(relaxed: Relaxation) -> Json:
    return {
        "asked": list(relaxed.asked),
        "required": list(relaxed.required),
        "common": list(relaxed.common),
        "unknown": list(relaxed.unknown),
    }


def _retrieval(origin: Retrieval) -> Json:
    out: Json = {
        "method": origin.method,
        "fusion_score": _nullable(origin.fusion_score),
        "lexical_score": _nullable(origin.lexical_score),
        "vector_score": _nullable(origin.vector_score),
        "lexical_rank": origin.lexical_rank,
        "vector_rank": origin.vector_rank,
    }
    if origin.rerank_score is not None:
        out["rerank_score"] = decimal(origin.rerank_score)
    return out


def _candidates(proposed: Iterable[Candidate]) -> list[Json]:
    return [
        {
            "chunk_id": candidate.chunk_id,
            "doc_id": candidate.doc_id,
            "doc_path": candidate.doc_path,
            "rank": candidate.rank,
            "score": decimal(candidate.score),
        }
        for candidate in proposed
    ]


def _fusion_input(row: FusionInput) -> Json:
    return {
        "chunk_id": row.chunk_id,
        "lexical_rank": row.lexical_rank,
        "vector_rank": row.vector_rank,
        "fusion_score": decimal(row.fusion_score),
    }


def _nullable(score: float | None) -> float | None:
    return None if score is None else decimal(score)
