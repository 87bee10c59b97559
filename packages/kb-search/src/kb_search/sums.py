"""Checksums of the files that an index consists of: what damage is noticed and named by.

A writer that lets go leaves ``lexical/chunks/sums.json``: of each file of both indexes and of
the vectors its size, its time and a CRC-32. One that begins sets it aside before it writes
anything, so that while one writes, or after one was killed, there is none; files that never
change are still held against the one that was set aside.

* ``look`` is what every reader pays: a ``stat`` of each file. One whose size differs is
  damaged; one with another time than the writer left it with is read through first, unless
  all have other times, as in a copy of the folder.
* ``verify`` reads everything, or as much of it as it is allowed to. What the system refuses
  to read may be whole, and is its error: a writer drops nothing for that.

What no sums are known of has tantivy's own: each of its files but two ends in a footer with
the CRC-32 of all before it.
"""

from __future__ import annotations

import errno
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["NAME", "Sum", "begin", "damage", "leave", "living", "look", "read_sums", "verify"]

NAME = "sums.json"
_BEGUN = "sums.begun.json"
_HOME = "lexical/chunks"
_VECTORS = "vectors"
_INDEXES = ("lexical/chunks", "lexical/records")
_META, _MANAGED = "meta.json", ".managed.json"
_COMPONENTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_GROWING = (".i8", ".scale", ".keys", ".dead")
_BLOCK = 1 << 22
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""Nothing is where a file was, or something else."""

_FOOTER_END = 8
_FOOTER_MAGIC = 1337
_MOST_FOOTER = 1 << 16


class Sum(NamedTuple):
    """What a writer left a file like."""

    size: int
    mtime_ns: int
    crc: int


Sums = Mapping[str, Sum]
"""By path below the data directory."""
Tell = Callable[[OSError], str]
"""Says what is wrong with a file that cannot be read."""


def read_sums(data_dir: Path, name: str = NAME) -> Sums | None:
    """Return the sums that were left; ``None`` where there are none, or none that are whole."""
    try:
        text = (data_dir / _HOME / name).read_bytes()
        crc, _, body = text.partition(b"\n")
        if int(crc) != zlib.crc32(body):
            return None
        return {path: Sum(*told) for path, told in json.loads(body).items()}
    except (OSError, ValueError, TypeError):
        return None


def look(data_dir: Path, sums: Sums) -> dict[str, str]:
    """Return what is wrong with files, by path, as far as it shows without reading them all.

    What the system refuses to read is wrong with a file, too: it cannot be answered from.
    """
    return _look(data_dir, sums, _unreadable)


def _look(data_dir: Path, sums: Sums, tell: Tell) -> dict[str, str]:
    wrong, other = {}, []
    for path, known in sums.items():
        try:
            status = (data_dir / path).stat()
        except OSError as error:
            wrong[path] = tell(error)
            continue
        if status.st_size != known.size:
            wrong[path] = f"has {status.st_size:,} bytes, not {known.size:,}"
        elif status.st_mtime_ns != known.mtime_ns:
            other.append(path)
    if len(other) + len(wrong) < len(sums):
        wrong.update(_read_through(data_dir, {path: sums[path] for path in other}, tell))
    return wrong


def verify(data_dir: Path, most_bytes: int | None = None) -> dict[str, str]:
    """Return what is wrong with files, by path, having read them.

    With *most_bytes* files that are drawn are read, so much of them, and those that differ at
    the first look. Nobody may be writing. Raises ``OSError`` for what the system refuses.
    """
    sums = read_sums(data_dir)
    if sums is None:
        return _damaged_sums(data_dir, most_bytes) | _verify_unsealed(
            data_dir, read_sums(data_dir, _BEGUN) or {}
        )
    wrong = _look(data_dir, sums, _damage)
    rest = {path: known for path, known in sums.items() if path not in wrong}
    return wrong | dict(_read_through(data_dir, _drawn(rest, most_bytes), _damage))


def damage(data_dir: Path, wrong: Mapping[str, str]) -> list[str]:
    """Return what is damaged of what is *wrong*: not vectors that somebody took away, all."""
    are_vectors = all(path.startswith(f"{_VECTORS}/") for path in wrong)
    if are_vectors and not any((data_dir / _VECTORS).glob("*")):
        return []
    return [f"{path} {what}" for path, what in wrong.items()]


def _damaged_sums(data_dir: Path, most_bytes: int | None) -> dict[str, str]:
    """Return that sums are there and damaged; a writer, who leaves new ones, drops nothing."""
    path = f"{_HOME}/{NAME}"
    is_told = most_bytes is None and (data_dir / path).exists()
    return (
        {path: "is not what was written; the next run that writes replaces it"} if is_told else {}
    )


def begin(data_dir: Path) -> None:
    """Set the sums aside: from here on files change."""
    home = data_dir / _HOME
    if (home / NAME).exists():
        (home / NAME).replace(home / _BEGUN)


def leave(data_dir: Path) -> None:
    """Leave the sums of what is there, once nothing writes any more.

    What has not changed since the last sums is not read again, and of what has grown the rest.
    """
    before = read_sums(data_dir, _BEGUN) or {}
    sums = {path: _sum_of(data_dir / path, before.get(path)) for path in living(data_dir)}
    body = json.dumps(sums, separators=(",", ":")).encode()
    home = data_dir / _HOME
    new = home / f"{NAME}.new"
    new.write_bytes(b"%d\n%b" % (zlib.crc32(body), body))
    new.replace(home / NAME)
    (home / _BEGUN).unlink(missing_ok=True)


def living(data_dir: Path) -> list[str]:
    """Return the paths of the files that the index consists of, those that are missing too.

    Raises ``OSError`` or ``ValueError`` where that cannot be read.
    """
    found = [f"{part}/{name}" for part in _INDEXES for name in _names(data_dir / part)]
    vectors = data_dir / _VECTORS
    names = sorted(path.name for path in vectors.glob("*.*.*"))
    return found + [f"vectors/{name}" for name in names if name.endswith(_GROWING)]


def _names(folder: Path) -> Iterator[str]:
    segments: list[dict[str, Any]] = json.loads((folder / _META).read_bytes())["segments"]
    yield from (_META, _MANAGED)
    for segment in segments:
        stem = str(segment["segment_id"]).replace("-", "")
        yield from (f"{stem}.{component}" for component in _COMPONENTS)
        if segment["deletes"]:
            yield f"{stem}.{int(segment['deletes']['opstamp'])}.del"


def _sum_of(path: Path, before: Sum | None) -> Sum:
    status = path.stat()
    size, time = status.st_size, status.st_mtime_ns
    if before is not None and (before.size, before.mtime_ns) == (size, time):
        return before
    grown = before is not None and path.name.endswith(_GROWING) and before.size <= size
    start, crc = (before.size, before.crc) if before is not None and grown else (0, 0)
    return Sum(size, time, _crc(path, start, size, crc))


def _crc(path: Path, start: int, end: int, crc: int = 0) -> int:
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        left = end - start
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            crc = zlib.crc32(block, crc)
            left -= len(block)
    return crc


def _drawn(sums: Sums, most_bytes: int | None) -> Sums:
    """Return all of *sums*, or some that are drawn, of at most so many bytes."""
    if most_bytes is None:
        return sums
    import random  # a reader draws nothing

    drawn, left = {}, most_bytes
    for path in random.sample(sorted(sums), len(sums)):
        if sums[path].size <= left:
            drawn[path] = sums[path]
            left -= sums[path].size
    return drawn


def _read_through(data_dir: Path, sums: Sums, tell: Tell) -> Iterator[tuple[str, str]]:
    for path, known in sums.items():
        try:
            if _crc(data_dir / path, 0, known.size) != known.crc:
                yield path, "is not what was written"
        except OSError as error:
            yield path, tell(error)


def _verify_unsealed(data_dir: Path, before: Sums) -> dict[str, str]:
    """Return what is wrong where a writer was killed, or is at it: by what never changes."""
    try:
        paths = living(data_dir)
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # nothing that can be opened, and so nothing that damage could hide in
    known = {path: before[path] for path in paths if path in before and _stays(path)}
    wrong = dict(_read_through(data_dir, known, _damage))
    footed = (path for path in paths if path not in known and _stays(path))
    return wrong | dict(_check_footers(data_dir, footed))


def _stays(path: str) -> bool:
    """Say whether a file never changes, or only grows, in what comes before that."""
    return not path.endswith((_META, _MANAGED, ".dead"))


def _check_footers(data_dir: Path, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path.endswith(_GROWING):
            continue
        try:
            length, crc = _footer(data_dir / path)
            if _crc(data_dir / path, 0, length) != crc:
                yield path, "is not what was written"
        except OSError as error:
            yield path, _damage(error)
        except (ValueError, KeyError, TypeError):
            yield path, "does not end as it should"


def _footer(path: Path) -> tuple[int, int]:
    """Return how long a file of tantivy's is without its footer, and the CRC-32 of that."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _FOOTER_END))
        end = file.read(_FOOTER_END)
        length, magic = int.from_bytes(end[:4], "little"), int.from_bytes(end[4:], "little")
        if magic != _FOOTER_MAGIC or length > min(_MOST_FOOTER, size - _FOOTER_END):
            raise ValueError("no footer")
        file.seek(size - _FOOTER_END - length)
        told = json.loads(file.read(length))
    return size - _FOOTER_END - length, int(told["crc"])


def _unreadable(error: OSError) -> str:
    missing = isinstance(error, FileNotFoundError)
    return "is missing" if missing else f"cannot be read: {error.strerror or error}"


def _damage(error: OSError) -> str:
    """Return what *error* says of a file; raise it again where it is the system that refuses."""
    if error.errno in _NO_FILE:
        return _unreadable(error)
    raise error
