"""Pages as pictures: what is cited is marked where it stands, and nothing else."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app import KnowledgeBase
from kb_app._media import OCR
from kb_app.config import Config, Embedding, Ingest, Source
from kb_app.drawing import Picture, first_mark, mark, pixels_of as shown_pixels, png, shrunk
from kb_app.testing.papers import Leaf, Said, paper, plain_page
from kb_core.citations import RegionSpan
from kb_core.errors import InvalidInput, IoError, SpanNotSupported
from kb_core.execution import Executor
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery

YELLOW, EDGE, WHITE = (255, 255, 159), (224, 96, 0), (255, 255, 255)


def pixels_of(data: bytes) -> tuple[int, int, bytes]:
    """Return width, height and pixels of a PNG file without filters."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    parts, at = {}, 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(name + body) == struct.unpack(">I", data[at + 8 + length :][:4])[0]
        parts[name] = body
        at += 12 + length
    width, height, *kind = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert kind == [8, 2, 0, 0, 0]
    rows = zlib.decompress(parts[b"IDAT"])
    step = 3 * width + 1
    assert set(rows[::step]) == {0}
    return width, height, b"".join(rows[at + 1 : at + step] for at in range(0, len(rows), step))


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_a_png_has_the_pixels_that_it_was_made_of(
    width: int, height: int, data: st.DataObject
) -> None:
    size = 3 * width * height
    pixels = data.draw(st.binary(min_size=size, max_size=size))

    assert pixels_of(png(pixels, (width, height))) == (width, height, pixels)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.data())
def test_a_shrunk_picture_is_as_bright_and_no_wider_than_there_is_room(
    width: int, height: int, room: int, data: st.DataObject
) -> None:
    length = 3 * width * height
    pixels = data.draw(st.binary(min_size=length, max_size=length))
    picture = Picture(png(pixels, (width, height)), width, height, "a", 0, is_as_indexed=True)

    small, (across, down) = shrunk(shown_pixels(picture), (width, height), room)

    assert shown_pixels(picture) == pixels
    assert across == min(room, width)
    assert len(small) == 3 * across * down
    assert min(pixels) <= min(small) <= max(small) <= max(pixels)


def test_a_mark_is_found_by_its_first_row_and_nothing_else_is() -> None:
    pixels = bytearray(b"\xff" * 3 * 20 * 12)
    pixels[4:7] = b"\xe0\x60\x00"  # the colour, but across two pixels
    unmarked = first_mark(bytes(pixels), 20)
    mark(pixels, (20, 12), (3, 5, 9, 9))

    assert (unmarked, first_mark(bytes(pixels), 20)) == (0, 5)


