"""Calendars and address books: what a reader is told of each event and contact."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.cards import Entry, entries_of
from kb_app._ingest.making.formats.mail import MailParser
from kb_core.documents import ParsedDocument, SourceFile

EVENT = """\
BEGIN:VCALENDAR
X-WR-CALNAME:Harbour
BEGIN:VTIMEZONE
TZID:Europe/Berlin
END:VTIMEZONE
BEGIN:VEVENT
UID:1@example.org
DTSTART;TZID="Europe/Berlin":20260312T140000
DTEND;TZID="Europe/Berlin":20260312T150000
SUMMARY:Budget review\\, harbour
LOCATION:Room 4\\; second floor
ORGANIZER;CN="Example, Ann":mailto:ann@example.org
ATTENDEE;CN=Bob;PARTSTAT=ACCEPTED:MAILTO:bob@example.org
ATTENDEE:mailto:eve@example.org
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20261231T000000Z
CATEGORIES:money,work
DESCRIPTION:Bring the numbers.\\n\\nAnd the long t
 able of ships.
BEGIN:VALARM
DESCRIPTION:ring
END:VALARM
END:VEVENT
END:VCALENDAR
"""
CONTACT = """\
BEGIN:VCARD
VERSION:3.0
N:Example;Ann;Maria;Dr.;
FN:Dr. Ann Example
ORG:Harbour Office;Dredging
TITLE:Engineer
item1.TEL;type=CELL;type=pref:+49 170 1234
TEL;WORK;VOICE:+49 40 99
EMAIL;TYPE="work,internet":ann@example.org
ADR;TYPE=HOME:;;Quay 1;Hamburg;;20457;Germany
BDAY:1980-02-29
NOTE:Prefers calls\\, before noon.
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQ
 AAAQABAAD
