"""From a citation to the document it points into, its text, and the file to open.

A citation's path is relative to the root of its source and does not name the source. The
path that a file was moved from leads to the document, as its old id does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kb_app import _reading
from kb_app._citing.files import Files
from kb_app._citing.matching import judge, quoted_lines
from kb_app._media import medium_of
from kb_app._search.hits import Freshness
from kb_app._search.lookup import documents_at
from kb_app.editors import FilePlace
from kb_core.citations import Citation, CodeSpan, LineSpan, PageSpan, citation_of
from kb_core.errors import DocNotFound, InvalidInput, IoError, SpanNotSupported
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.wire import Json

__all__ = ["ambiguous", "chunks_at", "cite", "locate"]


def cite(snapshot: IndexSnapshot, citation: Citation, source: str | None, fresh: Freshness) -> Json:
    """Return fetch_result.v1 of what *citation* points at, as it was indexed.

    Lines are a span. Of any other place it is the first chunk, with the place's further
    chunks after it.
    """
    doc = _one_document(snapshot, citation, source)
    if isinstance(citation.span, LineSpan | CodeSpan):
        lines = citation.span.start, citation.span.end
        return _reading.fetch_span(snapshot, doc["doc_id"], lines, None, fresh)
    chunks = chunks_at(snapshot, doc, citation)
    if not chunks:
        place = citation.uri.rpartition("#")[2]
        raise SpanNotSupported(
            f"{doc['path']!r} has no text at {place!r}",
            hint=f"'kebab fetch doc {doc['doc_id'][:8]}' prints all of it",
            details={"field": "uri", "value": citation.uri, "doc_id": doc["doc_id"]},
        )
    further = chunks[-1]["ordinal"] - chunks[0]["ordinal"]
    found = _reading.fetch_chunk(snapshot, chunks[0]["chunk_id"], further, fresh)
    wanted = {chunk["chunk_id"] for chunk in chunks}
    after = [chunk for chunk in found["context_after"] if chunk["chunk_id"] in wanted]
    return {**found, "context_before": [], "context_after": after}


def locate(
    snapshot: IndexSnapshot, citation: Citation, source: str | None, files: Files
) -> FilePlace:
    """Return the file that *citation* points into, and where in it the text is now."""
    doc = _one_document(snapshot, citation, source)
    path = files.path_of(doc)
    if path is None or not Path(path).is_file():
        raise IoError(
            f"the file of {doc['path']!r} is not there",
            hint="without --open, 'kebab cite' prints the text as it was indexed",
            details={"doc_id": doc["doc_id"], "path": path},
        )
    is_text = medium_of(doc["media"]).is_text
    match citation.span:
        case LineSpan(start, end) | CodeSpan(start, end) if is_text:
            return FilePlace(path, line=_line_now(doc, (start, end), files))
        case PageSpan(page):
            return FilePlace(path, page=page, is_text=is_text)
        case _:
            return FilePlace(path, is_text=is_text)


def _line_now(doc: StoredDoc, cited: tuple[int, int], files: Files) -> int:
    """Return the line at which the cited text, or what took its place, begins in the file."""
    before, now = files.before(doc), files.now(doc).text
    quote = quoted_lines(before, cited)
    if quote is None or now is None:
        return cited[0]
    verdict = judge(quote, cited, before, now, ("", ""))
    return verdict.lines[0] if verdict.lines else cited[0]


def _one_document(snapshot: IndexSnapshot, citation: Citation, source: str | None) -> StoredDoc:
    """Return the document that *citation* points into.

    Raises ``DocNotFound``, and ``InvalidInput`` where several sources have its path.
    """
    found = documents_at(snapshot, citation.path, source)
    if len(found) == 1:
        return found[0]
    if found:
        raise ambiguous(citation, found)
    inside = f" in source {source!r}" if source else ""
    raise DocNotFound(
        f"no document at {citation.path!r}{inside}",
        hint="a path is relative to its source; 'kebab list docs' shows the paths of all",
        details={"field": "uri", "value": citation.uri, "path": citation.path},
    )


def ambiguous(citation: Citation, found: Sequence[StoredDoc]) -> InvalidInput:
    """Return the error for a path that several sources have."""
    sources = [doc["source_id"] for doc in found]
    return InvalidInput(
        f"{citation.path!r} is in several sources: {', '.join(sources)}",
        hint=f"name the source, for example --source {sources[0]}",
        details={"field": "source", "uri": citation.uri, "sources": sources},
    )


def chunks_at(snapshot: IndexSnapshot, doc: StoredDoc, citation: Citation) -> list[StoredChunk]:
    """Return the chunks of *doc* at the place of *citation*, as far as its URI tells."""
    span = citation.bare().span
    chunks = snapshot.doc_chunks(doc["doc_id"])
    return [chunk for chunk in chunks if citation_of(chunk).bare().span == span]
