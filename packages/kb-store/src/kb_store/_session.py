"""The one DuckDB connection, the few ways it is used, and values at rest.

* Results are fetched whole: DuckDB refuses further work while one is unfinished.
* Rows come in through Arrow only; anything else is ten to fifty times slower.
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

import duckdb
import pyarrow as pa

from kb_core.errors import InvalidInput, KbError
from kb_store._errors import translate_errors

__all__ = [
    "Record",
    "Row",
    "Session",
    "blobs",
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
# 64-bit offsets: one batch may hold more than 2 GB of text.
_STRING = pa.large_string()
_BLOB = pa.large_binary()
_LIST = pa.list_(pa.large_string())
_INSTANT = pa.timestamp("us", "UTC")


def strings(values: Iterable[str | None]) -> pa.Array:
    """Return a column of texts."""
    return pa.array(list(values), _STRING)


def integers(values: Iterable[int | None]) -> pa.Array:
    """Return a column of 64-bit integers."""
    return pa.array(list(values), pa.int64())


def blobs(values: Iterable[bytes]) -> pa.Array:
    """Return a column of bytes."""
    return pa.array(list(values), _BLOB)


def lists(values: Iterable[Sequence[str]]) -> pa.Array:
    """Return a column of lists of texts."""
    return pa.array([list(value) for value in values], _LIST)


def instants(values: Iterable[datetime | None]) -> pa.Array:
    """Return a column of instants."""
    return pa.array([to_us(value) for value in values], _INSTANT)


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
Record: TypeAlias = dict[str, Any]
"""A row by the names of its columns."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "1GB",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    # Checkpoints happen when the caller says so, never inside a burst of commits.
    "checkpoint_threshold": "1TB",
}


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
            self._connection = duckdb.connect(self.path, self._readonly, _CONFIG)
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

    def run(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Execute *sql* for its effect."""
        self.rows(sql, parameters)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Execute *sql*, which selects one column or two, and return every row."""
        return self._fetch(sql, parameters)[1]

    def records(self, sql: str, parameters: Sequence[object] = ()) -> list[Record]:
        """Execute *sql* and return every row, by the names of its columns."""
        names, rows = self._fetch(sql, parameters)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def record(self, sql: str, parameters: Sequence[object] = ()) -> Record | None:
        """Execute *sql* and return its first row, if any, by the names of its columns."""
        found = self.records(sql, parameters)
        return found[0] if found else None

    def _fetch(self, sql: str, parameters: Sequence[object]) -> tuple[list[str], list[Row]]:
        connection = self._open_connection
        try:
            rows = connection.execute(sql, list(parameters)).fetchall()
        except BaseException:
            # An unfinished result, after an interrupt say, would block the rollback.
            with suppress(duckdb.Error):
                connection.abort()
            raise
        return [column[0] for column in connection.description or ()], rows

    def mapping(self, sql: str, parameters: Sequence[object] = ()) -> dict[Any, Any]:
        """Execute *sql*, which selects two columns, and return the second by the first."""
        return dict(self.rows(sql, parameters))

    def count(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Execute *sql*, which selects one number, and return it."""
        ((found,),) = self.rows(sql, parameters)
        return int(found)

    def insert(self, sql: str, columns: Mapping[str, pa.Array]) -> None:
        """Execute *sql*, an insert that selects from ``incoming``, over *columns*."""
        connection = self._open_connection
        connection.register("incoming", pa.table(dict(columns)))
        try:
            self.run(sql)
        finally:
            connection.unregister("incoming")

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
