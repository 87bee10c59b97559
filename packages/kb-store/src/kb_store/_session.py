"""The one DuckDB connection, and the few ways it is used.

* Results are fetched whole: DuckDB refuses further work while one is unfinished.
* Rows come in through Arrow only; anything else is ten to fifty times slower.
* ``use`` makes the connection one caller's at a time and translates errors, so that
  everything below it may ignore both.
* Extensions are never loaded, and the file is never opened by another descriptor:
  closing that one would drop DuckDB's lock.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from kb_core.errors import KbError
from kb_store._errors import translate_errors

__all__ = ["Row", "Session"]

Row: TypeAlias = tuple[Any, ...]

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
        """Execute *sql* and return every row."""
        connection = self._open_connection
        try:
            return connection.execute(sql, list(parameters)).fetchall()
        except BaseException:
            # An unfinished result, after an interrupt say, would block the rollback.
            with suppress(duckdb.Error):
                connection.abort()
            raise

    def mapping(self, sql: str, parameters: Sequence[object] = ()) -> dict[Any, Any]:
        """Execute *sql*, which selects two columns, and return the second by the first."""
        return dict(self.rows(sql, parameters))

    def row(self, sql: str, parameters: Sequence[object] = ()) -> Row | None:
        """Execute *sql* and return its first row, if any."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    def insert(self, sql: str, columns: Mapping[str, pa.Array]) -> None:
        """Execute *sql*, an insert that selects from ``incoming``, over *columns*."""
        connection = self._open_connection
        connection.register("incoming", pa.table(dict(columns)))
        try:
            self.run(sql)
        finally:
            connection.unregister("incoming")

    def stream(self, sql: str, size: int) -> Iterator[list[Row]]:
        """Yield the rows of *sql*, *size* at a time, beside whatever else is going on."""
        cursor = self._open_connection.cursor()
        try:
            cursor.execute("SET TimeZone = 'UTC'").fetchall()
            cursor.execute(sql)
            while rows := cursor.fetchmany(size):
                yield rows
        finally:
            cursor.close()

    @property
    def _open_connection(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            raise KbError("the store is closed")
        return self._connection
