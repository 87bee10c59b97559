"""From a citation to the document it points into, its text, and the file to open.

A citation's path is relative to the root of its source and does not name the source. The
path that a file was moved from leads to the document, as its old id does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app import _reading
from kb_app._citing.files import Files, is_decoded
from kb_app._citing.matching import judge, quoted_lines
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import detect
from kb_app._media import has_lines
from kb_app._search.hits import Freshness
from kb_app._search.lookup import Named, chunks_at, find, no_document, unpacked
from kb_app.editors import FilePlace
from kb_core.citations import (
    Citation,
    CodeSpan,
    LineSpan,
    PageSpan,
    Span,
    TimeSpan,
    citation_of,
    parse_citation,
)
from kb_core.errors import IoError, SpanNotSupported
from kb_core.media import Media
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.values import lazy_pattern, replace

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["cite", "locate", "named_by"]

_FIRST_LINES = 4
_ITEM = lazy_pattern(r"(?:-|\w{1,8}\.) ")
"""What a list puts before its items, which no page has among its words."""


def cite(
    snapshot: IndexSnapshot,
    uri: str,
    source: str | None,
    fresh: Freshness,
    *,
    max_tokens: int | None = None,
    field: str = "uri",
) -> types.FetchResult:
    """Return fetch_result.v1 of what *uri* points at, as it was indexed.

    Lines are a span. Of any other place it is the first chunk, with the place's further
    chunks after it. An id is a chunk or a document, a path alone all of its document.
    *max_tokens* cuts a document or its lines; errors call what was given *field*.
    """
    named = named_by(snapshot, uri, source, field)
    doc, citation = named.doc, named.citation
    if named.chunk is not None:
        return _reading.fetch_chunk(snapshot, named.chunk["chunk_id"], 0, fresh)
    if citation is None:
        return _reading.fetch_doc(snapshot, doc["doc_id"], max_tokens, fresh)
    chunks: Sequence[StoredChunk] = ()
    if not has_lines(doc):
        chunks = chunks_at(snapshot, doc, citation) or _around(snapshot, doc, citation)
    if isinstance(citation.span, LineSpan | CodeSpan) and not chunks:
        lines = citation.span.start, citation.span.end
        return _reading.fetch_span(snapshot, doc["doc_id"], lines, max_tokens, fresh)
    chunks = chunks or chunks_at(snapshot, doc, citation)
    if not chunks:
        place = citation.uri.rpartition("#")[2]
        raise SpanNotSupported(
            f"{doc['path']!r} has no text at {place!r}",
            hint=f"'kebab fetch doc {doc['doc_id'][:8]}' prints all of it",
            details={"field": field, "value": citation.uri, "doc_id": doc["doc_id"]},
        )
    further = chunks[-1]["ordinal"] - chunks[0]["ordinal"]
    found = _reading.fetch_chunk(snapshot, chunks[0]["chunk_id"], further, fresh)
    wanted = {chunk["chunk_id"] for chunk in chunks}
    after = [chunk for chunk in found["context_after"] if chunk["chunk_id"] in wanted]
    return {**found, "context_before": [], "context_after": after}


def _around(snapshot: IndexSnapshot, doc: StoredDoc, citation: Citation) -> Sequence[StoredChunk]:
    """Return the chunks that are cited by lines of the file some of which are among those cited."""
    if not isinstance(citation.span, LineSpan | CodeSpan):
        return []
    first, last = citation.span.start, citation.span.end
    there = []
    for chunk in snapshot.doc_chunks(doc["doc_id"]):
        span = citation_of(chunk).span if chunk["span"] else None
        if isinstance(span, LineSpan | CodeSpan) and span.start <= last and first <= span.end:
            there.append(chunk)
    return there


def locate(snapshot: IndexSnapshot, uri: str, source: str | None, files: Files) -> FilePlace:
    """Return the file that *uri* points into, and where in it the text is now."""
    named = named_by(snapshot, uri, source)
    doc, chunk = named.doc, named.chunk
    path = files.path_of(doc)
    if path is None or not Path(path).is_file():
        raise IoError(
            f"the file of {doc['path']!r} is not there",
            hint="without --open, 'kebab cite' prints the text as it was indexed",
            details={"doc_id": doc["doc_id"], "path": path},
        )
    is_text = is_decoded(doc)
    place = citation_of(chunk) if chunk else named.citation
    span = place.span if place else None
    if doc["media"] == Media.AUDIO and (played := _played(doc, Path(path), span, files)):
        return played
    at = FilePlace(path, is_text=is_text)
    if not is_text:
        media = "" if doc.get("container") else doc["media"]
        at = replace(at, media=media, viewer=files.viewer_of(doc))
    match span:
        case LineSpan(start, end) | CodeSpan(start, end) if is_text:
            return replace(at, line=_line_now(doc, (start, end), files))
        case LineSpan() if place is not None and doc["media"] == Media.HTML:
            return replace(at, words=_words(snapshot, doc, chunk, place))
        case PageSpan(page):
            return replace(at, page=page)
        case TimeSpan(start_ms):
            return replace(at, start_ms=start_ms)
        case _:
            return at


def _played(doc: StoredDoc, path: Path, span: Span | None, files: Files) -> FilePlace | None:
    """Return the moment in the recording that subtitles are of, without it the line in them.

    ``None`` of what is no file of subtitles.
    """
    from kb_app._ingest.making.transcripts import is_subtitles, line_of  # few places have a time

    if doc.get("container") or not is_subtitles(path.name):
        return None
    at_ms = span.start_ms if isinstance(span, TimeSpan) else 0
    beside = (each for each in _called_alike(path) if not is_subtitles(each.name))
    for recording in beside:
        kind = detect(recording.name)
        if kind is not None and kind.media in {Media.AUDIO, Media.VIDEO}:
            media, viewer = str(kind.media), files.viewer_for(kind.media)
            return FilePlace(
                str(recording), is_text=False, media=media, start_ms=at_ms, viewer=viewer
            )
    return FilePlace(str(path), line=line_of(FileContent(files.data(doc)).text, at_ms))


def _called_alike(path: Path) -> Iterator[Path]:
    """Yield the files beside *path* of its name, then those without the language at its end."""
    try:
        beside = sorted(path.parent.iterdir())
    except OSError:
        return  # a folder may be passed through that may not be read
    name = path.stem
    for stem in dict.fromkeys((name, name.rpartition(".")[0] or name)):
        yield from (each for each in beside if each.stem == stem)


def _words(
    snapshot: IndexSnapshot, doc: StoredDoc, chunk: StoredChunk | None, place: Citation
) -> str:
    """Return a line of the cited text, of the first few the longest: a page may show it twice."""
    chunks = [chunk] if chunk else chunks_at(snapshot, doc, place) or _around(snapshot, doc, place)
    lines = chunks[0]["text"].split("\n") if chunks else []
    cells = [_ITEM.sub("", line, count=1).partition("\t")[0] for line in lines[:_FIRST_LINES]]
    return max(cells, key=len, default="")


def _line_now(doc: StoredDoc, cited: tuple[int, int], files: Files) -> int:
    """Return the line at which the cited text, or what took its place, begins in the file."""
    before, now = files.before(doc), files.now(doc).text
    quote = quoted_lines(before, cited)
    if quote is None or now is None:
        return cited[0]
    verdict = judge(quote, cited, before, now, ("", ""))
    return verdict.lines[0] if verdict.lines else cited[0]


def named_by(snapshot: IndexSnapshot, uri: str, source: str | None, field: str = "uri") -> Named:
    """Return what *uri* names, of a packed file what is in it; ``DocNotFound`` for nothing.

    Raises ``InvalidInput`` where several sources have its path, and for no place at all.
    """
    if named := find(snapshot, uri, source, field=field):
        doc = unpacked(snapshot, named.doc)
        cited = named.citation
        return replace(named, doc=doc, citation=cited and Citation(doc["path"], cited.span))
    path = parse_citation(uri).path if "#" in uri else uri
    inside = f" in source {source!r}" if source else ""
    raise no_document(
        snapshot,
        path,
        f"no document at {path!r}{inside}",
        hint="a path is relative to its source; 'kebab list docs' shows the paths of all",
        details={"field": field, "value": uri, "path": path},
    )
