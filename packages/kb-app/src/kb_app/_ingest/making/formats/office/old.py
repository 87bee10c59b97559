"""Sheets of older and binary formats (xls, xlsb), by calamine, where it is installed.

It gives values without their formats, so only what it takes for a date is one; of xls, money,
units and shares are told by the file. A file may make
it ask for any amount of memory, or end its process: that is the worker's to survive.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from kb_app._ingest.judging.kinds import missing_extra
from kb_app._ingest.making.containers import LOCKED, Refused
from kb_app._ingest.making.formats.office.biff import Shown, formats_of_sheets
from kb_app._ingest.making.formats.office.drawings import number
from kb_app._ingest.making.formats.office.grid import Book, Cell, Grid
from kb_app._ingest.making.formats.office.locked import unlocked
from kb_app._ingest.making.formats.office.moments import clock
from kb_app._media import OFFICE
from kb_core.ingest import SkipReason
from kb_core.media import Media

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

__all__ = ["read_old_sheets"]

_FATAL = (MemoryError, KeyboardInterrupt, SystemExit)


def read_old_sheets(data: bytes, book: Book, passwords: Sequence[str] | None = None) -> None:
    """Write down sheet after sheet; raise ``Refused`` where nothing here can read them.

    A locked one is tried with *passwords*, which are None where it was unlocked already.
    """
    if not OFFICE.is_installed:
        skip = missing_extra(Media.OFFICE, OFFICE)
        raise Refused(skip.reason, skip.detail)
    from python_calamine import CalamineWorkbook, PasswordError

    try:
        opened = CalamineWorkbook.from_filelike(io.BytesIO(data))
        shown = formats_of_sheets(data)
        if len(shown) != len(opened.sheets_metadata):
            shown = [{}] * len(opened.sheets_metadata)
        for place, sheet in enumerate(opened.sheets_metadata):
            is_hidden = not str(sheet.visible).endswith("Visible")
            grid = Grid(book, sheet.name, is_hidden=is_hidden)
            _write(opened.get_sheet_by_index(place), grid, shown[place])
    except (Refused, *_FATAL):
        raise
    except PasswordError:
        if passwords is None:
            raise Refused(SkipReason.ENCRYPTED, LOCKED) from None
        read_old_sheets(unlocked(data, passwords), book)
    except BaseException as error:  # noqa: BLE001 - its panics are no ``Exception``
        detail = " ".join(f"it is damaged: {error}".split())
        raise Refused(SkipReason.UNREADABLE, detail) from None


def _write(sheet: CalamineSheet, grid: Grid, formats: Shown) -> None:
    top, left = sheet.start or (0, 0)
    for at, values in enumerate(sheet.to_python(skip_empty_area=True), top):
        if cells := list(_cells(values, at, left, formats)):
            grid.row(at + 1, cells)
    grid.end()


def _cells(values: Sequence[object], row: int, first: int, formats: Shown) -> Iterator[Cell]:
    for column, value in enumerate(values, first):
        shown = _shown(value)
        if type(value) in {int, float} and (format_ := formats.get((row, column))) is not None:
            shown = format_.shown(shown) or shown
        if shown.strip():
            yield Cell(column + 1, shown, isinstance(value, str))


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).upper()
        case float():
            return number(str(int(value)) if value.is_integer() else repr(value))
        case datetime() | time():
            return _short(value.isoformat().replace("T", " ").partition(".")[0])
        case timedelta():
            return clock(round(value.total_seconds()))
    return str(value)


def _short(moment: str) -> str:
    """Return a moment without the seconds, or the time, that it has none of."""
    return moment.removesuffix(" 00:00:00").removesuffix(":00")
