"""Dates that a text names: of when something is asked, and of when a note is.

Understood are days, months and years as they are written in seven languages
(English, German, French, Spanish, Korean, Japanese, Chinese), and what is told from today:
*yesterday*, *last week*, *three months ago*. A month or a day without a year is the last one
that has begun, or one of the years before. A number alone is no year, and *may* is no month,
unless the words beside it say so. A quarter is none: a report is of the day it was filed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache

from kb_core.values import dataclass, lazy_pattern

__all__ = ["DateAsked", "DateNamed", "Period", "date_of_title", "dates_in", "with_months"]
__all__ += ["without"]

Period = tuple[date, date]
"""First and last day."""

_MONTHS = (
    "january jan januar jänner janvier enero",
    "february feb februar février fevrier febrero",
    "march mar märz maerz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug août aout agosto",
    "september sept sep septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre decembre diciembre",
)
_MONTH = {name: n for n, names in enumerate(_MONTHS, start=1) for name in names.split()}

_DAYS_OF: Mapping[str, int] = {
    **dict.fromkeys(("today", "heute", "aujourd'hui", "hoy", "오늘", "今日", "今天"), 0),
    **dict.fromkeys(("yesterday", "gestern", "hier", "ayer", "어제", "昨日", "昨天"), 1),
    **dict.fromkeys(("the day before yesterday", "vorgestern", "avant-hier", "anteayer"), 2),
    **dict.fromkeys(("그저께", "그제", "一昨日", "おととい", "前天"), 2),
}
"""How many days ago it was."""
_UNITS = {
    "day": "day tag jour día dia 일 日 天",
    "week": "week woche semaine semana 주 週 週間 周 星期",
    "month": "month monat mois mes 달 개월 月 か月 ヶ月 カ月 ヵ月 个月 個月",
    "year": "year jahr année annee an año ano 해 년 年",
}
_UNIT = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_LAST = "last past previous letzte letzten letzter letztes vergangene vergangenen vorige vorigen"
_THIS = "this current diese diesen dieser dieses"
_WHOLE = {
    **dict.fromkeys(("지난주", "先週", "上周", "上週", "上星期"), ("week", 1)),
    **dict.fromkeys(("지난달", "先月", "上个月", "上個月", "上月"), ("month", 1)),
    **dict.fromkeys(("작년", "지난해", "昨年", "去年"), ("year", 1)),
    **dict.fromkeys(("이번 주", "이번주", "今週", "本周", "这周"), ("week", 0)),
    **dict.fromkeys(("이번 달", "이번달", "今月", "本月", "这个月"), ("month", 0)),
    **dict.fromkeys(("올해", "今年"), ("year", 0)),
}
_AFTER_IT = {
    **{f"la {unit} dernière": (unit, 1) for unit in ("semaine", "année")},
    **{f"le {unit} dernier": (unit, 1) for unit in ("mois",)},
    "la semana pasada": ("semana", 1),
    "el mes pasado": ("mes", 1),
    "el año pasado": ("año", 1),
    "cette semaine": ("semaine", 0),
    "ce mois": ("mois", 0),
    "cette année": ("année", 0),
    "esta semana": ("semana", 0),
    "este mes": ("mes", 0),
    "este año": ("año", 0),
    "l'année dernière": ("année", 1),
}
_NUMBERS = (
    "one a an ein eine einem einer un une una 한 일 一",
    "two zwei deux dos 두 이 二 两 兩",
    "three drei trois tres 세 삼 三",
    "four vier quatre cuatro 네 四",
    "five fünf cinq cinco 다섯 五",
    "six sechs seis 여섯 六",
    "seven sieben sept siete 일곱 七",
    "eight acht huit ocho 여덟 八",
    "nine neun neuf nueve 아홉 九",
    "ten zehn dix diez 열 十",
)
_NUMBER = {name: n for n, names in enumerate(_NUMBERS, start=1) for name in names.split()}
_YEARS_BACK = 10
"""How many years a month without one may be back."""
_AROUND = 31
"""Days before or after a date that *before* and *after* mean, and of a year as many as it has."""
_MOST = 3
_FIRST, _LATEST = date(1990, 1, 1), date(2100, 1, 1)
"""A title outside of these is about a day, and not of it."""
_FEW_WORDS = 3
_YEAR = lazy_pattern(r"(?:19|20)\d\d")
_FIGURES = lazy_pattern(
    r"(?<![\w.-])(?:(?P<year>(?:19|20)\d\d)[-/](?P<month>0[1-9]|1[0-2])(?:[-/](?P<day>[0-3]\d))?"
    r"|([0-3]?\d)\.(0?[1-9]|1[0-2])\.(?:(?:19|20)\d\d|\d\d))(?!\w|[-.]\d)"
)
_CLOCK = lazy_pattern(r"\b\d{1,2}[:.]\d{2}\b|(?i:\b[ap]\.?m\b\.?|\b(?:on|at|am|the|of|um|el)\b)")


@dataclass(frozen=True, slots=True)
class DateNamed:
    """A date where it stands in a text, and the periods that it may mean, the likeliest first."""

    start: int
    end: int
    periods: tuple[Period, ...]


@dataclass(frozen=True, slots=True)
class DateAsked:
    """A date that a query names and that documents are of: they count for more."""

    text: str
    """The words of the query."""
    since: int
    until: int
    """In epoch seconds, both included."""


def dates_in(text: str, today: date) -> list[DateNamed]:
    """Return the first dates that *text* names, with the words that lead to them."""
    if not _may_name_one(text):
        return []
    found: list[DateNamed] = []
    for pattern, read in _patterns():
        for match in pattern.finditer(text):
            if any(match.start() < each.end and each.start < match.end() for each in found):
                continue
            periods = tuple(_bent(match.groupdict().get("lead"), read(match, today), today))
            if periods:
                found.append(DateNamed(match.start(), match.end(), periods))
    return sorted(found, key=lambda each: each.start)[:_MOST]


def without(text: str, dates: list[DateNamed]) -> str:
    """Return *text* without these dates."""
    for each in reversed(dates):
        text = f"{text[: each.start]} {text[each.end :]}"
    return re.sub(r"\s+(?=[?.,!;:]|$)", "", " ".join(text.split())).lstrip(",;: ")


def with_months(text: str, asked: str) -> str:
    """Return *text* with days and months that are figures in words, too, as *asked* has them.

    Where that names February, ``2024-02`` is *2024-02 February* and ``05.02.2024`` *05.02.2024 5
    February*: nobody asks for a row of a table by its figures.
    """
    months = _months_in(asked)

    def told(match: re.Match[str]) -> str:
        given = [each for each in match.groups() if each is not None]
        day = given[0] if match["year"] is None else match["day"]
        word = months.get(int(match["month"] or given[1]))
        return " ".join(filter(None, (match[0], day and str(int(day)), word))) if word else match[0]

    return _FIGURES.sub(told, text) if months else text


def _months_in(text: str) -> Mapping[int, str]:
    """Return the months that *text* names, by their numbers, as it writes them."""
    spans = (text[each.start : each.end] for each in dates_in(text, date.max))
    words = (word for span in spans for word in re.findall(r"[^\W\d_]+", span))
    return {_MONTH[word.casefold()]: word for word in words if word.casefold() in _MONTH}


def date_of_title(title: str) -> date | None:
    """Return the day that a note is of, where its title is that day and hardly more.

    *1:56 pm on 8 May, 2023* and *Stand-up 2023-05-08* are, *The night of 9 November 1989 in
    Berlin* is not.
    """
    if not _YEAR.search(title):
        return None
    days = [each for each in dates_in(title, date.max) if _is_day(each)]
    if len(days) != 1:
        return None
    rest = _CLOCK.sub(" ", without(title, days))
    is_short = len(re.findall(r"\w+", rest)) <= _FEW_WORDS
    day = days[0].periods[0][0]
    return day if is_short and _FIRST <= day < _LATEST else None


def _is_day(named: DateNamed) -> bool:
    return len(named.periods) == 1 and named.periods[0][0] == named.periods[0][1]


def _may_name_one(text: str) -> bool:
    """Say at little cost whether it is worth looking: patterns are made only where it is."""
    folded = text.casefold()
    return (
        _YEAR.search(folded) is not None
        or any(map(folded.__contains__, _HINTS))
        or not _MONTH.keys().isdisjoint(re.findall(r"\w+", folded))
    )


_HINTS = (
    *("last", "past", "letzte", "vorige", "vergangen", "derni", "pasad", "this", "dies", " ago"),
    *("vor ", "il y a ", "hace ", "current", "previous", "월", "月", "전", "前"),
    *(*_DAYS_OF, *_WHOLE, *_AFTER_IT),
)

_Read = Callable[[re.Match[str], date], Iterator[Period]]


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], _Read], ...]:
    month = "|".join(sorted(_MONTH, key=len, reverse=True))
    lead = (
        r"(?:(?<!\w)(?P<lead>on|in|during|from|since|by|before|after|until|around|of|at|early in"
        r"|late in|am|im|vom|seit|vor|nach|bis|en|du|le|depuis|avant|après|el|de|desde|antes de"
        r"|después de)\s+(?:(?:the|dem|den|le|el)\s+)?)?"
    )
    day, year = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.)?", r"(?P<year>(?:19|20)\d\d)(?!\w|-\d)"
    days = rf"(?P<first>[0-3]?\d)\.?\s?(?:-|–|to|bis|au|al)\s?{day}"
    unit = "week|month|year|woche|monat|jahr"
    named, of = rf"(?P<month>{month})\.?", r"(?:of\s+|de\s+)?"
    since = r"since|until|before|after|seit|bis|vor|nach|depuis|avant|après|desde|hasta|antes de"
    told = rf"(?<!\w)(?P<lead>in|during|im|en|early|late|mid|{since}|después de)[ -]"
    bent = rf"(?<!\w)(?:(?:in|(?P<lead>{since}))\s+)?"
    inside = rf"(?<!\w)(?P<lead>in|during|im Jahr|en|{since}|después de)\s+"
    figures = r"(?<![\w.])(?P<day>[0-3]?\d)\.\s?(?P<month>0?[1-9]|1[0-2])\.\s?"
    figures += r"(?P<year>(?:19|20)\d\d)(?!\w|\.\d)"
    iso = r"(?<![\w-])(?P<year>(?:19|20)\d\d)[-/](?P<month>[01]\d)"
    iso += r"(?:[-/](?P<day>[0-3]\d))?(?!\w|-\d)"
    cjk = r"(?P<month>[01]?\d)\s?[월月](?:\s?(?P<day>[0-3]?\d)\s?[일日])?"
    which = f"(?P<which>{_either(_LAST)}|{_either(_THIS)})"
    count = rf"(?P<count>\d{{1,3}}|{_either(' '.join(_NUMBERS))})"
    spaced = [each for each in _DAYS_OF if each[0].isascii()]
    unspaced = [each for each in _DAYS_OF if not each[0].isascii()]
    european = r"Tag|Woche|Monat|Jahr|jour|semaine|mois|année|an|d[ií]a|semana|mes|a[ñn]o"
    asian = r"일|주|개월|달|년|日|週間|か月|ヶ月|カ月|ヵ月|年|天|周|週|星期|[个個]月"
    written: tuple[tuple[str, _Read], ...] = (
        (lead + iso, _day_or_month),
        (lead + figures, _day_or_month),
        (rf"{lead}(?<!\w){days}\s+{of}{named},?\s+(?:de\s+)?{year}", _some_days),
        (rf"{lead}(?<!\w){day}\s+{of}{named},?\s+(?:de\s+)?{year}", _day_or_month),
        (rf"{lead}(?<!\w){named}\s+{day},?\s+{year}", _day_or_month),
        (rf"{lead}(?<!\w){named},?\s+(?:de\s+)?{year}", _day_or_month),
        (rf"(?P<year>(?:19|20)\d\d)\s?[년年]\s?{cjk}", _day_or_month),
        (rf"(?<!\d){cjk}", _day_or_month),
        (r"(?P<year>(?:19|20)\d\d)\s?[년年]", _year),
        (rf"{lead}(?<!\w){day}\s+{of}{named}(?!\w)", _day_or_month),
        (rf"{lead}(?<!\w){named}\s+{day}(?!\w|[.:]\d)", _day_or_month),
        (rf"{told}{named}(?!\w)", _day_or_month),
        (rf"(?<!\w)(?:{_either(_LAST)})\s+{named}(?!\w)", _day_or_month),
        (rf"{inside}{year}", _year),
        (rf"(?<!\w)(?P<told>{_longest(spaced)})(?!\w)", _days),
        (f"(?P<told>{_longest(unspaced)})", _days),
        (f"(?P<whole>{'|'.join(map(re.escape, _WHOLE))})", _whole),
        (rf"(?<!\w)(?P<whole>{'|'.join(map(re.escape, _AFTER_IT))})(?!\w)", _whole),
        (rf"{bent}(?:the\s+|de[rnms]\s+)?{which}\s+(?P<unit>{unit})(?!\w)", _unit),
        (rf"(?<!\w){count}\s+(?P<unit>day|week|month|year)s?\s+ago(?!\w)", _ago),
        (rf"(?<!\w)(?:vor|il y a|hace)\s+{count}\s+(?P<unit>{european})(?:e?[ns])?(?!\w)", _ago),
        (rf"(?<![一二三四五六七八九十百千\d]){count}\s?(?P<unit>{asian})(?:\s?전|[之以]?前)", _ago),
    )
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in written)


def _either(words: str) -> str:
    return "|".join(words.split())


def _longest(words: Iterable[str]) -> str:
    """Return what matches one of *words*, the longest that stands there."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


