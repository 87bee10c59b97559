"""Texts of Word 97 to 2003 for tests, made of their paragraphs."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kb_app.testing.compound_files import Tree

__all__ = ["L", "Listed", "P", "Style", "doc_tree", "in_list", "row", "summary"]

_TEXT_AT, _PAGE = 2048, 512
_MARKS = re.compile(r"\{[fecb]\}")
_KEPT = {"{f}": "\x02", "{e}": "\x02", "{c}": "\x05", "{b}": "\x08"}
_PARTS = ("main", "footnotes", "headers", "macros", "comments", "endnotes", "boxes", "in headers")


class P(NamedTuple):
    """A paragraph: its text, its mark, its style, and what differs from that.

    ``{f}``, ``{e}``, ``{c}`` and ``{b}`` in it refer to a footnote, an endnote, a comment and a
    text box, the next of them.
    """

    text: str
    end: str = "\r"
    style: int = 0
    changes: bytes = b""


class Style(NamedTuple):
    """A style: the number of one that Word brought, what it is based on, and what it changes."""

    number: int = 0xFFE
    base: int = 0xFFF
    changes: bytes = b""


class L(NamedTuple):
    """A level of a list: how it counts, as Word numbers that, and what stands there.

    A NUL in it is the count of the first level.
    """

    text: str
    counting: int = 0
    start: int = 1


class Listed(NamedTuple):
    """A list: its levels, the style that stands for each, and where one of its uses begins anew."""

    levels: Sequence[L]
    styles: Sequence[int] = ()
    anew: int | None = None


def in_list(number: int, level: int | None = None) -> bytes:
    """Return what puts a paragraph into the list that is used as the *number*-th, from 1."""
    told = struct.pack("<HH", 0x460B, number)
    return told if level is None else told + struct.pack("<HB", 0x260A, level)


def row(*cells: str, borders: Sequence[int] = ()) -> list[P]:
    """Return the paragraphs of a row of a table, whose cells lie between *borders*."""
    inside = b"\x16\x24\1"
    ended = inside + b"\x17\x24\1"
    if borders:
        told = struct.pack(f"<B{len(borders)}h", len(cells), *borders)
        ended += struct.pack("<HH", 0xD608, len(told) + 1) + told
    return [*(P(cell, "\x07", changes=inside) for cell in cells), P("", "\x07", changes=ended)]


def doc_tree(  # noqa: PLR0913 - each is a part of the file
    paragraphs: Sequence[P | str],
    *,
    beside: Mapping[str, Sequence[str]] | None = None,
    styles: Sequence[Style] = (),
    letters: Sequence[tuple[str, bytes]] = (),
    width: Callable[[int], int] = lambda _: 2,
    flags: int = 0,
    lists: Sequence[Listed] = (),
) -> dict[str, bytes | Tree]:
    """Return the streams of a text.

    *beside* has what stands beside it, by the names of ``_PARTS``: of headers six for each section,
    behind six that part notes from text. *letters* are words, and how they are formatted. *width*
    says how many bytes a letter of a paragraph takes, by its number; pieces lie in the stream in
    the reverse of their order where there are several widths. Each of *lists* is used twice: as
    the list of its number, and of that number behind those of all, where it may begin anew.
    """
    parts = {name: [*map(_units, (beside or {}).get(name, ()))] for name in _PARTS[1:]}
    main = [each if isinstance(each, P) else P(each) for each in paragraphs]
    main = [each._replace(text=_units(each.text)) for each in main]
    places, kept = _places(main)
    stories = {"main": [p.text + p.end for p in kept]}
    stories |= {name: [f"{text}\r" for text in texts] for name, texts in parts.items()}
    texts = [text for name in _PARTS for text in stories[name]]
    layout = _Layout(texts, width)
    table = _Table()
    table.put(1, _styles(styles))
    for number, mark, name in ((2, "{f}", "footnotes"), (46, "{e}", "endnotes")):
        table.put(number, _list(places[mark], [b"\1\0"] * len(parts[name])))
        table.put(number + 1, _cuts(stories[name], 1))
    abouts = [bytes(20) + struct.pack("<H8x", 0)] * len(parts["comments"])
    table.put(4, _list(places["{c}"], abouts))
    table.put(5, _cuts(stories["comments"], 1))
    table.put(36, struct.pack("<H", 3) + "Ann".encode("utf-16-le"))
    table.put(11, _cuts(stories["headers"], 1))
    shapes = [struct.pack("<I22x", 1000 + number) for number in range(len(places["{b}"]))]
    table.put(40, _list(places["{b}"], shapes))
    for number, name in ((56, "boxes"), (58, "in headers")):
        boxes = [struct.pack("<14xI4x", 1000 + n) for n in range(len(parts[name]) + 1)]
        if parts[name]:
            cuts = struct.unpack(f"<{len(parts[name]) + 2}I", _cuts(stories[name], 1))
            table.put(number, _list(cuts[:-1], boxes[:-1]))
    if lists:
        table.put(73, *_kinds_of(lists))
        table.put(74, *_uses_of(lists))
    table.put(33, layout.pieces())
    pages = _Pages(layout.end)
    runs = [_paragraph_format(p) for p in kept] + [b"\1\0\0"] * (len(texts) - len(kept))
    table.put(13, pages.write(layout.ranges(), runs, 13))
    formatted = layout.letters("".join(texts), letters)
    table.put(12, pages.write([place for place, _ in formatted], [f for _, f in formatted], 1))
    counts = [sum(map(len, stories[name])) for name in _PARTS]
    head = _head(counts, table.pairs, flags)
    stream = head.ljust(_TEXT_AT, b"\0") + layout.data
    stream = stream.ljust(pages.first * _PAGE, b"\0") + pages.data
    name = "1Table" if flags & 0x0200 else "0Table"
    return {"WordDocument": stream.ljust(4096, b"\0"), name: bytes(table.data)}


def _units(text: str) -> str:
    """Return a text as units of UTF-16, each a letter."""
    units = struct.unpack(f"<{len(text.encode('utf-16-le')) // 2}H", text.encode("utf-16-le"))
    return "".join(map(chr, units))


def _places(main: list[P]) -> tuple[dict[str, list[int]], list[P]]:
    """Return where marks stand, and the paragraphs with the letters that are kept for them."""
    places: dict[str, list[int]] = {mark: [] for mark in _KEPT}
    kept, at = list[P](), 0
    for each in main:
        short = 0
        for mark in _MARKS.finditer(each.text):
            places[mark[0]].append(at + mark.start() - short)
            short += 2
        kept.append(each._replace(text=_MARKS.sub(lambda mark: _KEPT[mark[0]], each.text)))
        at += len(kept[-1].text) + 1
    return places, kept


class _Layout:
    """Where paragraphs lie in the stream."""

    def __init__(self, texts: list[str], width: Callable[[int], int]) -> None:
        self._texts = texts
        self._widths = [width(number) for number in range(len(texts))]
        self._at: dict[int, int] = {}
        self.data = b""
        order = range(len(texts))
        for number in order if len(set(self._widths)) == 1 else reversed(order):
            self._at[number] = _TEXT_AT + len(self.data)
            charset = "cp1252" if self._widths[number] == 1 else "utf-16-le"
            self.data += texts[number].encode(
                charset, "surrogatepass" if charset[0] == "u" else "strict"
            )
        self.end = _TEXT_AT + len(self.data)

    def ranges(self) -> list[tuple[int, int]]:
        return [
            (self._at[number], self._at[number] + len(text) * self._widths[number])
            for number, text in enumerate(self._texts)
        ]

    def pieces(self) -> bytes:
        ends, at = [0], 0
        for text in self._texts:
            at += len(text)
            ends.append(at)
        made = struct.pack(f"<{len(ends)}I", *ends)
        for number, width in enumerate(self._widths):
            place = self._at[number]
            told = place * 2 | 0x40000000 if width == 1 else place
            made += struct.pack("<HIH", 0, told, 0)
        return b"\1\3\0abc" + b"\2" + struct.pack("<I", len(made)) + made

    def letters(
        self, whole: str, letters: Sequence[tuple[str, bytes]]
    ) -> list[tuple[tuple[int, int], bytes]]:
        """Return where words lie, in one paragraph each, and their formats."""
        found = []
        for word, changes in letters:
            first = whole.index(word)
            at = 0
            for number, text in enumerate(self._texts):
                if first < at + len(text):
                    start = self._at[number] + (first - at) * self._widths[number]
                    end = start + len(word) * self._widths[number]
                    found.append(((start, end), bytes([len(changes)]) + changes))
                    break
                at += len(text)
        return found


class _Pages:
    """Pages of formats."""

    def __init__(self, end: int) -> None:
        self.first = -(-end // _PAGE)
        self.data = b""

    def write(self, ranges: list[tuple[int, int]], formats: list[bytes], width: int) -> bytes:
        """Write pages, and return the list of them."""
        runs = sorted(zip(ranges, formats, strict=True))
        starts, numbers = list[int](), list[bytes]()
        for at in range(0, len(runs), 5):
            starts.append(runs[at][0][0])
            numbers.append(struct.pack("<I", self.first + len(self.data) // _PAGE))
            self.data += _page(runs[at : at + 5], width)
        if not runs:
            return b""
        return struct.pack(f"<{len(starts) + 1}I", *starts, runs[-1][0][1]) + b"".join(numbers)


def _page(runs: Sequence[tuple[tuple[int, int], bytes]], width: int) -> bytes:
    """Return a page of formats; between runs, letters have none of their own."""
    places, told, body, free = [runs[0][0][0]], list[int](), bytearray(_PAGE), _PAGE - 2
    for (start, end), form in runs:
        if places[-1] != start:
            told.append(0)
            places.append(start)
        free = (free - len(form)) // 2 * 2
        body[free : free + len(form)] = form
        told.append(free // 2)
        places.append(end)
    body[: 4 * len(places)] = struct.pack(f"<{len(places)}I", *places)
    for number, each in enumerate(told):
        body[4 * len(places) + number * width] = each
    body[-1] = len(told)
    return bytes(body)


class _Table:
    """The stream of tables, and where each is."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.pairs: dict[int, tuple[int, int]] = {}

    def put(self, number: int, data: bytes, behind: bytes = b"") -> None:
        self.pairs[number] = (len(self.data), len(data))
        self.data += data + behind


