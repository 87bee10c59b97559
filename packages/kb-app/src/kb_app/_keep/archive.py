"""The archive: one compressed tar file that begins with the list of what is in it.

Any ``tar`` can read it. The first member, ``manifest.json``, is archive_manifest.v1 and names
every other, in order, with its size and SHA-256, so each is held against it the moment it has
been read, and what goes wrong is said by the name of the member. Reading and writing take one
pass and a fixed amount of memory, so an archive can come out of a pipe and go into one.

An archive may come from anywhere. Of a tar file only plain members are understood, no link, no
device and no extended header; a name that leads out of its folder is refused before anything
is written, and nothing is read beyond the size that was announced.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from kb_core.errors import InvalidInput, IoError
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = [
    "ArchiveReader",
    "ArchiveWriter",
    "Member",
    "blocks_of",
    "measured",
    "tar_name",
]

MANIFEST = "manifest.json"
VERSION = "archive_manifest.v1"

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_LEVEL = 1
"""Texts in the store are compressed already; higher levels take longer and win a few percent."""
_MOST_MANIFEST = 64 * 1024 * 1024
_MOST_PADDING = 1 << 16
_MOST_NUMBER = 1 << 63
_USTAR_BYTES = 8**11
"""What a header of POSIX cannot count any more; GNU's can."""

_NOT_OURS = "this is no archive that kebab has written"
_FRESH = "export it again where it was made, or take another copy of it"


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive, and what it has to be."""

    name: str
    """Where it belongs, such as ``data/kebab.duckdb``; a path below the archive's root."""
    bytes: int
    sha256: str
    mtime_ns: int = 0


def measured(file: BinaryIO, size: int | None = None) -> tuple[int, str]:
    """Return how many bytes *file* has, of the first *size*, and their SHA-256 in hex."""
    digest, count = hashlib.sha256(), 0
    for block in blocks_of(file, size):
        digest.update(block)
        count += len(block)
    return count, digest.hexdigest()


