"""Dates as people write them: in front matter, and at the start of a file's name.

``parse_date`` reads ISO 8601 and its common relatives, never a form in which day and
month could be confused. A date without a time is midnight, a time without a zone is UTC.
Nothing is raised: what is not a date is ``None``.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

__all__ = ["date_in_name", "parse_date"]

_ISO = re.compile(
    r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?|(\d{2})(\d{2}))?"
    r"(?:[T ]+(\d{1,2}):?(\d{2})(?::?(\d{2})(?:[.,]\d{1,9})?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})(?:([-_.])(\d{2})(?:\2(\d{2}))?|(\d{2})(\d{2}))(?!\d)", re.ASCII
)
_YEARS = range(1900, 2200)
_LONGEST = 64


def parse_date(value: object) -> datetime | None:
    """Return the instant that *value* names, in UTC, or ``None``."""
    if isinstance(value, datetime):
        return _in_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**8:
        value = str(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    match = _ISO.fullmatch(value.strip())
    if match is None:
        return None
    year, _, month, day, short_month, short_day, hour, minute, second, zone = match.groups()
    months, days = month or short_month or 1, day or short_day or 1
    clock = (int(hour or 0), int(minute or 0), int(second or 0))
    return _instant((int(year), int(months), int(days), *clock), zone)


def date_in_name(path: str) -> datetime | None:
    """Return the date that the file's name starts with: a day or a month.

    ``2026-05-10 plan.md``, ``20260510.md`` and ``2026-05.md`` have one; a bare year may
    be any number, so it counts for nothing.
    """
    match = _IN_NAME.match(path[path.rfind("/") + 1 :])
    if match is None:
        return None
    year, _, month, day, short_month, short_day = match.groups()
    if int(year) not in _YEARS:
        return None
    return _instant((int(year), int(month or short_month), int(day or short_day or 1), 0, 0, 0))


def _instant(
    fields: tuple[int, int, int, int, int, int], zone: str | None = None
) -> datetime | None:
    try:
        moment = datetime(*fields, tzinfo=UTC)
    except ValueError:
        return None
    if zone is None or zone.upper() in {"Z", "UTC"}:
        return moment
    sign = zone[0] + zone[1:].replace(":", "")
    try:
        return _in_utc(datetime.strptime(f"{moment:%Y%m%d%H%M%S}{sign}", "%Y%m%d%H%M%S%z"))
    except ValueError:
        return None


def _in_utc(moment: datetime) -> datetime | None:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:  # a zone may lead out of the calendar
        return None
