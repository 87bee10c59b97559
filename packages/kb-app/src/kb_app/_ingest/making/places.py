"""Chunks of a document that says where in its source the text stands.

A chunk is cited by one place. So a document is cut into parts first, wherever two places that
are next to each other have no place in common (another page, another speaker), and no chunk
crosses these borders; within a part, a chunk's place is what holds all that it lies in.
Chunkers know nothing of it. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from kb_core.citations import (
    CellSpan,
    CodeSpan,
    LineSpan,
    PageSpan,
    RegionSpan,
    Span,
    TimeSpan,
)
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, Place
from kb_core.ports import Chunker, TokenCounter

__all__ = ["common_place", "placed_chunks"]


def placed_chunks(
    document: ParsedDocument, chunker: Chunker, counter: TokenCounter, limits: ChunkLimits
) -> Iterator[ChunkDraft]:
    """Yield the chunks of *document*, each with the place that it is cited by, if it has one."""
    if not document.places:
        yield from chunker(document, counter, limits)
        return
    at = 0
    for start, end, places in _parts(document):
        while at < len(document.blocks) and document.blocks[at].end <= start:
            at += 1
        blocks = tuple(_within(islice(document.blocks, at, None), start, end))
        part = replace(document, blocks=blocks, places=())
        starts = [place.start for place in places]
        for draft in chunker(part, counter, limits):
            is_said = draft.span or not places
            yield draft if is_said else replace(draft, span=_span(draft, places, starts))


def common_place(one: Span, other: Span) -> Span | None:
    """Return the smallest place that holds both; ``None`` where there is none."""
    match one, other:
        case PageSpan() as a, PageSpan() as b if a.page == b.page:
            return _on_page(a, b)
        case LineSpan() as a, LineSpan() as b:
            section = a.section if a.section == b.section else None
            return LineSpan(min(a.start, b.start), max(a.end, b.end), section)
        case CodeSpan() as a, CodeSpan() as b:
            names = [name for each in (a, b) for name in (each.symbol or "").split(", ") if name]
            symbol = ", ".join(dict.fromkeys(names)) or None
            return CodeSpan(min(a.start, b.start), max(a.end, b.end), symbol, a.lang or b.lang)
        case TimeSpan() as a, TimeSpan() as b if a.speaker == b.speaker:
            first, last = min(a.start_ms, b.start_ms), max(a.end_ms, b.end_ms)
            return TimeSpan(first, last, a.speaker)
        case (RegionSpan(), RegionSpan()) | (CellSpan(), CellSpan()):
            return _hull(one, other)
    return one if one == other else None


def _hull(one: Span, other: Span) -> Span | None:
    match one, other:
        case CellSpan() as a, CellSpan() as b if a.sheet == b.sheet:
            (left, top, *_), (left_b, top_b, *_) = a.edges, b.edges
            (*_, right, bottom), (*_, right_b, bottom_b) = a.edges, b.edges
            first = min(left, left_b), min(top, top_b)
            return CellSpan.of(a.sheet, *first, max(right, right_b), max(bottom, bottom_b))
        case RegionSpan() as a, RegionSpan() as b:
            x, y = min(a.x, b.x), min(a.y, b.y)
            right, bottom = max(a.x + a.w, b.x + b.w), max(a.y + a.h, b.y + b.h)
            return RegionSpan(x, y, right - x, bottom - y)
    return None


def _on_page(one: PageSpan, other: PageSpan) -> PageSpan:
    starts, ends = (one.char_start, other.char_start), (one.char_end, other.char_end)
    box = None
    if one.bbox and other.bbox:
        (a, b, c, d), (e, f, g, h) = one.bbox, other.bbox
        box = (min(a, e), min(b, f), max(c, g), max(d, h))
    return PageSpan(
        one.page,
        None if None in starts else min(n for n in starts if n is not None),
        None if None in ends else max(n for n in ends if n is not None),
        box,
        one.section if one.section == other.section else None,
    )


def _parts(document: ParsedDocument) -> Iterator[tuple[int, int, Sequence[Place]]]:
    """Yield ranges that no chunk may cross, with their places; together they are the text."""
    places = document.places
    if places[0].start:
        yield 0, places[0].start, ()
    first, common = 0, places[0].span
    for at, place in enumerate(places):
        joined = common_place(common, place.span)
        if joined is None:
            yield places[first].start, place.start, places[first:at]
            first, joined = at, place.span
        common = joined
    yield places[first].start, len(document.text), places[first:]


def _within(blocks: Iterable[Block], start: int, end: int) -> Iterator[Block]:
    """Yield what of *blocks*, which are in order, is in a range; no block after it is looked at."""
    for block in blocks:
        if block.start >= end:
            return
        if block.end > start:
            yield replace(block, start=max(block.start, start), end=min(block.end, end))


def _span(draft: ChunkDraft, places: Sequence[Place], starts: Sequence[int]) -> Span:
    first = max(0, bisect_right(starts, draft.start) - 1)
    last = max(first + 1, bisect_left(starts, draft.end))
    span = places[first].span
    for place in places[first + 1 : last]:
        span = common_place(span, place.span) or span
    return span
