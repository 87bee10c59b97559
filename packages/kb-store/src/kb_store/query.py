"""Questions in SQL: a store read as it is, by somebody who knows what to ask.

The file is opened for reading alone, and nothing but the file: no other file, no
extension and no setting can be reached from the statement. A writer at work keeps
it closed, hence ``StoreBusy``; what is wrong with the statement is ``InvalidInput``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import _duckdb as duckdb  # without the package around it, which takes as long again

from kb_core.errors import InvalidInput, NotIndexed
from kb_core.values import dataclass
from kb_store._errors import translate_errors

__all__ = ["QueryResult", "query"]

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "1GB",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
}
_CONFINE = (
    "SET TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_INSTANT = "TIMESTAMP WITH TIME ZONE"
_FAULTS_OF_THE_STATEMENT = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.NotSupportedError,
    duckdb.PermissionException,
    duckdb.DependencyException,
)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows under their columns; instants are aware and in UTC."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    """Whether there were more rows than were asked for."""


def query(path: Path, sql: str, limit: int) -> QueryResult:
    """Return at most *limit* rows of *sql* over the store at *path*."""
    if not path.exists():
        raise NotIndexed(f"there is no store at {str(path)!r}", hint="run 'kebab ingest'")
    with translate_errors("query the store"), _connected(path) as connection:
        try:
            return _result(connection, sql, limit)
        except _FAULTS_OF_THE_STATEMENT as error:
            raise InvalidInput(f"the statement was refused: {error}") from error


@contextmanager
def _connected(path: Path) -> Generator[duckdb.DuckDBPyConnection]:
    import duckdb  # the whole package, which gives connections what makes relations of SQL

    connection = duckdb.connect(path, read_only=True, config=_CONFIG)
    try:
        for statement in _CONFINE:
            connection.execute(statement).fetchall()
        yield connection
    finally:
        connection.close()


def _result(connection: duckdb.DuckDBPyConnection, sql: str, limit: int) -> QueryResult:
    sql.encode()  # DuckDB's own complaint about what is not text is no duckdb.Error
    relation = connection.sql(sql)
    if relation is None:
        raise InvalidInput("the statement asks for nothing")
    shown = ", ".join(_shown(n, str(kind)) for n, kind in enumerate(relation.types, 1))
    rows = relation.project(shown).limit(limit + 1).fetchall()
    found = tuple(map(_aware, rows[:limit]))
    return QueryResult(tuple(relation.columns), found, len(rows) > limit)


def _shown(number: int, kind: str) -> str:
    """Return a column as it is fetched: DuckDB's conversion of instants wants a library."""
    if kind == _INSTANT:
        return f"#{number} AT TIME ZONE 'UTC' AS c{number}"
    return f"#{number}{'::VARCHAR' if _INSTANT in kind else ''} AS c{number}"


def _aware(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row)
