"""The one DuckDB connection, the few ways it is used, and values at rest.

* Results are fetched whole: DuckDB refuses further work while one is unfinished.
* Rows come in as columns, a list each, that are unnested; one by one they are far slower.
* ``use`` makes the connection one caller's at a time and translates errors, so that
  everything below it may ignore both.
* Extensions are never loaded, and the file is never opened by another descriptor:
  closing that one would drop DuckDB's lock.

Instants travel as microseconds since the epoch, since DuckDB's own conversion wants a time
zone library; JSON travels as text without escapes, so that what is not Unicode is refused
instead of stored.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import _duckdb as duckdb  # without the package around it, which takes as long again

from kb_core.errors import InvalidInput, KbError
from kb_store._errors import is_damage, translate_errors

__all__ = [
    "Record",
    "Row",
    "Session",
    "blobs",
    "booleans",
    "from_json",
    "from_us",
    "instants",
    "integers",
    "lists",
    "strings",
    "to_json",
    "to_us",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Column: TypeAlias = tuple[str, Sequence[Any]]
"""How a value of it is written in SQL, and the values."""

_TEXT = "unnest(${}::VARCHAR[])"
_NUMBER = "unnest(${}::BIGINT[])"
_TRUTH = "unnest(${}::BOOLEAN[])"
_BYTES = "unnest(${}::BLOB[])"
_TEXTS = "unnest(${}::VARCHAR[][])"
_INSTANT = "make_timestamptz(unnest(${}::BIGINT[]))"


def strings(values: Iterable[str | None]) -> Column:
    """Return a column of texts."""
    return _TEXT, list(values)


def integers(values: Iterable[int | None]) -> Column:
    """Return a column of 64-bit integers."""
    return _NUMBER, list(values)


def booleans(values: Iterable[bool | None]) -> Column:
    """Return a column of truth values."""
    return _TRUTH, list(values)


def blobs(values: Iterable[bytes]) -> Column:
    """Return a column of bytes."""
    return _BYTES, list(values)


def lists(values: Iterable[Sequence[str]]) -> Column:
    """Return a column of lists of texts."""
    return _TEXTS, [list(value) for value in values]


def instants(values: Iterable[datetime | None]) -> Column:
    """Return a column of instants."""
    return _INSTANT, [to_us(value) for value in values]


def to_us(instant: datetime | None) -> int | None:
    """Return microseconds since the epoch."""
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND


def from_us(microseconds: int | None) -> datetime | None:
    """Return the instant that is *microseconds* after the epoch."""
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def to_json(value: object, what: str) -> str:
    """Return *value* as JSON; raise ``InvalidInput`` naming *what* if it has no JSON form."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what} has no JSON form: {error}") from error


def from_json(text: str | None) -> Any:  # noqa: ANN401 (JSON)
    """Return the value of JSON *text*."""
    return None if text is None else json.loads(text)


Row: TypeAlias = tuple[Any, ...]
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]
Record: TypeAlias = dict[str, Any]
"""A row by the names of its columns."""

_ROWS_AT_ONCE = 2048
"""As many as the engine has in one of its vectors."""
_LARGE_BYTES = 256 * 2**20
"""A file from which on a question is worth two threads. Below, they cost each statement a fifth
to a half more processor time, and publishing a tenth."""

_MEMORY, _LITTLE_MEMORY = "1GB", "16MB"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": _MEMORY,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    # Checkpoints happen when the caller says so, never inside a burst of commits.
    "checkpoint_threshold": "1TB",
}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _names_of(result: duckdb.DuckDBPyConnection) -> list[str]:
    return [column[0] for column in result.description or ()]


