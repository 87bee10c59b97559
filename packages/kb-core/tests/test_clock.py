"""Instants: printed, parsed, counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from kb_core.clock import from_epoch, parse_rfc3339, to_epoch, to_rfc3339, utc_now
from kb_core.testing.fakes import fixed_clock

zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
instants = st.datetimes(timezones=zones).filter(lambda i: 1 < i.year < 9999)


@given(instants)
def test_printing_and_parsing_agree_to_the_second(instant: datetime) -> None:
    printed = to_rfc3339(instant)

    assert printed.endswith("Z")
    assert len(printed) == 20
    assert parse_rfc3339(printed) == instant.astimezone(UTC).replace(microsecond=0)


@given(instants)
def test_seconds_since_the_epoch_round_down(instant: datetime) -> None:
    assert from_epoch(to_epoch(instant)) == instant.astimezone(UTC).replace(microsecond=0)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-05-10", datetime(2026, 5, 10, tzinfo=UTC)),
        (" 2026-05-10T12:00:00 ", datetime(2026, 5, 10, 12, tzinfo=UTC)),
        ("2026-05-10T12:00:00+09:00", datetime(2026, 5, 10, 3, tzinfo=UTC)),
        ("2026-05-10t12:00:00z", datetime(2026, 5, 10, 12, tzinfo=UTC)),
        ("2026-05-10T12:00:00.5Z", datetime(2026, 5, 10, 12, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_timestamps_and_dates_are_read(text: str, instant: datetime) -> None:
    assert parse_rfc3339(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2026-13-01", "0001-01-01T00:00:00+09:00"),
        *("2026-05-10+01:00", "2026-05-10-01:00", "2026-05-10x10:00", "2026-05-10110:00"),
    ],
)
def test_anything_else_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the promise is no more than that
        parse_rfc3339(text)


def test_the_present_is_in_utc_and_a_fixed_clock_stands_still() -> None:
    clock = fixed_clock("2026-01-02T03:04:05Z")

    assert utc_now().utcoffset() == timedelta(0)
    assert clock() == clock() == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
