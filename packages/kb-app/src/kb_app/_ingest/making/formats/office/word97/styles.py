"""The styles of a file of Word 97 to 2003: which are headings, and which are of lists ([MS-DOC]).

A style that the program brought has a number that is the same in every language, whatever it
is called there. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from kb_app._ingest.making.formats.office.word97.file import WordFile
from kb_app._ingest.making.formats.office.word97.formats import format_of

__all__ = ["Style", "styles_of"]

_STYLES = 1
_LEVELS = 9
_TITLE = 62
_OF_PARAGRAPHS = 1
_MOST, _DEEPEST = 0xFFF, 50


class Style(NamedTuple):
    """What a style makes of its paragraphs."""

    level: int = 0
    """As headings; 0: they are none."""
    list_number: int = 0
    """Of the list that they are in; 0: in none."""
    list_level: int | None = None


class _Told(NamedTuple):
    number: int
    base: int
    outline: int | None
    list_number: int | None
    list_level: int | None


def styles_of(file: WordFile) -> list[Style]:
    """Return the styles of a file, by the numbers that its paragraphs have for them."""
    data = file.table(_STYLES)
    size = int.from_bytes(data[:2], "little")
    fixed = int.from_bytes(data[4:6], "little")
    at, told = 2 + size, list[_Told | None]()
    while at + 2 <= len(data) and len(told) < _MOST:
        length = int.from_bytes(data[at : at + 2], "little")
        told.append(_style(data[at + 2 : at + 2 + length], fixed))
        at += 2 + length + length % 2
    return [_based(told, number) for number in range(len(told))]


def _style(data: bytes, fixed: int) -> _Told | None:
    """Return a style of paragraphs; *fixed* is the size of what stands before its name."""
    if len(data) < fixed or len(data) < 6:  # noqa: PLR2004 - three numbers
        return None
    number = int.from_bytes(data[:2], "little") & 0xFFF
    kind = int.from_bytes(data[2:4], "little")
    if kind & 0xF != _OF_PARAGRAPHS:
        return None
    name = int.from_bytes(data[fixed : fixed + 2], "little")
    at = fixed + 2 + 2 * name + 2
    at += at % 2
    size = int.from_bytes(data[at : at + 2], "little")
    form = format_of(0, data[at + 4 : at + 2 + size])
    return _Told(number, kind >> 4, form.outline, form.list_number, form.list_level)


def _based(told: list[_Told | None], number: int) -> Style:
    """Return a style with what it has from those that it is based on."""
    level: int | None = None
    list_number: int | None = None
    first = told[number]
    list_level = first.list_level if first else None
    for _ in range(_DEEPEST):
        style = told[number] if number < len(told) else None
        if style is None:
            break
        if level is None:
            level = _level(style)
        list_number = style.list_number if list_number is None else list_number
        number = style.base
        if level is not None and list_number is not None:
            break
    return Style(level or 0, list_number or 0, list_level)


def _level(style: _Told) -> int | None:
    if 1 <= style.number <= _LEVELS:
        return style.number
    return style.outline if style.outline is not None else 1 if style.number == _TITLE else None
