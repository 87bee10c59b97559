"""Sheets (xlsx): cells with their places, read as a stream, so that only what is there counts.

A cell says what it shows: a shared or inline text without its phonetic runs, a number, TRUE
or FALSE, an error, and a date where its style makes it one, in the calendar of the file; of a
formula, the value that was last seen. Digits are those of the value; money, units and zeros in
front are those of its style. Comments and text boxes stand at their cells, after the
rows. A hidden sheet is there like any other, and said to be hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from kb_app._ingest.making.containers import Element, Events, Locals, Refused
from kb_app._ingest.making.counting import whole
from kb_app._ingest.making.formats.office.drawings import number, paragraphs
from kb_app._ingest.making.formats.office.grid import Book, Cell, Grid, Taller, cell_name
from kb_app._ingest.making.formats.office.moments import Format, format_of
from kb_app._ingest.making.formats.office.opc import Parts
from kb_app._ingest.making.formats.office.signs import Signs, signs_of
from kb_core.citations import column_number

__all__ = ["format_of_cells", "read_sheets"]

_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576
_DIGITS = "0123456789"
_MERGED = re.compile(
    rb"mergeCell\s[^<>]{0,200}?ref=[\"']([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})[\"']"
)
_MOST_MERGED = 100_000
_LONGEST_PLACE, _LONGEST_ROW = 9, 7


def read_sheets(parts: Parts, book: Book) -> None:
    """Write down sheet after sheet."""
    root = parts.root
    relations = parts.relations(parts.main)
    properties = root.find("workbookPr")
    is_1904 = properties is not None and properties.get("date1904", "0") not in {"0", "false"}
    values = _Values(is_1904=is_1904)
    for strings in relations.values():
        if strings.kind == "sharedStrings" and not strings.is_external:
            parts.tell(strings.target, _Strings(values.strings))
    for _, styles in parts.of_kind(parts.main, "styles"):
        values.formats = _formats(styles)
    for sheet in root.iter("sheet"):
        relation = relations.get(sheet.get("r:id", ""))
        if relation is not None and relation.kind == "worksheet" and not relation.is_external:
            is_hidden = sheet.get("state", "visible") != "visible"
            grid = Grid(book, sheet.get("name", ""), is_hidden=is_hidden)
            taller = _taller(parts, relation.target)
            parts.tell(relation.target, _Sheet(values, grid.row, taller))
            for kind, cell, text in _beside(parts, relation.target):
                grid.aside(kind, cell, text)
            grid.end()


@dataclass(slots=True)
class _Values:
    """What the cells of all sheets refer to."""

    is_1904: bool
    strings: list[str] = field(default_factory=list)
    formats: list[Format | Signs] = field(default_factory=list)

    def shown(self, kind: str, value: str, style: str) -> tuple[str, bool]:
        """Return what a cell shows, and whether it is a text."""
        match kind:
            case "s":
                at = whole(value, -1, digits=_LONGEST_PLACE)
                return (self.strings[at] if 0 <= at < len(self.strings) else ""), True
            case "inlineStr" | "str":
                return value, True
            case "b":
                return ("FALSE" if value in {"0", "false"} else "TRUE"), False
            case "e":
                return value, False
        at = whole(style, 0, digits=_LONGEST_PLACE)
        as_shown = self.formats[at] if at < len(self.formats) else Format.PLAIN
        return as_shown.shown(value, is_1904=self.is_1904) or number(value), False


class _Strings(Events):
    """Takes in the shared texts."""

    def __init__(self, into: list[str]) -> None:
        self._into = into
        self._names = Locals()
        self._pieces: list[str] = []
        self._is_text = self._is_phonetic = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 - as all events
        name = self._names[tag]
        if name == "t":
            self._is_text = not self._is_phonetic
        elif name == "rPh":
            self._is_phonetic = True
        elif name == "si":
            self._pieces = []

    def data(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        name = self._names[tag]
        if name == "t":
            self._is_text = False
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "si":
            self._into.append("".join(self._pieces))


class _Sheet(Events):
    """Gives row after row of one sheet to *write*."""

    def __init__(
        self,
        values: _Values,
        write: Callable[[int, list[Cell]], None],
        last_rows: Mapping[tuple[int, int], int],
    ) -> None:
        self._values = values
        self._names = Locals()
        self._write = write
        self._last_rows = last_rows
        self._taller = Taller()
        self._row = self._column = 0
        self._cells: list[Cell] = []
        self._kind = self._style = ""
        self._pieces: list[str] = []
        self._is_value = self._is_phonetic = False
        self._columns: dict[str, int] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = self._names[tag]
        if name == "c":
            self._begin_cell(attributes)
        elif name in {"v", "t"}:
            self._is_value = not self._is_phonetic
        elif name == "rPh":
            self._is_phonetic = True
        elif name == "row":
            given = attributes.get("r", "")
            row = whole(given, self._row + 1, digits=_LONGEST_ROW)
            # A row that is not below the last one is out of order, and stands where it comes.
            self._row = row if self._row < row <= _LAST_ROW else min(self._row + 1, _LAST_ROW)
            self._column = 0
            self._cells = []

    def data(self, text: str) -> None:
        if self._is_value:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        name = self._names[tag]
        if name in {"v", "t"}:
            self._is_value = False
        elif name == "c":
            self._end_cell()
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "row" and self._cells:
            self._write(self._row, self._taller.filled(self._row, self._cells))
            self._begin_taller()

    def _begin_taller(self) -> None:
        for cell in self._cells if self._last_rows else ():
            if (last := self._last_rows.get((cell.column, self._row))) is not None:
                self._taller.reach(cell, last)

    def _begin_cell(self, attributes: Mapping[str, str]) -> None:
        letters = attributes.get("r", "").rstrip(_DIGITS)
        column = self._columns.get(letters, 0)
        if not column and letters.isalpha() and letters.isascii():
            column = self._columns[letters] = column_number(letters.upper()[:4])
        is_good = self._column < column <= _LAST_COLUMN
        self._column = column if is_good else min(self._column + 1, _LAST_COLUMN)
        self._kind = attributes.get("t", "n")
        self._style = attributes.get("s", "")
        self._pieces.clear()

    def _end_cell(self) -> None:
        if not self._pieces:
            return
        value = "".join(self._pieces)
        shown, is_text = self._values.shown(self._kind, value, self._style)
        if shown and not shown.isspace():
            self._cells.append(Cell(self._column, shown, is_text))


def _taller(parts: Parts, name: str) -> Mapping[tuple[int, int], int]:
    """Return of the cells that reach over several rows, by column and row, the last of these."""
    found: dict[tuple[int, int], int] = {}
    try:
        data = parts.read(name)
    except Refused:
        return found  # whoever reads the sheet says so
    for match in islice(_MERGED.finditer(data), _MOST_MERGED):
        letters, first, last = match[1].decode(), int(match[2]), int(match[3])
        if first < last <= _LAST_ROW:
            found[column_number(letters), first] = last
    return found


def _formats(styles: Element) -> list[Format | Signs]:
    """Return how each style of cells shows a number."""
    codes = {each.get("numFmtId", ""): each.get("formatCode", "") for each in styles.iter("numFmt")}
    cells = styles.find("cellXfs")
    numbers = [each.get("numFmtId", "0") for each in cells or () if each.tag == "xf"]
    return [format_of_cells(each, codes.get(each, "")) for each in numbers]


def format_of_cells(number: str, code: str) -> Format | Signs:
    """Return how a format shows numbers: one that all programs know by *number*, or its code."""
    found = format_of(number, code)
    return (signs_of(code) or found) if found is Format.PLAIN else found


def _beside(parts: Parts, sheet: str) -> Iterator[tuple[str, str, str]]:
    """Yield what stands beside the cells of a sheet: a kind, the cell, and what it says."""
    for _, root in parts.of_kind(sheet, "comments"):
        authors = [each.text or "" for each in root.iter("author")]
        for comment in root.iter("comment"):
            text = "".join(each.text or "" for each in comment.iter("t")).strip()
            at = whole(comment.get("authorId", ""), len(authors), digits=_LONGEST_PLACE)
            author = authors[at] if at < len(authors) else ""
            shown = text if not author or text.startswith(author) else f"{author}: {text}"
            yield "comment", _cell(comment.get("ref", "")), shown if text else ""
    for relation in parts.relations(sheet).values():
        if relation.kind == "drawing" and not relation.is_external:
            yield from _drawn(parts, relation.target)


def _drawn(parts: Parts, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the text boxes and charts of a sheet."""
    root = parts.tree(name)
    relations = parts.relations(name)
    for anchor in root if root is not None else ():
        cell = _anchored(anchor)
        for body in anchor.iter("txBody"):
            yield "paragraph", cell, "\n".join(paragraphs(body))
        for chart in anchor.iter("chart"):
            relation = relations.get(chart.get("r:id", ""))
            tree = parts.tree(relation.target, is_expected=False) if relation else None
            titles = tree.iter("title") if tree is not None else ()  # its values are in cells
            yield "paragraph", cell, "\n".join(line for each in titles for line in paragraphs(each))


def _anchored(anchor: Element) -> str:
    """Return the cell that something is anchored at."""
    column, row = anchor.findtext("from/col") or "", anchor.findtext("from/row") or ""
    if not (column.isdecimal() and row.isdecimal()):
        return "A1"
    return _cell(
        cell_name(min(int(column), _LAST_COLUMN - 1) + 1, min(int(row), _LAST_ROW - 1) + 1)
    )


def _cell(name: str) -> str:
    """Return the name of a cell, where it is one; else that of the first."""
    letters = name.rstrip(_DIGITS)
    is_good = letters.isalpha() and letters.isascii() and letters.isupper() and len(letters) < 4  # noqa: PLR2004
    digits = name[len(letters) :]
    return name if is_good and digits and len(digits) < 8 and digits[0] != "0" else "A1"  # noqa: PLR2004
