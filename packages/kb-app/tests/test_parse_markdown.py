"""Markdown: blocks, headings, links, titles."""

import tracemalloc
from textwrap import dedent

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats import markdown
from kb_app._media import parser_for
from kb_core.documents import ParsedDocument, SourceFile


def parse(text: str, path: str = "notes/2026-05-10 a note.md") -> ParsedDocument:
    file = SourceFile(source_id="s", path=path, media="markdown")
    return parser_for("markdown")(FileContent(text.encode()), file)


def blocks(text: str) -> list[tuple[str, int, str]]:
    document = parse(dedent(text).lstrip("\n"))
    return [(b.kind, b.level, document.text[b.start : b.end]) for b in document.blocks]


def test_blocks_are_the_text_as_it_stands() -> None:
    text = """
        # One

        A *paragraph*
        of two lines.

        > A quote
        > - with a list

        | a | b |
        |---|---|
        | 1 | 2 |

        ```py
        # no heading
        ```

            indented

        <div>
        html
        </div>

        Two
        ---
    """

    assert blocks(text) == [
        ("heading", 1, "# One"),
        ("paragraph", 0, "A *paragraph*\nof two lines."),
        ("quote", 0, "> A quote\n> - with a list"),
        ("table", 0, "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", 0, "```py\n# no heading\n```"),
        ("code", 0, "    indented"),
        ("html", 0, "<div>\nhtml\n</div>"),
        ("heading", 2, "Two\n---"),
    ]


def test_items_of_lists_are_blocks_and_nested_ones_too() -> None:
    text = """
        - one
          more

          a paragraph
        - two
          1. deep
             - deeper
          rest
        - [ ] task
    """

    assert blocks(text) == [
        ("list_item", 1, "- one\n  more\n\n  a paragraph"),
        ("list_item", 1, "- two"),
        ("list_item", 2, "  1. deep"),
        ("list_item", 3, "     - deeper\n  rest"),
        ("list_item", 1, "- [ ] task"),
    ]


def test_what_no_rule_claims_is_a_paragraph() -> None:
    assert blocks("[a]: b\n[c]: d\n\n***\n\nx\n") == [
        ("paragraph", 0, "[a]: b\n[c]: d"),
        ("paragraph", 0, "***"),
        ("paragraph", 0, "x"),
    ]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# Plain", "Plain"),
        ("## Closed ##", "Closed"),
        ("# With *stars*, `code` and [a link](b.md) {#id}", "With stars, code and a link"),
        ("# snake_case_name & [[Target|shown]]", "snake_case_name & shown"),
        ("Two\nlines\n===", "Two lines"),
        ("# 한국어 `x`", "한국어 x"),
        ("#hashtag\n\n# Real", "Real"),
        ("#### The first block", "The first block"),
    ],
)
def test_headings_lose_their_markup(source: str, title: str) -> None:
    assert parse(source).metadata.title == title


def test_a_heading_path_leads_from_the_outermost_heading() -> None:
    document = parse("# A\n\n### B\n\n## C\n\nx\n\n> # quoted\n\n- # in a list\n\n# D\n\ny\n")

    assert [(b.kind, b.heading_path) for b in document.blocks] == [
        ("heading", ("A",)),
        ("heading", ("A", "B")),
        ("heading", ("A", "C")),
        ("paragraph", ("A", "C")),
        ("quote", ("A", "C")),
        ("list_item", ("A", "C")),
        ("heading", ("D",)),
        ("paragraph", ("D",)),
    ]


def test_links_have_targets_texts_and_offsets() -> None:
    text = (
        "See [[Other Note|it]], [[x#part]], ![[image.png]] and [a *b* [c]](d/e%20f.md#x 'T').\n"
        "Not `[[code]]`, not \\[[escaped]], not [web](https://x.y), not [here](#there).\n"
        "\n    [[indented]]\n\n```\n[[fenced]]\n```\n\n[ref]: other.md\n[f]: <g h.md>\n"
    )

    links = parse(text).links

    assert [(link.kind, link.target, link.text) for link in links] == [
        ("wiki", "Other Note", "it"),
        ("wiki", "x#part", "x#part"),
        ("wiki", "image.png", "image.png"),
        ("markdown", "d/e%20f.md#x", "a *b* [c]"),
        ("markdown", "other.md", "ref"),
        ("markdown", "g h.md", "f"),
    ]
    assert all(text[link.start] == "[" for link in links)


def test_a_link_in_a_table_may_escape_its_bar() -> None:
    links = parse("| a |\n|---|\n| [[Target\\|shown]] |\n").links

    assert [(link.target, link.text) for link in links] == [("Target", "shown")]


