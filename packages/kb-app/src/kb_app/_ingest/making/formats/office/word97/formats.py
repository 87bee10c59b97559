"""How paragraphs and runs of letters of a file of Word 97 to 2003 are formatted ([MS-DOC]).

Formats stand in pages of 512 bytes (FKP), by where the letters lie in the stream, as lists of
changes (Sprm) to a style. Only what tells about the text is read. Pure, and linear: a page is
read once, and what overlaps another run is not one.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from kb_app._ingest.making.formats.office.word97.file import Piece, WordFile

__all__ = ["Formats", "ParagraphFormat", "changes", "format_of"]

_PAGE = 512
_CHARACTERS, _PARAGRAPHS = 12, 13
_NUMBER_OF_PAGE = 0x3FFFFF
_SIZES = (1, 1, 2, 4, 2, 2, 0, 3)
"""Of operands, by the upper three bits; 0: the operand says it itself."""
_LONG_OPERAND, _UNTOLD_OPERAND = 0xD608, 0xC615
"""What is told of a row, with the length of that in two bytes, and what may not tell its length."""
_LEVELS = 9
_NO_LISTS = (0, 0xF801)
_SET = (b"\x01", b"\x81")
"""It is so, and: it is otherwise than the style says ([MS-DOC] 2.9.327)."""


class _Of:
    """Numbers of changes: [MS-DOC] 2.6."""

    IN_TABLE, DEPTH, ENDS_ROW, ENDS_INNER_ROW = 0x2416, 0x6649, 0x2417, 0x244C
    OUTLINE, LIST, LIST_LEVEL = 0x2640, 0x460B, 0x260A
    HUGE, HUGE_BEFORE = 0x6646, 0x6645
    DELETED, SYMBOL = 0x0800, 0x6A09


class ParagraphFormat(NamedTuple):
    """What is told of a paragraph; ``None``: its style says it."""

    style: int = 0
    depth: int = 0
    """In how many tables it stands."""
    ends_row: bool = False
    outline: int | None = None
    """Its level as a heading, 0 for none."""
    list_number: int | None = None
    """Of the list that it is in, 0 for none."""
    list_level: int | None = None
    starts: tuple[int, ...] = ()
    """Of the end of a row: where its cells begin."""


def changes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield changes of a format, by number, with their operands ([MS-DOC] 2.2.5)."""
    at = 0
    while at + 2 < len(data):
        number = int.from_bytes(data[at : at + 2], "little")
        at += 2
        size = _SIZES[number >> 13]
        if number == _LONG_OPERAND:
            size = int.from_bytes(data[at : at + 2], "little") + 1
        elif not size:
            if number == _UNTOLD_OPERAND and data[at] == 0xFF:  # noqa: PLR2004 - as it says
                return
            size = data[at] + 1
        yield number, data[at : at + size]
        at += size


def format_of(style: int, data: bytes, elsewhere: bytes = b"") -> ParagraphFormat:
    """Return the format of a paragraph; *elsewhere* is where one may lead that is too large."""
    found = ParagraphFormat(style)
    for number, operand in changes(data):
        value = int.from_bytes(operand[:4], "little")
        if number in {_Of.HUGE, _Of.HUGE_BEFORE} and elsewhere:
            size = int.from_bytes(elsewhere[value : value + 2], "little")
            further = format_of(style, elsewhere[value + 2 : value + 2 + size])
            found = further._replace(style=style)
        elif number == _LONG_OPERAND:
            found = found._replace(starts=_starts(operand))
        else:
            found = _changed(found, number, value)
    return found


def _starts(row: bytes) -> tuple[int, ...]:
    """Return where the cells of a row begin ([MS-DOC] 2.9.321)."""
    count = row[2] if len(row) > 2 else 0  # noqa: PLR2004 - behind its length
    return struct.unpack_from(f"<{count}h", row, 3) if len(row) >= 3 + 2 * count else ()


def _changed(found: ParagraphFormat, number: int, value: int) -> ParagraphFormat:
    match number:
        case _Of.IN_TABLE:
            found = found._replace(depth=max(found.depth, value & 1))
        case _Of.DEPTH:
            found = found._replace(depth=value)
        case _Of.ENDS_ROW | _Of.ENDS_INNER_ROW:
            found = found._replace(ends_row=bool(value))
        case _Of.OUTLINE:
            found = found._replace(outline=value + 1 if value < _LEVELS else 0)
        case _Of.LIST:
            found = found._replace(list_number=0 if value in _NO_LISTS else value)
        case _Of.LIST_LEVEL:
            found = found._replace(list_level=value if value < _LEVELS else 0)
    return found


