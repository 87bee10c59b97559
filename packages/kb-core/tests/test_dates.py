"""Dates that questions and titles name."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kb_core.dates import date_of_title, dates_in, with_months, without

TODAY = date(2026, 11, 23)
"""A Monday."""


def day(text: str) -> date:
    return date.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "first", "last", "rest"),
    [
        ("what was said on 8 May, 2023?", "2023-05-08", "2023-05-08", "what was said?"),
        ("painting of October 13th, 2023", "2023-10-13", "2023-10-13", "painting"),
        ("donations in December 2023", "2023-12-01", "2023-12-31", "donations"),
        ("notes 2024-02 otters", "2024-02-01", "2024-02-29", "notes otters"),
        ("log of 2023-05-08", "2023-05-08", "2023-05-08", "log"),
        ("otters in May", "2026-05-01", "2026-05-31", "otters"),
        ("otters in December", "2025-12-01", "2025-12-31", "otters"),
        ("revenue in 2022", "2022-01-01", "2022-12-31", "revenue"),
        ("what did we decide last week", "2026-11-16", "2026-11-22", "what did we decide"),
        ("done this month", "2026-11-01", "2026-11-30", "done"),
        ("trips two years ago", "2024-01-01", "2024-12-31", "trips"),
        ("seen yesterday", "2026-11-22", "2026-11-22", "seen"),
        ("since May 2023 otters", "2023-05-01", "2026-11-23", "otters"),
        ("otters before 10 April 2023", "2023-03-10", "2023-04-10", "otters"),
        ("Otter im Mai 2023", "2023-05-01", "2023-05-31", "Otter"),
        ("Protokoll letzte Woche", "2026-11-16", "2026-11-22", "Protokoll"),
        ("notas de la semana pasada", "2026-11-16", "2026-11-22", "notas de"),
        ("어제 회의에서 정한 것", "2026-11-22", "2026-11-22", "회의에서 정한 것"),
        ("2023년 5월 8일 회의", "2023-05-08", "2023-05-08", "회의"),
        ("先週の会議", "2026-11-16", "2026-11-22", "の会議"),
        ("昨日の会議", "2026-11-22", "2026-11-22", "の会議"),
        ("今天的会议", "2026-11-23", "2026-11-23", "的会议"),
        ("어제는 비", "2026-11-22", "2026-11-22", "는 비"),
        ("the day before yesterday, rain", "2026-11-21", "2026-11-21", "rain"),
        ("vorgestern Regen", "2026-11-21", "2026-11-21", "Regen"),
        ("pluie avant-hier", "2026-11-21", "2026-11-21", "pluie"),
        ("前天的会议", "2026-11-21", "2026-11-21", "的会议"),
        ("Regen vor drei Wochen", "2026-11-02", "2026-11-08", "Regen"),
        ("vor einem Jahr", "2025-01-01", "2025-12-31", ""),
        ("vor zwei Tagen", "2026-11-21", "2026-11-21", ""),
        ("il y a trois mois", "2026-08-01", "2026-08-31", ""),
        ("il y a 2 ans", "2024-01-01", "2024-12-31", ""),
        ("hace tres meses", "2026-08-01", "2026-08-31", ""),
        ("hace dos días", "2026-11-21", "2026-11-21", ""),
        ("3개월 전 회의", "2026-08-01", "2026-08-31", "회의"),
        ("두 주 전", "2026-11-09", "2026-11-15", ""),
        ("三か月前の会議", "2026-08-01", "2026-08-31", "の会議"),
        ("两年前", "2024-01-01", "2024-12-31", ""),
        ("Termin am 8.5.2023", "2023-05-08", "2023-05-08", "Termin"),
        ("seit dem 08.05.2023", "2023-05-08", "2026-11-23", ""),
        ("otters since 2024", "2024-01-01", "2026-11-23", "otters"),
        ("otters before 2024", "2023-01-01", "2024-12-31", "otters"),
        ("seit Mai Otter", "2026-05-01", "2026-11-23", "Otter"),
        ("since last week", "2026-11-16", "2026-11-23", ""),
        ("loutres le 1er mai 2026", "2026-05-01", "2026-05-01", "loutres"),
        ("trip of 8-10 May 2023", "2023-05-08", "2023-05-10", "trip"),
        ("vom 8. bis 10. Mai 2023", "2023-05-08", "2023-05-10", ""),
        ("notas de esta semana", "2026-11-23", "2026-11-29", "notas de"),
        ("cette année", "2026-01-01", "2026-12-31", ""),
        ("letzten Mai", "2026-05-01", "2026-05-31", ""),
    ],
)
def test_a_date_is_read_as_it_is_written(text: str, first: str, last: str, rest: str) -> None:
    [named] = dates_in(text, TODAY)

    assert named.periods[0] == (day(first), day(last))
    assert without(text, [named]) == rest


@pytest.mark.parametrize(
    "text",
    [
        *("may the force be with you", "what may I do", "March of the penguins", "the last of us"),
        *("python 3.11.2", "port 2023 is taken", "CVE-2023-1234", "RFC 2822", "2023-13-45"),
        *("31 February", "an hour ago", "", "12 monkeys", "the year of the otter"),
        *("revenue in Q3 2022", "Q3 2022", "vor 5 Minuten", "1.2.2023.4", "32.5.2023"),
        *("papers from 2024", "二十年前", "前の会議"),
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert dates_in(text, TODAY) == []


def test_a_month_without_a_year_may_be_of_any_year_the_latest_first() -> None:
    [named] = dates_in("camping in June", date(2024, 3, 1))

    assert [first.year for first, _ in named.periods] == list(range(2023, 2014, -1))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08"),
        ("Stand-up 2023-05-08", "2023-05-08"),
        ("Weekly sync – May 8, 2023", "2023-05-08"),
        ("2023年5月8日", "2023-05-08"),
        ("The night of 9 November 1989 in Berlin", None),
        ("Plans for May 2023", None),
        ("From 1 May 2023 to 8 May 2023", None),
        ("Today", None),
        ("8 May", None),
        ("", None),
    ],
)
def test_a_title_that_is_a_day_and_hardly_more_is_of_that_day(
    title: str, expected: str | None
) -> None:
    assert date_of_title(title) == (day(expected) if expected else None)


_WORDS = (
    *("in", "May", "may", "2023", "2023-05-08", "31", "30", "February", "last", "week", "ago"),
    *("since", "before", "year", "三月", "5월", "8일", "어제", "vor", "Q3", "999", "the", "-"),
)
_words = st.sampled_from(_WORDS)
_texts = st.lists(_words).map(" ".join) | st.text(max_size=60)


@given(_texts, st.dates(date(1, 1, 1), date.max))
def test_any_text_at_any_time_has_periods_or_none(text: str, today: date) -> None:
    found = dates_in(text, today)

    for before, after in pairwise(found):
        assert before.end <= after.start
    for named in found:
        assert text[named.start : named.end].strip()
        assert all(first <= last for first, last in named.periods)
    assert len(without(text, found)) <= len(text)
    date_of_title(text)


@pytest.mark.parametrize(
    ("text", "asked", "told"),
    [
        ("| 2024-02 | 188 |", "gas in February 2024", "| 2024-02 February | 188 |"),
        ("2024-02-05,9", "on 5 February", "2024-02-05 5 February,9"),
        ("05.02.2024;9 05.02.24", "im Februar", "05.02.2024 5 Februar;9 05.02.24 5 Februar"),
        ("2024/02/11 * Rent", "en février 2024", "2024/02/11 11 février * Rent"),
        ("2024-03 and v2024-02-01.2", "in February", "2024-03 and v2024-02-01.2"),
        ("1.2.3 and 10.02.2024.1", "in February", "1.2.3 and 10.02.2024.1"),
        ("2024-05", "what may I do", "2024-05"),
    ],
)
def test_a_date_in_figures_is_told_in_the_words_that_are_asked(
    text: str, asked: str, told: str
) -> None:
    assert with_months(text, asked) == told