def blocks_of(file: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    """Yield what *file* has left, *size* bytes at most, in blocks of bounded size."""
    left = size
    while left is None or left > 0:
        block = file.read(_CHUNK if left is None else min(_CHUNK, left))
        if not block:
            return
        left = None if left is None else left - len(block)
        yield block


def tar_name(name: str, number: int) -> str:
    """Return what a member is called in the tar file: a name that is too long is a number."""
    try:
        _header(name, 0, 0)
    except ValueError:
        return f"long/{number}"
    return name


class ArchiveWriter:
    """Writes an archive to *out*: ``begin``, each member in order, ``end``."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = gzip.GzipFile("", "wb", _LEVEL, out, mtime=0)
        self._number = 0

    def begin(self, manifest: Mapping[str, object]) -> None:
        """Write archive_manifest.v1."""
        data = json.dumps(manifest, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        self._write(MANIFEST, Member(MANIFEST, len(data), digest), BytesIO(data))

    def add(self, member: Member, file: BinaryIO) -> None:
        """Write a member; raise ``IoError`` where *file* is no longer what was measured."""
        self._number += 1
        self._write(tar_name(member.name, self._number), member, file)

    def end(self) -> None:
        """Write the end; what was written is whole then."""
        self._out.write(bytes(2 * _BLOCK))
        self._out.close()

    def _write(self, name: str, member: Member, file: BinaryIO) -> None:
        self._out.write(_header(name, member.bytes, member.mtime_ns))
        digest, count = hashlib.sha256(), 0
        for block in blocks_of(file, member.bytes):
            self._out.write(block)
            digest.update(block)
            count += len(block)
        if (count, digest.hexdigest()) != (member.bytes, member.sha256):
            raise IoError(
                f"{member.name!r} changed while it was exported",
                hint="run it again",
                details={"member": member.name},
            )
        self._out.write(bytes(-member.bytes % _BLOCK))


def _header(name: str, size: int, mtime_ns: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, mtime_ns // 1_000_000_000
    if size < _USTAR_BYTES:
        header = info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape")
    else:
        header = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    if len(header) != _BLOCK:
        raise ValueError(name)
    return header


class ArchiveReader:
    """Reads an archive from *stream*, which need not know how to go back.

    ``InvalidInput`` for whatever is not an archive of ours, as it was written.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._in = gzip.GzipFile(fileobj=stream, mode="rb")
        self._at = MANIFEST
        name, size = self._header() or ("", 0)
        if name != MANIFEST or size > _MOST_MANIFEST:
            raise InvalidInput(_NOT_OURS, hint=_FRESH, details={"field": "file"})
        self.manifest, self.members = _read_manifest(self._take(size))
        self._skip_padding(size)

    def walk(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        """Yield each member with its bytes, which have to be read before the next is asked for.

        Reading the last of them raises where they are not what the manifest says, and asking for
        the next after the last one where the archive does not end there.
        """
        for number, member in enumerate(self.members, 1):
            self._at = member.name
            found = self._header()
            if found is None:
                raise self._broken("is missing")
            if found != (tar_name(member.name, number), member.bytes):
                raise self._broken("is not where it has to be")
            yield member, self._checked(member)
            self._skip_padding(member.bytes)
        self._at = "the end"
        self._check_end()

    def _checked(self, member: Member) -> Iterator[bytes]:
        digest, left = hashlib.sha256(), member.bytes
        while left:
            block = self._take(min(_CHUNK, left))
            digest.update(block)
            left -= len(block)
            yield block
        if digest.hexdigest() != member.sha256:
            raise self._broken("is not what was exported: its sum is another one")

    def _header(self) -> tuple[str, int] | None:
        block = self._take(_BLOCK)
        if not any(block):
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise self._broken(f"has a damaged header ({error})") from error
        if info.type != tarfile.REGTYPE:
            raise self._broken(f"is followed or replaced by {info.name!r}, which is no plain file")
        return info.name, info.size

    def _skip_padding(self, size: int) -> None:
        self._take(-size % _BLOCK)

    def _check_end(self) -> None:
        rest = self._read(_MOST_PADDING)
        if any(rest) or len(rest) < _BLOCK or self._read(1):
            raise self._broken("is not the end: there is more than the manifest names, or less")

    def _take(self, size: int) -> bytes:
        found = self._read(size)
        if len(found) != size:
            raise self._broken("ends in the middle: the archive is cut off")
        return found

    def _read(self, size: int) -> bytes:
        try:
            return self._in.read(size)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            if self._at == MANIFEST:
                raise InvalidInput(_NOT_OURS, hint=_FRESH, details={"field": "file"}) from error
            raise self._broken(f"cannot be read: {error}") from error

    def _broken(self, what: str) -> InvalidInput:
        return InvalidInput(
            f"the archive is damaged: {self._at!r} {what}",
            hint=_FRESH,
            details={"field": "file", "member": self._at},
        )


def _read_manifest(data: bytes) -> tuple[types.ArchiveManifest, Sequence[Member]]:
    try:
        manifest: Any = json.loads(data.decode("utf-8", "surrogatepass"))
        version = manifest["schema_version"]
        if version == VERSION:
            members = tuple(_member(row) for row in manifest["members"])
            _check_counts(manifest)
            _check_names(member.name for member in members)
            return cast("types.ArchiveManifest", manifest), members
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(
            f"the archive is damaged: its list of members cannot be read ({error})",
            hint=_FRESH,
            details={"field": "file", "member": MANIFEST},
        ) from error
    raise InvalidInput(
        f"the archive is {version!r}, and this version of kebab reads {VERSION!r}",
        hint="upgrade kebab",
        details={"field": "file", "value": str(version)[:100], "known": [VERSION]},
    )


def _check_counts(manifest: Mapping[str, Any]) -> None:
    for name in ("doc_count", "chunk_count", "corpus_revision"):
        if not isinstance(manifest[name], int):
            raise TypeError(name)
    for name in ("kebab_version", "created_at", "store_id"):
        if not isinstance(manifest[name], str):
            raise TypeError(name)


def _member(row: object) -> Member:
    kinds = {"name": str, "bytes": int, "sha256": str, "mtime_ns": int}
    if not isinstance(row, dict):
        raise TypeError(f"{str(row)[:100]!r} is no member")
    found = {name: row.get(name, 0) for name in kinds}
    for name, kind in kinds.items():
        if not isinstance(found[name], kind):
            raise TypeError(f"{name} of {str(row)[:100]}")
    if not (0 <= found["bytes"] < _MOST_NUMBER and 0 <= found["mtime_ns"] < _MOST_NUMBER):
        raise ValueError(f"{found['name']!r} with a size or a time that no file has")
    return Member(**found)


def _check_names(names: Iterable[str]) -> None:
    """Refuse a name that leads elsewhere, is given twice, or is the folder of another."""
    seen: set[str] = set()
    folders: set[str] = set()
    for name in names:
        parts = name.split("/")
        if not _is_plain(name, parts):
            raise ValueError(f"{name!r} leads out of the archive")
        if name in seen:
            raise ValueError(f"{name!r} is there twice")
        seen.add(name)
        folders.update("/".join(parts[:end]) for end in range(1, len(parts)))
    if both := seen & folders:
        raise ValueError(f"{min(both)!r} is a file and a folder")


def _is_plain(name: str, parts: Sequence[str]) -> bool:
    return "\0" not in name and len(parts) > 1 and not {"", ".", ".."} & set(parts)
