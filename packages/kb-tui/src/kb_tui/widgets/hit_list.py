"""The list of hits: two lines each, a bar beside the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kb_core.search import Hit
from kb_tui._text import visible

__all__ = ["HitList"]

_ROWS = 2
_BAR = "▌"


class HitList(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows hits and which of them is chosen; posts ``Chosen`` when that changes.

    Every row is cut to the width in cells, so wide characters never push it apart.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "hit-list--chosen",
        "hit-list--citation",
        "hit-list--detail",
        "hit-list--note",
    }
    DEFAULT_CSS = """
    HitList { overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    HitList > .hit-list--chosen { background: $primary 30%; text-style: bold; }
    HitList > .hit-list--citation { color: $foreground; }
    HitList > .hit-list--detail { color: $foreground 75%; }
    HitList > .hit-list--note { color: $foreground 75%; text-style: italic; }
    """

    chosen: reactive[int] = reactive(0)
    """Position of the chosen hit, from 0; kept between both ends."""

    class Chosen(Message):
        """Another hit is the chosen one."""

        def __init__(self, hit: Hit) -> None:
            super().__init__()
            self.hit = hit

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._hits: tuple[Hit, ...] = ()
        self._note = ""

    @property
    def count(self) -> int:
        """How many hits there are."""
        return len(self._hits)

    def show(self, hits: Sequence[Hit], note: str = "") -> None:
        """Replace the hits and choose the first; *note* is what an empty list says."""
        self._hits = tuple(hits)
        self._note = note
        self.virtual_size = Size(0, _ROWS * len(self._hits))
        self.scroll_to(y=0, animate=False)
        self.set_reactive(HitList.chosen, 0)
        self.refresh()
        if self._hits:
            self.post_message(self.Chosen(self._hits[0]))

    def validate_chosen(self, chosen: int) -> int:
        return max(0, min(chosen, len(self._hits) - 1))

    def watch_chosen(self) -> None:
        self.refresh()
        self.scroll_to_region(Region(0, _ROWS * self.chosen, 1, _ROWS), animate=False, force=True)
        if self._hits:
            self.post_message(self.Chosen(self._hits[self.chosen]))

    def on_click(self, event: events.Click) -> None:
        row = (event.y + self.scroll_offset.y) // _ROWS
        if row < len(self._hits):
            self.chosen = row

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index, row = divmod(y + self.scroll_offset.y, _ROWS)
        if index >= len(self._hits):
            note = self._note if not self._hits and y == 0 else ""
            return self._strip(f" {visible(note)}", "hit-list--note", width)
        is_chosen = index == self.chosen
        text = (_head, _detail)[row](self._hits[index])
        bar = _BAR if is_chosen else " "
        kind = ("hit-list--citation", "hit-list--detail")[row]
        return self._strip(f"{bar}{text}", kind, width, is_chosen=is_chosen)

    def _strip(self, text: str, kind: str, width: int, *, is_chosen: bool = False) -> Strip:
        names = (kind, "hit-list--chosen") if is_chosen else (kind,)
        style = self.get_visual_style(*names)
        line = Content(text).truncate(width, ellipsis=True, pad=True)
        return Strip(line.render_segments(style), width)


def _head(hit: Hit) -> str:
    remarks = [*(["stale"] if hit.stale else []), *hit.flags]
    tail = "".join(f"  [{visible(remark)}]" for remark in remarks)
    return f"{hit.rank:>3}. {hit.score:.2f}  {visible(hit.citation.uri)}{tail}"


def _detail(hit: Hit) -> str:
    place = " › ".join(hit.heading_path) or hit.section_label or hit.title
    snippet = " ".join(hit.snippet.split())
    return "     " + visible(f"{place}: {snippet}" if place else snippet)
