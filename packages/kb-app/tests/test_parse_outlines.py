"""Outlines and boards are read as texts of office programs are."""

from __future__ import annotations

import json

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import detect
from kb_app._media import parser_for
from kb_core.documents import ParsedDocument, SourceFile


def parse(data: bytes, name: str) -> ParsedDocument:
    kind = detect(name)
    assert kind is not None
    file = SourceFile(source_id="notes", path=name, media=kind.media)
    return parser_for(kind.media)(FileContent(data), file)


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


def test_an_outline_has_headings_items_notes_and_links() -> None:
    document = parse(
        b"""<?xml version="1.0" encoding="UTF-8"?>
        <opml version="2.0"><head><title>The garden</title><ownerName>Ann</ownerName>
        <dateCreated>2024-05-06T07:08:09Z</dateCreated></head><body>
        <outline text="Spring"><outline text="Sow &amp; water" _note="Peas first."/>
        <outline text="Seeds" type="rss" xmlUrl="https://example.org/feed"/></outline>
        <outline text="Rest"/></body></opml>""",
        "garden.opml",
    )

    assert kinds(document) == [
        ("heading", "Spring"),
        ("list_item", "Sow & water"),
        ("paragraph", "Peas first."),
        ("list_item", "Seeds"),
        ("list_item", "Rest"),
    ]
    assert document.has_lines
    assert document.metadata.title == "The garden"
    assert document.metadata.user["author"] == "Ann"
    assert str(document.metadata.created)[:10] == "2024-05-06"
    assert [each.target for each in document.links] == ["https://example.org/feed"]


def test_a_board_is_read_group_by_group_from_the_top() -> None:
    def card(name: str, x: int, y: int, **said: object) -> dict[str, object]:
        return {"id": name, "x": x, "y": y, "width": 10, "height": 10, **said}

    board = {
        "nodes": [
            card("low", 0, 900, type="text", text="Last of all."),
            card("two", 120, 50, type="text", text="# Water\n\n- daily\n- at noon"),
            card("one", 110, 20, type="file", file="Notes/seeds.md", subpath="#Peas"),
            card("top", 0, 0, type="link", url="https://example.org/"),
            {"id": "g", "type": "group", "label": "Bed", "x": 100, "y": 10, "width": 200,
             "height": 100},
        ],
        "edges": [
            {"fromNode": "one", "toNode": "two", "label": "needs"},
            {"fromNode": "one", "toNode": "low"},
        ],
    }  # fmt: skip

    document = parse(json.dumps(board).encode(), "garden.canvas")

    assert kinds(document) == [
        ("paragraph", "https://example.org/"),
        ("paragraph", "Last of all."),
        ("heading", "Bed"),
        ("paragraph", "Notes/seeds.md#Peas"),
        ("heading", "Water"),
        ("list_item", "- daily"),
        ("list_item", "- at noon"),
        ("list_item", "Notes/seeds.md – needs → Water"),
    ]
    assert document.metadata.title == "garden"
    assert [each.target for each in document.links] == ["https://example.org/"]


@pytest.mark.parametrize(
    ("data", "name", "told"),
    [
        (b"<opml><body>", "a.opml", "no XML"),
        (b"<opml><body>" + b"<outline>" * 3_000 + b"</outline>" * 3_000, "a.opml", "no XML"),
        (b"{", "a.canvas", "no board"),
        (b"[" * 100_000, "a.canvas", "nested too deeply"),
        (b'{"nodes": [1, {"id": 1}, {"id": "a", "x": "b", "y": null, "text": 3}]}', "a.canvas", ""),
        (b'{"nodes": {"a": 1}, "edges": 3}', "a.canvas", ""),
        (b"\xff\xfe", "a.canvas", "no board"),
    ],
)
def test_what_is_damaged_is_refused_or_empty(data: bytes, name: str, told: str) -> None:
    document = parse(data, name)

    assert not document.text
    assert told in str(document.refused)
