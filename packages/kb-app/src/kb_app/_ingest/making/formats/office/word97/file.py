"""The text of a file of Word 97 to 2003, and what stands where in it ([MS-DOC]).

The stream ``WordDocument`` begins with what tells where all else is (FIB). The text is told by
a table of pieces, each of which is letters of one byte or of two somewhere in that stream. Main
text, notes, headers, comments and text boxes are one text, one after the other; a place in it
is a number of units of UTF-16 (CP), and so is one in ``WordFile.text``. Pure.

Nothing of it is believed: a text is no longer than the stream that it is in, and places follow
each other, so that what is read is linear in the file.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from kb_app._ingest.making.compound import Storage

__all__ = ["NoWordError", "OldWordError", "Part", "Piece", "Story", "WordFile", "pieces_of"]

_ENCRYPTED, _SECOND_TABLE, _OBFUSCATED = 0x0100, 0x0200, 0x8000
_FIRST_VERSION = 0xB0
"""Files of Word 6 and 95 have a lower one."""
_HEAD_BYTES = 0x9A
_FLAGS_AT, _TEXT_AT, _COUNTS_AT = 0x0A, 0x18, 0x4C
_PIECES = 33
_OF_ONE_BYTE = 0x40000000
_PRC, _PCDT = 1, 2
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class NoWordError(ValueError):
    """There is no text that could be read; the message says why."""


class OldWordError(ValueError):
    """It is of Word 6 or 95, whose files are made otherwise."""


class Piece(NamedTuple):
    """Letters from ``start`` on up to ``end`` of the text lie at ``place`` in the stream."""

    start: int
    end: int
    place: int
    width: int

    def place_of(self, at: int) -> int:
        return self.place + (at - self.start) * self.width


class Story(NamedTuple):
    """A part of the text."""

    start: int
    end: int

    def parts(self, cuts: list[int]) -> Iterator[Story]:
        """Yield what lies between *cuts*, which are places within it."""
        before = 0
        for number, cut in enumerate(cuts):
            at = min(max(before, cut), self.end - self.start)
            if number:
                yield Story(self.start + before, self.start + at)
            before = at


class Part(IntEnum):
    """What is in a text, one after the other."""

    MAIN, FOOTNOTES, HEADERS, MACROS, COMMENTS, ENDNOTES, BOXES, HEADER_BOXES = range(8)


class WordFile:
    """A file of Word 97 to 2003 that is open."""

    def __init__(self, root: Storage) -> None:
        self.stream = root.stream("WordDocument")
        if len(self.stream) < _HEAD_BYTES:
            raise NoWordError("it is damaged: it does not say where its text is")
        version = self._short(2)
        if version < _FIRST_VERSION:
            raise OldWordError
        self._flags = self._short(_FLAGS_AT)
        self._table = root.stream("1Table" if self._flags & _SECOND_TABLE else "0Table")
        self._root = root
        counts = struct.unpack_from("<8I", self.stream.ljust(_COUNTS_AT + 32, b"\0"), _COUNTS_AT)
        self._counts = counts
        self.pieces: list[Piece] = []
        self.text = ""
        self.is_cut = False

    @property
    def is_locked(self) -> bool:
        return bool(self._flags & _ENCRYPTED)

    @property
    def is_obfuscated(self) -> bool:
        """Say whether it is locked in the oldest way, by a key of two bytes."""
        return bool(self._flags & _OBFUSCATED)

    def read(self) -> None:
        """Read the text."""
        left, made, at = len(self.stream), list[str](), 0
        for start, end, place, width in self._told_pieces():
            count = min(end - start, left, max(0, len(self.stream) - place) // width)
            self.is_cut = self.is_cut or count < end - start
            if count > 0:
                letters = self.stream[place : place + count * width]
                made.append(_one_byte(letters) if width == 1 else _two_bytes(letters))
                self.pieces.append(Piece(at, at + count, place, width))
                at, left = at + count, left - count
        self.text = "".join(made)

    def stories(self) -> list[Story]:
        """Return the parts of the text, in the order that ``Part`` has them."""
        found, at, size = list[Story](), 0, len(self.text)
        for count in self._counts:
            found.append(Story(at, min(size, at + count)))
            at = found[-1].end
        return found

    def table(self, number: int) -> bytes:
        """Return what a pair of place and size in the head leads to, by its number."""
        place, size = self._pair(number)
        return self._table[place : place + size]

    def behind(self, number: int) -> bytes:
        """Return all that stands behind what a pair of place and size leads to."""
        place, size = self._pair(number)
        return self._table[place + size :] if size else b""

    def places(self, number: int, width: int) -> tuple[list[int], list[bytes]]:
        """Return a list of places, and what stands with each, *width* bytes ([MS-DOC] 2.2.2)."""
        data = self.table(number)
        if len(data) < 4:  # noqa: PLR2004 - one place
            return [], []
        count = (len(data) - 4) // (4 + width)
        places = list(struct.unpack_from(f"<{count + 1}I", data))
        first = 4 * (count + 1)
        rest = [data[at : at + width] for at in range(first, first + count * width, width or 1)]
        return places, rest if width else []

    @property
    def data(self) -> bytes:
        """What was too large for its place."""
        return self._root.stream("Data")

    def _pair(self, number: int) -> tuple[int, int]:
        at = _HEAD_BYTES + 8 * number
        if at + 8 > len(self.stream):
            return 0, 0
        place, size = struct.unpack_from("<II", self.stream, at)
        return place, size

    def _short(self, at: int) -> int:
        return int.from_bytes(self.stream[at : at + 2], "little")

    def _told_pieces(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield where pieces of the text lie; all of it, where no table tells."""
        told = list(pieces_of(self.table(_PIECES)))
        for start, end, place in told:
            if start < end and place & _OF_ONE_BYTE:
                yield start, end, (place & ~_OF_ONE_BYTE) // 2, 1
            elif start < end:
                yield start, end, place & ~_OF_ONE_BYTE, 2
        if not told:
            place, end = struct.unpack_from("<II", self.stream, _TEXT_AT)
            yield 0, max(0, end - place), place, 1


