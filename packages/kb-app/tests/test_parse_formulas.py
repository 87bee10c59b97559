"""Formulas: what an author typed where a file has it, else a line that says the same."""

from __future__ import annotations

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formulas import formula_of_field
from kb_app._media import parser_for
from kb_app.testing.compound_files import compound
from kb_app.testing.office_files import docx, odf
from kb_app.testing.word_files import doc_tree
from kb_core.documents import SourceFile

MATH = "http://www.w3.org/1998/Math/MathML"


def read(data: bytes, name: str, media: str) -> str:
    file = SourceFile(source_id="s", path=name, media=media)
    return parser_for(media)(FileContent(data), file).text


def page(formula: str) -> str:
    html = f"<h1>Tides</h1><p>Say <math>{formula}</math>, as it is.</p>"
    text = read(html.encode(), "a.html", "html")
    assert text.startswith("Tides\n\nSay ")
    assert text.endswith(", as it is.")
    return text.removeprefix("Tides\n\nSay ").removesuffix(", as it is.").strip()


def office(formula: str) -> str:
    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    inside = f"<w:p><w:r><w:t>Say </w:t></w:r><m:oMath {space}>{formula}</m:oMath></w:p>"
    return read(docx(inside), "a.docx", "office").removeprefix("Say ")


def r(text: str) -> str:
    return f"<m:r><m:rPr/><m:t>{text}</m:t></m:r>"


ROW = "<mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow>"


@pytest.mark.parametrize(
    ("formula", "line"),
    [
        (f"<mfrac>{ROW}<mn>3</mn></mfrac>", "(a+1)/3"),
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E=mc^2"),
        ("<msubsup><mo>&int;</mo><mn>0</mn><mn>12</mn></msubsup><mi>x</mi>", "∫_0^12x"),
        (f"<msqrt>{ROW}</msqrt><mroot><mi>x</mi><mn>3</mn></mroot>", "√(a+1)[3]√(x)"),
        ("<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd></mtr></mtable>", "1, 2; 3"),
        ("<mi>a</mi><mtext>if</mtext><mi>b</mi>", "a if b"),
        ("<mfrac><mi>a</mi></mfrac><msup></msup>", "a/"),
        (
            (
                f"<semantics>{ROW}<annotation encoding='application/x-tex'>a &lt; \\frac{{1}}{{2}}"
                "</annotation></semantics>"
            ),
            r"a < \frac{1}{2}",
        ),
    ],
)
def test_a_formula_of_a_page_is_a_line(formula: str, line: str) -> None:
    assert page(formula) == line


def test_a_formula_is_what_its_page_says_instead_of_it() -> None:
    html = r"<p>Say <math alttext='{\displaystyle E=mc^{2}}'><mi>E</mi></math>.</p>"

    assert read(html.encode(), "a.html", "html") == "Say E=mc^{2}."


@pytest.mark.parametrize(
    ("formula", "line"),
    [
        (f"<m:f><m:num>{r('1')}</m:num><m:den>{r('x+3')}</m:den></m:f>", "1/(x+3)"),
        (
            (
                "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>"
                f"<m:sub>{r('i=1')}</m:sub><m:sup>{r('n')}</m:sup><m:e>{r('i')}</m:e></m:nary>"
            ),
            "∑_(i=1)^n i",
        ),
        (
            (
                f"<m:sSup><m:e>{r('c')}</m:e><m:sup>{r('2')}</m:sup></m:sSup>"
                f"<m:rad><m:deg/><m:e>{r('x')}</m:e></m:rad>"
            ),
            "c^2√(x)",
        ),
        (
            (
                f"<m:d><m:e><m:m><m:mr><m:e>{r('1')}</m:e><m:e>{r('2')}</m:e></m:mr>"
                f"<m:mr><m:e>{r('3')}</m:e></m:mr></m:m></m:e></m:d>"
            ),
            "(1, 2; 3)",
        ),
        (
            (
                f"<m:func><m:fName>{r('sin')}</m:fName><m:e>{r('x')}</m:e></m:func>"
                f"<m:limLow><m:e>{r('lim')}</m:e><m:lim>{r('x→0')}</m:lim></m:limLow>"
            ),
            "sin xlim_(x→0)",
        ),
        (f"<m:f/><m:acc><m:e>{r('y')}</m:e></m:acc>", "/y"),
    ],
)
def test_a_formula_of_an_office_program_is_a_line(formula: str, line: str) -> None:
    assert office(formula) == line


