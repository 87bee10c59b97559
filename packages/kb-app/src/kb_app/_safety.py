"""Safety copies: what could not be read again, a second time, below ``safety/``.

A copy is a folder that is called by the time when it was made. Each file in it is one of
ours in gzip, which has a sum of what is in it, so that a person needs nothing of kebab to
read it. What has not changed since the copy before is a link to that one's file, so a copy
costs what is new in it. A copy is there whole or not at all, and lists the names of its files,
so that one that went since is told from one that never was.

What a person deletes or has forgotten is taken out of the copies, too: so what a copy has and
the data directory has not was lost. Only the holder of the writer lock makes copies here.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from kb_app._data_dir import making_private_files
from kb_app.paths import make_private_folder
from kb_core.disk import remove_folder
from kb_core.ids import blake2b
from kb_core.values import dataclass, lazy_pattern

__all__ = ["KEPT", "Kept", "SafetyCopies", "SafetyCopy"]

KEPT = 3
"""So many copies stay; the oldest goes when one more is made."""

_NAME = lazy_pattern(r"\d{8}T\d{6}Z")
_FORM = "%Y%m%dT%H%M%SZ"
_SUFFIX = ".gz"
_UNFINISHED = ".new"
_LIST = ".names"
"""The names of the files in a copy, as JSON; copies of earlier versions have none."""
_BLOCK = 1 << 20
_TAIL = 4
"""Bytes at the end of a file in gzip that say how large its content is."""
_UNREADABLE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that is to be in a copy, under *name*."""

    name: str
    origin: Path
    digest: str | None = None
    """The hash of its bytes, where that is known: what has another one is not taken."""
    is_packed: bool = False
    """Whether *origin* is of an earlier copy."""


