"""Pictures: the text that is in them, line by line, and what is written about them.

What people wrote into the file, its title, caption, keywords and persons, comes first. For what
is seen in it a picture waits for the phase ``ocr``. A line is cited by its rectangle in pixels
of the picture as it is displayed; where there are several pages, by the page and its rectangle
in points; what is written about it as its caption. Where the configuration names a server for
it, a model says what the picture shows, in a paragraph behind its text. A picture with nothing
of these makes no document.

A drawing (SVG) has its texts in it, each cited by lines of the file, and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb_app._ingest.making.captions import captioner_for
from kb_app._ingest.making.drawings import NoDrawingError, is_drawing, texts_of
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.ocr import Line, Page
from kb_app._ingest.making.picture_texts import Wording, wording_of
from kb_app._ingest.making.pictures import (
    Frame,
    NoPictureError,
    Picture,
    TooManyPixelsError,
    open_picture,
)
from kb_app._ingest.making.recognised import Written, ocr_settings, recogniser_for
from kb_app._ingest.making.versions import IMAGE as _PARSER, IMAGE_READER as _READER
from kb_app._ingest.workers.worker import say
from kb_core.citations import CaptionSpan, LineSpan, PageSpan, RegionSpan, Span
from kb_core.documents import Block, Metadata, ParsedDocument, Place, SourceFile
from kb_core.errors import ModelUnreachable
from kb_core.ingest import SkipReason
from kb_core.ports import Content
from kb_core.values import replace

__all__ = ["ImageParser", "ImageReader"]

_MOST_TOLD = 5


class ImageParser:
    """``Parser`` of pictures, as far as nobody has to read what is seen in them."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        if is_drawing(content.data):
            return _drawing(content.data, file)
        picture = _opened(content.data, file)
        if isinstance(picture, ParsedDocument):
            return picture
        wording = _wording(picture, file)
        document = _document(picture, wording, _begun(wording), file)
        return replace(document, waits_for="ocr", parser_version=_PARSER)


class ImageReader:
    """``Parser`` of pictures that reads what is seen in them."""

    version = _READER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        picture = ImageParser()(content, file)
        if picture.waits_for is None:
            return picture
        opened = _opened(content.data, file)
        return opened if isinstance(opened, ParsedDocument) else _read(opened, content, file)


def _opened(data: bytes, file: SourceFile) -> Picture | ParsedDocument:
    """Return the picture, or the document that says why it is none."""
    try:
        return open_picture(data, ocr_settings(file).max_megapixels)
    except NoPictureError as error:
        return _refused(file, SkipReason.UNREADABLE, str(error))
    except TooManyPixelsError as error:
        return _refused(file, SkipReason.TOO_LARGE, str(error))


def _refused(file: SourceFile, reason: SkipReason, detail: str) -> ParsedDocument:
    return ParsedDocument(text="", media=file.media, refused=(reason, detail))


def _read(picture: Picture, content: Content, file: SourceFile) -> ParsedDocument:
    recogniser, wording = recogniser_for(file), _wording(picture, file)
    written = _begun(wording)
    results = content.results("ocr", recogniser.maker)
    told: list[str] = []
    is_seen = False
    for number, frame in enumerate(picture.read(), 1):
        say("ocr", number - 1, picture.frames, patience_secs=recogniser.patience_secs)
        which = f"page {number}: " if picture.frames > 1 else ""
        if isinstance(frame, str):
            told.append(f"{which}{frame}")
            continue
        is_seen = True
        page = recogniser.read(frame.image, frame.dpi, results, f"frame {number}")
        told += [f"{which}{page.warning}"] if page.warning else []
        told += [f"{which}no readable text"] if which and not page.lines else []
        _write(written, page, frame, number if picture.frames > 1 else None)
    told += _caption(written, picture, content, file)
    if not written.at and not is_seen:
        return _refused(file, SkipReason.UNREADABLE, "; ".join(dict.fromkeys(told[:_MOST_TOLD])))
    if not written.at:
        why = "; ".join(["no readable text in the picture", *dict.fromkeys(told[:_MOST_TOLD])])
        return _refused(file, SkipReason.EMPTY, why)
    document = _document(picture, wording, written, file)
    return replace(document, warnings=tuple(_few(told)), parser_version=_READER)


