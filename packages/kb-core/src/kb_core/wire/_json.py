"""JSON as it leaves the process: compact, finite, encodable, the same everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from kb_core.clock import from_epoch, to_rfc3339

__all__ = ["Json", "decimal", "dumps", "given", "timestamp", "timestamp_or_none"]

Json: TypeAlias = dict[str, Any]
"""A JSON object, ready for ``dumps``."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dumps(value: object) -> str:
    """Return *value* as JSON in one line, letters of every script as they are.

    Half a surrogate pair, which comes from file names that are not UTF-8, becomes
    U+FFFD, so that the line can always be encoded. ``ValueError`` for numbers that
    JSON does not have.
    """
    line = _ENCODER.encode(value)
    return line if line.isascii() else _LONE_SURROGATE.sub("\ufffd", line)


def decimal(number: float) -> float:
    """Return *number* with six digits after the point, and no negative zero."""
    return round(float(number), 6) + 0.0


def timestamp(moment: datetime | int) -> str:
    """Print an instant, or seconds since the epoch, as RFC 3339 with ``Z``."""
    return to_rfc3339(moment if isinstance(moment, datetime) else from_epoch(moment))


def timestamp_or_none(moment: datetime | int | None) -> str | None:
    """Print an instant that may be absent."""
    return None if moment is None else timestamp(moment)


def given(fields: Mapping[str, Any]) -> Json:
    """Return the fields that have a value: absent ones do not travel."""
    return {key: value for key, value in fields.items() if value is not None}
