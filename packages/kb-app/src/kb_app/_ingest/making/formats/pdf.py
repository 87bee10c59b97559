"""PDF: pages of text with headings, and the place of every line on its page.

Headings are those of the outline or, without one, lines in larger or bolder type. What runs
along the head or foot of pages stands where it is first seen, and is left out of the others;
so are numbers of pages. Pages that are pictures wait for the phase ``ocr``, unless somebody
put their text under them; what is seen on them is read then. A damaged page costs that page;
a locked file is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from kb_app._ingest.judging.kinds import NO_TEXT
from kb_app._ingest.making.blocks import Headings
from kb_app._ingest.making.containers import locked_out
from kb_app._ingest.making.glyphs import Box, Glyphs, Line, lines_of
from kb_app._ingest.making.layout import TextBlock, as_code, blocks_of, joined
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.ocr import Line as Recognised
from kb_app._ingest.making.pages import (
    Sheet,
    name_code,
    name_headings,
    title_of,
    without_running_lines,
)
from kb_app._ingest.making.pdf_notes import shown_notes
from kb_app._ingest.making.pdfium import Locked, NotReadable, Page, PageImage, Pdf, opened
from kb_app._ingest.making.recognised import paragraphs_of, recogniser_for
from kb_app._ingest.making.versions import PDF as _PARSER, SCANS as _SCANS
from kb_app._ingest.workers.worker import left_out, say, watched
from kb_core.citations import PageSpan
from kb_core.documents import Block, Enclosure, Metadata, ParsedDocument, Place, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content

__all__ = ["PdfParser", "Recognise", "ScanParser", "read_pdf"]

_LITTLE_INK = 32
_COVERED = 0.5
_MANY_PATHS = 40
_NOISE = re.compile("[\x00\x01\x03-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
_MOST_NOISE = 0.3
_TOLD_PAGES = 5
_STEP = 100
_PAGE_MB, _PAGE_TIMES_SIZE = 120, 5
"""The memory that one page may take, beside so many times the size of the file. A map of a
hundred thousand lines takes a third of it, a page of text a sixtieth."""
_MOST_OVERSIZED = 3
"""Pages that are left out for that; at the next one the file ends."""
_TEXT_CHARS, _CHARS_PER_BYTE = 500_000, 6
"""How much text a file may have, and for each of its bytes: packed prose has two or three."""
_OTHER_TYPE = 0.4
_CUT_WORD = re.compile(r"[^\W\d_]-$")
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?.*", re.DOTALL
)

Recognise: TypeAlias = Callable[[PageImage, int, int], Sequence[Sequence[tuple[str, Box]]]]
"""Reads the picture of a page, whose number it is told, and how many there are: lines with their
boxes in its pixels, from its upper left corner, block by block in the order of reading."""


class PdfParser:
    """``Parser`` of PDF files: what is text in them."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        return read_pdf(content, file)


class ScanParser:
    """``Parser`` of PDF files: what is text in them, and what is seen on pages without."""

    version = _SCANS

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        recogniser, told = recogniser_for(file), dict[str, list[int]]()
        results = content.results("ocr", recogniser.maker)

        def recognise(image: PageImage, number: int, total: int) -> list[list[tuple[str, Box]]]:
            say("ocr", number - 1, total, patience_secs=recogniser.patience_secs)
            drawn = (image.width, image.height, image.pixels)
            seen = recogniser.read_pixels(drawn, image.scale * 72, results, f"page {number}")
            if seen.warning:
                told.setdefault(seen.warning, []).append(number)
            if not seen.lines:
                told.setdefault("no readable text", []).append(number)
            return [[_boxed(line) for line in lines] for lines in paragraphs_of(seen)]

        parsed = read_pdf(content, file, recognise)
        if parsed.refused is None and not parsed.text and not parsed.enclosures:
            return _refused(file, SkipReason.EMPTY, "; ".join(told) or NO_TEXT)
        warnings = tuple(_about(numbers, what) for what, numbers in told.items())
        return replace(parsed, warnings=(*parsed.warnings, *warnings))


def _boxed(line: Recognised) -> tuple[str, Box]:
    x, y, w, h = line.box
    return line.text, Box(x, y, x + w, y + h)


def _about(numbers: Sequence[int], what: str) -> str:
    some = ", ".join(map(str, numbers[:_TOLD_PAGES]))
    more = len(numbers) - _TOLD_PAGES
    return f"page {some}{f' and {more:,} more' if more > 0 else ''}: {what}"


def read_pdf(
    content: Content, file: SourceFile, recognise: Recognise | None = None
) -> ParsedDocument:
    """Parse a PDF; with *recognise*, pages that are pictures, too."""
    passwords = file.options.get("passwords")
    candidates = passwords if isinstance(passwords, tuple) else ()
    try:
        with opened(content.data, candidates) as pdf:
            if len(pdf) > (most := file.limits.pages):
                detail = f"{len(pdf):,} pages; [limits] pages is {most:,}"
                return _refused(file, SkipReason.TOO_LARGE, detail)
            return _read(pdf, file, recognise)
    except Locked:
        return _refused(file, SkipReason.ENCRYPTED, locked_out(len(candidates)))
    except NotReadable as error:
        return _refused(file, SkipReason.UNREADABLE, f"no PDF that can be opened: {error}")


def _refused(file: SourceFile, reason: SkipReason, detail: str) -> ParsedDocument:
    return ParsedDocument(text="", media=file.media, refused=(reason, detail))


