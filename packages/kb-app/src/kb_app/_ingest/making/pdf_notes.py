"""What lies over the pages of a PDF: values of forms, and what readers wrote beside the text.

PDFium draws them, and has none of them in the text of a page. A value comes with what its field
is called: in its own words, else by what stands beside it on the page, else by its name.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kb_app._ingest.making.glyphs import CELL_GAP, Box, Line, Placed

if TYPE_CHECKING:
    import pypdfium2

__all__ = ["Note", "notes_on", "shown_notes"]

_LINK, _POPUP, _WIDGET, _LAST_KIND = 2, 16, 20, 15
_BUTTONS, _TEXTS = frozenset({2, 3}), frozenset({4, 5, 6})
"""Kinds of fields: what is ticked or chosen, and what is written."""
_IS_PASSWORD = 1 << 13
_MOST, _LONGEST, _MOST_CHARS = 2_000, 20_000, 200_000
_TICKED = frozenset({"", "on", "yes", "true", "1"})
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


def notes_on(page: pypdfium2.PdfPage, forms: object | None) -> Iterator[Note]:
    """Yield what lies over a page, in the order of the file; *forms* is what knows of fields."""
    from pypdfium2 import raw

    left = _MOST_CHARS
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == _WIDGET and forms is not None:
                found = _field(annotation, forms)
            elif kind <= _LAST_KIND and kind != _LINK:
                found = _comment(annotation)
            else:
                found = None
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
        if found is not None and left > 0:
            left -= len(found.text)
            yield found


def _comment(annotation: object) -> Note | None:
    from pypdfium2 import raw

    said = _plain(_text(raw.FPDFAnnot_GetStringValue, annotation, b"Contents"))
    author = _plain(_text(raw.FPDFAnnot_GetStringValue, annotation, b"T"))
    if not said:
        return None
    return Note(_box(annotation), f"{author}: {said}" if author else said, name=said)


def _field(annotation: object, forms: object) -> Note | None:
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(forms, annotation)
    is_ticked = kind in _BUTTONS and bool(raw.FPDFAnnot_IsChecked(forms, annotation))
    if kind not in _TEXTS and not is_ticked:
        return None
    if raw.FPDFAnnot_GetFormFieldFlags(forms, annotation) & _IS_PASSWORD:
        return None
    read = raw.FPDFAnnot_GetFormFieldExportValue if is_ticked else raw.FPDFAnnot_GetFormFieldValue
    value = _plain(_text(read, forms, annotation))
    if is_ticked and value.casefold() in _TICKED:
        value = "yes"
    label = _plain(_text(raw.FPDFAnnot_GetFormFieldAlternateName, forms, annotation))
    name = _plain(_text(raw.FPDFAnnot_GetFormFieldName, forms, annotation))
    if not value:
        return None
    return Note(_box(annotation), value, label, name, is_field=True, is_ticked=is_ticked)


def _text(read: object, *about: object) -> str:
    """Return a text that PDFium gives, of UTF-16, behind its length."""
    assert callable(read)  # noqa: S101 - a function of the library
    size = read(*about, None, 0)
    if not 0 < size <= 2 * _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(*about, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw.decode("utf-16-le", "replace").partition("\0")[0]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _box(annotation: object) -> Box:
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, rectangle)
    x0, x1 = sorted((rectangle.left, rectangle.right))
    y0, y1 = sorted((rectangle.bottom, rectangle.top))
    return Box(x0, y0, x1, y1)


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
        yield ("table" if note.is_field else "comment"), Line(text, note.box, height, cells=2)


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
