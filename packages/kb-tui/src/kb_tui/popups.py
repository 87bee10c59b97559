"""Popups: a box over the screen, closed by Esc, which gives the screen back as it was.

Apart from those that scroll it a popup takes no key, so that what is still being typed
when one opens does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kb_app.shown import count, visible
from kb_app.shown.trace import Listing, listings
from kb_core import wire
from kb_core.media import SearchMode
from kb_core.search import SearchResponse, Trace
from kb_tui.widgets.lines import Lines, Row

__all__ = ["CheatSheet", "ErrorPopup", "Popup", "TracePopup"]


def _scrolling(*rows: tuple[str, str]) -> list[BindingType]:
    return [Binding(keys, action, show=False) for keys, action in rows]


class Popup(ModalScreen[None]):
    """A box with a title and a text."""

    BINDINGS: ClassVar[list[BindingType]] = _scrolling(
        ("escape", "dismiss"),
        ("j,down", "scroll(1)"),
        ("k,up", "scroll(-1)"),
        ("pagedown", "page(1)"),
        ("pageup", "page(-1)"),
    )
    DEFAULT_CSS = """
    Popup { align: center middle; background: $background 60%; }
    Popup > VerticalScroll {
        width: auto; min-width: 40; max-width: 76; height: auto; max-height: 90%;
        border: heavy $primary; padding: 0 2; background: $surface;
    }
    Popup Static { width: auto; max-width: 70; }
    """

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = self._title
            box.border_subtitle = "Esc closes, j k scroll"
            yield Static(Content(self._text))

    def on_click(self, event: events.Click) -> None:
        """Close on a click beside the box."""
        if event.widget is self:
            self.dismiss()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_page(self, pages: int) -> None:
        box = self.query_one(VerticalScroll)
        box.scroll_relative(y=pages * max(1, box.size.height - 1), animate=False)


class CheatSheet(Popup):
    """The keys of a pane."""


class ErrorPopup(Popup):
    """What went wrong, under its stable code, and what can be done."""

    DEFAULT_CSS = "ErrorPopup > VerticalScroll { border: heavy $error; padding: 1 2; }"

    def __init__(self, error: BaseException) -> None:
        shown = wire.error(error)
        told = "\n\n".join(filter(None, (shown["message"], shown["hint"])))
        super().__init__(f"Error: {shown['code']}", visible(told, keep="\n"))


class TracePopup(Popup):
    """How a search was answered: the lists of both channels and the fused one."""

    DEFAULT_CSS = """
    TracePopup > Lines {
        width: 90%; height: 90%; border: heavy $primary; padding: 0 1; background: $surface;
    }
    """

    def __init__(self, query: str, response: SearchResponse) -> None:
        super().__init__("Trace", "")
        self._rows = _trace_rows(query, response)

    def compose(self) -> ComposeResult:
        lines = Lines()
        lines.border_title = self._title
        lines.border_subtitle = "Esc closes, j k scroll"
        yield lines

    def on_mount(self) -> None:
        self.query_one(Lines).show(self._rows)

    def action_scroll(self, by: int) -> None:
        self.query_one(Lines).move(by)

    def action_page(self, pages: int) -> None:
        self.query_one(Lines).page(pages)


def _trace_rows(query: str, response: SearchResponse) -> list[Row]:
    """Return what the popup shows of *response*, which was asked for with a trace."""
    story = response.trace or Trace()
    lexical, vector, fused = listings(story)
    embed_ms = story.timing.embed_ms
    embed = f" and {embed_ms} ms for the query's vector" if embed_ms else ""
    hits = count(len(response.hits), "hit")
    return [
        Row(f"{response.mode}: {query}", "head"),
        Row(f"{hits} in {story.timing.total_ms} ms, revision {response.corpus_revision}"),
        *(Row(remark, "note") for remark in (*response.degraded, *response.warnings)),
        *_listed(lexical, is_off=response.mode is SearchMode.VECTOR),
        *_listed(vector, embed, is_off=response.mode is SearchMode.LEXICAL),
        *_listed(fused),
    ]


def _listed(listing: Listing, spent: str = "", *, is_off: bool = False) -> Iterator[Row]:
    size = count(len(listing.rows), "candidate")
    yield Row("")
    yield Row(f"{listing.name.title()}: {size} in {listing.spent_ms} ms{spent}", "head")
    if not listing.rows:
        yield Row("  (not asked in this mode)" if is_off else "  (nothing)", "note")
        return
    titles = "  lexical  vector" if listing.name == "fused" else ""
    yield Row(f"  rank    score{titles}  chunk     document", "note")
    for row in listing.rows:
        ranks = "".join(map(_rank, row.ranks or (), (7, 6)))
        yield Row(f"  {row.rank:>4}  {row.score:>7.4f}{ranks}  {row.chunk_id[:8]}  {row.doc_path}")


def _rank(rank: int | None, columns: int) -> str:
    return f"  {'-' if rank is None else rank:>{columns}}"
