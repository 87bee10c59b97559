"""Slides of PowerPoint 97 to 2003: read as those of later versions are."""

from __future__ import annotations

import struct
import time

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_app.testing.compound_files import compound, harmed
from kb_app.testing.powerpoint_files import S, ppt, ppt_tree, record, shape, table, text
from kb_app.testing.word_files import summary
from kb_core.citations import PageSpan
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile


def parse(data: bytes, most: int = 100) -> ParsedDocument:
    limits = ReadingLimits(pages=most)
    file = SourceFile(source_id="notes", path="talk.ppt", media="office", limits=limits)
    document = parser_for("office")(FileContent(data), file)
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    return document


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


TALK = [
    S(
        shapes=[
            shape(1),
            shape(0),
            shape(text(4, "In a box,\x0bon two lines")),
            shape(text(4, "7"), placeholder=8),
            table(["Month", "Fish"], ["May", "2"]),
        ],
        outline=[text(0, "The walrus"), text(1, "sleeps\rdreams", narrow=True)],
        notes="Say this.",
        comment=("Ann", "Why?"),
    ),
    S(shapes=[shape(text(6, "Größe – 안녕"))], is_hidden=True),
]


def test_a_cell_as_wide_or_tall_as_several_leaves_the_others_in_their_columns() -> None:
    rows = table(["Month", "Fish", "Port"], ["May", None, "Oslo"], [None, "2", "Rome"])

    document = parse(ppt([S([rows])]))

    assert document.text == "Month\tFish\tPort\nMay\t\tOslo\n\t2\tRome"


def test_a_slide_is_a_page_with_its_title_shapes_tables_comments_and_notes() -> None:
    document = parse(ppt(TALK))

    assert kinds(document) == [
        ("heading", "The walrus"),
        ("paragraph", "sleeps\ndreams"),
        ("paragraph", "In a box,\non two lines"),
        ("table", "Month\tFish\nMay\t2"),
        ("comment", "Ann: Why?"),
        ("note", "Say this."),
        ("heading", "Größe – 안녕"),
    ]
    assert [place.span for place in document.places] == [
        PageSpan(1, section="The walrus"),
        PageSpan(2, section="Größe – 안녕 (hidden)"),
    ]
    assert document.metadata.title == "The walrus"
    assert document.metadata.user["hidden_slides"] == [2]


def test_what_was_saved_last_is_read() -> None:
    before = [[S(shapes=[shape(text(0, "A draft"))])] * 3, [S(), S()]]

    assert parse(compound(ppt_tree(TALK, earlier=before))).text == parse(ppt(TALK)).text


def test_a_text_of_the_outline_that_no_shape_shows_is_read() -> None:
    slide = S(outline=[text(0, "Title"), text(1, "Body")])

    assert kinds(parse(ppt([slide]))) == [("heading", "Title"), ("paragraph", "Body")]


def test_slides_are_found_where_the_list_of_places_is_lost() -> None:
    slides = [
        S(shapes=[shape(text(0, "One"))]),
        S(shapes=[shape(0)], outline=[text(4, "Two")]),
    ]
    without = {**ppt_tree(slides), "Current User": b""}

    assert parse(compound(without)).text == "One\n\nTwo"


def test_what_slides_say_of_themselves_is_kept() -> None:
    told = parse(compound({**ppt_tree(TALK), **summary({2: "About ice", 4: "Ann"})})).metadata

    assert (told.title, told.user["author"]) == ("About ice", "Ann")


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (ppt(TALK, locked=True), "encrypted", "save it as .pptx"),
        (compound({"PowerPoint Document": b"?" * 99}), "unsupported", "before 97; save them as"),
    ],
)
def test_what_cannot_be_read_has_one_reason(data: bytes, reason: str, says: str) -> None:
    refused = parse(data).refused

    assert refused is not None
    assert refused[0] == reason
    assert says in refused[1]


def test_more_slides_than_allowed_are_refused() -> None:
    assert parse(ppt(TALK), most=1).refused == ("too_large", "2 slides; [limits] pages is 1")


def _repeated(slide: S, times: int) -> bytes:
    """Return a file with a slide that is listed so many times."""
    stream = bytes(ppt_tree([slide])["PowerPoint Document"]).rstrip(b"\0")  # type: ignore[arg-type]
    document = len(stream)
    listed = record(0x03F3, struct.pack("<5I", 2, 0, 0, 256, 0)) * times
    stream += record(0x03E8, record(0x0FF0, listed))
    directory = len(stream)
    stream += record(0x1772, struct.pack("<III", 2 << 20 | 1, document, 0))
    user = record(0x0FF6, struct.pack("<III", 20, 0xE391C05F, len(stream)))
    stream += record(0x0FF5, struct.pack("<7I", 0, 0, 0, directory, 1, 0, 0))
    return compound({"PowerPoint Document": stream, "Current User": user})


def test_a_thousand_slides_at_one_place_are_no_more_than_the_file() -> None:
    data = _repeated(S(shapes=[shape(text(4, "walrus " * 10_000))]), 1_000)
    found = parse(data, most=2_000)

    assert 70_000 < len(found.text) < 2 * len(data)
    assert found.warnings == ("it is damaged: some of its slides are missing",)


def test_records_that_are_listed_again_and_again_are_read_no_more_than_twice() -> None:
    began = time.process_time()
    refused = parse(_repeated(S(shapes=[shape(text(4, ""))] * 2_000), 5_000), most=9_000).refused

    assert refused == ("unreadable", "it is damaged: some of its slides are missing")
    assert time.process_time() - began < 10


def test_groups_within_groups_end_somewhere() -> None:
    group = shape(text(4, "deep"))
    for _ in range(3_000):
        group = record(0xF003, group)
    began = time.process_time()

    assert parse(ppt([S(shapes=[shape(text(0, "Top")), group])])).text == "Top"
    assert time.process_time() - began < 5


WHOLE = compound({**ppt_tree(TALK, earlier=[TALK[1:]]), **summary({2: "Ice"})})


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_slides_there_is_a_document_or_one_reason(seed: int) -> None:
    document = parse(harmed(WHOLE, seed))

    document.text.encode()
    assert document.refused is None or document.refused[1]


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=600), st.binary(max_size=40))
def test_any_records_are_a_document_or_one_reason(stream: bytes, user: bytes) -> None:
    whole = bytes(ppt_tree(TALK)["PowerPoint Document"])  # type: ignore[arg-type]
    for data in (stream, whole[:900] + stream, stream + whole):
        parse(compound({"PowerPoint Document": data, "Current User": user})).text.encode()
