"""Slides: a page for each, with all that belongs to it, hidden ones included."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_app.testing.office_files import pptx
from kb_core.citations import PageSpan
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "office"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")


def parse(data: bytes, name: str = "talk.pptx", most: int = 100) -> ParsedDocument:
    limits = ReadingLimits(pages=most)
    file = SourceFile(source_id="notes", path=name, media="office", limits=limits)
    document = parser_for("office")(FileContent(data), file)
    assert not document.places or document.places[0].start == 0
    assert document.has_lines is not bool(document.places)
    return document


def sample(name: str) -> ParsedDocument:
    return parse((SAMPLES / name).read_bytes(), name)


def shape(*lines: str, kind: str = "") -> str:
    mark = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else ""
    said = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"<p:sp>{mark}<p:txBody>{said}</p:txBody></p:sp>"


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


def notes(text: str) -> tuple[str, str]:
    return "notesSlide", f"<p:spTree>{shape(text)}{shape('3', kind='sldNum')}</p:spTree>"


def test_a_slide_is_a_page_with_its_title_shapes_notes_and_comments() -> None:
    comment = '<p:cm authorId="0"><p:text>why?</p:text></p:cm>'
    first = shape("one", "two") + shape("The title", kind="title") + shape("7", kind="sldNum")
    document = parse(pptx([(first, [notes("say this"), ("comments", comment)])]))

    assert kinds(document) == [
        ("heading", "The title"),
        ("paragraph", "one\ntwo"),
        ("note", "say this"),
        ("comment", "Ann: why?"),
    ]
    assert [place.span for place in document.places] == [PageSpan(1, section="The title")]
    assert document.metadata.title == "The title"


def test_a_hidden_slide_is_read_and_flagged() -> None:
    slides: list[tuple[str, list[tuple[str, str]]]] = [
        (shape("seen"), []),
        ("hidden" + shape("Not seen", kind="ctrTitle"), []),
    ]
    document = parse(pptx(slides))

    assert [place.span for place in document.places] == [
        PageSpan(1),
        PageSpan(2, section="Not seen (hidden)"),
    ]
    assert document.metadata.user["hidden_slides"] == [2]
    assert document.blocks[0].heading_path == ()


def test_what_is_grouped_or_an_alternative_is_there_once() -> None:
    group = f"<p:grpSp>{shape('in a group')}<p:grpSp>{shape('deeper')}</p:grpSp></p:grpSp>"
    either = (
        f"<mc:AlternateContent><mc:Choice>{shape('new')}</mc:Choice>"
        f"<mc:Fallback>{shape('old')}</mc:Fallback></mc:AlternateContent>"
        "<mc:AlternateContent><mc:Choice><p:pic/></mc:Choice>"
        f"<mc:Fallback>{shape('all there is')}</mc:Fallback></mc:AlternateContent>"
    )

    text = parse(pptx([(group + either, [])])).text

    assert text == "in a group\n\ndeeper\n\nnew\n\nall there is"


def test_what_a_picture_is_said_to_show_is_a_paragraph() -> None:
    said = ("A walrus on the ice", "walrus.jpg", "")
    pictures = "".join(
        f'<p:pic><p:nvPicPr><p:cNvPr id="1" name="x" descr="{each}"/></p:nvPicPr></p:pic>'
        for each in said
    )

    assert parse(pptx([(shape("seen") + pictures, [])])).text == "seen\n\n[A walrus on the ice]"


def test_tables_charts_and_diagrams_say_what_they_show() -> None:
    cells = "".join(f"<a:tc>{shape(text)}</a:tc>" for text in ("Name", "12"))
    table = f"<a:tbl><a:tr>{cells}</a:tr></a:tbl>"

    def cache(*values: str) -> str:
        points = (f'<c:pt idx="{at}"><c:v>{v}</c:v></c:pt>' for at, v in enumerate(values))
        return "".join(points)

    chart = (
        "<c:title><a:p><a:r><a:t>Turnover</a:t></a:r></a:p></c:title>"
        f"<c:ser><c:tx>{cache('Sales')}</c:tx><c:cat>{cache('Q1', 'Q2')}</c:cat>"
        f"<c:val>{cache('8.1999999999999993', '3')}</c:val></c:ser>"
    )
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{word}</a:t></a:r></a:p></dgm:t></dgm:pt>"
        for word in ("plan", "do")
    )
    frames = "".join(
        f"<p:graphicFrame>{inside}</p:graphicFrame>"
        for inside in (table, '<c:chart r:id="r0"/>', '<dgm:relIds r:dm="r1"/>', "<c:chart/>")
    )
    document = parse(pptx([(frames, [("chart", chart), ("diagramData", points)])]))

    assert kinds(document) == [
        ("table", "Name\t12"),
        ("table", "Turnover\n\tSales\nQ1\t8.2\nQ2\t3"),
        ("paragraph", "plan\ndo"),
    ]


def test_a_slide_that_is_damaged_costs_itself_and_a_warning() -> None:
    document = parse(pptx([(shape("one"), []), ("<p:sp>", []), (shape("three"), [])]))

    assert document.text == "one\n\nthree"
    assert [place.span for place in document.places] == [PageSpan(1), PageSpan(3)]
    assert document.warnings[0].startswith("ppt/s1.xml in it is no XML")


def test_too_many_slides_are_refused_with_the_key_to_change() -> None:
    refused = parse(pptx([(shape("one"), [])] * 3), most=2).refused

    assert refused == ("too_large", "3 slides; [limits] pages is 2")


@needs_samples
@pytest.mark.parametrize(
    ("name", "slides", "says"),
    [
        ("SampleShow.pptx", 2, {1: ["Title of the first slide", "I am the notes of the first"]}),
        ("hidden-slide.pptx", 2, {2: ["It has bullet points on it"]}),
        ("45545_Comment.pptx", 11, {1: ["testdoc"]}),
        ("smartart-simple.pptx", 1, {1: ["abc\ndef\nghi"]}),
        ("pie-chart.pptx", 1, {1: ["1st Qtr\t8.2"]}),
        ("sld-notes.pptx", 1, {1: ["Notes"]}),
    ],
)
def test_the_samples_of_slides_say_what_is_known_of_them(
    name: str, slides: int, says: dict[int, list[str]]
) -> None:
    document = sample(name)
    ends = [place.start for place in document.places[1:]] + [len(document.text)]
    pages = {
        place.span.page: document.text[place.start : end]
        for place, end in zip(document.places, ends, strict=True)
        if isinstance(place.span, PageSpan)
    }

    assert max(pages) == slides
    for page, words in says.items():
        assert all(word in pages[page] for word in words)
    assert not document.warnings
