"""PDF files that others wrote: what a person reads on them is what they say, whatever is odd."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.places import placed_chunks
from kb_app._media import chunker_for, parser_for
from kb_core.citations import PageSpan
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WordCounter

DATA = Path(__file__).parents[4] / "shared" / "data"
SAMPLES = DATA / "formats" / "pdf"
LIMITS = ChunkLimits(target_tokens=180, overlap_tokens=20, max_tokens=300)
FILES = sorted({file.name: file for file in DATA.glob("f*/**/*.pdf")}.values())

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="no samples here")


@cache
def parsed(name: str) -> ParsedDocument:
    return parse(SAMPLES / name)


def parse(path: Path, *passwords: str) -> ParsedDocument:
    options = {"passwords": passwords}
    file = SourceFile(source_id="papers", path=path.name, media="pdf", options=options)
    return parser_for("pdf")(FileContent(path.read_bytes()), file)


def pages_of(document: ParsedDocument, phrase: str) -> set[int]:
    pages = set()
    for match in re.finditer(re.escape(phrase), document.text):
        spans = [place.span for place in document.places if place.start <= match.start()]
        assert isinstance(spans[-1], PageSpan)
        pages.add(spans[-1].page)
    return pages


@pytest.mark.parametrize(
    ("name", "phrase", "page"),
    [
        ("multicolumn.pdf", "Donec nonummy pellentesque ante.", 1),
        ("multicolumn.pdf", "consectetuer adipiscing elit", 1),
        ("multicolumn.pdf", "filled", 1),
        ("pdflatex-outline.pdf", "Hello, here is some text without a meaning.", 2),
        ("habibi.pdf", "حَبيبي", 1),
        ("ArabicCIDTrueType.pdf", " ".join(["انواع الخطوط العربية"] * 4), 1),
        ("issue11656.pdf", "שלום עולם מה שלום כולם?", 1),
        ("issue11656.pdf", "לפי סעיף 15(ב)(4) לחוק", 1),
        ("issue16538.pdf", "取引できない商品に対して", 1),
        ("issue16063.pdf", "スプリング式ねじなし端子", 1),
        ("XiaoBiaoSong.pdf", "关于红军作战的原则", 1),
        ("vertical.pdf", "日本語", 1),
        ("vertical.pdf", "あいうえお", 1),
        ("rotation.pdf", "Second line here.", 2),
        ("tagged.pdf", "Page 2 Heading", 2),
        ("tagged.pdf", "Body text.", 2),
        ("graph_ocred.pdf", "No vote", 1),
    ],
)
def test_what_a_person_sees_is_in_the_text(name: str, phrase: str, page: int) -> None:
    assert page in pages_of(parsed(name), phrase)


def test_ligatures_are_their_letters() -> None:
    text = unicodedata.normalize("NFKC", parsed("copy_paste_ligatures.pdf").text)

    assert "abcdeffffiflffifflſtstghijklmno".replace("ſ", "s") in text.replace("ſ", "s")


def test_vertical_lines_are_read_from_the_right() -> None:
    text = parsed("vertical.pdf").text

    assert text.split() == ["あいうえお", "日本語"]


def test_an_outline_makes_headings_and_sections() -> None:
    document = parsed("nested_outline.pdf")

    headings = [
        (block.level, document.text[block.start : block.end])
        for block in document.blocks
        if block.kind == "heading"
    ]
    assert headings[:4] == [
        (1, "Introduction"),
        (2, "Background"),
        (2, "Motivation"),
        (1, "Main Content"),
    ]
    last = next(b for b in document.blocks if "Future Work" in document.text[b.start : b.end])
    assert last.heading_path == ("Conclusion", "Future Work")


def test_a_locked_file_opens_with_the_password_that_fits() -> None:
    locked = SAMPLES / "libreoffice-writer-password.pdf"

    way_out = "; name it in [[passwords]] or KEBAB_PASSWORDS_FILE"
    assert parse(locked).refused == ("encrypted", f"it is locked with a password{way_out}")
    refused = parse(locked, "wrong", "test").refused
    assert refused is not None
    assert "none of 2" in refused[1]
    assert refused[1].endswith(way_out)
    assert parse(locked, "wrong", "openpassword").text
    assert "Issue 15893 - password" in parse(SAMPLES / "issue15893_reduced.pdf", "test").text


def test_pages_that_are_pictures_wait_and_those_with_a_layer_do_not() -> None:
    scans = ["c02-22.pdf", "multipage.pdf", "francais.pdf", "vector.pdf", "grayscale-image.pdf"]
    assert {parsed(name).waits_for for name in scans} == {"ocr"}
    assert "pages 1, 2, 3" in parsed("multipage.pdf").warnings[0]
    assert parsed("graph_ocred.pdf").waits_for is None
    assert parsed("graph_ocred.pdf").metadata.user["ocr_pages"] == 1
    assert [p.name for p in FILES if p.name == "blank.pdf" and parse(p).waits_for] == []


def test_a_file_within_is_handed_on() -> None:
    (enclosure,) = parsed("with-attachment.pdf").enclosures

    assert (enclosure.name, len(enclosure.data)) == ("image.png", 6669)


def test_what_is_no_pdf_is_refused_with_one_reason() -> None:
    for name in ("invalid.pdf", "poppler-742-0-fuzzed.pdf"):
        refused = parsed(name).refused
        assert refused is not None
        assert refused[0] == "unreadable"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_any_file_is_a_document_whose_chunks_cover_it(path: Path) -> None:
    document = parse(path, "test", "openpassword")
    text, end = document.text, 0
    text.encode()
    for block in document.blocks:
        assert not text[end : block.start].strip()
        end = block.end
    assert not text[end:].strip()
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    end = 0
    for chunk in placed_chunks(document, chunker_for("pdf"), WordCounter(), LIMITS):
        assert not text[end : chunk.start].strip()
        assert isinstance(chunk.span, PageSpan)
        assert chunk.span.bbox is not None
        end = max(end, chunk.end)
    assert not text[end:].strip()
