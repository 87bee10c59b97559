"""Reading what is stored: fetch, list, inspect, status. All of it from one snapshot.

Everything is verbatim ``Document.text``; lines are those of the file as it was indexed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._media import medium_of
from kb_app._search.hits import Freshness
from kb_app._search.query import compile_filters, filter_warnings, glob_of
from kb_core import wire
from kb_core.errors import ChunkNotFound, DocNotFound, InvalidInput, SpanNotSupported
from kb_core.ids import parse_id_prefix
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.records import FileState
from kb_core.search import SearchFilters
from kb_core.text import LineIndex

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = [
    "chunks_of",
    "fetch_chunk",
    "fetch_doc",
    "fetch_span",
    "inspect_chunk",
    "inspect_doc",
    "list_docs",
    "status",
]

_FULL_ID = 32
_CHARS_PER_TOKEN = 4

Json = dict[str, Any]


def fetch_chunk(
    snapshot: IndexSnapshot, chunk_id: str, context: int, fresh: Freshness
) -> types.FetchResult:
    """Return a chunk with up to *context* chunks before and after it in its document."""
    if context < 0:
        raise InvalidInput(
            f"context {context} is negative", details={"field": "context", "value": context}
        )
    target = _one_chunk(snapshot, chunk_id)
    before: Sequence[StoredChunk] = ()
    after: Sequence[StoredChunk] = ()
    if context:
        siblings = snapshot.doc_chunks(target["doc_id"])
        at = next(i for i, c in enumerate(siblings) if c["chunk_id"] == target["chunk_id"])
        before = siblings[max(0, at - context) : at]
        after = siblings[at + 1 : at + 1 + context]
    return wire.fetch_chunk(
        _chunk(snapshot, target),
        [_chunk(snapshot, chunk) for chunk in before],
        [_chunk(snapshot, chunk) for chunk in after],
        indexed_at=target["indexed_at"],
        stale=fresh.is_stale(target),
    )


def fetch_doc(
    snapshot: IndexSnapshot, doc_id: str, max_tokens: int | None, fresh: Freshness
) -> types.FetchResult:
    """Return a document's text, cut at the last line end inside the budget."""
    doc, text = _doc_and_text(snapshot, doc_id)
    cut = _cut_at_line(text, _budget(max_tokens))
    omitted = len(text) - cut if cut < len(text) else None
    found = wire.fetch_doc(doc, text[:cut], stale=fresh.is_stale(doc), omitted_chars=omitted)
    return _flagged(found, snapshot, doc, range(cut))


def fetch_span(
    snapshot: IndexSnapshot,
    doc_id: str,
    asked: tuple[int, int],
    max_tokens: int | None,
    fresh: Freshness,
) -> types.FetchResult:
    """Return lines *asked*, from 1 and inclusive, clamped to what there is."""
    start, end = asked
    if start < 1 or end < start:
        raise InvalidInput(
            f"lines {start} to {end} are not a span",
            hint="lines count from 1, and the last is not before the first",
            details={"field": "line_start", "value": [start, end]},
        )
    budget = _budget(max_tokens)
    doc, text = _doc_and_text(snapshot, doc_id)
    if not medium_of(doc["media"]).has_lines:
        raise SpanNotSupported(
            f"{doc['path']!r} is {doc['media']} and has no lines",
            hint="fetch the chunk, or the whole document",
            details={"doc_id": doc["doc_id"], "media": doc["media"]},
        )
    lines = LineIndex(text)
    stale = fresh.is_stale(doc)
    if start > len(lines):
        return wire.fetch_span(doc, "", asked, start - 1, stale=stale)
    last = min(end, len(lines))
    first_char, stop = lines.range_of(start, last)
    wanted = text[first_char:stop]
    cut = _cut_at_line(wanted, budget, whole_lines=True)
    if cut == len(wanted):
        found = wire.fetch_span(doc, wanted, asked, last, stale=stale)
        return _flagged(found, snapshot, doc, range(first_char, stop))
    delivered = start - 1 + wanted[:cut].count("\n")
    found = wire.fetch_span(
        doc, wanted[:cut], asked, delivered, stale=stale, omitted_chars=len(wanted) - cut
    )
    return _flagged(found, snapshot, doc, range(first_char, first_char + cut))


def _flagged(
    found: types.FetchResult, snapshot: IndexSnapshot, doc: StoredDoc, shown: range
) -> types.FetchResult:
    """Return *found* with the remarks on what is *shown* of the text, if there are any."""
    flags = {
        flag
        for chunk in snapshot.doc_chunks(doc["doc_id"])
        if chunk["start"] < shown.stop and shown.start < chunk["end"]
        for flag in chunk["flags"]
    }
    if flags:
        found["flags"] = sorted(flags)
    return found


def inspect_doc(snapshot: IndexSnapshot, doc_id: str) -> types.DocInspection:
    """Return all that is known of a document, but for its text."""
    return wire.doc_inspection(_one_doc(snapshot, doc_id))