@pytest.mark.parametrize(
    ("text", "path", "title"),
    [
        ("---\ntitle: From the front\n---\n# Heading\n", "a.md", "From the front"),
        ("# Heading\n\n# Another\n", "a.md", "Heading"),
        (
            "---\ntags: [x]\n---\n\n### Of any level, first\n\n# One\n",
            "a.md",
            "Of any level, first",
        ),
        (
            "<p align='center'>\n<b>X</b>\n</p>\n\n[![ci](a.svg)](b) ![](c)\n\n# Tool\n",
            "a.md",
            "Tool",
        ),
        ("#project #area/work\n\n# Plan\n", "a.md", "Plan"),
        ("intro\n\n# Heading\n", "a.md", "a"),
        ("![logo](a.png)\n\n## Shiny new things\n", "Obsidian 1.5.md", "Obsidian 1.5"),
        ("<!-- draft -->\n\n## Part\n\n# One\n", "a.md", "a"),
        ("- **The first line**\n\nmore\n", "Daily notes.md", "Daily notes"),
        ("text", "x/how_to_deploy.md", "how to deploy"),
        ("text", "x/daily-notes.md", "daily notes"),
        ("text", "2026-05-10-plan-b.md", "2026-05-10 plan b"),
        ("text", "UTF-8 and Rolls-Royce.md", "UTF-8 and Rolls-Royce"),
        ("text", "COVID-19.md", "COVID-19"),
        ("text", "Use_of_E-mail.md", "Use of E-mail"),
        ("x" * 300, "", "x" * 80),
        ("> **Quoted** words", "", "Quoted** words"),
        ("", "notes/2026-05-10 plan.md", "2026-05-10 plan"),
        ("   \n\n", ".md", ".md"),
    ],
)
def test_a_title_comes_from_the_nearest_source(text: str, path: str, title: str) -> None:
    assert parse(text, path).metadata.title == title


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one and #two/three, (no #four-5).\n#six", ["one", "two/three", "four-5", "six"]),
        (
            "# Heading #tagged\n\n- item #in-list\n\n> quote #quoted",
            ["tagged", "in-list", "quoted"],
        ),
        ("#y1984 #1984 #2024/05 #_x #-- #/ #a/", ["y1984", "2024/05", "_x", "a"]),
        ("#프로젝트 #été #हिन्दी", ["프로젝트", "été", "हिन्दी"]),
        ("#Same #same #SAME", ["Same"]),
        ("`#code` ``#more`` \\#escaped\n\n```\n#fenced\n```\n\n    #indented", []),
        ("a#b C# issue#5 https://x.org/#part http://x.org/", []),
        ("[see #link](b.md#part) [[Note#Heading|shown #too]] ![#alt](c.png)", []),
        ("<span style='color: #fff'>x</span> <!-- #hidden -->", []),
        ("#!/bin/sh # spaced (#in-brackets)", []),
        ("---\ntags: [Given, '#one']\n---\n#given #one #two", ["Given", "one", "two"]),
        ("---\nx: '#front'\n---\ntext", []),
        ("| a |\n|---|\n| #cell |", ["cell"]),
    ],
)
def test_tags_in_the_text(text: str, tags: list[str]) -> None:
    assert list(parse(text).metadata.tags) == tags


def test_lines_end_at_line_feeds_only() -> None:
    """Ruling R6: a carriage return, U+2028 and a form feed are characters of a line."""
    document = parse("a\rb\u2028c\x0cd\n# no\r# heading\n\0nul\n")

    assert [(b.kind, document.text[b.start : b.end]) for b in document.blocks] == [
        ("paragraph", "a\rb\u2028c\x0cd"),
        ("heading", "# no\r# heading"),
        ("paragraph", "\0nul"),
    ]


def test_windows_newlines_and_a_byte_order_mark_are_gone() -> None:
    file = SourceFile(source_id="s", path="a.md", media="markdown")
    data = "\ufeff---\r\ntitle: T\r\n---\r\n# A\r\nb\r\n".encode()
    document = parser_for("markdown")(FileContent(data), file)

    assert document.text == "---\ntitle: T\n---\n# A\nb\n"
    assert document.metadata.title == "T"


def test_very_many_lines_are_read_by_headings_and_blank_lines() -> None:
    text = "# A\nx\n\n" + "- y\n" * 100_001 + "## B\nz\n"

    document = parse(text)

    assert [b.kind for b in document.blocks][:2] == ["heading", "paragraph"]
    assert document.blocks[-1].heading_path == ("A", "B")
    assert document.warnings == ("more than 100000 lines: read by headings and blank lines",)


def test_of_very_many_headings_only_the_first_ones_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markdown, "_MOST_LINES", 10)
    monkeypatch.setattr(markdown, "_MOST_HEADINGS", 20)
    document = parse("# A\nx\n" * 20 + "# rest\ny\n\nz\n")

    assert [block.kind for block in document.blocks[-4:]] == ["heading", *["paragraph"] * 3]
    assert [block.heading_path for block in document.blocks[-3:]] == [("A",), (), ()]
    assert document.text[document.blocks[-2].start :].startswith("# rest\ny")
    assert "from line 41 on" in document.warnings[-1]


def test_a_note_that_says_do_not_edit_is_a_note() -> None:
    """Lesson 33."""
    assert blocks("Code generated by hand. DO NOT EDIT.\n")[0][0] == "paragraph"


def test_a_table_takes_no_memory_for_its_cells() -> None:
    row = "|" + " cell |" * 100 + "\n"
    text = row + "|" + "---|" * 100 + "\n" + row * 100
    parse(text[:2000])  # what any file needs is loaded
    tracemalloc.start()
    try:
        document = parse(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [block.kind for block in document.blocks] == ["table"]
    assert peak < 20 * len(text)
