"""JSON as it leaves the process: compact, finite, encodable, the same everywhere; and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_core.clock import from_epoch, to_rfc3339
from kb_core.errors import KbError

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["Json", "decimal", "dumps", "error", "given", "timestamp", "timestamp_or_none"]

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


_BUG_HINT = "this is a bug in kebab: please report it, with the output of --verbose"


def error(failure: BaseException) -> types.Error:
    """Return error.v1 for whatever was raised; never a traceback.

    An exception that is not a ``KbError`` is a bug, says so, and asks for a report.
    """
    if isinstance(failure, KbError):
        hint = failure.hint
        if hint is None and failure.code == KbError.code:
            hint = _BUG_HINT
        return _error(failure.code, str(failure), hint, failure.details)
    first_line = next(iter(str(failure).splitlines()), "")
    name = type(failure).__name__
    message = f"unexpected {name}: {first_line}" if first_line else f"unexpected {name}"
    return _error(KbError.code, message, _BUG_HINT, {"exception": name})


def _error(code: str, message: str, hint: str | None, details: Json) -> types.Error:
    return {
        "schema_version": "error.v1",
        "code": code,
        "message": message,
        "hint": hint,
        "details": _sendable(details),
    }


def _sendable(details: Json) -> Json:
    """Return *details*, as text where it is not JSON: reporting an error must not fail."""
    try:
        dumps(details)
    except (TypeError, ValueError):
        return {str(key): str(value) for key, value in details.items()}
    return details
