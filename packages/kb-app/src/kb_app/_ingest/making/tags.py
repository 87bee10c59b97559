"""Tags: what a recording or a film says of itself: title, artist, chapters.

ID3 (2.2 to 2.4), Vorbis comments in FLAC and Ogg, the atoms of MP4, Matroska's elements and
RIFF's INFO. Pure, on any bytes whatever: what cannot be read is not there, and nothing is
gone through twice. Names are those of Vorbis comments, in small letters: ``title``,
``artist``, ``album``, ``date``, ``comment``, ``description``, ``lyrics``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kb_core.values import dataclass, field

__all__ = ["Chapter", "Tags", "tags_of"]

_MOST_TEXT = 20_000
_MOST_CHAPTERS = 2_000
_MOST_PAGES = 4_000
_DEEPEST = 12
_KNOWN = ("title", "artist", "album", "date", "comment", "description", "lyrics")


class Chapter(NamedTuple):
    """A part of a recording, by where it starts."""

    start_ms: int
    title: str


@dataclass(frozen=True, slots=True)
class Tags:
    """What a file says of itself; nothing, where it says nothing."""

    texts: Mapping[str, str] = field(default_factory=dict)
    chapters: Sequence[Chapter] = ()


def tags_of(data: bytes) -> Tags:
    """Return the tags of a file, whatever it is."""
    found = _Found()
    try:
        if data[:3] == b"ID3":
            _id3(data, found)
        elif data[:4] == b"fLaC":
            _flac(data, found)
        elif data[:4] == b"OggS":
            _ogg(data, found)
        elif data[4:8] == b"ftyp":
            _mp4(data, 0, len(data), (), found)
        elif data[:4] == b"\x1a\x45\xdf\xa3":
            _matroska(data, 0, len(data), 0, found)
        elif data[:4] == b"RIFF":
            _riff(data, found)
    except (struct.error, IndexError, ValueError, OverflowError):
        pass  # damaged: what stood before that is what there is
    return found.tags()


class _Found:
    """What is found on the way."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._chapters: list[Chapter] = []
        self.titles: dict[str, str] = {}
        """Of chapters that are told in two entries, by their numbers."""
        self.name, self.start_ms = "", -1
        """Of Matroska: which tag is being read, and where the chapter starts that is."""

    def add(self, name: str, text: str) -> None:
        """Take in a text; the first of a name counts."""
        said = text.replace("\0", " ").replace("\r\n", "\n").strip()[:_MOST_TEXT]
        if name in _KNOWN and said:
            self._texts.setdefault(name, said)

    def add_chapter(self, start_ms: int, title: str) -> None:
        said = " ".join(title.replace("\0", " ").split())[:200]
        if said and start_ms >= 0 and len(self._chapters) < _MOST_CHAPTERS:
            self._chapters.append(Chapter(start_ms, said))

    def tags(self) -> Tags:
        return Tags(self._texts, tuple(sorted(dict.fromkeys(self._chapters))))


_ID3 = {
    "TIT2": "title",
    "TPE1": "artist",
    "TALB": "album",
    "TDRC": "date",
    "TYER": "date",
    "COMM": "comment",
    "USLT": "lyrics",
    "TT2": "title",
    "TP1": "artist",
    "TAL": "album",
    "TYE": "date",
    "COM": "comment",
    "ULT": "lyrics",
}
_TOLD_APART = frozenset({"COMM", "USLT", "COM", "ULT"})
"""Frames with a language and a short description before their text."""


def _id3(data: bytes, found: _Found) -> None:
    version, flags = data[3], data[5]
    body = data[10 : 10 + _synchsafe(data[6:10])]
    if flags & 0x80:
        body = body.replace(b"\xff\0", b"\xff")
    if flags & 0x40 and version > 2:  # noqa: PLR2004 - an extended header
        size = _synchsafe(body[:4]) if version == 4 else int.from_bytes(body[:4]) + 4  # noqa: PLR2004
        body = body[size:]
    for name, frame in _frames(body, version):
        _id3_frame(name, frame, version, found)


