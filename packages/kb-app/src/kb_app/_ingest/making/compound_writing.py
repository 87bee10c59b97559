"""Compound files ([MS-CFB]) are written: what is in a storage becomes a file of its own.

All is in sectors of 512 bytes, and of 64 where a stream is shorter than 4,096. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from kb_app._ingest.making.compound import COMPOUND, Storage

__all__ = ["Tree", "tree_of", "write_compound"]

Tree: TypeAlias = "Mapping[str, bytes | Tree]"
"""Names of streams with what is in them, and names of storages with what is in these."""

_SECTOR, _SMALL, _CUTOFF = 512, 64, 4096
_NUMBERS = _SECTOR // 4
_IN_HEADER = 109
_END, _FREE, _TABLE, _MORE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFC
_DEEPEST = 40
_ROOT, _STORAGE, _STREAM = 5, 1, 2
_BLACK = 1


def tree_of(storage: Storage, depth: int = 0) -> dict[str, bytes | Tree]:
    """Return what is in a storage, as far down as anything is that a program wrote."""
    found: dict[str, bytes | Tree] = dict(storage.streams())
    if depth < _DEEPEST:
        found |= {each.name: tree_of(each, depth + 1) for each in storage.storages()}
    return found


def write_compound(tree: Tree) -> bytes:
    """Return a compound file of what *tree* names."""
    writer = _Writer()
    writer.add(tree)
    return writer.written()


class _Place(NamedTuple):
    """An entry of the directory."""

    name: str
    kind: int
    start: int = _END
    size: int = 0
    child: int = _FREE
    left: int = _FREE
    right: int = _FREE


class _Writer:
    def __init__(self) -> None:
        self._sectors: list[bytes] = []
        self._next: list[int] = []
        self._small = bytearray()
        self._next_small: list[int] = []
        self._entries: list[_Place] = []

    def add(self, tree: Tree) -> None:
        """Write down all that is in a tree, and its directory."""
        todo: list[tuple[int, Tree]] = [(0, tree)]
        self._entries = [_Place("Root Entry", _ROOT)]
        for parent, inside in todo:  # which grows meanwhile
            names = sorted(inside, key=lambda name: (len(name), name.upper()))
            for name in names:
                content = inside[name]
                if isinstance(content, bytes):
                    self._entries.append(self._stream(name, content))
                else:
                    todo.append((len(self._entries), content))
                    self._entries.append(_Place(name, _STORAGE))
            self._link(parent, len(names))

    def _link(self, parent: int, count: int) -> None:
        """Make the last *count* entries, which are in order, a balanced tree below *parent*."""
        entries, end = self._entries, len(self._entries)
        entries[parent] = entries[parent]._replace(child=_middle(end - count, end))
        todo = [(end - count, end)]
        while todo:
            first, last = todo.pop()
            if first < last:
                middle = _middle(first, last)
                left, right = _middle(first, middle), _middle(middle + 1, last)
                entries[middle] = entries[middle]._replace(left=left, right=right)
                todo += [(first, middle), (middle + 1, last)]

    def _stream(self, name: str, data: bytes) -> _Place:
        if len(data) >= _CUTOFF:
            return _Place(name, _STREAM, self._chain(data), len(data))
        if not data:
            return _Place(name, _STREAM)
        start = len(self._next_small)
        count = -(-len(data) // _SMALL)
        self._small += data.ljust(count * _SMALL, b"\0")
        self._next_small += [*range(start + 1, start + count), _END]
        return _Place(name, _STREAM, start, len(data))

    def _chain(self, data: bytes, padding: bytes = b"\0") -> int:
        """Write *data* in sectors, and return the first one."""
        start, count = len(self._sectors), -(-len(data) // _SECTOR)
        if not count:
            return _END
        for at in range(0, len(data), _SECTOR):
            self._sectors.append(data[at : at + _SECTOR].ljust(_SECTOR, padding))
        self._next += [*range(start + 1, start + count), _END]
        return start

    def written(self) -> bytes:
        small_table = struct.pack(f"<{len(self._next_small)}I", *self._next_small)
        small_tables = -(-len(small_table) // _SECTOR)
        small_start = self._chain(small_table, b"\xff")
        root = self._entries[0]._replace(start=self._chain(bytes(self._small)))
        self._entries[0] = root._replace(size=len(self._small))
        directory = self._chain(b"".join(map(_entry, self._entries)))
        tables, more = self._counts()
        first = len(self._sectors)
        self._next += [_TABLE] * tables + [_MORE] * more
        places = [*range(first, first + tables)]
        self._next += [_FREE] * (tables * _NUMBERS - len(self._next))
        header = struct.pack("<8s16x5H6x", COMPOUND, 0x3E, 3, 0xFFFE, 9, 6)
        header += struct.pack(
            "<9I", 0, tables, directory, 0, _CUTOFF, small_start, small_tables,
            first + tables if more else _END, more,
        )  # fmt: skip
        header += _packed(places[:_IN_HEADER], _IN_HEADER)
        table = _packed(self._next, len(self._next))
        rest = self._further(places[_IN_HEADER:], first + tables)
        return b"".join([header, *self._sectors, table, rest])

    def _counts(self) -> tuple[int, int]:
        """Return how many sectors the table takes, and what tells where it is."""
        tables = more = 0
        while True:
            needed = -(-(len(self._sectors) + tables + more) // _NUMBERS)
            further = -(-max(0, needed - _IN_HEADER) // (_NUMBERS - 1))
            if (needed, further) == (tables, more):
                return tables, more
            tables, more = needed, further

    @staticmethod
    def _further(places: list[int], start: int) -> bytes:
        made: list[bytes] = []
        for at in range(0, len(places), _NUMBERS - 1):
            part = places[at : at + _NUMBERS - 1]
            is_last = at + _NUMBERS - 1 >= len(places)
            follows = _END if is_last else start + len(made) + 1
            made.append(_packed(part, _NUMBERS - 1) + struct.pack("<I", follows))
        return b"".join(made)


def _middle(first: int, last: int) -> int:
    """Return the entry in the middle of these; none, where there is none."""
    return (first + last) // 2 if first < last else _FREE


def _packed(numbers: list[int], count: int) -> bytes:
    return struct.pack(f"<{count}I", *numbers, *[_FREE] * (count - len(numbers)))


def _entry(place: _Place) -> bytes:
    name = place.name[:31].encode("utf-16-le", "replace")[:62]
    links = (place.left, place.right, place.child)
    head = struct.pack("<64sHBB3I36x", name, len(name) + 2, place.kind, _BLACK, *links)
    return head + struct.pack("<IQ", place.start, place.size)
