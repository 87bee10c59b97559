"""Chunks of a document that says where in its source the text stands.

A chunk is cited by one place. So a document is cut into parts first, wherever two places that
are next to each other have no place in common (another page, a long silence), and no chunk
crosses these borders; within a part, a chunk's place is what holds all that it lies in.
Chunkers know nothing of it. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from kb_core.citations import (
    CellSpan,
    CodeSpan,
    LineSpan,
    PageBox,
    PageSpan,
    RegionSpan,
    Span,
    TimeSpan,
)
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, Place
from kb_core.ports import Chunker, TokenCounter
from kb_core.values import replace

__all__ = ["common_place", "placed_chunks"]

_SILENCE_MS = 20_000
"""After so long a silence, something else is said."""
_TOUCHING = 1.0
"""By how many points boxes of neighbours may overlap."""


def placed_chunks(
    document: ParsedDocument, chunker: Chunker, counter: TokenCounter, limits: ChunkLimits
) -> Iterator[ChunkDraft]:
    """Yield the chunks of *document*, each with the place that it is cited by, if it has one."""
    if not document.places:
        yield from chunker(document, counter, limits)
        return
    ends = [block.end for block in document.blocks]
    for start, end, places in _parts(document):
        blocks = tuple(_within(document.blocks, bisect_right(ends, start), start, end))
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
        case TimeSpan() as a, TimeSpan() as b if a.speaker == b.speaker and _goes_on(a, b):
            first, last = min(a.start_ms, b.start_ms), max(a.end_ms, b.end_ms)
            return TimeSpan(first, last, a.speaker)
        case (RegionSpan(), RegionSpan()) | (CellSpan(), CellSpan()):
            return _holding(one, other)
    return one if one == other else None


def _goes_on(one: TimeSpan, other: TimeSpan) -> bool:
    if one.start_ms == one.end_ms or other.start_ms == other.end_ms:
        return True  # a title is not said
    silence = max(one.start_ms, other.start_ms) - min(one.end_ms, other.end_ms)
    return silence < _SILENCE_MS


def _holding(one: Span, other: Span) -> Span | None:
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
        box = _hull(one.bbox, other.bbox)
    return PageSpan(
        one.page,
        None if None in starts else min(n for n in starts if n is not None),
        None if None in ends else max(n for n in ends if n is not None),
        box,
        one.section if one.section == other.section else None,
        one.label,
    )


def _parts(document: ParsedDocument) -> Iterator[tuple[int, int, Sequence[Place]]]:
    """Yield ranges that no chunk may cross, with their places; together they are the text."""
    places = document.places
    if places[0].start:
        yield 0, places[0].start, ()
    first = 0
    for at in range(1, len(places)):
        # What two have in common, all that are joined have: that of all of them grows with each.
        if common_place(places[at - 1].span, places[at].span) is None:
            yield places[first].start, places[at].start, places[first:at]
            first = at
    yield places[first].start, len(document.text), places[first:]


def _within(blocks: Sequence[Block], first: int, start: int, end: int) -> Iterator[Block]:
    """Yield what of *blocks*, from the *first* on, lies from *start* to *end*, cut to that."""
    following = (blocks[number] for number in range(first, len(blocks)))
    for block in takewhile(lambda block: block.start < end, following):
        yield replace(block, start=max(block.start, start), end=min(block.end, end))


def _span(draft: ChunkDraft, places: Sequence[Place], starts: Sequence[int]) -> Span:
    first = max(0, bisect_right(starts, draft.start) - 1)
    last = max(first + 1, bisect_left(starts, draft.end))
    span = places[first].span
    for place in places[first + 1 : last]:
        span = common_place(span, place.span) or span
    if isinstance(span, PageSpan) and span.bbox is not None:
        around = [*places[:first], *places[last:]]
        boxes = _few(_boxes(places[first:last]), _boxes(around))
        section = span.section or (draft.heading_path[-1] if draft.heading_path else None)
        return replace(span, section=section, boxes=boxes if len(boxes) > 1 else ())
    return span


def _boxes(places: Iterable[Place]) -> list[PageBox]:
    spans = (place.span for place in places)
    return [span.bbox for span in spans if isinstance(span, PageSpan) and span.bbox]


def _few(boxes: Sequence[PageBox], others: Sequence[PageBox]) -> tuple[PageBox, ...]:
    """Return *boxes* put together, as far as none of *others* comes to lie in them."""
    few: list[PageBox] = []
    for box in boxes:
        grown = _hull(few[-1], box) if few else box
        if few and not any(_overlap(grown, other) for other in others):
            few[-1] = grown
        else:
            few.append(box)
    return tuple(few)


def _hull(one: PageBox, other: PageBox) -> PageBox:
    (a, b, c, d), (e, f, g, h) = one, other
    return (min(a, e), min(b, f), max(c, g), max(d, h))


def _overlap(one: PageBox, other: PageBox) -> bool:
    """Say whether the middle of a line, as *other*, lies within *one*."""
    a, b, c, d = one
    e, f, g, h = other
    middle = (f + h) / 2
    return b < middle < d and min(c, g) - max(a, e) > _TOUCHING