def _read(pdf: Pdf, file: SourceFile, recognise: Recognise | None) -> ParsedDocument:
    sheets: list[Sheet] = []
    damaged: list[int] = []
    oversized = sorted(left_out.get())
    last, chars = _last_page(len(pdf), oversized), 0
    most_mb = _PAGE_MB + _PAGE_TIMES_SIZE * file.size / 1e6
    most_chars = _TEXT_CHARS + _CHARS_PER_BYTE * file.size
    for index in range(last):
        if index % _STEP == _STEP - 1:  # a long file has its time for each step
            say("parse", index, len(pdf))
        if index + 1 in oversized:
            continue
        if chars > most_chars:
            last = index
            break
        try:
            with watched(index + 1, most_mb) as lift, pdf.page(index) as page:
                at = (index, len(pdf))
                sheets.append(_sheet(page, at, pdf.label(index), recognise, lift))
        except NotReadable:
            damaged.append(index + 1)
            continue
        all_of_it = (*sheets[-1].blocks, *sheets[-1].over)
        chars += sum(len(line.text) for block in all_of_it for line in block.lines)
    without_running_lines(sheets)
    name_headings(sheets, list(pdf.outline()))
    name_code(sheets)
    written = _Written()
    known = {word for sheet in sheets for word in sheet.hyphenated}
    for sheet in sheets:
        written.add(sheet, known)
    text = "".join(written.parts)
    waiting = [sheet.number for sheet in sheets if sheet.waits]
    warnings = _told(damaged, "cannot be read", len(pdf))
    warnings += (unread := _not_read(oversized, last, len(pdf)))
    if unread and not text:
        return _refused(file, SkipReason.TOO_LARGE, unread[0])
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


def _last_page(pages: int, oversized: Sequence[int]) -> int:
    """Return how many pages are read where some take too much: not on and on."""
    return oversized[_MOST_OVERSIZED] - 1 if len(oversized) > _MOST_OVERSIZED else pages


def _not_read(oversized: Sequence[int], last: int, total: int) -> list[str]:
    """Return what is to be said of pages that would take too much, or come after too much."""
    needs = "what is drawn there takes more memory than a page may"
    told = [f"page {page} of {total:,} is not read: {needs}" for page in oversized if page <= last]
    if last < total:
        is_text = len(oversized) <= _MOST_OVERSIZED
        why = "the text before is too much" if is_text else "too many pages before take too much"
        told.append(f"pages from {last + 1:,} of {total:,} on are not read: {why} for such a file")
    return told


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


def _sheet(
    page: Page,
    at: tuple[int, int],
    label: str,
    recognise: Recognise | None,
    lift: Callable[[], None],
) -> Sheet:
    """Return a page; *at* says which it is, counted from 0, and of how many.

    *lift* is called before a picture of it is read: that takes memory whatever is on it.
    """
    index, total = at
    glyphs = page.glyphs()
    sheet = Sheet(number=index + 1, label=label, view=page.view, is_layer=glyphs.is_layer)
    if not _is_picture(page, glyphs):
        sheet.blocks = blocks_of(lines_of(glyphs))
    elif recognise is None:
        sheet.waits = True
        sheet.blocks = [] if _is_noise(glyphs.text) else blocks_of(lines_of(glyphs))
    else:
        lift()
        image = page.image()
        seen = recognise(image, index + 1, total)
        sheet.blocks = _seen([lines for lines in seen if lines], image, page)
    sheet.over = _over(page, sheet)
    return sheet


def _over(page: Page, sheet: Sheet) -> list[TextBlock]:
    """Return what lies over a page: each value of a form, and each comment."""
    if not (notes := page.notes()):
        return []
    lines = [line for block in sheet.blocks for line in block.lines]
    return [TextBlock([line], kind) for kind, line in shown_notes(notes, lines)]


def _is_picture(page: Page, glyphs: Glyphs) -> bool:
    """Say whether what a person reads on a page is not among its characters."""
    ink = sum(map(len, glyphs.text.split()))
    if ink >= _LITTLE_INK:
        return _is_noise(glyphs.text)
    drawn = page.picture()
    return drawn.covered >= _COVERED or (not drawn.images and drawn.paths > _MANY_PATHS)


def _is_noise(text: str) -> bool:
    return len(_NOISE.findall(text)) > _MOST_NOISE * sum(map(len, text.split()))


def _seen(
    blocks: Sequence[Sequence[tuple[str, Box]]], image: PageImage, page: Page
) -> list[TextBlock]:
    """Return the blocks of a picture as those of the page; boxes are in its own space then."""
    usual = _height([line for lines in blocks for line in lines]) if blocks else 0.0
    made = []
    for lines in blocks:
        height = _height(lines)
        # How high a line is depends on its letters; only what differs much is other type.
        size = height if abs(height - usual) > _OTHER_TYPE * usual else usual
        block = TextBlock([])
        for text, box in lines:
            shown = Box(*(side / image.scale for side in box))
            is_cut = _CUT_WORD.search(text) is not None
            place = page.view.unshown(shown)
            block.lines.append(Line(text, place, max(size / image.scale, 0.1), is_cut=is_cut))
        made.append(block)
    return made


def _height(lines: Sequence[tuple[str, Box]]) -> float:
    """Return how high most lines are; those that run up or down the page by their width."""
    from statistics import median  # with fractions and decimals: not where no page is read

    return median(min(box.x1 - box.x0, box.y1 - box.y0) for _, box in lines)


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
        for number, block in enumerate((*sheet.blocks, *sheet.over)):
            for level, title in sheet.entered.get(number, ()):
                self.headings.enter(level, title)
            if self.at:
                self._write("\n\n")
            start = self.at
            is_code = block.kind == "code"
            parts = as_code(block.lines) if is_code else joined(block.lines, hyphenated)
            for line, (text, after) in zip(block.lines, parts, strict=True):
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
    if layers := sum(sheet.is_layer for sheet in sheets):
        values["ocr_pages"] = layers
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