def inspect_chunk(snapshot: IndexSnapshot, chunk_id: str) -> types.ChunkInspection:
    """Return all that is known of a chunk."""
    found = _one_chunk(snapshot, chunk_id)
    return wire.chunk_inspection(found, _embeddings(snapshot, found))


def chunks_of(snapshot: IndexSnapshot, doc_id: str) -> list[types.ChunkInspection]:
    """Return the chunks of a document, by ordinal."""
    found = snapshot.doc_chunks(_one_doc(snapshot, doc_id)["doc_id"])
    return [_chunk(snapshot, chunk) for chunk in found]


def list_docs(
    snapshot: IndexSnapshot, filters: SearchFilters, limit: int, offset: int
) -> types.DocSummaryList:
    """Return one page of the documents that pass *filters*, by source and path."""
    found = snapshot.docs(compile_filters(filters, snapshot))
    page = found[offset : offset + limit]
    warnings = filter_warnings(filters, snapshot)
    return wire.doc_list(page, total=len(found), warnings=warnings)


def status(
    snapshot: IndexSnapshot,
    path_glob: str | None,
    state: str | None,
    *,
    limit: int | None = None,
    offset: int = 0,
) -> types.FileStatus:
    """Return the ledger, perhaps narrowed, perhaps a page of it; coverage counts all of it."""
    if state is not None and state not in {s.value for s in FileState}:
        known = ", ".join(s.value for s in FileState)
        raise InvalidInput(
            f"state {state!r} is not one of {known}", details={"field": "state", "value": state}
        )
    everything = snapshot.files(None)
    shown = everything
    if path_glob is not None:
        shown = snapshot.files(glob_of("path_glob", path_glob))
    if state is not None:
        shown = [row for row in shown if row["state"] == state]
    stats = snapshot.control.stats
    embedded = max(stats.get("embedded", {}).values(), default=0)
    totals = wire.coverage(everything, chunks=stats.get("chunk_count", 0), embedded=embedded)
    page = shown[offset : None if limit is None else offset + limit]
    return wire.file_status(page, totals, total=len(shown))


def _one_chunk(snapshot: IndexSnapshot, chunk_id: str) -> StoredChunk:
    prefix = parse_id_prefix(chunk_id, what="chunk_id")
    found = snapshot.find_chunks(prefix, 2)
    if len(found) > 1:
        raise _ambiguous("chunk_id", chunk_id)
    if not found:
        raise ChunkNotFound(
            f"no chunk has the id {chunk_id!r}",
            hint="chunks get new ids when their text changes: search again",
            details={"chunk_id": chunk_id},
        )
    return found[0]


def _one_doc(snapshot: IndexSnapshot, doc_id: str) -> StoredDoc:
    prefix = parse_id_prefix(doc_id, what="doc_id")
    found = snapshot.find_docs(prefix, 2)
    if len(found) > 1:
        raise _ambiguous("doc_id", doc_id)
    if not found:
        raise DocNotFound(
            f"no document has the id {doc_id!r}",
            hint="'kebab list docs' shows the ids of all documents",
            details={"doc_id": doc_id},
        )
    return found[0]


def _ambiguous(what: str, value: str) -> InvalidInput:
    return InvalidInput(
        f"{what} {value!r} is the beginning of several ids",
        hint=f"give more of its {_FULL_ID} digits",
        details={"field": what, "value": value},
    )


def _doc_and_text(snapshot: IndexSnapshot, doc_id: str) -> tuple[StoredDoc, str]:
    doc = _one_doc(snapshot, doc_id)
    return doc, snapshot.doc_text(doc["doc_id"]) or ""


def _chunk(snapshot: IndexSnapshot, stored: StoredChunk) -> types.ChunkInspection:
    return wire.chunk(stored, _embeddings(snapshot, stored))


def _embeddings(snapshot: IndexSnapshot, stored: StoredChunk) -> Mapping[str, int]:
    return {
        key: files.dimensions
        for key, files in snapshot.control.vectors.items()
        if snapshot.vector_of(stored["chunk_key"], key) is not None
    }


def _budget(max_tokens: int | None) -> int | None:
    if max_tokens is None:
        return None
    if max_tokens < 1:
        raise InvalidInput(
            f"max_tokens {max_tokens} is not at least 1",
            details={"field": "max_tokens", "value": max_tokens},
        )
    return max_tokens * _CHARS_PER_TOKEN


def _cut_at_line(text: str, budget: int | None, *, whole_lines: bool = False) -> int:
    """Return where to cut: the last line end inside the budget; without one, the budget."""
    if budget is None or len(text) <= budget:
        return len(text)
    line_end = text.rfind("\n", 0, budget)
    if line_end >= 0:
        return line_end + 1
    return 0 if whole_lines else budget
