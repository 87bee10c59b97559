"""Books: chapters in the order of reading, titles of the contents, and what is refused."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "book"
CHAPTERS = {
    "Text/two words.xhtml": "<h1>Second</h1><p>The quince ripens.</p><pre>  a\n    b</pre>",
    "Text/one.xhtml": "<title>no</title><p>The walrus sleeps.<a id='x'/></p>"
    "<ul><li>ice<li>sea</ul>",
    "Text/nav.xhtml": (
        "<nav epub:type='toc'><ol><li><a href='one.xhtml#x'>First</a></li></ol></nav>"
        "<nav epub:type='page-list'><ol><li><a href='two%20words.xhtml'>7</a></li></ol></nav>"
    ),
}
SPINE = ("nav", "one", "two", "gone")


def book(
    files: Mapping[str, str] = MappingProxyType({}),
    *,
    spine: tuple[str, ...] = SPINE,
    metadata: str = "",
) -> bytes:
    items = "".join(
        f'<item id="{name}" href="Text/{href}" media-type="application/xhtml+xml"{more}/>'
        for name, href, more in (
            ("two", "two%20words.xhtml", ""),
            ("one", "one.xhtml", ""),
            ("nav", "nav.xhtml", ' properties="nav"'),
            ("gone", "gone.xhtml", ""),
        )
    )
    refs = "".join(f'<itemref idref="{name}"/>' for name in spine)
    parts = {
        "META-INF/container.xml": (
            '<?xml version="1.0"?><container><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
        ),
        "OEBPS/book.opf": (
            '<?xml version="1.0"?><!DOCTYPE package><package xmlns:dc="x"><metadata>'
            f"<dc:title>Ice &amp; Sea</dc:title>{metadata}</metadata><manifest>{items}</manifest>"
            f'<spine toc="ncx">{refs}</spine></package>'
        ),
        **{f"OEBPS/{name}": text for name, text in CHAPTERS.items()},
        **files,
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return packed.getvalue()


def parse(data: bytes, name: str = "ice.epub", **limits: int) -> ParsedDocument:
    file = SourceFile(source_id="n", path=name, media="book", limits=ReadingLimits(**limits))
    document = parser_for("book")(FileContent(data), file)
    text, end = document.text, 0
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        end = block.end
    assert text[end:].strip() == ""
    return document


def test_a_book_is_its_chapters_in_the_order_of_reading() -> None:
    document = parse(book())

    assert document.text == (
        "First\n\nThe walrus sleeps.\n\n- ice\n- sea\n\nSecond\n\nThe quince ripens.\n\n  a\n    b"
    )
    assert [block.heading_path for block in document.blocks if block.kind == "paragraph"] == [
        ("First",),
        ("Second",),
    ]
    assert document.warnings == ("a chapter is not read: OEBPS/Text/gone.xhtml in it is missing",)


def test_a_chapter_that_the_spine_names_again_and_again_is_read_once() -> None:
    document = parse(book(spine=("one", "two") * 5000))

    assert document.text == parse(book(spine=("one", "two"))).text


def test_a_book_says_who_wrote_it_and_in_which_language() -> None:
    said = (
        "<dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator><dc:language>fi-FI</dc:language>"
        "<dc:date>2020-03-01</dc:date>"
        "<dc:description>&lt;p&gt;Of &lt;b&gt;ice&lt;/b&gt;</dc:description>"
    )
    metadata = parse(book(metadata=said)).metadata

    assert (metadata.title, metadata.lang) == ("Ice & Sea", "fi")
    assert metadata.user == {"author": "Ann, Bob", "description": "Of ice"}
    assert metadata.created is not None
    assert metadata.created.isoformat() == "2020-03-01T00:00:00+00:00"


def test_titles_come_from_an_older_table_of_contents_too() -> None:
    ncx = (
        '<?xml version="1.0"?><!DOCTYPE ncx><ncx><head><meta name="x"/></head><navMap><navPoint>'
        "<navLabel><text>Part</text></navLabel><content src='Text/nav.xhtml'/><navPoint>"
        "<navLabel><text>Eins</text></navLabel><content src='Text/one.xhtml'/></navPoint>"
        "</navPoint></navMap></ncx>"
    )
    files = {"OEBPS/toc.ncx": ncx, "OEBPS/Text/nav.xhtml": "<p>x"}
    data = book(files, spine=("one",))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        opf = archive.read("OEBPS/book.opf").decode()
    item = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
    files["OEBPS/book.opf"] = opf.replace("</manifest>", item)

    first = parse(book(files)).blocks[0]

    assert (first.kind, first.level, first.heading_path) == ("heading", 2, ("Eins",))


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "encrypted"),
        ("http://www.idpf.org/2008/embedding", None),
    ],
)
def test_a_locked_book_is_refused_and_one_with_locked_fonts_is_read(
    way: str, reason: str | None
) -> None:
    locks = (
        "<encryption xmlns:enc='x'><enc:EncryptedData><enc:EncryptionMethod "
        f"Algorithm='{way}'/></enc:EncryptedData></encryption>"
    )
    refused = parse(book({"META-INF/encryption.xml": locks})).refused

    assert (refused and refused[0]) == reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"BOOKMOBI", "unsupported"),
        (b"PK\3\4 and no more", "unreadable"),
        (book(spine=("nav",)), "unreadable"),
        (book(spine=("gone",)), "unreadable"),
    ],
)
def test_what_is_no_book_is_refused_for_one_reason(data: bytes, reason: str) -> None:
    refused = parse(data).refused
    assert refused is not None
    assert refused[0] == reason
    assert refused[1]


def test_a_book_that_unpacks_to_too_much_is_refused() -> None:
    huge = book({"OEBPS/Text/one.xhtml": "x" * 2_000_000})

    refused = parse(huge, part_mb=1).refused
    assert refused is not None
    assert refused[0] == "too_large"
    assert parse(huge).refused is None


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_a_book_there_is_a_document_or_a_reason(seed: int) -> None:
    dice, data = random.Random(seed), bytearray(book())
    for _ in range(dice.randint(1, 20)):
        at = dice.randrange(len(data))
        data[at : at + dice.randint(0, 3)] = bytes([dice.randrange(256)])

    document = parse(bytes(data))

    assert document.refused is None or document.refused[1]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_the_sample_is_read_by_its_spine() -> None:
    document = parse((SAMPLES / "two-chapters.epub").read_bytes())

    assert document.text.index("Erstes Kapitel") < document.text.index("Zweites Kapitel")
    assert (document.metadata.title, document.metadata.lang) == ("Zwei Kapitel", "de")


FICTION = """<?xml version="1.0" encoding="{encoding}"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">
<description><title-info><author><first-name>Анна</first-name><last-name>Ли</last-name></author>
<book-title>Морж</book-title><annotation><p>О море.</p></annotation><keywords>лёд, море</keywords>
<date value="1921-05-06">1921</date><lang>ru</lang></title-info>
<publish-info><publisher>Лёд</publisher></publish-info></description>
<body><title><p>Морж</p></title><epigraph><p>Тихо.</p></epigraph>
<section><title><p>Глава 1</p><p>Лёд</p></title>
<p>Морж <emphasis>спит</emphasis>.<a l:href="#n1" type="note">1</a> Их 10<sup>6</sup>.</p>
<subtitle>* * *</subtitle>
<poem><stanza><v>Море,</v><v>лёд.</v></stanza></poem>
<table><tr><td>лёд</td><td>2</td></tr></table></section></body>
<body name="notes"><section id="n1"><title><p>1</p></title><p>Всегда.</p></section></body>
<binary id="a.png" content-type="image/png">iVBORw0KGgo=</binary></FictionBook>"""
"""A book of the kind that is one XML."""


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251"])
def test_a_book_that_is_one_xml_is_read_by_sections(encoding: str) -> None:
    data = FICTION.format(encoding=encoding).encode(encoding)

    document = parse(data, "walrus.fb2")

    assert [(b.kind, document.text[b.start : b.end], b.level) for b in document.blocks] == [
        ("heading", "Морж", 1),
        ("quote", "Тихо.", 0),
        ("heading", "Глава 1 Лёд", 2),
        ("paragraph", "Морж спит.[1] Их 10^6.", 0),
        ("heading", "* * *", 3),
        ("paragraph", "Море,\nлёд.", 0),
        ("table", "лёд\t2", 0),
        ("note", "[1] Всегда.", 0),
    ]
    told = document.metadata
    assert (told.title, told.lang, told.tags) == ("Морж", "ru", ("лёд", "море"))
    assert f"{told.created:%Y-%m-%d}" == "1921-05-06"
    assert told.user == {"author": "Анна Ли", "description": "О море.", "publisher": "Лёд"}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as written:
        written.writestr("walrus.fb2", data)
    assert parse(packed.getvalue(), "walrus.fb2.zip").text == document.text


def test_a_damaged_book_of_one_xml_is_refused_with_a_reason() -> None:
    data = FICTION.format(encoding="utf-8").encode()

    assert "no XML" in str(parse(data[:-40], "walrus.fb2").refused)
    bomb = data.replace(b"<FictionBook", b'<!DOCTYPE a [<!ENTITY b "b">]><FictionBook', 1)
    assert "document type" in str(parse(bomb, "walrus.fb2").refused)
