"""Values at rest: Arrow columns from Python values, and back.

Instants travel as microseconds since the epoch, since DuckDB's own conversion wants
a time zone library; JSON travels as text without escapes, so that what is not
Unicode is refused instead of stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from kb_core.errors import InvalidInput

__all__ = [
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
