"""The search screen: a query, its hits, and the chosen hit in its place.

A search starts by itself shortly after the last key, or at once on Enter. Whatever
comes back for an older query, mode or hit is dropped.
"""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from kb_app import KnowledgeBase
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchQuery, SearchResponse
from kb_tui._keymaps import SEARCH
from kb_tui._keys import bindings, cheat_sheet, hint
from kb_tui._passage import passage, plain
from kb_tui._screen import FacadeScreen, Failed, Reply
from kb_tui._text import counted, visible
from kb_tui.popups import CheatSheet, ErrorPopup
from kb_tui.widgets.hit_list import HitList
from kb_tui.widgets.preview import Preview
from kb_tui.widgets.query_line import QueryLine
from kb_tui.widgets.status_bar import HintLine, StatusBar

__all__ = ["SearchScreen"]

_NOTHING_YET = "type to search"
_NOTHING_INDEXED = "nothing is indexed yet: run 'kebab add FOLDER', then 'kebab ingest'"
_CONTEXT = 1
"""Chunks to show on either side of the chosen one."""


class Found(Reply[SearchResponse]):
    """A search came back, perhaps empty."""


class Fetched(Reply[dict[str, Any]]):
    """The chosen hit's passage came back, as fetch_result.v1."""


class Counted(Reply[dict[str, Any]]):
    """The size of the knowledge base, as stats.v1."""


class SearchScreen(FacadeScreen):
    """Searches as a person types; the newest query wins."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(SEARCH)
    CSS_PATH = "search.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - textual's type
    DELAY_S: ClassVar[float] = 0.2

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__(kb)
        self._mode = SearchMode.HYBRID
        self._asked = ""
        self._timer: Timer | None = None
        self._is_empty = False
        self._revision: int | None = None
        self._shown_error: tuple[str, str] | None = None

    def compose(self) -> ComposeResult:
        yield QueryLine(self._mode)
        with Container(id="found"):
            yield HitList(id="hits")
            yield Preview(id="preview")
        yield StatusBar("Search", is_readonly=self.kb.readonly)
        yield HintLine()

    def on_mount(self) -> None:
        self.query_one("#hits").border_title = "Hits"
        self.query_one("#preview").border_title = "Preview"
        self._clear()
        self._count()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        self._show_typing()

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        self._show_typing()

    def _show_typing(self) -> None:
        line = self.query_one(QueryLine)
        line.show_typing()
        self.query_one(HintLine).show(hint(SEARCH, line.typing))

    def action_insert(self) -> None:
        self.query_one(QueryLine).start_typing()

    def action_normal(self) -> None:
        self.query_one(HitList).focus()

    @on(Input.Changed)
    def search_soon(self) -> None:
        self._stop_timer()
        self.forget(Found)
        if self._text.strip():
            self._timer = self.set_timer(self.DELAY_S, self._search)
        else:
            self._clear()

    @on(Input.Submitted)
    def action_search(self) -> None:
        self._shown_error = None
        self._search()

    def action_next_mode(self) -> None:
        modes = list(SearchMode)
        self._mode = modes[(modes.index(self._mode) + 1) % len(modes)]
        self.query_one(QueryLine).show_mode(self._mode)
        self._search()

    @property
    def _text(self) -> str:
        return self.query_one(QueryLine).text

    def _search(self) -> None:
        self._stop_timer()
        if not self._text.strip():
            return
        query = SearchQuery(text=self._text, mode=self._mode)
        self.query_one(StatusBar).show_state("searching…")
        self._asked = query.text
        self.ask(Found, lambda: self.kb.search(query))

    def _count(self) -> None:
        self.ask(Counted, self.kb.stats)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _clear(self) -> None:
        self._show_hits((), _NOTHING_INDEXED if self._is_empty else _NOTHING_YET)
        self.query_one(HitList).border_subtitle = ""
        self.query_one(StatusBar).show_state("ready")

    def action_move(self, by: int) -> None:
        self.query_one(HitList).chosen += by

    def action_first(self) -> None:
        self.query_one(HitList).chosen = 0

    def action_last(self) -> None:
        hits = self.query_one(HitList)
        hits.chosen = hits.count - 1

    def action_scroll_preview(self, pages: int) -> None:
        preview = self.query_one(Preview)
        preview.scroll_relative(y=pages * max(1, preview.size.height - 1), animate=False)

    @on(HitList.Chosen)
    def show_chosen(self, event: HitList.Chosen) -> None:
        """Show the snippet, which is at hand, until the whole passage is."""
        hit = event.hit
        preview = self.query_one(Preview)
        preview.border_title = Content(visible(hit.citation.uri))
        preview.show(plain(hit.snippet), self._asked)
        self.ask(Fetched, lambda: self.kb.fetch_chunk(hit.chunk_id, context=_CONTEXT))

    @on(Found)
    def show_found(self, reply: Found) -> None:
        if self.is_stale(reply):
            return
        self._shown_error = None
        found = reply.value
        self._show_hits(found.hits, f"no hits for {self._asked}")
        remarks = "; ".join([*found.degraded, *found.warnings])
        self.query_one(HitList).border_subtitle = Content(visible(remarks))
        hits = counted(len(found.hits), "hit")
        self.query_one(StatusBar).show_state(f"{hits} in {found.elapsed_ms:.0f} ms")
        if found.corpus_revision != self._revision:
            self._revision = found.corpus_revision
            self._count()

    def _show_hits(self, hits: tuple[Hit, ...], note: str) -> None:
        self.query_one(HitList).show(hits, note)
        if not hits:
            self.forget(Fetched)
            preview = self.query_one(Preview)
            preview.border_title = "Preview"
            preview.show(())

    @on(Fetched)
    def show_fetched(self, reply: Fetched) -> None:
        if not self.is_stale(reply):
            self.query_one(Preview).show(passage(reply.value), self._asked)

    @on(Counted)
    def show_counted(self, reply: Counted) -> None:
        if self.is_stale(reply):
            return
        documents, chunks = reply.value["doc_count"], reply.value["chunk_count"]
        self.query_one(StatusBar).show_size(documents, chunks)
        self._is_empty = documents == 0
        if not self._text.strip():
            self._clear()

    @on(Failed)
    def show_failed(self, reply: Failed) -> None:
        """Open a popup, but not again for each letter that is typed on."""
        if self.is_stale(reply):
            return
        code = getattr(reply.error, "code", "internal")
        self.query_one(StatusBar).show_state(f"error: {code}")
        error = (code, str(reply.error))
        if error != self._shown_error:
            self._shown_error = error
            self.app.push_screen(ErrorPopup(reply.error))

    def action_help(self) -> None:
        self.app.push_screen(CheatSheet("Keys of Search", cheat_sheet(SEARCH)))
