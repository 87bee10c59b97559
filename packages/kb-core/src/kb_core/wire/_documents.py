"""Documents, chunks and fetched text on the wire.

Chunks and documents come in as the mappings that an index shows (``StoredChunk``,
``StoredDoc`` of ``kb_core.ports``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb_core.clock import from_epoch
from kb_core.places import citation_of
from kb_core.wire._json import Json, given, timestamp, timestamp_or_none
from kb_core.wire._search import citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_core.ports import StoredChunk, StoredDoc

__all__ = [
    "chunk",
    "chunk_inspection",
    "doc_inspection",
    "doc_list",
    "doc_summary",
    "fetch_chunk",
    "fetch_doc",
    "fetch_span",
]


def chunk(stored: StoredChunk, embeddings: Mapping[str, int]) -> Json:
    """Return a chunk as part of a larger object; *embeddings*: model key → dimensions."""
    out: Json = {
        "chunk_id": stored["chunk_id"],
        "doc_id": stored["doc_id"],
        "doc_path": stored["path"],
        "ordinal": stored["ordinal"],
        "heading_path": list(stored["heading_path"]),
        "text": stored["text"],
        "char_start": stored["start"],
        "char_end": stored["end"],
        "source_spans": [citation(citation_of(stored))],
        "token_count": stored["token_count"],
        "chunker_version": stored["chunker_version"],
        "embeddings": [
            {"model": model, "dimensions": size} for model, size in sorted(embeddings.items())
        ],
    }
    if stored.get("symbol"):
        out["symbol"] = stored["symbol"]
    if stored.get("part"):
        out["part"] = stored["part"]
    if stored.get("flags"):
        out["flags"] = list(stored["flags"])
    return out


def chunk_inspection(stored: StoredChunk, embeddings: Mapping[str, int]) -> Json:
    """Return chunk_inspection.v1."""
    return {"schema_version": "chunk_inspection.v1", **chunk(stored, embeddings)}


def fetch_chunk(
    target: Json, before: Iterable[Json], after: Iterable[Json], *, indexed_at: int, stale: bool
) -> Json:
    """Return fetch_result.v1 of a chunk; all three hold what ``chunk`` makes."""
    head = _fetched("chunk", target["doc_id"], target["doc_path"], indexed_at, stale=stale)
    return {
        **head,
        "chunk": target,
        "context_before": list(before),
        "context_after": list(after),
    }


def fetch_doc(doc: StoredDoc, text: str, *, stale: bool, omitted_chars: int | None = None) -> Json:
    """Return fetch_result.v1 of a document; with *omitted_chars*, a budget cut it."""
    head = _fetched("doc", doc["doc_id"], doc["path"], doc["indexed_at"], stale=stale)
    return {**head, "text": text, **_cut(omitted_chars)}


def fetch_span(
    doc: StoredDoc,
    text: str,
    asked: tuple[int, int],
    effective_end: int,
    *,
    stale: bool,
    omitted_chars: int | None = None,
) -> Json:
    """Return fetch_result.v1 of lines; with *omitted_chars*, a budget cut them."""
    head = _fetched("span", doc["doc_id"], doc["path"], doc["indexed_at"], stale=stale)
    lines = {"line_start": asked[0], "line_end": asked[1], "effective_end": effective_end}
    return {**head, "text": text, **lines, **_cut(omitted_chars)}


def _fetched(kind: str, doc_id: str, path: str, indexed_at: int, *, stale: bool) -> Json:
    return {
        "schema_version": "fetch_result.v1",
        "kind": kind,
        "doc_id": doc_id,
        "doc_path": path,
        "indexed_at": timestamp(indexed_at),
        "stale": stale,
        "truncated": False,
    }


def _cut(omitted_chars: int | None) -> Json:
    return {} if omitted_chars is None else {"truncated": True, "omitted_chars": omitted_chars}


def doc_summary(doc: StoredDoc) -> Json:
    """Return a document as it stands in a list."""
    out: Json = {
        "doc_id": doc["doc_id"],
        "doc_path": doc["path"],
        "source_id": doc["source_id"],
        "title": doc["title"],
        "lang": doc["lang"],
        "tags": list(doc["tags"]),
        "trust_level": doc["trust_level"],
        "source_type": doc["source_type"],
        "media": doc["media"],
        "byte_len": doc["byte_len"],
        "chunk_count": doc["chunk_count"],
        "created_at": timestamp_or_none(doc.get("created_at")),
        "updated_at": timestamp_or_none(doc.get("updated_at")),
        "indexed_at": timestamp(doc["indexed_at"]),
        "parser_version": doc["parser_version"],
        "chunker_version": doc["chunker_version"],
    }
    if doc.get("doc_date") is not None:
        out["doc_date"] = timestamp(doc["doc_date"])
    return out | {key: doc[key] for key in ("code_lang", "repo") if doc.get(key)}


def doc_list(
    docs: Iterable[StoredDoc],
    *,
    total: int,
    next_cursor: str | None = None,
    warnings: Sequence[str] = (),
) -> Json:
    """Return doc_summary_list.v1: one page of *total* documents."""
    out: Json = {
        "schema_version": "doc_summary_list.v1",
        "items": [doc_summary(doc) for doc in docs],
        "total": total,
        "next_cursor": next_cursor,
    }
    return out | ({"warnings": list(warnings)} if warnings else {})


def doc_inspection(doc: StoredDoc) -> Json:
    """Return doc_inspection.v1: all that is known of a document, but for its text."""
    out = {"schema_version": "doc_inspection.v1", **doc_summary(doc)}
    out |= {key: doc[key] for key in ("repo_branch", "repo_commit", "bytes_hash") if doc.get(key)}
    out["aliases"] = list(doc.get("aliases") or ())
    out["metadata"] = dict(doc.get("metadata") or {})
    out["blocks"] = [_block(block) for block in doc.get("blocks") or ()]
    out["links"] = [_link(link) for link in doc.get("links") or ()]
    out["provenance"] = list(_provenance(doc))
    out["warnings"] = list(doc.get("warnings") or ())
    return out


def _block(block: Mapping[str, Any]) -> Json:
    out = {
        "kind": block["kind"],
        "heading_path": list(block.get("heading_path") or ()),
        "char_start": block["start"],
        "char_end": block["end"],
    }
    return out | {k: block[k] for k in ("level", "symbol", "symbol_kind") if block.get(k)}


def _link(link: Mapping[str, Any]) -> Json:
    known = {key: link.get(key) for key in ("kind", "target", "text")}
    return given({**known, "char_start": link.get("start")})


def _provenance(doc: StoredDoc) -> Iterable[Json]:
    modified = from_epoch(int(doc["mtime_ns"]) // 1_000_000_000)
    yield given({"kind": "modified", "at": timestamp(modified), "detail": doc.get("bytes_hash")})
    for kind in ("parsed", "chunked"):
        version = doc["parser_version" if kind == "parsed" else "chunker_version"]
        yield {"kind": kind, "at": timestamp(doc["indexed_at"]), "detail": version}
