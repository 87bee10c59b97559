"""Citations: the place in a source that a text comes from.

A citation is a path, relative to its source's root, and a span. It prints as one
URI whose fragment a person, an editor or a browser can follow::

    notes/search.md#L12-L34          LineSpan, CodeSpan (one line: #L12)
    papers/rrf.pdf#page=13           PageSpan
    plans/book.xlsx#sheet=Sales%202025&range=A4:F9   CellSpan
    scans/receipt.png#xywh=10,20,300,40      RegionSpan
    photos/cat.jpg#caption           CaptionSpan
    talks/intro.mp3#t=13:42.000,14:10.000    TimeSpan (W3C media fragment, npt)

Reserved characters of the path are percent-encoded, letters of any script are not.

**Invariant:** ``parse_citation(c.uri) == c.bare()`` for every citation: parsing is
the exact inverse of printing, for all that the URI carries. A URI does not carry
symbols, sections, boxes and hashes, nor whether lines are prose or code.

The span of a chunk becomes its citation. A chunk of lines needs nothing but its line
numbers. Any other span (a page, a region, a time) is kept as ``ChunkRecord.span``: its
``kind`` and the fields that a citation has on the wire.

**Invariant:** ``span_of(stored_span(s)) == s`` for every span.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never
from urllib.parse import unquote_to_bytes

from kb_core.errors import InvalidInput
from kb_core.ids import content_hash
from kb_core.values import dataclass, lazy_pattern, replace

if TYPE_CHECKING:
    from kb_core.ports import StoredChunk

__all__ = [
    "CaptionSpan",
    "CellSpan",
    "Citation",
    "CodeSpan",
    "LineSpan",
    "PageBox",
    "PageSpan",
    "RegionSpan",
    "Span",
    "TimeSpan",
    "UnknownFragment",
    "citation_of",
    "column_name",
    "column_number",
    "kind_of",
    "parse_citation",
    "quote_path",
    "span_fields",
    "span_of",
    "stored_span",
    "unquote_path",
]


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines ``start`` to ``end`` of a text, from 1, both included."""

    start: int
    end: int
    section: str | None = None

    def __post_init__(self) -> None:
        _check(1 <= self.start <= self.end, f"lines {self.start}-{self.end} are not a span")


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """Lines ``start`` to ``end`` of a source file, and the symbol they define."""

    start: int
    end: int
    symbol: str | None = None
    lang: str | None = None

    def __post_init__(self) -> None:
        _check(1 <= self.start <= self.end, f"lines {self.start}-{self.end} are not a span")


PageBox: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PageSpan:
    """One page, from 1; perhaps characters of its text and a box in points.

    Boxes are ``(x0, y0, x1, y1)`` from the upper left corner of the page as a viewer shows it,
    rotated and cropped.
    """

    page: int
    char_start: int | None = None
    char_end: int | None = None
    bbox: PageBox | None = None
    section: str | None = None
    label: str | None = None
    """What the page calls itself, such as ``iv``, where that is not its number."""
    boxes: tuple[PageBox, ...] = ()
    """Where it stands more exactly than in one box, if it does; ``bbox`` is their hull."""

    def __post_init__(self) -> None:
        _check(self.page >= 1, f"page {self.page} is not a page")


@dataclass(frozen=True, slots=True)
class CellSpan:
    """Cells of a sheet, as spreadsheets write them: ``A4:F9``, or ``B2`` for one."""

    sheet: str
    range: str

    def __post_init__(self) -> None:
        _check(
            _CELLS.fullmatch(self.range) is not None,
            f"{self.range!r} is no range of cells such as A4:F9",
        )

    @property
    def edges(self) -> tuple[int, int, int, int]:
        """The first column and row, and the last ones, from 1."""
        first, _, last = self.range.partition(":")
        return *_edge(first), *_edge(last or first)

    @classmethod
    def of(cls, sheet: str, left: int, top: int, right: int, bottom: int) -> CellSpan:
        """Return the span between these columns and rows."""
        first, last = f"{column_name(left)}{top}", f"{column_name(right)}{bottom}"
        return cls(sheet, first if first == last else f"{first}:{last}")


