"""Tables: rows of cells, aligned by what a terminal shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kb_cli._text import flat, pad, shorten, width

__all__ = ["pairs", "table"]

_GAP = "  "


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, limit: Mapping[str, int] | None = None
) -> list[str]:
    """Return aligned lines under *head*; numbers stand right.

    *limit* is the most columns that a cell under that head may take. The last column
    is not filled up.
    """
    limits = [(limit or {}).get(name) for name in head]
    values = [list(row) for row in rows]
    cells = [[_cell(v, most) for v, most in zip(row, limits, strict=True)] for row in values]
    numeric = [
        bool(values) and all(isinstance(row[at], int) or row[at] is None for row in values)
        for at in range(len(head))
    ]
    widths = [max(map(width, column)) for column in zip(head, *cells, strict=True)]
    return [_line(row, widths, numeric) for row in [list(head), *cells]]


def pairs(rows: Iterable[tuple[str, object]], *, indent: str = "") -> list[str]:
    """Return names and values, the values aligned."""
    known = [(name, _cell(value, None)) for name, value in rows]
    longest = max((width(name) for name, _ in known), default=0)
    return [f"{indent}{pad(name, longest)}{_GAP}{value}".rstrip() for name, value in known]


def _cell(value: object, limit: int | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:,}" if isinstance(value, int) else flat(str(value))
    return shorten(text, limit) if limit else text


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    filled = [
        pad(cell, columns, right=right)
        for cell, columns, right in zip(cells, widths, numeric, strict=True)
    ]
    return _GAP.join(filled).rstrip()
