"""Plain texts: paragraphs, and headings of the formats that have certain ones."""

from textwrap import dedent

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_core.documents import SourceFile


def outline(text: str, path: str) -> list[tuple[str, tuple[str, ...], str]]:
    file = SourceFile(source_id="s", path=path, media="text")
    document = parser_for("text")(FileContent(dedent(text).lstrip("\n").encode()), file)
    return [
        (block.kind, block.heading_path, document.text[block.start : block.end])
        for block in document.blocks
    ]


def test_plain_text_has_paragraphs_and_no_headings() -> None:
    assert outline("TITLE\n=====\n\n* x\n\n\n  y\n", "a.txt") == [
        ("paragraph", (), "TITLE\n====="),
        ("paragraph", (), "* x"),
        ("paragraph", (), "  y"),
    ]


def test_restructured_text_has_underlined_titles() -> None:
    text = """
        =====
        Title
        =====

        Intro
        text.

        Part
        ----
        One.

        ------
        no title above a short line, a table: ===
        ==

        Other
        -----
    """

    assert [row for row in outline(text, "a.rst") if row[0] == "heading"] == [
        ("heading", ("Title",), "=====\nTitle\n====="),
        ("heading", ("Title", "Part"), "Part\n----"),
        ("heading", ("Title", "Other"), "Other\n-----"),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.org", "* One\ntext\n** Two\nmore\n*bold* text\n"),
        ("a.adoc", "= One\ntext\n== Two\nmore\n*bold* text\n"),
    ],
)
def test_marked_headings(path: str, text: str) -> None:
    assert [(kind, path) for kind, path, _ in outline(text, path)] == [
        ("heading", ("One",)),
        ("paragraph", ("One",)),
        ("heading", ("One", "Two")),
        ("paragraph", ("One", "Two")),
    ]


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("rfc_793.txt", "\n\n  The first line\nsecond\n", "rfc 793"),
        ("a.rst", ".. _ref:\n\nThe title\n=========\n", "The title"),
        ("a.rst", "Words first.\n\nA part\n======\n", "a"),
        ("a.adoc", ":toc:\n// comment\n\n= The title\n", "The title"),
        ("a.org", "words\n* One\n", "a"),
        ("a.org", "#+TITLE: The title\n* One\n", "The title"),
        ("a.adoc", "= The title\n", "The title"),
        ("notes/a.txt", "", "a"),
    ],
)
def test_titles(path: str, text: str, title: str) -> None:
    file = SourceFile(source_id="s", path=path, media="text")

    assert parser_for("text")(FileContent(text.encode()), file).metadata.title == title
