"""Texts of Word 97 to 2003 (doc): what a reader sees, and what stands beside it ([MS-DOC]).

It is as of texts of later versions: what was deleted is not there, what was inserted is. A text
box comes after the paragraph that it is anchored in, and so does a footnote, an endnote or a
comment after what refers to it; headers and footers come once, at the end. A row of a table is a
line, its cells parted by tabs; what stands in a table within a cell is in that cell. Headings are
told by their style, or by an outline level.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections.abc import Iterator

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.formats.office.items import (
    SLACK,
    Item,
    Table,
    numbered,
    table_items,
    write_items,
)
from kb_app._ingest.making.formats.office.word97.fields import (
    Link,
    edited,
    shown,
    without_fields,
)
from kb_app._ingest.making.formats.office.word97.file import Part, Story, WordFile
from kb_app._ingest.making.formats.office.word97.formats import Formats, ParagraphFormat
from kb_app._ingest.making.formats.office.word97.lists import Lists
from kb_app._ingest.making.formats.office.word97.styles import Style, styles_of
from kb_app._ingest.making.links import LINKS_MAX
from kb_core.documents import Link as DocumentLink

__all__ = ["read_word97"]

_ENDS = re.compile("[\r\x07\x0c]")
_CELL = "\x07"
_HEADERS, _ANCHORS, _AUTHORS, _BOXES, _HEADER_BOXES = 11, 40, 36, 56, 58
_NOTES = (
    (Part.FOOTNOTES, "footnote", 2, 3, 2),
    (Part.ENDNOTES, "endnote", 46, 47, 2),
    (Part.COMMENTS, "comment", 4, 5, 30),
)
"""What they are, where the places of their marks and of their texts are told, and how wide."""
_ANCHOR_BYTES, _BOX_BYTES, _SHAPE_OF_BOX = 26, 22, 14
_AUTHOR_OF_COMMENT = 20
_SEPARATORS = 6
"""So many headers are lines between notes and text."""
_LEVELS = 9


def read_word97(file: WordFile, draft: Draft) -> list[DocumentLink]:
    """Write down what a file says whose text was read; return its links."""
    reader = _Reader(file)
    return write_items(draft, reader.items(), reader.margins())


class _Reader:
    """Reads the parts of one text."""

    def __init__(self, file: WordFile) -> None:
        self._file = file
        self._formats = Formats(file)
        self._styles = styles_of(file)
        self._lists = Lists(file)
        text = edited(file.text, sorted(self._formats.changed_letters()))
        self._text, self._links = without_fields(text)
        del self._links[LINKS_MAX:]
        self._link_starts = [link.start for link in self._links]
        self._stories = file.stories()
        self._beside = sorted([*self._noted(), *self._anchored()], key=lambda each: each[0])
        self._next_beside = 0

    def items(self) -> Iterator[Item]:
        """Yield what the text says, in reading order, and then what nothing refers to."""
        yield from self._within(self._stories[Part.MAIN], is_main=True)
        yield from self._beside_until(len(self._text))

    def margins(self) -> Iterator[str]:
        """Yield what headers and footers say, and boxes in them."""
        places, _ = self._file.places(_HEADERS, 0)
        for number, story in enumerate(self._stories[Part.HEADERS].parts(places)):
            if number >= _SEPARATORS:
                yield self._plain(story)
        for _, story in self._boxes(_HEADER_BOXES, Part.HEADER_BOXES):
            yield self._plain(story)

    def _plain(self, story: Story) -> str:
        return "\n".join(item.text for item in self._within(story))

    def _within(self, story: Story, *, is_main: bool = False) -> Iterator[Item]:
        """Yield what a part of the text says; of the main text, with what stands beside it."""
        table = Table()
        for start, end in self._paragraphs(story):
            form = self._formats.of_paragraph(end)
            is_cell = self._text[end : end + 1] == _CELL
            items = list(self._paragraph(start, end, form))
            if is_main:
                items += self._beside_until(end + 1)
            if not is_cell and not (form and form.depth):
                yield from _ended(table)
                table = Table()
                yield from items
                continue
            table.cell += items
            if is_cell and (form.ends_row if form else not items and not table.cell):
                table.end_row(form.starts if form else ())
            elif is_cell:
                table.end_cell()
        yield from _ended(table)

    def _paragraphs(self, story: Story) -> Iterator[tuple[int, int]]:
        """Yield where paragraphs begin, and where their marks are."""
        at = story.start
        for mark in _ENDS.finditer(self._text, story.start, story.end):
            yield at, mark.start()
            at = mark.end()
        if at < story.end:
            yield at, story.end

    def _paragraph(self, start: int, end: int, form: ParagraphFormat | None) -> Iterator[Item]:
        text, links = self._shown(start, end)
        if not text.strip():
            return
        item = Item("paragraph", text, links=links)
        known = form or ParagraphFormat()
        style = self._styles[known.style] if known.style < len(self._styles) else None
        level = style.level if style else known.style if known.style <= _LEVELS else 0
        level = level if known.outline is None else known.outline or level
        number, in_list = self._list_of(known, style)
        if level:
            item.kind, item.level = "heading", level
        elif number:
            item.kind, item.level = "list_item", in_list + 1
        numbered(item, self._lists.label(number, in_list))
        yield item

    def _list_of(self, known: ParagraphFormat, style: Style | None) -> tuple[int, int]:
        """Return the list that a paragraph is in, 0 for none, and its level there."""
        number = known.list_number
        if number is None:
            number = style.list_number if style else 0
        level = known.list_level
        if level is None and style is not None:
            level = style.list_level
        return number, self._lists.level_of(number, known.style) if level is None else level

    def _shown(self, start: int, end: int) -> tuple[str, list[tuple[int, str, str]]]:
        """Return what a reader sees of a paragraph, and the links in it."""
        pieces, found, at, length = list[str](), list[tuple[int, str, str]](), start, 0
        for link in self._links_within(start, end):
            if link.start >= at:
                before = shown(self._text[at : link.start])
                at = min(end, link.end)
                said = shown(self._text[link.start : at])
                found.append((length + len(before), " ".join(said.split()), link.target))
                pieces += (before, said)
                length += len(before) + len(said)
        return "".join([*pieces, shown(self._text[at:end])]), found

    def _links_within(self, start: int, end: int) -> Iterator[Link]:
        for number in range(bisect_left(self._link_starts, start), len(self._links)):
            if self._links[number].start >= end:
                return
            yield self._links[number]

    def _beside_until(self, end: int) -> Iterator[Item]:
        """Yield what stands beside the text up to a place, and was not read yet."""
        while self._next_beside < len(self._beside) and self._beside[self._next_beside][0] < end:
            _, kind, story, author = self._beside[self._next_beside]
            self._next_beside += 1
            if kind == "box":
                yield from self._within(story)
                continue
            text = self._plain(story)
            if kind != "comment":
                yield Item("note", text)
            elif text.strip():
                yield Item("comment", f"{author}: {text}" if author else text)

    def _noted(self) -> Iterator[tuple[int, str, Story, str]]:
        """Yield where notes and comments are referred to, what they are, and where they stand."""
        authors = _strings(self._file.table(_AUTHORS))
        for part, kind, marks, texts, width in _NOTES:
            places, about = self._file.places(marks, width)
            cuts, _ = self._file.places(texts, 0)
            for number, story in enumerate(self._stories[part].parts(cuts)):
                if number >= len(about):
                    break
                author = _author(about[number], authors) if kind == "comment" else ""
                yield places[number], kind, story, author

    def _anchored(self) -> Iterator[tuple[int, str, Story, str]]:
        """Yield where text boxes are anchored; at the end, where nobody tells."""
        places, about = self._file.places(_ANCHORS, _ANCHOR_BYTES)
        anchors = {each[:4]: place for place, each in zip(places, about, strict=False)}
        for shape, story in self._boxes(_BOXES, Part.BOXES):
            yield anchors.get(shape, self._stories[Part.MAIN].end), "box", story, ""

    def _boxes(self, number: int, part: Part) -> Iterator[tuple[bytes, Story]]:
        places, about = self._file.places(number, _BOX_BYTES)
        for each, story in zip(about, self._stories[part].parts(places), strict=False):
            yield each[_SHAPE_OF_BOX : _SHAPE_OF_BOX + 4], story


def _ended(table: Table) -> Iterator[Item]:
    table.end_row()
    return table_items(table.rows, table.starts, SLACK)


def _strings(data: bytes) -> list[str]:
    """Return strings that stand one after the other, each behind its length."""
    found, at = list[str](), 0
    while at + 2 <= len(data):
        size = 2 * int.from_bytes(data[at : at + 2], "little")
        found.append(data[at + 2 : at + 2 + size].decode("utf-16-le", "replace"))
        at += 2 + size
    return found


def _author(about: bytes, authors: list[str]) -> str:
    (number,) = struct.unpack_from("<H", about, _AUTHOR_OF_COMMENT)
    return authors[number] if number < len(authors) else ""
