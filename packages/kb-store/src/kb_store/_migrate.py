"""Migrations: numbered SQL files, applied in order, never edited once released.

What SQL cannot do is a step of ours before the file of that number.

A file brought up to date is indistinguishable from a new one. What was applied is
recorded with its hash, so a file that was written by a newer kebab, or by a
migration that was edited afterwards, is recognised and refused untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kb_core.errors import StoreCorrupt, StoreNewer
from kb_core.ids import blake2b
from kb_core.ports import Clock
from kb_core.values import dataclass
from kb_store._embeddings import quantize_halves
from kb_store._errors import CORRUPT_HINT
from kb_store._session import Record, Session, instants, integers, strings

__all__ = ["Migration", "create", "is_current", "last_migration", "migrate", "migrations"]

_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal"
_CREATE = """
CREATE TABLE migrations (
    number BIGINT NOT NULL, name VARCHAR NOT NULL, hash VARCHAR NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL
)
"""
_STEPS: Mapping[int, Callable[[Session], None]] = {4: quantize_halves}
_APPLIED = "SELECT number, name, hash FROM migrations ORDER BY number"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file."""

    number: int
    name: str
    sql: str

    @property
    def hash(self) -> str:
        """Return what a recorded migration is compared by."""
        return blake2b(self.sql.encode(), digest_size=16).hexdigest()


def migrations() -> list[Migration]:
    """Return the migrations of this version, in order."""
    return sorted(
        (
            Migration(int(file.name[1:5]), file.name, file.read_text(encoding="utf-8"))
            for file in Path(__file__).with_name("migrations").glob("*.sql")
        ),
        key=lambda migration: migration.number,
    )


def is_current(session: Session) -> bool:
    """Say whether every migration was applied; raise for a file that is not ours, or newer."""
    applied = session.records_if_any(_APPLIED)
    if applied is None:
        raise _foreign(session)
    return not _missing(applied)


def last_migration(session: Session) -> int:
    """Return the number of the newest migration that was applied."""
    return max((row["number"] for row in session.records(_APPLIED)), default=0)


def create(session: Session, clock: Clock) -> None:
    """Make a new file what every migration together makes of it, in the caller's transaction."""
    session.run(_CREATE)
    _apply(session, migrations(), clock)


def migrate(session: Session, clock: Clock) -> None:
    """Bring the file up to date, all or nothing; raise for one that is not ours, or newer."""
    applied = session.records_if_any(_APPLIED)
    if applied is None and session.rows(_TABLES):
        raise _foreign(session)
    missing = _missing(applied or [])
    if not missing:
        return
    with session.transaction():
        if applied is None:
            session.run(_CREATE)
        _apply(session, missing, clock)


def _foreign(session: Session) -> StoreCorrupt:
    return StoreCorrupt(
        f"{str(session.path)!r} is a DuckDB file, but not a store of kebab",
        hint="point storage.data_dir at another folder, or move the file away",
    )


def _missing(applied: Sequence[Record]) -> list[Migration]:
    """Return the migrations that were not applied; raise for one that is not known as it was."""
    missing = {migration.number: migration for migration in migrations()}
    newest = max(missing)
    for row in applied:
        number, name = row["number"], row["name"]
        if number not in missing:
            raise StoreNewer(
                f"the store was written by a newer kebab: it has migration {name!r}, "
                f"and this version ends at {newest}",
                hint="upgrade kebab",
                details={"migration": name, "newest_known": newest},
            )
        if row["hash"] != missing.pop(number).hash:
            raise StoreCorrupt(
                f"the store was made by another version of migration {name!r}",
                hint=CORRUPT_HINT,
                details={"migration": name},
            )
    return list(missing.values())


def _apply(session: Session, missing: Sequence[Migration], clock: Clock) -> None:
    for migration in missing:
        if step := _STEPS.get(migration.number):
            step(session)
        session.run(migration.sql)
    session.insert(
        "migrations",
        {
            "number": integers(migration.number for migration in missing),
            "name": strings(migration.name for migration in missing),
            "hash": strings(migration.hash for migration in missing),
            "applied_at": instants(clock() for _ in missing),
        },
    )
