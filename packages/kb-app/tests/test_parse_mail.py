"""Mails and mailboxes: what a reader sees, what is within them, and what hostile bytes do."""

from __future__ import annotations

import mailbox
import random
from email.message import EmailMessage
from email.policy import SMTP, default
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.making.markup_text import text_of_html
from kb_app._ingest.making.parsing import Read, parse_whole
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ParsedDocument, SourceFile

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "mail"


def read(data: bytes, path: str = "a.eml") -> dict[str, ParsedDocument]:
    """Return the documents of a mail by path, the mail's own first."""
    found = parse_whole(SourceFile(source_id="notes", path=path, media="mail"), data, SETTINGS)
    assert not isinstance(found, Skip), found
    return {each.file.path: _checked(each) for each in found.documents}


def _checked(each: Read) -> ParsedDocument:
    text, end = each.parsed.text, 0
    for block in each.parsed.blocks:
        assert text[end : block.start].strip() == ""
        end = block.end
    assert text[end:].strip() == ""
    return each.parsed


def mail(body: str = "The walrus sleeps.\n", subject: str = "Ice", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Ann <ann@example.org>"
    message["To"] = "bob@example.org"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


def test_a_mail_is_its_headers_and_its_body() -> None:
    date = "Sat, 21 Nov 2026 15:04:05 +0900"
    (document,) = read(bytes(mail(Date=date, Message_ID="<1@example.org>"))).values()

    assert document.text == (
        "Subject: Ice\nFrom: Ann <ann@example.org>\nTo: bob@example.org\n"
        "Date: 2026-11-21 15:04:05+09:00\n\nThe walrus sleeps."
    )
    assert document.metadata.title == "Ice"
    assert document.metadata.created is not None
    assert document.metadata.created.isoformat() == "2026-11-21T06:04:05+00:00"
    assert document.metadata.user["message-id"] == "<1@example.org>"


def test_the_plain_text_is_taken_before_the_html_unless_it_says_next_to_nothing() -> None:
    both = mail("Plainly.\n")
    both.add_alternative("<p>In <b>markup</b>.</p>", subtype="html")
    poor = mail("See the HTML.\n")
    poor.add_alternative(f"<p>{'In markup. ' * 50}</p>", subtype="html")

    assert "markup" not in read(bytes(both))["a.eml"].text
    assert "In markup." in read(bytes(poor))["a.eml"].text


def test_html_alone_is_read_as_it_is_shown() -> None:
    message = mail()
    message.set_content(
        "<html><head><title>no</title><style>p{}</style></head><body><h1>Cooking</h1>"
        "<p>AT&amp;T &#128512; caf&eacute;<br>next</p><script>no()</script>"
        "<table><tr><td>one</td><td>two</td></tr></table><ul><li>a<li>b</ul>"
        "<div style='display:none'>preheader</div><pre>a\n  b</pre></body></html>",
        subtype="html",
    )

    body = read(bytes(message))["a.eml"].text.partition("\n\n")[2]

    expected = "Cooking\n\nAT&T 😀 café\nnext\n\none\ttwo\n\n- a\n- b\n\na\n  b"
    assert body == expected


def test_attachments_are_documents_read_as_what_they_are() -> None:
    message = mail(Date="Sat, 21 Nov 2026 15:04:05 +0000")
    message.add_attachment("# Notes\n\nMarmalade.\n", subtype="markdown", filename="notes.md")
    message.add_attachment(b"def f(): pass\n", maintype="text", subtype="x-py", filename="f.py")
    message.add_attachment(b"PK\3\4", maintype="application", subtype="zip", filename="a.zip")
    message.add_attachment(mail("Forwarded.\n", subject="Fwd: A/B"))
    found = read(bytes(message))

    assert {path: each.media for path, each in found.items()} == {
        "a.eml": "mail",
        "a.eml!/notes.md": "markdown",
        "a.eml!/f.py": "code",
        "a.eml!/Fwd: A_B.eml": "mail",
    }
    assert "Attachments: notes.md, f.py, a.zip, Fwd: A/B.eml" in found["a.eml"].text
    (warning,) = found["a.eml"].warnings
    assert warning.startswith("a.zip is not indexed: archives are not opened: unpack it; ")
    created = found["a.eml!/notes.md"].metadata.created
    assert created is not None
    assert created.hour == 15


@pytest.mark.parametrize("name", ["plan.txt", "plan.pdf", "plan.xyz", "plan"])
def test_an_attachment_with_nothing_in_it_is_told(name: str) -> None:
    message = mail()
    message.add_attachment(b"", maintype="application", subtype="octet-stream", filename=name)
    found = read(bytes(message))

    assert list(found) == ["a.eml"]
    assert f"Attachments: {name}" in found["a.eml"].text
    assert found["a.eml"].warnings == (f"{name} is not indexed: no bytes",)


def test_what_is_quoted_and_the_signature_are_told_apart() -> None:
    body = "I agree.\n\n> Shall we?\n> Yes?\n\nBye.\n-- \nAnn\nExample Ltd\n"
    document = read(bytes(mail(body)))["a.eml"]

    kinds = [(block.kind, document.text[block.start : block.end]) for block in document.blocks]
    assert kinds[1:] == [
        ("paragraph", "I agree."),
        ("quote", "> Shall we?\n> Yes?"),
        ("paragraph", "Bye."),
        ("signature", "-- \nAnn\nExample Ltd"),
    ]


def test_lines_that_were_only_broken_to_fit_are_joined() -> None:
    data = (
        b"Subject: x\nContent-Type: text/plain; format=flowed\n\nOne long \nline.\nNext.\n-- \nA\n"
    )

    assert read(data)["a.eml"].text.endswith("One long line.\nNext.\n-- \nA")


def test_lines_of_a_quote_are_joined_and_blanks_that_only_break_lines_are_dropped() -> None:
    head = "Subject: x\nContent-Type: text/plain; charset=utf-8; format=flowed"
    quoted = f"{head}\n\n> One long \n> line.\n>> Who \n> Me \nNext.\n".encode()
    wide = f"{head}; DelSp=Yes\n\n\u9577\u3044 \n\u6587\u7ae0\n".encode()

    assert read(quoted)["a.eml"].text.endswith("\n\n> One long line.\n>> Who \n> Me \nNext.")
    assert read(wide)["a.eml"].text.endswith("\n\n\u9577\u3044\u6587\u7ae0")


def test_a_mail_of_apple_is_read_without_what_is_around_it() -> None:
    data = bytes(mail(Message_ID="<1@example.org>"))
    apple = f"{len(data)}  \n".encode() + data + b"<?xml version='1.0'?><plist/>"

    assert read(apple, "1.emlx")["1.emlx"].text.endswith("\n\nThe walrus sleeps.")


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("euc-kr", "cp949"), ("iso-8859-1", "cp1252"), ("made-up", "utf-8"), ("us-ascii", "utf-8")],
)
def test_a_charset_is_believed_as_far_as_it_goes(charset: str, codec: str) -> None:
    said = "Der Käse — 안녕" if codec == "utf-8" else "안녕하세요" if codec == "cp949" else "“Käse”"
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\n\n".encode()

    assert said in read(head + said.encode(codec))["a.eml"].text


