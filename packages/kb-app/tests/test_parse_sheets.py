"""Sheets: what cells show, where they stand, and what is too much of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.office.moments import Format, format_of
from kb_app._ingest.making.formats.office.signs import signs_of
from kb_app._media import parser_for
from kb_app.testing.office_files import xlsx
from kb_core.citations import CellSpan
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "office"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")


def parse(data: bytes, name: str = "book.xlsx", most: int = 10_000) -> ParsedDocument:
    limits = ReadingLimits(cells=most)
    file = SourceFile(source_id="notes", path=name, media="office", limits=limits)
    return parser_for("office")(FileContent(data), file)


def sample(name: str) -> ParsedDocument:
    return parse((SAMPLES / name).read_bytes(), name)


def at(document: ParsedDocument) -> dict[str, str]:
    """Return what stands at each place, as the user interfaces print it."""
    ends = [place.start for place in document.places[1:]] + [len(document.text)]
    found: dict[str, str] = {}
    for place, end in zip(document.places, ends, strict=True):
        assert isinstance(place.span, CellSpan)
        key = f"{place.span.sheet}!{place.span.range}"
        found[key] = found.get(key, "") + document.text[place.start : end].rstrip("\n")
    return found


def row(number: int, **cells: str) -> str:
    return (
        f'<row r="{number}">'
        + "".join(cell(f"{c}{number}", v) for c, v in cells.items())
        + "</row>"
    )


def cell(name: str, value: str) -> str:
    """Return a cell: a number where *value* is one, else a text of its own."""
    if value.replace(".", "").isdigit():
        return f'<c r="{name}"><v>{value}</v></c>'
    return f'<c r="{name}" t="inlineStr"><is><t>{value}</t></is></c>'


def test_a_row_is_a_line_that_stands_at_its_cells_under_the_name_of_the_sheet() -> None:
    document = parse(xlsx({"Plan": row(2, B="rent", D="900") + row(7, A="food")}))

    assert document.text == "Plan\n\nrent\t900\n\nfood"
    assert [(p.start, p.span) for p in document.places] == [
        (0, CellSpan("Plan", "B2:D2")),
        (6, CellSpan("Plan", "B2:D2")),
        (16, CellSpan("Plan", "A7")),
    ]
    assert {b.heading_path for b in document.blocks} == {("Plan",)}
    assert document.metadata.title == "book"


def test_cells_below_names_of_columns_say_what_they_are_until_a_row_is_left_out() -> None:
    rows = (
        row(1, A="Turnover of 2025")
        + row(2, A="Month", B="Sales", C="Cost")
        + row(3, A="May", C="7")
        + row(5, A="x", B="y")
    )

    lines = parse(xlsx({"S": rows})).text.split("\n")

    assert lines[2:] == [
        "Turnover of 2025",
        "Month\tSales\tCost",
        "Month: May\tCost: 7",
        "",
        "x\ty",
    ]


def test_a_cell_says_what_it_shows() -> None:
    strings = (
        "<si><t>shared</t><rPh><t>read so</t></rPh></si>"
        "<si><r><t>in </t></r><r><t>runs</t></r></si>"
    )
    cells = (
        '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>9</v></c><c t="b"><v>1</v></c>'
        '<c t="e"><v>#N/A</v></c><c t="str"><f>A1</f><v>made</v></c><c><f>1+1</f></c>'
        "<c><v>0.30000000000000004</v></c>"
    )

    document = parse(xlsx({"S": f"<row>{cells}</row>"}, strings=strings))

    assert document.text.split("\n")[2] == "shared\tin runs\tTRUE\t#N/A\tmade\t0.3"
    assert document.places[-1].span == CellSpan("S", "A1:H1")


def test_a_number_is_a_date_where_its_style_says_so_in_the_calendar_of_the_file() -> None:
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/>'
        '<xf numFmtId="10"/></cellXfs>'
    )
    cells = "".join(f'<c s="{style}"><v>45000.75</v></c>' for style in range(4))
    book = '<workbookPr date1904="1"/>'

    by_1900 = parse(xlsx({"S": f"<row>{cells}</row>"}, styles=styles)).text
    by_1904 = parse(xlsx({"S": f"<row>{cells}</row>"}, styles=styles, book=book)).text

    assert by_1900.split("\n")[2] == "45000.75\t2023-03-15 18:00\t2023-03-15 18:00\t4500075%"
    assert by_1904.split("\t")[1] == "2027-03-16 18:00"


@pytest.mark.parametrize(
    ("code", "is_moment"),
    [
        ("yyyy-mm-dd", Format.DATE),
        ("[$-409]d\\-mmm;@", Format.DATE),
        ("mmm", Format.DATE),
        ("h:mm AM/PM", Format.TIME),
        ("[h]:mm:ss", Format.TIME),
        ("mm:ss.0", Format.TIME),
        ("General", Format.PLAIN),
        ("0.00E+00", Format.PLAIN),
        ('#,##0 "days"', Format.PLAIN),
        ("[Red]#,##0.00", Format.PLAIN),
        ("0.0%", Format.SHARE),
    ],
)
def test_a_format_says_what_a_number_is(code: str, is_moment: Format) -> None:
    assert format_of("164", code) is is_moment


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("00000", "1234", "01234"),
        ("00000", "123456", "123456"),
        ("(000) 000-0000", "5551234567", "(555) 123-4567"),
        ('"INV-"0000', "42", "INV-0042"),
        ("00000", "-1", None),
        ("00000", "1.5", None),
        ('"$"#,##0', "-99", "-$99"),
        ('_("$"* #,##0.00_);_("$"* \\(#,##0.00\\)', "12.5", "$12.5"),
        ("#,##0.00\\ [$zł-415]", "3.25", "3.25 zł"),
        ('General" kg"', "12.300000000000001", "12.3 kg"),
        ('0"°C"', "x", None),
        *(
            (code, "1", None)
            for code in ("0", "0.00", '0.0,,"M"', "# ?/?", "0.00E+00", "@", "00.00")
        ),
        ('[<100]0" few";0" many"', "5", None),
        ("[Red]#,##0.00", "1", None),
    ],
)
def test_money_units_and_zeros_in_front_are_shown_with_the_digits_of_the_value(
    code: str, value: str, shown: str | None
) -> None:
    signs = signs_of(code)

    assert (signs and signs.shown(value)) == shown


def test_a_cell_shows_what_its_style_puts_around_its_number() -> None:
    styles = (
        '<numFmts><numFmt numFmtId="170" formatCode="&quot;K-&quot;00000"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>'
    )
    cells = '<c><v>42</v></c><c s="1"><v>42</v></c>'

    assert parse(xlsx({"S": f"<row>{cells}</row>"}, styles=styles)).text == "S\n\n42\tK-00042"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1", "1900-01-01"),
        ("59", "1900-02-28"),
        ("61", "1900-03-01"),
        ("45000", "2023-03-15"),
        ("45000.9999999", "2023-03-16"),
        ("2958465", "9999-12-31"),
        ("2958465.9999999", None),
        ("2958466", None),
        ("-1", None),
        ("nan", None),
        ("x", None),
    ],
)
def test_days_are_counted_as_spreadsheets_count_them(written: str, shown: str | None) -> None:
    assert Format.DATE.shown(written) == shown


def test_a_time_may_be_longer_than_a_day() -> None:
    assert Format.TIME.shown("1.5") == "36:00"
    assert Format.TIME.shown("0.000011574") == "00:00:01"


@settings(deadline=None)
@given(st.text(max_size=12), st.text(max_size=12), st.booleans())
def test_any_format_of_any_value_is_shown_somehow(code: str, value: str, is_1904: bool) -> None:
    format_of("164", code).shown(value, is_1904=is_1904)
    if signs := signs_of(code):
        signs.shown(value)


def test_a_cell_that_reaches_over_several_rows_is_said_in_each() -> None:
    rows = (
        row(1, A="Region", B="Town", C="Sold")
        + row(2, A="North", B="Oslo", C="x") + row(3, B="Bodø", C="y")
        + row(4, B="Alta", C="z") + row(5, A="South", B="Rome", C="q") + row(6, C="end")
    )  # fmt: skip
    merged = '<mergeCell ref="A2:A4"/><mergeCell ref="B5:C5"/><mergeCell ref="A9:A1"/>'
    sheet = f"{rows}<mergeCells>{merged}</mergeCells>"

    document = parse(xlsx({"S": sheet}))

    assert document.text.split("\n")[3:] == [
        "Region: North\tTown: Oslo\tSold: x",
        "Region: North\tTown: Bodø\tSold: y",
        "Region: North\tTown: Alta\tSold: z",
        "Region: South\tTown: Rome\tSold: q",
        "Sold: end",
    ]
    assert document.places[3].span == CellSpan("S", "A3:C3")


def test_hidden_sheets_are_read_and_flagged() -> None:
    document = parse(xlsx({"hidden": row(1, A="secret"), "Seen": row(1, A="open")}))

    assert document.metadata.user["hidden_sheets"] == ["hidden"]
    assert [b.heading_path for b in document.blocks if b.kind == "table"] == [
        ("hidden (hidden)",),
        ("Seen",),
    ]


def test_only_cells_that_are_there_count_however_far_apart() -> None:
    document = parse(xlsx({"S": row(1, A="1") + row(1_048_576, XFD="2")}), most=2)
    refused = parse(xlsx({"S": row(1, A="1", B="2", C="3")}), most=2).refused

    assert list(at(document)) == ["S!A1", "S!XFD1048576"]
    assert refused == ("too_large", "more than 2 cells; [limits] cells is 2")


def test_places_that_make_no_sense_are_counted_on() -> None:
    rows = '<row r="9"><c r="B9"><v>1</v></c><c r="A9"><v>2</v></c><c r="?"><v>3</v></c></row>'
    rows += '<row r="4"><c r="A4"><v>4</v></c></row><row r="x"><c><v>5</v></c></row>'

    document = parse(xlsx({"S": rows}))

    assert list(at(document)) == ["S!B9:D9", "S!A10", "S!A11"]


def test_a_sheet_that_is_damaged_ends_early_with_a_warning() -> None:
    document = parse(xlsx({"S": row(1, A="kept") + "<row><c></row>", "T": row(1, A="whole")}))

    assert document.text == "S\n\nkept\n\nT\n\nwhole"
    assert document.warnings[0].startswith("xl/sheet0.xml in it is no XML")


@needs_samples
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TwoSheetsOneHidden.xlsx", {"Sheet1!A1": "Sheet1Sheet1A1", "Sheet2!A1": "Sheet2Sheet2A1"}),
        ("far-apart-cells.xlsx", {"S!A1": "S1", "S!XFD1048576": "2"}),
        ("SampleSS.strict.xlsx", {"First Sheet!A1": "First SheetTest spreadsheet"}),
        ("unicodeSheetName.xlsx", {"Sheet・1!A2": "2"}),
        ("SimpleWithComments.xlsx", {"Sheet1!B1": "Yegor Kozlov:\nfirst cell"}),
        ("table-sample.xlsx", {"Tabelle1!C5:G5":
            "Field 1: a\tField 2: 1\tField 3: 5\tField 4: 6\tField 5: 16.6666666667%"}),
    ],
)  # fmt: skip
def test_the_samples_of_sheets_have_their_cells(name: str, expected: dict[str, str]) -> None:
    document = sample(name)

    assert expected.items() <= at(document).items()
    assert not document.warnings


@needs_samples
def test_the_samples_of_dates_and_inline_texts_are_read() -> None:
    dates, texts = sample("DateFormatTests.xlsx").text, sample("InlineStrings.xlsx").text

    assert "Value: 1952-10-11 14:35:27" in dates
    assert "1948" not in dates
    assert "Inline Strings: 1st Inline String" in texts


@needs_samples
def test_a_bomb_of_entities_is_refused() -> None:
    refused = sample("poc-xmlbomb.xlsx").refused

    assert refused is not None
    assert "document type" in refused[1]
