"""Scanned pages of PDF files: read in the later phase, page by page, and cited by where."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tesserocr")

from PIL import Image, ImageDraw, ImageFont

from kb_app._costly import Costly
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making import ocr
from kb_app._ingest.workers.worker import Phase, hearing
from kb_app._media import parser_for
from kb_core.citations import PageSpan
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ids import bytes_hash
from kb_core.ingest import SkipReason
from kb_core.media import Media

SAMPLES = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats" / "pdf"
FILE = SourceFile(source_id="s", path="scan.pdf", media=Media.PDF)
WAIT = ["The heron waits for the", "morn-", "ing tide at the harbour."]


def scan(*pages: list[str]) -> bytes:
    """Return a PDF of pictures, 144 dots an inch, with lines of text in them."""
    made = []
    for lines in pages:
        image = Image.new("L", (700, 400), 255)
        for number, line in enumerate(lines):
            font = ImageFont.load_default(36)
            ImageDraw.Draw(image).text((40, 40 + 50 * number), line, fill=0, font=font)
        made.append(image)
    file = BytesIO()
    made[0].save(file, "PDF", resolution=144, save_all=True, append_images=made[1:])
    return file.getvalue()


def read(data: bytes, costly: Costly | None = None) -> ParsedDocument:
    return parser_for(Media.PDF, None, ("ocr",))(FileContent(data, costly), FILE)


def boxes(document: ParsedDocument) -> list[tuple[int, tuple[float, float, float, float]]]:
    spans = [place.span for place in document.places]
    return [(s.page, s.bbox) for s in spans if isinstance(s, PageSpan) and s.bbox is not None]


def test_a_scan_waits_and_is_read_with_places_in_points_of_the_page() -> None:
    data = scan(WAIT, ["Marmalade."])
    waiting = parser_for(Media.PDF)(FileContent(data), FILE)

    assert (waiting.text, waiting.waits_for) == ("", "ocr")
    document = read(data)
    assert document.text == "The heron waits for the morning tide at the harbour.\n\nMarmalade."
    first, *_, last = boxes(document)
    assert first[0] == 1
    assert last[0] == 2
    assert first[1][0] == pytest.approx(21, abs=3)
    assert first[1][1] == pytest.approx(25, abs=5)
    assert (document.waits_for, document.warnings) == (None, ())


def test_a_page_that_is_turned_is_cited_as_a_viewer_shows_it() -> None:
    lying = Image.open(BytesIO(png(WAIT[0]))).transpose(Image.Transpose.ROTATE_90)
    file = BytesIO()
    lying.save(file, "PDF", resolution=144)
    upright = file.getvalue().replace(b"/MediaBox", b"/Rotate 90 /MediaBox")

    document = read(upright)

    assert document.text == WAIT[0]
    ((_, (x0, y0, x1, y1)),) = boxes(document)
    assert (x0, y0) == pytest.approx((21, 25), abs=5)
    assert x1 - x0 > 5 * (y1 - y0)


def png(line: str) -> bytes:
    image = Image.new("L", (700, 400), 255)
    font = ImageFont.load_default(36)
    ImageDraw.Draw(image).text((40, 40), line, fill=0, font=font)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def test_a_scan_without_text_makes_no_document_and_one_page_without_is_told() -> None:
    empty = read(scan([], []))
    mixed = read(scan(WAIT, []))

    assert empty.refused == (SkipReason.EMPTY, "no readable text")
    assert mixed.text.startswith("The heron")
    assert mixed.warnings == ("page 2: no readable text",)


class Lamp:
    """Recognition that goes out after a number of pages."""

    def __init__(self, pages: int) -> None:
        self.left, self.read = pages, 0
        self._recognised = ocr._recognised

    def __call__(self, *given: Any) -> ocr.Page:  # noqa: ANN401 - as it is called
        if not self.left:
            raise SystemError("the lamp went out")
        self.left, self.read = self.left - 1, self.read + 1
        return self._recognised(*given)


@pytest.fixture
def told() -> Iterator[list[Phase]]:
    """Return what is said of how far it is."""
    said: list[Phase] = []
    before = hearing.set(said.append)
    yield said
    hearing.reset(before)


def test_what_was_read_before_it_was_interrupted_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[Phase]
) -> None:
    data = scan(WAIT, ["Marmalade."], ["The walrus."])
    costly = Costly(tmp_path / "costly", bytes_hash(data))
    with monkeypatch.context() as patch:
        patch.setattr(ocr, "_recognised", Lamp(2))
        with pytest.raises(SystemError):
            read(data, costly)
    assert [(each.name, each.reached, each.whole) for each in told] == [
        ("ocr", n, 3) for n in range(3)
    ]
    lamp = Lamp(9)
    monkeypatch.setattr(ocr, "_recognised", lamp)

    document = read(data, costly)

    assert lamp.read == 1
    assert document == read(data)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("c02-22.pdf", "tip-toeing along a path amongst the trees"),
        ("vector.pdf", "This is text that should be used for OCR processing"),
        ("francais.pdf", "Portez ce vieux whisky au juge blond"),
    ],
)
def test_scans_of_others_are_read(name: str, expected: str) -> None:
    if not (file := SAMPLES / name).exists():
        pytest.skip("no samples")

    assert expected in " ".join(read(file.read_bytes()).text.split())


def test_a_layer_of_text_that_somebody_made_is_kept() -> None:
    if not (file := SAMPLES / "graph_ocred.pdf").exists():
        pytest.skip("no samples")

    assert parser_for(Media.PDF)(FileContent(file.read_bytes()), FILE).waits_for is None
