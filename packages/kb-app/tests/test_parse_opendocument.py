"""OpenDocument: texts, sheets and slides, with what stands beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_app.testing.office_files import archive, flat_odf, odf
from kb_core.citations import CellSpan, PageSpan
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "office"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")


def parse(data: bytes, name: str = "a.odt", cells: int = 1_000) -> ParsedDocument:
    limits = ReadingLimits(cells=cells, pages=2)
    file = SourceFile(source_id="notes", path=name, media="office", limits=limits)
    return parser_for("office")(FileContent(data), file)


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def test_a_text_has_headings_lists_tables_notes_and_margins() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation>"
        f"<text:note-body>{p('the note')}</text:note-body></text:note>"
    )
    comment = f"<office:annotation><dc:creator>Ann</dc:creator>{p('why?')}</office:annotation>"
    box = f"<draw:frame><draw:text-box>{p('in a box')}</draw:text-box></draw:frame>"
    row = "<table:table-row>{}</table:table-row>".format(
        "".join(f"<table:table-cell>{p(text)}</table:table-cell>" for text in ("Name", "12"))
    )
    inside = (
        f"<text:tracked-changes>{p('deleted')}</text:tracked-changes>"
        '<text:h text:outline-level="2">Chapter</text:h>'
        f'<text:p>a<text:s text:c="2"/>b<text:tab/>c{note} and{comment}\n   on{box}</text:p>'
        f"<text:list><text:list-item>{p('one')}</text:list-item>"
        f"<text:list-item>{p('two')}</text:list-item></text:list>"
        f"<table:table><table:table-header-rows>{row}</table:table-header-rows></table:table>"
    )
    margins = f"<style:header>{p('Head')}</style:header><style:footer>{p('Head')}</style:footer>"

    document = parse(odf("text", inside, margins=margins))

    assert kinds(document) == [
        ("heading", "Chapter"),
        ("paragraph", "a  b\tc and on"),
        ("note", "the note"),
        ("comment", "Ann: why?"),
        ("paragraph", "in a box"),
        ("list_item", "one"),
        ("list_item", "two"),
        ("table", "Name\t12"),
        ("margin", "Head"),
    ]
    assert document.blocks[0].level == 2
    assert document.has_lines


def test_a_title_is_a_heading_and_what_is_in_shapes_is_read_shape_by_shape() -> None:
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    drawn = f"<draw:rect>{p('one')}{p('two')}</draw:rect>"
    group = f"<draw:g><draw:connector>{p('line')}</draw:connector><draw:ellipse/></draw:g>"
    inside = (
        f'<text:p text:style-name="P1">The plan</text:p><text:p>see {drawn}{group}below</text:p>'
    )

    assert kinds(parse(odf("text", inside, styles=styles))) == [
        ("heading", "The plan"),
        ("paragraph", "see below"),
        ("paragraph", "one"),
        ("paragraph", "two"),
        ("paragraph", "line"),
    ]


def test_what_a_picture_is_said_to_show_stands_after_its_paragraph() -> None:
    said = "<svg:title>Photo</svg:title><svg:desc>A walrus on the ice</svg:desc>"
    framed = f"<text:p>see <draw:frame><draw:image/>{said}</draw:frame>it</text:p>"

    assert parse(odf("text", framed)).text == "see it\n\n[A walrus on the ice]"


def test_a_word_that_may_be_parted_is_one_word() -> None:
    parted = p("walrus\xades <text:span>sleep\xading</text:span>\xad.")
    sheet = f"<table:table><table:table-row>{cell(parted)}</table:table-row></table:table>"

    assert parse(odf("text", parted)).text == "walruses sleeping."
    assert parse(odf("spreadsheet", sheet), "a.ods").text == "walruses sleeping."


def test_an_empty_cell_that_is_repeated_keeps_the_others_in_their_columns() -> None:
    rows = (
        f"<table:table-row>{''.join(map(cell, map(p, 'abc')))}</table:table-row>"
        '<table:table-row><table:table-cell table:number-columns-repeated="2"/>'
        f"{cell(p('d'))}</table:table-row>"
    )

    assert parse(odf("text", f"<table:table>{rows}</table:table>")).text == "a\tb\tc\n\t\td"


CHART = (
    f"<chart:chart><chart:title>{p('Fish')}</chart:title><table:table>"
    f"<table:table-row><table:table-cell/><table:table-cell>{p('2024')}</table:table-cell>"
    f"</table:table-row><table:table-row><table:table-cell>{p('Oslo')}</table:table-cell>"
    f"<table:table-cell>{p('12')}</table:table-cell></table:table-row></table:table></chart:chart>"
)
CHART_FRAME = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'


def test_a_chart_of_a_text_or_a_slide_says_its_title_and_its_values() -> None:
    text = odf("text", f"<text:p>See {CHART_FRAME}</text:p>", objects={"Object 1": CHART})
    page = f"<draw:page>{CHART_FRAME}</draw:page>"
    slides = odf("presentation", page, objects={"Object 1": CHART})
    missing = odf("text", f"<text:p>See {CHART_FRAME}</text:p>")

    assert parse(text).text == "See\n\nFish\n\n\t2024\nOslo\t12"
    assert parse(slides, "a.odp").text == "Fish\n\n\t2024\nOslo\t12"
    assert parse(missing).text == "See"


def test_boxes_and_charts_of_a_sheet_stand_at_their_cells_and_say_nothing_in_them() -> None:
    box = f"<draw:frame><draw:text-box>{p('boxed')}</draw:text-box></draw:frame>"
    row = f"<table:table-row>{cell(p('x') + CHART_FRAME)}{cell(p('y') + box)}</table:table-row>"
    shapes = f"<table:shapes><draw:rect>{p('on the page')}</draw:rect></table:shapes>"
    sheet = f'<table:table table:name="S">{shapes}{row}</table:table>'

    document = parse(odf("spreadsheet", sheet, objects={"Object 1": CHART}), "a.ods")

    assert document.text == "S\n\nx\ty\n\non the page\n\nFish\n\nboxed"
    assert [place.span for place in document.places[-2:]] == [
        CellSpan("S", "A1"),
        CellSpan("S", "B1"),
    ]


def test_a_file_says_who_wrote_it_and_where_its_links_lead() -> None:
    meta = (
        "<dc:title>The plan</dc:title><meta:initial-creator>Ann</meta:initial-creator>"
        "<meta:keyword>tax</meta:keyword><meta:creation-date>2024-05-06T07:08:09</meta:creation-date>"
    )
    link = '<text:a xlink:href="https://example.org/">here</text:a>'
    document = parse(odf("text", p(f"see {link}"), meta=meta))

    assert document.metadata.title == "The plan"
    assert document.metadata.tags == ("tax",)
    assert document.metadata.user["author"] == "Ann"
    assert document.metadata.created is not None
    assert [(link.start, link.target) for link in document.links] == [(4, "https://example.org/")]


def test_a_file_that_is_one_xml_says_what_the_archive_of_it_says() -> None:
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    inside = f'<text:p text:style-name="P1">The plan</text:p>{p("We go.")}'
    margins = f"<style:header>{p('Head')}</style:header>"
    meta = "<dc:title>A plan</dc:title><meta:creation-date>2024-05-06</meta:creation-date>"

    whole = parse(flat_odf("text", inside, styles=styles, margins=margins, meta=meta), "a.fodt")

    packed = odf("text", inside, styles=styles, margins=margins, meta=meta)
    assert whole == parse(packed, "a.fodt")
    assert whole.text == "The plan\n\nWe go.\n\nHead"


def test_what_is_within_one_xml_is_read_there() -> None:
    formula = "<math><mfrac><mn>1</mn><mn>3</mn></mfrac></math>"
    chart = f"<office:document><office:body><office:chart>{CHART}</office:chart></office:body>"
    inner = (
        f"<text:p>a <draw:frame><draw:object>{formula}</draw:object></draw:frame> b"
        f"<draw:frame><draw:object>{chart}</office:document></draw:object></draw:frame>"
        "<draw:frame><draw:object-ole><office:binary-data>JVBERi0xLjcK</office:binary-data>"
        "</draw:object-ole></draw:frame></text:p>"
    )

    document = parse(flat_odf("text", inner), "a.fodt")

    assert document.text.startswith("a 1/3 b\n\nFish")
    assert [each.name for each in document.enclosures] == ["object.pdf"]


def test_a_damaged_file_of_one_xml_is_told_so() -> None:
    cut = flat_odf("text", p("We go."))[:-30]

    assert "no XML" in str(parse(cut, "a.fodt").refused)


def cell(inside: str, kind: str = "string", more: str = "") -> str:
    return f'<table:table-cell office:value-type="{kind}" {more}>{inside}</table:table-cell>'


def test_cells_stand_where_they_are_however_often_they_are_repeated() -> None:
    rows = (
        '<table:table-row table:number-rows-repeated="3"><table:table-cell/></table:table-row>'
        '<table:table-row><table:table-cell table:number-columns-repeated="2"/>'
        + cell(p("3,14"), "float", 'office:value="3.14"')
        + cell(p("12. 5."), "date", 'office:date-value="2024-05-12"')
        + cell(p("x"), more='table:number-columns-repeated="2"')
        + "</table:table-row>"
        + '<table:table-row table:number-rows-repeated="2">' + cell(p("y")) + "</table:table-row>"
    )  # fmt: skip
    document = parse(odf("spreadsheet", f'<table:table table:name="S">{rows}</table:table>'))

    assert document.text == "S\n\n3.14\t2024-05-12\tx\tx\ny\ny"
    spans = [place.span for place in document.places]
    assert spans[1:] == [CellSpan("S", "C4:F4"), CellSpan("S", "A5"), CellSpan("S", "A6")]


def test_a_cell_that_reaches_over_several_rows_is_said_in_each() -> None:
    covered = "<table:covered-table-cell/>"
    rows = (
        cell(p("North"), more='table:number-rows-spanned="2"') + cell(p("Oslo")),
        covered + cell(p("Alta")),
        cell(p("South")) + cell(p("Rome")),
    )
    inside = "".join(f"<table:table-row>{each}</table:table-row>" for each in rows)

    document = parse(odf("spreadsheet", f'<table:table table:name="S">{inside}</table:table>'))

    assert document.text == "S\n\nNorth\tOslo\nNorth\tAlta\nSouth\tRome"


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        ("1234.5", "1,234.50", "1234.5"),
        ("-42.5", "(42.50)", "-42.5"),
        ("1234", "01234", "01234"),
        ("12", "12 kg", "12 kg"),
        ("5551234567", "(555) 123-4567", "(555) 123-4567"),
        ("0.5", "###", "0.5"),
        ("0.25", ".25", "0.25"),
        ("7", "", "7"),
    ],
)
def test_a_number_is_its_value_unless_more_than_that_is_shown(
    value: str, text: str, shown: str
) -> None:
    row = f"<table:table-row>{cell(p(text), 'float', f'office:value={chr(34)}{value}{chr(34)}')}"
    sheet = f'<table:table table:name="S">{row}</table:table-row></table:table>'

    assert parse(odf("spreadsheet", sheet), "a.ods").text == f"S\n\n{shown}"


def test_a_hidden_sheet_is_flagged_and_a_comment_stands_at_its_cell() -> None:
    styles = (
        '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
    )
    comment = f"<office:annotation>{p('why?')}</office:annotation>"
    row = f"<table:table-row>{cell(comment + p('x'))}</table:table-row>"
    sheet = f'<table:table table:name="S" table:style-name="h">{row}</table:table>'

    document = parse(odf("spreadsheet", sheet, styles=styles))

    assert document.metadata.user["hidden_sheets"] == ["S"]
    assert kinds(document) == [("heading", "S"), ("table", "x"), ("comment", "why?")]
    assert document.places[-1].span == CellSpan("S", "A1")


def test_a_row_that_is_repeated_a_million_times_counts_as_often() -> None:
    row = f'<table:table-row table:number-rows-repeated="1048576">{cell(p("x"))}</table:table-row>'

    refused = parse(odf("spreadsheet", f'<table:table table:name="S">{row}</table:table>')).refused

    assert refused == ("too_large", "more than 1,000 cells; [limits] cells is 1,000")


def slide(title: str, text: str, style: str = "") -> str:
    box = "<draw:frame {}><draw:text-box>{}</draw:text-box></draw:frame>"
    notes = f"<presentation:notes>{box.format('', p('notes'))}</presentation:notes>"
    head = box.format('presentation:class="title"', p(title))
    foot = box.format('presentation:class="footer"', p("foot"))
    inside = f"{box.format('', p(text))}{head}{foot}{notes}"
    return f'<draw:page draw:style-name="{style}">{inside}</draw:page>'


def test_slides_are_pages_with_titles_and_notes() -> None:
    styles = (
        '<style:style style:name="h"><style:drawing-page-properties'
        ' presentation:visibility="hidden"/></style:style>'
    )
    document = parse(odf("presentation", slide("T", "x") + slide("U", "y", "h"), styles=styles))

    assert kinds(document)[:3] == [("heading", "T"), ("paragraph", "x"), ("note", "notes")]
    assert [place.span for place in document.places] == [
        PageSpan(1, section="T"),
        PageSpan(2, section="U (hidden)"),
    ]
    assert document.metadata.user["hidden_slides"] == [2]
    assert parse(odf("presentation", slide("T", "x") * 3)).refused == (
        "too_large",
        "3 slides; [limits] pages is 2",
    )


def test_a_locked_file_and_one_of_another_kind_are_refused() -> None:
    manifest = "<manifest><encryption-data/></manifest>"
    locked = archive({"content.xml": b"\x00", "META-INF/manifest.xml": manifest})

    reason, detail = parse(locked).refused or ("", "")
    assert (reason, "save it without one" in detail) == ("encrypted", True)
    assert (parse(odf("database", "")).refused or ("",))[0] == "unsupported"


@needs_samples
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("SampleSS.ods", "Test spreadsheet\n2nd row\t2nd row 2nd column"),
        ("libreoffice-form.odt", "Nationality:"),
        ("trivial.odt", "Lorem ipsum dolor sit amet"),
    ],
)
def test_the_samples_of_opendocument_say_what_is_known_of_them(name: str, says: str) -> None:
    document = parse((SAMPLES / name).read_bytes(), name)

    assert says in document.text
    assert not document.warnings
