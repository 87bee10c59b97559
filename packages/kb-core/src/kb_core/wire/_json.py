"""JSON as it leaves the process: compact, finite, encodable, the same everywhere; and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_core.clock import from_epoch, to_rfc3339
from kb_core.errors import KbError

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["Json", "decimal", "dumps", "error", "given", "timestamp", "timestamp_or_none"]

Json: TypeAlias = dict[str, Any]
"""A JSON object, ready for ``dumps``."""

_HIDDEN = (
    "\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b"
    "\u200e-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f\U000f0000-\U000ffffd\U00100000-\U0010fffd"
)
"""What a terminal obeys or does not show: controls, formatting but for joiners, private use,
breaks of lines and paragraphs. ``kb_app.shown.is_hidden`` is the rule that it spells out."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dumps(value: object) -> str:
    r"""Return *value* as JSON in one line, letters of every script as they are.

    What a terminal would obey or not show is an escape, such as ``\u009b``: the line may end
    up on one. Half a surrogate pair, which comes from file names that are not UTF-8, becomes
    U+FFFD, so that the line can always be encoded. ``ValueError`` for numbers that JSON does
    not have.
    """
    line = _ENCODER.encode(value)
    if line.isascii() and "\x7f" not in line:
        return line
    return _unshown().sub(_escaped, line)


@cache
def _unshown() -> re.Pattern[str]:
    return re.compile(f"[{_HIDDEN}\ud800-\udfff]")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xD800 <= code < 0xE000:  # noqa: PLR2004 - half a surrogate pair
        return "\ufffd"
    return json.dumps(found[0])[1:-1] if code != ord("\x7f") else "\\u007f"


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


_REMARKS = ("degraded", "warnings")
_SAID = ("message", "hint", "detail", "summary")
_WITHIN = ("response", "error", "results", "items", "checks", "variants", "files", "file")
"""Where an object has others that say something of themselves."""


def reworded(body: Mapping[str, Any], word: Callable[[str], str]) -> dict[str, Any]:
    """Return a wire object whose own remarks, reasons and hints are as *word* puts them.

    What it tells of documents stays to the letter.
    """
    told = dict(body)
    for name in _REMARKS:
        if isinstance(remarks := told.get(name), list):
            told[name] = [word(one) if isinstance(one, str) else one for one in remarks]
    for name in _SAID:
        if isinstance(said := told.get(name), str):
            told[name] = word(said)
    for name in _WITHIN:
        inner = told.get(name)
        if isinstance(inner, Mapping):
            told[name] = reworded(inner, word)
        elif isinstance(inner, list):
            told[name] = [reworded(one, word) if isinstance(one, Mapping) else one for one in inner]
    return told


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
