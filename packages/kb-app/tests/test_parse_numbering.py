"""Numbers that programs put before paragraphs: what a reader sees is in the text."""

from __future__ import annotations

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.counting import counted
from kb_app._media import parser_for
from kb_app.testing.compound_files import compound
from kb_app.testing.office_files import docx, odf
from kb_app.testing.word_files import L, Listed, P, Style, doc_tree, in_list
from kb_core.documents import ParsedDocument, SourceFile


def parse(data: bytes, name: str) -> ParsedDocument:
    file = SourceFile(source_id="s", path=name, media="office")
    return parser_for("office")(FileContent(data), file)


def blocks(document: ParsedDocument) -> list[str]:
    return [document.text[each.start : each.end] for each in document.blocks]


@pytest.mark.parametrize(
    ("number", "kind", "shown"),
    [
        *((12, "1", "12"), (3, "a", "c"), (28, "A", "BB"), (4, "i", "iv"), (1994, "I", "MCMXCIV")),
        *((0, "a", "0"), (5_000, "i", "5000"), (9_999, "A", "9999"), (7, "?", "7")),
    ],
)
def test_a_number_is_counted_as_its_list_does(number: int, kind: str, shown: str) -> None:
    assert counted(number, kind) == shown


def lvl(level: int, text: str, kind: str = "decimal", more: str = "") -> str:
    told = f'<w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{level}">{told}{more}</w:lvl>'


def p(text: str, number: str = "", level: str = "", style: str = "") -> str:
    told = f'<w:pStyle w:val="{style}"/>' if style else ""
    if number:
        level = f'<w:ilvl w:val="{level}"/>' if level else ""
        told += f'<w:numPr>{level}<w:numId w:val="{number}"/></w:numPr>'
    inside = text if text.startswith("<") else f"<w:r><w:t>{text}</w:t></w:r>"
    return f"<w:p><w:pPr>{told}</w:pPr>{inside}</w:p>"


NUMBERING = (
    '<w:abstractNum w:abstractNumId="0">'
    + lvl(0, "%1.", more='<w:pStyle w:val="H1"/>')
    + lvl(1, "%1.%2", more='<w:pStyle w:val="H2"/>')
    + lvl(2, "(%3)", "lowerLetter")
    + '</w:abstractNum><w:abstractNum w:abstractNumId="1">'
    + lvl(0, "•", "bullet")
    + '</w:abstractNum><w:abstractNum w:abstractNumId="2">'
    + lvl(0, "§ %1", "upperRoman", '<w:start w:val="4"/>')
    + '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="2"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
)
STYLES = "".join(
    f'<w:style w:styleId="H{level}"><w:name w:val="heading {level}"/><w:pPr><w:numPr>'
    '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    for level in (1, 2)
)


def test_clauses_and_headings_of_a_docx_have_their_numbers() -> None:
    link = p('<w:hyperlink r:id="r1"><w:r><w:t>here</w:t></w:r></w:hyperlink>', "3")
    body = (
        p("Law", style="H1") + p("Scope", style="H2") + p("first", "1", "2") + p("second", "1", "2")
        + p("Terms", style="H2") + p("third", "1", "2") + p("dot", "2") + p("four", "3") + link
        + p("one", "4") + p("two", "4") + p("no number", "0", style="H1") + p("", "1")
        + p("End", style="H1") + p("lost", "77")
    )  # fmt: skip
    document = parse(docx(body, styles=STYLES, more=[("numbering", NUMBERING)]), "a.docx")

    assert blocks(document) == [
        *("1. Law", "1.1 Scope", "(a) first", "(b) second", "1.2 Terms", "(a) third", "dot"),
        *("§ IV four", "§ V here", "§ I one", "§ II two", "no number", "3. End", "lost"),
    ]
    assert document.blocks[1].heading_path == ("1. Law", "1.1 Scope")
    (found,) = document.links
    assert document.text[found.start :].startswith("here")


