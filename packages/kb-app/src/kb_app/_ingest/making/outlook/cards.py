"""What an appointment, a task or a contact of Outlook says beside its text, as facts in order.

Properties are those of [MS-OXOCAL], [MS-OXOTASK] and [MS-OXOCNTC]; the facts are called as those
of calendars and address books are. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from kb_app._ingest.making.cards import facts, from_to
from kb_app._ingest.making.outlook.properties import Names, Values

__all__ = ["facts_of"]

_APPOINTMENT = UUID("00062002-0000-0000-c000-000000000046")
_TASK = UUID("00062003-0000-0000-c000-000000000046")
_ADDRESS = UUID("00062004-0000-0000-c000-000000000046")
_START, _END, _WHOLE_DAY, _WHERE, _REPEATS = 0x820D, 0x820E, 0x8215, 0x8208, 0x8232
_MEETING_START, _MEETING_END = 0x0060, 0x0061
_TASK_START, _TASK_DUE, _IS_DONE = 0x8104, 0x8105, 0x811C
_EMAILS = (0x8083, 0x8093, 0x80A3)
_POSTAL = (0x801B, 0x801A, 0x801C)
_PHONES = {"": 0x3A1A, "work": 0x3A08, "home": 0x3A09, "mobile": 0x3A1C, "fax": 0x3A24}
_COMPANY, _DEPARTMENT, _JOB, _STREET, _BIRTHDAY = 0x3A16, 0x3A18, 0x3A17, 0x3A15, 0x3A42


def facts_of(kind: str, values: Values, names: Names) -> list[str]:
    """Return what a message of a class such as ``IPM.APPOINTMENT`` says beside its text."""
    if kind.startswith(("IPM.APPOINTMENT", "IPM.SCHEDULE.MEETING")):
        return facts(_of_appointment(values, names))
    if kind.startswith("IPM.TASK"):
        return facts(_of_task(values, names))
    return facts(_of_contact(values, names)) if kind.startswith("IPM.CONTACT") else []


def _of_appointment(values: Values, names: Names) -> Iterable[tuple[str, str]]:
    def number(name: int) -> int:
        return names.number(_APPOINTMENT, name)

    start = values.moment(number(_START), _MEETING_START)
    end = values.moment(number(_END), _MEETING_END)
    is_whole_day = bool(values.number(number(_WHOLE_DAY)))
    yield "When", _when(start, end, is_whole_day=is_whole_day)
    yield "Repeats", values.text(number(_REPEATS))
    yield "Where", values.text(number(_WHERE))


def _of_task(values: Values, names: Names) -> Iterable[tuple[str, str]]:
    begins, due = (values.moment(names.number(_TASK, name)) for name in (_TASK_START, _TASK_DUE))
    yield "When", f"{begins:%Y-%m-%d}" if begins else ""
    yield "Due", f"{due:%Y-%m-%d}" if due else ""
    yield "Status", "completed" if values.number(names.number(_TASK, _IS_DONE)) else ""


def _of_contact(values: Values, names: Names) -> Iterable[tuple[str, str]]:
    def named(*wanted: int) -> list[str]:
        texts = (values.text(names.number(_ADDRESS, name)) for name in wanted)
        return list(dict.fromkeys(filter(None, texts)))

    company = [values.text(_COMPANY), values.text(_DEPARTMENT)]
    phones = ((kind, values.text(number)) for kind, number in _PHONES.items())
    birthday = values.moment(_BIRTHDAY)
    yield "Organization", ", ".join(filter(None, company))
    yield "Title", values.text(_JOB)
    yield "Phone", "; ".join(f"{n} ({kind})" if kind else n for kind, n in phones if n)
    yield "Email", "; ".join(named(*_EMAILS))
    yield "Address", "; ".join(named(*_POSTAL)) or values.text(_STREET)
    yield "Birthday", f"{birthday:%Y-%m-%d}" if birthday else ""


def _when(start: datetime | None, end: datetime | None, *, is_whole_day: bool) -> str:
    """Return from when to when, as entries of a calendar say it."""
    if start is None:
        return ""
    if is_whole_day or end is None:
        return f"{start:%Y-%m-%d}" if is_whole_day else f"{start:%Y-%m-%d %H:%M} (UTC)"
    return from_to(start, end, "UTC")
