"""Reading what is stored: fetch, list, inspect, status. All of it from one snapshot.

Everything is verbatim ``Document.text``; lines are those of the file as it was indexed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._media import has_lines, medium_of
from kb_app._search.filtering import compile_filters, epoch_of, filter_warnings, globs_of
from kb_app._search.hits import Freshness, file_of
from kb_app._search.lookup import (
    chunk_named,
    document_named,
    files_named,
    is_span,
    no_span,
    paths_named,
)
from kb_core import wire
from kb_core.citations import citation_of
from kb_core.errors import InvalidInput, ModelMissing, SpanNotSupported
from kb_core.filters import And, Filter, Glob, OneOf, Or, all_of, literal_glob
from kb_core.ids import enclosed_path
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc, StoredFile
from kb_core.records import FileState
from kb_core.search import CHARS_PER_TOKEN, SearchFilters
from kb_core.text import LineIndex, cut_within

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_core.stored import Ledger
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
    "with_text",
]

_LONGEST_PATH = 250

Json = dict[str, Any]


def fetch_chunk(
    snapshot: IndexSnapshot, chunk_id: str, context: int, fresh: Freshness
) -> types.FetchResult:
    """Return a chunk with up to *context* chunks before and after it in its document."""
    if context < 0:
        raise InvalidInput(
            f"context {context} is negative", details={"field": "context", "value": context}
        )
    target = chunk_named(snapshot, chunk_id)
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
    """Return a document's text, cut to the budget where that hurts least."""
    doc, text = _doc_and_text(snapshot, doc_id)
    cut = _cut(text, _budget(max_tokens))
    omitted = len(text) - cut if cut < len(text) else None
    found = wire.fetch_doc(doc, text[:cut], stale=fresh.is_stale(doc), omitted_chars=omitted)
    found["media"] = doc["media"]
    if has_lines(doc):
        found["lines"] = len(LineIndex(text))
    return _flagged(found, snapshot, doc, range(cut))


def fetch_span(
    snapshot: IndexSnapshot,
    doc_id: str,
    asked: tuple[int, int],
    max_tokens: int | None,
    fresh: Freshness,
) -> types.FetchResult:
    """Return lines *asked*, from 1 and inclusive; the last is cut to what there is."""
    start, end = asked
    budget = _budget(max_tokens)
    doc, text = _doc_and_text(snapshot, doc_id)
    if not has_lines(doc):
        raise _without_lines(snapshot, doc)
    if not is_span(start, end):
        raise no_span(doc, asked, text, "line_start")
    lines = LineIndex(text)
    stale = fresh.is_stale(doc)
    last = min(end, len(lines))
    first_char, stop = lines.range_of(start, last) if start <= last else (len(text), len(text))
    wanted = text[first_char:stop]
    cut = _cut(wanted, budget)
    omitted = len(wanted) - cut or None
    delivered = start - 1 + len(LineIndex(wanted[:cut]))
    found = wire.fetch_span(doc, wanted[:cut], asked, delivered, stale=stale, omitted_chars=omitted)
    found |= {"media": doc["media"], "lines": len(lines)}
    return _flagged(found, snapshot, doc, range(first_char, first_char + cut))


def with_text(found: types.FetchResult, text: str, max_tokens: int | None) -> types.FetchResult:
    """Return *found* with *text*, cut to the budget."""
    end = _cut(text, _budget(max_tokens))
    if end == len(text):
        return {**found, "text": text}
    return {**found, "text": text[:end], "truncated": True, "omitted_chars": len(text) - end}


def _without_lines(snapshot: IndexSnapshot, doc: StoredDoc) -> SpanNotSupported:
    """Return the error for lines of a document that is not addressed by those of its text."""
    chunks = snapshot.doc_chunks(doc["doc_id"])
    place = next((citation_of(chunk).uri for chunk in chunks if chunk["span"]), None)
    such = f"fetch a place of it as hits cite it, such as {place!r}, or " if place else ""
    return SpanNotSupported(
        f"{doc['path']!r} is {doc['media']}, which has no lines to be addressed by",
        hint=f"{such}fetch the chunk, or the whole document",
        details={"doc_id": doc["doc_id"], "media": doc["media"], "place": place},
    )


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
    doc = document_named(snapshot, doc_id)
    return wire.doc_inspection(doc, _enclosed(snapshot, doc))


def inspect_chunk(snapshot: IndexSnapshot, chunk_id: str) -> types.ChunkInspection:
    """Return all that is known of a chunk."""
    found = chunk_named(snapshot, chunk_id)
    return wire.chunk_inspection(found, _embeddings(snapshot, found))


def chunks_of(snapshot: IndexSnapshot, doc_id: str) -> list[types.ChunkInspection]:
    """Return the chunks of a document, by ordinal."""
    found = snapshot.doc_chunks(document_named(snapshot, doc_id)["doc_id"])
    return [_chunk(snapshot, chunk) for chunk in found]


def list_docs(
    snapshot: IndexSnapshot | None, filters: SearchFilters, limit: int, offset: int
) -> types.DocSummaryList:
    """Return one page of the documents that pass *filters*, by source and path."""
    if snapshot is None:
        return wire.doc_list([], total=0)
    found = snapshot.docs(compile_filters(filters, snapshot))
    page = found[offset : offset + limit]
    warnings = filter_warnings(filters, snapshot, found=len(found) > 0)
    return wire.doc_list(page, total=len(found), warnings=warnings)