def test_numbering_that_makes_no_sense_costs_itself() -> None:
    wrong = lvl(0, "%9%2 " * 500, "made-up").replace('ilvl="0"', 'ilvl="x"')
    numbering = f'<w:abstractNum w:abstractNumId="0">{wrong}</w:abstractNum>{NUMBERING[-400:]}'
    document = parse(docx(p("text", "1", "99"), more=[("numbering", numbering)]), "a.docx")

    assert document.text.endswith("text")
    assert len(document.text) < 200


def test_clauses_and_headings_of_a_doc_have_their_numbers() -> None:
    law = Listed([L("\0."), L("\0.\1"), L("(\2)", 4)], styles=(1, 2))
    roman, dots = Listed([L("§ \0", 1, 4)], anew=9), Listed([L("•", 23)])
    styles = [Style(0), Style(1, changes=in_list(1)), Style(2, changes=in_list(1))]
    paragraphs = [
        P("Law", style=1), P("Scope", style=2), P("first", changes=in_list(1, 2)),
        P("second", changes=in_list(1, 2)), P("Terms", style=2),
        P("third", changes=in_list(1, 2)), P("dot", changes=in_list(3)),
        P("four", changes=in_list(2)), P("nine", changes=in_list(5)),
        P("ten", changes=in_list(2)), P("no number", style=1, changes=in_list(0)),
        P("End", style=1), P("lost", changes=in_list(77)),
    ]  # fmt: skip
    tree = doc_tree(paragraphs, styles=styles, lists=[law, roman, dots])

    assert blocks(parse(compound(tree), "a.doc")) == [
        *("1. Law", "1.1 Scope", "(a) first", "(b) second", "1.2 Terms", "(a) third", "dot"),
        *("§ IV four", "§ IX nine", "§ X ten", "no number", "2. End", "lost"),
    ]


def listed(inside: str, more: str = 'text:style-name="L"') -> str:
    return f"<text:list {more}>{inside}</text:list>"


def item(*texts: str, inside: str = "", more: str = "") -> str:
    said = "".join(text if text.startswith("<") else f"<text:p>{text}</text:p>" for text in texts)
    return f"<text:list-item {more}>{said}{inside}</text:list-item>"


def level(number: int, kind: str, suffix: str = "", more: str = "") -> str:
    told = f'style:num-format="{kind}" style:num-suffix="{suffix}" {more}'
    return f'<text:list-level-style-number text:level="{number}" {told}/>'


ODF_STYLES = (
    f'<text:list-style style:name="L">{level(1, "1", ".")}{level(2, "a", ")")}'
    + level(3, "1", more='text:display-levels="3"')
    + '</text:list-style><text:list-style style:name="B">'
    '<text:list-level-style-bullet text:level="1"/></text:list-style>'
    '<text:outline-style style:name="Outline"><text:outline-level-style text:level="1" '
    'style:num-format="I" style:num-prefix="Part "/></text:outline-style>'
)


def test_paragraphs_and_headings_of_opendocument_have_their_numbers() -> None:
    deep = listed(item(inside=listed(item("deep"), "")), "")
    link = '<text:p>see <text:a xlink:href="https://a.example/">here</text:a></text:p>'
    goes_on = 'text:style-name="L" text:continue-numbering="true"'
    inside = (
        "<text:h>Law</text:h>" + listed(item("one", "more") + item("two", inside=deep))
        + listed(item("again")) + listed(item(link), goes_on)
        + listed(item("nine", more='text:start-value="9"'))
        + listed(item("dot"), 'text:style-name="B"')
        + '<text:h text:is-list-header="true">Note</text:h>'
    )  # fmt: skip
    document = parse(odf("text", inside, styles=ODF_STYLES), "a.odt")

    assert blocks(document) == [
        *("Part I Law", "1. one", "more", "2. two", "2.a.1 deep", "1. again", "2. see here"),
        *("9. nine", "dot", "Note"),
    ]
    (found,) = document.links
    assert document.text[found.start :].startswith("here")
