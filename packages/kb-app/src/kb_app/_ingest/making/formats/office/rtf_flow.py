"""What the text of an RTF file goes into: paragraphs and tables, styles, single words.

A paragraph is what it is when its text is said: its style, its place in an outline, in a list,
in a table. The row of a table is known to be one when its cells are over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from io import SEEK_END, StringIO
from typing import NamedTuple

from kb_app._ingest.making.formats.office.items import (
    LEVELS,
    SLACK,
    Item,
    Table,
    heading_level,
    inherited,
    table_items,
)

__all__ = ["LONGEST_NAME", "Flow", "Format", "Numbers", "Sink", "Styles", "Words"]

LONGEST_NAME = 200
_LONGEST_WORDS, _LONGEST_LINK = 10_000, 300
_DEEPEST_TABLE = 9
_COUNTS = re.compile(r"\d|\w\W|\W\w|\w\w")
"""A marker that says more than a bullet does, of which one program's is the letter o."""
_BULLETED = re.compile(r"\s*[•·▪◦‣–-]\t")


class Format(NamedTuple):
    """How a paragraph looks, as far as that says what it is."""

    style: int = 0
    outline: int = -1
    """Its level, counted from 0; any other number is that of the text."""
    listed: int = 0
    """The list of which it is an item, if of one."""
    depth: int = 0
    is_in_table: int = 0
    tables: int = 0
    """In how many tables it stands, where it stands in several."""


class Place(NamedTuple):
    """Where a text goes on: the number of its paragraph, and how much is in that."""

    paragraph: int = 0
    at: int = 0


class Sink:
    """What text and words go into; this one takes them away."""

    last = ""
    """The last letter of a paragraph so far."""

    def add(self, text: str, format_: Format, /) -> None:
        """There is text."""

    def control(self, word: str, number: int | None, format_: Format, /) -> None:
        """There is a control word that means nothing everywhere."""

    def end(self, word: str, format_: Format, /) -> None:
        """A paragraph, a cell or a row ends, or a row begins."""

    def put(self, items: Iterable[Item]) -> None:
        """There is something beside the text."""

    def mark(self, marker: str, format_: Format, /) -> None:
        """The paragraph is an item of a list, with this before it."""

    @property
    def place(self) -> Place:
        """Where its text goes on."""
        return Place()

    def link(self, begun: Place, target: str) -> None:
        """What was said since *begun* leads to *target*."""


class Words(Sink):
    """Words of no paragraph, such as a title."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, text: str, _: Format, /) -> None:
        if len(self.text) < _LONGEST_WORDS:
            self.text += text[:_LONGEST_WORDS]

    def end(self, _: str, format_: Format, /) -> None:
        self.add(" ", format_)


class Numbers(Sink):
    """What control words say, as of a moment its year, month and so on."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}

    def control(self, word: str, number: int | None, _: Format, /) -> None:
        self._of[word] = number or 0

    @property
    def text(self) -> str:
        """The moment that they say, in the form of ISO 8601; empty where they say none."""
        year, *rest = (self._of.get(word, 0) for word in ("yr", "mo", "dy", "hr", "min"))
        return "{:04}-{:02}-{:02} {:02}:{:02}".format(year, *rest) if year else ""


class Styles(Sink):
    """The styles of a file; ``levels`` are those of headings, once it is told of all."""

    def __init__(self) -> None:
        self.levels: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._outlines: dict[int, int] = {}
        self._bases: dict[int, int] = {}

    def add(self, text: str, format_: Format, /) -> None:
        name = self._names.get(format_.style, "")
        if len(name) < LONGEST_NAME:
            self._names[format_.style] = name + text[:LONGEST_NAME]
            self._outlines[format_.style] = format_.outline + 1

    def control(self, word: str, number: int | None, format_: Format, /) -> None:
        if word == "sbasedon":
            self._bases[format_.style] = number or 0

    def finish(self) -> None:
        """Learn which styles are headings, by themselves or by what they are based on."""
        own = {
            style: heading_level(name.strip(" ;"), self._outlines[style])
            for style, name in self._names.items()
        }
        self.levels.update(inherited(own, self._bases))


