"""What the formats of cells put around their numbers, in sheets of Excel 97 to 2003 ([MS-XLS]).

A workbook is a stream of records. Those of its head have the formats, the styles that refer to
them, and where each sheet begins; a cell names its style. Only shares and what is read beside a
number are told: moments are told by what reads the values. What is damaged tells nothing. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from kb_app._ingest.making.compound import NoCompoundError, read_compound
from kb_app._ingest.making.formats.office.moments import Format
from kb_app._ingest.making.formats.office.sheets import format_of_cells
from kb_app._ingest.making.formats.office.signs import Signs

__all__ = ["Shown", "formats_of_sheets"]

Shown = Mapping[tuple[int, int], Format | Signs]
"""How the numbers of a sheet are shown, by row and column from 0."""

_BEGIN, _END, _SHEET, _FORMAT, _STYLE, _LOCKED = 0x0809, 0x000A, 0x0085, 0x041E, 0x00E0, 0x002F
_NUMBERS, _SEVERAL = frozenset({0x0203, 0x027E, 0x0006}), 0x00BD
"""Records of one cell: a number, a short one, a formula; and that of several short ones."""
_ONE, _TWO, _THREE = struct.Struct("<H"), struct.Struct("<2H"), struct.Struct("<3H")
_PLACE = struct.Struct("<I")
_SHORT_BYTES = 6


def formats_of_sheets(data: bytes) -> list[Shown]:
    """Return how numbers are shown, sheet by sheet in the order of the file."""
    try:
        return _formats_in(read_compound(data).stream("Workbook"))
    except (NoCompoundError, struct.error, IndexError):
        return []


def _formats_in(stream: bytes) -> list[Shown]:
    codes: dict[int, str] = {}
    styles: list[int] = []
    places: list[int] = []
    for kind, at, size in _records(stream, 0):
        if kind == _FORMAT:
            codes[_ONE.unpack_from(stream, at)[0]] = _text(stream[at + 2 : at + size])
        elif kind == _STYLE:
            styles.append(_TWO.unpack_from(stream, at)[1])
        elif kind == _SHEET:
            places.append(_PLACE.unpack_from(stream, at)[0])
        elif kind == _LOCKED:
            return []
    each = [(style, format_of_cells(str(code), codes.get(code, "")))
            for style, code in enumerate(styles)]  # fmt: skip
    told = {style: shown for style, shown in each if shown is Format.SHARE or type(shown) is Signs}
    return [_sheet(stream, at, told) for at in places]


def _text(body: bytes) -> str:
    length, is_wide = _ONE.unpack_from(body)[0], body[2] & 1
    raw = body[3 : 3 + length * (2 if is_wide else 1)]
    return raw.decode("utf-16-le" if is_wide else "latin-1", "replace")


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, place and size of each record of what begins *at*, not of what is in it."""
    depth, last = 0, len(stream) - _TWO.size
    while at <= last:
        kind, size = _TWO.unpack_from(stream, at)
        at += _TWO.size
        if kind in {_BEGIN, _END}:
            depth += 1 if kind == _BEGIN else -1
        if depth <= 0:
            return
        if depth == 1:
            yield kind, at, size
        at += size


def _sheet(stream: bytes, begin: int, told: Mapping[int, Format | Signs]) -> Shown:
    """Return how the numbers of the sheet are shown that begins there."""
    found: dict[tuple[int, int], Format | Signs] = {}
    for kind, at, size in _records(stream, begin) if told else ():
        if kind in _NUMBERS:
            row, column, style = _THREE.unpack_from(stream, at)
            if style in told:
                found[row, column] = told[style]
        elif kind == _SEVERAL:
            row, first = _TWO.unpack_from(stream, at)
            for place in range((size - _SHORT_BYTES) // _SHORT_BYTES):
                style = _ONE.unpack_from(stream, at + _TWO.size + _SHORT_BYTES * place)[0]
                if style in told:
                    found[row, first + place] = told[style]
    return found
