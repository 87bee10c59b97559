"""Messages of Outlook: read as the mails that they are, and appointments and their like, too."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.making.outlook.rtf import text_of_rtf, unpacked
from kb_app._ingest.making.parsing import enclosed_bytes, parse_whole
from kb_app.testing.compound_files import compound, harmed
from kb_app.testing.outlook_files import Values, message_tree, msg, packed_rtf
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ParsedDocument, SourceFile

SENT = datetime(2026, 11, 21, 6, 4, 5, tzinfo=UTC)
ANN: Values = {
    0x0037: "Ice",
    0x0C1A: "Ann",
    0x5D01: "ann@example.org",
    0x0E04: "Bob",
    0x0E03: "Cy",
    0x0039: SENT,
    0x1000: "The walrus sleeps.\r\n",
    0x1035: "<1@example.org>",
}
BOB: Values = {0x3001: "Bob", 0x39FE: "bob@example.org", 0x0C15: 1}
CY: Values = {0x3001: "Cy", 0x3003: "/o=Example/cn=Recipients/cn=cy", 0x0C15: 2}
NAMED = UUID("00062002-0000-0000-c000-000000000046")
TASK = UUID("00062003-0000-0000-c000-000000000046")
ADDRESS = UUID("00062004-0000-0000-c000-000000000046")


def read(data: bytes, path: str = "a.msg") -> dict[str, ParsedDocument]:
    """Return the documents of a message by path, its own first."""
    found = parse_whole(SourceFile(source_id="notes", path=path, media="mail"), data, SETTINGS)
    assert not isinstance(found, Skip), found
    for each in found.documents:
        text, end = each.parsed.text, 0
        for block in each.parsed.blocks:
            assert text[end : block.start].strip() == ""
            end = block.end
        assert text[end:].strip() == ""
    return {each.file.path: each.parsed for each in found.documents}


def own(data: bytes) -> ParsedDocument:
    return read(data)["a.msg"]


def test_a_message_is_read_as_the_mail_that_it_is() -> None:
    document = own(msg(ANN, receivers=[BOB, CY]))

    assert document.text == (
        "Subject: Ice\nFrom: Ann <ann@example.org>\nTo: Bob <bob@example.org>\nCc: Cy\n"
        "Date: 2026-11-21 06:04:05+00:00\n\nThe walrus sleeps."
    )
    assert document.metadata.title == "Ice"
    assert document.metadata.created == SENT
    assert document.metadata.user == {
        "from": "Ann <ann@example.org>",
        "to": "Bob <bob@example.org>",
        "cc": "Cy",
        "message-id": "<1@example.org>",
    }


def test_without_receivers_of_their_own_those_that_are_shown_are_named() -> None:
    assert "\nTo: Bob\nCc: Cy\n" in own(msg(ANN)).text


@pytest.mark.parametrize(
    ("receiver", "shown"),
    [
        ({0x3001: "Bob", 0x3003: "bob@example.org"}, "Bob <bob@example.org>"),
        ({0x3001: "'bob@example.org'", 0x39FE: "bob@example.org"}, "bob@example.org"),
        ({0x3001: "Bob", 0x39FE: "/o=Example/cn=bob@home"}, "Bob"),
        ({0x39FE: "bob@example.org"}, "bob@example.org"),
    ],
)
def test_a_receiver_is_shown_with_an_address_that_mails_can_be_sent_to(
    receiver: dict[int, str], shown: str
) -> None:
    assert f"\nTo: {shown}\n" in own(msg(ANN, receivers=[{**receiver, 0x0C15: 1}])).text


def test_the_headers_that_it_came_with_say_what_it_does_not() -> None:
    values = {number: value for number, value in ANN.items() if number not in {0x0039, 0x5D01}}
    values[0x007D] = (
        "From: Ann Other <ann.o@example.org>\r\nDate: Sat, 21 Nov 2026 15:04:05 +0900\r\n"
        "List-Id: <ice.example.org>\r\n\r\n"
    )
    document = own(msg(values))

    assert "\nDate: 2026-11-21 15:04:05+09:00\n" in document.text
    assert "\nFrom: Ann Other <ann.o@example.org>\n" in document.text
    assert document.metadata.created == SENT
    assert document.metadata.user["list-id"] == "<ice.example.org>"


def test_when_it_was_delivered_counts_where_nobody_knows_when_it_was_sent() -> None:
    values: Values = {**{n: v for n, v in ANN.items() if n != 0x0039}, 0x0E06: SENT}

    assert own(msg(values)).metadata.created == SENT


@pytest.mark.parametrize(
    ("codepage", "charset", "text"),
    [
        (1252, "cp1252", "Größe und “Käse”"),
        (949, "cp949", "회의는 화요일 오후입니다"),
        (1251, "cp1251", "Доброе утро, моржи"),
        (28592, "iso8859-2", "Zażółć gęślą jaźń"),
        (65001, "utf-8", "Größe — 안녕"),
        (None, "cp949", "회의는 화요일 오후입니다"),
        (99999, "utf-8", "Größe — 안녕"),
    ],
)
def test_texts_of_eight_bits_are_read_as_the_message_says(
    codepage: int | None, charset: str, text: str
) -> None:
    values: dict[int, str | int] = {0x0037: text, 0x1000: f"{text}.\r\n"}
    if codepage is not None:
        values[0x3FFD] = codepage
    document = own(msg(values, charset=charset))

    assert document.metadata.title == text
    assert document.text.endswith(f"{text}.")


def test_the_html_is_read_where_there_is_no_text_or_where_that_says_next_to_nothing() -> None:
    page = f"<p>In <b>markup</b>, größer. {'And more. ' * 40}</p>".encode("cp1252")
    marked: Values = {0x0037: "x", 0x1013: page, 0x3FDE: 1252}

    assert "In markup, größer." in own(msg(marked)).text
    assert "In markup, größer." in own(msg({**marked, 0x1000: "See the HTML."})).text
    assert "markup" not in own(msg({**marked, 0x1000: "Plainly said. " * 20})).text


RTF = rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset129 Batang;}}\pard "
HTML = (
    RTF.replace(rb"\ansicpg", rb"\fromhtml1\ansicpg")
    + rb"{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Gr\'f6\'dfe {\*\htmltag84 &lt;}5 "
    rb"{\*\htmltag84 <b>}{\f1 \'c8\'b8\'c0\'c7}{\*\htmltag92 </b>}\htmlrtf\par}\htmlrtf0"
    rb"\uc1\u8212?x{\*\htmltag72 </p>}}"
)


def test_a_text_that_is_only_there_as_rtf_is_read() -> None:
    plain = RTF + rb"Gr\'f6\'dfe\par {\b bold}\tab {\f1 \'c8\'b8\'c0\'c7}\uc1\u8212?{\pict 0f0f}}"

    assert own(msg({0x0037: "x", 0x1009: packed_rtf(plain)})).text.endswith("Größe\nbold\t회의—")
    assert own(msg({0x0037: "x", 0x1009: packed_rtf(HTML)})).text.endswith("Größe <5 회의—x")


def test_rtf_is_unpacked_as_its_specification_shows() -> None:
    """The examples are those of [MS-OXRTFCP] 3."""
    first = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b0"
        "6c647d0a800fa0"
    )
    second = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")

    assert unpacked(first) == rb"{\rtf1\ansi\ansicpg1252\pard hello world}" + b"\r\n"
    assert unpacked(second) == rb"{\rtf1 WXYZWXYZWXYZWXYZWXYZ}"


def test_attachments_are_documents_read_as_what_they_are() -> None:
    attached: list[Values] = [
        {0x3701: b"# Notes\n\nMarmalade.\n", 0x3707: "long name.md", 0x3704: "LONGNA~1.MD"},
        {0x3701: b"def f(): pass\n", 0x3704: "F.PY"},
        {0x3701: b"Nameless.\n", 0x370E: "text/plain"},
        {0x3707: "empty.txt"},
        {0x3701: b"Subject: signed\n\nSealed.\n", 0x3707: "smime.p7m", 0x370E: "multipart/signed"},
    ]
    found = read(msg(ANN, attached=attached))

    assert {path: each.media for path, each in found.items()} == {
        "a.msg": "mail",
        "a.msg!/long name.md": "markdown",
        "a.msg!/F.PY": "code",
        "a.msg!/attachment-3.txt": "text",
        "a.msg!/smime.eml": "mail",
    }
    assert "\nAttachments: long name.md, F.PY, attachment-3.txt, empty.txt, smime.eml\n" in (
        found["a.msg"].text
    )
    assert found["a.msg"].warnings == ("empty.txt is not indexed: no bytes",)
    assert found["a.msg!/long name.md"].metadata.created == SENT


def test_a_message_that_is_attached_is_one_of_its_own_with_what_is_attached_to_it() -> None:
    note: Values = {0x3701: b"Deep down.\n", 0x3707: "note.txt"}
    inner = message_tree({0x0037: "Fwd: A/B", 0x1000: "Forwarded.", 0x0039: SENT}, attached=[note])
    data = msg(ANN, attached=[{0x3701: inner}])
    found = read(data)

    assert list(found) == ["a.msg", "a.msg!/Fwd: A_B.msg", "a.msg!/Fwd: A_B.msg!/note.txt"]
    assert found["a.msg!/Fwd: A_B.msg"].text.startswith("Subject: Fwd: A/B\nDate: 2026-11-21")
    assert found["a.msg!/Fwd: A_B.msg!/note.txt"].text == "Deep down.\n"
    assert enclosed_bytes("a.msg!/Fwd: A_B.msg!/note.txt", "a.msg", data) == b"Deep down.\n"


def test_an_object_of_another_program_is_told() -> None:
    (document,) = read(msg(ANN, attached=[{0x3701: {"CONTENTS": b"?"}, 0x3001: "chart"}])).values()

    assert document.warnings == ("chart is not indexed: it is an object of another program",)


def test_messages_within_messages_end_somewhere() -> None:
    inner = message_tree({0x0037: "The innermost", 0x1000: "Here."})
    for depth in range(60):
        inner = message_tree({0x0037: f"Level {depth}", 0x1000: "x"}, attached=[{0x3701: inner}])

    assert len(read(msg(ANN, attached=[{0x3701: inner}]))) == 4


def test_an_appointment_says_when_and_where() -> None:
    names = {(NAMED, 0x820D): 0x8001, (NAMED, 0x820E): 0x8002, (NAMED, 0x8208): 0x8003}
    values: Values = {
        0x001A: "IPM.Appointment",
        0x0037: "Stand-up",
        0x8001: SENT,
        0x8002: SENT.replace(hour=7),
        0x8003: "Room 7",
        0x1000: "Bring fish.",
    }

    assert own(msg(values, named=names)).text == (
        "Subject: Stand-up\nWhen: 2026-11-21 06:04-07:04 (UTC)\nWhere: Room 7\n\nBring fish."
    )


def test_a_task_and_a_contact_say_what_they_are_for() -> None:
    task: Values = {0x001A: "IPM.Task", 0x0037: "Mend the sledge", 0x8001: SENT, 0x8002: 1}
    due = {(TASK, 0x8105): 0x8001, (TASK, 0x811C): 0x8002}
    contact: Values = {
        0x001A: "IPM.Contact",
        0x0037: "Walter Walrus",
        0x3A16: "Floe Ltd",
        0x3A08: "+1 2345",
        0x3A1C: "+1 9",
        0x8001: "walter@example.org",
    }

    assert own(msg(task, named=due)).text == (
        "Subject: Mend the sledge\nDue: 2026-11-21\nStatus: completed"
    )
    assert own(msg(contact, named={(ADDRESS, 0x8083): 0x8001})).text == (
        "Subject: Walter Walrus\nOrganization: Floe Ltd\nPhone: +1 2345 (work); +1 9 (mobile)\n"
        "Email: walter@example.org"
    )


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (compound({"WordDocument": b"?"}), "unsupported", "it is no message of Outlook; saved"),
        (msg(ANN)[:600], "unreadable", "it is damaged"),
        (msg({}), "empty", "there is no text in it"),
    ],
)
def test_what_is_no_message_has_one_reason(data: bytes, reason: str, says: str) -> None:
    found = parse_whole(SourceFile(source_id="n", path="a.msg", media="mail"), data, SETTINGS)

    assert isinstance(found, Skip)
    assert found.reason == reason
    assert says in found.detail


def test_text_that_is_called_a_message_is_read_as_mail() -> None:
    assert "walrus" in own(b"Subject: Ice\n\nThe walrus.\n").text


def _whole() -> bytes:
    inner = message_tree({0x0037: "Fwd", 0x1000: "Forwarded.", 0x0039: SENT})
    return msg(
        {**ANN, 0x001A: "IPM.Appointment", 0x8001: SENT, 0x1009: packed_rtf(HTML)},
        receivers=[BOB, CY],
        attached=[{0x3701: inner}, {0x3701: b"# Notes\n", 0x3707: "notes.md"}],
        named={(NAMED, 0x820D): 0x8001},
    )


WHOLE = _whole()


@settings(deadline=None, max_examples=250)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_a_message_there_are_documents_or_one_reason(seed: int) -> None:
    file = SourceFile(source_id="n", path="a.msg", media="mail")
    found = parse_whole(file, harmed(WHOLE, seed), SETTINGS)

    for each in [] if isinstance(found, Skip) else found.documents:
        each.parsed.text.encode()


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_any_rtf_is_some_text(data: bytes, size: int) -> None:
    head = size.to_bytes(4, "little") * 2 + b"LZFu" + bytes(4)
    assert len(unpacked(head + data)) <= 17 * len(data)
    for known in (data, RTF + data, HTML[:-20] + data):
        text_of_rtf(known)[0].encode()


@pytest.mark.parametrize("piece", [b"{", b"}", b"{\\*\\htmltag ", b"\\u9?", b"\\'", b"\\bin9 "])
def test_a_long_rtf_of_one_thing_takes_no_time(piece: bytes) -> None:
    assert isinstance(text_of_rtf(HTML[:-1] + piece * 100_000)[0], str)
