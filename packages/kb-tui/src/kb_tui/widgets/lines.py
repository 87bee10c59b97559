"""Lines of text that are wrapped, scrolled and, if wanted, followed to their end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kb_app.shown import visible
from kb_app.shown.marks import marks
from kb_core.values import dataclass
from kb_tui._passage import Span
from kb_tui._themes import Inks

__all__ = ["Lines", "Row", "Tone"]

Tone: TypeAlias = Literal["text", "head", "note", "quote"]

_LEAST = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One line before it is wrapped. A quote's words of *query* are marked."""

    text: str
    tone: Tone = "text"
    indent: str = ""
    query: str = ""
    spans: tuple[Span, ...] = ()
    """Parts that are shown as the preview shows them."""


class Lines(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows rows; with ``follow`` its end stays in sight as rows come in."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--text",
        "lines--head",
        "lines--note",
        "lines--quote",
        "lines--match",
    }
    DEFAULT_CSS = """
    Lines { overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    Lines > .lines--text { color: $foreground; }
    Lines > .lines--head { color: $primary; text-style: bold; }
    Lines > .lines--note { color: $foreground 75%; text-style: italic; }
    Lines > .lines--quote { color: $foreground; }
    Lines > .lines--match { color: $warning; text-style: bold underline; }
    """

    def __init__(self, *, follow: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.follow = follow
        self._rows: tuple[Row, ...] = ()
        self._anchor: int | None = None
        self._drawn: list[Content] = []
        self._tops: list[int] = []
        self._wraps: dict[Row, list[Content]] = {}
        """The rows that are shown, as they were wrapped: most stay when some come in."""
        self._wrapped_for: tuple[int, str] = (0, "")
        """The width and the colours that they were wrapped for."""

    @cached_property
    def ink(self) -> Inks:
        """Styles of parts of a line."""
        return Inks(self.app)

    @property
    def height_of_all(self) -> int:
        """How many lines there are once wrapped."""
        return len(self._drawn)

    def show(self, rows: Sequence[Row], *, anchor: int | None = None) -> None:
        """Replace the rows. Who follows the end sees row *anchor* on top, if that is given."""
        self._rows = tuple(rows)
        self._anchor = anchor
        self._lay_out()

    def on_resize(self) -> None:
        self._lay_out()

    def move(self, by: int) -> None:
        """Scroll by lines; away from the end, it is not followed any more."""
        self.scroll_relative(y=by, animate=False)
        self.follow = self.follow and by > 0

    def page(self, pages: int) -> None:
        """Scroll by pages."""
        self.move(pages * max(1, self.scrollable_content_region.height - 1))

    def first(self) -> None:
        """Go to the beginning."""
        self.follow = False
        self.scroll_to(y=0, animate=False)

    def last(self) -> None:
        """Go to the end and stay there."""
        self.follow = True
        self._anchor = None
        self._to_end()

    def reveal(self, row: int) -> None:
        """Put *row* near the top, and leave the end."""
        self.follow = False
        self.scroll_to(y=max(0, self._tops[row] - 1), animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        row = self._drawn[at] if at < len(self._drawn) else Content("")
        return Strip(row.truncate(width, pad=True).render_segments(self.visual_style), width)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        before = self._wraps if self._wrapped_for == (width, self.app.theme) else {}
        self._wraps, self._wrapped_for = {}, (width, self.app.theme)
        self._drawn, self._tops, top = [], [], None
        for number, row in enumerate(self._rows):
            top = len(self._drawn) if number == self._anchor else top
            self._tops.append(len(self._drawn))
            lines = self._wraps.get(row) or before.get(row) or self._wrapped(row, width)
            self._wraps[row] = lines
            self._drawn += lines
        self.virtual_size = Size(0, len(self._drawn))
        self.refresh()
        if self.follow and top is not None:
            self.scroll_to(y=top, animate=False, force=True)
        elif self.follow:
            self._to_end()

    def _wrapped(self, row: Row, width: int) -> list[Content]:
        text = visible(row.text)
        content = Content.styled(text, self.get_visual_style(f"lines--{row.tone}"))
        for start, end, name in row.spans:
            content = content.stylize(self.ink(name), start, end)
        for start, end in marks(text, row.query) if row.query else ():
            content = content.stylize(self.get_visual_style("lines--match"), start, end)
        room = max(_LEAST, width - len(row.indent))
        note = self.get_visual_style("lines--note")
        lines = content.wrap(room) or [content]
        return [Content.styled(row.indent, note) + line for line in lines]

    def _to_end(self) -> None:
        self.scroll_to(y=len(self._drawn), animate=False, force=True)
