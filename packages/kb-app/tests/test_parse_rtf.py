"""Texts in RTF: what a reader sees, in which letters, and what no bytes do to who reads them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.places import placed_chunks
from kb_app._media import chunker_for, parser_for
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WholeTextCounter

LIMITS = ChunkLimits(target_tokens=60, overlap_tokens=8, max_tokens=100)


def parse(data: bytes, name: str = "letter.rtf") -> ParsedDocument:
    """Return what is read of *data*, after a look at what is promised of every document."""
    file = SourceFile(source_id="notes", path=name, media="office")
    document = parser_for("office")(FileContent(data), file)
    text, end = document.text, 0
    text.encode()
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        assert text[block.start : block.end].strip()
        end = block.end
    assert text[end:].strip() == ""
    covered = [letter.isspace() for letter in text]
    for chunk in placed_chunks(document, chunker_for("office"), WholeTextCounter(), LIMITS):
        assert text[chunk.start : chunk.end].strip()
        covered[chunk.start : chunk.end] = [True] * (chunk.end - chunk.start)
    assert all(covered)
    return document


def rtf(body: str, head: str = "") -> bytes:
    return f"{{\\rtf1\\ansi\\deff0 {head}{body}}}".encode("ascii")


def said(body: str, head: str = "") -> str:
    return parse(rtf(body, head)).text


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


FONTS = (
    r"{\fonttbl{\f0\froman\fcharset0 Times;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 Mincho;}"
    r"{\f3\fcharset2 Symbol;}{\f4\fcharset2 Wingdings;}{\f5\fcharset2 Text of mine;}"
    r"{\f6\fcharset129{\*\panose 02}Batang{\*\falt Gulim};}{\f7\cpg1253 Any;}"
    r"{\f8\fcharset0 Symbol;}}"
)
STYLES = (
    r"{\stylesheet{\s0 Normal;}{\s1\sbasedon0 heading 1;}{\s2\sbasedon1 My chapters;}"
    r"{\s3 \'dcberschrift 2;}{\s4 Titre 3;}{\s5\outlinelevel1 Anything;}{\s6\sbasedon6 Loop;}"
    r"{\*\cs10 heading 4;}}"
)


def test_headings_are_told_by_their_style_or_their_place_in_an_outline() -> None:
    body = (
        r"\pard\s2 One\par\pard\s0 text\par\pard\s3 Two\par\pard\s4 Three\par"
        r"\pard\s5 Four\par{\pard\outlinelevel2 Five}\par\pard\outlinelevel9\s6 more\par"
    )

    document = parse(rtf(body, STYLES))

    assert [(each.kind, each.level) for each in document.blocks] == [
        ("heading", 1), ("paragraph", 0), ("heading", 2), ("heading", 3), ("heading", 2),
        ("heading", 3), ("paragraph", 0),
    ]  # fmt: skip
    assert document.blocks[-1].heading_path == ("One", "Four", "Five")
    assert document.text.startswith("One\n\ntext\n\nTwo\n\n")
    assert document.metadata.title == "One"
    assert document.has_lines


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"a\tab b\line c\emdash d\~e\_f\-g\{\}\\", "a\tb\nc—d\u00a0e-fg{}\\"),
        (r"\lquote a\rquote\ldblquote b\rdblquote\bullet\endash", "‘a’“b”•–"),
        ("one\r\n two\\\nthree", "one two\n\nthree"),
        (r"caf\'e9 \'80", "café €"),
        (r"{\f1\'cc\'ee\'f1\'ea\'e2\'e0}", "Москва"),
        (r"{\f2\'8aC\'8f\'db}", "海象"),
        (r"{\f6\'c7\'d1\'b1\'db}", "한글"),
        (r"{\f7\'e1\'e2}", "αβ"),
        (r"{\f3 abq\'a3\'b7}{\f4 abc}{\f5 abc}", "αβθ≤••••abc"),
        (r"\u8364?\u-10179?\u-8704?\u9731", "€😀☃"),
        (r"{\uc2\u28023\'8a\'43 b}{\uc0\u233 b}\u233{\b}?", "海 bébé?"),
        (r"\u8211\endash a\u8226\tab b", "–a•\tb"),
        (r"{\f3\u-3999?}{\f0\u-3913?}\u57344?", "α••"),
        (r"a\u-10179?b", "ab"),
        (r"{\f8 abc}a\'01\'7fb", "abcab"),
        (r"{\upr{a}{\*\ud{\u945 ?}}}", "α"),
        (r"a{\v hidden\v0  b}{\deleted gone}{\v c\plain d}", "a bd"),
        (r"a{\*\unknown{deep} b}{\*\bkmkstart x}{\xe index}c{\pict 00ff}", "ac"),
        (r"{\*\cs15 a}{\object\objemb{\*\objdata 00ff}{\result b}}", "ab"),
        (r"{\*\generator x}\unheard5 a \'zz\:", "a zz"),
        (r"{\mmath{\*\moMath{\mf{\mfPr{\mtype bar}}{\mr E=mc}}}}", "E=mc"),
    ],
)
def test_letters_and_marks_are_what_they_look_like(body: str, expected: str) -> None:
    assert said(body, FONTS) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (rb"\ansi\ansicpg1251", "д"),
        (rb"\mac", "‰"),
        (rb"\pc", "Σ"),
        (rb"\ansi\ansicpg99999", "ä"),
        (rb"\ansi\ansicpg1250\deff2{\fonttbl{\f2\fcharset204 A;}}", "д"),
    ],
)
def test_what_says_no_font_is_in_the_code_page_or_the_default_font(
    head: bytes, expected: str
) -> None:
    assert parse(b"{\\rtf1" + head + b" \\'e4}").text == expected


def test_binary_data_is_as_long_as_it_says() -> None:
    data = rb"{\rtf1 a{\pict\bin6 }}{{\\}b{\*\blob{\bin2 }}}}c\bin3 }}}d}"

    document = parse(data)

    assert (document.text, document.warnings) == ("abcd", ())


def test_items_of_a_list_follow_each_other_and_keep_what_counts_them() -> None:
    body = (
        r"Things\par{\listtext\pard\plain\f3 \'b7\tab}\ls1 one\par"
        r"\pard{\listtext 2.\tab}\ls1\ilvl1 two\par{\pntext o\tab}three\par"
        r"\pard\bullet\tab four\par\pard\ls0 end\par"
    )

    document = parse(rtf(body, FONTS))

    assert document.text == "Things\n\none\n2. two\nthree\nfour\n\nend"
    assert [(each.kind, each.level) for each in document.blocks] == [
        ("paragraph", 0), ("list_item", 1), ("list_item", 2), ("list_item", 2), ("list_item", 1),
        ("paragraph", 0),
    ]  # fmt: skip


def test_a_table_is_a_line_for_each_row_and_a_layout_is_what_is_in_its_cells() -> None:
    body = (
        r"before\par\trowd\pard\intbl Name\cell Menge\cell\row"
        r"\trowd\pard\intbl\'c4pfel\par rot\cell{\pard\intbl\itap2 x\nestcell y\nestcell"
        r"{\*\nesttableprops\trowd\nestrow}{\nonesttables never\par}}\pard\intbl\cell\row"
        r"\pard after\par\trowd alone\cell\row\pard\par"
        rf"\trowd {'left ' * 300}\cell right\cell\row\pard\par"
        r"\trowd{\*\unheard} of a row\par that does not say\cell so\cell\row"
    )

    document = parse(rtf(body))

    assert kinds(document)[:3] == [
        ("paragraph", "before"),
        ("table", "Name\tMenge\nÄpfel rot\tx y"),
        ("paragraph", "after"),
    ]
    assert [text for _, text in kinds(document)[3:]] == [
        *("alone", "left " * 299 + "left", "right"),
        "of a row that does not say\tso",
    ]


def test_a_cell_as_wide_as_several_leaves_the_others_in_their_columns() -> None:
    row = r"\trowd\trleft-50\cellx1000\cellx2000\cellx3000\pard\intbl %s\cell %s\cell %s\cell\row"
    wide = r"\trowd\trleft-60\cellx2010\cellx3000\pard\intbl Ann\cell Oslo\cell\row"

    document = parse(rtf(row % ("Name", "Born", "Place") + wide + row % ("Bo", "1955", "Rome")))

    assert document.text == "Name\tBorn\tPlace\nAnn\t\tOslo\nBo\t1955\tRome"


def test_notes_and_comments_come_after_what_refers_to_them_and_margins_at_the_end() -> None:
    body = (
        r"{\header\pard Running\par}{\headerl Running}{\footerf Foot {\field{\*\fldinst PAGE}"
        r"{\fldrslt 1}}}\pard\s1 Chapter\par\pard one{\super\chftn{\footnote\ftnalt\pard\plain"
        r" \chftn the note\par second}} more\par "
        r"two{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation{\*\atnref 1}\pard really?}"
        r"{\*\annotation no}\par"
        r"{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt\pard in the box\par}}{\shprslt again}}"
        r"{\*\do{\dptxbxtext old box}}three\par"
    )

    document = parse(rtf(body, STYLES))

    assert kinds(document) == [
        ("heading", "Chapter"),
        ("paragraph", "one more"),
        ("note", "the note\nsecond"),
        ("paragraph", "two"),
        ("comment", "Ann: really?"),
        ("comment", "no"),
        ("paragraph", "three"),
        ("paragraph", "in the box"),
        ("paragraph", "old box"),
        ("margin", "Running"),
        ("margin", "Foot 1"),
    ]
    assert document.blocks[2].heading_path == ("Chapter",)
    assert document.blocks[-1].heading_path == ()


def test_what_stands_beside_a_heading_is_none() -> None:
    document = parse(rtf(r"\pard\outlinelevel0 Chapter{\shp{\shptxt in the box\par}}\par"))

    assert kinds(document) == [("heading", "Chapter"), ("paragraph", "in the box")]


def test_a_link_says_where_it_leads_and_where_it_stands() -> None:
    body = (
        r" see {\field\flddirty{\*\fldinst{ HYPERLINK }{"
        r'"https://example.org/?a=1" }}{\fldrslt{\ul the page}}}, '
        r'{\field{\*\fldinst HYPERLINK \\l "inside"}{\fldrslt here}} and '
        r"{\field{\*\fldinst HYPERLINK mailto:a@example.org}{\fldrslt\u945 ?nn}}"
    )

    document = parse(rtf(body))

    assert document.text == "see the page, here and αnn"
    assert [(each.target, each.text) for each in document.links] == [
        ("https://example.org/?a=1", "the page"),
        ("mailto:a@example.org", "αnn"),
    ]
    for link in document.links:
        assert document.text[link.start :].startswith(link.text)


def test_a_link_of_many_words_is_called_by_its_beginning() -> None:
    words = "many words " * 100
    body = rf"{{\field{{\*\fldinst HYPERLINK x}}{{\fldrslt {words}}}}} and more"

    document = parse(rtf(body))

    assert document.text == f"{words} and more"
    (link,) = document.links
    assert 200 < len(link.text) <= 300


def test_properties_are_believed_but_not_a_title_that_a_program_made_up() -> None:
    info = (
        r"{{\info{{\title {}}}{{\author Ann D\'f6e}}{{\keywords tax, car lease}}{{\nofpages3}}"
        r"{{\doccomm why}}{{\creatim\yr2024\mo5\dy6\hr7\min8}}{{\revtim\yr0}}}}"
    )

    told = parse(rtf("text", info.format(r"The plan"))).metadata
    made_up = parse(rtf("text", info.format("a.rtf")), "a_plan.rtf").metadata

    assert (told.title, told.tags) == ("The plan", ("tax", "car lease"))
    assert (told.user["author"], told.user["description"]) == ("Ann Döe", "why")
    assert (told.created, told.updated) == (datetime(2024, 5, 6, 7, 8, tzinfo=UTC), None)
    assert made_up.title == "a plan"


def test_a_mail_of_outlook_with_a_page_in_it_gives_its_text_once() -> None:
    data = (
        rb"{\rtf1\ansi\fromhtml1 {\*\htmltag19 <html>}{\*\htmltag2 \par }"
        rb"{\*\htmltag34 <title>No text</title>}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Dear walrus,"
        rb"{\*\htmltag84 &nbsp;}\htmlrtf \'a0\htmlrtf0 sleep\htmlrtf\par}\htmlrtf0"
        rb"{\*\htmltag72 </p>}}"
    )

    assert parse(data).text == "Dear walrus,\u00a0sleep"


def test_a_file_that_ends_in_the_middle_is_read_to_there_with_a_warning() -> None:
    document = parse(rb"{\rtf1 one\par{\b two{\footnote three")

    assert kinds(document) == [("paragraph", "one"), ("paragraph", "two"), ("note", "three")]
    assert document.warnings == ("it ends in the middle, so some of it may be missing",)


def test_a_brace_too_many_costs_nothing() -> None:
    assert said(r"one}\title two} three") == "one three"


@pytest.mark.parametrize("name", ["letter.rtf", "letter.doc", "letter", "sheet.xls"])
def test_it_is_known_by_its_first_bytes(name: str) -> None:
    assert parse(rtf("Walrus"), name).text == "Walrus"


@pytest.mark.parametrize("data", [b"{\\rt", b"just text", b" {\\rtf1 late}"])
def test_what_does_not_begin_like_it_is_not_taken_for_it(data: bytes) -> None:
    refused = parse(data).refused

    assert refused == ("unreadable", "it is no office file, but text")


MANY = 50_000
HOSTILE = {
    "open groups": b"{" * 100_000 + b"deep",
    "groups": b"{" * 100_000 + b"deep" + b"}" * 100_000,
    "closed groups": b"deep" + b"}" * MANY,
    "notes in notes": b"deep" + b"{\\footnote a" * MANY + b"b" * 1_000_000,
    "fields in fields": b'deep{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt a' * MANY,
    "links of one paragraph": b'{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt deep}}' * MANY,
    "hex": b"{\\pict " + b"0a" * 5_000_000 + b"}deep",
    "letters in hex": b"deep" + b"\\'e4" * 1_000_000,
    "a long word": b"\\" + b"a" * 5_000_000 + b"1" * 5_000_000 + b" deep",
    "data beyond the end": b"deep{\\pict\\bin9999999999 xx}never",
    "text beyond the end": b"deep\\bin9999999999 xx",
    "a fallback without end": b"deep\\uc9999999999\\u65 " + b"a" * MANY,
    "tables in tables": b"deep" + b"\\itap999999999 a\\nestcell" * MANY,
    "cells": b"\\trowd deep" + b"a\\cell " * MANY,
    "styles on styles": b"{\\stylesheet"
    + b"".join(b"{\\s%d\\sbasedon%d n;}" % (n, n + 1) for n in range(MANY))
    + b"}deep",
    "a backslash at the end": b"deep\\",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_to_hurt_is_read_in_little_time(name: str) -> None:
    file = SourceFile(source_id="notes", path="a.rtf", media="office")
    begun = time.process_time()

    document = parser_for("office")(FileContent(b"{\\rtf1 " + HOSTILE[name]), file)

    assert "deep" in document.text
    assert time.process_time() - begun < 20  # what is quadratic takes minutes


PIECES = st.sampled_from(
    [
        *(b"{", b"}", b"\\", b"\\'", b"\\*", b"\\u", b"\\bin", b"\\par ", b"\\cell ", b"\\row "),
        *(b"{\\footnote ", b"{\\field{\\fldinst HYPERLINK x}{\\fldrslt ", b"{\\pict ", b"-1 "),
        *(b"{\\fonttbl{\\f1\\fcharset128 a}}", b"\\f1 ", b"{\\stylesheet{\\s1 heading 1}}"),
        *(b"\\s1 ", b"\\trowd ", b"\\nestcell ", b"\\itap3 ", b"{\\listtext ", b"{\\header "),
        *(b"\\u55357 ", b"\\'8", b"{\\upr", b"{\\*\\ud ", b"{\\info{\\title ", b"\\uc3 "),
    ]
)


@settings(deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=20), PIECES), max_size=40).map(b"".join))
def test_any_bytes_are_a_document_or_a_reason(data: bytes) -> None:
    document = parse(b"{\\rtf1" + data)

    assert document.refused is None or document.refused[0] == "unreadable"


def written(text: str) -> str:
    """Return *text* as a program writes it that trusts nothing but ASCII."""
    units = text.encode("utf-16-le")
    codes = [int.from_bytes(units[at : at + 2], "little") for at in range(0, len(units), 2)]
    return "".join(_unit(code) for code in codes)


def _unit(code: int) -> str:
    if code > 126:
        return f"\\u{code - 0x10000 if code > 0x7FFF else code}?"
    return f"\\{chr(code)}" if chr(code) in "\\{}" else chr(code)


TEXTS = st.text(
    st.characters(
        codec="utf-8",
        exclude_categories=["Cc", "Cs", "Co", "Zl", "Zp"],
        exclude_characters="\u2022\u25e6\u25aa\u2023\u00b7\u2013-",
    ),
    min_size=1,
    max_size=30,
).map(lambda text: " ".join(text.split()) or "a")


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.booleans())
def test_text_that_is_written_comes_back(texts: list[str], is_grouped: bool) -> None:
    form = "{{\\pard\\plain\\f0 {}\\par}}\r\n" if is_grouped else "{}\\par\n"

    document = parse(rtf("".join(form.format(written(text)) for text in texts)))

    assert document.text == "\n\n".join(texts)
