"""Blocks of a text as a reader of some format finds them, and how they are written down."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeVar

from kb_app._ingest.making.blocks import Draft
from kb_core.documents import Link
from kb_core.text import indent_of

__all__ = ["ASIDE", "LEVELS", "SLACK", "SOFT_HYPHEN", "Item", "Table", "aligned", "heading_level"]
__all__ += ["inherited", "numbered", "table_items", "write_items"]

Name = TypeVar("Name", bound=Hashable)

SOFT_HYPHEN = "\xad"
"""Where a word may be parted at the end of a line; it is no letter of the word."""
ASIDE = frozenset({"note", "comment"})
"""What stands beside the text rather than in it."""
LEVELS = 9
"""So many levels of headings there are."""
_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|titlu|kop|rubrik|overskrift|otsikko|nagłówek"
    r"|nadpis|címsor|naslov|başlık|заголовок|επικεφαλίδα|見出し|标题|標題|제목) ?(\d)",
    re.IGNORECASE,
)
"""What word processors call the styles of headings, in the languages of their users."""
_LEAST_CELLS, _LONG_CELL = 2, 1_000
"""A table with fewer cells in a row, or with a longer one, only lays out a page."""
SLACK = 60
"""So many twentieths of a point may be between cells of a column."""
_MOST_COLUMNS = 1_000
"""A row with more has no place for each of its cells."""


@dataclass(slots=True)
class Item:
    """A block to be: ``list_item``, ``heading``, ``note`` and so on."""

    kind: str
    text: str
    level: int = 0
    links: list[tuple[int, str, str]] = field(default_factory=list)
    """Where in the text one starts, what it says, and where it leads."""


def numbered(item: Item, label: str) -> None:
    """Put the number of a paragraph before it."""
    if label and item.text.strip():
        blank = indent_of(item.text)
        item.text = f"{label} {item.text[blank:]}"
        moved = len(label) + 1 - blank
        item.links = [(max(0, at + moved), text, target) for at, text, target in item.links]


def heading_level(name: str, outline: int = 0) -> int:
    """Return the level that a style gives to a heading, by its name or its place in an outline.

    0 where it gives none; *outline* counts from 1.
    """
    if (heading := _HEADING.fullmatch(name)) is not None:
        return int(heading[1])
    if 0 < outline <= LEVELS:
        return outline
    return 1 if name.lower() == "title" else 0


def inherited(own: Mapping[Name, int], bases: Mapping[Name, Name]) -> dict[Name, int]:
    """Return of each style what it says itself, or the nearest of those that it is based on.

    0 says nothing. Each style is looked at once, however long the lines are.
    """
    found: dict[Name, int] = {}
    for name in own:
        line: dict[Name, None] = {}
        at: Name | None = name
        while at is not None and at in own and at not in found and at not in line:
            line[at] = None
            if own[at]:
                break
            at = bases.get(at)
        says = 0 if at is None else own.get(at, 0) or found.get(at, 0)
        found.update(dict.fromkeys(line, says))
    return found


def write_items(draft: Draft, items: Iterable[Item], margins: Iterable[str]) -> list[Link]:
    """Write down *items*, and at the end what stands in the margins; return the links."""
    links: list[Link] = []
    before = ""
    for item in items:
        goes_on = item.kind == before == "list_item"
        start = draft.add(item.kind, item.text, item.level, goes_on=goes_on)
        if start is not None:
            before = item.kind
            indent = indent_of(item.text)
            links += [
                Link("markdown", target, text, start + max(0, at - indent))
                for at, text, target in item.links
            ]
    draft.headings.leave()
    for text in dict.fromkeys(margins):
        draft.add("margin", text)
    return links


@dataclass(slots=True)
class Table:
    """The rows of a table while they are read, one cell after the other."""

    rows: list[list[list[Item]]] = field(default_factory=list)
    starts: list[Sequence[int]] = field(default_factory=list)
    """Of each row, where its cells begin; nothing where that is not known."""
    row: list[list[Item]] = field(default_factory=list)
    cell: list[Item] = field(default_factory=list)

    def end_cell(self) -> None:
        self.row.append(self.cell)
        self.cell = []

    def end_row(self, starts: Sequence[int] = ()) -> None:
        """End what is open of the row, if anything is."""
        if self.cell:
            self.end_cell()
        if self.row:
            self.rows.append(self.row)
            self.starts.append(starts)
        self.row = []


def table_items(
    rows: Sequence[Sequence[Sequence[Item]]], starts: Sequence[Sequence[int]] = (), slack: int = 0
) -> Iterator[Item]:
    """Yield a table as one block, or what is in its cells, and then the notes in them.

    *rows* hold cells, and these what is in them. What *starts* and *slack* are, ``aligned`` says.
    """
    cells = [cell for row in rows for cell in row]
    widest = max(map(len, rows), default=0)
    if widest < _LEAST_CELLS or any(len(_line(cell)) > _LONG_CELL for cell in cells):
        for cell in cells:
            yield from cell
        return
    shown = [list(map(_line, row)) for row in rows]
    lines = map("\t".join, aligned(shown, starts, slack))
    yield Item("table", "\n".join(line.rstrip() for line in lines if line.strip()))
    for cell in cells:
        yield from (item for item in cell if item.kind in ASIDE)


def aligned(
    rows: Sequence[list[str]], starts: Sequence[Sequence[int]], slack: int = 0
) -> Iterator[list[str]]:
    """Yield rows with each cell in its column, where some are as wide as several.

    *starts* say of each row where its cells begin, at most *slack* beside those of other rows.
    Where no row has a cell in each column, as in a form, cells stand one beside the other.
    """
    borders = list[int]()
    for start in sorted({start for row in starts for start in row[:_MOST_COLUMNS]}):
        if not borders or start - borders[-1] > slack:
            borders.append(start)
    is_grid = len(borders) == max(map(len, rows), default=0)
    for row, begins in zip_longest(rows, starts, fillvalue=()):
        if not is_grid or len(begins) != len(row):
            yield list(row)
            continue
        placed = [""] * len(borders)
        for cell, start in zip(row, begins, strict=True):
            placed[bisect_right(borders, start) - 1] += cell
        yield placed


def _line(cell: Sequence[Item]) -> str:
    """Return a cell of a table on one line."""
    return " ".join(word for item in cell if item.kind not in ASIDE for word in item.text.split())
