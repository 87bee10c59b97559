"""The table of media: what a file gets by its row, what is loaded for it, what it is worth."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name

import pytest

from kb_app import _media
from kb_app._ingest import settings
from kb_app._ingest.judging import decode
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import Skip, check_medium
from kb_app._ingest.making import grammars
from kb_app._ingest.making.parsing import judge_bytes, parse
from kb_app._ingest.making.versions import BY_NAME, CHUNKERS, PARSERS
from kb_app._ingest.settings import settings_hash
from kb_app._media import MEDIA, Extra, Medium, chunker_for, parser_for, parser_version
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.media import Media
from kb_core.ports import Content

HEAVY = ("markdown_it", "tree_sitter", "py3langid", "numpy", "yaml", "charset_normalizer")


@pytest.mark.parametrize(
    ("media", "code_lang", "version"),
    [
        ("markdown", None, "markdown-3"),
        ("text", None, "text-10"),
        ("code", "python", "code-10"),
        ("code", "jsx", "code-10"),
        ("code", "shell", "code-10"),
        ("code", "yaml", "outline-8"),
        ("code", "json", "text-10"),
        ("code", None, "text-10"),
    ],
)
def test_every_file_has_a_parser(media: str, code_lang: str | None, version: str) -> None:
    assert parser_for(media, code_lang).version == version


@pytest.mark.parametrize("media", Media)
def test_every_medium_has_a_chunker(media: str) -> None:
    assert chunker_for(media).version


def test_the_versions_that_an_installation_tells_are_those_of_what_reads() -> None:
    """``kebab schema`` and runs with nothing to do tell them without loading a parser."""
    later = [each.parser for row in MEDIA.values() for each in row.later.values()]
    parsers = [row.parser for row in MEDIA.values() if row.parser] + [*grammars.PARSERS.values()]
    chunkers = [row.chunker for row in MEDIA.values()]

    assert {BY_NAME[name] for name in parsers} == {*PARSERS}
    assert {BY_NAME[name] for name in chunkers} == {*CHUNKERS}
    assert BY_NAME.keys() == {*parsers, *chunkers, *later}
    assert {name: resolve_name(name).version for name in BY_NAME} == BY_NAME


def test_the_version_of_what_is_installed_is_told_as_its_installer_notes_it() -> None:
    installed = {dist.name: dist.version for dist in metadata.distributions()}

    told = {name: _media._noted_version(name) for name in installed}

    assert {name: said for name, said in told.items() if said not in {None, installed[name]}} == {}
    assert told["tantivy"] == installed["tantivy"]
    assert _media._version("kebab-of-nowhere") == "unknown"


def test_neither_the_table_nor_its_versions_load_a_library_or_a_parser() -> None:
    """Any run asks for these: of a folder with a single PDF, for those of every medium."""
    program = f"""
import sys
from kb_app._media import MEDIA, versions_of
assert all(map(versions_of, MEDIA))
assert {{"email", "kb_app._ingest.making.formats", "shutil"}}.isdisjoint(sys.modules)
sys.exit(", ".join(name for name in {HEAVY!r} if name in sys.modules) or 0)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_code_loads_no_library_of_texts() -> None:
    program = """
import sys
from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_core.documents import SourceFile
file = SourceFile(source_id="s", path="a.py", media="code", code_lang="python")
parser_for("code", "python")(FileContent(b"x = 1"), file)
sys.exit(", ".join(name for name in ("markdown_it", "py3langid") if name in sys.modules) or 0)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_every_medium_has_a_row() -> None:
    assert {str(media) for media in Media} == set(MEDIA)


def test_code_has_three_parsers() -> None:
    versions = {parser_version("code", code_lang) for code_lang in (None, *grammars.PARSERS)}

    assert versions == {"code-10", "outline-8", "text-10"}


@pytest.mark.parametrize(
    ("media", "code_lang", "expected"),
    [
        ("markdown", None, "6a4228cb79f76b9c"),
        ("text", None, "f69c4aee261761b3"),
        ("code", "python", "f71d8ae5948afbd4"),
        ("code", "yaml", "69c9047605823f20"),
        ("code", "json", "42ce7aac9b8b15b6"),
    ],
)
def test_a_fingerprint_is_that_of_the_versions_before(
    media: str, code_lang: str | None, expected: str
) -> None:
    """Where one changes, every file of its kind is parsed again after the upgrade."""
    file = SourceFile(source_id="s", path="a", media=media, code_lang=code_lang)

    assert settings_hash(file, SETTINGS)[:16] == expected


def test_what_may_be_conversations_is_read_again_with_code_too() -> None:
    """A file of such a name that holds none is code."""
    chats, mail = (
        SourceFile(source_id="s", path=name, media="mail") for name in ("result.json", "a")
    )

    assert settings_hash(chats, SETTINGS) != settings_hash(mail, SETTINGS)
    of_whatsapp, text = (
        SourceFile(source_id="s", path=name, media="text") for name in ("chat.txt", "a.rst")
    )
    assert settings_hash(of_whatsapp, SETTINGS) != settings_hash(text, SETTINGS)


def test_a_file_that_only_its_bytes_tell_is_read_again_when_there_is_a_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was skipped, and its name says as little as before."""
    file = SourceFile(source_id="s", path="a", media="unknown")
    monkeypatch.setitem(sys.modules, "made_up", sys.modules[__name__])
    monkeypatch.setattr(settings, "_hash", settings._hash.__wrapped__)
    before = settings_hash(file, SETTINGS)

    monkeypatch.setitem(MEDIA, Media.PDF, Medium(parser="made_up:Unpacked"))

    assert settings_hash(file, SETTINGS) != before


