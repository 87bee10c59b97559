"""Lists of rows of which one is chosen, as lines or in columns.

Only the rows in sight are drawn, so a list may be long; every line is cut to the width
in cells, so wide characters never push anything apart. A bar marks the chosen row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kb_app.shown import visible
from kb_core.values import dataclass
from kb_tui._themes import Inks

__all__ = ["ChoiceList", "Column", "PagedTable", "RowTable", "columns", "fit", "middle"]


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return *text* in exactly *width* cells: cut with an ellipsis, or filled with spaces."""
    if width <= 0:
        return ""
    if right and len(text) < width:
        return " " * max(0, width - Content(text).cell_length) + text
    return Content(text).truncate(width, ellipsis=True, pad=True).plain


def middle(text: str, width: int) -> str:
    """Return *text* in at most *width* cells: what is too much is left out of its middle.

    Both ends of a path tell it from others: where it begins, and the file itself.
    """
    whole = Content(text)
    if whole.cell_length <= width:
        return text
    room = max(0, width - 1)
    starts = range(len(text) + 1)
    start = bisect_left(starts, -(room * 2 // 3), key=lambda at: -Content(text[at:]).cell_length)
    tail = text[start:]
    before = Content(text).truncate(room - Content(tail).cell_length).plain.rstrip()
    return f"{before}…{tail}" if width > 0 else ""


def columns(cells: Iterable[tuple[str, int]]) -> str:
    """Return one row of a table; a cell of negative width is set to the right."""
    return "  ".join(fit(visible(text), abs(width), right=width < 0) for text, width in cells)


_BAR = "▌"


class ChoiceList(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows ``count`` rows of ``LINES`` lines; posts ``Chosen`` when another is chosen.

    Subclasses say what a row's lines are with ``line``. ``HEAD`` lines above them stay where
    they are while the rows scroll.
    """

    LINES: ClassVar[int] = 1
    HEAD: ClassVar[int] = 0
    MARKS_CHOICE: ClassVar[bool] = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "choice--chosen",
        "choice--main",
        "choice--detail",
        "choice--head",
        "choice--note",
        "choice--titles",
    }
    DEFAULT_CSS = """
    ChoiceList { overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    ChoiceList > .choice--chosen { background: $primary 30%; text-style: bold; }
    ChoiceList > .choice--main { color: $foreground; }
    ChoiceList > .choice--detail { color: $foreground 75%; }
    ChoiceList > .choice--head { color: $primary; text-style: bold; }
    ChoiceList > .choice--note { color: $foreground 75%; text-style: italic; }
    ChoiceList > .choice--titles { color: $secondary; text-style: bold; }
    """

    chosen: reactive[int] = reactive(0)
    """Position of the chosen row, from 0; kept between both ends."""

    class Chosen(Message):
        """Another row is the chosen one."""

        def __init__(self, sender: ChoiceList, index: int) -> None:
            super().__init__()
            self.sender = sender
            self.index = index

        @property
        def control(self) -> ChoiceList:
            """The list, so that handlers can name it."""
            return self.sender

    class Opened(Chosen):
        """A row was clicked twice: whatever Enter does there."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._count = 0
        self._note = ""
        self.lines_each = self.LINES

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._count

    def line(self, index: int, row: int, width: int) -> tuple[str | Content, str]:
        """Return line *row* of item *index* and its kind: main, detail or head."""
        raise NotImplementedError

    def head(self) -> str:
        """Return the line above the rows."""
        return ""

    def replace_rows(self, count: int, note: str = "", *, chosen: int | None = 0) -> None:
        """Take *count* new rows; *note* is what an empty list says.

        Row *chosen* is then the chosen one; ``None`` keeps the choice where it is.
        """
        self._count = count
        self._note = note
        self.virtual_size = Size(0, self.lines_each * count + self.HEAD)
        wanted = self.chosen if chosen is None else chosen
        self.set_reactive(ChoiceList.chosen, max(0, min(wanted, count - 1)))
        self._show_chosen()

    def validate_chosen(self, chosen: int) -> int:
        return max(0, min(chosen, self._count - 1))

    def watch_chosen(self) -> None:
        self._show_chosen()

    def _show_chosen(self) -> None:
        self.refresh()
        at = Region(0, self.lines_each * self.chosen, 1, self.lines_each + self.HEAD)
        self.scroll_to_region(at, animate=False, force=True)
        if self._count:
            self.post_message(self.Chosen(self, self.chosen))

    @cached_property
    def ink(self) -> Inks:
        """Styles of parts of a line."""
        return Inks(self.app)

    def page(self, pages: int) -> None:
        """Choose the row a page on, or back."""
        height = self.scrollable_content_region.height - self.HEAD
        rows = max(1, height // self.lines_each - 1)
        self.chosen += pages * rows

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:  # on the border
            return
        row = (at.y - self.HEAD + self.scroll_offset.y) // self.lines_each
        if at.y < self.HEAD or row >= self._count:
            return
        self.chosen = row
        if event.chain > 1:
            self.post_message(self.Opened(self, row))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if y < self.HEAD:
            return self._strip(f" {self.head()}", "titles", width)
        index, row = divmod(y - self.HEAD + self.scroll_offset.y, self.lines_each)
        if index >= self._count:
            note = self._note if not self._count and y == self.HEAD else ""
            return self._strip(f" {visible(note)}", "note", width)
        is_chosen = self.MARKS_CHOICE and index == self.chosen
        text, kind = self.line(index, row, width - 1)
        bar = Content(_BAR if is_chosen else " ")
        return self._strip(bar + text, kind, width, is_chosen=is_chosen)

    def _strip(
        self, text: str | Content, kind: str, width: int, *, is_chosen: bool = False
    ) -> Strip:
        names = (f"choice--{kind}", "choice--chosen") if is_chosen else (f"choice--{kind}",)
        style = self.get_visual_style(*names)
        whole = Content(text) if isinstance(text, str) else text
        line = whole.truncate(width, ellipsis=True, pad=True)
        return Strip(line.render_segments(style), width)


T = TypeVar("T")

_GAP = 2
_LEAST = 8
_NOT_THERE = "…"


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column: its title, its cells (negative: set to the right; 0: what is left), its text."""

    title: str
    width: int
    text: Callable[[T], str]


class RowTable(ChoiceList, Generic[T]):
    """Shows rows of one type in the columns that fit the width, under their titles."""

    HEAD: ClassVar[int] = 1

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._rows: Sequence[T] = ()

    @property
    def rows(self) -> Sequence[T]:
        """The rows that are shown."""
        return self._rows

    @property
    def row(self) -> T | None:
        """The chosen row, if it is there."""
        return self.row_at(self.chosen) if self.count else None

    def row_at(self, index: int) -> T | None:
        """Return a row, or ``None`` if it is not there yet."""
        return self._rows[index]

    def show(self, rows: Sequence[T], note: str = "", *, chosen: int | None = 0) -> None:
        """Replace the rows."""
        self._rows = rows
        self.replace_rows(len(rows), note, chosen=chosen)

    def columns_for(self, width: int) -> list[Column[T]]:
        """Return the columns of a table of *width*."""
        raise NotImplementedError

    def head(self) -> str:
        """Return the titles of the columns, each over what it names."""
        width = self.scrollable_content_region.width - 1
        wanted = self.columns_for(width)
        return columns(
            zip((column.title for column in wanted), _widths(wanted, width), strict=True)
        )

    def line(self, index: int, row: int, width: int) -> tuple[str, str]:  # noqa: ARG002
        wanted, shown = self.columns_for(width), self.row_at(index)
        if shown is None:
            return _NOT_THERE, "detail"
        texts = (column.text(shown) for column in wanted)
        return columns(zip(texts, _widths(wanted, width), strict=True)), "main"


class PagedTable(RowTable[T]):
    """A table of very many rows, of which those are read that come into sight.

    It posts ``Wanted`` for the page of a row that is to be drawn and is not there; ``put`` takes
    it in. Of the pages that came last, so many are kept.
    """

    PAGE: ClassVar[int] = 200
    KEPT: ClassVar[int] = 50

    class Wanted(Message):
        """The rows from *start* on are in sight, a page of them, and not there yet."""

        def __init__(self, sender: PagedTable[Any], start: int) -> None:
            super().__init__()
            self.sender = sender
            self.start = start

        @property
        def control(self) -> PagedTable[Any]:
            """The table, so that handlers can name it."""
            return self.sender

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._pages: dict[int, Sequence[T]] = {}
        self._asked: set[int] = set()

    @property
    def rows(self) -> Sequence[T]:
        """The rows that are there."""
        return [row for page in sorted(self._pages) for row in self._pages[page]]

    def row_at(self, index: int) -> T | None:
        page, at = divmod(index, self.PAGE)
        rows = self._pages.get(page)
        if rows is None and page not in self._asked:
            self._asked.add(page)
            self.post_message(self.Wanted(self, page * self.PAGE))
        return rows[at] if rows and at < len(rows) else None

    def show(
        self,
        rows: Sequence[T],
        note: str = "",
        *,
        chosen: int | None = 0,
        total: int | None = None,
    ) -> None:
        """Replace the rows: these are all of them, or the first ones of *total*."""
        starts = range(0, len(rows), self.PAGE)
        self._pages = {at // self.PAGE: rows[at : at + self.PAGE] for at in starts}
        self._asked = set()
        self.replace_rows(len(rows) if total is None else total, note, chosen=chosen)

    def put(self, start: int, rows: Sequence[T]) -> None:
        """Take in the page of rows that begins at *start*."""
        self._pages.pop(start // self.PAGE, None)
        self._pages[start // self.PAGE] = rows
        for oldest in list(self._pages)[: -self.KEPT]:
            del self._pages[oldest]
        # A page that was wanted before may not have been read, and is wanted again if it is drawn.
        self._asked = set()
        self.refresh()


def _widths(wanted: Sequence[Column[Any]], width: int) -> list[int]:
    """Share what the fixed columns leave among those of width 0."""
    left = width - sum(abs(column.width) for column in wanted) - _GAP * (len(wanted) - 1)
    open_ = sum(column.width == 0 for column in wanted)
    share = max(_LEAST, left // max(1, open_))
    return [column.width or share for column in wanted]
