"""Places: how the span of a chunk is stored, and the citation it becomes.

A chunk of lines needs nothing but its line numbers. Any other span (a page, a region,
a time) is kept as ``ChunkRecord.span``: its ``kind`` and the fields that a citation
has on the wire.

**Invariant:** ``span_of(stored_span(s)) == s`` for every span.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never

from kb_core.citations import (
    CaptionSpan,
    Citation,
    CodeSpan,
    LineSpan,
    PageSpan,
    RegionSpan,
    Span,
    TimeSpan,
)
from kb_core.ids import content_hash

if TYPE_CHECKING:
    from kb_core.ports import StoredChunk

__all__ = ["citation_of", "kind_of", "span_fields", "span_of", "stored_span"]


def citation_of(chunk: StoredChunk) -> Citation:
    """Return the citation of a stored chunk, with the hash of its text."""
    return Citation(chunk["path"], _span(chunk), content_hash(chunk["text"]))


def _span(chunk: StoredChunk) -> Span:
    if chunk["span"]:
        return span_of(chunk["span"])
    first, last = chunk["line_start"], chunk["line_end"]
    if chunk["media"] == "code":
        return CodeSpan(first, last, chunk["symbol"] or None, chunk["code_lang"] or None)
    headings = chunk["heading_path"]
    return LineSpan(first, last, headings[-1] if headings else None)


def kind_of(span: Span) -> str:
    """Return the word that tells spans apart on the wire."""
    match span:
        case LineSpan():
            return "line"
        case CodeSpan():
            return "code"
        case PageSpan():
            return "page"
        case RegionSpan():
            return "region"
        case CaptionSpan():
            return "caption"
        case TimeSpan():
            return "time"
        case _:
            assert_never(span)


def span_fields(span: Span) -> dict[str, Any]:
    """Return the fields of a span under their names on the wire; absent ones are left out."""
    fields: dict[str, Any]
    match span:
        case LineSpan(start, end, section):
            fields = {"start": start, "end": end, "section": section}
        case CodeSpan(start, end, symbol, lang):
            fields = {"line_start": start, "line_end": end, "symbol": symbol, "lang": lang}
        case PageSpan(page, char_start, char_end, bbox, section):
            fields = {
                "page": page,
                "char_start": char_start,
                "char_end": char_end,
                "bbox": None if bbox is None else list(bbox),
                "section": section,
            }
        case RegionSpan(x, y, w, h):
            fields = {"x": x, "y": y, "w": w, "h": h}
        case CaptionSpan(model):
            return {"model": model}
        case TimeSpan(start_ms, end_ms, speaker):
            fields = {"start_ms": start_ms, "end_ms": end_ms, "speaker": speaker}
        case _:
            assert_never(span)
    return {name: value for name, value in fields.items() if value is not None}


def stored_span(span: Span) -> dict[str, Any]:
    """Return what ``ChunkRecord.span`` holds for *span*."""
    return {"kind": kind_of(span), **span_fields(span)}


def span_of(stored: Mapping[str, Any]) -> Span:
    """Undo ``stored_span``."""
    fields = {name: value for name, value in stored.items() if name != "kind"}
    match stored["kind"]:
        case "line":
            return LineSpan(**fields)
        case "code":
            first, last = fields.pop("line_start"), fields.pop("line_end")
            return CodeSpan(first, last, **fields)
        case "page":
            box = fields.pop("bbox", None)
            return PageSpan(**fields, bbox=None if box is None else tuple(box))
        case "region":
            return RegionSpan(**fields)
        case "caption":
            return CaptionSpan(**fields)
        case "time":
            return TimeSpan(**fields)
        case kind:
            raise ValueError(f"span kind {kind!r} is none of ours")
