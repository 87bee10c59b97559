"""Errors on the wire."""

from __future__ import annotations

from kb_core.errors import KbError
from kb_core.wire._json import Json, dumps

__all__ = ["error"]

_BUG_HINT = "this is a bug in kebab: please report it, with the output of --verbose"


def error(failure: BaseException) -> Json:
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


def _error(code: str, message: str, hint: str | None, details: Json) -> Json:
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