class Flow(Sink):
    """Paragraphs and tables in their order: the text itself, a note, a box, a header.

    ``items`` are the blocks that are done; who takes them clears them.
    """

    def __init__(self, levels: Mapping[int, int]) -> None:
        self.items: list[Item] = []
        self._levels = levels
        self._tables: list[Table] = []
        self._is_in_row = False
        self._starts = [0]
        """Where cells of the row begin, and at the end where its last one ends."""
        self._paragraph = 0
        self._begin()

    def _begin(self) -> None:
        self._paragraph += 1
        self.last = ""
        self._text = StringIO()
        self._format = Format()
        self._marker: str | None = None
        self._beside: list[Item] = []
        self._links: list[tuple[int, str, str]] = []

    @property
    def place(self) -> Place:
        return Place(self._paragraph, self._text.tell())

    def add(self, text: str, format_: Format, /) -> None:
        self._text.write(text)
        self._format = format_
        self.last = text[-1:]

    def control(self, word: str, number: int | None, _: Format, /) -> None:
        if word == "trleft":
            self._starts[0] = number or 0
        elif word == "cellx":
            self._starts.append(number or 0)

    def mark(self, marker: str, format_: Format, /) -> None:
        """Keep what counts or names the item, which may be asked for; a bullet says nothing."""
        self._marker = marker = " ".join(marker.split())
        if _COUNTS.search(marker):
            self.add(f"{marker} ", format_)

    def put(self, items: Iterable[Item]) -> None:
        self._beside += items

    def link(self, begun: Place, target: str) -> None:
        at = begun.at if begun.paragraph == self._paragraph else 0
        self._text.seek(at)
        text = " ".join(self._text.read(_LONGEST_LINK).split())
        self._text.seek(0, SEEK_END)
        if text:
            self._links.append((at, text, target))

    def end(self, word: str, format_: Format, /) -> None:
        match word:
            case "trowd":
                self._is_in_row, self._starts = True, [0]
            case "cell":
                self._end_cell(1, format_)
            case "nestcell":
                self._end_cell(max(2, self._level(format_)), format_)
            case "row":
                self._end_row(1, format_)
                self._is_in_row = False
            case "nestrow":
                self._end_row(max(2, self._level(format_)), format_)
            case _:
                self._end_paragraph(format_)

    def finish(self) -> list[Item]:
        """Return the blocks that are left, at the end of all."""
        self._end_paragraph(Format())
        self._close(0)
        return self.items

    def _end_paragraph(self, format_: Format, least: int = 0) -> None:
        text = self._text.getvalue()
        is_said = bool(text) and not text.isspace()
        level = max(least, self._level(format_))
        self._close(level)
        into = self._at(level) if is_said or self._beside else self.items
        if is_said:
            into.append(self._item(text))
        into += self._beside
        self._begin()

    def _item(self, text: str) -> Item:
        format_ = self._format
        level = format_.outline + 1 if 0 <= format_.outline < LEVELS else 0
        level = level or self._levels.get(format_.style, 0)
        if level:
            return Item("heading", text, level, self._links)
        bullet = _BULLETED.match(text)
        if bullet is not None:
            text = " " * bullet.end() + text[bullet.end() :]  # places of links stay
        if bullet is not None or self._marker is not None or format_.listed:
            depth = min(max(format_.depth, 0), LEVELS - 1)
            return Item("list_item", text, depth + 1, self._links)
        return Item("paragraph", text, links=self._links)

    def _level(self, format_: Format) -> int:
        """Return in how many tables a paragraph stands; a row may not say that it is one."""
        is_in_one = self._is_in_row or format_.is_in_table != 0
        return min(max(format_.tables, int(is_in_one)), _DEEPEST_TABLE)

    def _at(self, level: int) -> list[Item]:
        """Return what holds the blocks in so many tables."""
        while len(self._tables) < level:
            self._tables.append(Table())
        return self._tables[-1].cell if self._tables else self.items

    def _close(self, level: int) -> None:
        """End the tables that stand in more than so many."""
        while len(self._tables) > level:
            table = self._tables.pop()
            into = self._tables[-1].cell if self._tables else self.items
            if table.row:
                table.end_cell()
                table.end_row()
            into += table_items(table.rows, table.starts, SLACK)
            into += table.cell

    def _end_cell(self, level: int, format_: Format, /) -> None:
        self._end_paragraph(format_, level)
        self._close(level)
        self._at(level)
        self._tables[-1].end_cell()

    def _end_row(self, level: int, format_: Format, /) -> None:
        if self._text.tell() or self._beside:
            self._end_paragraph(format_, level)
        self._close(level)
        self._at(level)
        self._tables[-1].end_row(self._starts[:-1])
