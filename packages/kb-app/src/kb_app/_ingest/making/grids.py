"""Rows of a table on a page: in which column each word stands.

A row by itself has cells where its gaps are wide. All rows together have columns, parted by what
none of them writes into: there a narrow gap parts two cells, too, and a cell may be empty. Where
no row has a cell in each column, they are no table of that kind. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kb_app._ingest.making.glyphs import CELL_GAP, Line, Placed

__all__ = ["placed_in_columns"]

_LEAST_GAP = 0.4
"""So many sizes of type are between two columns at least."""
_MORE_THAN_BLANK = 1.5
"""A gap between columns is so many times the narrowest one between words."""
_MOST_COLUMNS, _MOST_ABOVE = 60, 2
_BEFORE, _BEHIND = re.compile(r"[$€£¥₩(]+"), re.compile(r"[)%]+")
_SIGNS = re.compile(r"[$€£¥₩()%\s]*")
"""What belongs to the figure behind it, or before it, however far that is."""


def placed_in_columns(rows: Sequence[Line]) -> list[Line]:
    """Return the rows of a table with each cell in its column, as far as these can be told.

    Names of several columns at once may stand above them, and stay as they are.
    """
    found = [(above, _placed(rows[above:])) for above in range(min(_MOST_ABOVE + 1, len(rows) - 1))]
    above, placed = max(found, key=lambda each: max((row.cells for row in each[1]), default=0))
    return [*rows[:above], *placed] if placed else list(rows)


def _placed(rows: Sequence[Line]) -> list[Line]:
    """Return *rows* with each cell in its column; nothing where these cannot be told."""
    columns = _columns([row for row in rows if row.cells > 1])
    most = max(sum(not _SIGNS.fullmatch(cell) for cell in row.text.split("\t")) for row in rows)
    if not all(row.words for row in rows) or not most <= len(columns) <= _MOST_COLUMNS:
        return []
    placed = [_in(columns, row) if row.cells > 1 else row for row in rows]
    is_grid = any(all(row.text.split("\t")) and row.cells == len(columns) for row in placed)
    return placed if is_grid else []


def _columns(rows: Sequence[Line]) -> list[float]:
    """Return where columns begin: behind each gap that goes through all rows."""
    words = sorted((word for row in rows for word in row.words), key=lambda word: word.x0)
    if not words:
        return []
    size = sorted(row.size for row in rows)[len(rows) // 2]
    gaps = [
        after.x0 - word.x1
        for row in rows
        for word, after in pairwise(row.words)
        if after.x0 > word.x1
    ]
    blank = min(min(gaps, default=0.0), CELL_GAP * size)
    least = max(_LEAST_GAP * size, min(_MORE_THAN_BLANK * blank, CELL_GAP * size))
    groups: list[list[Placed]] = [[words[0]]]
    end = words[0].x1
    for word in words[1:]:
        if word.x0 - end > least:
            groups.append([])
        groups[-1].append(word)
        end = max(end, word.x1)
    return list(_starts(groups))


def _starts(groups: Sequence[Sequence[Placed]]) -> Iterator[float]:
    """Yield where groups of words begin; what only stands beside figures goes with these."""
    is_before = False
    for number, group in enumerate(groups):
        is_behind = number > 0 and all(_BEHIND.fullmatch(word.text) for word in group)
        if not is_before and not is_behind:
            yield min(word.x0 for word in group)
        is_before = all(_BEFORE.fullmatch(word.text) for word in group)


def _in(columns: Sequence[float], row: Line) -> Line:
    """Return a row with its words in their columns."""
    cells: list[list[Placed]] = [[] for _ in columns]
    for word in sorted(row.words, key=lambda word: word.start):
        cells[max(0, bisect_right(columns, word.x0) - 1)].append(word)
    text, pieces, words = "", list[tuple[int, float, float]](), list[Placed]()
    for number, cell in enumerate(cells):
        text += "\t" if number else ""
        for place, word in enumerate(cell):
            gap = _gap(row, cell[place - 1], word) if place else ""
            words.append(word._replace(start=len(text) + len(gap)))
            text += gap + word.text
        if cell:
            begins = words[-len(cell)].start if pieces else 0
            pieces.append((begins, cell[0].x0, max(word.x1 for word in cell)))
    filled = [number for number, cell in enumerate(cells) if cell]
    return replace(
        row,
        text=text.rstrip("\t"),
        pieces=tuple(pieces),
        words=tuple(words),
        cells=max(2, filled[-1] + 1),
    )


def _gap(row: Line, before: Placed, word: Placed) -> str:
    """Return what stood between two words of a row; a tab was no border after all."""
    between = row.text[before.start + len(before.text) : word.start]
    return " " if between else ""