def _kinds_of(lists: Sequence[Listed]) -> tuple[bytes, bytes]:
    """Return how lists count: what they are, and their levels, which stand behind."""
    kinds, levels = struct.pack("<H", len(lists)), b""
    for number, each in enumerate(lists):
        styles = [*each.styles, *[0xFFF] * 9][:9]
        kinds += struct.pack("<II9HBB", number + 7, 0, *styles, len(each.levels) == 1, 0)
        for level in [*each.levels, *[L("")] * 9][: 1 if len(each.levels) == 1 else 9]:
            levels += struct.pack("<IB19xBBxx", level.start, level.counting, 2, 4) + b"??????"
            levels += struct.pack("<H", len(level.text)) + level.text.encode("utf-16-le")
    return kinds, levels


def _uses_of(lists: Sequence[Listed]) -> tuple[bytes, bytes]:
    """Return which lists are used: all, then all again, which may begin anew."""
    uses, anew = struct.pack("<I", 2 * len(lists)), b""
    for turn in range(2):
        for number, each in enumerate(lists):
            is_anew = turn == 1 and each.anew is not None
            uses += struct.pack("<I8xB3x", number + 7, is_anew)
            anew += b"\xff" * 4
            anew += struct.pack("<II", each.anew or 0, 0x10) if is_anew else b""
    return uses, anew


