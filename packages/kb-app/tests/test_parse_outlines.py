"""Outlines and boards are read as texts of office programs are."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import detect
from kb_app._media import parser_for
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile


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
        (b"{", "a.excalidraw", "no drawing"),
        (b"[1, {}]", "a.excalidraw", ""),
        (b'{"elements": [1, {"id": [], "type": "frame"}, {"text": 3}]}', "a.excalidraw", ""),
        (b"<mxfile><diagram", "a.drawio", "no XML"),
        (b"\x89PNG", "a.drawio", "no draw.io file"),
    ],
)
def test_what_is_damaged_is_refused_or_empty(data: bytes, name: str, told: str) -> None:
    document = parse(data, name)

    assert not document.text
    assert told in str(document.refused)


def test_a_sketch_is_read_frame_by_frame_and_arrows_say_what_they_join() -> None:
    def text(name: str, said: str, **more: object) -> dict[str, object]:
        return {"type": "text", "id": name, "text": said, **more}

    elements = [
        {"type": "frame", "id": "f", "name": "The  garden"},
        text("t1", "Peas and\nbeans", originalText="Peas and beans", frameId="f", containerId="b"),
        text("t2", "gone", isDeleted=True),
        text("t3", "By the wall", link="https://example.org/"),
        text("t4", "climb", containerId="a"),
        text("t5", "lonely", containerId="z"),
        {"type": "rectangle", "id": "b", "frameId": "f"},
        {"type": "arrow", "id": "a", "startBinding": {"elementId": "b"},
         "endBinding": {"elementId": "t3"}},
        {"type": "arrow", "id": "z", "startBinding": None},
    ]  # fmt: skip

    document = parse(
        json.dumps({"type": "excalidraw", "elements": elements}).encode(), "a.excalidraw"
    )

    assert kinds(document) == [
        ("paragraph", "By the wall"),
        ("heading", "The garden"),
        ("paragraph", "Peas and beans"),
        ("list_item", "Peas and beans – climb → By the wall"),
        ("paragraph", "lonely"),
    ]
    assert [each.target for each in document.links] == ["https://example.org/"]


_PAGE = """<mxGraphModel><root><mxCell id="0"/><mxCell id="1" parent="0"/>
<mxCell id="2" value="&lt;b&gt;Peas&lt;/b&gt;&lt;br&gt;&amp;amp; beans" vertex="1" parent="1"/>
<mxCell id="3" value="climb" edge="1" source="2" target="4"/>
<UserObject label="The wall" tooltip="of stone" id="4"><mxCell vertex="1" parent="1"/></UserObject>
<mxCell id="5" value="Grün" vertex="1"/></root></mxGraphModel>"""


def packed(page: str) -> str:
    """Return a page as draw.io saves it unless it is told otherwise."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return b64encode(deflater.compress(quote(page).encode()) + deflater.flush()).decode()


@pytest.mark.parametrize("pack", [str, packed])
@pytest.mark.parametrize("name", ["garden.drawio", "garden.dio"])
def test_a_diagram_is_read_page_by_page(pack: Callable[[str], str], name: str) -> None:
    file = f'<mxfile><diagram name="Beds">{pack(_PAGE)}</diagram><diagram name="B">x!</diagram>'

    document = parse(f"{file}</mxfile>".encode(), name)

    assert kinds(document) == [
        ("heading", "Beds"),
        ("paragraph", "Peas\n& beans"),
        ("paragraph", "The wall\nof stone"),
        ("paragraph", "Grün"),
        ("list_item", "Peas & beans – climb → The wall"),
        ("heading", "B"),
    ]
    assert document.warnings[0].startswith("page 2 is not read: it is damaged")
    assert parse(_PAGE.encode(), name).text.startswith("Peas")