def _day_or_month(match: re.Match[str], today: date) -> Iterator[Period]:
    given = match.groupdict()
    name, day = given["month"].casefold(), given.get("day")
    month = int(name) if name.isdigit() else _MONTH[name]
    years = [int(given["year"])] if given.get("year") else _years_back(today)
    for year in years:
        try:
            first = date(year, month, int(day or 1))
        except ValueError:
            continue
        if len(years) > 1 and first > today:
            continue
        yield first, first if day else _end_of_month(first)


def _some_days(match: re.Match[str], today: date) -> Iterator[Period]:
    """Yield the days from one to another of a month."""
    for last, _ in _day_or_month(match, today):
        first = int(match["first"])
        if 0 < first <= last.day:
            yield last.replace(day=first), last


def _years_back(today: date) -> list[int]:
    return list(range(today.year, max(1, today.year - _YEARS_BACK), -1))


def _year(match: re.Match[str], _: date) -> Iterator[Period]:
    year = int(match["year"])
    yield date(year, 1, 1), date(year, 12, 31)


def _days(match: re.Match[str], today: date) -> Iterator[Period]:
    day = today - timedelta(_DAYS_OF[match["told"].casefold()])
    yield day, day


def _whole(match: re.Match[str], today: date) -> Iterator[Period]:
    told = match["whole"].casefold()
    unit, back = _WHOLE.get(told) or _AFTER_IT[told]
    yield _period(_UNIT.get(unit, unit), back, today)


