"""A place as it looks: the page of a PDF, or a picture, with what is cited marked on it.

The file is read as it is now, in the way that its text would be: nothing is shown of what
ingest would leave alone. One that changed since is drawn all the same, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_app._citing.files import Files
from kb_app._citing.resolving import named_by
from kb_app._ingest.making.parsing import enclosed_bytes
from kb_app._media import OCR
from kb_app._search.lookup import Named, chunks_at
from kb_app.drawing import Picture, mark, png
from kb_core.citations import Citation, PageSpan, RegionSpan, Span, citation_of
from kb_core.errors import InvalidInput, IoError, SpanNotSupported
from kb_core.ids import bytes_hash
from kb_core.media import Media
from kb_core.ports import IndexSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_app._ingest.making.pdfium import PageImage
    from kb_app.config import Config

__all__ = ["DPI", "draw"]

DPI = 150
_LONGEST_SIDE = 16
"""Of a picture, in inches: it has no size of its own."""
_ROOM = 2.0
"""Points, or pixels of a picture, between what is marked and the edge around it."""


def draw(
    snapshot: IndexSnapshot,
    uri: str,
    source: str | None,
    files: Files,
    config: Config,
    *,
    dpi: float = DPI,
) -> Picture:
    """Draw the page or picture that *uri* is on: a citation, an id, or a document's path."""
    named = named_by(snapshot, uri, source)
    citation = _place(snapshot, named)
    _check(named, citation, uri)
    data = _data(named, files)
    if named.doc["media"] == Media.PDF:
        image = _page(data, citation.span, config, uri, dpi)
    else:
        image = _picture(data, citation.span, config, uri, dpi)
    boxes = _boxes(citation.span)
    pixels = bytearray(image.pixels)
    size = image.width, image.height
    for x0, y0, x1, y1 in boxes:
        sides = (x0 - _ROOM, y0 - _ROOM, x1 + _ROOM, y1 + _ROOM)
        left, upper, right, lower = (round(side * image.scale) for side in sides)
        mark(pixels, size, (left, upper, right, lower), max(1, round(dpi / 72)))
    return Picture(
        png(pixels, size),
        *size,
        uri=citation.uri,
        marks=len(boxes),
        is_as_indexed=bytes_hash(data) == named.doc["bytes_hash"],
    )


def _check(named: Named, citation: Citation, uri: str) -> None:
    """Raise ``SpanNotSupported`` for what does not look like anything, here at least."""
    media = named.doc["media"]
    if media in {Media.PDF, Media.IMAGE} and isinstance(citation.span, PageSpan | RegionSpan):
        if media == Media.PDF or OCR.is_installed:
            return
        problem, hint = "cannot be drawn without the extra 'ocr'", OCR.install
    else:
        problem = "has no pages that could be drawn"
        hint = f"kebab cite '{uri}' prints what it says there"
    raise SpanNotSupported(
        f"{named.doc['path']!r} {problem}",
        hint=hint,
        details={"field": "uri", "value": uri, "media": media},
    )


def _boxes(span: Span) -> Sequence[tuple[float, float, float, float]]:
    match span:
        case RegionSpan(x, y, w, h):
            return [(x, y, x + w, y + h)]
        case PageSpan():
            return span.boxes or ([span.bbox] if span.bbox else [])
    return []


def _place(snapshot: IndexSnapshot, named: Named) -> Citation:
    """Return the place that is meant: a chunk's with its boxes; of a document, the first page."""
    chunks = [named.chunk] if named.chunk is not None else []
    if named.citation is not None:
        chunks = [*chunks_at(snapshot, named.doc, named.citation)]
    if len(chunks) == 1:
        return citation_of(chunks[0])
    return named.citation or Citation(named.doc["path"], PageSpan(1))


def _data(named: Named, files: Files) -> bytes:
    """Return the bytes of the document, taken out of the file that it is within if it is."""
    doc = named.doc
    container = doc.get("container")
    data = files.data(doc)
    if not container:
        return data
    found = enclosed_bytes(doc["path"], container, data)
    if found is None:
        raise IoError(
            f"{doc['path']!r} is not in its file any more",
            hint="kebab ingest",
            details={"doc_id": doc["doc_id"], "container": container},
        )
    return found


def _page(data: bytes, span: Span, config: Config, uri: str, dpi: float) -> PageImage:
    """Return a page of a PDF, and how many pixels a point has."""
    from kb_app._ingest.making.pdfium import Locked, NotReadable, opened
    from kb_app.config import passwords_of

    number = span.page if isinstance(span, PageSpan) else 1
    try:
        with opened(data, passwords_of(config.passwords, config.passwords_file)) as pdf:
            _check_number(number, len(pdf), uri)
            with pdf.page(number - 1) as page:
                return page.image(dpi=dpi, is_grey=False)
    except Locked:
        problem, hint = "it needs a password", "add it to [[passwords]] of the configuration"
    except NotReadable as error:
        problem, hint = str(error), "kebab ingest, if the file has changed"
    raise IoError(f"{uri!r} cannot be drawn: {problem}", hint=hint, details={"value": uri})


def _picture(data: bytes, span: Span, config: Config, uri: str, dpi: float) -> PageImage:
    """Return a picture, and how many pixels one of it as displayed, or a point of a page, has."""
    from kb_app._ingest.making.pdfium import PageImage
    from kb_app._ingest.making.pictures import NoPictureError, TooManyPixelsError, open_picture

    number = span.page if isinstance(span, PageSpan) else 1
    try:
        picture = open_picture(data, config.ocr.max_megapixels)
        _check_number(number, picture.frames, uri)
        frame = picture.shown(number - 1)
    except (NoPictureError, TooManyPixelsError) as error:
        hint = "kebab ingest, if the file has changed"
        raise IoError(f"{uri!r} cannot be drawn: {error}", hint=hint) from error
    image, most = frame.image, round(dpi * _LONGEST_SIDE)
    ratio = min(1.0, most / max(image.size))
    if ratio < 1:
        image = image.resize([max(1, round(side * ratio)) for side in image.size])
    unit = frame.points if isinstance(span, PageSpan) else frame.scale
    return PageImage(*image.size, image.tobytes(), ratio / unit, channels=3)


def _check_number(number: int, pages: int, uri: str) -> None:
    if number > pages:
        raise InvalidInput(
            f"{uri!r} is page {number:,} of {pages:,}",
            hint="kebab ingest, if the file has changed",
            details={"field": "uri", "value": uri, "pages": pages},
        )