@pytest.mark.parametrize(
    "head",
    [
        "Date: yesterday, perhaps\n",
        "Date: Mon, 99 Foo 99999 99:99:99 +9999\n",
        "Subject: =?utf-8?B?not base64?=\n",
        "Subject: =?made-up?Q?x?=\n",
        "From: @@@<<<>>>\n",
        "Content-Type: text/plain; charset=\n",
        "Content-Type: multipart/mixed\n",
        "Content-Transfer-Encoding: made-up\n",
        "Content-Disposition: attachment; filename*=x'y'%FF\n",
    ],
)
def test_what_is_wrong_with_one_header_costs_that_header(head: str) -> None:
    document = next(iter(read(f"{head}To: bob@example.org\n\nThe walrus.\n".encode()).values()))

    assert "walrus" in document.text or "Attachments" in document.text
    assert "bob@example.org" in document.text


def test_bytes_that_nobody_declared_are_decoded_in_headers() -> None:
    document = read("Subject: Größe und Käse\nFrom: Jörg\n\nx\n".encode())["a.eml"]

    assert document.metadata.title == "Größe und Käse"


def test_a_mailbox_is_a_document_for_each_mail_called_by_its_id(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box.mbox")
    for number in range(3):
        identity = f"<{number % 2}/x@example.org>"
        box.add(mail(f"From the start, number {number}.\n\nFrom here on.\n", Message_ID=identity))
    box.add(mail("Without an id.\n"))
    box.close()
    found = read((tmp_path / "box.mbox").read_bytes(), "box.mbox")

    own, *mails = found
    assert (own, found[own].text) == ("box.mbox", "")
    assert mails[:3] == [
        "box.mbox!/0_x@example.org.eml",
        "box.mbox!/1_x@example.org.eml",
        "box.mbox!/0_x@example.org (2).eml",
    ]
    assert len(mails) == 4
    assert "\nFrom the start, number 2." in found[mails[2]].text
    assert "\nFrom here on." in found[mails[2]].text


def test_one_mail_that_was_saved_with_its_envelope_is_a_mail() -> None:
    data = b"From a@b Sat Jan  3 01:05:34 2026\n" + bytes(mail())

    assert list(read(data, "a.eml")) == ["a.eml"]
    assert "walrus" in read(data, "a.eml")["a.eml"].text
    assert len(read(data, "a.mbox")) == 2


def test_a_mail_that_comes_to_a_mailbox_changes_no_other_path() -> None:
    def box(*numbers: int) -> bytes:
        return b"".join(
            b"From a@b Sat Jan  3 01:05:34 2026\n" + bytes(mail(f"{n}\n", Message_ID=f"<{n}@x>"))
            + b"\n" for n in numbers
        )  # fmt: skip

    before, after = read(box(1, 2), "m.mbox"), read(box(7, 2, 9), "m.mbox")

    assert set(before) & set(after) == {"m.mbox", "m.mbox!/2@x.eml"}
    created = before["m.mbox!/1@x.eml"].metadata.created
    assert created is None or created.year == 2026


def test_mails_within_mails_end_somewhere() -> None:
    message = mail("The innermost.\n")
    for depth in range(30):
        outer = mail(f"Level {depth}.\n")
        outer.add_attachment(message)
        message = outer
    found = read(bytes(message))

    assert len(found) == 4
    assert any("files deep" in warning for each in found.values() for warning in each.warnings) or (
        "files deep" in found["a.eml"].warnings[0]
    )


@pytest.mark.parametrize("depth", [60, 3000])
def test_parts_within_parts_end_somewhere(depth: int) -> None:
    heads = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth)
    )
    found = parse_whole(
        SourceFile(source_id="n", path="a.eml", media="mail"),
        f"Subject: deep\n{heads}Content-Type: text/plain\n\nthe bottom\n".encode(),
        SETTINGS,
    )

    assert not isinstance(found, Skip)
    assert found.documents[0].parsed.warnings