_CELLS = lazy_pattern(r"[A-Z]{1,3}[1-9]\d{0,6}(?::[A-Z]{1,3}[1-9]\d{0,6})?", re.ASCII)
_LETTERS = 26


def column_name(number: int) -> str:
    """Return the letters of a column: ``A`` for 1, ``AA`` for 27."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Undo ``column_name``."""
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number


def _edge(cell: str) -> tuple[int, int]:
    letters = cell.rstrip("0123456789")
    return column_number(letters), int(cell[len(letters) :])


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """A rectangle of an image, in pixels from the upper left corner."""

    x: int
    y: int
    w: int
    h: int

    def __post_init__(self) -> None:
        _check(
            min(self.x, self.y, self.w, self.h) >= 0,
            f"region {self.x},{self.y},{self.w},{self.h} has a negative side",
        )


@dataclass(frozen=True, slots=True)
class CaptionSpan:
    """What is said about an image: by the model that is named, or by people in its file."""

    model: str | None = None


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Part of a recording, in milliseconds from its start."""

    start_ms: int
    end_ms: int
    speaker: str | None = None

    def __post_init__(self) -> None:
        _check(
            0 <= self.start_ms <= self.end_ms,
            f"time {self.start_ms}-{self.end_ms} ms is not a span",
        )


Span: TypeAlias = LineSpan | CodeSpan | PageSpan | CellSpan | RegionSpan | CaptionSpan | TimeSpan


@dataclass(frozen=True, slots=True)
class Citation:
    """A span of the file at ``path``, with ``/``, relative to its source's root."""

    path: str
    span: Span
    content_hash: str | None = None

    def __post_init__(self) -> None:
        _check(bool(self.path), "a citation needs a path")

    @property
    def uri(self) -> str:
        """The printed form."""
        return f"{quote_path(self.path)}#{_fragment(self.span)}"

    def bare(self) -> Citation:
        """Return only what the URI carries."""
        return replace(self, span=_bare(self.span), content_hash=None)


def _fragment(span: Span) -> str:
    match span:
        case LineSpan(start, end) | CodeSpan(start, end):
            return f"L{start}" if start == end else f"L{start}-L{end}"
        case PageSpan(page):
            return f"page={page}"
        case CellSpan(sheet, cells):
            return f"sheet={_quoted(sheet, _UNRESERVED)}&range={cells}"
        case RegionSpan(x, y, w, h):
            return f"xywh={x},{y},{w},{h}"
        case CaptionSpan():
            return "caption"
        case TimeSpan(start_ms, end_ms):
            return f"t={_npt(start_ms)},{_npt(end_ms)}"
        case _:
            assert_never(span)


def _bare(span: Span) -> Span:
    match span:
        case LineSpan(start, end) | CodeSpan(start, end):
            return LineSpan(start, end)
        case PageSpan(page):
            return PageSpan(page)
        case CellSpan() | RegionSpan():
            return span
        case CaptionSpan():
            return CaptionSpan()
        case TimeSpan(start_ms, end_ms):
            return TimeSpan(start_ms, end_ms)
        case _:
            assert_never(span)


_LINES = lazy_pattern(r"L(\d+)(?:-L(\d+))?", re.ASCII)
_PAGE = lazy_pattern(r"page=(\d+)", re.ASCII)
_SHEET = lazy_pattern(r"sheet=([^&]*)&range=([A-Za-z0-9:]+)", re.ASCII)
_REGION = lazy_pattern(r"xywh=(\d+),(\d+),(\d+),(\d+)", re.ASCII)
_NPT = r"(?:(?:(\d+):)?(\d+):)?(\d+)(?:\.(\d{1,3}))?"
"""A moment as a citation has it, and as people and players write one: ``13:42``, ``822``."""
_TIME = lazy_pattern(rf"t={_NPT},{_NPT}", re.ASCII)


class UnknownFragment(InvalidInput):
    """What stands behind the path has no form of a citation: it may be a name."""


def parse_citation(uri: str) -> Citation:
    """Read a citation back from its printed form, or raise ``InvalidInput``."""
    path, separator, fragment = uri.rpartition("#")
    if not separator or not path:
        raise InvalidInput(
            f"citation {uri!r} has no path or no fragment",
            hint="a citation looks like 'notes/a.md#L12-L34'",
            details={"field": "uri", "value": uri},
        )
    return Citation(unquote_path(path), _parse_fragment(uri, fragment))


