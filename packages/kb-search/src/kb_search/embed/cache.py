"""Derived files, made once: what is costly to compute from a model's weights.

An *artefact* is a folder ``cache_dir/<key>`` of files that depend on nothing but the key,
and a record of their sizes, times and hashes, written last. Promises:

* A reader sees a whole artefact or none: every file is renamed into place, the record at
  the end. Several processes may make one at once; they write the same bytes.
* Damage is noticed. A file of another size is damaged; one of another time is hashed,
  and damaged if the hash differs. A damaged artefact is made again.
* A cache that cannot be written, full or read-only, costs time, never an answer: the
  files then stay in memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Artefact", "load_artefact"]

logger = logging.getLogger(__name__)

_RECORD = "prepared.json"


@dataclass(frozen=True, slots=True)
class Artefact:
    """The files of an artefact: in *directory*, or if that is ``None``, in *files*."""

    directory: Path | None
    files: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, name: str) -> memoryview:
        """Return the contents of a file; from a directory they are mapped, not copied."""
        if self.directory is None:
            return memoryview(self.files[name])
        with (self.directory / name).open("rb") as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def load_artefact(cache_dir: Path, key: str, build: Callable[[], Mapping[str, bytes]]) -> Artefact:
    """Return the artefact of *key*; where there is no sound one, *build* its files."""
    directory = cache_dir / key
    if _is_sound(directory):
        return Artefact(directory)
    files = build()
    try:
        _publish(directory, files)
    except OSError as error:
        logger.warning("model files stay in memory, %s cannot be written: %s", directory, error)
        return Artefact(None, files)
    return Artefact(directory)


def _is_sound(directory: Path) -> bool:
    try:
        record = json.loads((directory / _RECORD).read_bytes())
        return all(_is_file_sound(directory / name, *entry) for name, entry in record.items())
    except (OSError, ValueError, TypeError, AttributeError):
        return False  # absent, or damaged in whatever way


def _is_file_sound(file: Path, size: int, mtime_ns: int, sha256: str) -> bool:
    status = file.stat()
    if status.st_size != size:
        return False
    if status.st_mtime_ns == mtime_ns:
        return True
    with file.open("rb") as stream:
        sound = hashlib.file_digest(stream, "sha256").hexdigest() == sha256
    if sound:
        _set_time(file, mtime_ns)
    return sound


def _set_time(file: Path, mtime_ns: int) -> None:
    # A copied cache has other times; without this, it would be hashed at every start.
    try:
        os.utime(file, ns=(mtime_ns, mtime_ns))
    except OSError:
        logger.debug("the time of %s cannot be set", file)


def _publish(directory: Path, files: Mapping[str, bytes]) -> None:
    for missing in reversed([p for p in (directory, *directory.parents) if not p.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    record: dict[str, tuple[int, int, str]] = {}
    for name, content in files.items():
        mtime_ns = _write(directory / name, content)
        record[name] = (len(content), mtime_ns, hashlib.sha256(content).hexdigest())
    _write(directory / _RECORD, json.dumps(record).encode())


def _write(file: Path, content: bytes) -> int:
    """Put *content* in place of *file* in one step; return the file's time (ns)."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        mtime_ns = temporary.stat().st_mtime_ns
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
    return mtime_ns