def _paragraph_format(paragraph: P) -> bytes:
    told = struct.pack("<H", paragraph.style) + paragraph.changes
    if len(told) % 2:
        return bytes([(len(told) + 1) // 2]) + told
    return bytes([0, len(told) // 2]) + told


def _list(places: Sequence[int], about: Sequence[bytes]) -> bytes:
    """Return a list of places and what stands with each, and where the last one ends."""
    if not about:
        return b""
    whole = [*places[: len(about)], *places[len(about) :][:1]]
    whole += [whole[-1] + 1] * (len(about) + 1 - len(whole))
    return struct.pack(f"<{len(whole)}I", *whole) + b"".join(about)


def _cuts(texts: list[str], more: int) -> bytes:
    """Return where texts begin, and the end, which is told once *more*."""
    if not texts:
        return b""
    cuts = [0]
    for text in texts:
        cuts.append(cuts[-1] + len(text))
    cuts += [cuts[-1]] * more
    return struct.pack(f"<{len(cuts)}I", *cuts)


def _styles(styles: Sequence[Style]) -> bytes:
    made = struct.pack("<HHH", 18, len(styles), 10) + bytes(14)
    for style in styles:
        head = struct.pack("<HHHHH", style.number, 1 | style.base << 4, 2, 0, 0)
        head += struct.pack("<H", 1) + "X".encode("utf-16-le") + b"\0\0"
        head += struct.pack("<HH", 2 + len(style.changes), 0) + style.changes
        made += struct.pack("<H", len(head)) + head + b"\0" * (len(head) % 2)
    return made


def _head(counts: list[int], pairs: Mapping[int, tuple[int, int]], flags: int) -> bytes:
    head = bytearray(0x9A + 8 * 93)
    struct.pack_into("<HH", head, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", head, 0x0A, flags)
    struct.pack_into("<8I", head, 0x4C, *counts)
    for number, (place, size) in pairs.items():
        struct.pack_into("<II", head, 0x9A + 8 * number, place, size)
    return bytes(head)


def summary(values: Mapping[int, str | datetime], codepage: int = 1252) -> Tree:
    """Return what a file says of itself: properties by number ([MS-OLEPS])."""
    charset = {65001: "utf-8", 949: "cp949"}.get(codepage, "cp1252")
    told = {1: struct.pack("<IHH", 2, codepage, 0)}
    for number, value in values.items():
        if isinstance(value, str):
            data = value.encode(charset) + b"\0"
            told[number] = struct.pack("<II", 0x1E, len(data)) + data.ljust(
                -(-len(data) // 4) * 4, b"\0"
            )
        else:
            since = value - datetime(1601, 1, 1, tzinfo=UTC)
            told[number] = struct.pack("<IQ", 0x40, int(since.total_seconds()) * 10_000_000)
    at, places, body = 8 + 8 * len(told), b"", b""
    for number, data in told.items():
        places += struct.pack("<II", number, at + len(body))
        body += data
    inner = struct.pack("<II", at + len(body), len(told)) + places + body
    head = struct.pack("<HHI16xI", 0xFFFE, 0, 0, 1) + bytes(16) + struct.pack("<I", 48)
    return {"\x05SummaryInformation": head + inner}
