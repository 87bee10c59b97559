"""The ledger at rest: one row for every file that a walk saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from kb_core.records import FileRecord, FileState
from kb_store._session import Record, Session, from_us, instants, integers, strings

__all__ = ["expired_files", "forget_files", "known_bytes", "ledger", "read_files", "write_files"]

_COLUMNS = """
source_id, path, raw_path, state, reason, detail, media, size, mtime_ns, bytes_hash,
fingerprint, doc_id, error_code, epoch_us(processed_at) AS processed_at,
epoch_us(changed_at) AS changed_at
"""
_PAIRS = "(source_id, path) IN (SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]))"
_OF_SOURCE = f"SELECT {_COLUMNS} FROM files WHERE source_id = ?"  # noqa: S608 (constants)
_READ = f"SELECT {_COLUMNS} FROM files WHERE {_PAIRS}"  # noqa: S608 (constants)
_EXPIRED = """
SELECT source_id, path FROM files WHERE state = 'deleted' AND epoch_us(changed_at) < ?
"""
_KNOWN_BYTES = """
SELECT DISTINCT bytes_hash FROM files
WHERE state <> 'deleted' AND bytes_hash IN (SELECT unnest(?::VARCHAR[]))
"""
_DELETE = f"DELETE FROM files WHERE {_PAIRS}"  # noqa: S608 (constants)

_STATES = {state.value: state for state in FileState}
_TEXTS = (
    "source_id",
    "path",
    "raw_path",
    "state",
    "reason",
    "detail",
    "media",
    "bytes_hash",
    "fingerprint",
    "doc_id",
    "error_code",
)
_Key = tuple[str, str]


def ledger(session: Session, source_id: str) -> dict[str, FileRecord]:
    """Return every row of a source, by path."""
    return {row["path"]: _file(row) for row in session.records(_OF_SOURCE, [source_id])}


def known_bytes(session: Session, hashes: Sequence[str]) -> set[str]:
    """Return those hashes that the bytes of some file have which is not deleted."""
    return {known for (known,) in session.rows(_KNOWN_BYTES, [list(hashes)])}


def read_files(session: Session, keys: Iterable[_Key]) -> list[FileRecord]:
    """Return those rows that exist, by source and path."""
    found = [_file(row) for row in session.records(_READ, _unzipped(keys))]
    return sorted(found, key=lambda file: (file.source_id, file.path))


def write_files(session: Session, files: Sequence[FileRecord]) -> list[_Key]:
    """Replace rows; return the keys of those that were not so already."""
    given = {(file.source_id, file.path): file for file in files}
    if not given:
        return []
    stored = {(file.source_id, file.path): file for file in read_files(session, given)}
    changed = {key: file for key, file in given.items() if stored.get(key) != file}
    if replaced := stored.keys() & changed.keys():
        session.run(_DELETE, _unzipped(replaced))
    if changed:
        _insert(session, list(changed.values()))
    return list(changed)


def forget_files(session: Session, keys: Iterable[_Key]) -> list[_Key]:
    """Delete rows; return the keys of those that were there."""
    wanted = list(keys)
    if not wanted:
        return []
    stored = [(file.source_id, file.path) for file in read_files(session, wanted)]
    if stored:
        session.run(_DELETE, _unzipped(stored))
    return stored


def expired_files(session: Session, before_us: int) -> list[_Key]:
    """Return the keys of files that were deleted before an instant."""
    return [(source_id, path) for source_id, path in session.rows(_EXPIRED, [before_us])]


def _unzipped(keys: Iterable[_Key]) -> list[list[str]]:
    pairs = list(keys)
    return [[source_id for source_id, _ in pairs], [path for _, path in pairs]]


def _insert(session: Session, files: Sequence[FileRecord]) -> None:
    columns = {name: strings(getattr(file, name) for file in files) for name in _TEXTS}
    columns |= {
        "size": integers(file.size for file in files),
        "mtime_ns": integers(file.mtime_ns for file in files),
        "processed_at": instants(file.processed_at for file in files),
        "changed_at": instants(file.changed_at for file in files),
    }
    session.insert("files", columns)


def _file(row: Record) -> FileRecord:
    row["state"] = _STATES[row["state"]]
    row["processed_at"] = _instant(row["processed_at"])
    row["changed_at"] = _instant(row["changed_at"])
    return FileRecord(**row)


@lru_cache(maxsize=4096)
def _instant(microseconds: int | None) -> datetime | None:
    # Files of one batch share their instants, and a ledger has 100,000 rows.
    return from_us(microseconds)
