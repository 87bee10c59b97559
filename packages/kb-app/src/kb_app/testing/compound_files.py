"""Compound files for tests, laid out as plainly, or as badly, as a test wants them.

They are written by another way than ``kb_app`` writes them, so that neither believes the other.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Tree", "compound", "harmed"]

Tree: TypeAlias = "Mapping[str, bytes | Tree]"

_END, _FREE, _TABLE, _MORE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFC


@dataclass
class _Entry:
    """A name of the directory, and where it leads; ``large`` counts what is not small."""

    name: str
    kind: int
    start: int = _END
    size: int = 0
    child: int = _FREE
    right: int = _FREE
    large: int | None = None

    @property
    def written(self) -> bytes:
        text = self.name.encode("utf-16-le")
        numbers = (self.kind, 1, _FREE, self.right, self.child)
        head = struct.pack("<64sHBB3I36x", text, len(text) + 2, *numbers)
        return head + struct.pack("<IQ", self.start, self.size)


@dataclass
class _Parts:
    """What is in a file, before anything has its place."""

    entries: list[_Entry] = field(default_factory=lambda: [_Entry("Root Entry", 5)])
    large: list[bytes] = field(default_factory=list)
    small: bytearray = field(default_factory=bytearray)
    next_small: list[int] = field(default_factory=list)

    def hang(self, parent: int, inside: Tree) -> None:
        before: _Entry | None = None
        for name, content in inside.items():
            number = len(self.entries)
            if before is None:
                self.entries[parent].child = number
            else:
                before.right = number
            if isinstance(content, bytes):
                before = self._placed(name, content)
                self.entries.append(before)
            else:
                before = _Entry(name, 1, start=0)
                self.entries.append(before)
                self.hang(number, content)

    def _placed(self, name: str, data: bytes) -> _Entry:
        if len(data) >= 4096:
            self.large.append(data)
            return _Entry(name, 2, size=len(data), large=len(self.large) - 1)
        start, count = len(self.next_small), -(-len(data) // 64)
        self.small += data.ljust(count * 64, b"\0")
        self.next_small += [*range(start + 1, start + count), _END][:count]
        return _Entry(name, 2, start if count else _END, len(data))


def compound(tree: Tree, *, sector: int = 512, seed: int | None = None) -> bytes:
    """Return a compound file; with *seed*, its sectors lie anywhere."""
    parts = _Parts()
    parts.hang(0, tree)
    numbers = sector // 4
    small_table = struct.pack(f"<{len(parts.next_small)}I", *parts.next_small)
    wanted = [*parts.large, bytes(parts.small), small_table, bytes(128 * len(parts.entries))]
    count = sum(-(-len(each) // sector) for each in wanted)
    tables = 1
    while tables * numbers < count + tables + _more(tables, numbers):
        tables += 1
    more = _more(tables, numbers)
    free = list(range(count + tables + more))
    if seed is not None:
        random.Random(seed).shuffle(free)  # noqa: S311 - repeatable, nothing secret
    places = [[free.pop(0) for _ in range(-(-len(each) // sector))] for each in wanted]
    starts = [chain[0] if chain else _END for chain in places]
    for entry in parts.entries:
        entry.start = entry.start if entry.large is None else starts[entry.large]
    parts.entries[0].start, parts.entries[0].size = starts[-3], len(parts.small)
    wanted[-1] = b"".join(entry.written for entry in parts.entries)
    layout = _Layout(sector, tables, free)
    layout.write(wanted, places)
    return layout.header(starts, len(places[-2])) + layout.written()


class _Layout:
    """Sectors, and the table of what follows what; *free* are the places of the table itself."""

    def __init__(self, sector: int, tables: int, free: list[int]) -> None:
        self._sector = sector
        self._numbers = sector // 4
        self._of_table, self._of_more = free[:tables], free[tables:]
        self._sectors: dict[int, bytes] = {}
        self._following = [_FREE] * (tables * self._numbers)

    def write(self, wanted: list[bytes], places: list[list[int]]) -> None:
        size = self._sector
        for each, chain in zip(wanted, places, strict=True):
            for at, number in enumerate(chain):
                part = each[at * size : (at + 1) * size]
                self._sectors[number] = part.ljust(size, b"\xff")
                self._following[number] = chain[at + 1] if at + 1 < len(chain) else _END

    def written(self) -> bytes:
        for kind, places in ((_TABLE, self._of_table), (_MORE, self._of_more)):
            for number in places:
                self._following[number] = kind
        for at, number in enumerate(self._of_table):
            self._sectors[number] = self._packed(self._following, at, self._numbers)
        rest, each = self._of_table[109:], self._numbers - 1
        for at, number in enumerate(self._of_more):
            is_last = at + 1 == len(self._of_more)
            then = _END if is_last else self._of_more[at + 1]
            self._sectors[number] = self._packed(rest, at, each) + struct.pack("<I", then)
        return b"".join(self._sectors[number] for number in sorted(self._sectors))

    @staticmethod
    def _packed(numbers: list[int], at: int, count: int) -> bytes:
        part = numbers[at * count : (at + 1) * count]
        return struct.pack(f"<{count}I", *part, *[_FREE] * (count - len(part)))

    def header(self, starts: list[int], small_tables: int) -> bytes:
        more, sector = self._of_more, self._sector
        head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
        version = 3 if sector == 512 else 4
        head += struct.pack("<HHHHH6x", 0x3E, version, 0xFFFE, sector.bit_length() - 1, 6)
        numbers = (0, len(self._of_table), starts[-1], 0, 4096, starts[-2], small_tables)
        head += struct.pack("<9I", *numbers, more[0] if more else _END, len(more))
        return (head + self._packed(self._of_table, 0, 109)).ljust(sector, b"\0")


def _more(tables: int, numbers: int) -> int:
    return -(-max(0, tables - 109) // (numbers - 1))


def harmed(data: bytes, seed: int) -> bytes:
    """Return *data* with up to thirty things done to it: bytes, numbers, pieces, its end."""
    chance = random.Random(seed)  # noqa: S311 - nothing of it is secret
    changed = bytearray(data)
    for _ in range(chance.randint(1, 30)):
        at = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                changed[at : at + 4] = chance.choice([b"\0" * 4, b"\xff" * 4, b"\1\0\0\0"])
            case 2:
                changed[at : at + 200] = chance.randbytes(chance.randrange(200)) or b"\0"
            case _ if chance.random() < 0.2:
                del changed[at:]
                changed += b"\0"
    return bytes(changed)
