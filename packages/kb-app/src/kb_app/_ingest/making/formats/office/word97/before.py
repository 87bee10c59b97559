"""Texts of Word 6 and 95 (doc): what they say, by paragraphs and rows of tables.

The stream ``WordDocument`` begins as that of later versions does, with other things at other
places, and holds all: letters of one byte, in the code page of the language that the file says it
is in, at one place or, where it was saved quickly, in pieces. Styles are not read, so there are no
headings, and what was deleted while changes were kept is there. Pure; nothing is believed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.formats.office.word97.fields import shown, without_fields
from kb_app._ingest.making.formats.office.word97.file import NoWordError, Part, pieces_of
from kb_core.documents import Link

__all__ = ["OlderFile", "read_word95"]

_HEAD_BYTES = 0x168
_QUICKLY, _ENCRYPTED, _WIDE = 0x0004, 0x0100, 0x1000
_LANGUAGE_AT, _FLAGS_AT, _SIGNS_AT, _TEXT_AT, _COUNTS_AT, _PIECES_AT = 6, 10, 20, 0x18, 0x34, 0x160
_MACINTOSH = 0x100
_PAGES = {
    0x01: "cp1256", 0x05: "cp1250", 0x08: "cp1253", 0x0D: "cp1255", 0x0E: "cp1250", 0x11: "cp932",
    0x12: "cp949", 0x15: "cp1250", 0x18: "cp1250", 0x19: "cp1251", 0x1A: "cp1250", 0x1B: "cp1250",
    0x1E: "cp874", 0x1F: "cp1254", 0x22: "cp1251", 0x23: "cp1251", 0x24: "cp1250", 0x25: "cp1257",
    0x26: "cp1257", 0x27: "cp1257", 0x29: "cp1256", 0x2A: "cp1258", 0x02: "cp1251", 0x2F: "cp1251",
}  # fmt: skip
"""Code pages by the language, of which all countries have one, but where Chinese is written."""
_CHINESE = {0x0404: "cp950", 0x0C04: "cp950", 0x0804: "cp936", 0x1004: "cp936"}
_KINDS = {
    Part.FOOTNOTES: "note",
    Part.ENDNOTES: "note",
    Part.COMMENTS: "comment",
    Part.BOXES: "paragraph",
}
_ENDS = re.compile("[\r\x07\x0c]")
_CELL = "\x07"


class OlderFile:
    """A file of Word 6 or 95 that is open."""

    def __init__(self, stream: bytes) -> None:
        if len(stream) < _HEAD_BYTES:
            raise NoWordError("it is damaged: it does not say where its text is")
        self._stream = stream
        self._flags = self._short(_FLAGS_AT)
        self.is_cut = False

    @property
    def is_locked(self) -> bool:
        return bool(self._flags & _ENCRYPTED)

    def parts(self) -> list[str]:
        """Return what there is to read, in the order that ``Part`` has it."""
        width = 2 if self._flags & _WIDE else 1
        letters, found, at = self._letters(width), list[str](), 0
        for count in struct.unpack_from("<8I", self._stream, _COUNTS_AT):
            part = letters[at : at + count * width]
            self.is_cut = self.is_cut or len(part) < count * width
            text, _ = without_fields(part.decode(self._page(), "replace"))
            found.append(text)
            at += count * width
        return found

    def _letters(self, width: int) -> bytes:
        first, end = struct.unpack_from("<II", self._stream, _TEXT_AT)
        if not self._flags & _QUICKLY:
            return self._stream[first:end]
        place, size = struct.unpack_from("<II", self._stream, _PIECES_AT)
        pieces, left = list[bytes](), len(self._stream)
        for start, stop, at in pieces_of(self._stream[place : place + size]):
            length = min(left, max(0, stop - start) * width)
            pieces.append(self._stream[at : at + length])
            left -= length
        return b"".join(pieces) or self._stream[first:end]

    def _page(self) -> str:
        language = self._short(_LANGUAGE_AT)
        if self._flags & _WIDE:
            return "utf-16-le"
        if self._short(_SIGNS_AT) == _MACINTOSH:
            return "mac_roman"
        return _CHINESE.get(language) or _PAGES.get(language & 0x3FF, "cp1252")

    def _short(self, at: int) -> int:
        return int.from_bytes(self._stream[at : at + 2], "little")


def read_word95(file: OlderFile, draft: Draft) -> list[Link]:
    """Write down what a file says."""
    parts = file.parts()
    items = [*_items(parts[Part.MAIN])]
    for part, kind in _KINDS.items():
        items += (Item(kind, item.text) for item in _items(parts[part]))
    return write_items(draft, items, (item.text for item in _items(parts[Part.HEADERS])))


def _items(text: str) -> Iterator[Item]:
    """Yield the paragraphs of a text, and its tables: a row ends with a cell that is none."""
    rows, cells, at = list[str](), list[str](), 0
    for mark in _ENDS.finditer(text + "\r"):
        said = shown(text[at : mark.start()]).strip()
        is_cell, is_first = mark[0] == _CELL, at == mark.start()
        at = mark.end()
        if is_cell and not (is_first and cells):
            cells.append(said)
            continue
        if cells:
            rows.append("\t".join(cells).rstrip())
            cells = []
        if not is_cell and rows:
            yield Item("table", "\n".join(rows))
            rows = []
        if not is_cell and said:
            yield Item("paragraph", said)
