"""The search pane: a query, its facets and hits, and the chosen hit in its place.

A search starts by itself shortly after the last key, or at once on Enter. Whatever
comes back for an older query, mode, filter or hit is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from kb_app.shown import NO_ANSWER, PER_DOC, count, is_doubtful, visible
from kb_core.citations import CaptionSpan, PageSpan, RegionSpan
from kb_core.errors import KbError
from kb_core.media import SearchMode
from kb_core.search import MAX_K, Hit, SearchQuery, SearchResponse
from kb_core.values import replace
from kb_tui._exact import ExactPopup
from kb_tui._filters import (
    Facet,
    Filtered,
    FilterPopup,
    counted,
    facets_of,
    parse_filter,
    tally,
    toggled,
)
from kb_tui._keys import SEARCH, Key, bindings
from kb_tui._pane import Failed, HitPane, More, Reply, Shared, next_page
from kb_tui._passage import Line, passage, plain
from kb_tui._rendering import rendered
from kb_tui._trace import TracePopup
from kb_tui.popups import QueryHistory
from kb_tui.widgets.bars import QueryLine
from kb_tui.widgets.facet_bar import FacetBar
from kb_tui.widgets.hit_list import HitList, place_of
from kb_tui.widgets.lists import ChoiceList
from kb_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from kb_app.drawing import Picture
    from kb_core.evals import Verdict

__all__ = ["SearchPane"]

_NOTHING_YET = "type to search"
_NOTHING_INDEXED = "nothing is indexed yet: Esc, then a adds a folder"
_NOTHING_INGESTED = "nothing is indexed yet: Esc, then r ingests"
_NOTHING_TO_READ = "nothing is indexed yet, and this is open for reading only"
_HISTORY = 100
"""Queries to keep."""
_PAGE_INCHES = 8.5
"""How wide a page mostly is: drawn so that a pixel of it is a cell."""
_CONTEXT = 1
"""Chunks to show on either side of the chosen one."""


class Found(Reply[SearchResponse]):
    """A search came back, perhaps empty."""


class FoundMore(Reply[More]):
    """The next page of a search, or its list anew."""


class Sourced(Reply[list[tuple[str, str]]]):
    """The sources of a knowledge base in which nothing is."""


class Tallied(Reply[list[Facet]]):
    """Of what all candidates are."""


class Recalled(Reply[tuple[str, ...]]):
    """Queries of earlier sessions, the newest first."""


class Kept(Reply[None]):
    """The queries of this session are kept."""


class Traced(Reply[SearchResponse]):
    """The search once more, with its trace."""


class Judged(Reply[str]):
    """What was said of a hit is kept: the place of its passage."""


class Fetched(Reply["list[Line] | Picture"]):
    """The chosen hit's passage came back, as it is read, or the page that it is on."""


