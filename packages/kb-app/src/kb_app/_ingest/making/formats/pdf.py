"""PDF: pages of text with headings, and the place of every line on its page.

Headings are those of the outline or, without one, lines in larger or bolder type. What runs
along the head or foot of pages stands where it is first seen, and is left out of the others;
so are numbers of pages. Pages that are pictures wait for the phase ``ocr``, unless somebody
put their text under them. A damaged page costs that page; a locked file is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kb_app._ingest.making.blocks import Headings
from kb_app._ingest.making.glyphs import Box, Glyphs, Line, lines_of
from kb_app._ingest.making.layout import TextBlock, blocks_of, joined
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.pages import Sheet, name_headings, title_of, without_running_lines
from kb_app._ingest.making.pdfium import Locked, NotReadable, Page, PageImage, Pdf, opened
from kb_core.citations import PageSpan
from kb_core.documents import Block, Enclosure, Metadata, ParsedDocument, Place, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content

__all__ = ["PdfParser", "Recognise", "read_pdf"]

_PARSER = "pdf-1"
_LITTLE_INK = 32
_COVERED = 0.5
_MANY_PATHS = 40
_NOISE = re.compile("[\x00\x01\x03-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
_MOST_NOISE = 0.3
_TOLD_PAGES = 5
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?.*", re.DOTALL
)

Recognise: TypeAlias = Callable[[PageImage], Sequence[Sequence[tuple[str, Box]]]]
"""Reads the picture of a page: lines with their boxes in its pixels, from its upper left
corner, block by block in the order of reading."""


class PdfParser:
    """``Parser`` of PDF files: what is text in them."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        return read_pdf(content, file)


def read_pdf(
    content: Content, file: SourceFile, recognise: Recognise | None = None
) -> ParsedDocument:
    """Parse a PDF; with *recognise*, pages that are pictures, too."""
    passwords = file.options.get("passwords")
    candidates = passwords if isinstance(passwords, tuple) else ()
    try:
        with opened(content.data, candidates) as pdf:
            return _read(pdf, file, recognise)
    except Locked:
        detail = "it needs a password"
        if candidates:
            detail += f", and none of {len(candidates):,} that are known opens it"
        return _refused(file, SkipReason.ENCRYPTED, detail)
    except NotReadable as error:
        return _refused(file, SkipReason.UNREADABLE, f"no PDF that can be opened: {error}")


def _refused(file: SourceFile, reason: SkipReason, detail: str) -> ParsedDocument:
    return ParsedDocument(text="", media=file.media, refused=(reason, detail))


def _read(pdf: Pdf, file: SourceFile, recognise: Recognise | None) -> ParsedDocument:
    sheets: list[Sheet] = []
    damaged: list[int] = []
    for index in range(len(pdf)):
        try:
            with pdf.page(index) as page:
                sheets.append(_sheet(page, index, pdf.label(index), recognise))
        except NotReadable:
            damaged.append(index + 1)
    without_running_lines(sheets)
    name_headings(sheets, list(pdf.outline()))
    written = _Written()
    known = {word for sheet in sheets for word in sheet.hyphenated}
    for sheet in sheets:
        written.add(sheet, known)
    text = "".join(written.parts)
    waiting = [sheet.number for sheet in sheets if sheet.waits]
    warnings = _told(damaged, "cannot be read", len(pdf))
    warnings += _told(waiting, "pictures without text", len(pdf)) if recognise is None else []
    return ParsedDocument(
        text=text,
        media=file.media,
        metadata=_metadata(pdf.information, sheets, text, file.path),
        blocks=tuple(written.blocks),
        places=tuple(written.places),
        enclosures=[Enclosure(name=name, data=data) for name, data in pdf.files()],
        waits_for="ocr" if waiting and recognise is None else None,
        warnings=tuple(warnings),
        parser_version=_PARSER,
    )


def _told(pages: Sequence[int], what: str, total: int) -> list[str]:
    """Return the warning about *pages*, a few of them by number."""
    if not pages:
        return []
    some = ", ".join(map(str, pages[:_TOLD_PAGES]))
    more = len(pages) - _TOLD_PAGES
    also = f" and {more:,} more" if more > 0 else ""
    verb = "" if what.startswith("cannot") else "is a picture without text"
    if len(pages) == 1:
        return [f"page {some} of {total:,} {verb or what}"]
    return [f"pages {some}{also} of {total:,} {'are ' if verb else ''}{what}"]