def test_a_diagram_that_unpacks_to_too_much_costs_that_page() -> None:
    bomb = packed(f"<mxGraphModel><root>{' ' * 3_000_000}</root></mxGraphModel>")
    file = SourceFile(
        source_id="s", path="a.drawio", media="office", limits=ReadingLimits(unpacked_mb=1)
    )
    data = f"<mxfile><diagram name='A'>{bomb}</diagram></mxfile>".encode()

    document = parser_for("office")(FileContent(data), file)

    assert document.text == "A"
    assert "unpacked_mb" in document.warnings[0]


GPX = b"""<?xml version="1.0"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">
<metadata><name>Ridge</name><author><name>Ann</name></author><keywords>alps, june</keywords>
</metadata><wpt lat="47" lon="8"><name>Spring</name>
<desc>behind the &lt;b&gt;chapel&lt;/b&gt;</desc>
</wpt><trk><name>Morning walk</name><cmt>windy</cmt><trkseg>
<trkpt lat="47.1" lon="8.1"><ele>900</ele><time>2022-06-01T08:00:00Z</time></trkpt>
<trkpt lat="47.2" lon="8.2"><ele>950</ele><time>2022-06-01T10:12:30Z</time></trkpt>
</trkseg></trk></gpx>"""
KML = b"""<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>
<name>Huts</name><Folder><name>North</name><Placemark><name>Arven</name>
<description><![CDATA[Open in <b>summer</b>]]></description>
<ExtendedData><Data name="beds"><value>12</value></Data></ExtendedData>
<Point><coordinates>8.5,47.3,0</coordinates></Point></Placemark></Folder></Document></kml>"""


def test_of_a_track_there_is_what_it_is_called_and_when_it_was_walked() -> None:
    document = parse(GPX, "2022.gpx")

    assert kinds(document) == [
        ("list_item", "Spring · behind the chapel"),
        ("heading", "Morning walk"),
        ("paragraph", "windy · 2022-06-01 08:00 – 10:12 (UTC)"),
    ]
    assert document.metadata.title == "Ridge"
    assert document.metadata.tags == ("alps", "june")
    assert document.metadata.user["author"] == "Ann"
    assert str(document.metadata.created)[:10] == "2022-06-01"


def test_of_a_map_there_are_its_places_under_their_folders() -> None:
    document = parse(KML, "huts.kml")

    assert kinds(document) == [
        ("heading", "Huts"),
        ("heading", "North"),
        ("list_item", "Arven · Open in summer · beds: 12"),
    ]
    assert document.blocks[-1].heading_path == ("Huts", "North")


def test_a_file_beside_a_picture_is_what_is_written_about_it() -> None:
    packet = """<x:xmpmeta xmlns:x="adobe:ns:meta/">
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"
     xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:City="Busan"
     xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" crs:Exposure="+0.5">
    <dc:title><rdf:Alt><rdf:li xml:lang="x-default">{}</rdf:li></rdf:Alt></dc:title>
    <dc:subject><rdf:Bag><rdf:li>beds</rdf:li><rdf:li>Black Sea</rdf:li></rdf:Bag></dc:subject>
    </rdf:Description></rdf:RDF></x:xmpmeta>"""

    document = parse(packet.format("The garden").encode(), "trip/a.jpg.xmp")
    subject = next(line for line in packet.splitlines() if "<dc:subject>" in line)
    unnamed = parse(packet.replace(subject, "").format("a").encode(), "trip/a.jpg.xmp")
    cut_off = parse(packet.format("a").partition("<dc:subject>")[0].encode(), "trip/a.jpg.xmp")

    assert kinds(document) == [
        ("paragraph", "The garden"),
        ("paragraph", "Keywords: beds, Black Sea"),
    ]
    assert (document.metadata.title, document.metadata.tags) == (
        "The garden",
        ("beds", "Black Sea"),
    )
    assert (unnamed.text, unnamed.refused) == ("", None)
    assert cut_off.refused is not None
    assert cut_off.refused[0] == "unreadable"