def _frames(body: bytes, version: int) -> Iterator[tuple[str, bytes]]:
    at, head, width = 0, *((6, 3) if version == 2 else (10, 4))  # noqa: PLR2004
    while at + head <= len(body) and body[at]:
        size = body[at + width : at + 2 * width]
        length = _synchsafe(size) if version == 4 else int.from_bytes(size)  # noqa: PLR2004
        yield body[at : at + width].decode("latin-1"), body[at + head : at + head + length]
        at += head + length


def _id3_frame(name: str, frame: bytes, version: int, found: _Found) -> None:
    if name == "CHAP":
        _, _, rest = frame.partition(b"\0")
        inner = dict(_frames(rest[16:], version))
        if (title := inner.get("TIT2")) is not None:
            found.add_chapter(int.from_bytes(rest[:4]), _encoded(title[0], title[1:]))
    elif name in _ID3 and frame:
        text = frame[4:] if name in _TOLD_APART else frame[1:]
        if name in _TOLD_APART:
            is_wide = frame[0] in (1, 2)
            cut = _end_of_text(text, is_wide=is_wide)
            text = text[cut:]
        found.add(_ID3[name], _encoded(frame[0], text))


def _end_of_text(text: bytes, *, is_wide: bool) -> int:
    if not is_wide:
        return text.find(b"\0") + 1
    ends = (at for at in range(0, min(len(text), 400), 2) if text[at : at + 2] == b"\0\0")
    return next(ends, -2) + 2


def _encoded(kind: int, text: bytes) -> str:
    encoding = {0: "latin-1", 1: "utf-16", 2: "utf-16-be"}.get(kind, "utf-8")
    return text.decode(encoding, "replace").strip("\0\ufeff")


def _synchsafe(size: bytes) -> int:
    number = 0
    for byte in size:
        number = number << 7 | byte & 0x7F
    return number


def _flac(data: bytes, found: _Found) -> None:
    at = 4
    while at + 4 <= len(data):
        kind, length = data[at], int.from_bytes(data[at + 1 : at + 4])
        if kind & 0x7F == 4:  # noqa: PLR2004 - VORBIS_COMMENT
            _comments(data[at + 4 : at + 4 + length], found)
        if kind & 0x80:
            return
        at += 4 + length


def _ogg(data: bytes, found: _Found) -> None:
    """Read the second packet of the first stream."""
    at, packets, packet = 0, 0, bytearray()
    serial = data[14:18]
    for _ in range(_MOST_PAGES):
        if data[at : at + 4] != b"OggS":
            return
        count = data[at + 26]
        lacing = data[at + 27 : at + 27 + count]
        body = at + 27 + count
        if data[at + 14 : at + 18] == serial:
            start = body
            for size in lacing:
                packet += data[start : start + size] if packets else b""
                start += size
                if size < 255:  # noqa: PLR2004 - the end of a packet
                    packets += 1
                    if packets == 2:  # noqa: PLR2004
                        head = 8 if packet[:8] == b"OpusTags" else 7
                        _comments(bytes(packet[head:]), found)
                        return
        at = body + sum(lacing)


def _comments(data: bytes, found: _Found) -> None:
    (vendor,) = struct.unpack_from("<I", data)
    at = 4 + vendor
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    starts: dict[str, int] = {}
    for _ in range(min(count, 100_000)):
        (size,) = struct.unpack_from("<I", data, at)
        name, _, text = data[at + 4 : at + 4 + min(size, _MOST_TEXT)].partition(b"=")
        at += 4 + size
        key, said = name.decode("latin-1").lower(), text.decode("utf-8", "replace")
        if key.startswith("chapter") and key[7:].isdigit():
            starts[key] = _clock(said)
        elif key.startswith("chapter") and key.endswith("name"):
            found.titles[key[:-4]] = said
        else:
            found.add({"unsyncedlyrics": "lyrics"}.get(key, key), said)
    for key, start in starts.items():
        found.add_chapter(start, found.titles.get(key, ""))


def _clock(text: str) -> int:
    """Return the milliseconds of ``01:02:03.456``; -1 where it is no time."""
    parts = text.strip().split(":")
    try:
        seconds = [float(part) for part in parts]
        whole = sum(each * 60.0**n for n, each in enumerate(reversed(seconds)))
        return round(whole * 1000)
    except (ValueError, OverflowError):
        return -1


