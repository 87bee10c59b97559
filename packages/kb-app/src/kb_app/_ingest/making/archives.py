"""What is in an archive, zip or tar: each file of it that a walk of a folder would see.

An archive is believed nothing: what is unpacked is counted against ``[limits]`` while it is
read, and links, devices and locked files are left alone. What built-in rules ignore in folders
is not read.
"""

from __future__ import annotations

import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from io import BytesIO
from lzma import LZMAError
from typing import IO, NamedTuple

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.containers import LOCKED, Refused, check_unpacked, open_zip
from kb_app._ingest.seeing.ignore import root_scope
from kb_core.documents import Enclosure, ReadingLimits
from kb_core.ingest import SkipReason
from kb_core.text import nfc

__all__ = ["Unpacked", "unpack"]

_BLOCK = 1 << 18
_IS_LOCKED, _IS_UTF8 = 0x1, 0x800
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Of the others, a block may unpack to anything at once."""
_LINKS_AND_DEVICES = {stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK}
_NO_DATE = 1980
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, OSError,
           ValueError, LookupError, RuntimeError, NotImplementedError, struct.error)  # fmt: skip
_MOST_TOLD = 20


class Unpacked(NamedTuple):
    """The files of an archive, and what of it could not be read."""

    files: list[Enclosure]
    warnings: list[str]


class _Member(NamedTuple):
    """A file in an archive, before it is read."""

    name: str
    size: int
    """As the archive says."""
    created: datetime | None
    opened: Callable[[], IO[bytes] | None]
    unread: str = ""
    """Why it cannot be."""


def unpack(data: bytes, limits: ReadingLimits) -> Unpacked:
    """Return what is in an archive; raise ``Refused`` where it is none, locked or too large."""
    found = Unpacked([], [])
    left, left_out = limits.unpacked_mb * 1_000_000, list[str]()
    try:
        for number, member in enumerate(_members(data, left), 1):
            if number > limits.members:
                raise _too_large(f"more than {limits.members:,} files in it", "members")
            if member.unread:
                left_out.append(f"{member.name} is not indexed: {member.unread}")
                continue
            try:
                read = b"".join(_blocks(member, limits, len(data), left))
            except _BROKEN as error:
                left_out.append(f"{member.name} is not indexed: it is damaged: {error}")
                continue
            left -= len(read)
            folder, _, name = member.name.rpartition("/")
            file = Enclosure(name=name, data=read, folder=folder, created=member.created)
            found.files.append(file)
    except _BROKEN as error:
        if not found.files:
            raise Refused(SkipReason.UNREADABLE, f"it cannot be unpacked: {error}") from error
        left_out.append(f"it is damaged, and read as far as it is whole: {error}")
    if left_out and not found.files:
        is_locked = left_out[0].endswith(LOCKED)
        reason = SkipReason.ENCRYPTED if is_locked else SkipReason.UNREADABLE
        raise Refused(reason, LOCKED if is_locked else left_out[0])
    more = len(left_out) - _MOST_TOLD
    found.warnings.extend(left_out[:_MOST_TOLD])
    found.warnings.extend([f"{more:,} more in it are not indexed"] * (more > 0))
    return found


def _too_large(what: str, limit: str) -> Refused:
    return Refused(SkipReason.TOO_LARGE, f"{what}; [limits] {limit}")


def _blocks(member: _Member, limits: ReadingLimits, packed: int, left: int) -> Iterator[bytes]:
    """Yield what is in a file, and refuse it before it is too much."""
    size, file = member.size, member.opened()
    read = 0
    while file is not None:
        if max(size, read) > left:
            raise _too_large("it unpacks to more", "unpacked_mb")
        check_unpacked(f"{member.name} in it", max(size, read), packed, limits)
        if not (block := file.read(_BLOCK)):
            return
        read += len(block)
        yield block


def _members(data: bytes, most: int) -> Iterator[_Member]:
    """Yield the files that a folder would show, in the order of the archive."""
    is_ignored = _ignoring()
    found = _of_zip(data) if data.startswith(b"PK") else _of_tar(data, most)
    return (member for member in found if not is_ignored(nfc(member.name)))


def _of_zip(data: bytes) -> Iterator[_Member]:
    with open_zip(data) as archive:
        for info in archive.infolist():
            created = None
            with suppress(ValueError):
                created = datetime(*info.date_time, tzinfo=UTC)
            unread = f"it is packed by method {info.compress_type}"
            unread = "" if info.compress_type in _METHODS else unread
            is_other = stat.S_IFMT(info.external_attr >> 16) in _LINKS_AND_DEVICES
            if not (is_other or info.filename.endswith("/")):
                yield _Member(
                    _zip_name(info),
                    info.file_size,
                    created if created and created.year > _NO_DATE else None,
                    partial(archive.open, info),
                    LOCKED if info.flag_bits & _IS_LOCKED else unread,
                )


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return the name of a file, which says its encoding only where that is UTF-8."""
    name = info.filename
    if not info.flag_bits & _IS_UTF8 and not name.isascii():
        with suppress(UnicodeEncodeError):
            name = FileContent(name.encode("cp437")).text
    return name.replace("\\", "/")


def _of_tar(data: bytes, most: int) -> Iterator[_Member]:
    passed = 0
    with tarfile.open(fileobj=BytesIO(data)) as archive:
        for info in archive:
            passed += info.size  # what is not wanted is unpacked to come to the next one
            if passed > most:
                raise _too_large("it unpacks to more", "unpacked_mb")
            if info.isreg():
                name = FileContent(os.fsencode(info.name)).text
                created = None
                with suppress(ValueError, OverflowError, OSError):
                    created = datetime.fromtimestamp(info.mtime, UTC) if info.mtime else None
                yield _Member(
                    name,
                    info.size,
                    created,
                    partial(archive.extractfile, info),
                )
        assert archive.fileobj is not None  # noqa: S101 - it was opened
        archive.fileobj.seek(archive.offset)
        end = archive.fileobj.read(tarfile.BLOCKSIZE)
        if len(end) < tarfile.BLOCKSIZE or any(end):  # tarfile takes that for an end, too
            raise tarfile.ReadError("its end is missing, as of a file that was cut off")


def _ignoring() -> Callable[[str], bool]:
    """Return what says whether a walk of a folder would leave a path alone."""
    decide = root_scope(()).decide

    @cache
    def is_ignored(path: str) -> bool:
        above, _, name = path.removesuffix("/").rpartition("/")
        if name == ".git" or (above and is_ignored(f"{above}/")):
            return True
        rule = decide(f"{name}/" if path.endswith("/") else name, path)
        return rule is not None and rule.ignores

    return is_ignored