END:VCARD
"""


def document_of(text: str, path: str) -> ParsedDocument:
    file = SourceFile(source_id="s", path=path, media="mail")
    return MailParser()(FileContent(text.replace("\n", "\r\n").encode()), file)


def test_an_event_is_a_line_and_what_is_written_about_it() -> None:
    document = document_of(EVENT, "team.ics")

    assert document.text == (
        "Budget review, harbour · When: 2026-03-12 14:00-15:00 (Europe/Berlin)"
        " · Repeats: every 2 weeks on Monday, Thursday until 2026-12-31"
        " · Where: Room 4; second floor"
        " · Organizer: Example, Ann <ann@example.org> · Attendees: Bob <bob@example.org>,"
        " eve@example.org · Categories: money, work · Bring the numbers."
        "\n\nAnd the long table of ships."
    )
    assert document.metadata.title == "Budget review, harbour"
    assert document.metadata.tags == ("money", "work")
    assert document.metadata.created == datetime(2026, 3, 12, tzinfo=UTC)


def test_a_contact_is_a_line_and_a_note() -> None:
    document = document_of(CONTACT, "ann.vcf")

    assert document.text == (
        "Dr. Ann Example · Organization: Harbour Office, Dredging · Title: Engineer"
        " · Phone: +49 170 1234 (mobile); +49 40 99 (work) · Email: ann@example.org (work)"
        " · Address: Quay 1, Hamburg, 20457, Germany (home) · Birthday: 1980-02-29"
        " · Prefers calls, before noon."
    )
    assert document.metadata.title == "Dr. Ann Example"


def test_a_calendar_of_several_is_called_as_it_calls_itself() -> None:
    several = EVENT.replace("END:VCALENDAR", "BEGIN:VTODO\nSUMMARY:Paint\nEND:VTODO\nEND:VCALENDAR")
    document = document_of(several, "calendar.ics")

    assert document.metadata.title == "Harbour"
    assert document.metadata.tags == ()
    assert [block.kind for block in document.blocks] == ["paragraph"] * 3
    assert document.text.endswith("\n\nPaint")


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        ("DTSTART;VALUE=DATE:20260312\nDTEND;VALUE=DATE:20260313", "2026-03-12"),
        ("DTSTART;VALUE=DATE:20260312\nDTEND;VALUE=DATE:20260315", "2026-03-12 to 2026-03-14"),
        (
            "DTSTART:20260312T230000Z\nDURATION:PT1H30M",
            "2026-03-12 23:00 to 2026-03-13 00:30 (UTC)",
        ),
        ("DTSTART:20260312T090000", "2026-03-12 09:00"),
        ("DTSTART:20261399", "20261399"),
        ("DTSTART:00010101\nDTEND:00010101", "0001-01-01"),
        (
            "DTSTART:20260312T090000Z\nDURATION:P99999D",
            "2026-03-12 09:00 to 2299-12-25 09:00 (UTC)",
        ),
    ],
)
def test_when_it_is_is_told_as_people_write_it(lines: str, when: str) -> None:
    _, (entry,) = entries_of(f"BEGIN:VEVENT\n{lines}\nSUMMARY:x\nEND:VEVENT")

    assert entry.facts == [f"When: {when}"]


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        ("RRULE:FREQ=WEEKLY;BYDAY=TU,+1TH", ["Repeats: every week on Tuesday, the first Thursday"]),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=5",
            ["Repeats: every month on the last Friday, 5 times"],
        ),
        (
            "RRULE:FREQ=YEARLY;BYMONTH=3,12;BYMONTHDAY=24",
            ["Repeats: every year on day 24 in March, December"],
        ),
        ("RRULE:FREQ=DAILY;BYDAY=XX,", ["Repeats: every day on XX"]),
        (
            "RRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Oslo:20240312T090000,20240313T090000",
            [
                "Repeats: every day",
                "Except: 2024-03-12 09:00 (Europe/Oslo), 2024-03-13 09:00 (Europe/Oslo)",
            ],
        ),
        ("RECURRENCE-ID:20240307T090000Z", ["Instead of: 2024-03-07 09:00 (UTC)"]),
        ("RDATE;VALUE=DATE:20240308", ["Also: 2024-03-08"]),
        (
            "ATTENDEE;CN=Bob;PARTSTAT=DECLINED:mailto:b@x.org\nATTENDEE;PARTSTAT=TENTATIVE:mailto:c@x.org",
            ["Attendees: Bob <b@x.org> (declined), c@x.org (tentative)"],
        ),
    ],
)
def test_what_changes_when_or_with_whom_it_is_is_told(lines: str, facts: list[str]) -> None:
    _, (entry,) = entries_of(f"BEGIN:VEVENT\n{lines}\nSUMMARY:x\nEND:VEVENT")

    assert entry.facts == facts


def test_a_birthday_without_a_year_and_whom_somebody_is_related_to_are_told() -> None:
    lines = "BDAY:--0412\nRELATED;TYPE=spouse:Hanako\nX-SKYPE:yam\nIMPP:xmpp:y@x"
    _, (entry,) = entries_of(f"BEGIN:VCARD\nFN:x\n{lines}\nEND:VCARD")

    assert entry.facts == ["Birthday: 04-12", "Chat: xmpp:y@x; yam", "Related: Hanako (spouse)"]


def test_older_cards_are_read() -> None:
    text = (
        "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=\n"
        "=B6rg\nTEL;HOME:1\nEND:VCARD\n"
    )

    assert entries_of(text) == ("", [Entry("Jörg Müller", ["Phone: 1 (home)"], "", None, [])])


@pytest.mark.parametrize("charset", ["made-up", "utf\0-8", "hex", ""])
def test_a_charset_that_is_none_is_not_believed(charset: str) -> None:
    text = f"BEGIN:VCARD\nFN;CHARSET={charset};ENCODING=QUOTED-PRINTABLE:J=C3=B6rg\nEND:VCARD\n"

    assert [entry.title for entry in entries_of(text)[1]] == ["Jörg"]


def test_what_is_not_closed_is_told_and_what_is_none_is_a_text() -> None:
    _, (entry,) = entries_of("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Late\nDTSTART:20260312\n")
    assert (entry.title, entry.start) == ("Late", date(2026, 3, 12))
    plain = document_of("No card.\n", "x.vcf")
    assert plain.text.strip() == "No card."
    assert plain.warnings == ("no events or contacts are in it",)


def test_a_description_in_marks_is_read_as_a_page() -> None:
    event = "BEGIN:VEVENT\nSUMMARY:x\nDESCRIPTION:Bring <b>tar</b>.<br>And sand.\nEND:VEVENT"

    assert document_of(event, "x.ics").text == "x\n\nBring tar.\nAnd sand."


@given(st.text() | st.text('BEGINEVTCARD:;=",\\n\n 0129TZ'), st.sampled_from(["a.ics", "b.vcf"]))
def test_any_text_gives_a_document(text: str, path: str) -> None:
    for inside in (text, f"BEGIN:VEVENT\n{text}", f"BEGIN:VCARD\nN:{text}\nTEL{text}:{text}"):
        document = document_of(inside, path)
        end = 0
        for block in document.blocks:
            assert document.text[end : block.start].strip() == ""
            end = block.end
        assert document.text[end:].strip() == ""
