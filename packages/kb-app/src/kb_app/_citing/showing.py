"""A place as it looks: the page of a PDF, with what is cited marked on it.

The file is read as it is now, in the way that its text would be: nothing is shown of what
ingest would leave alone. One that changed since is drawn all the same, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_app._citing.files import Files
from kb_app._citing.resolving import named_by
from kb_app._ingest.making.parsing import enclosed_bytes
from kb_app._search.lookup import Named, chunks_at
from kb_app.drawing import Picture, mark, png
from kb_core.citations import Citation, PageSpan, citation_of
from kb_core.errors import InvalidInput, IoError, SpanNotSupported
from kb_core.ids import bytes_hash
from kb_core.media import Media
from kb_core.ports import IndexSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_app._ingest.making.pdfium import PageImage

__all__ = ["DPI", "draw"]

DPI = 150
_ROOM = 2.0
"""Points between what is marked and the edge around it."""


def draw(
    snapshot: IndexSnapshot,
    uri: str,
    source: str | None,
    files: Files,
    passwords: Sequence[str],
    *,
    dpi: float = DPI,
) -> Picture:
    """Draw the page that *uri* is on: a citation, an id, or the path of a document."""
    named = named_by(snapshot, uri, source)
    citation = _place(snapshot, named)
    if named.doc["media"] != Media.PDF or not isinstance(citation.span, PageSpan):
        raise SpanNotSupported(
            f"{named.doc['path']!r} has no pages that could be drawn",
            hint=f"kebab cite '{citation.uri}' prints what it says there",
            details={"field": "uri", "value": uri, "media": named.doc["media"]},
        )
    data = _data(named, files)
    image = _page(data, citation.span.page, passwords, uri, dpi)
    span = citation.span
    boxes = span.boxes or ((span.bbox,) if span.bbox else ())
    pixels = bytearray(image.pixels)
    size = image.width, image.height
    for x0, y0, x1, y1 in boxes:
        sides = (x0 - _ROOM, y0 - _ROOM, x1 + _ROOM, y1 + _ROOM)
        left, upper, right, lower = (round(side * image.scale) for side in sides)
        mark(pixels, size, (left, upper, right, lower), max(1, round(image.scale)))
    return Picture(
        png(pixels, size),
        *size,
        uri=citation.uri,
        marks=len(boxes),
        is_as_indexed=bytes_hash(data) == named.doc["bytes_hash"],
    )


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


def _page(data: bytes, number: int, passwords: Sequence[str], uri: str, dpi: float) -> PageImage:
    from kb_app._ingest.making.pdfium import Locked, NotReadable, opened

    try:
        with opened(data, passwords) as pdf:
            if number > len(pdf):
                raise InvalidInput(
                    f"{uri!r} is page {number:,} of {len(pdf):,}",
                    hint="kebab ingest, if the file has changed",
                    details={"field": "uri", "value": uri, "pages": len(pdf)},
                )
            with pdf.page(number - 1) as page:
                return page.image(dpi=dpi, is_grey=False)
    except Locked:
        problem, hint = "it needs a password", "add it to [[passwords]] of the configuration"
    except NotReadable as error:
        problem, hint = str(error), "kebab ingest, if the file has changed"
    raise IoError(f"{uri!r} cannot be drawn: {problem}", hint=hint, details={"value": uri})
