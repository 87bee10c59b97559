"""Dates in front matter and at the start of names."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from kb_app._ingest.making.metadata import date_in_name, parse_date


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-10", datetime(2026, 5, 10, tzinfo=UTC)),
        ("2026/5/1", datetime(2026, 5, 1, tzinfo=UTC)),
        ("20260510", datetime(2026, 5, 10, tzinfo=UTC)),
        (20260510, datetime(2026, 5, 10, tzinfo=UTC)),
        ("2026-05", datetime(2026, 5, 1, tzinfo=UTC)),
        (2026, datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-05-10 12:34", datetime(2026, 5, 10, 12, 34, tzinfo=UTC)),
        ("2026-05-10T12:34:56.789Z", datetime(2026, 5, 10, 12, 34, 56, tzinfo=UTC)),
        ("2026-05-10T00:30:00+09:00", datetime(2026, 5, 9, 15, 30, tzinfo=UTC)),
        (date(2026, 5, 10), datetime(2026, 5, 10, tzinfo=UTC)),
        (datetime(2026, 5, 10, 1), datetime(2026, 5, 10, 1, tzinfo=UTC)),  # noqa: DTZ001
        (
            datetime(2026, 5, 10, tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 5, 9, 22, tzinfo=UTC),
        ),
        ("10.05.2026", None),
        ("05/10/2026", None),
        ("2026-02-30", None),
        ("2026-05-10T25:00", None),
        ("0000-01-01", None),
        ("0001-01-01T00:00+14:00", None),
        ("soon", None),
        ("", None),
        (True, None),
        (None, None),
        ([2026], None),
    ],
)
def test_dates_as_people_write_them(value: object, expected: datetime | None) -> None:
    assert parse_date(value) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("notes/2026-05-10 plan.md", datetime(2026, 5, 10, tzinfo=UTC)),
        ("2026-05-10.md", datetime(2026, 5, 10, tzinfo=UTC)),
        ("2026_05_10_plan.md", datetime(2026, 5, 10, tzinfo=UTC)),
        ("20260510.md", datetime(2026, 5, 10, tzinfo=UTC)),
        ("20260510T1200 x.md", datetime(2026, 5, 10, tzinfo=UTC)),
        ("2026-05.md", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026.md", None),
        ("202605101.md", None),
        ("plan 2026-05-10.md", None),
        ("2026-05-10/plan.md", None),
        ("2026-13-10.md", None),
        ("1234-56.md", None),
    ],
)
def test_dates_at_the_start_of_names(path: str, expected: datetime | None) -> None:
    assert date_in_name(path) == expected