def test_a_text_is_decoded_once_and_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    whole = decode.decode

    def told(data: bytes) -> decode.Decoded:
        asked.append(data)
        return whole(data)

    monkeypatch.setattr(decode, "decode", told)
    content = FileContent("Größe\r\r\n".encode("cp1252"))
    file = SourceFile(source_id="s", path="a.md", media="markdown")

    assert asked == []
    document = parse(file, content, SETTINGS)
    assert isinstance(document, ParsedDocument)
    assert document.text == content.text == "Größe\r\n"
    assert asked == [content.data]


def test_what_decoding_lost_is_a_warning_of_the_document() -> None:
    data = b"# x \xff\n" + "äöü ".encode() * 20
    file = SourceFile(source_id="s", path="a.md", media="markdown")
    document = parse(file, FileContent(data), SETTINGS)

    assert isinstance(document, ParsedDocument)
    assert document.warnings == ("encoding: 1 places were not utf-8 and were replaced",)


class Unpacked:
    """``Parser`` of a made-up format: some bytes that are no text, then UTF-8."""

    version = "unpacked-1"

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        text = content.data.partition(b"\0\xff\0")[2].decode("utf-8", "replace")
        return ParsedDocument(text=text, media=file.media, parser_version=self.version)


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> SourceFile:
    """Return a file of a medium whose bytes are no text."""
    monkeypatch.setitem(sys.modules, "made_up", sys.modules[__name__])
    monkeypatch.setitem(MEDIA, Media.IMAGE, Medium(parser="made_up:Unpacked"))
    return SourceFile(source_id="s", path="a.png", media=Media.IMAGE)


def test_bytes_that_are_no_text_reach_their_parser_as_they_are(unpacked: SourceFile) -> None:
    data = bytes(range(256)) * 9 + b"\0\xff\0walrus"
    document = parse(unpacked, FileContent(data), SETTINGS)

    assert judge_bytes(unpacked, data, SETTINGS.caps) == unpacked
    assert isinstance(document, ParsedDocument)
    assert document.text == "walrus"


def test_a_secret_is_looked_for_in_what_was_parsed(unpacked: SourceFile) -> None:
    random_letters = base64.b64encode(hashlib.blake2b(b"walrus").digest())
    secret = b"-----BEGIN RSA " + b"PRIVATE KEY-----\n" + random_letters
    hidden = parse(unpacked, FileContent(secret + b"\0\xff\0walrus"), SETTINGS)
    told = parse(unpacked, FileContent(b"\0\xff\0walrus\n" + secret), SETTINGS)

    assert isinstance(hidden, ParsedDocument)
    assert isinstance(told, Skip)
    assert told.reason == "secret_suspected"


def test_a_medium_without_its_extra_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for modules in (("json",), ("json", "no_such_module_anywhere")):
        row = Medium(parser="made_up:Unpacked", extra=Extra("ocr", modules))
        monkeypatch.setitem(MEDIA, Media.IMAGE, row)
        installed = len(modules) == 1
        told = Skip(
            "missing_extra:ocr",
            "image needs the extra 'ocr': in kebab's folder: pip install 'packages/kb-cli[ocr]'",
        )

        assert check_medium(Media.IMAGE) == (None if installed else told)


def test_another_version_of_its_extra_reads_a_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    row = Medium(parser="kb_app._ingest.making.formats.text:TextParser", extra=Extra("x", ("eye",)))
    monkeypatch.setitem(MEDIA, Media.IMAGE, row)
    monkeypatch.setattr(settings, "_hash", settings._hash.__wrapped__)
    file = SourceFile(source_id="s", path="a.png", media=Media.IMAGE)
    hashes = []
    for version in ("1.0", "1.1", "1.0"):
        info = tmp_path / "eye.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: eye\nVersion: {version}\n")
        _media._version.cache_clear()
        hashes.append(settings_hash(file, SETTINGS))

    assert hashes[0] != hashes[1]
    assert hashes[0] == hashes[2]
    assert row.extra is not None
    assert row.extra.version == "eye-1.0"
    _media._version.cache_clear()


class Told:
    """``Parser`` of a made-up format that says what it was told."""

    version = "told-1"

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        said = f"listen for {file.options.get('languages', 'anything')}"
        return ParsedDocument(text=said, media=file.media, parser_version=self.version)


def test_a_parser_is_told_what_is_set_for_its_medium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "made_up", sys.modules[__name__])
    for media in (Media.AUDIO, Media.IMAGE):
        monkeypatch.setitem(MEDIA, media, Medium(parser="made_up:Told"))
    set_up = replace(SETTINGS, options={Media.AUDIO: {"languages": ["ko"]}})

    def said(media: str) -> str:
        document = parse(
            SourceFile(source_id="s", path="a", media=media), FileContent(b"x"), set_up
        )
        assert isinstance(document, ParsedDocument)
        return document.text

    assert said(Media.AUDIO) == "listen for ['ko']"
    assert said(Media.IMAGE) == "listen for anything"


@pytest.mark.parametrize(
    ("media", "is_another"), [("audio", True), ("mail", True), ("unknown", True), ("text", False)]
)
def test_what_a_parser_is_told_is_part_of_the_fingerprint(media: str, is_another: bool) -> None:
    file = SourceFile(source_id="s", path="a", media=media)
    hashes = {
        settings_hash(file, replace(SETTINGS, options={"audio": {"model": model, "threads": n}}))
        for model, n in (("base", 1), ("base", 2), ("tiny.en", 1))
    }

    assert len(hashes) == 1 + is_another  # never of the threads, which change nothing
