"""Compound files ([MS-CFB]): what Outlook, and Office before 2007, keep their files in.

Each is a small file system: sectors of 512 or 4,096 bytes, and a table (FAT) that says of each
which one follows it; where that table lies is told by another (DIFAT). What is shorter than
4,096 bytes lies in smaller sectors within one stream, with a table of their own. Names form
trees, one a storage.

Nothing of it is believed: a sector is given out once, whoever asks for it, so that chains end
and all that can be read together is no more than the file; a name is met once, so that trees
end. What is damaged ends where it can be followed no further. Pure, and linear in the file.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["COMPOUND", "NoCompoundError", "Storage", "read_compound"]

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of such a file."""
_HEADER = struct.Struct("<8x16x5H6x9I")
_HEAD_BYTES, _ENTRY_BYTES, _NUMBER_BYTES = 512, 128, 4
_IN_HEADER = 109
"""So many places of sectors of the table stand in the header itself."""
_ENTRY = struct.Struct("<64sHBx3I36xIQ")
_STORAGE, _STREAM = 1, 2
_MOST_ENTRIES = 200_000
_SHIFTS, _SMALL_SHIFTS = range(7, 17), range(3, 13)
_WITHOUT_HIGH = 9
"""Files of so small sectors may have anything in the upper half of a size."""


class NoCompoundError(ValueError):
    """The bytes are no compound file, or one without anything in it; the message says why."""


class _Header(NamedTuple):
    minor: int
    major: int
    order: int
    shift: int
    small_shift: int
    directories: int
    tables: int
    directory: int
    transaction: int
    cutoff: int
    small_table: int
    small_tables: int
    more_tables: int
    more_tables_count: int


