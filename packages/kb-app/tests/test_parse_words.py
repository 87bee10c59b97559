"""Texts of word processors: what a reader sees, what stands beside it, and what is refused."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_app.testing.office_files import archive, docx, relations
from kb_core.documents import ParsedDocument, SourceFile

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "office"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")


def parse(data: bytes, name: str = "report.docx") -> ParsedDocument:
    file = SourceFile(source_id="notes", path=name, media="office")
    document = parser_for("office")(FileContent(data), file)
    text, end = document.text, 0
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        end = block.end
    assert text[end:].strip() == ""
    return document


def sample(name: str) -> ParsedDocument:
    return parse((SAMPLES / name).read_bytes(), name)


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(inside: str, style: str = "") -> str:
    text = inside if inside.startswith("<") else run(inside)
    format_ = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{format_}{text}</w:p>"


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{p(cell)}</w:tc>" for cell in cells) + "</w:tr>"


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.kind, document.text[each.start : each.end]) for each in document.blocks]


STYLES = """
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Kapitel"><w:name w:val="Mein"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="Sub"><w:name w:val="Sub"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:styleId="Punkt"><w:name w:val="List"/><w:pPr><w:numPr/></w:pPr></w:style>
"""


def test_headings_are_told_by_what_a_style_is_based_on_or_its_outline() -> None:
    body = p("One", "Kapitel") + p("text") + p("Two", "Sub") + p("more", "Loop")

    document = parse(docx(body, styles=STYLES))

    assert document.text == "One\n\ntext\n\nTwo\n\nmore"
    assert [each.heading_path for each in document.blocks] == [
        ("One",), ("One",), ("One", "Two"), ("One", "Two"),
    ]  # fmt: skip
    assert document.metadata.title == "One"
    assert document.has_lines


def test_a_long_line_of_styles_is_followed_in_little_time() -> None:
    style = '<w:style w:styleId="s{}"><w:name w:val="n"/><w:basedOn w:val="s{}"/></w:style>'
    line = "".join(style.format(number, number + 1) for number in range(20_000))
    last = '<w:style w:styleId="s20000"><w:name w:val="heading 2"/></w:style>'
    begun = time.process_time()

    document = parse(docx(p("One", "s0"), styles=line + last))

    assert [(each.kind, each.level) for each in document.blocks] == [("heading", 2)]
    assert time.process_time() - begun < 20  # what is quadratic takes ten minutes


def test_tracked_changes_are_as_if_they_were_accepted() -> None:
    body = (
        f"<w:p>{run('Kept ')}<w:ins>{run('inserted')}</w:ins>"
        f"<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run('moved away')}</w:moveFrom><w:moveTo>{run(' here')}</w:moveTo></w:p>"
        "<w:tbl>" + row("a", "b")
        + "<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    )  # fmt: skip

    assert parse(docx(body)).text == "Kept inserted here\n\na\tb"


def test_marks_within_a_line_are_what_they_look_like() -> None:
    body = (
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>"
        f"{run('a')}<w:r><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/>"
        '<w:sym w:char="00E9"/><w:sym w:char="F0B7"/><w:sym w:char="D800"/><w:sym w:char="no"/>'
        "<w:instrText>PAGE</w:instrText></w:r><m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath></w:p>"
    )

    assert parse(docx(body)).text == "a\tb\nc-é•E=mc"


def test_a_text_box_is_there_once_after_its_paragraph() -> None:
    box = f"<w:txbxContent>{p('in the box')}</w:txbxContent>"
    body = (
        f"<w:p>{run('before')}<w:r><mc:AlternateContent><mc:Choice><wps:txbx>{box}</wps:txbx>"
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        f"</mc:AlternateContent></w:r>{run(' after')}</w:p>"
    )

    assert parse(docx(body)).text == "before after\n\nin the box"


def test_notes_and_comments_come_after_what_refers_to_them_and_margins_at_the_end() -> None:
    body = (
        p("Chapter", "Kapitel")
        + f'<w:p>{run("one")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
        + f'<w:p>{run("two")}<w:r><w:commentReference w:id="0"/></w:r></w:p>'
        + p("three")
    )
    notes = (
        f'<w:footnote w:type="separator" w:id="0">{p("----")}</w:footnote>'
        f'<w:footnote w:id="2">{p("the note")}</w:footnote>'
        f'<w:footnote w:id="3">{p("of nothing")}</w:footnote>'
    )
    more = [
        ("footnotes", notes),
        ("comments", f'<w:comment w:id="0" w:author="Ann">{p("really?")}</w:comment>'),
        ("header", p("Running")),
        ("header", p("Running")),
        ("footer", p("Foot")),
    ]  # fmt: skip

    document = parse(docx(body, styles=STYLES, more=more))

    assert kinds(document) == [
        ("heading", "Chapter"),
        ("paragraph", "one"),
        ("note", "the note"),
        ("paragraph", "two"),
        ("comment", "Ann: really?"),
        ("paragraph", "three"),
        ("note", "of nothing"),
        ("margin", "Running"),
        ("margin", "Foot"),
    ]
    assert document.blocks[2].heading_path == ("Chapter",)
    assert document.blocks[-1].heading_path == ()


def test_a_word_that_may_be_parted_is_one_word() -> None:
    assert parse(docx(p("walrus\xades"))).text == "walruses"


def test_a_cell_as_wide_as_several_leaves_the_others_in_their_columns() -> None:
    wide = row("Ann", "Oslo").replace("<w:p>", '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p>', 1)
    late = row("1955", "Rome").replace(
        "<w:tc>", '<w:trPr><w:gridBefore w:val="1"/></w:trPr><w:tc>', 1
    )
    form = row("a", "b") + wide

    document = parse(
        docx(f"<w:tbl>{row('Name', 'Born', 'Place')}{wide}{late}</w:tbl><w:tbl>{form}</w:tbl>")
    )

    assert kinds(document) == [
        ("table", "Name\tBorn\tPlace\nAnn\t\tOslo\n\t1955\tRome"),
        ("table", "a\tb\nAnn\tOslo"),
    ]


def test_a_table_is_a_line_for_each_row_and_a_layout_is_what_is_in_its_cells() -> None:
    nested = f"<w:tbl>{row('x', 'y')}</w:tbl>"
    rows = row("Name", "Menge") + row("Äpfel", "12") + f"<w:tr><w:tc>{nested}</w:tc></w:tr>"
    table = f"<w:tbl>{rows}</w:tbl>"
    layout = f"<w:tbl>{row('left ' * 300, 'right')}</w:tbl><w:tbl>{row('alone')}</w:tbl>"

    document = parse(docx(table + layout))

    assert kinds(document)[0] == ("table", "Name\tMenge\nÄpfel\t12\nx y")
    assert [text for _, text in kinds(document)[1:]] == ["left " * 299 + "left", "right", "alone"]


def test_items_of_a_list_follow_each_other_line_by_line() -> None:
    numbered = '<w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr></w:pPr>'
    body = p("Things") + p("one", "Punkt") + f"<w:p>{numbered}{run('two')}</w:p>" + p("end")

    document = parse(docx(body, styles=STYLES))

    assert document.text == "Things\n\none\ntwo\n\nend"
    assert [(each.kind, each.level) for each in document.blocks][1:3] == [
        ("list_item", 1),
        ("list_item", 2),
    ]


def test_a_link_says_where_it_leads_and_where_it_stands() -> None:
    body = f'<w:p>{run(" see ")}<w:hyperlink r:id="r1">{run("the page")}</w:hyperlink></w:p>'

    document = parse(docx(body))

    (link,) = document.links
    assert (link.target, link.text) == ("https://example.org/", "the page")
    assert document.text[link.start :] == "the page"


def test_properties_are_believed_but_not_a_title_that_a_program_made_up() -> None:
    core = (
        "<dc:title>{}</dc:title><dc:creator>Ann Doe</dc:creator><cp:keywords>tax, car lease"
        "</cp:keywords><dcterms:created>2024-05-06T07:08:09Z</dcterms:created>"
    )

    told = parse(docx(p("text"), core=core.format("The plan"))).metadata
    made_up = parse(docx(p("text"), core=core.format("Microsoft Word - a.doc")), "a_plan.docx")

    assert (told.title, told.tags) == ("The plan", ("tax", "car lease"))
    assert told.user["author"] == "Ann Doe"
    assert told.created == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert made_up.metadata.title == "a plan"


def test_a_part_that_is_damaged_costs_itself_and_a_warning() -> None:
    document = parse(docx(p("text"), more=[("footnotes", "<w:footnote>")]))

    assert document.text == "text"
    assert len(document.warnings) == 1
    assert document.warnings[0].startswith("word/part0.xml in it is no XML")


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
         "encrypted", "password"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"),
         "unreadable", "its header is cut off"),
        (b"just text", "unreadable", "it is no Word file, but text"),
        (b"\1\2\3\0" * 9, "unreadable", "it is no Word file"),
        (b"%PDF-1.7\n\x81\0", "unsupported", "it is a PDF, called .docx; rename it"),
        (archive({"readme.txt": "x"}), "unsupported", "no file of an office program"),
        (docx("<w:p>" * 5_000 + "</w:p>" * 5_000), "unreadable", "nested too deeply"),
        (docx("<w:p>"), "unreadable", "word/document.xml in it is no XML"),
        (archive({"_rels/.rels": relations(("officeDocument", "word/document.xml")),
                  "word/document.xml": "<!DOCTYPE a><a/>"}), "unreadable", "document type"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_has_one_reason(data: bytes, reason: str, says: str) -> None:
    refused = parse(data).refused

    assert refused is not None
    assert refused[0] == reason
    assert says in refused[1]


@needs_samples
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("all-parts.docx", ["Erstes Kapitel", "Zweite Ebene", "Split runs join.", "Äpfel\t12",
                            "Kept inserted text.", "Inside the text box", "E=mc",
                            "The footnote text.", "A reviewer remark.", "Running header",
                            "Running footer"]),
        ("footnotes.docx", ["snoska"]),
        ("table_footnotes.docx", ["snoska"]),
        ("delins.docx", ["Tika can be:"]),
        ("HeaderFooterUnicode.docx", ["GBP - £", "This is a simple header, with a €"]),
        ("comments-rich-para.docx", ["Some text worthy of note.", "Steve Canny: Text with"]),
        ("par-hyperlinks.docx",
         ["Three hyperlinks: the first one here, the second one, and the third."]),
        ("57312.docx", ["Zysk jest wartością ekstensywną"]),
    ],
)  # fmt: skip
def test_the_samples_of_texts_say_what_is_known_of_them(name: str, says: list[str]) -> None:
    document = sample(name)

    for words in says:
        assert document.text.count(words) == 1
    assert "deleted" not in document.text
    assert not document.warnings


@needs_samples
def test_the_samples_of_texts_have_their_headings() -> None:
    levels = [
        [each.level for each in sample(name).blocks if each.kind == "heading"]
        for name in ("all-parts.docx", "heading123.docx")
    ]

    assert levels == [[1, 2], [1, 2, 3]]


@needs_samples
@pytest.mark.parametrize(
    ("name", "reason", "says"),
    [
        ("ExternalEntityInText.docx", "unreadable", "document type"),
        ("bomb-200mb.docx", "too_large", "[limits] part_mb"),
        ("protected_passtika.xlsx", "encrypted", "password"),
    ],
)
def test_the_hostile_samples_are_refused_for_one_reason(name: str, reason: str, says: str) -> None:
    refused = sample(name).refused

    assert refused is not None
    assert refused[0] == reason
    assert says in refused[1]


@pytest.mark.parametrize(
    ("name", "data", "reason", "says"),
    [
        ("a.rtf", b"Walrus", "unreadable", "it is no office file, but text"),
        ("a.xls", b"<html><table>", "unsupported", "it is HTML, called .xls; rename it"),
        ("a.XLS", b"a\tb\n1\t2\n", "unsupported", "it is text, called .xls; rename it"),
        ("a.xls", "a\tb\n".encode("utf-16"), "unsupported", "it is text, called .xls; rename it"),
        ("a.pptx", b"slides", "unreadable", "it is no PowerPoint file, but text"),
        ("a.odt", b"\0\1\2\3", "unreadable", "it is no OpenDocument file"),
    ],
)
def test_a_file_that_is_called_what_it_is_not_says_what_it_is(
    name: str, data: bytes, reason: str, says: str
) -> None:
    assert parse(data, name).refused == (reason, says)


def test_what_a_picture_is_said_to_show_stands_where_it_is() -> None:
    def picture(said: str) -> str:
        again = f'<a:graphic><pic:pic><pic:cNvPr descr="{said}"/></pic:pic></a:graphic>'
        inline = f'<wp:inline><wp:docPr name="Picture 1" descr="{said}"/>{again}</wp:inline>'
        return f"<w:r><w:drawing>{inline}</w:drawing></w:r>"

    guessed = "A walrus on the ice&#10;&#10;Description automatically generated"
    old = '<w:r><w:pict><v:shape alt="A map of the bay"><v:imagedata/></v:shape></w:pict></w:r>'

    text = parse(docx(p(run("see ") + picture(guessed)) + p(picture("Picture 3")) + p(old))).text

    assert text == "see [A walrus on the ice]\n\n[A map of the bay]"
