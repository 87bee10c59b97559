"""Blocks of a text as a reader of some format finds them, and how they are written down."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kb_app._ingest.making.blocks import Draft
from kb_core.documents import Link

__all__ = ["ASIDE", "LEVELS", "Item", "Table", "heading_level", "inherited", "table_items"]
__all__ += ["write_items"]

Name = TypeVar("Name", bound=Hashable)

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


@dataclass(slots=True)
class Item:
    """A block to be: ``list_item``, ``heading``, ``note`` and so on."""

    kind: str
    text: str
    level: int = 0
    links: list[tuple[int, str, str]] = field(default_factory=list)
    """Where in the text one starts, what it says, and where it leads."""


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
            indent = len(item.text) - len(item.text.lstrip())
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
    row: list[list[Item]] = field(default_factory=list)
    cell: list[Item] = field(default_factory=list)

    def end_cell(self) -> None:
        self.row.append(self.cell)
        self.cell = []

    def end_row(self) -> None:
        """End what is open of the row, if anything is."""
        if self.cell:
            self.end_cell()
        if self.row:
            self.rows.append(self.row)
        self.row = []


def table_items(rows: Sequence[Sequence[Sequence[Item]]]) -> Iterator[Item]:
    """Yield a table as one block, or what is in its cells, and then the notes in them.

    *rows* hold cells, and these what is in them.
    """
    cells = [cell for row in rows for cell in row]
    widest = max(map(len, rows), default=0)
    if widest < _LEAST_CELLS or any(len(_line(cell)) > _LONG_CELL for cell in cells):
        for cell in cells:
            yield from cell
        return
    lines = ("\t".join(map(_line, row)) for row in rows)
    yield Item("table", "\n".join(line.rstrip() for line in lines if line.strip()))
    for cell in cells:
        yield from (item for item in cell if item.kind in ASIDE)


def _line(cell: Sequence[Item]) -> str:
    """Return a cell of a table on one line."""
    return " ".join(word for item in cell if item.kind not in ASIDE for word in item.text.split())
