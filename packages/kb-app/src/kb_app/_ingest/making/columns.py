"""Columns: rows of words that run across two columns of prose, taken apart again.

Recognition takes neighbouring columns for one where they are short. Rows that lie under each
other and have a wide gap in the same place, with several words on both sides, are columns;
those of a table have a word or a number in each cell. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Row", "Word", "in_columns"]

Edges = tuple[int, int, int, int]
"""Left, top, right and bottom."""

_WIDE = 1.5
"""How wide a gap between columns is, in heights of a line."""
_LEAST_ROWS = 3
_LEAST_WORDS = 3.0
"""How many words stand on either side of the gap, on average."""


class Word(NamedTuple):
    """A word as it was recognised."""

    text: str
    box: Edges
    confidence: float


class Row(NamedTuple):
    """Words beside each other; it may begin a paragraph."""

    words: tuple[Word, ...]
    opens: bool
    spaced: str | None = None
    """Its text, where that is not its words with blanks between them."""
    whole: Edges | None = None
    """Its edges, where those of its words are less exact."""

    @property
    def text(self) -> str:
        return self.spaced or " ".join(word.text for word in self.words)

    @property
    def box(self) -> Edges:
        if self.whole is not None:
            return self.whole
        lefts, tops, rights, bottoms = zip(*(word.box for word in self.words), strict=True)
        return min(lefts), min(tops), max(rights), max(bottoms)


def in_columns(rows: Sequence[Row]) -> list[Row]:
    """Return *rows* in the order of reading; those across two columns are two rows."""
    ordered: list[Row] = []
    at = 0
    while at < len(rows):
        end, gap = _run(rows, at)
        if gap is None:
            ordered.append(rows[at])
            at += 1
            continue
        cut = [_cut(row, gap) for row in rows[at:end]]
        ordered += [left for left, _ in cut]
        ordered += [right._replace(opens=n == 0) for n, (_, right) in enumerate(cut)]
        at = end
    return ordered


def _run(rows: Sequence[Row], at: int) -> tuple[int, tuple[int, int] | None]:
    """Return where the rows end that share a gap with that *at*, and the gap, if there is one."""
    for gap in _gaps(rows[at]):
        end, shared = at + 1, gap
        while end < len(rows) and (inner := _shared(rows[end], shared)):
            end, shared = end + 1, inner
        if end - at >= _LEAST_ROWS and _is_prose([_cut(row, shared) for row in rows[at:end]]):
            return end, shared
    return at + 1, None


def _gaps(row: Row) -> Iterator[tuple[int, int]]:
    _, top, _, bottom = row.box
    for left, right in zip(row.words, row.words[1:], strict=False):
        if right.box[0] - left.box[2] >= _WIDE * (bottom - top) and row.spaced is None:
            yield left.box[2], right.box[0]


def _shared(row: Row, gap: tuple[int, int]) -> tuple[int, int] | None:
    _, top, _, bottom = row.box
    for left, right in _gaps(row):
        inner = max(left, gap[0]), min(right, gap[1])
        if inner[1] - inner[0] >= (bottom - top) / 2:
            return inner
    return None


def _cut(row: Row, gap: tuple[int, int]) -> tuple[Row, Row]:
    left = tuple(word for word in row.words if word.box[2] <= gap[0])
    right = row.words[len(left) :]
    return row._replace(words=left, whole=None), row._replace(words=right, whole=None)


def _is_prose(cut: Sequence[tuple[Row, Row]]) -> bool:
    words = [(len(left.words), len(right.words)) for left, right in cut]
    return min(map(sum, zip(*words, strict=True))) >= _LEAST_WORDS * len(cut)
