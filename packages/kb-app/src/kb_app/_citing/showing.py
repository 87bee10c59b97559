"""A place as it looks: the page of a PDF, or a picture, with what is cited marked on it.

The file is read as it is now, in the way that its text would be: nothing is shown of what
ingest would leave alone. One that changed since is drawn all the same, and says so.
"""

from __future__ import annotations

import shlex
from threading import Lock
from typing import TYPE_CHECKING

from kb_app._citing.files import Files
from kb_app._citing.resolving import named_by
from kb_app._ingest.making.parsing import enclosed_bytes
from kb_app._media import OCR
from kb_app._search.lookup import Named, chunks_at
from kb_app.config import passwords_of
from kb_app.drawing import Picture, mark, png
from kb_core.citations import CaptionSpan, Citation, PageSpan, RegionSpan, Span, citation_of
from kb_core.errors import InvalidInput, IoError, SpanNotSupported
from kb_core.ids import bytes_hash
from kb_core.media import Media
from kb_core.ports import IndexSnapshot
from kb_core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_app._ingest.making.pdfium import PageImage
    from kb_app.config import Config
    from kb_core.execution import Executors

__all__ = ["DPI", "draw"]

DPI = 150
_LONGEST_SIDE = 16
"""Of a picture, in inches: it has no size of its own."""
_ONE_AT_A_TIME = Lock()
"""However many ask at once, one worker draws for all of this process."""
_SEEN = PageSpan | RegionSpan | CaptionSpan
_ROOM = 2.0
"""Points, or pixels of a picture, between what is marked and the edge around it."""


def draw(  # noqa: PLR0913 - what is drawn, out of what, and by whom
    snapshot: IndexSnapshot,
    uri: str,
    source: str | None,
    files: Files,
    config: Config,
    executors: Executors,
    *,
    dpi: float = DPI,
) -> Picture:
    """Draw the page or picture that *uri* is on: a citation, an id, or a document's path.

    Files are opened by one of *executors*, as a run opens them: whatever a library does with a
    hostile one, it does not do it here.
    """
    named = named_by(snapshot, uri, source)
    citation = _place(snapshot, named)
    _check(named, citation, uri)
    span, doc = citation.span, named.doc
    drawing = _Drawing(
        data=files.data(doc),
        path=doc["path"],
        container=doc.get("container"),
        is_pdf=doc["media"] == Media.PDF,
        span=span,
        passwords=passwords_of(config.passwords, config.passwords_file),
        max_megapixels=config.ocr.max_megapixels,
        dpi=dpi,
    )
    image, digest = _drawn_apart(drawing, executors, uri)
    boxes = _boxes(span)
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
        is_as_indexed=digest == doc["bytes_hash"],
    )


def _check(named: Named, citation: Citation, uri: str) -> None:
    """Raise ``SpanNotSupported`` for what does not look like anything, here at least."""
    media = named.doc["media"]
    if media in {Media.PDF, Media.IMAGE} and isinstance(citation.span, _SEEN):
        if media == Media.PDF or OCR.is_installed:
            return
        problem, hint = "cannot be drawn without the extra 'ocr'", OCR.install
    else:
        problem = "has no pages that could be drawn"
        hint = f"kebab cite {shlex.quote(uri)} prints what it says there"
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


# ------------------------------------------------------------------ in a worker process


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """What is to be drawn, and what it takes; goes to a worker, since a file may be hostile."""

    data: bytes
    path: str
    container: str | None
    """The file that *data* is, where what is drawn is within it."""
    is_pdf: bool
    span: Span
    passwords: Sequence[str]
    max_megapixels: int
    dpi: float

    @property
    def page(self) -> int:
        """The number of the page, from 1."""
        return self.span.page if isinstance(self.span, PageSpan) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undrawn:
    """Why nothing is drawn."""

    problem: str = ""
    hint: str = "kebab ingest, if the file has changed"
    pages: int | None = None
    """How many there are, where that is fewer than the page asked for."""


def _drawn_apart(drawing: _Drawing, executors: Executors, uri: str) -> tuple[PageImage, str]:
    """Return the image, and the hash of the bytes that it is of."""
    with _ONE_AT_A_TIME:
        executor = executors(_draw, 1)
        try:
            (outcome,) = executor.run([drawing])
        finally:
            executor.close()
    found = outcome.value
    if isinstance(found, tuple):
        return found
    if found is None:
        why = outcome.error["message"] if outcome.error else "nothing came"
        found = _Undrawn(problem=why, hint="'kebab cite' prints the text as it was indexed")
    if found.pages is not None:
        raise InvalidInput(
            f"{uri!r} is page {drawing.page:,} of {found.pages:,}",
            hint=found.hint,
            details={"field": "uri", "value": uri, "pages": found.pages},
        )
    raise IoError(
        f"{uri!r} cannot be drawn: {found.problem}", hint=found.hint, details={"value": uri}
    )


def _draw(drawing: _Drawing) -> tuple[PageImage, str] | _Undrawn:
    data: bytes | None = drawing.data
    if drawing.container:
        data = enclosed_bytes(drawing.path, drawing.container, drawing.data)
    if data is None:
        return _Undrawn(problem="it is not in its file any more", hint="kebab ingest")
    image = _page(data, drawing) if drawing.is_pdf else _picture(data, drawing)
    return image if isinstance(image, _Undrawn) else (image, bytes_hash(data))


def _page(data: bytes, drawing: _Drawing) -> PageImage | _Undrawn:
    """Return a page of a PDF, and how many pixels a point has."""
    from kb_app._ingest.making.pdfium import Locked, NotReadable, opened

    try:
        with opened(data, drawing.passwords) as pdf:
            if drawing.page > len(pdf):
                return _Undrawn(pages=len(pdf))
            with pdf.page(drawing.page - 1) as page:
                return page.image(dpi=drawing.dpi, is_grey=False)
    except Locked:
        hint = "add it to [[passwords]] of the configuration"
        return _Undrawn(problem="it needs a password", hint=hint)
    except NotReadable as error:
        return _Undrawn(problem=str(error))


def _picture(data: bytes, drawing: _Drawing) -> PageImage | _Undrawn:
    """Return a picture, and how many pixels one of it as displayed, or a point of a page, has."""
    from kb_app._ingest.making.pdfium import PageImage
    from kb_app._ingest.making.pictures import NoPictureError, TooManyPixelsError, open_picture

    try:
        picture = open_picture(data, drawing.max_megapixels)
        if drawing.page > picture.frames:
            return _Undrawn(pages=picture.frames)
        frame = picture.shown(drawing.page - 1)
    except (NoPictureError, TooManyPixelsError) as error:
        return _Undrawn(problem=str(error))
    image, most = frame.image, round(drawing.dpi * _LONGEST_SIDE)
    ratio = min(1.0, most / max(image.size))
    if ratio < 1:
        image = image.resize([max(1, round(side * ratio)) for side in image.size])
    unit = frame.points if isinstance(drawing.span, PageSpan) else frame.scale
    return PageImage(*image.size, image.tobytes(), ratio / unit, channels=3)
