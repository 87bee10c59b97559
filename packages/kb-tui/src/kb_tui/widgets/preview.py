"""The preview: a passage in its place, with the match marked, or the page that it is on.

A gutter tells without colour: the line's number, a heavy bar beside the chunk and a
thin one beside its surroundings, and ``>`` before every line that holds a match. A page or
picture is drawn in half blocks, two pixels to a cell, which any terminal with colours shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import ClassVar

from textual.color import Color
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from kb_app.drawing import Picture, first_mark, pixels_of, shrunk
from kb_app.shown.marks import marks
from kb_tui._passage import Line
from kb_tui._themes import Inks

__all__ = ["Preview", "half_blocks"]

_INSIDE, _OUTSIDE = "┃", "│"
_HALF = "▀"
_CHANNELS = 3


def half_blocks(pixels: bytes, width: int) -> Iterator[Content]:
    """Yield the rows of an RGB picture, two rows of pixels in each row of cells."""
    length = width * _CHANNELS
    for at in range(0, len(pixels), 2 * length):
        upper, lower = pixels[at : at + length], pixels[at + length : at + 2 * length]
        cells = zip(_colours(upper), _colours(lower or bytes(length)), strict=True)
        yield Content.assemble(
            *(
                (_HALF * len(list(same)), Style(Color(*below), Color(*above)))
                for (above, below), same in groupby(cells)
            )
        )


def _colours(row: bytes) -> list[tuple[int, int, int]]:
    return list(zip(row[::3], row[1::3], row[2::3], strict=True))


class Preview(ScrollView):
    """Shows lines, wrapped to its width, with the best place to look at a third of its height."""

    can_focus = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "preview--gutter",
        "preview--inside",
        "preview--match",
        "preview--outside",
    }
    DEFAULT_CSS = """
    Preview { overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    Preview > .preview--gutter { color: $foreground 60%; }
    Preview > .preview--inside { color: $foreground; }
    Preview > .preview--outside { color: $foreground 60%; }
    Preview > .preview--match { color: $warning; text-style: bold underline; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()
        self._query = ""
        self._rows: list[Content] = []
        self._picture: Picture | None = None
        self._is_scrolled = False

    @cached_property
    def ink(self) -> Inks:
        """Styles of parts of a line."""
        return Inks(self.app)

    def show(self, lines: Sequence[Line], query: str = "") -> None:
        """Show *lines*, with the words of *query* marked."""
        self._lines = tuple(lines)
        self._query = query
        self._picture = None
        self._begin()

    def show_picture(self, picture: Picture) -> None:
        """Show *picture* as wide as there is room, from what is marked on it."""
        self._picture = picture
        self._begin()

    def _begin(self) -> None:
        self._is_scrolled = False
        self.scroll_to(y=self._lay_out(), animate=False, force=True)

    def page(self, pages: int) -> None:
        """Scroll by pages; from then on a resize leaves it where it is."""
        self._is_scrolled = True
        height = max(1, self.scrollable_content_region.height - 1)
        self.scroll_relative(y=pages * height, animate=False)

    def on_resize(self) -> None:
        top = self._lay_out()
        if not self._is_scrolled:
            self.scroll_to(y=top, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        row = self._rows[at] if at < len(self._rows) else Content("")
        line = row.truncate(width, pad=True)
        return Strip(line.render_segments(self.visual_style), width)

    def _lay_out(self) -> int:
        """Wrap the lines, or draw the picture; return the row that should be on top."""
        if self._picture is not None:
            return self._draw(self._picture)
        self._rows = []
        digits = max((len(str(line.number)) for line in self._lines if line.number), default=0)
        chunk_row = match_row = None
        for line in self._lines:
            ranges = marks(line.text, self._query) if line.inside else []
            if line.inside and chunk_row is None:
                chunk_row = len(self._rows)
            rows = self._wrapped(line, ranges, digits)
            if ranges and match_row is None:
                match_row = len(self._rows) + _row_of(ranges[0][0], line.text, rows)
            self._rows += rows
        self.virtual_size = Size(0, len(self._rows))
        self.refresh()
        best = next(row for row in (match_row, chunk_row, 0) if row is not None)
        return max(0, best - self.scrollable_content_region.height // 3)

    def _draw(self, picture: Picture) -> int:
        room = max(1, self.scrollable_content_region.width)
        whole = pixels_of(picture)
        pixels, (width, height) = shrunk(whole, (picture.width, picture.height), room)
        self._rows = list(half_blocks(pixels, width))
        self.virtual_size = Size(0, len(self._rows))
        self.refresh()
        marked = first_mark(whole, picture.width) * height // picture.height // 2
        return max(0, marked - self.scrollable_content_region.height // 3)

    def _wrapped(self, line: Line, ranges: Sequence[tuple[int, int]], digits: int) -> list[Content]:
        bar = _INSIDE if line.inside else _OUTSIDE
        number = "" if line.number is None else str(line.number)
        gutter = f"{'>' if ranges else ' '}{number:>{digits}} {bar} "
        blank = f" {'':>{digits}} {bar} "
        kind = "preview--inside" if line.inside else "preview--outside"
        text = Content.styled(line.text, self.get_visual_style(kind))
        for start, end, name in line.spans:
            if name and line.inside:
                text = text.stylize(self.ink(name), start, end)
        for start, end in ranges:
            text = text.stylize(self.get_visual_style("preview--match"), start, end)
        room = max(8, self.scrollable_content_region.width - len(gutter))
        style = self.get_visual_style("preview--gutter")
        return [
            Content.styled(blank if at else gutter, style) + row
            for at, row in enumerate(text.wrap(room) or [text])
        ]


def _row_of(at: int, text: str, rows: Sequence[Content]) -> int:
    """Return which of the *rows* that a line was wrapped into has its character *at*."""
    end = 0
    for number, row in enumerate(rows):
        said = row.plain.partition(f" {_INSIDE} ")[2].strip()
        end = text.find(said, end) + len(said)
        if end > at:
            return number
    return 0
