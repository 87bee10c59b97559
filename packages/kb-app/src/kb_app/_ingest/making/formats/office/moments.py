"""Numbers that are dates, times or shares, as the format of a cell says.

A spreadsheet keeps a moment as the number of days since its epoch: that of 1900, in which 29
February 1900 counts though there was none, or that of 1904. That a number is one is said by
its format alone.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache

__all__ = ["Format", "clock", "format_of"]

_DATES = frozenset(map(str, (*range(14, 18), 22, *range(27, 32), 36, *range(50, 59))))
_TIMES = frozenset(map(str, (*range(18, 22), *range(32, 36), 45, 46, 47)))
_SHARES = frozenset({"9", "10"})
_NOT_CODE = re.compile(r'"[^"]*"|\\.|[_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]', re.IGNORECASE)
_NAMED = re.compile(r"general|standard", re.IGNORECASE)
_LAST_DAY = 2_958_466
"""The first day of the year 10000."""
_NO_LEAP_DAY = 60
_DAY_SECONDS = 86_400


class Format(Enum):
    """What a number stands for."""

    PLAIN = "plain"
    DATE = "date"
    TIME = "time"
    SHARE = "share"

    def shown(self, written: str, *, is_1904: bool = False) -> str | None:
        """Return what the number *written* shows; ``None`` where it is just a number."""
        if self is Format.PLAIN:
            return None
        try:
            value = float(written)
        except ValueError:
            return None
        if self is Format.SHARE:
            return f"{value * 100:.12g}%" if abs(value) < _LAST_DAY else None
        if not 0 <= value < _LAST_DAY:
            return None
        if self is Format.TIME:
            return clock(round(value * _DAY_SECONDS))
        return _date(value, is_1904=is_1904)


@lru_cache(maxsize=1024)
def format_of(number: str, code: str = "") -> Format:
    """Return what numbers are that are shown by *code*, or by a format that all programs know."""
    if code:
        return _format_of_code(code)
    if number in _DATES:
        return Format.DATE
    if number in _TIMES:
        return Format.TIME
    return Format.SHARE if number in _SHARES else Format.PLAIN


def _format_of_code(code: str) -> Format:
    bare = _NOT_CODE.sub("", code.partition(";")[0]).lower()
    if _NAMED.search(bare):
        return Format.PLAIN
    has_clock = "h" in bare or "s" in bare
    if "y" in bare or "d" in bare or ("m" in bare and not has_clock):
        return Format.DATE
    if has_clock:
        return Format.TIME
    return Format.SHARE if bare.rstrip().endswith("%") else Format.PLAIN


def _date(value: float, *, is_1904: bool) -> str | None:
    """Return a day, and the time of it where it is not midnight; none beyond the calendar."""
    days, rest = divmod(round(value * _DAY_SECONDS), _DAY_SECONDS)
    # A day is a day in every zone.
    first = (1904, 1, 1) if is_1904 else (1899, 12, 30 + (days < _NO_LEAP_DAY))
    epoch = datetime(*first)  # noqa: DTZ001
    try:
        day = (epoch + timedelta(days=days)).strftime("%Y-%m-%d")
    except OverflowError:
        return None
    return f"{day} {clock(rest)}" if rest else day


def clock(seconds: int) -> str:
    """Return a time, or how long something lasts, in hours and minutes, and seconds if any."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}" if rest else f"{hours:02}:{minutes:02}"