class _Entry(NamedTuple):
    """What the directory says of a storage or a stream."""

    raw_name: bytes
    name_bytes: int
    kind: int
    left: int
    right: int
    child: int
    start: int
    size: int

    @property
    def name(self) -> str:
        raw = self.raw_name[: max(0, min(self.name_bytes, 64) - 2) // 2 * 2]
        return raw.decode("utf-16-le", "replace").partition("\0")[0]


class Storage:
    """A folder of a compound file; names in it are found whatever their case."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._storages: dict[str, Storage] = {}
        self._streams: dict[str, tuple[str, _Stream]] = {}

    def __contains__(self, name: object) -> bool:
        """Say whether there is a stream or a storage of that name in it."""
        key = str(name).lower()
        return key in self._streams or key in self._storages

    def stream(self, name: str) -> bytes:
        """Return what is in a stream, as far as it can be read; nothing, if there is none."""
        found = self._streams.get(name.lower())
        return found[1].read() if found else b""

    def storage(self, name: str) -> Storage | None:
        return self._storages.get(name.lower())

    def storages(self) -> list[Storage]:
        """Return the storages in it, by their names."""
        return [self._storages[name] for name in sorted(self._storages)]

    def streams(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of each stream in it, by their names."""
        for key in sorted(self._streams):
            name, stream = self._streams[key]
            yield name, stream.read()

    def add_stream(self, name: str, stream: _Stream) -> None:
        self._streams.setdefault(name.lower(), (name, stream))

    def add_storage(self, name: str) -> Storage:
        return self._storages.setdefault(name.lower(), Storage(name))


class _Stream(NamedTuple):
    """Where a stream is to be found."""

    file: _File
    number: int
    start: int
    size: int

    def read(self) -> bytes:
        return self.file.read(self)


class _Sectors:
    """Sectors of one size, which follow each other as a table says."""

    def __init__(self, data: bytes, size: int, first: int) -> None:
        self._data = data
        self._size = size
        self._first = first
        self._count = max(0, -(-(len(data) - first) // size))
        self._taken = bytearray(self._count)
        self.next: array[int] = array("I")

    @property
    def numbers_in_one(self) -> int:
        return self._size // _NUMBER_BYTES

    @property
    def most_tables(self) -> int:
        """How many sectors a table of all sectors takes."""
        return -(-self._count // self.numbers_in_one)

    def take(self, number: int) -> bytes | None:
        """Return a sector; ``None`` where there is none, or it was given out already."""
        if number >= self._count or self._taken[number]:
            return None
        self._taken[number] = 1
        at = self._first + number * self._size
        return self._data[at : at + self._size]

    def runs(self, start: int, size: int) -> list[tuple[int, int]]:
        """Take what follows *start*, up to *size* bytes; return where it lies in the data."""
        runs: list[tuple[int, int]] = []
        wanted = -(-size // self._size)
        number, following = start, self.next
        while wanted > 0 and number < self._count and not self._taken[number]:
            self._taken[number] = 1
            at = self._first + number * self._size
            if runs and runs[-1][1] == at:
                runs[-1] = (runs[-1][0], at + self._size)
            else:
                runs.append((at, at + self._size))
            if number >= len(following):
                break
            number = following[number]
            wanted -= 1
        return runs

    def joined(self, runs: list[tuple[int, int]], size: int) -> bytes:
        return b"".join(self._data[first:end] for first, end in runs)[:size]

    def all_from(self, start: int) -> bytes:
        """Take and return all that follows *start*."""
        most = self._count * self._size
        return self.joined(self.runs(start, most), most)


class _File:
    """A compound file that is open."""

    def __init__(self, data: bytes) -> None:
        header = _header(data)
        size = 1 << header.shift
        self._cutoff = header.cutoff
        self._sectors = _Sectors(data, size, size)
        self._has_high = header.shift != _WITHOUT_HIGH
        self._sectors.next = _numbers(b"".join(self._tables(data, header)))
        self._directory = self._sectors.all_from(header.directory)
        self._small_table = self._sectors.all_from(header.small_table)
        self._small_size = 1 << header.small_shift
        self._small: _Sectors | None = None
        self._runs: dict[int, list[tuple[int, int]]] = {}

    def _tables(self, data: bytes, header: _Header) -> Iterator[bytes]:
        """Yield the sectors of the table of sectors, in their order."""
        numbers = list(_numbers(data[_HEADER.size : _HEADER.size + _IN_HEADER * _NUMBER_BYTES]))
        sectors, more, last = self._sectors, header.more_tables, self._sectors.numbers_in_one - 1
        while len(numbers) < sectors.most_tables + _IN_HEADER:
            if (further := sectors.take(more)) is None or len(further) < sectors.numbers_in_one * 4:
                break
            found = _numbers(further)
            numbers += found[:last]
            more = found[last]
        for number in numbers[: min(header.tables, sectors.most_tables)]:
            if (sector := sectors.take(number)) is None:
                return  # what follows would be of other sectors
            yield sector

    def root(self) -> Storage:
        """Return all storages and streams by name."""
        root = Storage()
        opening = self._entry(0)
        todo = [(opening.child, root)]
        met = bytearray(min(_MOST_ENTRIES, len(self._directory) // _ENTRY_BYTES))
        met[0] = 1
        while todo:
            number, into = todo.pop()
            if number >= len(met) or met[number]:
                continue
            met[number] = 1
            entry = self._entry(number)
            todo += [(entry.left, into), (entry.right, into)]
            if entry.kind == _STORAGE:
                todo.append((entry.child, into.add_storage(entry.name)))
            elif entry.kind == _STREAM:
                stream = _Stream(self, number, entry.start, self._size(entry))
                into.add_stream(entry.name, stream)
        return root

    def read(self, stream: _Stream) -> bytes:
        sectors = self._sectors if stream.size >= self._cutoff else self._small_sectors()
        if stream.number not in self._runs:
            self._runs[stream.number] = sectors.runs(stream.start, stream.size)
        return sectors.joined(self._runs[stream.number], stream.size)

    def _small_sectors(self) -> _Sectors:
        """Return the sectors within the stream of the root, where short streams are."""
        if self._small is None:
            root = self._entry(0)
            size = self._size(root)
            data = self._sectors.joined(self._sectors.runs(root.start, size), size)
            self._small = _Sectors(data, self._small_size, 0)
            self._small.next = _numbers(self._small_table)
        return self._small

    def _entry(self, number: int) -> _Entry:
        at = number * _ENTRY_BYTES
        if at + _ENTRY_BYTES > len(self._directory):
            raise NoCompoundError("it is damaged: it has no directory")
        return _Entry(*_ENTRY.unpack_from(self._directory, at))

    def _size(self, entry: _Entry) -> int:
        return entry.size if self._has_high else entry.size & 0xFFFFFFFF


def read_compound(data: bytes) -> Storage:
    """Return the root of a compound file; raise ``NoCompoundError`` where there is none."""
    return _File(data).root()


def _header(data: bytes) -> _Header:
    if not data.startswith(COMPOUND):
        raise NoCompoundError("it is no compound file")
    if len(data) < _HEAD_BYTES:
        raise NoCompoundError("it is damaged: its header is cut off")
    header = _Header(*_HEADER.unpack_from(data))
    if header.shift not in _SHIFTS or header.small_shift not in _SMALL_SHIFTS:
        raise NoCompoundError("it is damaged: its header names no size of sectors")
    return header


def _numbers(data: bytes) -> array[int]:
    """Return the numbers of 32 bits in *data*."""
    found = array("I", data[: len(data) // _NUMBER_BYTES * _NUMBER_BYTES])
    if sys.byteorder == "big":
        found.byteswap()
    return found
