"""Locked files of office programs: opened by a password that is known, and by nothing else."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.settings import locked_hash
from kb_app._media import UNLOCKING, Extra, parser_for
from kb_app.testing.office_files import docx, xls, xlsx
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.media import Media

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
SAMPLE = SHARED / "formats" / "office" / "protected_passtika.xlsx"
SECRET = "quince-quince"
TEXT = docx("<w:p><w:r><w:t>The walrus inherits the piano.</w:t></w:r></w:p>")
SHEET = xlsx({"Keys": '<row><c t="inlineStr"><is><t>piano</t></is></c><c><v>4711</v></c></row>'})

WAY_OUT = "; name it in [[passwords]] or KEBAB_PASSWORDS_FILE"


@cache
def locked(data: bytes, password: str) -> bytes:
    """Return a file as Office locks it."""
    agile = pytest.importorskip("msoffcrypto.method.ecma376_agile").ECMA376Agile
    padded = io.BytesIO(data)
    with zipfile.ZipFile(padded, "a") as package:  # what is small it locks in a way of its own
        package.writestr("padding", random.Random(1).randbytes(10_000))
    padded.seek(0)
    return bytes(agile.encrypt(password, padded))


def parse(data: bytes, *passwords: str, path: str = "a.docx") -> ParsedDocument:
    file = SourceFile(
        source_id="s", path=path, media=Media.OFFICE, options={"passwords": passwords}
    )
    return parser_for(Media.OFFICE)(FileContent(data), file)


def test_a_locked_text_opens_with_the_password_that_fits() -> None:
    data = locked(TEXT, SECRET)

    assert parse(data, "wrong", SECRET).text == "The walrus inherits the piano."
    tried = "it is locked with a password, and none of 2 that are known opens it" + WAY_OUT
    assert parse(data, "wrong", "worse").refused == ("encrypted", tried)
    assert parse(data).refused == ("encrypted", "it is locked with a password" + WAY_OUT)
    assert SECRET not in repr(parse(data, "wrong", SECRET))


@pytest.mark.skipif(not SAMPLE.is_file(), reason="no samples here")
def test_what_excel_locked_opens() -> None:
    pytest.importorskip("msoffcrypto")
    document = parse(SAMPLE.read_bytes(), "tika", path="a.xlsx")

    assert document.refused is None
    assert document.text


def test_a_sheet_that_is_locked_against_changes_only_opens_without_a_password() -> None:
    assert "4711" in parse(locked(SHEET, "VelvetSweatshop"), path="a.xlsx").text


@pytest.mark.parametrize("cut", [600, 3000, -600])
def test_a_locked_file_that_is_damaged_has_one_reason(cut: int) -> None:
    refused = parse(locked(TEXT, SECRET)[:cut], SECRET).refused

    assert refused is not None
    assert refused[0] in {"encrypted", "unsupported", "unreadable"}


def test_what_is_locked_within_a_lock_is_refused() -> None:
    twice = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")

    assert (parse(twice, SECRET).refused or ("",))[0] == "encrypted"


def test_a_sheet_of_before_is_read_once_it_is_unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    calamine = pytest.importorskip("python_calamine")
    plain = xls({"Keys": [["piano", 4711.0]]})
    closed = plain[:512] + b"closed" + plain[518:]
    opened = calamine.CalamineWorkbook.from_filelike

    class Workbook:
        @staticmethod
        def from_filelike(file: io.BytesIO) -> object:
            if file.getvalue() == closed:
                raise calamine.PasswordError
            return opened(file)

    def unlocked(data: bytes, passwords: Sequence[str]) -> bytes:
        assert (data, tuple(passwords)) == (closed, (SECRET,))
        return plain

    monkeypatch.setattr(calamine, "CalamineWorkbook", Workbook)
    monkeypatch.setattr("kb_app._ingest.making.formats.office.old.unlocked", unlocked)

    assert "4711" in parse(closed, SECRET, path="a.xls").text


def test_without_the_extra_a_password_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Extra("office", ("no_such_module",))
    monkeypatch.setattr("kb_app._ingest.making.formats.office.locked.UNLOCKING", absent)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")

    assert parse(head).refused == ("encrypted", "it is locked with a password" + WAY_OUT)
    said = "it is locked with a password; files with a password need the extra office"
    assert parse(head, SECRET).refused == ("encrypted", said)


def test_locked_files_are_tried_again_once_there_is_what_opens_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = SourceFile(source_id="s", path="a.docx", media=Media.OFFICE)
    hashes = set()
    for modules in (("no_such_module",), ("json",)):
        extra = Extra("office", modules, ("pytest",))
        monkeypatch.setattr("kb_app._ingest.settings.UNLOCKING", extra)
        hashes.add(locked_hash(file, SETTINGS))

    assert len(hashes) == 2
    assert UNLOCKING.name == "office"