def _parse_fragment(uri: str, fragment: str) -> Span:
    if lines := _LINES.fullmatch(fragment):
        return LineSpan(int(lines[1]), int(lines[2] or lines[1]))
    if page := _PAGE.fullmatch(fragment):
        return PageSpan(int(page[1]))
    if cells := _SHEET.fullmatch(fragment):
        return CellSpan(unquote_path(cells[1]), cells[2].upper())
    if region := _REGION.fullmatch(fragment):
        x, y, w, h = (int(side) for side in region.groups())
        return RegionSpan(x, y, w, h)
    if fragment == "caption":
        return CaptionSpan()
    if time := _TIME.fullmatch(fragment):
        return TimeSpan(_milliseconds(time.groups()[:4]), _milliseconds(time.groups()[4:]))
    raise UnknownFragment(
        f"citation {uri!r} has an unknown fragment {fragment!r}",
        hint="fragments are L12, L12-L34, page=13, sheet=S&range=A4:F9, xywh=x,y,w,h, caption, "
        "t=0:05.000,0:09.500",
        details={"field": "uri", "value": uri},
    )


def _npt(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds:02}.{rest:03}"
    return f"{minutes}:{seconds:02}.{rest:03}"


def _milliseconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int((parts[3] or "").ljust(3, "0"))


_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=:@"
)


_UNRESERVED = _PLAIN - frozenset("/!$&'()*+,;=:@")


def quote_path(path: str) -> str:
    """Percent-encode what a URI path may not hold; keep letters of every script."""
    return _quoted(path, _PLAIN)


def _quoted(text: str, plain: frozenset[str]) -> str:
    if plain.issuperset(text):
        return text
    return "".join(
        c if c in plain or (c > "\x9f" and c.isprintable()) else _percent(c) for c in text
    )


def unquote_path(quoted: str) -> str:
    """Undo ``quote_path``."""
    return unquote_to_bytes(quoted).decode("utf-8", "surrogateescape") if "%" in quoted else quoted


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))


def _check(holds: bool, complaint: str) -> None:  # noqa: FBT001 - reads as an assertion
    if not holds:
        raise InvalidInput(complaint, details={"field": "citation"})


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


_KINDS: dict[type, str] = {
    LineSpan: "line",
    CodeSpan: "code",
    PageSpan: "page",
    CellSpan: "cells",
    RegionSpan: "region",
    CaptionSpan: "caption",
    TimeSpan: "time",
}
_SPANS: dict[str, Any] = {kind: span for span, kind in _KINDS.items()}


def kind_of(span: Span) -> str:
    """Return the word that tells spans apart on the wire."""
    return _KINDS[type(span)]


def span_fields(span: Span) -> dict[str, Any]:
    """Return the fields of a span under their names on the wire; absent ones are left out."""
    fields: dict[str, Any]
    match span:
        case LineSpan(start, end, section):
            fields = {"start": start, "end": end, "section": section}
        case CodeSpan(start, end, symbol, lang):
            fields = {"line_start": start, "line_end": end, "symbol": symbol, "lang": lang}
        case PageSpan(page, char_start, char_end, bbox, section, label, boxes):
            fields = {
                "page": page,
                "char_start": char_start,
                "char_end": char_end,
                "bbox": None if bbox is None else list(bbox),
                "section": section,
                "label": label,
                "boxes": [list(box) for box in boxes] or None,
            }
        case CellSpan(sheet, cells):
            fields = {"sheet": sheet, "range": cells}
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
    kind = stored["kind"]
    fields = {name: value for name, value in stored.items() if name != "kind"}
    if kind not in _SPANS:
        raise ValueError(f"span kind {kind!r} is none of ours")
    if kind == "code":
        fields["start"], fields["end"] = fields.pop("line_start"), fields.pop("line_end")
    if (box := fields.get("bbox")) is not None:
        fields["bbox"] = tuple(box)
    if kind == "page":
        fields["boxes"] = tuple(tuple(each) for each in fields.get("boxes", ()))
    span: Span = _SPANS[kind](**fields)
    return span