@dataclass(frozen=True, slots=True)
class SafetyCopy:
    """One copy, a folder."""

    folder: Path

    @property
    def made_at(self) -> datetime:
        """When it was made, as its name says."""
        return datetime.fromisoformat(self.folder.name)

    def members(self) -> dict[str, Path]:
        """Return the files in it, by the names that they have in the data directory."""
        found = {}
        for here, folders, names in os.walk(self.folder):
            folders.sort()
            for name in sorted(names):
                path = Path(here, name)
                if path == self.place_of(_LIST):
                    continue
                if name.endswith(_SUFFIX) and path.is_file() and not path.is_symlink():
                    found[path.relative_to(self.folder).as_posix().removesuffix(_SUFFIX)] = path
        return found

    def place_of(self, name: str) -> Path:
        """Return where the file *name* is in it, there or not."""
        return self.folder / f"{name}{_SUFFIX}"

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file; ``OSError`` or ``EOFError`` where it is damaged."""
        if not self.place_of(name).stat().st_size:  # which gzip takes for the end of a file
            raise EOFError(f"{self.place_of(name)} is empty")
        try:
            with gzip.open(self.place_of(name)) as file:
                while block := file.read(_BLOCK):
                    yield block
        except zlib.error as error:
            raise OSError(f"{self.place_of(name)} is damaged: {error}") from error

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; ``None`` where it is missing or damaged."""
        try:
            return b"".join(self.blocks(name))
        except _UNREADABLE:
            return None

    def damaged(self) -> list[str]:
        """Return the names of files that cannot be read to their end, each read through."""
        names = [*self.members(), *([_LIST] if self.place_of(_LIST).exists() else ())]
        return [name for name in names if not self._is_whole(name)]

    @property
    def has_list(self) -> bool:
        """Say whether it can be told which files it should have."""
        return self._listed() is not None

    def missing(self) -> list[str]:
        """Return the names of files that it had when it was made, and nobody took out of it."""
        return sorted((self._listed() or set()) - self.members().keys())

    def write_list(self, names: Iterable[str]) -> None:
        """Write which files it has."""
        place = self.place_of(_LIST)
        new = _unfinished(place)
        with making_private_files(), new.open("wb") as out:
            with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
                packed.write(json.dumps(sorted(names), indent=0).encode("ascii"))
            _sync(out)
        new.replace(place)

    def _listed(self) -> set[str] | None:
        """Return the names that the list has; ``None`` where there is none, or it is damaged."""
        try:
            names = json.loads(self.read(_LIST) or b"")
        except ValueError:
            return None
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        return set(names) if is_list else None

    def change(self, name: str, keep: Callable[[bytes], bool]) -> None:
        """Leave the lines of a file that *keep* says; one that is damaged, or empty then, goes."""
        content = self.read(name)
        _unfinished(self.place_of(name)).unlink(missing_ok=True)
        lines = (content or b"").split(b"\n")
        left = [line for line in lines if line and keep(line)]
        if content is not None and len(left) == sum(map(bool, lines)):
            return
        if not left:
            self.drop(name)
            return
        place = self.place_of(name)
        new, used = _unfinished(place), place.stat()
        with making_private_files(), new.open("wb") as out:
            with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
                packed.write(b"".join(line + b"\n" for line in left))
            _sync(out)
        os.utime(new, ns=(used.st_atime_ns, 0))  # it is not the file of that time any more
        new.replace(place)

    def drop(self, *names: str) -> None:
        """Take files out, those that are in it, and what a change of them left that was killed.

        The list goes first: a process that is killed between leaves no file that seems lost. One
        that is damaged may have a name that is to go, and goes itself.
        """
        listed = self._listed()
        if listed is None:
            self.place_of(_LIST).unlink(missing_ok=True)
        elif not listed.isdisjoint(names):
            self.write_list(listed.difference(names))
        for place in map(self.place_of, names):
            for path in (place, _unfinished(place)):
                path.unlink(missing_ok=True)

    def _is_whole(self, name: str) -> bool:
        try:
            return all(True for _ in self.blocks(name))
        except _UNREADABLE:
            return False

    def size_of(self, name: str) -> int:
        """Return the size of the content of a file, up to 4 GB; 0 where there is none."""
        try:
            with self.place_of(name).open("rb") as file:
                file.seek(-_TAIL, os.SEEK_END)
                return int.from_bytes(file.read(), "little")
        except OSError:
            return 0

    def is_same(self, name: str, status: os.stat_result) -> bool:
        """Say whether the file *name* was taken of a file with this size and time."""
        try:
            taken_ns = self.place_of(name).stat().st_mtime_ns
        except OSError:
            return False
        return taken_ns == status.st_mtime_ns and self.size_of(name) == status.st_size % 2**32


