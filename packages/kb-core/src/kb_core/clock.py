"""Time: the only place that asks the system what time it is.

Instants are aware ``datetime`` values in UTC; on the wire they are RFC 3339
with ``Z``; in the index they are whole seconds since the epoch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["clamp_ns", "from_epoch", "parse_rfc3339", "to_epoch", "to_rfc3339", "utc_now"]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


def to_epoch(instant: datetime) -> int:
    """Return whole seconds since 1970-01-01T00:00:00Z, rounded down."""
    # Not timestamp(): a float loses microseconds of far years, and rounds up.
    return (instant - _EPOCH) // timedelta(seconds=1)


def clamp_ns(nanoseconds: int) -> int:
    """Return the nearest time that 64 bits hold, from 1677 to 2262: file systems know others."""
    return max(-(2**63), min(nanoseconds, 2**63 - 1))


def from_epoch(seconds: int) -> datetime:
    """Return the instant that is *seconds* after 1970-01-01T00:00:00Z."""
    return datetime.fromtimestamp(seconds, UTC)


def to_rfc3339(instant: datetime) -> str:
    """Print *instant* as RFC 3339 in UTC with ``Z``, to the second."""
    # Not strftime: its %Y does not pad the years before 1000 everywhere.
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def parse_rfc3339(text: str) -> datetime:
    """Read an RFC 3339 timestamp or an ISO date; a missing offset means UTC.

    Raises ``ValueError`` for anything else.
    """
    given = text.strip().upper()
    rest = given.lstrip("0123456789-W")
    if rest and rest[0] not in "T ":  # to Python, +01:00 behind a date is one o'clock
        raise ValueError(f"{text!r} is no RFC 3339 timestamp and no ISO date")
    instant = datetime.fromisoformat(given)
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"timestamp {text!r} is outside the years 1 to 9999 in UTC") from error