def pieces_of(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield from which letter to which a piece has, and what is said of its place."""
    table = _piece_table(data)
    count = max(0, (len(table) - 4) // 12)
    places = struct.unpack_from(f"<{count + 1}I", table.ljust(4, b"\0"))
    for number in range(count):
        (place,) = struct.unpack_from("<I", table, 4 * (count + 1) + 8 * number + 2)
        yield places[number], places[number + 1], place


def _piece_table(data: bytes) -> bytes:
    """Return the table of pieces, behind formats that go with them ([MS-DOC] 2.9.38)."""
    at = 0
    while at < len(data) and data[at] == _PRC:
        at += 3 + int.from_bytes(data[at + 1 : at + 3], "little")
    if at < len(data) and data[at] == _PCDT:
        size = int.from_bytes(data[at + 1 : at + 5], "little")
        return data[at + 5 : at + 5 + size]
    return b""


def _one_byte(data: bytes) -> str:
    """Return letters of Windows-1252; what that lacks is as in Latin-1 ([MS-DOC] 2.9.73)."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        lacking = {0x81, 0x8D, 0x8F, 0x90, 0x9D}
        return "".join(
            chr(byte) if byte in lacking else bytes([byte]).decode("cp1252") for byte in data
        )


def _two_bytes(data: bytes) -> str:
    """Return letters of UTF-16, each unit one, so that places stay what they are."""
    text = data.decode("utf-16-le", "surrogatepass")
    if not _BEYOND.search(text):
        return text
    return _BEYOND.sub(lambda each: _units(ord(each[0]) - 0x10000), text)


def _units(rest: int) -> str:
    return chr(0xD800 | rest >> 10) + chr(0xDC00 | rest & 0x3FF)