class SafetyCopies:
    """The copies in *folder*, there yet or not. Every method may raise ``OSError``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[SafetyCopy]:
        """Return the copies, the newest first."""
        with suppress(FileNotFoundError, NotADirectoryError):
            names = [name for name in os.listdir(self._folder) if _is_time(name)]  # noqa: PTH208
            return [SafetyCopy(self._folder / name) for name in sorted(names, reverse=True)]
        return []

    def newest(self) -> SafetyCopy | None:
        """Return the newest copy."""
        return next(iter(self.all()), None)

    def runs(self) -> int:
        """Return how many runs have changed something since the newest copy was made."""
        try:
            return int(self._counter.read_text("ascii"))
        except (OSError, ValueError):
            return 0

    def count_run(self) -> int:
        """Count one more run that changed something, and return how many those are now."""
        runs = self.runs() + 1
        with making_private_files():
            make_private_folder(self._folder)
            self._counter.write_text(str(runs), "ascii")
        return runs

    def make(self, wanted: Sequence[Kept], now: datetime) -> SafetyCopy:
        """Make a copy of *wanted*; where the newest is just that, it is of *now* from here on."""
        before = self.newest()
        with making_private_files():
            make_private_folder(self._folder)
            made = self._free(now, before)
            if before is not None and _is_all(before, wanted):
                before.folder.rename(made.folder)
            else:
                self.sweep()
                new = SafetyCopy(self._folder / _UNFINISHED)
                _fill(new, wanted, before)
                new.folder.rename(made.folder)
            _sync_folder(self._folder)
        self._counter.unlink(missing_ok=True)
        for old in self.all()[KEPT:]:
            remove_folder(old.folder)
        return made

    def sweep(self) -> None:
        """Delete what a process left that was killed while it made a copy, or changed one.

        For the holder of the writer lock.
        """
        if (unfinished := self._folder / _UNFINISHED).is_dir():
            remove_folder(unfinished)
        for left in self._folder.glob(f"*/**/*{_SUFFIX}{_UNFINISHED}"):
            left.unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Say whether a copy has a file."""
        return any(copy.place_of(name).exists() for copy in self.all())

    def drop(self, name: str) -> None:
        """Take a file out of every copy."""
        for copy in self._every():
            copy.drop(name)

    def change(self, name: str, keep: Callable[[bytes], bool]) -> None:
        """Leave, in every copy, the lines of a file that *keep* says."""
        for copy in self._every():
            if copy.place_of(name).exists():
                copy.change(name, keep)

    def _every(self) -> list[SafetyCopy]:
        """Return the copies, and the one that is being made, or was until its process ended."""
        return [*self.all(), SafetyCopy(self._folder / _UNFINISHED)]

    @property
    def _counter(self) -> Path:
        return self._folder / "runs"

    def _free(self, now: datetime, before: SafetyCopy | None) -> SafetyCopy:
        """Return the copy of *now*; the newest is always the last, also of a clock set back."""
        if before is not None:
            now = max(now, before.made_at + timedelta(seconds=1))
        return SafetyCopy(self._folder / now.astimezone(UTC).strftime(_FORM))


def _unfinished(place: Path) -> Path:
    """Return where a file of a copy is written that is to become the one at *place*."""
    return place.with_name(f"{place.name}{_UNFINISHED}")


def _is_time(name: str) -> bool:
    if not _NAME.fullmatch(name):
        return False
    with suppress(ValueError):
        return bool(SafetyCopy(Path(name)).made_at)
    return False


def _is_all(copy: SafetyCopy, wanted: Sequence[Kept]) -> bool:
    return (
        copy.has_list
        and copy.members().keys() == {each.name for each in wanted}
        and all(_is_in(copy, each) for each in wanted)
    )


def _is_in(copy: SafetyCopy, each: Kept) -> bool:
    if each.is_packed:
        return copy.place_of(each.name) == each.origin
    with suppress(OSError):
        return copy.is_same(each.name, each.origin.stat())
    return False


def _fill(new: SafetyCopy, wanted: Sequence[Kept], before: SafetyCopy | None) -> None:
    new.folder.mkdir(mode=0o700)
    for each in wanted:
        place = new.place_of(each.name)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if before is not None and (each.is_packed or _is_in(before, each)):
            _link(each.origin if each.is_packed else before.place_of(each.name), place)
        elif not each.is_packed:
            _pack(each, place)
    new.write_list(new.members())
    for folder in (*new.folder.iterdir(), new.folder):
        if folder.is_dir():
            _sync_folder(folder)


def _link(origin: Path, place: Path) -> None:
    try:
        place.hardlink_to(origin)
    except OSError:  # a file system without links
        import shutil

        shutil.copy2(origin, place)


def _pack(each: Kept, place: Path) -> None:
    """Write a file into the copy; one that went meanwhile, or is not what it was, stays out."""
    digest = blake2b(digest_size=16)
    try:
        source = os.open(each.origin, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    with os.fdopen(source, "rb") as file, place.open("wb") as out:
        fcntl.flock(file, fcntl.LOCK_SH)  # no line of a journal is half written then
        status = os.fstat(file.fileno())
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=out, mtime=0) as packed:
            while block := file.read(_BLOCK):
                digest.update(block)
                packed.write(block)
        _sync(out)
    if each.digest not in {None, digest.hexdigest()}:
        place.unlink()
        return
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