_MP4 = {
    b"\xa9nam": "title",
    b"\xa9ART": "artist",
    b"aART": "artist",
    b"\xa9alb": "album",
    b"\xa9day": "date",
    b"\xa9cmt": "comment",
    b"desc": "description",
    b"ldes": "description",
    b"\xa9lyr": "lyrics",
}
_MP4_HOLDERS = (b"moov", b"udta", b"meta", b"ilst")


def _mp4(data: bytes, at: int, end: int, path: tuple[bytes, ...], found: _Found) -> None:
    while at + 8 <= end:
        size, kind, head = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8], 8
        if size == 1:
            size, head = int.from_bytes(data[at + 8 : at + 16]), 16
        last = end if size == 0 else min(end, at + size)
        if last < at + head:
            return
        start = at + head
        if kind in _MP4_HOLDERS and kind not in path:
            _mp4(data, start + 4 * (kind == b"meta"), last, (*path, kind), found)
        elif kind == b"chpl":
            _nero_chapters(data[start:last], found)
        elif path[-1:] == (b"ilst",) and kind in _MP4:
            found.add(_MP4[kind], data[start + 16 : last].decode("utf-8", "replace"))
        at = last


def _nero_chapters(box: bytes, found: _Found) -> None:
    at = 9
    for _ in range(box[8]):
        start, length = int.from_bytes(box[at : at + 8]), box[at + 8]
        title = box[at + 9 : at + 9 + length].decode("utf-8", "replace")
        found.add_chapter(start // 10_000, title)
        at += 9 + length


_MATROSKA_HOLDERS = frozenset(
    {0x18538067, 0x1549A966, 0x1043A770, 0x45B9, 0xB6, 0x80, 0x1254C367, 0x7373, 0x67C8}
)
"""Segment; Info; Chapters, EditionEntry, ChapterAtom, ChapterDisplay; Tags, Tag, SimpleTag."""
_TITLE, _CHAPTER_START, _CHAPTER_TITLE, _TAG_NAME, _TAG_TEXT = 0x7BA9, 0x91, 0x85, 0x45A3, 0x4487


def _matroska(data: bytes, at: int, end: int, depth: int, found: _Found) -> None:
    while at < end and depth < _DEEPEST:
        kind, at = _number(data, at, is_id=True)
        size, at = _number(data, at, is_id=False)
        last = end if size < 0 else min(end, at + size)
        if kind in _MATROSKA_HOLDERS:
            _matroska(data, at, last, depth + 1, found)
        else:
            _matroska_element(kind, data[at : min(last, at + _MOST_TEXT)], found)
        if size < 0 and kind not in _MATROSKA_HOLDERS:
            return
        at = last


def _matroska_element(kind: int, value: bytes, found: _Found) -> None:
    text = value.decode("utf-8", "replace")
    if kind == _TITLE:
        found.add("title", text)
    elif kind == _TAG_NAME:
        found.name = text.lower().removesuffix("_released")
    elif kind == _TAG_TEXT:
        found.add(found.name, text)
    elif kind == _CHAPTER_START:
        found.start_ms = int.from_bytes(value[:8]) // 1_000_000
    elif kind == _CHAPTER_TITLE:
        found.add_chapter(found.start_ms, text)


def _number(data: bytes, at: int, *, is_id: bool) -> tuple[int, int]:
    """Read a number of variable length; -1 where the size is not known."""
    first = data[at]
    length = 9 - first.bit_length()
    if length > 8:  # noqa: PLR2004 - no number is longer
        raise ValueError("no element")
    number = int.from_bytes(data[at : at + length])
    if not is_id:
        mask = (1 << 7 * length) - 1
        number = -1 if number & mask == mask else number & mask
    return number, at + length


_RIFF = {b"INAM": "title", b"IART": "artist", b"IPRD": "album", b"ICRD": "date", b"ICMT": "comment"}


def _riff(data: bytes, found: _Found) -> None:
    for kind, start, end in _chunks(data, 12, len(data)):
        if kind == b"LIST" and data[start : start + 4] == b"INFO":
            for name, first, last in _chunks(data, start + 4, end):
                if name in _RIFF:
                    found.add(_RIFF[name], data[first:last].decode("utf-8", "replace"))


def _chunks(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    while at + 8 <= end:
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], at + 8, min(end, at + 8 + size)
        at += 8 + size + size % 2
