"""A private file of JSON lines that several processes add to.

A line is written while the file is locked, so that processes lose nothing of each other, and
synced before anybody hears of it. Whatever ends a process in the middle leaves an unfinished
last line: readers leave it out, and the next line takes its place. A line that says nothing, or
is not what was written by its sum (``_sealed``), stays where it is.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from kb_app._sealed import sealed, unsealed
from kb_app.paths import make_private_folder
from kb_core import wire
from kb_core.values import dataclass

__all__ = ["Lines", "LinesFile"]

_READ_BYTES = 1 << 20

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Lines(Generic[Row]):
    """What a file says: its rows in order, and what of it is none."""

    rows: tuple[Row, ...] = ()
    size: int = 0
    """In bytes."""
    damaged: int = 0
    """Lines that say nothing."""
    is_torn: bool = False
    """Whether its last line was not finished, and says nothing."""


class LinesFile(Generic[Row]):
    """The lines at *path*, there yet or not; *row_of* makes of a value a row, or ``None``.

    Every method may raise ``OSError``.
    """

    def __init__(self, path: Path, row_of: Callable[[Any], Row | None]) -> None:
        self._path = path
        self._row_of = row_of

    def read(self) -> Lines[Row]:
        """Return what there is; nothing, where there is no file."""
        with self._opened(os.O_RDONLY) as descriptor:
            return Lines() if descriptor is None else self._parsed(_content(descriptor))

    def row(self, line: bytes) -> Row | None:
        """Return the row that a line is, or ``None`` if it says nothing."""
        try:
            return self._row_of(unsealed(line))
        except ValueError:
            return None

    def append(self, make: Callable[[Lines[Row]], Row]) -> Row:
        """Add the row that *make* makes of those before it, and return it."""
        make_private_folder(self._path.parent)
        with self._opened(os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
            assert descriptor is not None  # noqa: S101 - it is made
            content = _content(descriptor)
            lines = self._parsed(content)
            made = make(lines)
            _write(descriptor, _mended(descriptor, content, is_torn=lines.is_torn) + _line(made))
            os.fsync(descriptor)
            return made

    def lines(self) -> list[bytes]:
        """Return the lines as they are, torn and damaged ones too."""
        with self._opened(os.O_RDONLY) as descriptor:
            content = b"" if descriptor is None else _content(descriptor)
        return [line for line in content.split(b"\n") if line]

    def drop(self, is_one: Callable[[bytes], bool]) -> None:
        """Take out the lines that *is_one* says; the file goes with its last.

        What is left is written anew and put in its place in one step.
        """
        with self._opened(os.O_RDWR) as descriptor:
            lines = [] if descriptor is None else _content(descriptor).split(b"\n")
            kept = [line for line in lines if line and not is_one(line)]
            if len(kept) == sum(map(bool, lines)):
                return
            if kept:
                self._put_in_place(b"".join(line + b"\n" for line in kept))
            else:
                self._path.unlink(missing_ok=True)

    def bring_back(self, lines: Sequence[bytes]) -> None:
        """Put these lines, in their order, before those of the file that are not among them.

        A damaged line that stands where one of these is missing was that line, and goes.
        """
        make_private_folder(self._path.parent)
        with self._opened(os.O_RDWR | os.O_CREAT) as descriptor:
            assert descriptor is not None  # noqa: S101 - it is made
            there = [line for line in _content(descriptor).split(b"\n") if line]
            later = list(self._not_among(lines, there))
            self._put_in_place(b"".join(line + b"\n" for line in (*lines, *later)))

    def _not_among(self, lines: Sequence[bytes], there: Sequence[bytes]) -> Iterator[bytes]:
        """Yield what is in *there* alone, but for damaged ones where one of *lines* is missing."""
        places, known, at = {line: at for at, line in enumerate(lines)}, set(there), 0
        for line in there:
            if line in places:
                at = places[line] + 1
            elif at < len(lines) and lines[at] not in known and self.row(line) is None:
                at += 1
            else:
                yield line

    def delete(self) -> None:
        """Delete the file; what a process adds then begins it anew."""
        with self._opened(os.O_RDWR):
            self._path.unlink(missing_ok=True)

    def _put_in_place(self, content: bytes) -> None:
        """Replace the locked file; who waits for its lock looks again for its name."""
        used, new = self._path.stat(), self._path.with_name(f".{self._path.name}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.utime(new, ns=(used.st_atime_ns, used.st_mtime_ns))  # nobody has used it now
        new.replace(self._path)

    @contextmanager
    def _opened(self, flags: int) -> Generator[int | None]:
        """Open and lock the file, for all others that write if *flags* say that it is written.

        ``None`` where there is none.
        """
        path, is_read = self._path, flags == os.O_RDONLY
        while True:
            try:
                descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                yield None
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH if is_read else fcntl.LOCK_EX)
                if _is_still(path, descriptor):  # else it was deleted while we waited
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def _parsed(self, content: bytes) -> Lines[Row]:
        *lines, tail = content.split(b"\n")
        read = [self.row(line) for line in lines if line]
        last = self.row(tail) if tail else None
        return Lines(
            tuple(row for row in (*read, last) if row is not None),
            size=len(content),
            damaged=read.count(None),
            is_torn=bool(tail) and last is None,
        )


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(descriptor, _READ_BYTES), b""))


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _line(row: Any) -> bytes:  # noqa: ANN401 - any wire object
    return sealed(wire.dumps(row).encode()) + b"\n"


def _mended(descriptor: int, content: bytes, *, is_torn: bool) -> bytes:
    """Make the file end with a whole line; return what has to come before the next one."""
    tail = content.rpartition(b"\n")[2]
    if not is_torn:
        return b"\n" if tail else b""
    os.ftruncate(descriptor, len(content) - len(tail))
    return b""
