"""What lies over the pages of a PDF: values of forms, and what readers wrote beside the text.

PDFium draws them, and has none of them in the text of a page. A value comes with what its field
is called: in its own words, else by what stands beside it on the page, else by its name. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb_app._ingest.making.glyphs import CELL_GAP, Box, Line, Placed

__all__ = ["TICKED", "Note", "plain", "shown_notes"]

TICKED = frozenset({"", "on", "yes", "true", "1"})
"""Values that say no more than that a box is ticked."""
_CRYPTIC = re.compile(r"[\[\]#]|^\W*$|^[A-Za-z]{0,3}[\d_.]+$")
_NEAR, _OVER = 12.0, 3.0
"""In points: how far beside a box its name may begin, and how far into it something may reach."""


class Note(NamedTuple):
    """A value of a field, or what somebody wrote, and where it lies, *y* up."""

    box: Box
    text: str
    label: str = ""
    """What the field says that it is."""
    name: str = ""
    """What the field is called in the file."""
    is_field: bool = False
    is_ticked: bool = False


def plain(text: str) -> str:
    """Return a text of a note on one line."""
    return " ".join(text.split())


def shown_notes(notes: Iterable[Note], lines: Iterable[Line]) -> Iterator[tuple[str, Line]]:
    """Yield what lies over a page of *lines*: what it is, and as a line of its own.

    What only repeats words of the page, as a mark over them may, is left out.
    """
    page = list(lines)
    said = " ".join(" ".join(line.text for line in page).split())
    for note in notes:
        if not note.is_field and note.name in said:
            continue
        called = _called(note, page) if note.is_field else ""
        text = f"{called}: {note.text}" if called else note.text
        height = max(note.box.y1 - note.box.y0, 1.0)
        yield ("paragraph" if note.is_field else "comment"), Line(text, note.box, height, cells=2)


def _called(note: Note, lines: Iterable[Line]) -> str:
    """Return what a field is called."""
    name = note.label or _beside(note, lines)
    if not name and not _CRYPTIC.search(note.name):
        name = note.name
    return name.rstrip(" :*.")


def _beside(note: Note, lines: Iterable[Line]) -> str:
    """Return the words on the page that stand before a field, or behind what is ticked."""
    middle = (note.box.y0 + note.box.y1) / 2
    words = [
        (word, line.size)
        for line in lines
        if not line.turn and line.box.y0 - _OVER <= middle <= line.box.y1 + _OVER
        for word in line.words
        if (word.x0 >= note.box.x1 - _OVER if note.is_ticked else word.x1 <= note.box.x0 + _OVER)
    ]
    words.sort(key=lambda each: each[0].x0, reverse=not note.is_ticked)
    found: list[Placed] = []
    at = note.box.x1 if note.is_ticked else note.box.x0
    for word, size in words:
        away = word.x0 - at if note.is_ticked else at - word.x1
        if away > (CELL_GAP * size if found else max(_NEAR, 4 * size)):
            break
        found.append(word)
        at = word.x1 if note.is_ticked else word.x0
    return " ".join(word.text for word in (found if note.is_ticked else found[::-1]))
