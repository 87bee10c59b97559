"""Lists of a file of Word 97 to 2003: how their levels count ([MS-DOC] 2.4.6.3, 2.9.131 to 150).

A paragraph names a list by its place among those that are used (LFO), which leads to how it
counts (LSTF); lists that are used several times go on with one count, unless one begins anew.
Pure, and linear: what is told is read once, as far as it is whole.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from kb_app._ingest.making.formats.office.numbering import Counts, Level
from kb_app._ingest.making.formats.office.word97.file import WordFile

__all__ = ["Lists"]

_KINDS, _USES = 73, 74
_KIND_BYTES, _USE_BYTES, _LEVEL_BYTES, _ANEW_BYTES = 28, 16, 28, 8
_LEVELS, _NO_STYLE = 9, 0xFFF
_IS_SIMPLE, _BEGINS_ANEW, _IS_FORMATTED = 0x01, 0x10, 0x20
_COUNTING = {1: "I", 2: "i", 3: "A", 4: "a"}
_NO_NUMBERS = frozenset({23, 255})
_PLACE = re.compile(r"[\x00-\x08]")


class _Kind(NamedTuple):
    counts: Counts
    styles: tuple[int, ...]
    """Of each level, the style that stands for it."""


class Lists:
    """The lists of one file."""

    def __init__(self, file: WordFile) -> None:
        kinds = dict(_kinds(file.table(_KINDS), file.behind(_KINDS)))
        self._uses = [
            (kinds.get(kind), dict(anew))
            for kind, anew in _uses(file.table(_USES), file.behind(_USES))
        ]

    def level_of(self, number: int, style: int) -> int:
        """Return the level of a list that a style stands for."""
        kind, _ = self._use(number)
        return kind.styles.index(style) if kind and style in kind.styles else 0

    def label(self, number: int, level: int) -> str:
        """Count a paragraph of a list, and return what stands before it; nothing of a bullet."""
        kind, anew = self._use(number)
        return kind.counts.label(level, restart=anew.pop(level, None)) if kind else ""

    def _use(self, number: int) -> tuple[_Kind | None, dict[int, int]]:
        return self._uses[number - 1] if 0 < number <= len(self._uses) else (None, {})


def _kinds(data: bytes, levels: bytes) -> Iterator[tuple[int, _Kind]]:
    """Yield the lists by their numbers; *levels* is where their levels are told."""
    count, at = int.from_bytes(data[:2], "little"), 0
    for number in range(min(count, len(data) // _KIND_BYTES)):
        told = data[2 + number * _KIND_BYTES : 2 + (number + 1) * _KIND_BYTES]
        if len(told) < _KIND_BYTES:
            return
        found: dict[int, Level] = {}
        for level in range(1 if told[26] & _IS_SIMPLE else _LEVELS):
            found[level], at = _level(levels, at)
        styles = struct.unpack_from("<9H", told, 8)
        yield int.from_bytes(told[:4], "little"), _Kind(Counts(found), styles)


def _level(data: bytes, at: int) -> tuple[Level, int]:
    """Return how a level counts that is told at a place, and where what follows it is."""
    told = data[at : at + _LEVEL_BYTES]
    if len(told) < _LEVEL_BYTES:
        return Level(), len(data)
    start, counting = struct.unpack_from("<IB", told)
    at += _LEVEL_BYTES + told[24] + told[25]
    size = 2 * int.from_bytes(data[at : at + 2], "little")
    text = data[at + 2 : at + 2 + size].decode("utf-16-le", "replace")
    at += 2 + size
    if counting in _NO_NUMBERS:
        return Level(), at
    text = _PLACE.sub(lambda place: f"%{ord(place[0]) + 1}", text.replace("%", ""))
    return Level(start, _COUNTING.get(counting, "1"), text), at


def _uses(data: bytes, overrides: bytes) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield of each list that is used which it is, and which levels begin anew, and where."""
    count, at = int.from_bytes(data[:4], "little"), 0
    count = min(count, (len(data) - 4) // _USE_BYTES)
    at = 4 + count * _USE_BYTES
    overrides = data[at:] + overrides
    at = 0
    for number in range(count):
        told = data[4 + number * _USE_BYTES : 4 + (number + 1) * _USE_BYTES]
        at += 4
        anew: list[tuple[int, int]] = []
        for _ in range(told[12]):
            if at + _ANEW_BYTES > len(overrides):
                break
            start, flags = struct.unpack_from("<II", overrides, at)
            at += _ANEW_BYTES
            if flags & _IS_FORMATTED:
                level, at = _level(overrides, at)
                start = level.start
            if flags & _BEGINS_ANEW:
                anew.append((flags & 0xF, start))
        yield int.from_bytes(told[:4], "little"), anew
