"""Rows of cells to text: what sheets of every program have in common.

A row is a line, its cells parted by tabs. Where the first row of a table names three columns
or more, each cell below says the name of its own, so that a row by itself tells what it is
about. The name of a sheet is its heading. Every row stands at its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Refused
from kb_core.citations import CellSpan, column_name
from kb_core.documents import Place
from kb_core.ingest import SkipReason

__all__ = ["Book", "Cell", "Grid", "Taller"]

_BLOCK_CHARS = 1_000
_MOST_TALLER = 100
_LEAST_NAMES, _LONGEST_NAME = 3, 60
_ABOVE = 3
"""So many rows of a table may stand above the one that names its columns."""


class Cell(NamedTuple):
    """What a cell shows, in which column, from 1; whether it is a text rather than a value."""

    column: int
    shown: str
    is_text: bool = True


class Book:
    """What the sheets of one file have in common: where they are written down, and a count."""

    def __init__(self, draft: Draft, most: int) -> None:
        self.draft = draft
        self.hidden: list[str] = []
        self._most = most
        self._left = most

    def count(self, cells: int) -> None:
        """Count cells that show something; raise ``Refused`` where there are too many."""
        self._left -= cells
        if self._left < 0:
            detail = f"more than {self._most:,} cells; [limits] cells is {self._most:,}"
            raise Refused(SkipReason.TOO_LARGE, detail)

    def known(self) -> dict[str, object]:
        """Return what is known of the file beside its cells."""
        return {"hidden_sheets": self.hidden} if self.hidden else {}


class Taller:
    """Cells that reach over several rows, so that each of these says what they do."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, Cell]] = {}
        """By column: the last row that it reaches into, and the cell."""

    def reach(self, cell: Cell, last: int) -> None:
        """Take in a cell that reaches down to the row *last*."""
        if len(self._open) < _MOST_TALLER:
            self._open[cell.column] = (last, cell)

    def filled(self, number: int, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells of a row that has some, and those that reach into it from above."""
        if not self._open or not cells:
            return list(cells)
        self._open = {at: each for at, each in self._open.items() if each[0] >= number}
        own = {cell.column: cell for cell in cells}
        more = {at: cell for at, (_, cell) in self._open.items() if at not in own}
        return sorted([*own.values(), *more.values()])


class Grid:
    """One sheet while it is written down, row by row from its top."""

    def __init__(self, book: Book, name: str, *, is_hidden: bool = False) -> None:
        self.name = name
        self._book = book
        self._is_hidden = is_hidden
        self._is_begun = False
        self._lines: list[tuple[str, CellSpan]] = []
        self._size = 0
        self._goes_on = False
        self._last = 0
        self._names: dict[int, str] = {}
        self._above = 0
        if is_hidden:
            book.hidden.append(name)

    def row(self, number: int, cells: Sequence[Cell]) -> None:
        """Write down a row that shows something; rows come in their order."""
        self._book.count(len(cells))
        if number != self._last + 1:
            self._flush()
            self._goes_on, self._names, self._above = False, {}, 0
        self._last = number
        line = "\t".join(map(self._shown, cells))
        self._name_columns(cells)
        span = CellSpan.of(self.name, cells[0].column, number, cells[-1].column, number)
        self._lines.append((line, span))
        self._size += len(line) + 1
        if self._size >= _BLOCK_CHARS:
            self._flush()

    def aside(self, kind: str, cell: str, text: str) -> None:
        """Write down what stands beside the cells, if anything: a comment, or a text box."""
        if not text.strip():
            return
        self._flush()
        self._begin(cell)
        self._book.draft.stand_at(CellSpan(self.name, cell))
        self._book.draft.add(kind, text)
        self._goes_on = False

    def end(self) -> None:
        """Write down what is left."""
        self._flush()

    def _shown(self, cell: Cell) -> str:
        shown = " ".join(cell.shown.replace("\xad", "").split())
        name = self._names.get(cell.column)
        return f"{name}: {shown}" if name else shown

    def _name_columns(self, cells: Sequence[Cell]) -> None:
        """Take a row for the names of the columns below, if it can be that."""
        if self._names or self._above >= _ABOVE:
            return
        names = {cell.column: " ".join(cell.shown.split()) for cell in cells}
        if (
            len(cells) >= _LEAST_NAMES
            and all(cell.is_text for cell in cells)
            and len(set(names.values())) == len(cells)
            and all(len(name) <= _LONGEST_NAME for name in names.values())
        ):
            self._names = names
        self._above = _ABOVE if len(cells) > 1 else self._above + 1

    def _begin(self, cell: str) -> None:
        """Write down the name of the sheet, which stands where its first cell does."""
        if self._is_begun:
            return
        self._is_begun = True
        draft = self._book.draft
        draft.headings.leave()
        if self.name.strip():
            draft.stand_at(CellSpan(self.name, cell))
            draft.add("heading", self.name, 1)
        if self._is_hidden:
            draft.headings.enter(1, f"{self.name} (hidden)")

    def _flush(self) -> None:
        if not self._lines:
            return
        self._begin(self._lines[0][1].range)
        draft = self._book.draft
        text = "\n".join(line for line, _ in self._lines)
        at = draft.add("table", text, goes_on=self._goes_on) or 0
        for line, span in self._lines:
            draft.places.append(Place(at, span))
            at += len(line) + 1
        self._lines, self._size, self._goes_on = [], 0, True


def cell_name(column: int, row: int) -> str:
    """Return what a cell is called: ``B7``."""
    return f"{column_name(column)}{row}"