def test_a_formula_that_is_a_file_within_a_text_stands_in_its_line() -> None:
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    typed = '<annotation encoding="StarMath 5.0">E = m c^2</annotation>'
    formula = f'<math xmlns="{MATH}"><semantics><mi>E</mi>{typed}</semantics></math>'

    data = odf("text", f"<text:p>Say {frame} here.</text:p>", objects={"Object 1": formula})

    assert read(data, "a.odt", "office") == "Say E = m c^2 here."


RUBY = r' EQ \* jc2 \* "Font:Mincho" \* hps10 \o\ad(\s\up 9(かんじ),漢字)'


@pytest.mark.parametrize(
    ("order", "line"),
    [
        (RUBY, "漢字"),
        (r"EQ \f(1,2)", "1/2"),
        (r"eq \r(3,x+1) + \f(a;1,5)", "[3]√(x+1) + a/(1,5)"),
        (r"EQ \i\su(i=1,n,x\s\do4(i))", "∑_(i=1)^n x_i"),
        (r"EQ 5\s\up8(th) of \b(\a(1,2))", "5^th of (1, 2)"),
        (r"EQ \o\ac(○,1)\,x(y)", "○1,x(y)"),
        (r"EQ )\f(", ""),
        ("PAGE", ""),
    ],
)
def test_a_field_that_is_a_formula_says_it(order: str, line: str) -> None:
    marks = (f'<w:r><w:fldChar w:fldCharType="{each}"/></w:r>' for each in ("begin", "end"))
    orders = (f"<w:r><w:instrText>{part}</w:instrText></w:r>" for part in (order[:4], order[4:]))
    begins, ends = marks
    field = f"<w:r><w:t>Say </w:t></w:r>{begins}{''.join(orders)}{ends}"
    escaped = "".join(c if c < "\x80" else rf"\u{ord(c)}?" for c in order.replace("\\", "\\\\"))

    assert read(docx(f"<w:p>{field}</w:p>"), "a.docx", "office") == f"Say {line}".strip()
    old = compound(doc_tree([f"Say \x13{order}\x15"]))
    assert read(old, "a.doc", "office") == f"Say {line}".strip()
    rtf = rf"{{\rtf1\ansi Say {{\field{{\*\fldinst {escaped}}}{{\fldrslt }}}}\par}}"
    assert read(rtf.encode(), "a.rtf", "office") == f"Say {line}".strip()


def test_a_formula_of_a_field_that_nests_without_end_is_read_as_far_as_it_goes() -> None:
    assert formula_of_field("EQ " + r"\f(" * 1_000) is not None
    assert formula_of_field(r"EQ " + "(" * 4_000) is not None


def test_what_stands_raised_behind_a_number_is_its_power_and_behind_a_letter_it_is_not() -> None:
    up = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    words = "".join(
        f"<w:r>{up if text in '−62' else ''}<w:t>{text}</w:t></w:r>"
        for text in ("10", "−6", " m", "2")
    )
    above = '<style:text-properties style:text-position="super 58%"/>'
    raised = f'<style:style style:name="T1">{above}</style:style>'
    span = '<text:span text:style-name="T1">{}</text:span>'
    spans = f"10{span.format('−6')} m{span.format('2')}"
    page = b"<p>Say 10<sup>\xe2\x88\x926</sup> m<sup>2</sup> 10 <sup>3</sup>, 1<sup>st</sup>"
    rtf = rb"{\rtf1\ansi Say 10{\super \u8722?6} m{\super 2}\super\nosupersub 1\par}"

    assert read(docx(f"<w:p>{words}</w:p>"), "a.docx", "office") == "10^−6 m2"
    assert (
        read(odf("text", f"<text:p>{spans}</text:p>", styles=raised), "a.odt", "office")
        == "10^−6 m2"
    )
    assert read(page, "a.html", "html") == "Say 10^−6 m2 10 3, 1st"
    assert read(rtf, "a.rtf", "office") == "Say 10^−6 m21"