class _Run(NamedTuple):
    start: int
    end: int
    at: int
    """Where in the stream its format stands; 0 where it has none of its own."""


class Formats:
    """The formats of one file."""

    def __init__(self, file: WordFile) -> None:
        self._file = file
        self._paragraphs = list(_runs(file, _PARAGRAPHS, 13))
        self._starts = [run.start for run in self._paragraphs]
        self._known: dict[int, ParagraphFormat] = {}
        self._piece_starts = [piece.start for piece in file.pieces]

    def of_paragraph(self, end: int) -> ParagraphFormat | None:
        """Return the format of the paragraph whose mark is at *end*; ``None``: nobody tells."""
        number = bisect_right(self._piece_starts, end) - 1
        if number < 0 or end >= self._file.pieces[number].end:
            return None
        place = self._file.pieces[number].place_of(end)
        found = bisect_right(self._starts, place) - 1
        if found < 0 or place >= self._paragraphs[found].end:
            return None
        at = self._paragraphs[found].at
        if at not in self._known:
            self._known[at] = self._read(at)
        return self._known[at]

    def _read(self, at: int) -> ParagraphFormat:
        """Return the format that stands at a place of the stream ([MS-DOC] 2.9.175)."""
        if not at:
            return ParagraphFormat()
        stream = self._file.stream
        size = stream[at] * 2 - 1
        if not stream[at]:
            at += 1
            size = stream[at] * 2 if at < len(stream) else 0
        told = stream[at + 1 : at + 1 + size]
        return format_of(int.from_bytes(told[:2], "little"), told[2:], self._file.data)

    def changed_letters(self) -> Iterator[tuple[int, int, str]]:
        """Yield what is deleted of the text, and letters of a font of symbols, in its order.

        Each is from where to where, and what stands there instead.
        """
        told = dict[bytes, str | None]()
        changed = list[tuple[int, int, str]]()
        for run in _runs(self._file, _CHARACTERS, 1):
            if not run.at:
                continue
            size = self._file.stream[run.at]
            data = self._file.stream[run.at + 1 : run.at + 1 + size]
            if data not in told:
                told[data] = _instead(data)
            if (instead := told[data]) is not None:
                changed.append((run.start, run.end, instead))
        starts = [start for start, _, _ in changed]
        for piece in self._file.pieces if changed else ():
            last = piece.place_of(piece.end)
            number = max(0, bisect_right(starts, piece.place) - 1)
            while number < len(changed) and changed[number][0] < last:
                start, end, instead = changed[number]
                number += 1
                first, behind = max(start, piece.place), min(end, last)
                if first < behind:
                    yield (*_within(piece, first, behind), instead)


def _within(piece: Piece, first: int, behind: int) -> tuple[int, int]:
    at = (first - piece.place) // piece.width
    return piece.start + at, piece.start + max(at, (behind - piece.place) // piece.width)


def _instead(data: bytes) -> str | None:
    """Return what stands for letters of a format: nothing, a symbol, or ``None``: themselves."""
    found = None
    for number, operand in changes(data):
        if number == _Of.DELETED and operand[:1] in _SET:
            return ""
        if number == _Of.SYMBOL and len(operand) >= 4:  # noqa: PLR2004 - a font and a letter
            found = chr(int.from_bytes(operand[2:4], "little"))
    return found


def _runs(file: WordFile, number: int, width: int) -> Iterator[_Run]:
    """Return where formats hold, in order, without what overlaps; *width* is of their entries."""
    _, told = file.places(number, 4)
    pages = dict.fromkeys(int.from_bytes(each, "little") & _NUMBER_OF_PAGE for each in told)
    found = [run for page in pages for run in _on_page(file.stream, page * _PAGE, width)]
    found.sort()
    end = 0
    for run in found:
        if run.start >= end:
            yield run
            end = run.end


def _on_page(stream: bytes, at: int, width: int) -> Iterator[_Run]:
    """Yield the runs of one page ([MS-DOC] 2.9.31, 2.9.174)."""
    page = stream[at : at + _PAGE]
    count = page[-1] if len(page) == _PAGE else 0
    first = 4 * (count + 1)
    if not count or first + count * width >= _PAGE:
        return
    places = struct.unpack_from(f"<{count + 1}I", page)
    for number in range(count):
        told = page[first + number * width] * 2
        if places[number] < places[number + 1]:
            yield _Run(places[number], places[number + 1], at + told if told else 0)