class Session:
    """A connection to the file at *path*, which is created if it is missing.

    With *readonly* nothing is written, the log of a killed process included: it is read.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self._readonly = readonly
        self._mutex = threading.RLock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self.open()

    def open(self) -> None:
        """Connect; translate what DuckDB says of the file."""
        with translate_errors(f"open the store {str(self.path)!r}"):
            config = {**_CONFIG, "threads": 2 if _size(self.path) >= _LARGE_BYTES else 1}
            self._connection = duckdb.connect(self.path, self._readonly, config)
            self.run("SET TimeZone = 'UTC'")

    def close(self) -> None:
        """Disconnect, which writes a checkpoint; closing twice is harmless."""
        with self._mutex, translate_errors("close the store"):
            if self._connection is not None:
                connection, self._connection = self._connection, None
                connection.close()

    @contextmanager
    def use(self, action: str) -> Generator[None]:
        """Keep other threads out while we *action*, and translate errors."""
        with self._mutex, translate_errors(action):
            yield

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit all that the body does, or nothing of it."""
        self.run("BEGIN TRANSACTION")
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):
                self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def let_go(self) -> None:
        """Give the system back what memory the engine keeps of the file for later."""
        with suppress(duckdb.OutOfMemoryException):  # what is in use, or not folded in, stays
            self.run(f"SET memory_limit = '{_LITTLE_MEMORY}'")
        self.run(f"SET memory_limit = '{_MEMORY}'")

    def run(self, sql: str, parameters: Parameters = ()) -> None:
        """Execute *sql* for its effect."""
        self._fetch(sql, parameters)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Execute *sql*, which selects one column or two, and return every row."""
        return self._fetch(sql, parameters)[1]

    def records(self, sql: str, parameters: Parameters = ()) -> list[Record]:
        """Execute *sql* and return every row, by the names of its columns."""
        names, rows = self._fetch(sql, parameters)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def each(self, sql: str, parameters: Parameters = ()) -> Generator[Record]:
        """Execute *sql* and yield every row, by the names of its columns, as they are taken.

        Nothing else is asked until the last one was.
        """
        with self._executed(sql, parameters) as result:
            names = _names_of(result)
            while rows := result.fetchmany(_ROWS_AT_ONCE):
                yield from (dict(zip(names, row, strict=True)) for row in rows)

    def record(self, sql: str, parameters: Parameters = ()) -> Record | None:
        """Execute *sql* and return its first row, if any, by the names of its columns."""
        found = self.records(sql, parameters)
        return found[0] if found else None

    def records_if_any(self, sql: str) -> list[Record] | None:
        """Execute *sql* as ``records``, or return ``None`` where there is no such table.

        Not in a transaction: it would be aborted. A list of all tables costs as much as opening
        the file, since DuckDB makes its own views for it.
        """
        try:
            return self.records(sql)
        except duckdb.CatalogException:
            return None

    def _fetch(self, sql: str, parameters: Parameters) -> tuple[list[str], list[Row]]:
        with self._executed(sql, parameters) as result:
            rows = result.fetchall()
        return _names_of(result), rows

    @contextmanager
    def _executed(self, sql: str, parameters: Parameters) -> Generator[duckdb.DuckDBPyConnection]:
        """Execute *sql*; what is left of its result after an error is dropped."""
        connection = self._open_connection
        try:
            yield connection.execute(sql, parameters)
        except BaseException:
            # An unfinished result, after an interrupt say, would block the rollback.
            with suppress(duckdb.Error):
                connection.abort()
            raise

    def damaged(self, sql: str, parameters: Parameters = ()) -> str | None:
        """Execute *sql*, and return what DuckDB says where it meets a damaged block."""
        try:
            self._fetch(sql, parameters)
        except duckdb.Error as error:
            if not is_damage(error):
                raise
            return str(error)
        return None

    def mapping(self, sql: str, parameters: Parameters = ()) -> dict[Any, Any]:
        """Execute *sql*, which selects two columns, and return the second by the first."""
        return dict(self.rows(sql, parameters))

    def count(self, sql: str, parameters: Parameters = ()) -> int:
        """Execute *sql*, which selects one number, and return it."""
        ((found,),) = self.rows(sql, parameters)
        return int(found)

    def insert(self, table: str, columns: Mapping[str, Column]) -> None:
        """Insert rows into *table*, given as columns of equal length."""
        wanted = ", ".join(f"{made.format(name)} AS {name}" for name, (made, _) in columns.items())
        values = {name: given for name, (_, given) in columns.items()}
        self.run(f"INSERT INTO {table} BY NAME SELECT {wanted}", values)

    def stream(self, sql: str, size: int) -> Iterator[list[Record]]:
        """Yield the rows of *sql*, *size* at a time, beside whatever else is going on."""
        cursor = self._open_connection.cursor()
        try:
            cursor.execute("SET TimeZone = 'UTC'").fetchall()
            cursor.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            while rows := cursor.fetchmany(size):
                yield [dict(zip(names, row, strict=True)) for row in rows]
        finally:
            cursor.close()

    @property
    def _open_connection(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            raise KbError("the store is closed")
        return self._connection
