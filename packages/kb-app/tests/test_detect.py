"""What files are taken for."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.code_language import language_of
from kb_app._ingest.judging.kinds import (
    Caps,
    Skip,
    check_medium,
    detect,
    detect_from_bytes,
)
from kb_app._ingest.making.parsing import judge_bytes
from kb_app._media import MEDIA, Medium
from kb_app.testing.compound_files import compound
from kb_app.testing.outlook_files import msg
from kb_app.testing.word_files import doc_tree
from kb_core.documents import SourceFile
from kb_core.ingest import SkipReason
from kb_core.media import Media


def said(path: str) -> str:
    kind = detect(path)
    return "" if kind is None else f"{kind.media}/{kind.code_lang or ''}"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ("a.md a.mdx d/A.MARKDOWN", "markdown/"),
        ("a.txt a.rst a.org a.adoc LICENSE requirements.txt d/README", "text/"),
        ("a.rs", "code/rust"),
        ("a.py a.pyi", "code/python"),
        ("a.ts", "code/typescript"),
        ("MODULE.bazel BUILD", "code/starlark"),
        ("a.podspec", "code/ruby"),
        ("de.po messages.pot", "code/gettext"),
        ("a.frag", "code/glsl"),
        ("a.qmd a.Rmd rules.mdc", "markdown/"),
        ("a.tsx", "code/tsx"),
        ("a.js a.mjs", "code/javascript"),
        ("a.jsx", "code/jsx"),
        ("a.go", "code/go"),
        ("A.java", "code/java"),
        ("a.kt build.gradle.kts", "code/kotlin"),
        ("a.c a.h", "code/c"),
        ("a.cc a.cpp a.hpp", "code/cpp"),
        ("a.cs", "code/csharp"),
        ("a.rb Gemfile", "code/ruby"),
        ("a.php", "code/php"),
        ("a.swift", "code/swift"),
        ("a.scala", "code/scala"),
        ("a.sh a.bash .bashrc", "code/shell"),
        ("a.sql", "code/sql"),
        ("a.html a.htm a.mhtml", "html/"),
        ("a.css", "code/css"),
        ("a.yaml a.yml", "code/yaml"),
        ("Dockerfile d/Dockerfile.dev api.dockerfile Dockerfile.go", "code/dockerfile"),
        ("d/dockerfile.go", "code/go"),
        ("Makefile.am justfile", "code/makefile"),
        ("makefile.py", "code/python"),
        ("basic.t", "code/perl"),
        ("a.toml Cargo.lock", "code/toml"),
        ("a.json", "code/json"),
        ("a.xml", "code/xml"),
        ("build.gradle", "code/gradle"),
        ("go.mod", "code/gomod"),
        ("Makefile a.mk GNUmakefile", "code/makefile"),
        ("CMakeLists.txt", "code/cmake"),
        ("a.tf", "code/terraform"),
        (".env .env.local", "code/dotenv"),
        ("a.ipynb", "notebook/"),
        ("a.csv a.tsv", "csv/"),
        ("a.pdf", "pdf/"),
        ("a.docx a.pptx a.xlsx a.odt", "office/"),
        ("a.eml", "mail/"),
        ("a.epub", "book/"),
        ("a.png a.JPG a.webp a.heic a.svg", "image/"),
        ("a.mp3 a.wav a.opus", "audio/"),
        ("a.mp4 a.webm", "video/"),
        ("a.xyz noextension .hidden a. .md", ""),
    ],
)
def test_a_name_says_what_a_file_is_made_of(paths: str, expected: str) -> None:
    assert {path: said(path) for path in paths.split()} == dict.fromkeys(paths.split(), expected)


def test_what_has_no_parser_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [media for media in Media if check_medium(media) is not None] == []
    monkeypatch.setitem(MEDIA, Media.VIDEO, Medium())

    skip = check_medium(Media.VIDEO)

    assert skip == Skip(SkipReason.UNSUPPORTED, "video is not indexed yet")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"#!/bin/sh\n", "code/shell"),
        (b"#!/usr/bin/env python3.12\n", "code/python"),
        (b"#!/usr/bin/env -S node --flag\n", "code/javascript"),
        (b"#! /usr/bin/perl -w\n", "code/perl"),
        (b"#!/opt/strange\n", "text/None"),
        (b"plain words\n", "text/None"),
        ("Größe".encode("cp1252"), "text/None"),
        ("日本語\n".encode("utf-16"), "text/None"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "None"),
        (b"%PDF-1.7\n", "pdf/None"),
        (b"\x89PNG\r\n\x1a\n\x00", "image/None"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><text>Walrus</text></svg>", "image/None"),
        (b"<?xml version='1.0'?>\n<!-- drawn -->\n<!DOCTYPE svg>\n<svg>", "image/None"),
        (b"<?xml version='1.0'?>\n<notes><svg/></notes>", "text/None"),
        (b"Received: from a\r\n\tby b\r\nDate: x\r\nSubject: Ice\r\n\r\nText", "mail/None"),
        (b"From - Tue Mar 05 10:00:00 2024\nX-Status: 1\nFrom: a\nMessage-ID: <1>\n", "mail/None"),
        (b"Title: x\nFrom: q\nDate: y\nReceived: two parcels\n", "text/None"),
        (b"From: Ann\nSubject: a note about mail\nDate: today\n\nText", "text/None"),
        (b"", "text/None"),
    ],
)
def test_the_first_bytes_say_what_a_name_does_not(head: bytes, expected: str) -> None:
    kind = detect_from_bytes(head)

    assert (f"{kind.media}/{kind.code_lang}" if kind else "None") == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"struct point { int x; };\nint area(const struct point *p);\n", "c"),
        (b"/* a class of things, and the namespace they are in */\n#include <stdio.h>\n", "c"),
        (b"#define HAS(flags, bit) ((flags) & (bit))\n", "c"),
        (b"#include <vector>\n", "cpp"),
        (b"class CORE_EXPORT Widget : public Object {\n", "cpp"),
        (b"class Pool\n{\n", "cpp"),
        (b"namespace a::b {\n", "cpp"),
        (b"  template <typename T>\n  T least(T a, T b);\n", "cpp"),
        (b"void take(const std::string& name);\n", "cpp"),
        (b"int total(const Row& row, int n);\n", "cpp"),
        (b"enum class Kind { kOne };\n", "cpp"),
        (b"#import <Foundation/Foundation.h>\n@interface Row : NSObject\n", "objc"),
        (b"#import <Foundation/Foundation.h>\n", "objc"),
        (b"#import <CoreFoundation/CoreFoundation.h>\nnamespace a {\n", "cpp"),
        (b"", "c"),
    ],
)
def test_a_header_is_of_the_language_that_it_is_written_in(data: bytes, expected: str) -> None:
    for path, known in (("a.h", expected), ("a.c", "c")):
        file = SourceFile(source_id="s", path=path, media="code", code_lang="c")
        judged = judge_bytes(file, data or b"\n", Caps())
        assert isinstance(judged, SourceFile)
        assert judged.code_lang == known


MATLAB = b"% Sums.\nfunction y = total(x)\n"


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("a.m", MATLAB, "matlab"),
        ("a.M", b"\xef\xbb\xbf" + b"## By whom.\n##\n\n" * 100 + MATLAB, "matlab"),
        ("a.m", b"clear all\nx = 1;\n", "matlab"),
        ("a.m", b"// Rows.\n#import <Foundation/Foundation.h>\n", "objc"),
        ("a.m", b"\n#include <math.h>\n@implementation Row\n", "objc"),
        ("a.mm", MATLAB, "objc"),
        ("a.ts", b"<?xml version='1.0'?>\n<!DOCTYPE TS>\n<TS/>\n", "gettext"),
        ("a.ts", b"export const a = 1;\n", "typescript"),
        ("run.t", b"Rows are kept:\n\n  $ keep use\n  kept\n", None),
        ("run.t", b"use Test::More;\nok 1;\n", "perl"),
    ],
)
def test_a_name_of_several_languages_is_of_the_one_that_the_file_is_in(
    path: str, data: bytes, expected: str
) -> None:
    kind = detect(path)
    assert kind is not None

    file = SourceFile(source_id="s", path=path, media=kind.media, code_lang=kind.code_lang)
    judged = judge_bytes(file, data, Caps())

    assert isinstance(judged, SourceFile)
    assert judged.code_lang == expected


@pytest.mark.parametrize(
    ("head", "media"),
    [
        (
            b"<?xml version='1.0'?>\n<!DOCTYPE refentry PUBLIC '-//OASIS//DTD DocBook XML'>\n",
            "text",
        ),
        (b'<article xmlns="http://docbook.org/ns/docbook" version="5.0">', "text"),
        (b"<?xml version='1.0'?>\n<!-- Rows. -->\n<sect1 id='rows'>\n", "text"),
        (b"<?xml version='1.0'?>\n<project><section/></project>\n", "code"),
    ],
)
def test_a_manual_in_docbook_is_a_text(head: bytes, media: str) -> None:
    file = SourceFile(source_id="s", path="man/a.xml", media="code", code_lang="xml")

    judged = judge_bytes(file, head, Caps())

    assert isinstance(judged, SourceFile)
    assert (judged.media, judged.code_lang) == (media, "xml" if media == "code" else None)


@pytest.mark.parametrize(
    ("path", "media"),
    [("README.ru", "text"), ("etc/TUTORIAL.pl", "text"), ("readme.pl", "code"), ("CRC.cs", "code")],
)
def test_a_language_that_people_speak_is_no_language_of_code(path: str, media: str) -> None:
    kind = detect(path)

    assert kind is not None
    assert kind.media == media


@given(st.text(max_size=30), st.binary(max_size=200))
def test_no_name_and_no_bytes_are_too_strange(name: str, head: bytes) -> None:
    detect(name)
    detect_from_bytes(head)
    for extension, language in (("h", "c"), ("m", "objc"), ("ts", "typescript")):
        language_of(f"{name}.{extension}", language, head)


def test_files_of_before_2007_and_messages_of_outlook_need_no_extension() -> None:
    files = {
        "office": compound(doc_tree(["The walrus sleeps."])),
        "mail": msg({0x0037: "Ice", 0x1000: "The walrus sleeps."}),
    }
    for media, data in files.items():
        judged = judge_bytes(SourceFile(source_id="s", path="a", media="unknown"), data, Caps())

        assert isinstance(judged, SourceFile)
        assert judged.media == media


def zipped(*names: str, mimetype: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype, zipfile.ZIP_STORED)
        for name in names:
            archive.writestr(name, "The walrus sleeps.")
    return out.getvalue()


WORD = zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml")
BOOK = zipped("META-INF/container.xml", mimetype="application/epub+zip")
ARCHIVED = "unsupported: archives are not opened: unpack it; ingest.archives opens zip and tar"


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("report", WORD, "office"),
        ("report.2026-11-26", WORD, "office"),
        ("letter", b"{\\rtf1\\ansi Walrus}", "office"),
        ("letter.rtf", b"{\\rtf1\\ansi Walrus}", "office"),
        ("notes.txt", b"{\\rtf1\\ansi Walrus}", "text"),
        ("report.zip", WORD, ARCHIVED),
        ("sheet", zipped("_rels/.rels", "xl/workbook.xml"), "office"),
        ("slides", zipped("[Content_Types].xml", "ppt/presentation.xml"), "office"),
        ("text", zipped(mimetype="application/vnd.oasis.opendocument.text"), "office"),
        ("novel", BOOK, "book"),
        ("novel.ZIP", BOOK, ARCHIVED),
        ("sources", zipped("src/word/a.c", "[Content_Types].xml"), ARCHIVED),
        ("a.txt", b"%PDF-1.7\n" + bytes(99), "binary: not text: it begins like a PDF; rename it"),
        ("a.md", WORD, "binary: not text: it begins like an office file; rename it"),
        (
            "a.py",
            b"\x89PNG\r\n" + bytes(9),
            "binary: not text: it begins like a picture; rename it",
        ),
        ("a.txt", zipped("a.c"), ARCHIVED),
        ("a.txt", bytes(99), "binary: not text"),
    ],
)
def test_a_file_without_its_name_is_read_as_what_it_begins_like(
    path: str, data: bytes, expected: str
) -> None:
    kind = detect(path)
    lang = kind.code_lang if kind else None
    file = SourceFile(
        source_id="s", path=path, media=kind.media if kind else "unknown", code_lang=lang
    )
    judged = judge_bytes(file, data, Caps())

    told = f"{judged.reason}: {judged.detail}" if isinstance(judged, Skip) else judged.media
    assert told == expected
