"""Tables and code of PDFs: cells in their columns, as far as all rows tell these, and lines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.pdf import PdfParser
from kb_app.testing.papers import Leaf, Said, paper
from kb_core.citations import PageSpan
from kb_core.documents import ParsedDocument, SourceFile


def read(said: Sequence[Said]) -> ParsedDocument:
    file = SourceFile(source_id="papers", path="a.pdf", media="pdf")
    return PdfParser()(FileContent(paper(Leaf(said))), file)


def _row(y: float, **cells: str) -> list[Said]:
    """Return the cells of a row, of which the second and third end where their column does."""
    begins = {"a": 72.0, "b": 200.0, "c": 260.0, "d": 266.0}
    width = {"b": 6.7, "c": 6.7}
    return [
        Said(begins[name] - width.get(name, 0) * len(text), y, text) for name, text in cells.items()
    ]


def test_a_cell_of_a_table_stands_in_its_column_whatever_is_empty_or_close_beside_it() -> None:
    said = [Said(175, 714, "Years of life"), Said(266, 714, "Where")]
    said += _row(700, a="Name of", b="1815", c="1852", d="London")
    said += _row(686, a="Tim Lee", b="1955", d="Boston")
    said += _row(672, a="Grace", c="1992", d="New York")
    said += _row(658, b="1900", d="Nowhere")

    document = read(said)

    assert document.text.split("\n") == [
        *("Years of life\tWhere", "Name of\t1815\t1852\tLondon", "Tim Lee\t1955\t\tBoston"),
        *("Grace\t\t1992\tNew York", "\t1900\t\tNowhere"),
    ]
    begins = document.text.index("1992")
    place = max((each for each in document.places if each.start <= begins), key=lambda p: p.start)
    assert place.start == begins
    assert isinstance(place.span, PageSpan)
    assert place.span.bbox is not None
    assert 230 < place.span.bbox[0] < place.span.bbox[2] < 262


def _broken(y: float, *cells: str, middle: bool = False) -> list[Said]:
    """Return the cells of a row, each of as many lines as *cells* has, cell after cell."""
    said, most = [], max(cell.count("|") for cell in cells)
    for x, cell in zip((72, 150, 250, 330), cells, strict=False):
        lines = cell.split("|")
        top = y - 8 * (most + 1 - len(lines)) if middle else y
        said += [Said(x, top - 16 * at, line) for at, line in enumerate(lines)]
    return said


@pytest.mark.parametrize(
    ("head", "middle"),
    [
        (["Day", "What", "Who", "Sum"], False),
        (["Day", "What", "Who", "Sum"], True),
        (["Day", "What was|done", "Who", "Sum"], False),
    ],
)
def test_cells_of_several_lines_are_in_one_row(head: list[str], middle: bool) -> None:
    said = _broken(700, *head, middle=middle)
    said += _broken(
        660, "11 May", "Pump|was|renewed", "Ann and|her firm|of two", "312", middle=middle
    )
    said += _broken(600, "2 June", "Roof", "Tom", "90", middle=middle)
    said += _broken(570, "7 July", "Air|ducts|cleaned", "Tom", "48", middle=middle)

    document = read(said)

    assert document.text.split("\n") == [
        "\t".join(cell.replace("|", " ") for cell in head),
        "11 May\tPump was renewed\tAnn and her firm of two\t312",
        "2 June\tRoof\tTom\t90",
        "7 July\tAir ducts cleaned\tTom\t48",
    ]


def test_the_last_cell_of_a_row_goes_on_below_it() -> None:
    said = _broken(700, "Warranty", "Five years on the pump,|two years on labour")
    said += _broken(668, "Contact", "Keller, weekdays from|seven to four")
    said += [*_broken(636, "May", "12", "Bread"), Said(250, 620, "Milk")]

    assert read(said).text.split("\n") == [
        "Warranty\tFive years on the pump, two years on labour",
        "Contact\tKeller, weekdays from seven to four",
        "May\t12\tBread",
        "Milk",
    ]


def test_columns_of_text_beside_each_other_are_no_broken_cells() -> None:
    said = [Said(72, 700, "The first column"), Said(72, 688, "goes on and ends.")]
    said += [Said(250, 700, "The second column"), Said(250, 688, "is read behind it.")]

    assert "\t" not in read(said).text


def test_code_keeps_its_lines_and_how_they_are_set_in() -> None:
    """It is told by its type: each character is as wide as each other."""
    code = ["def add(a, b):", "    # so it is", "    return a + b", "print(add(1, 2))"]
    prose = "Whoever wants two numbers added may write what stands below, and has"
    said = [Said(72, 700, prose), Said(72, 688, "them added."), Said(72, 600, "As said.")]
    said += [
        Said(
            72 + 6 * (len(line) - len(line.lstrip())),
            660 - 12 * at,
            line.strip(),
            10,
            is_typed=True,
        )
        for at, line in enumerate(code)
    ]

    document = read(said)

    assert document.text.split("\n\n")[1].split("\n") == code
    assert [block.kind for block in document.blocks].count("code") == 1
    typed = [each._replace(is_typed=True) for each in said]
    assert "code" not in {block.kind for block in read(typed).blocks}


def test_a_sign_of_money_and_a_bracket_are_no_columns() -> None:
    said = [*_row(700, a="Rent", b="12"), Said(128, 700, "$"), Said(210, 700, ")")]
    said += [*_row(686, a="Food", b="7"), Said(128, 686, "$"), Said(210, 686, ")")]

    assert read(said).text == "Rent\t$ 12 )\nFood\t$ 7 )"


def test_rows_of_which_none_has_a_cell_in_each_column_stay_as_they_are() -> None:
    said = _row(700, a="x", c="12") + _row(686, b="7", d="y") + _row(672, a="z", c="3")

    assert "\t\t" not in read(said).text
