"""The process that runs one statement: ``python -m kb_store.asked``, and nothing after it.

What is asked comes as a JSON object on standard input, and what is found goes as one to standard
output: ``columns``, ``rows`` and ``truncated``, or an ``error``. The file is attached for reading
to a database in memory, which has the views of ``views.sql`` in its schema ``kebab``; then the
door is closed: no file, no network, no extension, no setting.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from kb_core.errors import InvalidInput, KbError, NotIndexed
from kb_store._errors import translate_errors
from kb_store.query import too_long

__all__ = ["answer", "connected", "main", "told"]

Json: TypeAlias = Any

_MB = 1 << 20
_ROOM_MB = 2048
"""What libraries and threads reserve and do not use."""
_MOST_CHARS = 32 * _MB
_CONFINE = (
    "SET TimeZone = 'UTC'",
    "SET enable_progress_bar = false",  # it is drawn on standard output, where the answer goes
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_ADVICE = "\n\nPossible solutions"
"""Where DuckDB begins to name settings, which cannot be reached."""
_INSTANT = "TIMESTAMP WITH TIME ZONE"
_FAULTS_OF_THE_STATEMENT = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.NotSupportedError,
    duckdb.PermissionException,
    duckdb.DependencyException,
    duckdb.OutOfMemoryException,
)


def main() -> int:
    """Answer what standard input asks."""
    asked = json.load(sys.stdin)
    size = (_ROOM_MB + asked["memory_mb"]) * _MB
    with suppress(ValueError, OSError):  # where a system knows no such limit, the engine's stays
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    try:
        found = answer(**{**asked, "path": Path(asked["path"])})
    except KbError as error:
        said = {"hint": error.hint, "details": error.details}
        found = {"error": {"code": error.code, "message": str(error), **said}}
    sys.stdout.write(json.dumps(found))
    return 0


def answer(path: Path, sql: str, limit: int, seconds: float, memory_mb: int) -> dict[str, Json]:
    """Return what *sql* finds: ``columns``, at most *limit* ``rows``, and ``truncated``."""
    with translate_errors("query the store"), closing(connected(path, memory_mb)) as connection:
        return told(connection, sql, limit, seconds)


def connected(path: Path, memory_mb: int) -> duckdb.DuckDBPyConnection:
    """Return a connection that sees the store at *path*, and nothing else."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 2,
        "memory_limit": f"{memory_mb}MB",
        "temp_directory": "",
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        name = str(path).replace("'", "''")
        connection.execute(f"ATTACH '{name}' AS store (READ_ONLY)")
        try:
            connection.execute(files("kb_store").joinpath("views.sql").read_text("utf-8"))
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise NotIndexed(
                f"the store at {str(path)!r} is of an older version",
                hint="run 'kebab ingest': it brings it up to date",
            ) from error
        for statement in _CONFINE:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _no_longer_than(connection: duckdb.DuckDBPyConnection, seconds: float) -> Generator[None]:
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise too_long(seconds) from None
    finally:
        timer.cancel()


def told(
    connection: duckdb.DuckDBPyConnection, sql: str, limit: int, seconds: float
) -> dict[str, Json]:
    """Return what ``answer`` does, of a connection that is there."""
    with _no_longer_than(connection, seconds):
        try:
            return _told(connection, sql, limit)
        except _FAULTS_OF_THE_STATEMENT as error:
            raise InvalidInput(
                f"the statement was refused: {str(error).partition(_ADVICE)[0]}",
                hint="'kebab sql' without a statement lists views and columns",
                details={"field": "sql"},
            ) from error


def _told(connection: duckdb.DuckDBPyConnection, sql: str, limit: int) -> dict[str, Json]:
    sql.encode()  # DuckDB's own complaint about what is not text is no duckdb.Error
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise InvalidInput(
            f"one SELECT can be asked, not {kinds}",
            hint="sql only reads: SELECT, FROM, WITH, DESCRIBE, SHOW TABLES, SUMMARIZE",
            details={"field": "sql", "value": sql[:200]},
        )
    relation = connection.sql(sql)
    shown = ", ".join(_shown(n, str(kind)) for n, kind in enumerate(relation.types, 1))
    found = relation.project(shown).limit(limit + 1).fetchall()
    rows: list[list[Json]] = []
    left = _MOST_CHARS
    for row in found[:limit]:
        rows.append([_plain(value) for value in row])
        left -= len(json.dumps(rows[-1]))
        if left < 0:
            rows.pop()
            break
    return {"columns": relation.columns, "rows": rows, "truncated": len(rows) < len(found)}


def _shown(number: int, kind: str) -> str:
    """Return a column as it is fetched: DuckDB's conversion of instants wants a library."""
    if kind == _INSTANT:
        return f"#{number} AT TIME ZONE 'UTC' AS c{number}"
    return f"#{number}{'::VARCHAR' if _INSTANT in kind else ''} AS c{number}"


def _plain(value: object) -> Json:
    """Return *value* as JSON has it: instants in RFC 3339, bytes in hex, what is odd as text."""
    made: Json = str(value)
    match value:
        case None | bool() | int() | str():
            made = value
        case float() | Decimal():
            made = float(value) if math.isfinite(value) else made
        case datetime():
            made = value.replace(tzinfo=value.tzinfo or UTC).isoformat().replace("+00:00", "Z")
        case date() | time():
            made = value.isoformat()
        case bytes():
            made = value.hex()
        case list() | tuple():
            made = [_plain(item) for item in value]
        case dict():
            made = {str(name): _plain(item) for name, item in value.items()}
    return made


if __name__ == "__main__":
    sys.exit(main())
