"""Assets: the bytes of documents that exist nowhere else, below ``assets/``.

An asset is called by the hash of its bytes, so it never changes; it is written whole before
the store commits what refers to it. What its bytes do not tell, because it was given along
with them, a suffix says: the medium, and the most that the document is trusted.

Beside the assets stands a record of each document that was added: its key, its asset, its
title and time. These records are the truth of what was added, and the store follows them: it
is built again from them where it is lost, older, or of a run that was killed. A record is
written before anything else, of a removal, too. So only bytes go that a command named,
to replace or to remove them; bytes that no record knows stay, and a run says so. Only the
holder of the writer lock writes here.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from kb_core.control import ADDED_SOURCE
from kb_core.disk import disk_errors, disk_hint
from kb_core.errors import IoError
from kb_core.ids import bytes_hash, doc_id
from kb_core.media import Media, TrustLevel
from kb_core.text import read_json
from kb_core.values import as_dict, dataclass, lazy_pattern, replace

__all__ = ["Added", "Assets", "asset_name", "given_medium", "given_trust", "read_record"]

_SUFFIXES = {Media.MARKDOWN: ".md", Media.TEXT: ".txt"}
_MEDIA = {suffix: medium for medium, suffix in _SUFFIXES.items()}
_LIMITS = (TrustLevel.SECONDARY, TrustLevel.GENERATED)
_OURS = lazy_pattern(r"[0-9a-f]{32}(?:\.secondary|\.generated)?(?:\.md|\.txt)?")
_UNFINISHED = ".new"
_RECORD = ".json"
_SUM = "sum"
_KEPT_NS = 90 * 86_400 * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """The record of one document that was added, or was and is not any more."""

    key: str
    """Its path in the source of what was added."""
    asset: str
    title: str | None = None
    """A title that was given along with the bytes."""
    size: int
    mtime_ns: int
    recorded_ns: int
    """When this was written."""
    is_removed: bool = False
    replaces: tuple[str, ...] = ()
    """Assets that this one, or its removal, is instead of; they are yet to be deleted."""

    @property
    def assets(self) -> tuple[str, ...]:
        """Return what it is made of; else, where those bytes never arrived, what they replace."""
        return () if self.is_removed else (self.asset, *self.replaces)


def asset_name(
    data: bytes, medium: Media | None = None, trust: TrustLevel = TrustLevel.PRIMARY
) -> str:
    """Return the name of the asset that holds *data*; *medium* and *trust* if those were given."""
    limit = f".{trust}" if trust in _LIMITS else ""
    return bytes_hash(data) + limit + (_SUFFIXES[medium] if medium is not None else "")


def given_medium(name: str) -> Media | None:
    """Return the medium that was given with the bytes of an asset, if one was."""
    _, dot, suffix = name.rpartition(".")
    return _MEDIA.get(dot + suffix)


def given_trust(name: str | None) -> TrustLevel:
    """Return the most that the document is trusted; ``None`` names no asset, and sets no limit."""
    parts = (name or "").split(".")
    return next((level for level in _LIMITS if level in parts), TrustLevel.PRIMARY)


class Assets:
    """The folder of assets of a data directory, there yet or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, name: str, size: int) -> bool:
        """Say whether an asset is there, and of the size that it should have."""
        try:
            return (self.folder / name).stat().st_size == size
        except OSError:
            return False

    def is_whole(self, name: str) -> bool:
        """Say whether an asset is what its name says; it is read through."""
        return _is_what_it_is_called(self.folder / name)

    def place_of(self, key: str) -> Path:
        """Return where the record of a key is, there or not."""
        return self.folder / f"{doc_id(ADDED_SOURCE, key)}{_RECORD}"

    def damaged(self) -> list[str]:
        """Return what is wrong with assets and records, each read through."""
        problems = [
            f"{record.asset}, of {record.key!r}, is missing or cut off"
            for record in self.records().values()
            if not record.is_removed and not self.has(record.asset, record.size)
        ]
        for path in sorted(self.folder.glob("*")):
            if path.suffix == _RECORD and _read(path) is None:
                problems.append(f"the record {path.name} cannot be read")
            elif _OURS.fullmatch(path.name) and not _is_what_it_is_called(path):
                problems.append(f"{path.name} is not what was kept")
        return problems

    def keep(self, name: str, data: bytes) -> None:
        """Write an asset, so that it is there whole and durable, or not at all."""
        target = self.folder / name
        try:
            if self.has(name, len(data)) and target.read_bytes() == data:
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = target.with_name(f"{name}{_UNFINISHED}")
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(target)
            _sync_folder(self.folder)
        except OSError as error:
            reason = error.strerror or str(error)
            raise IoError(
                f"cannot keep an asset in {str(self.folder)!r}: {reason}",
                hint=disk_hint(error.errno),
            ) from error

    def records(self) -> dict[str, Added]:
        """Return the record of each key; one that cannot be read is left out, and stays."""
        found = (_read(path) for path in sorted(self.folder.glob(f"*{_RECORD}")))
        return {record.key: record for record in found if record is not None}

    def record(self, added: Added) -> None:
        """Write what is known of a key, in place of what was."""
        before = self.records_of(added.key)
        if before is not None:
            older = dict.fromkeys((*before.replaces, before.asset, *added.replaces))
            still = () if added.is_removed else (added.asset,)
            added = replace(added, replaces=tuple(name for name in older if name not in still))
        self._write(added)

    def records_of(self, key: str) -> Added | None:
        """Return the record of one key, if there is one that can be read.

        What the disk refuses is an ``IoError``: taken for none, it would come back, replaced or
        forgotten, as soon as the disk gives it again.
        """
        with disk_errors("read what was added"), suppress(FileNotFoundError):
            return read_record(self.place_of(key).read_bytes())
        return None

    def sweep(self, used: Collection[str], now_ns: int) -> list[str]:
        """Delete what commands replaced or removed; return the assets that nobody knows.

        *used* are assets that something indexed is made of.
        """
        records = self.records()
        named = {record.asset for record in records.values() if not record.is_removed} | {*used}
        for record in records.values():
            if not record.is_removed and not self.has(record.asset, record.size):
                continue  # its bytes never arrived: those they were to replace are all there is
            removed = (record.asset,) if record.is_removed else ()
            left = [n for n in (*record.replaces, *removed) if not self._delete(n, unless=named)]
            if record.is_removed and not left and now_ns - record.recorded_ns > _KEPT_NS:
                self.place_of(record.key).unlink(missing_ok=True)
            elif record.replaces and not left:
                self._write(replace(record, replaces=()))
        unknown = []
        for path in sorted(self.folder.glob("*")):
            if path.name.endswith(_UNFINISHED) and _OURS.match(path.name):
                path.unlink(missing_ok=True)  # bytes of a run that was killed: not all of them
            elif _OURS.fullmatch(path.name) and path.name not in named:
                unknown.append(path.name)
        return unknown

    def erase(self, key: str, *, unless: Collection[str]) -> None:
        """Delete the record of a key and the bytes that it named, but what another one names.

        *unless* are assets that something indexed is made of.
        """
        record = self.records_of(key)
        if record is None:
            return
        others = {other.asset for other in self.records().values() if other.key != key}
        for name in (record.asset, *record.replaces):
            self._delete(name, unless={*others, *unless})
        with disk_errors("forget what was added"):
            self.place_of(key).unlink(missing_ok=True)

    def are_settled(self, used: Collection[str]) -> bool:
        """Say whether ``sweep`` would do nothing, and return nothing."""
        records = self.records()
        named = {record.asset for record in records.values()} | {*used}
        return not any(r.replaces or r.is_removed for r in records.values()) and not any(
            path.name not in named and _OURS.match(path.name) and path.suffix != _RECORD
            for path in self.folder.glob("*")
        )

    def _delete(self, name: str, *, unless: Collection[str]) -> bool:
        """Delete an asset that is in nobody's use; say whether it needs no more looking after."""
        if name in unless or not _OURS.fullmatch(name):
            return True
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError:
            return False  # the next run tries again
        return True

    def _write(self, added: Added) -> None:
        told = as_dict(added)
        text = json.dumps({**told, _SUM: _sum_of(told)})
        self.keep(self.place_of(added.key).name, text.encode())


def _read(path: Path) -> Added | None:
    try:
        return read_record(path.read_bytes())
    except OSError:
        return None


def read_record(data: bytes) -> Added | None:
    """Return the record that *data* is, or ``None`` if it is none, or damaged."""
    try:
        told = read_json(data)
        if told.pop(_SUM, None) not in {None, _sum_of(told)}:  # one of before has none
            return None
        return Added(**{**told, "replaces": tuple(told["replaces"])})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _sum_of(told: Mapping[str, object]) -> int:
    return zlib.crc32(json.dumps(told, sort_keys=True).encode())


def _is_what_it_is_called(path: Path) -> bool:
    try:
        return bytes_hash(path.read_bytes()) == path.name.partition(".")[0]
    except OSError:
        return False


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
