"""Records of a file of PowerPoint 97 to 2003, and where the newest of each lies ([MS-PPT] 2.1).

A record is a head of eight bytes and what is in it: bytes, or further records. Each time that
slides were saved, what had changed was put behind what there was, with a list of it; the newest
list leads to the one before. Nothing of it is believed: of all records together, no more are read
than could be in the file. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["Kind", "Record", "Records"]

_HEAD = struct.Struct("<HHI")
_IS_LOCKED = 0xF3D1C4DF
_EDIT_BYTES = 28


class Kind:
    """Numbers of kinds of records: [MS-PPT] 2.13.24, [MS-ODRAW]."""

    DOCUMENT, SLIDE, SLIDE_ATOM, NOTES, NOTES_ATOM = 0x03E8, 0x03EE, 0x03EF, 0x03F0, 0x03F1
    SLIDE_PLACE, SHOWN, DRAWING, LIST = 0x03F3, 0x03F9, 0x040C, 0x0FF0
    TEXT_KIND, WIDE_TEXT, NARROW_TEXT, OUTLINE_TEXT = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
    STRING, COMMENT, TAGS, TAG, TAG_DATA = 0x0FBA, 0x2EE0, 0x1388, 0x138A, 0x138B
    EDIT, PLACES, PLACEHOLDER = 0x0FF5, 0x1772, 0x0BC3
    SHAPES, GROUP, SHAPE, TEXT_BOX, CLIENT_DATA = 0xF002, 0xF003, 0xF004, 0xF00D, 0xF011
    MORE_OPTIONS, WITHIN_GROUP = 0xF122, 0xF00F


class Record(NamedTuple):
    """A record, and where what is in it begins and ends."""

    kind: int
    instance: int
    start: int
    end: int


class Records:
    """The records of one file."""

    def __init__(self, data: bytes, user: bytes) -> None:
        self._data = data
        self._user = user
        self._left = len(data) // 4 + 1_000
        """A record takes eight bytes, and is looked at twice at most."""
        self._text_left = 2 * len(data)

    @property
    def is_cut(self) -> bool:
        """Say whether there was more than could be in the file."""
        return self._left <= 0 or self._text_left < 0

    @property
    def is_locked(self) -> bool:
        return int.from_bytes(self._user[12:16], "little") == _IS_LOCKED

    def at(self, place: int) -> Record | None:
        return next(self._between(place, len(self._data)), None)

    def all(self) -> Iterator[Record]:
        """Yield the records that are in no other."""
        return self._between(0, len(self._data))

    def within(self, record: Record | None, *kinds: int) -> Iterator[Record]:
        """Yield what is in a record, of these kinds, if any are named."""
        if record is not None:
            for each in self._between(record.start, record.end):
                if not kinds or each.kind in kinds:
                    yield each

    def data(self, record: Record | None) -> bytes:
        """Return what is in a record."""
        if record is None:
            return b""
        self._text_left -= record.end - record.start
        return self._data[record.start : record.end] if self._text_left >= 0 else b""

    def number(self, record: Record | None, at: int = 0, size: int = 4) -> int:
        """Return a number in a record; 0 where it is cut off."""
        if record is None or record.start + at + size > record.end:
            return 0
        return int.from_bytes(self._data[record.start + at :][:size], "little")

    def text(self, record: Record) -> str:
        data = self.data(record)
        if record.kind == Kind.NARROW_TEXT:
            return data.decode("latin-1")
        return data.decode("utf-16-le", "replace")

    def places(self) -> tuple[int, Mapping[int, int]]:
        """Return which one the document is, and where the newest record of each number lies."""
        found: dict[int, int] = {}
        place, document, met = int.from_bytes(self._user[16:20], "little"), 0, set[int]()
        while place and place not in met:
            met.add(place)
            edit = self.at(place)
            if edit is None or edit.kind != Kind.EDIT:
                break
            document = document or self.number(edit, 16)
            for number, where in self._listed(self.at(self.number(edit, 12))):
                found.setdefault(number, where)
            place = self.number(edit, 8)
        return document, found

    def _listed(self, record: Record | None) -> Iterator[tuple[int, int]]:
        """Yield numbers and places of a list of them ([MS-PPT] 2.3.5)."""
        if record is None or record.kind != Kind.PLACES:
            return
        data = self.data(record)
        numbers = iter(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))
        for head in numbers:
            first, count = head & 0xFFFFF, head >> 20
            yield from zip(range(first, first + count), numbers, strict=False)

    def _between(self, start: int, end: int) -> Iterator[Record]:
        while start + _HEAD.size <= end and self._left > 0:
            self._left -= 1
            told, kind, size = _HEAD.unpack_from(self._data, start)
            start += _HEAD.size
            last = min(start + size, end)
            yield Record(kind, told >> 4, start, last)
            start = last
