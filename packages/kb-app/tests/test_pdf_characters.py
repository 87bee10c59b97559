"""Characters of a PDF are what a reader sees: accents, ligatures, signs, and what is raised."""

from __future__ import annotations

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.pdf import PdfParser
from kb_app.testing.papers import Leaf, Said, paper
from kb_core.documents import ParsedDocument, SourceFile

FILE = SourceFile(source_id="papers", path="on-kebab.pdf", media="pdf")


def parse(data: bytes) -> ParsedDocument:
    return PdfParser()(FileContent(data), FILE)


def read(*said: Said) -> str:
    return parse(paper(Leaf(said))).text


def test_an_accent_is_in_its_letter_wherever_it_was_written() -> None:
    line = Said(72, 700, "fur uns")
    over_u = Said(72 + 4, 700, "\xa8")

    assert read(line, over_u) == "für uns"
    assert read(over_u, line) == "für uns"


def test_an_accent_between_words_parts_them_and_none_within_one() -> None:
    parted = [Said(72, 700, "vor"), Said(92.5, 700, "\xa8"), Said(91, 700, "uber ihn")]
    inner = [Said(72, 700, "f"), Said(76, 700, "\xa8"), Said(75.4, 700, "ur")]

    assert read(*parted) == "vor über ihn"
    assert read(*inner) == "für"


def test_an_accent_that_stands_over_no_letter_stays_as_it_is() -> None:
    assert read(Said(72, 700, "a `quoted` word ~ of 5^")) == "a `quoted` word ~ of 5^"


def test_the_box_of_a_line_is_that_of_its_letters() -> None:
    plain = parse(paper(Leaf([Said(72, 700, "fur uns")])))
    accented = parse(paper(Leaf([Said(72, 700, "fur uns"), Said(76, 700, "\xa8")])))

    assert [place.span for place in accented.places] == [place.span for place in plain.places]


def test_a_ligature_without_a_meaning_is_what_its_name_says() -> None:
    page = Leaf([Said(72, 700, "di\x1derent o\x1ece")])

    assert parse(paper(page, names={"\x1d": "f_f", "\x1e": "f_f_i"})).text == "different office"


def test_what_has_another_name_is_no_ligature() -> None:
    page = Leaf([Said(72, 700, "das Wort \x1dAbschrift\x1c")])

    assert parse(paper(page, names={"\x1c": "lessmuch", "\x1d": "greatermuch"})).text == (
        "das Wort Abschrift"
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("e\x0bect of a \x0cle", "effect of a file"),
        ("hau\x0cg \x0ce\x19en", "haufig fießen"),
        ("\x12h\xe4u\x1cg\x10 o\x1eziell", "„häufig“ offiziell"),
        ("\x1c x \x0b", "x"),
    ],
)
def test_codes_without_names_are_those_of_tex_where_they_stand_in_words(
    said: str, meant: str
) -> None:
    assert parse(paper(Leaf([Said(72, 700, said)]))).text == meant


def test_old_figures_small_capitals_and_bullets_are_what_they_show() -> None:
    page = Leaf([Said(72, 700, "~ #@ $")])
    means = {"~": "\uf0b7", "#": "\uf731", "@": "\uf739", "$": "\uf76b"}

    assert parse(paper(page, means=means)).text == "• 19 k"


def test_the_mark_of_a_note_is_parted_from_its_word_and_from_its_note() -> None:
    said = [Said(72, 700, "the tide"), Said(113, 705, "12", 7), Said(121, 700, "rose")]
    note = [Said(72, 100, "12", 7), Said(80.5, 96, "As is told elsewhere.", 9)]

    assert read(*said, *note) == "the tide[12] rose\n\n[12] As is told elsewhere."


def test_a_unit_keeps_its_power_and_what_is_lowered_its_place() -> None:
    unit = [Said(72, 700, "9 km"), Said(98.5, 705, "2", 7)]
    lowered = [Said(72, 700, "H"), Said(80.7, 697, "2", 7), Said(84.6, 700, "O")]

    assert read(*unit) == "9 km2"
    assert read(*lowered) == "H2O"


def test_each_entry_of_the_contents_is_a_line() -> None:
    lines = ["2.1 Aims . . . . . . . . . . . . . . 2", "2.2 Ways . . . . . . . . . . . . . . . iv"]
    page = Leaf([Said(72, 700 - 14 * n, line) for n, line in enumerate(lines)])

    assert parse(paper(page)).text == "2.1 Aims … 2\n2.2 Ways … iv"