def _unit(match: re.Match[str], today: date) -> Iterator[Period]:
    back = int(match["which"].casefold() in _LAST.split())
    yield _period(_UNIT[match["unit"].casefold()], back, today)


def _ago(match: re.Match[str], today: date) -> Iterator[Period]:
    said, unit = match["count"].casefold(), _UNIT[match["unit"].casefold()]
    count = _NUMBER.get(said) or int(said)
    if unit == "day":
        yield today - timedelta(count), today - timedelta(count)
    else:
        yield _period(unit, count, today)


def _period(unit: str, back: int, today: date) -> Period:
    """Return the week, month or year that was so many back."""
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * back)
        return monday, monday + timedelta(6)
    if unit == "year":
        year = max(1, today.year - back)
        return date(year, 1, 1), date(year, 12, 31)
    months = max(12, 12 * today.year + today.month - 1 - back)
    first = date(months // 12, months % 12 + 1, 1)
    return first, _end_of_month(first)


def _end_of_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)


_SINCE = ("since", "from", "seit", "depuis", "desde")
_AFTER = ("after", "nach", "après", "después de")
_BEFORE = ("before", "until", "by", "vor", "bis", "avant", "antes de", "hasta")


def _bent(lead: str | None, periods: Iterator[Period], today: date) -> Iterator[Period]:
    """Yield what *lead*, such as *since*, makes of the periods."""
    lead = (lead or "").casefold()
    for first, last in periods:
        if lead in _SINCE and first <= today:
            yield first, max(last, today)
        elif lead in _AFTER:
            yield first, last + max(timedelta(_AROUND), last - first)
        elif lead in _BEFORE:
            yield first - max(timedelta(_AROUND), last - first), last
        else:
            yield first, last