def _wording(picture: Picture, file: SourceFile) -> Wording:
    """Return what people wrote into the file; a place only where that is asked for."""
    name = file.path.rpartition("/")[2]
    found = wording_of(picture.texts, [name, name.rpartition(".")[0], *picture.made_by])
    return found if ocr_settings(file).place else found._replace(place=())


def _begun(wording: Wording) -> Written:
    written = Written()
    if text := "\n".join(wording.lines()):
        written.add_line(text, CaptionSpan())
    return written


def _document(
    picture: Picture, wording: Wording, written: Written, file: SourceFile
) -> ParsedDocument:
    return ParsedDocument(
        text=written.text,
        media=file.media,
        metadata=_metadata(picture, wording, file, written.text),
        blocks=tuple(written.blocks),
        places=tuple(written.places),
    )


def _few(told: list[str]) -> Iterable[str]:
    more = len(told) - _MOST_TOLD
    return [*told[:_MOST_TOLD], *([f"and {more:,} more of its pages"] if more > 0 else [])]


def _write(written: Written, page: Page, frame: Frame, number: int | None) -> None:
    def place_of(line: Line) -> Span:
        x, y, w, h = line.box
        if number is None:
            return RegionSpan(*(round(side * frame.scale) for side in line.box))
        edges = (x, y, x + w, y + h)
        left, top, right, bottom = (round(edge * frame.points, 1) for edge in edges)
        return PageSpan(number, bbox=(left, top, right, bottom))

    written.add(page, place_of)


def _caption(written: Written, picture: Picture, content: Content, file: SourceFile) -> list[str]:
    """Write what a model says that the first page shows, where one is asked; return why not.

    Where there is nothing else, it is an error, so that it is tried again.
    """
    captioner = captioner_for(file.options)
    if captioner is None:
        return []
    try:
        said = captioner.caption(picture.as_jpeg, content.results("ocr", captioner.maker))
    except ModelUnreachable as error:
        if not written.at:
            raise
        return [str(error)]
    except (NoPictureError, TooManyPixelsError) as error:
        return [str(error)]
    written.add_line(said, CaptionSpan(captioner.model or "unnamed"))
    return []


def _metadata(picture: Picture, wording: Wording, file: SourceFile, text: str) -> Metadata:
    place = picture.place if ocr_settings(file).place else None
    told = {"camera": picture.camera, "place": place}
    values: dict[str, object] = {name: value for name, value in told.items() if value}
    values |= {"title": wording.title} if wording.title else {}
    values |= {"tags": [*wording.keywords]} if wording.keywords else {}
    if (taken := picture.taken) is not None:
        values["created"] = taken
    metadata, _ = text_metadata(values, Hints(path=file.path, body=text))
    return metadata


def _drawing(data: bytes, file: SourceFile) -> ParsedDocument:
    try:
        texts = texts_of(data)
    except NoDrawingError as error:
        return _refused(file, SkipReason.UNREADABLE, str(error))
    if not texts:
        return _refused(file, SkipReason.EMPTY, "no text in the drawing")
    places, blocks, at = [], [], 0
    for first, last, text in texts:
        places.append(Place(at, LineSpan(first, last)))
        blocks.append(Block("paragraph", at, at + len(text)))
        at += len(text) + 1
    whole = "\n".join(text for _, _, text in texts)
    metadata, _ = text_metadata({}, Hints(path=file.path, body=whole))
    return ParsedDocument(
        text=whole,
        media=file.media,
        metadata=metadata,
        blocks=tuple(blocks),
        places=tuple(places),
        parser_version=_PARSER,
    )
