"""Tables whose lines were lost: rows of labels and figures that stand in one line of text.

What copies a page as text often puts a whole table into a paragraph: *Three Months Ended June
25, 2022 June 26, 2021 Research and development $ 6,797 $ 5,717 Selling, general …*. A row of it
is a label and the figures behind it, two at least; a table has three rows at least. What stands
before the first label, dates and years among it, heads them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kb_core.values import dataclass

__all__ = ["FlatTable", "flat_table"]

_CELL = r"(?:[$€£¥]\s?)?[(\-−]?\d+(?:[.,]\d+)*\)?(?:\s?%)?(?![\w,.]\w)"
_CELLS = re.compile(rf"(?<![\w.,/-])(?:[$€£¥]\s?)?{_CELL}(?:\s+(?:{_CELL}|[—–-](?=\s)))+(?=\s|$)")
_NO_CELLS = re.compile(r"(?:(?:19|20)\d\d\s*)+|\d{1,3}(?:\s\d{3})+")
"""Years over the columns, and one number whose thousands are parted by blanks."""
_HEADER_ENDS = re.compile(
    r"\b[^\W\d_]{3,9}\.? \d{1,2}, (?:19|20)\d\d(?: Change)?|(?:19|20)\d\d(?: Change)?|[:)]"
)
_LONGEST_LABEL = 100
"""Characters: what is longer between two runs of figures is prose."""
_FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class FlatTable:
    """A table within a range of text; half-open ranges."""

    header: tuple[int, int]
    """What stands before the first label; empty where nothing does."""
    rows: tuple[tuple[int, int], ...]


def flat_table(text: str, start: int, end: int) -> FlatTable | None:
    """Return the first table of a range of *text*; ``None`` where there are not three rows."""
    runs = [
        found
        for found in _CELLS.finditer(text, start, end)
        if not _NO_CELLS.fullmatch(found.group().strip())
    ]
    run = list(_close(runs))
    if len(run) < _FEWEST_ROWS:
        return None
    first = _label(text, start, run[0].start())
    borders = [first, *(found.end() for found in run)]
    rows = tuple(_trimmed(text, a, b) for a, b in pairwise(borders))
    return FlatTable(_trimmed(text, start, first), rows)


def _close(runs: list[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield the first runs of figures that have no more than a label between them."""
    for number, run in enumerate(runs):
        has_next = number + 1 < len(runs) and runs[number + 1].start() - run.end() < _LONGEST_LABEL
        has_last = number > 0 and run.start() - runs[number - 1].end() < _LONGEST_LABEL
        if has_next or has_last:
            yield run
        if has_last and not has_next:
            return


def _label(text: str, start: int, figures: int) -> int:
    """Return where the label of the first row begins."""
    ends = [found.end() for found in _HEADER_ENDS.finditer(text, start, figures)]
    return ends[-1] if ends else start


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