def test_a_thousand_attachments_of_one_name_are_a_thousand_documents() -> None:
    message = mail()
    for number in range(200):
        message.add_attachment(f"Number {number}.\n", filename="same.txt")

    assert len(read(bytes(message))) == 201


@pytest.mark.parametrize("data", [bytes(mail(policy_body)) for policy_body in ("a\n", "ä\n")])
def test_line_ends_do_not_matter(data: bytes) -> None:
    crlf = data.replace(b"\n", b"\r\n")

    assert read(crlf)["a.eml"].text == read(data)["a.eml"].text


def _mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 30)):
        at = chance.randrange(len(changed))
        match chance.randrange(3):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                del changed[at : at + chance.randrange(200)]
            case _:
                changed[at:at] = changed[: chance.randrange(200)]
        if not changed:
            return b"\n"
    return bytes(changed)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_a_mail_there_are_documents_or_one_reason(seed: int) -> None:
    message = mail(Date="Sat, 21 Nov 2026 15:04:05 +0900", Message_ID="<1@x>")
    message.add_alternative("<p>In <b>markup</b>.</p>", subtype="html")
    message.add_attachment("# Notes\n", subtype="markdown", filename="Größe.md")
    message.add_attachment(mail("Forwarded.\n"))
    data = _mutated(message.as_bytes(policy=SMTP if seed % 2 else default), random.Random(seed))

    found: Any = parse_whole(SourceFile(source_id="n", path="a.eml", media="mail"), data, SETTINGS)

    for each in [] if isinstance(found, Skip) else found.documents:
        _checked(each)
        each.parsed.text.encode()


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet=st.sampled_from("<>/&;# abp\n\"'=!-"), max_size=200) | st.text())
def test_any_markup_is_some_text(source: str) -> None:
    assert text_of_html(source).strip("\n") == text_of_html(source)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_the_samples_say_what_is_known_of_them() -> None:
    found = read((SAMPLES / "multipart.eml").read_bytes(), "multipart.eml")
    own = found["multipart.eml"]
    assert own.metadata.title == "회의 일정 변경 – Treffen verschoben"
    assert "Date: 2026-11-21 15:04:05+09:00" in own.text
    assert "회의는 화요일 오후 3시로 옮깁니다." in own.text
    assert "Attachments: 예산.csv" in own.text
    assert "The forwarded body." in found["multipart.eml!/Inner message.eml"].text

    korean = read((SAMPLES / "euc-kr-html-only.eml").read_bytes())["a.eml"]
    assert korean.metadata.title == "안녕 café"
    assert "제목과 본문이 모두 EUC-KR입니다." in korean.text

    box = read((SAMPLES / "three.mbox").read_bytes(), "three.mbox")
    assert len(box) == 4
    assert all("\nFrom the start" in each.text for each in list(box.values())[1:])