def _sheet(page: Page, index: int, label: str, recognise: Recognise | None) -> Sheet:
    glyphs = page.glyphs()
    sheet = Sheet(number=index + 1, label=label, view=page.view)
    if not _is_picture(page, glyphs):
        sheet.blocks = blocks_of(lines_of(glyphs))
    elif recognise is None:
        sheet.waits = True
        sheet.blocks = [] if _is_noise(glyphs.text) else blocks_of(lines_of(glyphs))
    else:
        image = page.image()
        sheet.blocks = [_seen(lines, image, page) for lines in recognise(image) if lines]
    return sheet


def _is_picture(page: Page, glyphs: Glyphs) -> bool:
    """Say whether what a person reads on a page is not among its characters."""
    ink = sum(map(len, glyphs.text.split()))
    if ink >= _LITTLE_INK:
        return _is_noise(glyphs.text)
    drawn = page.picture()
    return drawn.covered >= _COVERED or (not drawn.images and drawn.paths > _MANY_PATHS)


def _is_noise(text: str) -> bool:
    return len(_NOISE.findall(text)) > _MOST_NOISE * sum(map(len, text.split()))


def _seen(lines: Sequence[tuple[str, Box]], image: PageImage, page: Page) -> TextBlock:
    """Return a block of a picture as one of the page; boxes are in its own space then."""
    made = []
    for text, (x0, y0, x1, y1) in lines:
        shown = Box(*(side / image.scale for side in (x0, y0, x1, y1)))
        box = page.view.unshown(shown)
        made.append(Line(text, box, max(shown.y1 - shown.y0, 0.1)))
    return TextBlock(made)


@dataclass(slots=True)
class _Written:
    """The text of the pages so far, with what points into it."""

    parts: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    headings: Headings = field(default_factory=Headings)
    at: int = 0

    def add(self, sheet: Sheet, hyphenated: set[str]) -> None:
        """Write a page."""
        for number, block in enumerate(sheet.blocks):
            for level, title in sheet.entered.get(number, ()):
                self.headings.enter(level, title)
            if self.at:
                self._write("\n\n")
            start = self.at
            for line, (text, after) in zip(
                block.lines, joined(block.lines, hyphenated), strict=True
            ):
                self.places += _places(sheet, line, self.at, len(text))
                self._write(text + after)
            if block.kind == "heading":
                title = " ".join(line.text for line in block.lines)
                self.headings.enter(block.level, " ".join(title.split())[:_TITLE_MAX])
            made = Block(block.kind, start, self.at, self.headings.path, block.level)
            self.blocks.append(made)

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self.at += len(text)


_TITLE_MAX = 200


def _places(sheet: Sheet, line: Line, start: int, length: int) -> Iterator[Place]:
    for at, box in line.on_page():
        if at < max(length, 1):
            span = PageSpan(sheet.number, bbox=sheet.view.shown(box), label=sheet.other_label)
            yield Place(start + at, span)


def _metadata(
    information: dict[str, str], sheets: Sequence[Sheet], text: str, path: str
) -> Metadata:
    dates = {"created": "CreationDate", "updated": "ModDate"}
    values: dict[str, object] = {
        name: moment for name, key in dates.items() if (moment := _iso(information.get(key, "")))
    }
    for name, key in {"author": "Author", "subject": "Subject"}.items():
        if said := " ".join(information.get(key, "").split()):
            values[name] = said
    if keywords := information.get("Keywords", "").strip():
        values["keywords"] = re.sub(r"\s*[;,]\s*", ",", keywords)
    heading = title_of(information.get("Title", ""), sheets)
    metadata, _ = text_metadata(values, Hints(path=path, heading=heading, body=text))
    return metadata


def _iso(written: str) -> str | None:
    """Return a date as PDF writes it, as ISO 8601 does."""
    match = _DATE.fullmatch(written.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, zone, minutes = match.groups()
    clock = f"{hour or '00'}:{minute or '00'}:{second or '00'}"
    return f"{year}-{month or '01'}-{day or '01'}T{clock}{utc or zone or 'Z'}" + (
        f":{minutes or '00'}" if zone else ""
    )