@given(st.tuples(*[st.integers(-5, 25)] * 4), st.integers(1, 3))
def test_nothing_outside_a_box_is_touched(box: tuple[int, int, int, int], width: int) -> None:
    across, down = 20, 12
    pixels = bytearray(b"\xff" * (across * down * 3))
    mark(pixels, (across, down), box, width)

    for y in range(down):
        for x in range(across):
            at = 3 * (y * across + x)
            seen = tuple(pixels[at : at + 3])
            is_inside = box[0] <= x < box[2] and box[1] <= y < box[3]
            assert (seen in {YELLOW, EDGE}) if is_inside else seen == WHITE


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Return a knowledge base of a paper, a mail that it is attached to, and a note."""
    folder = tmp_path_factory.mktemp("papers")
    root = folder / "notes"
    root.mkdir()
    lone = Leaf([Said(150, 400, "A walrus stands alone.")], crop=(100, 100, 500, 700), turn=90)
    full = plain_page(*(f"Line {n} of otters. It is long enough." for n in range(40)))
    data = paper(lone, full)
    (root / "paper.pdf").write_bytes(data)
    message = EmailMessage()
    message["Subject"] = "The paper"
    message.set_content("Here it is.\n")
    message.add_attachment(data, "application", "pdf", filename="paper.pdf")
    (root / "mail.eml").write_bytes(bytes(message))
    (root / "note.md").write_text("A note.\n", "utf-8")
    if OCR.is_installed:
        (root / "sign.png").write_bytes(sign())
    config = Config.inside(folder, Source(id="notes", root=root))
    plain = replace(config, embedding=Embedding(model="none"), ingest=Ingest(workers=1))
    with KnowledgeBase.open(plain) as kb:
        list(kb.ingest(IngestOptions()))
        yield kb


def sign() -> bytes:
    """Return a picture of 600 by 300 pixels with a line of text in its lower half."""
    from PIL import Image, ImageDraw, ImageFont
    from PIL.PngImagePlugin import PngInfo

    image = Image.new("RGB", (600, 300), "white")
    ImageDraw.Draw(image).text((60, 200), "Penguins only", "blue", ImageFont.load_default(48))
    out = BytesIO()
    told = PngInfo()
    told.add_text("Title", "A sign at the zoo")
    image.save(out, "PNG", pnginfo=told)
    return out.getvalue()


def marked(picture: Picture) -> list[tuple[int, int]]:
    width, _, pixels = pixels_of(picture.png)
    shown = zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True)
    return [divmod(at, width)[::-1] for at, pixel in enumerate(shown) if pixel in {YELLOW, EDGE}]


def test_the_only_passage_of_a_page_is_marked_where_a_viewer_shows_it(kb: KnowledgeBase) -> None:
    drawn = kb.draw("paper.pdf#page=1", dpi=72)

    assert (drawn.width, drawn.height, drawn.marks) == (600, 400, 1)
    assert drawn.is_as_indexed
    xs, ys = zip(*marked(drawn), strict=True)
    # Turned by 90 degrees, what was 300 points above the lower edge is that far from the left.
    assert 290 < min(xs) < max(xs) < 320
    assert 40 < min(ys) < 60 < max(ys) < 190


def test_a_chunk_is_marked_and_a_page_of_several_is_not(kb: KnowledgeBase) -> None:
    (doc,) = [
        each for each in kb.list_docs(SearchFilters())["items"] if each["doc_path"] == "paper.pdf"
    ]
    chunk = kb.chunks_of(doc["doc_id"])[1]

    assert kb.draw(chunk["chunk_id"], dpi=72).marks >= 1
    assert kb.draw("paper.pdf#page=2", dpi=72).marks == 0
    assert kb.draw("paper.pdf", dpi=72).uri == "paper.pdf#page=1"


def test_what_is_within_a_file_is_drawn_as_well(kb: KnowledgeBase) -> None:
    drawn = kb.draw("mail.eml!/paper.pdf#page=1", dpi=72)

    assert (drawn.png, drawn.is_as_indexed) == (kb.draw("paper.pdf#page=1", dpi=72).png, True)


@pytest.mark.skipif(not OCR.is_installed, reason="the extra ocr is not installed")
def test_a_region_is_marked_on_its_picture(kb: KnowledgeBase) -> None:
    hit = kb.search(SearchQuery(text="penguins", mode=SearchMode.LEXICAL)).hits[0]
    drawn = kb.draw(hit.citation.uri)

    assert isinstance(hit.citation.span, RegionSpan)
    assert (drawn.width, drawn.height, drawn.marks) == (600, 300, 1)
    xs, ys = zip(*marked(drawn), strict=True)
    assert 40 < min(xs) < 70
    assert 190 < min(ys) < max(ys) < 270
    about = kb.draw("sign.png#caption")
    assert (about.width, about.height, about.marks) == (600, 300, 0)
    small = kb.draw(hit.chunk_id, dpi=20)
    assert (small.width, small.height) == (320, 160)
    assert abs(min(marked(small))[0] - 320 / 600 * min(xs)) < 4


def test_what_cannot_be_drawn_says_why(kb: KnowledgeBase) -> None:
    with pytest.raises(SpanNotSupported, match="no pages that could be drawn") as raised:
        kb.draw("note.md#L1")
    assert "kebab cite 'note.md#L1'" in str(raised.value.hint)
    with pytest.raises(InvalidInput, match="page 7 of 2"):
        kb.draw("paper.pdf#page=7")


def test_a_file_that_changed_is_drawn_as_it_is_now(kb: KnowledgeBase, tmp_path: Path) -> None:
    root = Path(str(kb.locate("paper.pdf").path))
    before = root.read_bytes()
    try:
        root.write_bytes(paper(plain_page("Something else.")))
        assert not kb.draw("paper.pdf#page=1", dpi=72).is_as_indexed
        root.write_bytes(b"%PDF-1.7 no more")
        with pytest.raises(IoError, match="cannot be drawn"):
            kb.draw("paper.pdf#page=1")
        root.unlink()
        with pytest.raises(IoError, match="cannot be shown"):
            kb.draw("paper.pdf#page=1")
        root.symlink_to(tmp_path / "elsewhere.pdf")
        (tmp_path / "elsewhere.pdf").write_bytes(before)
        with pytest.raises(IoError, match="link out of its source"):
            kb.draw("paper.pdf#page=1")
    finally:
        root.unlink(missing_ok=True)
        root.write_bytes(before)


def test_a_page_that_hurts_and_a_file_beyond_any_size_cost_an_error(kb: KnowledgeBase) -> None:
    """What draws is a process of its own, with the limits of one that reads."""
    root = Path(str(kb.locate("paper.pdf").path))
    before = root.read_bytes()
    limits = replace(kb._config.limits, memory_mb=200)
    narrow = replace(kb._config, limits=limits)
    try:
        with KnowledgeBase.open(narrow, readonly=True) as narrow_kb:
            assert narrow_kb.draw("paper.pdf#page=1", dpi=72).is_as_indexed
            root.write_bytes(paper(plain_page(*["An otter swims all day long."] * 300_000)))
            with pytest.raises(IoError, match=r"cannot be drawn: \S"):
                narrow_kb.draw("paper.pdf#page=1")
            with root.open("wb") as file:
                file.truncate(300_000_000)
            with pytest.raises(IoError, match="larger than max_file_mb"):
                narrow_kb.draw("paper.pdf#page=1")
    finally:
        root.write_bytes(before)


def test_many_who_ask_at_once_have_one_worker_after_the_other(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, most = [0], [0]
    executors = kb._parts.executor

    def counted(task: Callable[[Any], Any], wanted: int) -> Executor[Any, Any]:
        made = executors(task, wanted)
        close = made.close
        living[0] += 1
        most[0] = max(most[0], living[0])

        def ended() -> None:
            close()
            living[0] -= 1

        monkeypatch.setattr(made, "close", ended)
        return made

    monkeypatch.setattr(kb, "_parts", replace(kb._parts, executor=counted))
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: kb.draw("paper.pdf#page=1", dpi=36), range(4)))

    assert (len(drawn), most[0]) == (4, 1)
