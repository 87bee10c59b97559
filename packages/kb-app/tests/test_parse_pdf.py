"""PDF: lines become paragraphs, tables and headings, and each knows its place on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats import pdf
from kb_app._ingest.making.formats.pdf import PdfParser, read_pdf
from kb_app._ingest.making.glyphs import Box
from kb_app._ingest.making.pdfium import PageImage, opened
from kb_app._ingest.making.places import placed_chunks
from kb_app._ingest.workers.worker import Phase, hearing, left_out
from kb_app._media import chunker_for
from kb_app.testing.papers import Leaf, Said, paper, plain_page
from kb_core.citations import PageSpan, Span
from kb_core.documents import (
    ChunkDraft,
    ChunkLimits,
    ParsedDocument,
    Place,
    ReadingLimits,
    SourceFile,
)
from kb_core.testing.fakes import WordCounter

FILE = SourceFile(source_id="papers", path="on-kebab.pdf", media="pdf")
LIMITS = ChunkLimits(target_tokens=30, overlap_tokens=4, max_tokens=40)
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "that", "slept"]


def parse(data: bytes) -> ParsedDocument:
    return PdfParser()(FileContent(data), FILE)


def parts(document: ParsedDocument) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks]


def spans(document: ParsedDocument) -> list[PageSpan]:
    return [place.span for place in document.places if isinstance(place.span, PageSpan)]


def column(x: float, top: float, *lines: str) -> list[Said]:
    return [Said(x, top - 14 * number, line) for number, line in enumerate(lines)]


def test_lines_are_joined_to_paragraphs() -> None:
    page = Leaf(
        [
            *column(72, 700, "Apples are kept in", "the cellar until spring."),
            *column(72, 640, "Pears are not."),
        ]
    )

    assert parts(parse(paper(page))) == [
        "Apples are kept in the cellar until spring.",
        "Pears are not.",
    ]


def test_a_hyphen_at_the_end_of_a_line_is_dropped_unless_the_word_has_it() -> None:
    page = plain_page(
        "It was a well-known fact in the docu-",
        "mentation that well-",
        "known words keep it, and Trace-",
        "Monkey does, too.",
    )

    assert parse(paper(page)).text == (
        "It was a well-known fact in the documentation that well-known words keep it, "
        "and Trace-Monkey does, too."
    )


def test_characters_beyond_the_first_plane_are_read_each_at_its_place() -> None:
    page = Leaf([Said(72, 700, "The ~ of @ is fine."), Said(72, 600, "Half a ^ is none.")])

    parsed = parse(paper(page, means={"~": "\U0001d465", "@": "\U0001f600", "^": "\ud835"}))

    assert parts(parsed) == [
        "The \U0001d465 of \U0001f600 is fine.",
        "Half a \ufffd is none.",
    ]
    plain = spans(parse(paper(page)))
    assert [span.bbox for span in spans(parsed)] == [span.bbox for span in plain]


def test_a_page_without_a_size_costs_that_page() -> None:
    data = paper(plain_page("Found."), Leaf([Said(72, 700, "Lost.")], (9.0, 1e6)))
    data = data.replace(b"[0 0 9.0 1000000.0]", b"[0 0 9 9999999" + b"9" * 60 + b".5]")

    document = parse(data)

    assert document.text == "Found."
    assert document.warnings == ("page 2 of 2 cannot be read",)


def test_what_stands_raised_behind_a_number_is_its_power() -> None:
    line = [Said(72, 700, "over 10"), Said(113, 706, "6", size=7), Said(120, 700, "cells,")]
    line += [Said(160, 700, "10"), Said(174, 697, "7", size=7), Said(190, 700, "1995")]

    assert parse(paper(Leaf(line))).text == "over 10^6 cells, 107 1995"


def test_a_line_that_had_room_for_the_next_word_ends_there() -> None:
    page = plain_page(
        "The list, of which this line is the longest of all:",
        "• apples",
        "• pears, which are kept in the cellar, as one did",
        "before",
        "Roses are red",
        "violets are blue",
    )

    assert parse(paper(page)).text == (
        "The list, of which this line is the longest of all:\n• apples\n"
        "• pears, which are kept in the cellar, as one did before\n"
        "Roses are red\nviolets are blue"
    )


def test_columns_are_read_one_after_the_other() -> None:
    left = column(72, 700, "The left column has", "two lines and then")
    right = column(320, 700, "goes on in the right", "one until its end.")

    assert parse(paper(Leaf([*left, *right]))).text == (
        "The left column has two lines and then goes on in the right one until its end."
    )


def test_what_was_written_in_disorder_is_ordered_by_its_place() -> None:
    heights = [100, 300, 200, 500, 400, 700]
    page = Leaf([Said(72, y, f"at {y}") for y in heights])

    assert parts(parse(paper(page))) == [f"at {y}" for y in sorted(heights, reverse=True)]


def test_a_table_is_rows_of_cells() -> None:
    rows = [("Product", "Sold", "Left"), ("Plums", "73,929", "5"), ("Quinces", "70,000", "12")]
    said = [
        Said(72 + 120 * cell, 700 - 16 * number, text)
        for number, row in enumerate(rows)
        for cell, text in enumerate(row)
    ]
    document = parse(paper(Leaf(said)))

    assert document.text == "\n".join("\t".join(row) for row in rows)
    assert [block.kind for block in document.blocks] == ["table"]


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_box_is_where_a_viewer_shows_the_text(turn: int) -> None:
    leaf = Leaf([Said(150, 200, "Here it stands.")], crop=(100, 50, 500, 650), turn=turn)
    data = paper(leaf)
    (span,) = spans(parse(data))
    with opened(data) as pdf, pdf.page(0) as page:
        image = page.image(dpi=72)

    assert (image.width, image.height) == ((400, 600) if turn % 180 == 0 else (600, 400))
    assert span.bbox is not None
    ink = [divmod(at, image.width) for at, grey in enumerate(image.pixels) if grey < 128]
    x0, y0, x1, y1 = span.bbox
    assert ink
    assert all(x0 - 1 <= x <= x1 + 1 and y0 - 1 <= y <= y1 + 1 for y, x in ink)
    height = max(y for y, _ in ink) - min(y for y, _ in ink)
    assert y1 - y0 < height + 12


def test_text_that_runs_up_the_page_is_read_as_lines() -> None:
    said = [Said(100 + 14 * n, 100, text, turn=1) for n, text in enumerate(("It runs", "upwards."))]

    assert parse(paper(Leaf(said))).text == "It runs upwards."


def test_what_runs_along_the_pages_is_kept_once_and_page_numbers_are_not() -> None:
    leaves = [
        Leaf(
            [
                Said(72, 770, "The Book of Kebab"),
                Said(300, 760, f"Total {100 + number * number}"),
                Said(72, 400, f"Page {number} says something."),
                Said(300, 20, f"- {number} -"),
            ]
        )
        for number in range(1, 5)
    ]
    text = parse(paper(*leaves)).text

    assert text.count("The Book of Kebab") == 1
    assert "- " not in text
    assert [f"Total {100 + n * n}" in text for n in range(1, 5)] == [True] * 4


def test_larger_type_makes_headings_where_there_is_no_outline() -> None:
    body = column(72, 660, *(f"Line {n} of a text that is long enough." for n in range(9)))
    document = parse(
        paper(Leaf([Said(72, 720, "Of Kebab", 20), Said(72, 690, "Spice", 15), *body]))
    )

    assert [(b.kind, b.level) for b in document.blocks[:2]] == [("heading", 1), ("heading", 2)]
    assert document.blocks[-1].heading_path == ("Of Kebab", "Spice")
    assert document.metadata.title == "Of Kebab"


def test_an_outline_goes_before_type_and_begins_sections_that_no_line_names() -> None:
    leaf = plain_page("2.1 Spice", "Cumin is one.", leading=30)
    document = parse(paper(leaf, plain_page("Onions."), outline=[("Spice", 0), ("Vegetables", 1)]))

    assert [b.heading_path for b in document.blocks] == [
        ("2.1 Spice",),
        ("2.1 Spice",),
        ("Vegetables",),
    ]
    assert document.blocks[0].kind == "heading"


def test_pages_tell_their_labels_where_they_differ_from_their_numbers() -> None:
    leaves = [plain_page("One."), plain_page("Two.")]

    assert [span.label for span in spans(parse(paper(*leaves, labels="r")))] == ["i", "ii"]
    assert [span.label for span in spans(parse(paper(*leaves, labels="D")))] == [None, None]


def test_what_the_file_says_of_itself_is_its_metadata() -> None:
    information = {
        "Title": "On Kebab",
        "Author": "A. Cook",
        "Keywords": "meat; bread",
        "CreationDate": "D:20240102030405+09'00'",
        "ModDate": "nonsense",
    }
    meta = parse(paper(plain_page("Text."), information=information)).metadata

    assert (meta.title, meta.tags, meta.user) == (
        "On Kebab",
        ("meat", "bread"),
        {"author": "A. Cook"},
    )
    assert meta.created is not None
    assert meta.created.isoformat() == "2024-01-01T18:04:05+00:00"
    assert meta.updated is None


def test_half_a_surrogate_pair_where_a_file_names_things_is_no_name() -> None:
    whole, half = "halfapair.", b"\xfe\xff\xd8\x00\x00a\x00b\x00c"
    data = paper(
        plain_page("Text."),
        information={"Title": whole, "Author": "A. Cook"},
        outline=[(whole, 0), ("Whole", 0)],
        files={whole: b"Held."},
    )
    assert data.count(whole.encode()) >= 4

    document = parse(data.replace(whole.encode(), half))

    assert document.metadata.title == "on kebab"
    assert document.metadata.user == {"author": "A. Cook"}
    assert [held.name for held in document.enclosures] == ["attachment 1"]


@pytest.mark.parametrize(
    "title", ["Microsoft Word - draft.doc", "untitled", "(anonymous)", "report.pdf", "C:\\x"]
)
def test_a_title_that_a_program_gave_is_none(title: str) -> None:
    document = parse(paper(plain_page("Text."), information={"Title": title}))

    assert document.metadata.title == "on kebab"


def test_files_within_are_handed_on() -> None:
    files = {"data.csv": b"a,b\n", "note.md": b"# A note\n"}

    found = parse(paper(plain_page("See the files."), files=files)).enclosures

    assert {each.name: each.data for each in found} == files


def test_a_page_that_is_a_picture_waits_and_is_read_where_somebody_can() -> None:
    data = paper(plain_page("A page of text that is long enough to be one."), Leaf(is_picture=True))
    waiting = parse(data)

    assert waiting.waits_for == "ocr"
    assert waiting.warnings == ("page 2 of 2 is a picture without text",)

    def recognise(image: PageImage, number: int, total: int) -> Sequence[Sequence[tuple[str, Box]]]:
        assert (number, total) == (2, 2)
        assert len(image.pixels) == image.width * image.height
        scale = image.scale
        return [[("It was", Box(0, 0, 72 * scale, 10 * scale)),
                 ("a scan.", Box(0, 12 * scale, 72 * scale, 22 * scale))]]  # fmt: skip

    document = read_pdf(FileContent(data), FILE, recognise)
    assert (document.waits_for, document.warnings) == (None, ())
    assert parts(document)[1] == "It was a scan."
    assert [span.bbox for span in spans(document)][1:] == [(0, 0, 72, 10), (0, 12, 72, 22)]


def test_a_damaged_page_costs_that_page() -> None:
    data = paper(plain_page("First."), plain_page("Second."), plain_page("Third."))
    damaged = data.replace(b"/Type /Page /Parent", b"/Type /Pigs /Pabent", 1)

    document = parse(damaged)

    assert parts(document) == ["Second.", "Third."]
    assert [span.page for span in spans(document)] == [2, 3]
    assert document.warnings == ("page 1 of 3 cannot be read",)


def test_a_page_whose_text_cannot_be_loaded_costs_that_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pypdfium2

    load, seen = pypdfium2.PdfPage.get_textpage, count()

    def fail_once(page: pypdfium2.PdfPage) -> pypdfium2.PdfTextPage:
        if next(seen) == 0:
            raise pypdfium2.PdfiumError("Failed to load text page.")
        return load(page)

    monkeypatch.setattr(pypdfium2.PdfPage, "get_textpage", fail_once)
    document = parse(paper(plain_page("First."), plain_page("Second.")))

    assert (document.text, document.warnings) == ("Second.", ("page 1 of 2 cannot be read",))


def test_a_long_file_says_how_far_it_is() -> None:
    told: list[Phase] = []
    token = hearing.set(told.append)
    try:
        parse(paper(*(Leaf() for _ in range(250))))
    finally:
        hearing.reset(token)

    assert [(phase.name, phase.reached, phase.whole) for phase in told] == [
        ("parse", 99, 250),
        ("parse", 199, 250),
    ]


def without(data: bytes, *pages: int) -> ParsedDocument:
    """Return what a worker makes of *data* once these pages took too much memory."""
    token = left_out.set(frozenset(pages))
    try:
        return parse(data)
    finally:
        left_out.reset(token)


def test_pages_that_take_too_much_memory_are_left_out_with_a_reason() -> None:
    data = paper(*(plain_page(f"Page {n}.") for n in range(1, 9)))
    needs = "what is drawn there takes more memory than a page may"

    document = without(data, 2)
    assert [span.page for span in spans(document)] == [1, 3, 4, 5, 6, 7, 8]
    assert document.warnings == (f"page 2 of 8 is not read: {needs}",)

    document = without(data, 2, 3, 4, 6)
    assert [span.page for span in spans(document)] == [1, 5]
    assert document.warnings[-1] == (
        "pages from 6 of 8 on are not read: too many pages before take too much for such a file"
    )

    refused = without(paper(plain_page("Page.")), 1).refused
    assert refused == ("too_large", f"page 1 of 1 is not read: {needs}")


def test_a_file_of_far_more_text_than_it_has_bytes_is_read_by_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pdf._TEXT_CHARS == 500_000
    monkeypatch.setattr(pdf, "_TEXT_CHARS", 50_000)
    shared = plain_page("\n".join(WORDS * 40))
    pages = 1 + 60_000 // len(parse(paper(shared)).text)

    document = parse(paper(*[shared] * pages))

    assert 50_000 < len(document.text) < 55_000
    (warning,) = document.warnings
    assert "on are not read: the text before is too much for such a file" in warning


def test_a_file_of_more_pages_than_are_read_is_refused() -> None:
    data = FileContent(paper(*(plain_page(f"Page {n}.") for n in range(4))))

    assert read_pdf(data, replace(FILE, limits=ReadingLimits(pages=4))).refused is None
    refused = read_pdf(data, replace(FILE, limits=ReadingLimits(pages=3))).refused
    assert refused == ("too_large", "4 pages; [limits] pages is 3")


def test_a_chunk_of_two_columns_has_boxes_that_hold_no_other() -> None:
    left = [" ".join(WORDS[: 4 + n % 3]) + "." for n in range(17)]
    right = [" ".join(WORDS[3 : 7 + n % 3]) + "." for n in range(20)]
    document = parse(paper(Leaf([*column(72, 700, *left), *column(330, 700, *right)])))
    chunks = list(placed_chunks(document, chunker_for("pdf"), WordCounter(), LIMITS))

    assert any(span.boxes for span in map(span_of, chunks))
    for chunk in chunks:
        span = span_of(chunk)
        boxes = span.boxes or (span.bbox,)
        for place, after in pairwise([*document.places, Place(len(document.text), span)]):
            held = [box for box in boxes if lies_in(place.span, box)]
            assert len(held) == (place.start < chunk.end and chunk.start < after.start)
        x0s, y0s, x1s, y1s = zip(*filter(None, boxes), strict=True)
        assert span.bbox == (min(x0s), min(y0s), max(x1s), max(y1s))


def span_of(chunk: ChunkDraft) -> PageSpan:
    assert isinstance(chunk.span, PageSpan)
    return chunk.span


def lies_in(span: Span, box: tuple[float, float, float, float] | None) -> bool:
    assert isinstance(span, PageSpan)
    assert span.bbox
    assert box
    (a, b, c, d), (e, f, g, h) = span.bbox, box
    return e <= a < c <= g and f <= b < d <= h


lines = st.lists(
    st.builds(
        Said,
        x=st.integers(0, 500),
        y=st.integers(10, 780),
        text=st.lists(st.sampled_from([*WORDS, "(a)", "well-", "3.5", "¨a"]), min_size=1).map(
            " ".join
        ),
        size=st.integers(6, 30),
        turn=st.integers(0, 3),
    ),
    max_size=12,
)


@given(st.lists(lines, min_size=1, max_size=4))
@settings(max_examples=40)
def test_blocks_places_and_chunks_of_any_page_cover_it(pages: list[list[Said]]) -> None:
    document = parse(paper(*(Leaf(said) for said in pages)))
    text, end = document.text, 0
    for block in document.blocks:
        assert not text[end : block.start].strip()
        end = block.end
    assert not text[end:].strip()
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    assert not text or starts[0] == 0
    end = 0
    for chunk in placed_chunks(document, chunker_for("pdf"), WordCounter(), LIMITS):
        assert not text[end : chunk.start].strip()
        assert span_of(chunk).bbox
        end = max(end, chunk.end)
    assert not text[end:].strip()


WHOLE = paper(
    plain_page("A page.", "Another line."),
    Leaf(is_picture=True),
    outline=[("A page.", 0)],
    files={"a.txt": b"text"},
)


@given(st.data())
@settings(max_examples=150)
def test_damaged_bytes_are_a_document_or_refused(data: st.DataObject) -> None:
    bytes_ = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(bytes_) - 1))
        bytes_[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(bytes_)))

    for damaged in (bytes(bytes_), bytes(bytes_[:cut])):
        document = parse(damaged)
        assert document.refused is None or document.refused[0] in {"unreadable", "encrypted"}
        document.text.encode()
