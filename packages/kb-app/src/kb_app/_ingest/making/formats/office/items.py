"""Blocks of a text as a reader of some format finds them, and how they are written down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kb_app._ingest.making.blocks import Draft
from kb_core.documents import Link

__all__ = ["ASIDE", "Item", "table_items", "write_items"]

ASIDE = frozenset({"note", "comment"})
"""What stands beside the text rather than in it."""
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