def status(  # noqa: PLR0913 - what is asked for, and of what
    snapshot: IndexSnapshot,
    path_glob: str | None,
    state: str | None,
    changed_since: str | None,
    parts: Parts,
    *,
    limit: int | None = None,
    offset: int = 0,
) -> types.FileStatus:
    """Return the ledger, perhaps narrowed, perhaps a page of it; coverage counts all of it.

    What changed *since* a moment is told the last first, deleted files among it.
    """
    if state is not None and state not in {s.value for s in FileState}:
        known = ", ".join(s.value for s in FileState)
        raise InvalidInput(
            f"state {state!r} is not one of {known}", details={"field": "state", "value": state}
        )
    where = None if path_glob is None else _files_named(snapshot, path_glob)
    where = all_of([where, None if state is None else OneOf("state", (state,))])
    shown = snapshot.files(where)
    if changed_since is not None:
        since = epoch_of("changed_since", changed_since)
        recent = (row for row in shown if _changed_at(row) >= since)
        shown = sorted(recent, key=_changed_at, reverse=True)
    ledger = snapshot.ledger(None)
    page = shown[offset : None if limit is None else offset + limit]
    totals = _coverage(snapshot, ledger, parts)
    return wire.file_status(page, totals, total=len(shown), as_of=ledger.changed)


def coverage_of(snapshot: IndexSnapshot | None, parts: Parts) -> types.FileStatusCoverage:
    """Return the totals over the whole ledger."""
    if snapshot is None:
        return wire.coverage({}, chunks=0, embedded=0)
    return _coverage(snapshot, snapshot.ledger(None), parts)


def _coverage(snapshot: IndexSnapshot, ledger: Ledger, parts: Parts) -> types.FileStatusCoverage:
    stats = snapshot.control.stats
    counted = stats.get("embedded", {})
    try:
        model = parts.model()
        embedded = counted.get(model.key, 0) if model is not None else 0
    except ModelMissing:  # nor is it known which of them is its
        embedded = max(counted.values(), default=0)
    return wire.coverage(ledger.counts, chunks=stats.get("chunk_count", 0), embedded=embedded)


def _changed_at(row: StoredFile) -> int:
    """Return when a file was last processed, or came into another state."""
    return max(row["processed_at"] or 0, row["changed_at"] or 0)


def _files_named(snapshot: IndexSnapshot, path_glob: str) -> Filter:
    """Return the filter for the rows of a pattern, or of what else names a file or a folder."""
    pattern = Or(globs_of("path_glob", path_glob, lambda where: len(snapshot.files(where))))
    if snapshot.files(pattern):
        return pattern
    named = paths_named(snapshot, path_glob)
    if rows := files_named(snapshot, path_glob):
        keys = {(row["source_id"], row["path"]) for row in rows}
        return Or(tuple(And((OneOf("source_id", (s,)), OneOf("path", (p,)))) for s, p in keys))
    # What is within a file has no row but that of its file.
    enclosed = snapshot.docs(OneOf("path", tuple(named)))
    files = tuple(container for doc in enclosed if (container := doc.get("container")))
    if files and snapshot.files(containers := OneOf("path", files)):
        return containers
    literal = map(literal_glob, named)
    short = [path for path in literal if path.strip("/") and len(path) < _LONGEST_PATH]
    inside = [Glob(p) for path in short for p in (f"/{path}/**", f"**/{path.lstrip('/')}")]
    return Or(tuple(inside))


def _enclosed(snapshot: IndexSnapshot, doc: StoredDoc) -> list[StoredDoc]:
    """Return the documents within one, however deep."""
    if not medium_of(doc["media"]).holds_files:
        return []
    inside = Glob(f"/{enclosed_path(literal_glob(doc['path']), '**')}")
    where = And((OneOf("source_id", (doc["source_id"],)), inside))
    file = file_of(doc)
    return [each for each in snapshot.docs(where) if each.get("container") == file]


def _doc_and_text(snapshot: IndexSnapshot, doc_id: str) -> tuple[StoredDoc, str]:
    doc = document_named(snapshot, doc_id)
    return doc, snapshot.doc_text(doc["doc_id"]) or ""


def _chunk(snapshot: IndexSnapshot, stored: StoredChunk) -> types.ChunkInspection:
    return wire.chunk(stored, _embeddings(snapshot, stored))


def _embeddings(snapshot: IndexSnapshot, stored: StoredChunk) -> Mapping[str, int]:
    return {
        key: files.dimensions
        for key, files in snapshot.control.vectors.items()
        if snapshot.with_vector([stored["chunk_key"]], key)
    }


def _budget(max_tokens: int | None) -> int | None:
    if max_tokens is None:
        return None
    if max_tokens < 1:
        raise InvalidInput(
            f"max_tokens {max_tokens} is not at least 1",
            details={"field": "max_tokens", "value": max_tokens},
        )
    return max_tokens * CHARS_PER_TOKEN


def _cut(text: str, budget: int | None) -> int:
    """Return where to cut; nowhere, without a budget."""
    return len(text) if budget is None else cut_within(text, budget)