class SearchPane(HitPane):
    """Searches as a person types; the newest query wins."""

    NAME: ClassVar[str] = "search"
    KEYS: ClassVar[tuple[Key, ...]] = SEARCH
    IS_TYPING: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(SEARCH)
    DELAY_S: ClassVar[float] = 0.2

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._mode = SearchMode.HYBRID
        self._filter = Filtered()
        self._asked: SearchQuery | None = None
        self._next_cursor: str | None = None
        self._timer: Timer | None = None
        self._stats: Mapping[str, Any] = {}
        self._is_empty = False
        self._sources: list[tuple[str, str]] = []
        self._has_offered = False
        self._loads_on = False
        self._shows_pages = False
        self._history: list[str] = []

    def body(self) -> ComposeResult:
        yield QueryLine(self._mode)
        yield Static("", id="facets")
        with Container(id="found"):
            yield HitList(id="hits")
            yield Preview(id="preview")

    def on_mount(self) -> None:
        self.query_one("#hits").border_title = "Hits"
        self.query_one("#preview").border_title = "Preview"
        self._clear()

    # ---------------------------------------------------------------- asking

    @on(Input.Changed)
    def search_soon(self) -> None:
        self._stop_timer()
        self._forget_answers()
        if self._text.strip():
            self._timer = self.set_timer(self.DELAY_S, self._search)
        else:
            self._clear()

    @on(Input.Submitted)
    def action_search(self) -> None:
        self.forget_error()
        self._search()
        self._remember()

    def leave_insert(self) -> None:
        self._remember()
        self.set_focus(self.query_one(HitList))

    def action_history(self) -> None:
        self._remember()
        self.app.push_screen(QueryHistory(list(reversed(self._history))), self._take_query)
        self.ask(Recalled, self.kb.recent_queries)

    @on(Recalled)
    def show_recalled(self, reply: Recalled) -> None:
        """Put the queries of earlier sessions below those of this one."""
        popup = self.app.screen
        if isinstance(popup, QueryHistory) and not self.is_stale(reply):
            popup.add(reply.value)

    def _take_query(self, text: str | None) -> None:
        if text is not None:
            self.query_one(QueryLine).put(text)
            self._search()

    def _remember(self) -> None:
        """Keep the query, as the newest; asked again it moves there."""
        text = self._text.strip()
        if text and [text] != self._history[-1:]:
            self._history = [*(one for one in self._history[-_HISTORY:] if one != text), text]
            kept = tuple(self._history)
            self.ask(Kept, lambda: self.kb.keep_queries(kept))

    def action_next_mode(self) -> None:
        modes = list(SearchMode)
        self._mode = modes[(modes.index(self._mode) + 1) % len(modes)]
        self.query_one(QueryLine).show_mode(self._mode)
        self._search()

    def action_filter(self) -> None:
        words = "parts of file names"
        popup = FilterPopup(self._filter.text, facets_of(self._stats), words)
        self.app.push_screen(popup, self._apply_filter)

    def action_grep(self) -> None:
        """Look for exact text; the query is the pattern to begin with."""
        self.app.push_screen(ExactPopup(self.kb, self._text.strip(), self._filter.as_search()))

    def _apply_filter(self, text: str | None) -> None:
        if text is not None and text != self._filter.text:
            self._filter = parse_filter(text)
            self._show_facets(self.query_one(HitList).hits)
            self._search()

    @property
    def is_about_to_search(self) -> bool:
        """Whether a search starts unless another key comes."""
        return self._timer is not None

    @property
    def _text(self) -> str:
        return self.query_one(QueryLine).text

    def _search(self) -> None:
        self._stop_timer()
        self._forget_answers()
        if not self._text.strip():
            return
        self.state("searching…")
        hits = self.query_one(HitList)
        filters = self._filter.as_search()
        self._asked = query = SearchQuery(
            text=self._text,
            mode=self._mode,
            k=min(MAX_K, max(self.shared.preferences.default_k, hits.capacity + 1)),
            per_doc=None if filters.path_glob else PER_DOC,
            filters=filters,
        )
        self.ask(Found, lambda: self.kb.search(query))

    @on(HitList.NearEnd)
    def load_on(self) -> None:
        """Put more hits below before somebody has to ask for them."""
        if self._loads_on and self._next_cursor is not None:
            self._loads_on = False
            self.action_next_hits()

    def action_next_hits(self) -> None:
        """Ask for the page below the hits that are shown."""
        query, cursor = self._asked, self._next_cursor
        loaded = self.query_one(HitList).count
        if query is None or not loaded:
            self.state("no hits yet")
        elif cursor is None:
            self.state("no more hits")
        else:
            self.forget_error()
            self.state("searching…")
            self.ask(FoundMore, lambda: next_page(self.kb.search, query, cursor, loaded))

    def action_trace(self) -> None:
        """Ask once more, for how the chosen hit came to be one."""
        if self._asked is None or self.query_one(HitList).hit is None:
            self.state("nothing to trace: there are no hits")
            return
        self.state("tracing…")
        query = replace(self._asked, trace=True)
        self.ask(Traced, lambda: self.kb.search(query))

    def _forget_answers(self) -> None:
        for kind in (Found, FoundMore, Traced, Tallied):
            self.forget(kind)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    # ---------------------------------------------------------------- the chosen hit

    def action_move(self, by: int) -> None:
        self.query_one(HitList).chosen += by

    def action_first(self) -> None:
        self.query_one(HitList).chosen = 0

    def action_last(self) -> None:
        hits = self.query_one(HitList)
        hits.chosen = hits.count - 1

    def action_page(self, pages: int) -> None:
        self.query_one(Preview).page(pages)

    @on(ChoiceList.Opened)
    def inspect_opened(self) -> None:
        self.action_inspect()

    def chosen_hit(self) -> Hit | None:
        hit = self.query_one(HitList).hit
        if hit is None:
            self.state("no hit is chosen")
        return hit

    def action_judge(self, verdict: Verdict) -> None:
        """Keep whether the chosen hit answers the query."""
        hit, query = self.chosen_hit(), self._asked
        if hit is not None and query is not None:
            self.ask(Judged, lambda: self.kb.judge(query, hit, verdict)["citation"])

    @on(Judged)
    def show_judged(self, reply: Judged) -> None:
        if not self.is_stale(reply):
            self.state(f"feedback kept: {visible(reply.value)}")

    # ---------------------------------------------------------------- what came back

    @on(ChoiceList.Chosen)
    def show_chosen(self) -> None:
        """Show the snippet, which is at hand, until the whole passage is."""
        hit = self.query_one(HitList).hit
        if hit is None:
            return
        preview = self.query_one(Preview)
        preview.border_title = Content(f"{visible(hit.doc_path)}{place_of(hit)}")
        preview.show(plain(hit.snippet), self._query_text)
        room = max(1, preview.scrollable_content_region.width)
        self.ask(Fetched, lambda: self._fetched(hit, room))

    def action_view(self) -> None:
        """Show pages and pictures as they look, or what they say."""
        self._shows_pages = not self._shows_pages
        self.state("pages as they look" if self._shows_pages else "what pages say")
        self.show_chosen()

    def _fetched(self, hit: Hit, room: int) -> list[Line] | Picture:
        is_seen = isinstance(hit.citation.span, PageSpan | RegionSpan | CaptionSpan)
        if self._shows_pages and is_seen:
            with suppress(KbError):  # a slide, a file that is gone: what it says is shown
                return self.kb.draw(hit.chunk_id, dpi=room / _PAGE_INCHES)
        fetched = self.kb.fetch_chunk(hit.chunk_id, context=_CONTEXT)
        return rendered(passage(fetched), hit.media, hit.code_lang)

    @property
    def _query_text(self) -> str:
        return self._asked.text if self._asked else ""

    @on(Found)
    def show_found(self, reply: Found) -> None:
        if self.is_stale(reply):
            return
        self.forget_error()
        found = reply.value
        self._show_hits(found.hits, f"no hits for {self._query_text}")
        self._doubt(found)
        self._note(found)
        self.state(f"{self._counted_hits} in {found.elapsed_ms:.0f} ms")
        self._tally_facets()

    def failed(self, reply: Failed) -> None:
        """Show no hits of another query below one that could not be searched for."""
        if reply.kind is Found:
            self._next_cursor = None
            self._show_hits((), f"not searched: {reply.error}")
            self.count()

    def _tally_facets(self) -> None:
        """Count what all candidates are, where there is room to show it."""
        query = self._asked
        if query is not None and self.has_class("-broad"):
            self.ask(Tallied, lambda: counted(self.kb.facets(query)))

    @on(Tallied)
    def show_tallied(self, reply: Tallied) -> None:
        if not self.is_stale(reply):
            self._show_bar(reply.value)

    def _show_bar(self, facets: list[Facet]) -> None:
        ticked = {facet.token for facet in facets if facet.token in self._filter.text.split()}
        note = "nothing to filter by" if self._asked else "counts come with hits"
        for bar in self.query(FacetBar):
            bar.show(facets, ticked, note)

    @on(FacetBar.Picked)
    def pick_facet(self, event: FacetBar.Picked) -> None:
        self._apply_filter(toggled(self._filter.text, event.facet))

    def on_resize(self) -> None:
        self.call_after_refresh(self._give_room)

    async def _give_room(self) -> None:
        """Have a sidebar from the first time on that there is room: no narrow start pays for it."""
        if self.has_class("-broad") and not self.query(FacetBar):
            bar = FacetBar(id="facet-bar")
            bar.border_title = "Facets"
            await self.query_one("#found").mount(bar, before=0)
            self._show_bar([])
        self._tally_facets()

    @on(FoundMore)
    def show_more(self, reply: FoundMore) -> None:
        if self.is_stale(reply):
            return
        found = reply.value.found
        if reply.value.is_anew:
            self._show_hits(found.hits, f"no hits for {self._query_text}", keep_choice=True)
            self._doubt(found)
        elif found.hits:
            hits = self.query_one(HitList)
            hits.add(found.hits)
            self._show_facets(hits.hits)
        self._note(found)
        changed = "the list changed; shown anew: " if reply.value.is_anew else ""
        self.state(f"{changed}{self._counted_hits}")

    def _doubt(self, found: SearchResponse) -> None:
        """Say so above hits that are too weak to be taken for an answer."""
        if found.hits and is_doubtful(found.confidence, found.hits[0].score_kind):
            title = Content.assemble("Hits: ", (NO_ANSWER, "$warning"))
            self.query_one(HitList).border_title = title

    def _note(self, found: SearchResponse) -> None:
        """Take in what a page says beside its hits."""
        self._next_cursor = found.next_cursor
        self._loads_on = True
        told = self._named(found)
        self.query_one(HitList).remark("; ".join([*told.degraded, *told.warnings]))
        if found.corpus_revision != self.revision:
            self.count()

    def _named(self, found: SearchResponse) -> SearchResponse:
        """Return what was found, the commands in its remarks as they are for what is open."""
        degraded, warnings = (
            tuple(map(self.shared.named, remarks)) for remarks in (found.degraded, found.warnings)
        )
        return replace(found, degraded=degraded, warnings=warnings)

    @property
    def _counted_hits(self) -> str:
        more = "+" if self._next_cursor else ""
        return count(self.query_one(HitList).count, "hit").replace(" ", f"{more} ", 1)

    @on(Traced)
    def show_trace(self, reply: Traced) -> None:
        if not self.is_stale(reply):
            self.state("ready")
            hit = self.query_one(HitList).hit
            if hit is not None:
                told = self._named(reply.value)
                self.app.push_screen(TracePopup(self._query_text, told, hit))

    @on(Fetched)
    def show_fetched(self, reply: Fetched) -> None:
        if not self.is_stale(reply):
            preview, found = self.query_one(Preview), reply.value
            if isinstance(found, list):
                preview.show(found, self._query_text)
            else:
                preview.show_picture(found)

    def counted(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats
        self._is_empty = stats["doc_count"] == 0
        if self._is_empty:
            self.ask(Sourced, self.kb.sources)
        if not self._text.strip():
            self._clear()

    @on(Sourced)
    def show_sourced(self, reply: Sourced) -> None:
        """Offer to add a folder, once, where there is none."""
        if self.is_stale(reply):
            return
        self._sources = reply.value
        if not self._text.strip():
            self._clear()
        if not (self._sources or self._has_offered or self.kb.readonly):
            self._has_offered = True
            if self.is_current:
                self.action_add()

    def _clear(self) -> None:
        self._asked = self._next_cursor = None
        nothing = _NOTHING_INGESTED if self._sources else _NOTHING_INDEXED
        nothing = _NOTHING_TO_READ if self.kb.readonly else nothing
        self._show_hits((), nothing if self._is_empty else _NOTHING_YET)
        self._show_bar([])
        self.state("ready")

    def _show_hits(self, hits: tuple[Hit, ...], note: str, *, keep_choice: bool = False) -> None:
        shown = self.query_one(HitList)
        known = {row for row, number in self._counts("source_breakdown").items() if number}
        shown.border_title = "Hits"
        shown.remark("")
        shown.names_sources = len(known | {hit.source_id for hit in hits}) > 1
        shown.show(hits, note, query=self._query_text, keep_choice=keep_choice)
        self._show_facets(hits)
        if not hits:
            self.forget(Fetched)
            preview = self.query_one(Preview)
            preview.border_title = "Preview"
            preview.show(())

    def _counts(self, name: str) -> dict[str, int]:
        return self._stats.get(name) or {}

    def _show_facets(self, hits: tuple[Hit, ...]) -> None:
        """Say what is filtered by, and of what the hits are."""
        parts = [f"filter {self._filter.text}"] if self._filter.text else []
        if hits:
            parts += [tally(hit.media for hit in hits)]
            parts += [tally(hit.code_lang or hit.lang or "" for hit in hits)]
            sources = {hit.source_id for hit in hits}
            parts += [tally(hit.source_id for hit in hits)] if len(sources) > 1 else []
        shown = "  │  ".join(filter(None, parts)) or "no filter: f chooses one"
        self.query_one("#facets", Static).update(Content(visible(shown)))
