"""What a page of HTML shows, as text: a line for each block, and where in the source it stands.

Rows of a table are lines with tabs between their cells, unless the table only places things;
items of a list begin with a dash; what is ``pre`` stands as it is written. What is never
shown is not there, nor are marks that only link to a heading. Linear in the input.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from kb_app._ingest.making.blocks import Headings
from kb_app._ingest.making.counting import counted, whole
from kb_app._ingest.making.formulas import formula_of_page, raised
from kb_app._ingest.making.markup import (
    BLOCKS,
    HEADINGS,
    Element,
    Markup,
    Run,
    read_markup,
    tags,
    visible,
)
from kb_core.documents import Block, Link

__all__ = ["Shown", "show", "text_of_html"]

_APART = tags("blockquote dl h1 h2 h3 h4 h5 h6 ol p pre table ul")
"""What has a blank line around it."""
_CELLS = tags("td th")
_ROWS = tags("table tr")
_KINDS = {"pre": "code", "li": "list_item", "dt": "list_item", "dd": "list_item",
          "blockquote": "quote"}  # fmt: skip
_LONGEST_CELL, _LONGEST_HEADED_CELL = 500, 2_000
"""Above it, a cell holds a part of a page, and no value."""
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([\w-]+)")
_COUNTING = {"none": "", "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A",
             "upper-latin": "A", "lower-roman": "i", "upper-roman": "I"}  # fmt: skip
_NOTE = re.compile(r"noteref|note|fn|ftn|cite", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,4}|[ivxl]{1,6}|[a-z*†‡§]{1,2}", re.IGNORECASE)
_ITEM = re.compile(r"\w{1,8}\. ")
_MOST_COLUMNS, _LONGEST_SPAN = 100, 4
"""A cell beyond the first, or that is said to be wider in more digits, is one column wide."""
_LEADING = frozenset("¶#§🔗⚓∞")
_FEW = 4
_SOFT = {0xAD: None, 0x200B: None, 0xFEFF: None, 0x0: None}
_MOST_LINKS = 2_000
_ELSEWHERE = ("#", "javascript:", "data:", "about:", "blob:")
_TITLE_MAX = 200


class Shown(NamedTuple):
    """A text, its blocks, and at which line of the source it stands from some offset on."""

    text: str
    blocks: Sequence[Block] = ()
    lines: Sequence[tuple[int, int]] = ()
    links: Sequence[Link] = ()


def text_of_html(source: str) -> str:
    """Return all that *source* shows."""
    page = read_markup(source)
    return show(page, page.elements[:1], visible(page)).text


def show(page: Markup, roots: Sequence[Element], kept: Sequence[bool]) -> Shown:
    """Return what *roots* show, in order, of elements that are *kept*; no root is in another."""
    writer = _Writer(page, _grids(page))
    for root in roots:
        writer.gap = True
        for element, is_end, runs in _walk(page, root, kept):
            for run in runs:
                writer.write(run)
            writer.end(element) if is_end else writer.start(element)
    return writer.shown()


def _walk(
    page: Markup, root: Element, kept: Sequence[bool]
) -> Iterator[tuple[Element, bool, Sequence[Run]]]:
    """Yield each start and end of an element with the runs of text that stand before it."""
    open_: list[Element] = []
    at, number = root.first, root.number
    while number < root.last or open_:
        if open_ and open_[-1].last <= number:
            element = open_.pop()
            yield element, True, page.runs[at : element.end]
            at = element.end
            continue
        element = page.elements[number]
        yield element, False, page.runs[at : element.first]
        at, number = element.first, number + 1
        if kept[element.number] and not _is_mark(page, element):
            open_.append(element)
        else:
            yield element, True, _instead(page, element, is_kept=kept[element.number])
            at, number = element.end, element.last


def _instead(page: Markup, element: Element, *, is_kept: bool) -> Sequence[Run]:
    """Return what stands for an element that is not read as it is: a formula, or a note's mark.

    It stands where the first letter of the element does.
    """
    if element.first == element.end:
        return ()
    if element.tag.rpartition(":")[2] == "math":
        said = html.escape(formula_of_page(page, element))
    elif is_kept and _leads_to_note(page, element):
        said = f"[{page.text_of(element)}]"
    else:
        return ()
    begins = page.runs[element.first]
    return (Run(said, begins.at, begins.line, 0),)


def _is_mark(page: Markup, element: Element) -> bool:
    return _only_leads(page, element) or _leads_to_note(page, element)


def _leads_to_note(page: Markup, element: Element) -> bool:
    """Say whether an element is the mark of a note, or what leads back from one.

    Its number would be a part of the word that it stands behind.
    """
    given = element.attributes
    if element.tag != "a" or "#" not in given.get("href", "") or element.end - element.first > _FEW:
        return False
    told = f"{given.get('epub:type', '')} {given.get('role', '')} {given['href'].partition('#')[2]}"
    raised = [page.elements[element.parent], *page.within(element)]
    is_note = bool(_NOTE.search(told)) or any(each.tag == "sup" for each in raised)
    return is_note and bool(_NUMBER.fullmatch(page.text_of(element)))


def _only_leads(page: Markup, element: Element) -> bool:
    """Say whether an element is a mark that links to the heading which it stands in."""
    if element.tag != "a" or not element.attributes.get("href", "").startswith("#"):
        return False
    return element.end - element.first < _FEW and page.text_of(element) in _LEADING


def _grids(page: Markup) -> Mapping[int, Mapping[int, int]]:
    """Return the tables whose rows say something together, by number.

    Of each the columns that have anything in them, and which of these each is: one of a page may
    be there to keep others apart.
    """
    sizes = [0, *accumulate(len(run.text.replace("&nbsp;", "").strip()) for run in page.runs)]
    columns: dict[int, _Columns] = {}
    used: dict[int, set[int]] = {}
    table_of: list[int] = []
    rows: dict[int, int] = {}
    cells: dict[int, int] = {}
    headed: set[int] = set()
    for element in page.elements:
        inside = table_of[element.parent] if element.number else -1
        number, tag = element.number, element.tag
        if tag == "table":
            rows.pop(inside, None)
            if element.attributes.get("role") not in {"presentation", "none"}:
                rows[number] = 0
                columns[number], used[number] = _Columns(), set()
            inside = number
        elif tag == "tr" and inside in rows:
            rows[inside] += 1
            columns[inside].begin_row()
        elif tag in _CELLS and inside in rows:
            cells[inside] = cells.get(inside, 0) + 1
            headed.update({inside} if tag == "th" else ())
            size = sizes[element.end] - sizes[element.first]
            column = columns[inside].place(element)
            used[inside].update({column} if size else ())
            if size > (_LONGEST_HEADED_CELL if inside in headed else _LONGEST_CELL):
                del rows[inside]
        elif (tag in HEADINGS or tag == "ul") and inside in rows:
            del rows[inside]
        table_of.append(inside)
    grids = (table for table, count in rows.items() if cells.get(table, 0) > count)
    return {table: {at: n for n, at in enumerate(sorted(used[table]))} for table in grids}


@dataclass(slots=True)
class _Line:
    """A line as it grows: what it is part of, and where in the source its words stand."""

    block: int
    kind: str
    level: int
    gap: bool
    text: list[str] = field(default_factory=list)
    size: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)

    def add(self, text: str, source_line: int) -> None:
        if not self.places or self.places[-1][1] != source_line:
            self.places.append((self.size, source_line))
        self.text.append(text)
        self.size += len(text)


def _numbers_of(element: Element) -> str | None:
    """Return how a list counts its items; ``None`` where it does not."""
    if element.tag != "ol":
        return None
    given = element.attributes
    style = _LIST_STYLE.search(given.get("style", ""))
    kind = _COUNTING.get(style[1].lower(), "1") if style else given.get("type", "1")
    return kind or None


def _number(element: Element, name: str, usual: int) -> int:
    said = element.attributes.get(name, "").strip()
    return whole(said, usual, digits=_LONGEST_SPAN)


class _Columns:
    """In which columns of a table its cells stand, row by row."""

    def __init__(self) -> None:
        self._next = 0
        self._taller: dict[int, int] = {}
        """Columns that are filled from above, and for how many rows, this one among them."""
        self._said: dict[int, str] = {}
        """What the cells say that reach over several rows, by their first column."""
        self._above: dict[int, str] = {}
        """What fills columns of the row from above, as far as nobody has asked for it."""

    def begin_row(self) -> None:
        self._next = 0
        self._taller = {at: rows - 1 for at, rows in self._taller.items() if rows > 1}
        self._said = {at: said for at, said in self._said.items() if at in self._taller}
        self._above = dict(self._said)

    def place(self, cell: Element) -> int:
        """Return the column of the next cell of the row."""
        while self._next in self._taller:
            self._next += 1
        column, self._next = self._next, self._next + 1
        if column < _MOST_COLUMNS:
            self._next = min(column + _span(cell, "colspan"), _MOST_COLUMNS)
            if (rows := _span(cell, "rowspan")) > 1:
                self._taller |= dict.fromkeys(range(column, self._next), rows)
                self._said[column] = ""
        return column

    def say(self, column: int, text: str) -> None:
        """Take in what a cell says, if it reaches over several rows."""
        if column in self._said and column not in self._above:
            self._said[column] += text

    def above(self, before: int = _MOST_COLUMNS) -> list[tuple[int, str]]:
        """Return what fills columns of the row from above, once, with the columns."""
        if not self._above:
            return []
        found = [(at, said) for at, said in sorted(self._above.items()) if at < before and said]
        self._above = {at: said for at, said in self._above.items() if at >= before}
        return found


def _span(cell: Element, name: str) -> int:
    """Return over how many columns or rows a cell goes."""
    return max(1, _number(cell, name, 1))


class _Writer:
    """Writes lines while starts, ends and texts come in."""

    def __init__(self, page: Markup, grids: Mapping[int, Mapping[int, int]]) -> None:
        self.gap = False
        self._page, self._grids = page, grids
        self._lines: list[_Line] = []
        self._line: _Line | None = None
        self._blocks: list[tuple[int, str, int]] = [(0, "paragraph", 0)]
        """What is open: number, kind and level."""
        self._tables: list[int] = []
        self._columns = _Columns()
        self._place = self._column = self._written = 0
        """Of a row: in which column what comes stands, as the page and as the grid counts, and
        what is written."""
        self._spare = sum(len(run.text) for run in page.runs)
        """How much more may be said again: cells of many rows are small, and not a way to fill
        a disk."""
        self._pre = 0
        self._owed = ""
        self._prefix = ""
        self._is_raised = False
        self._counts: dict[int, int] = {}
        """Of lists, by number: what the last item is counted as."""
        self._links: list[tuple[str, int, int, int]] = []
        self._link: tuple[int, str, int, int] | None = None

    def start(self, element: Element) -> None:
        tag = element.tag
        if tag == "a":
            self._begin_link(element)
        elif tag == "sup":
            self._is_raised = True
        elif tag == "br":
            self._line_break()
        elif tag in BLOCKS:
            self._start_block(element)

    def _line_break(self) -> None:
        if self._pre:
            self._flush_line()
        elif self._in_grid:
            self._owed = self._owed or " "
        else:
            self._break()

    def _start_block(self, element: Element) -> None:
        tag = element.tag
        if tag == "table":
            self._tables.append(element.number if element.number in self._grids else 0)
            self._columns = _Columns()
        if tag in _CELLS and self._in_grid:
            self._place = self._columns.place(element)
            self._column = self._grids[self._tables[-1]].get(self._place, self._written)
            return
        if tag in _ROWS:
            self._columns.begin_row()
            self._place = self._column = self._written = 0
        if self._in_grid and tag not in _ROWS and not self._pre:
            self._owed = self._owed or " "
            return
        self._break()
        self.gap = self.gap or tag in _APART
        self._pre += tag == "pre"
        if tag == "li":
            self._prefix = self._item_mark(element)
        self._blocks.append(self._block(element))

    def _item_mark(self, element: Element) -> str:
        """Return what an item begins with: its number, in a list that has numbers."""
        holder = self._page.elements[element.parent]
        kind = _numbers_of(holder)
        if kind is None:
            return "- "
        before = self._counts.get(holder.number, _number(holder, "start", 1) - 1)
        self._counts[holder.number] = count = _number(element, "value", before + 1)
        return f"{counted(count, kind)}. "

    def end(self, element: Element) -> None:
        tag = element.tag
        if tag == "a":
            self._end_link(element)
        self._is_raised = self._is_raised and tag != "sup"
        if tag == "pre" and self._pre:
            self._pre -= not self._in_grid
        is_in_grid = self._in_grid
        if tag in _ROWS and is_in_grid and self._line is not None:
            self._say_again(_MOST_COLUMNS, self._line.places[-1][1])
        if tag == "table" and self._tables:
            self._tables.pop()
        if tag not in BLOCKS:
            return
        if is_in_grid and tag not in _ROWS:
            self._owed = self._owed or " "
            return
        self._break()
        self._prefix = "" if tag in {"li", "ul", "ol"} else self._prefix
        self.gap = self.gap or tag in _APART
        if len(self._blocks) > 1:
            self._blocks.pop()

    def write(self, run: Run) -> None:
        if self._pre:
            self._verbatim(run)
            return
        if run.text.isspace():
            self._owed = self._owed or " "
            return
        for at, (line, part) in enumerate(run.lines()):
            if at:
                self._owed = self._owed or " "
            words = part.translate(_SOFT).split()
            if part[:1].isspace():
                self._owed = self._owed or " "
            if words:
                self._add(" ".join(words), line)
                if part[-1:].isspace():
                    self._owed = " "

    def shown(self) -> Shown:
        """Return all of it."""
        self._break()
        out: list[str] = []
        size = 0
        places: list[tuple[int, int]] = []
        found: list[tuple[_Line, int, int]] = []
        for line in self._lines:
            text = "".join(line.text).rstrip()
            if out:
                mark = "\n\n" if line.gap else "\n"
                out.append(mark)
                size += len(mark)
            places += [(size + at, source) for at, source in line.places]
            found.append((line, size, size + len(text)))
            out.append(text)
            size += len(text)
        whole = "".join(out)
        links = tuple(self._linked(whole, found))
        return Shown(whole, tuple(_blocks(whole, found)), places, links)

    @property
    def _in_grid(self) -> bool:
        return bool(self._tables and self._tables[-1])

    def _block(self, element: Element) -> tuple[int, str, int]:
        _, kind, _ = self._blocks[-1]
        tag = element.tag
        if self._in_grid:
            return self._tables[-1], "table", 0
        if tag in HEADINGS:
            return element.number, "heading", int(tag[1])
        return element.number, _KINDS.get(tag, "paragraph" if kind == "heading" else kind), 0

    def _say_again(self, before: int, source_line: int) -> None:
        """Write what fills columns of a row *before* another one from above."""
        own, owed = self._column, self._owed
        for at, said in self._columns.above(before):
            if len(said) <= self._spare:
                self._spare -= len(said)
                self._column = self._grids[self._tables[-1]].get(at, self._written)
                self._put(said, source_line)
        self._column, self._owed = own, owed

    def _add(self, text: str, source_line: int) -> None:
        if self._in_grid:
            self._say_again(self._place, source_line)
            is_within = self._line is not None and self._column <= self._written
            self._columns.say(self._place, f" {text}" if is_within and self._owed else text)
        self._put(text, source_line)

    def _put(self, text: str, source_line: int) -> None:
        if self._line is None:
            self._line = _Line(*self._blocks[-1], self.gap)
            text, self._owed = self._prefix + text, ""
            self.gap, self._prefix = False, ""
        if self._in_grid and self._column > self._written:
            self._owed = "\t" * (self._column - self._written)
            self._written = self._column
        if self._is_raised and not self._owed and self._line.text:
            text = raised(self._line.text[-1], text)
        self._is_raised = False
        self._line.add(self._owed + text, source_line)
        self._owed = ""

    def _verbatim(self, run: Run) -> None:
        for at, (line, part) in enumerate(run.lines()):
            if at and (self._line is not None or self._is_in_pre()):
                self._flush_line()
            if shown := part.translate(_SOFT).replace("\r", "").replace("\xa0", " "):
                self._add(shown, line)

    def _is_in_pre(self) -> bool:
        """Say whether lines of the open ``pre`` were written: its first line may be blank."""
        return bool(self._lines) and self._lines[-1].block == self._blocks[-1][0] and not self.gap

    def _flush_line(self) -> None:
        if self._line is None:
            self._line = _Line(*self._blocks[-1], gap=False)
        self._lines.append(self._line)
        self._line, self._owed = None, ""

    def _break(self) -> None:
        if self._line is not None:
            self._flush_line()
        self._owed = ""

    def _begin_link(self, element: Element) -> None:
        target = element.attributes.get("href", "").strip()
        if target and not target.lower().startswith(_ELSEWHERE):
            at = self._line.size if self._line else 0
            self._link = (element.number, target, len(self._lines), at)

    def _end_link(self, element: Element) -> None:
        if self._link is not None and self._link[0] == element.number:
            _, target, line, at = self._link
            end = self._line.size if self._line and line == len(self._lines) else -1
            if len(self._links) < _MOST_LINKS and (end > at or line < len(self._lines)):
                self._links.append((target, line, at, end))
        self._link = None

    def _linked(self, text: str, found: Sequence[tuple[_Line, int, int]]) -> Iterator[Link]:
        for target, line, at, end in self._links:
            if line < len(found):
                _, start, stop = found[line]
                label = text[start + at : stop if end < 0 else min(stop, start + end)]
                told = label.lstrip(" \t-")
                told = told if at else _ITEM.sub("", told, count=1)
                begin = start + at + len(label) - len(told)
                if label := " ".join(told.split()):
                    yield Link("html", target[: _TITLE_MAX * 10], label[:_TITLE_MAX], begin)


def _blocks(text: str, found: Sequence[tuple[_Line, int, int]]) -> Iterator[Block]:
    """Yield the lines that are one block each, under their headings."""
    headings = Headings()
    at = 0
    while at < len(found):
        line, start, end = found[at]
        at += 1
        while at < len(found) and _goes_on(found[at][0], line):
            end = found[at][2]
            at += 1
        end = start + len(text[start:end].rstrip())
        if start == end:
            continue
        if line.kind == "heading":
            headings.enter(line.level, " ".join(text[start:end].split())[:_TITLE_MAX])
        yield Block(line.kind, start, end, headings.path, line.level)


def _goes_on(line: _Line, before: _Line) -> bool:
    return (line.block, line.kind) == (before.block, before.kind) and not line.gap
