"""Mails that are signed or encrypted: what can be read is, and what cannot is told."""

from __future__ import annotations

from base64 import encodebytes

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.sealed_mail import is_encrypted, signed_content, without_armour
from kb_app._media import parser_for
from kb_app.testing.outlook_files import Values, msg
from kb_core.documents import ParsedDocument, SourceFile

INSIDE = b"Content-Type: text/plain; charset=utf-8\r\n\r\nThe walrus sleeps.\r\n"
SIGNED, ENCRYPTED = "2a864886f70d010702", "2a864886f70d010703"
WARNING = "what it says is encrypted, or a part of it; save it decrypted"


def value(tag: int, *inside: bytes, is_open: bool = False) -> bytes:
    """Return a value with its length in front, or with its end marked."""
    data = b"".join(inside)
    if is_open:
        return bytes([tag, 0x80]) + data + b"\0\0"
    width = (len(data).bit_length() + 7) // 8
    length = bytes([len(data)]) if len(data) < 0x80 else bytes([0x80 + width])
    return (
        bytes([tag])
        + length
        + (len(data).to_bytes(width, "big") if width and len(data) >= 0x80 else b"")
        + data
    )


def sealed(kind: str, content: bytes, *, is_open: bool = False) -> bytes:
    """Return what S/MIME makes of a mail, as far as a reader looks at it."""
    half = len(content) // 2
    pieces = value(0x24, value(4, content[:half]), value(4, content[half:]), is_open=True)
    octets = pieces if is_open else value(4, content)
    within = value(0x30, value(6, b"data"), value(0xA0, octets, is_open=is_open), is_open=is_open)
    told = value(0x30, value(2, b"\1"), value(0x31), within, is_open=is_open)
    whole = value(0xA0, told, is_open=is_open)
    return value(0x30, value(6, bytes.fromhex(kind)), whole, is_open=is_open)


def read(body: bytes, kind: str = "application/pkcs7-mime", **headers: str) -> ParsedDocument:
    head = "Subject: Ice\n" + "".join(
        f"{name.replace('_', '-')}: {each}\n" for name, each in headers.items()
    )
    data = f"{head}Content-Type: {kind}\n\n".encode() + body
    file = SourceFile(source_id="s", path="a.eml", media="mail")
    return parser_for("mail")(FileContent(data), file)


@pytest.mark.parametrize("is_open", [False, True])
def test_what_smime_signed_as_a_whole_is_read(is_open: bool) -> None:
    body = encodebytes(sealed(SIGNED, INSIDE, is_open=is_open))

    document = read(body, Content_Transfer_Encoding="base64")

    assert document.text == "Subject: Ice\n\nThe walrus sleeps."
    assert not list(document.enclosures)


def test_what_smime_encrypted_is_told() -> None:
    body = encodebytes(sealed(ENCRYPTED, b"?"))

    document = read(body, Content_Transfer_Encoding="base64")

    assert document.text == "Subject: Ice"
    assert document.warnings == (WARNING,)


def test_what_is_called_signed_and_is_not_is_a_file_of_the_mail() -> None:
    document = read(b"words", "application/pkcs7-mime; name=smime.p7m")

    assert [each.name for each in document.enclosures] == ["smime.p7m"]


def test_what_pgp_encrypted_is_told_and_no_text() -> None:
    armour = b"-----BEGIN PGP MESSAGE-----\n\nhQEMA5\n=abcd\n-----END PGP MESSAGE-----\n"
    parts = (
        b"--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\n\n" + armour + b"--b--"
    )

    for document in (
        read(parts, "multipart/encrypted; boundary=b"),
        read(armour, "text/plain"),
    ):
        assert document.text == "Subject: Ice"
        assert document.warnings == (WARNING,)
        assert not list(document.enclosures)


def test_of_what_pgp_signed_the_words_are_read() -> None:
    signed = (
        b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nThe walrus sleeps.\n- -- \nAnn\n"
        b"-----BEGIN PGP SIGNATURE-----\n\niQEz\n=abcd\n-----END PGP SIGNATURE-----\n"
    )

    document = read(signed, "text/plain")

    assert document.text == "Subject: Ice\n\nThe walrus sleeps.\n-- \nAnn"
    assert not document.warnings


def test_a_mail_that_ends_in_the_middle_says_so_and_keeps_what_it_has() -> None:
    parts = (
        b"--b\n\nThe walrus\n--b\nContent-Type: text/plain; name=a.txt\n"
        b"Content-Transfer-Encoding: base64\n\nVGhlIGljZSBtZWx0\ncy4uL"
    )

    document = read(parts, "multipart/mixed; boundary=b")

    assert document.text == "Subject: Ice\nAttachments: a.txt\n\nThe walrus"
    assert [each.data for each in document.enclosures] == [b"The ice melts.."]
    assert document.warnings == ("it ends in the middle, so some of it may be missing",)


def test_why_a_mail_came_back_is_read() -> None:
    parts = (
        b"--b\n\nSorry.\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\n"
        b"Final-Recipient: rfc822; zed@example.net\nStatus: 5.1.1\n\n--b--"
    )

    assert "zed@example.net\nStatus: 5.1.1" in read(parts, "multipart/report; boundary=b").text


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 255))
@settings(deadline=None)
def test_no_bytes_are_too_strange(data: bytes, at: int, byte: int) -> None:
    whole = bytearray(sealed(SIGNED, INSIDE, is_open=bool(byte & 1)))
    whole[at % len(whole)] = byte
    for each in (data, bytes(whole), bytes(whole)[:at], b"\x30\x80" * 200 + data):
        signed_content(each)
        is_encrypted(each)


def test_armour_that_never_ends_stays_and_takes_no_time() -> None:
    text = "-----BEGIN PGP MESSAGE-----\n" * 2_000

    assert without_armour(text) == (text, False)


def test_what_is_signed_in_a_message_of_outlook_is_a_mail_within_it() -> None:
    values: Values = {
        0x3701: sealed(SIGNED, INSIDE),
        0x370E: "application/pkcs7-mime",
        0x3707: "s.p7m",
    }
    file = SourceFile(source_id="s", path="a.msg", media="mail")

    document = parser_for("mail")(FileContent(msg({0x0037: "Ice"}, attached=[values])), file)

    assert [(each.name, each.data) for each in document.enclosures] == [("s.eml", INSIDE)]
