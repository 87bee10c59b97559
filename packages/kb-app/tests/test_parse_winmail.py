"""What Outlook packs into a mail as ``winmail.dat`` is the message that it was."""

from __future__ import annotations

from email.message import EmailMessage
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.making.parsing import judge_bytes, parse_whole
from kb_app.testing.compound_files import harmed
from kb_app.testing.outlook_files import packed_rtf, tnef
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ParsedDocument, SourceFile

APPOINTMENT = UUID("00062002-0000-0000-c000-000000000046")


def read(data: bytes, name: str = "winmail.dat") -> dict[str, ParsedDocument]:
    file = SourceFile(source_id="notes", path=name, media="unknown")
    if name.endswith((".eml", ".tnef")):
        file = SourceFile(source_id="notes", path=name, media="mail")
    judged = judge_bytes(file, data, SETTINGS.caps)
    assert not isinstance(judged, Skip), judged
    found = parse_whole(judged, data, SETTINGS)
    assert not isinstance(found, Skip), found
    return {each.file.path: each.parsed for each in found.documents}


def test_a_packed_message_says_who_writes_what_and_what_is_attached() -> None:
    data = tnef(
        {0x0037: "Eis", 0x0C1A: "Ann", 0x1000: "Der Walroß schläft."},
        attached=[("list.txt", b"ice\n"), ("empty.txt", b"")],
    )

    found = read(data)

    assert found["winmail.dat"].text == (
        "Subject: Eis\nFrom: Ann\nAttachments: list.txt, empty.txt\n\nDer Walroß schläft."
    )
    assert found["winmail.dat!/list.txt"].text == "ice\n"


def test_in_a_mail_it_stands_where_it_is_attached() -> None:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "Ice", "ann@example.org"
    mail.set_content("See there.")
    data = tnef({0x1009: packed_rtf(b"{\\rtf1 It is \\b cold\\b0.}")}, attached=[("a.txt", b"ice")])
    mail.add_attachment(data, "application", "ms-tnef", filename="winmail.dat")

    found = read(mail.as_bytes(), "ice.eml")

    assert "It is cold." in found["ice.eml!/winmail.dat"].text
    assert found["ice.eml!/winmail.dat!/a.txt"].text == "ice"


def test_a_message_that_is_attached_is_one_of_its_own() -> None:
    inner = tnef({0x0037: "Minutes", 0x1000: "We met."}, attached=[("b.txt", b"sea")])

    found = read(tnef({0x0037: "Fwd"}, inner=[("Minutes", inner)]), "a.tnef")

    assert found["a.tnef!/Minutes.tnef"].text.endswith("We met.")
    assert found["a.tnef!/Minutes.tnef!/b.txt"].text == "sea"


def test_a_property_with_a_name_is_found_by_it() -> None:
    data = tnef(
        {0x001A: "IPM.Appointment", 0x0037: "Stand-up"}, named={(APPOINTMENT, 0x8208): "Room 7"}
    )

    assert read(data)["winmail.dat"].text == "Subject: Stand-up\nWhere: Room 7"


def test_what_was_cut_off_is_read_as_far_as_it_goes() -> None:
    data = tnef({0x0037: "Ice"}, attached=[("a.txt", b"ice " * 100)])

    assert read(data[:-200])["winmail.dat!/a.txt"].text.startswith("ice ")


WHOLE = tnef(
    {0x0037: "Ice", 0x1000: "The walrus sleeps.", 0x0C15: 1},
    attached=[("a.txt", b"ice")],
    inner=[("Minutes", tnef({0x1000: "We met."}))],
    named={(APPOINTMENT, 0x8208): "Room 7"},
)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_it_there_are_documents_or_one_reason(seed: int) -> None:
    file = SourceFile(source_id="n", path="winmail.dat", media="mail")
    found = parse_whole(file, b"\x78\x9f\x3e\x22" + harmed(WHOLE, seed)[4:], SETTINGS)

    for each in [] if isinstance(found, Skip) else found.documents:
        each.parsed.text.encode()


@pytest.mark.parametrize(
    "piece", [b"\x01\x03\x90\x06\x00\x04\x00\x00\x00\xff\xff\xff\xff\x00\x00", b"\xff"]
)
def test_a_long_one_of_one_thing_takes_no_time(piece: bytes) -> None:
    file = SourceFile(source_id="n", path="winmail.dat", media="mail")

    parse_whole(file, b"\x78\x9f\x3e\x22\x01\x00" + piece * 100_000, SETTINGS)
