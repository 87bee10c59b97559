"""Events, tasks and contacts, as calendars and address books save them.

iCalendar (RFC 5545) and vCard (RFC 6350, and 2.1 and 3.0 before it) are lines of a name, its
parameters and a value, folded where they are long, in components from ``BEGIN`` to ``END``.
What is for programs alone (identifiers, alarms, time zones, pictures) is left out. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import NamedTuple

__all__ = ["Entry", "entries_of", "facts", "from_to", "is_cards"]

_SUFFIXES = (".ics", ".vcf")
_FOLD = re.compile(r"\n[ \t]")
_LINE = re.compile(
    r"(?:[\w-]++\.)?+(?P<name>[\w-]++)"
    r'(?P<parameters>(?:;[^:;"\n]*+(?:"[^"\n]*+"[^:;"\n]*+)*+)*+):(?P<value>.*+)'
)
_PARAMETER = re.compile(r';(?P<name>[\w-]+)(?:=(?P<value>(?:"[^"]*"|[^;"])*))?')
_ESCAPED = re.compile(r"\\([nN,;:\\])")
_PARTED = re.compile(r"(?<!\\);")
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?")
_LASTS = re.compile(r"P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:\d+S)?)?")
_ENTRIES = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VCARD"})
_EVERY = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_SAID_STATUS = frozenset({"CANCELLED", "TENTATIVE", "COMPLETED", "IN-PROCESS", "NEEDS-ACTION"})
_MOST_PARAMETERS, _MOST_DAYS = 100, 50
_BY_DAY = re.compile(r"\+?(-?\d{1,2})?([A-Za-z]{2})")
_WEEKDAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday",
             "SA": "Saturday", "SU": "Sunday"}  # fmt: skip
_WHICH = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last",
          "-2": "second last"}  # fmt: skip
_MONTHS = {str(number): f"{date(2000, number, 1):%B}" for number in range(1, 13)}
_ANSWERS = frozenset({"DECLINED", "TENTATIVE"})
"""Of an invitation, those that change whether somebody comes."""
_NO_YEAR = re.compile(r"--(\d\d)-?(\d\d)")
_CHATS = ("IMPP", "X-SKYPE", "X-SKYPE-USERNAME", "X-JABBER", "X-AIM", "X-SOCIALPROFILE")
_KINDS = ("home", "work", "cell", "fax", "pager")
"""Of numbers and addresses, as people tell them apart."""


class Entry(NamedTuple):
    """One event, task or contact, as a reader sees it."""

    title: str
    facts: Sequence[str]
    """Such as ``When: 2026-03-12 14:00-15:00``."""
    text: str
    """What somebody wrote about it."""
    start: date | None
    """The day on which it begins."""
    tags: Sequence[str]


class _Value(NamedTuple):
    raw: str
    parameters: Mapping[str, str]

    @property
    def text(self) -> str:
        return _plain(self.raw)

    @property
    def parts(self) -> list[str]:
        """The parts of a value that has several, such as an address."""
        return [part for each in _PARTED.split(self.raw) if (part := _plain(each))]


_Values = Mapping[str, Sequence[_Value]]


def is_cards(path: str) -> bool:
    """Say whether a file of this name holds events or contacts."""
    return path.lower().endswith(_SUFFIXES)


def entries_of(text: str) -> tuple[str, list[Entry]]:
    """Return what a calendar calls itself, if it does, and the entries of *text* in order."""
    entries: list[Entry] = []
    called = ""
    for component, values in _components(_FOLD.sub("", text)):
        if component in _ENTRIES:
            entries.append(_contact(values) if component == "VCARD" else _event(values))
        elif component == "VCALENDAR":
            called = called or _first(values, "X-WR-CALNAME") or _first(values, "NAME")
    return called, [entry for entry in entries if entry.title or entry.facts or entry.text]


def _components(text: str) -> Iterator[tuple[str, _Values]]:
    """Yield each component with its own values, inner ones first; one without an end, too."""
    held: list[tuple[str, dict[str, list[_Value]]]] = []
    for name, value in _lines(text):
        if name == "BEGIN":
            held.append((value.raw.strip().upper(), {}))
        elif name == "END":
            if held:
                yield held.pop()
        elif held:
            held[-1][1].setdefault(name, []).append(value)
    yield from reversed(held)


def _lines(text: str) -> Iterator[tuple[str, _Value]]:
    lines = iter(text.split("\n"))
    for line in lines:
        if (found := _LINE.match(line)) is None:
            continue
        given = _parameters(found["parameters"])
        value = found["value"]
        if "QUOTED-PRINTABLE" in found["parameters"].upper():
            value = _unquoted(value, lines, given.get("CHARSET"))
        yield found["name"].upper(), _Value(value, given)


def _parameters(text: str) -> dict[str, str]:
    """Return parameters by name; several types are one list, and one in vCard 2.1 has no name."""
    given: dict[str, str] = {}
    for each in islice(_PARAMETER.finditer(text), _MOST_PARAMETERS):
        name, value = (each["name"], each["value"]) if each["value"] else ("TYPE", each["name"])
        held = given.get(name.upper())
        value = value.replace('"', "")
        given[name.upper()] = f"{held},{value}" if held else value
    return given


def _unquoted(value: str, following: Iterator[str], charset: str | None) -> str:
    """Return a value of vCard 2.1, which goes on in the next line after a ``=``."""
    from quopri import decodestring  # hardly any file has one

    parts = [value]
    while parts[-1].endswith("=") and (more := next(following, None)) is not None:
        parts[-1] = parts[-1][:-1]
        parts.append(more)
    data = decodestring("".join(parts).encode("utf-8", "replace"))
    try:
        told = data.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):  # a name that is none, or has a NUL in it
        told = data.decode("utf-8", "replace")
    return told.replace("\r\n", "\n").replace("\n", "\\n")


def _plain(raw: str) -> str:
    return _ESCAPED.sub(lambda each: "\n" if each[1] in "nN" else each[1], raw).strip()


def _first(values: _Values, name: str) -> str:
    return next((each.text for each in values.get(name, ()) if each.text), "")


def facts(told: Iterable[tuple[str, str]]) -> list[str]:
    """Return names and what each says as lines of a reader; nothing of what says nothing."""
    return [f"{name}: {' '.join(text.split())}" for name, text in told if text.strip()]


# ---------------------------------------------------------------- events


def _event(values: _Values) -> Entry:
    start = next(iter(values.get("DTSTART", ())), None)
    status = _first(values, "STATUS").upper()
    told = facts(
        [
            ("When", _when(values, start)),
            ("Due", "".join(_shown(each) for each in values.get("DUE", ())[:1])),
            ("Instead of", "".join(_shown(each) for each in values.get("RECURRENCE-ID", ())[:1])),
            ("Repeats", _repeats(_first(values, "RRULE"))),
            ("Also", _days(values, "RDATE")),
            ("Except", _days(values, "EXDATE")),
            ("Where", _first(values, "LOCATION")),
            ("Status", status.lower() if status in _SAID_STATUS else ""),
            ("Organizer", _people(values, "ORGANIZER")),
            ("Attendees", _people(values, "ATTENDEE")),
            ("Categories", ", ".join(_tags(values))),
            ("Link", _first(values, "URL")),
        ]
    )
    began = _moment(start.raw) if start is not None else None
    return Entry(
        _title(_first(values, "SUMMARY")),
        told,
        _first(values, "DESCRIPTION"),
        began[0] if began else None,
        _tags(values),
    )


def _title(text: str) -> str:
    return " ".join(text.split())


def _tags(values: _Values) -> list[str]:
    told = (each for value in values.get("CATEGORIES", ()) for each in value.text.split(","))
    return [tag for each in told if (tag := each.strip())]


def _moment(raw: str) -> tuple[date, time | None, bool] | None:
    """Return a day, the time of it, if it has one, and whether that is of UTC."""
    if (found := _MOMENT.match(raw.strip())) is None:
        return None
    year, month, day, hour, minute, utc = found.groups()
    try:
        at = None if hour is None else time(int(hour), int(minute))
        return date(int(year), int(month), int(day)), at, utc == "Z"
    except ValueError:
        return None


def _shown(value: _Value) -> str:
    """Return a moment as it is read, with its time zone."""
    if (moment := _moment(value.raw)) is None:
        return _NO_YEAR.sub(r"\1-\2", value.text)
    day, at, is_utc = moment
    zone = "UTC" if is_utc else value.parameters.get("TZID", "")
    told = f"{day} {at:%H:%M}" if at else f"{day}"
    return f"{told} ({zone})" if zone and at else told


def _when(values: _Values, start: _Value | None) -> str:
    if start is None:
        return ""
    if (begins := _moment(start.raw)) is None:
        return start.text
    day, at, is_utc = begins
    end = next(iter(values.get("DTEND", ())), None)
    ends = _moment(end.raw) if end else _after(day, at, _first(values, "DURATION"))
    if ends is None:
        return _shown(start)
    last, until = ends[:2]
    if at is None or until is None:
        last = last - timedelta(days=1) if until is None and last > day else last
        return f"{day}" if last == day else f"{day} to {last}"
    zone = "UTC" if is_utc else start.parameters.get("TZID", "")
    return from_to(datetime.combine(day, at), datetime.combine(last, until), zone)


def from_to(start: datetime, end: datetime, zone: str) -> str:
    """Return from when to when, as a reader is told it; the day once, if it is one."""
    day, last = start.date(), end.date()
    told = f"-{end:%H:%M}" if last == day else f" to {last} {end:%H:%M}"
    return f"{day} {start:%H:%M}{told}" + (f" ({zone})" if zone else "")


def _after(day: date, at: time | None, lasts: str) -> tuple[date, time | None] | None:
    found = _LASTS.fullmatch(lasts) if lasts else None
    if found is None:
        return None
    weeks, days, hours, minutes = (int(part or 0) for part in found.groups())
    try:
        end = datetime.combine(day, at or time()) + timedelta(
            weeks=weeks, days=days, hours=hours, minutes=minutes
        )
    except OverflowError:
        return None
    return end.date(), end.time() if at else None


def _repeats(rule: str) -> str:
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    if (every := _EVERY.get(parts.get("FREQ", "").upper())) is None:
        return rule
    interval = parts.get("INTERVAL", "1")
    told = f"every {every}" if interval == "1" else f"every {interval} {every}s"
    days = [_weekday(each) for each in parts.get("BYDAY", "").split(",") if each]
    days += [f"day {each}" for each in parts.get("BYMONTHDAY", "").split(",") if each]
    told += f" on {', '.join(days)}" if days else ""
    months = [_MONTHS.get(each, each) for each in parts.get("BYMONTH", "").split(",") if each]
    told += f" in {', '.join(months)}" if months else ""
    if count := parts.get("COUNT"):
        told += f", {count} times"
    until = _moment(parts.get("UNTIL", ""))
    return f"{told} until {until[0]}" if until else told


def _weekday(said: str) -> str:
    """Return a day of a week or a month: ``the last Friday`` for ``-1FR``."""
    found = _BY_DAY.fullmatch(said.strip())
    day = _WEEKDAYS.get(found[2].upper(), "") if found else ""
    if found is None or not day:
        return said
    which = f"the {_WHICH.get(found[1], found[1])} " if found[1] else ""
    return f"{which}{day}"


def _days(values: _Values, name: str) -> str:
    """Return moments that an event has beside those of its rule, or has not."""
    told = (
        value._replace(raw=each) for value in values.get(name, ()) for each in value.raw.split(",")
    )
    return ", ".join(_shown(each) for each in islice(told, _MOST_DAYS))


def _people(values: _Values, name: str) -> str:
    def told(value: _Value) -> str:
        address = value.raw.strip()
        address = address[7:] if address.lower().startswith("mailto:") else ""
        who = value.parameters.get("CN", "")
        shown = f"{who} <{address}>" if who and address and who != address else who or address
        answer = value.parameters.get("PARTSTAT", "").upper()
        return f"{shown} ({answer.lower()})" if shown and answer in _ANSWERS else shown

    return ", ".join(dict.fromkeys(filter(None, map(told, values.get(name, ())))))


# ---------------------------------------------------------------- contacts


def _contact(values: _Values) -> Entry:
    name = _first(values, "FN") or _full_name(values) or _first(values, "ORG")
    told = facts(
        [
            ("Also called", _first(values, "NICKNAME")),
            ("Organization", _listed(values, "ORG", lambda each: ", ".join(each.parts))),
            ("Title", _listed(values, "TITLE", _text) or _listed(values, "ROLE", _text)),
            ("Phone", _listed(values, "TEL", lambda each: _of_kind(each, _number(each.text)))),
            ("Email", _listed(values, "EMAIL", lambda each: _of_kind(each, each.text))),
            ("Address", _listed(values, "ADR", lambda each: _of_kind(each, ", ".join(each.parts)))),
            ("Birthday", _listed(values, "BDAY", _shown)),
            ("Anniversary", _listed(values, "ANNIVERSARY", _shown)),
            ("Link", _listed(values, "URL", _text)),
            ("Chat", "; ".join(filter(None, (_listed(values, each, _text) for each in _CHATS)))),
            ("Related", _listed(values, "RELATED", _of_relation)),
            ("Categories", ", ".join(_tags(values))),
        ]
    )
    note = "\n\n".join(each.text for each in values.get("NOTE", ()) if each.text)
    return Entry(_title(name), told, note, None, _tags(values))


def _full_name(values: _Values) -> str:
    value = next(iter(values.get("N", ())), None)
    if value is None:
        return ""
    family, given, more, before, after = ([_plain(x) for x in _PARTED.split(value.raw)] + [""] * 5)[
        :5
    ]
    return " ".join(filter(None, (before, given, more, family, after)))


def _text(value: _Value) -> str:
    return value.text


def _listed(values: _Values, name: str, told: Callable[[_Value], str]) -> str:
    shown = (told(each) for each in values.get(name, ()))
    return "; ".join(dict.fromkeys(filter(None, shown)))


def _number(text: str) -> str:
    return text.removeprefix("tel:")


def _of_relation(value: _Value) -> str:
    relation = value.parameters.get("TYPE", "")
    return f"{value.text} ({relation.lower()})" if relation and value.text else value.text


def _of_kind(value: _Value, text: str) -> str:
    types = value.parameters.get("TYPE", "").lower()
    kinds = ["mobile" if kind == "cell" else kind for kind in _KINDS if kind in types]
    return f"{text} ({', '.join(kinds)})" if kinds and text else text