EXPORT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export3.dtd">
<en-export application="Evernote"><note><title>Tar: "for" the deck</title><content><![CDATA[
<!DOCTYPE en-note SYSTEM "http://xml.evernote.com/pub/enml2.dtd"><en-note>
<div>Stockholm tar, <b>two</b> coats.</div><div><en-todo checked="true"/>sand</div>
<div><en-todo/>wax &amp; wait</div><en-media type="text/plain" hash="x"/></en-note>]]></content>
<created>20250131T101500Z</created><tag>boat</tag><tag>spring, late</tag>
<resource><data encoding="base64">QSB3YWxy\ndXMu</data><mime>text/plain</mime>
<resource-attributes><file-name>list.txt</file-name></resource-attributes></resource></note>
<note><title> </title><content>Just a line.</content></note></en-export>
"""


def test_notes_of_an_export_are_documents_and_so_is_what_is_attached() -> None:
    found = read(EXPORT.encode(), "old.enex")
    tar, attached, untitled = (
        found[f"old.enex!/{name}"] for name in ('Tar: "for" the deck.md', "list.txt", "Untitled.md")
    )

    assert next(iter(found)) == "old.enex"
    assert found["old.enex"].text == ""
    assert (tar.media, tar.metadata.title) == ("markdown", 'Tar: "for" the deck')
    assert tar.metadata.tags == ("boat", "spring, late")
    assert str(tar.metadata.created) == "2025-01-31 10:15:00+00:00"
    assert tar.text.endswith("Stockholm tar, two coats.\n[x] sand\n[ ] wax & wait\n")
    assert attached.text == "A walrus."
    assert untitled.text.endswith("Just a line.\n")


def test_headings_tables_and_code_of_a_note_are_those_of_markdown() -> None:
    page = (
        "<h2>Recipe</h2><table><tr><td>a</td><td>b | c</td></tr>"
        "<tr><td></td><td>2</td></tr></table>"
        "<pre>x  y</pre><ol><li>mix</li></ol><en-crypt hint='h'>abcd1234==</en-crypt>"
    )
    found = read(
        EXPORT.replace("Just a line.", f"<![CDATA[<en-note>{page}</en-note>]]>").encode(), "o.enex"
    )
    note = found["o.enex!/Untitled.md"]

    assert note.text.partition("---\n\n")[2] == (
        "## Recipe\n\n| a | b \\| c |\n|---|---|\n|  | 2 |\n\n"
        "```\nx  y\n```\n\n1. mix\n\n(encrypted)\n"
    )
    assert [block.kind for block in note.blocks][1:4] == ["heading", "table", "code"]


def test_an_export_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    found = read(EXPORT[: EXPORT.index("<note><title> <")].encode(), "old.enex")

    assert len(found) == 3
    (warning,) = found["old.enex"].warnings
    assert warning.startswith("notes are read as far as it is whole: ")


@pytest.mark.parametrize(
    "data",
    [
        b"no export",
        b"\0\1",
        EXPORT.replace("SYSTEM", "[<!ENTITY a 'b'>] ", 1).encode(),
        b"<en-export/>",
    ],
)
def test_what_is_no_export_is_left_alone_with_a_reason(data: bytes) -> None:
    file = SourceFile(source_id="notes", path="old.enex", media="mail")
    skip = parse_whole(file, data, SETTINGS)

    assert isinstance(skip, Skip)
    assert skip.reason in {"unreadable", "empty"}
    assert skip.detail


@given(st.integers(0, len(EXPORT)), st.binary(max_size=20))
def test_no_bytes_in_an_export_are_more_than_one_file_s_trouble(at: int, noise: bytes) -> None:
    data = EXPORT.encode()
    parse_whole(
        SourceFile(source_id="notes", path="old.enex", media="mail"),
        data[:at] + noise + data[at + len(noise) :],
        SETTINGS,
    )
