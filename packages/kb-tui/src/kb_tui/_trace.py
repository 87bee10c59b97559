"""The trace of a search: why this hit, and the lists that it was made of, one a tab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from kb_app.shown import count, visible
from kb_app.shown.marks import marks
from kb_app.shown.trace import Listing, listings, stages
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchResponse, Trace
from kb_core.text import WORD
from kb_tui.popups import Popup, scrolling
from kb_tui.widgets.hit_list import place_of, score_bar
from kb_tui.widgets.lines import Lines, Row

__all__ = ["TracePopup", "why"]

_TABS = ("Why this hit", "Words", "Meaning", "Fused")
_SHARE = {"rrf", "fused", "rerank"}
"""Kinds of scores that lie between 0 and 1 whatever was asked."""


class TracePopup(Popup):
    """How a search was answered, from the chosen hit to the whole lists."""

    BINDINGS: ClassVar[list[BindingType]] = scrolling(
        ("tab,right,l", "tab(1)"),
        ("shift+tab,left,h", "tab(-1)"),
        *((str(n), f"go({n - 1})") for n in range(1, len(_TABS) + 1)),
    )
    DEFAULT_CSS = """
    TracePopup > Vertical {
        width: 90%; height: 90%; border: heavy $primary; padding: 0 1; background: $surface;
    }
    TracePopup #tabs { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    TracePopup Lines { height: 1fr; }
    """

    def __init__(self, query: str, response: SearchResponse, hit: Hit) -> None:
        super().__init__("Trace", "")
        words, meaning, fused = listings(response.trace or Trace())
        titles = {one.chunk_id: one for one in response.hits}
        is_words_off = response.mode is SearchMode.VECTOR
        is_meaning_off = response.mode is SearchMode.LEXICAL
        self._pages = (
            list(_why_page(query, response, hit)),
            list(_listed(words, hit, titles, is_off=is_words_off)),
            list(_listed(meaning, hit, titles, is_off=is_meaning_off)),
            list(_listed(fused, hit, titles)),
        )
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "← → or 1-4, j k scroll, Esc closes"
            yield Static("", id="tabs")
            yield Lines()

    def on_mount(self) -> None:
        self.action_go(0)

    def action_go(self, at: int) -> None:
        """Show the tab *at*, from its beginning."""
        self._at = at
        labels = (f"[{name}]" if n == at else f" {name} " for n, name in enumerate(_TABS))
        self.query_one("#tabs", Static).update(Content.styled(" ".join(labels), "bold"))
        self.query_one(Lines).show(self._pages[at])
        self.query_one(Lines).first()

    def action_tab(self, by: int) -> None:
        self.action_go((self._at + by) % len(_TABS))

    def action_scroll(self, by: int) -> None:
        self.query_one(Lines).move(by)

    def action_page(self, pages: int) -> None:
        self.query_one(Lines).page(pages)


def _why_page(query: str, response: SearchResponse, hit: Hit) -> Iterator[Row]:
    story = response.trace or Trace()
    yield Row("")
    yield Row(hit.title or hit.doc_path, "head")
    yield Row(f"{hit.doc_path}{place_of(hit)}", "note")
    yield Row("")
    for line in hit.snippet.strip("\n").split("\n"):
        yield Row(line, "quote", indent="  ┃ ", query=query)
    yield Row("")
    yield from why(query, hit, story)
    yield Row("")
    yield Row("The search", "head")
    yield Row(f"{response.mode}: {query}", indent="  ")
    hits = count(len(response.hits), "hit")
    yield Row(f"{hits} at revision {response.corpus_revision}", indent="  ")
    yield Row(_times(story), indent="  ")
    relaxed = story.relaxation.sentences() if story.relaxation else ()
    for remark in (*response.degraded, *response.warnings, *relaxed):
        yield Row(remark, "note", indent="  ")


def why(query: str, hit: Hit, story: Trace) -> Iterator[Row]:
    """Say of one hit what put it where it stands."""
    found = hit.retrieval
    full, rest = score_bar(hit.score if hit.score_kind in _SHARE else 1.0)
    yield Row(f"Hit {hit.rank}, score {hit.score:.2f}  {full}{rest}", "text")
    yield Row("")
    held, missing = _words(query, hit.snippet)
    if found.lexical_rank is None:
        yield Row(_absent("words", len(story.lexical)), indent="  ")
    else:
        score = f", score {found.lexical_score:.2f}" if found.lexical_score is not None else ""
        of = f" of {len(story.lexical):,}" if story.lexical else ""
        yield Row(f"by words: place {found.lexical_rank:,}{of}{score}", indent="  ")
    if held:
        yield Row(f"the snippet has: {', '.join(held)}", "note", indent="    ")
    if missing:
        yield Row(f"it has not: {', '.join(missing)}", "note", indent="    ")
    if found.vector_rank is None:
        yield Row(_absent("meaning", len(story.vector)), indent="  ")
    else:
        near = f", similarity {found.vector_score:.2f}" if found.vector_score is not None else ""
        of = f" of {len(story.vector):,}" if story.vector else ""
        yield Row(f"by meaning: place {found.vector_rank:,}{of}{near}", indent="  ")
    if found.rerank_score is not None:
        yield Row(f"read again: {found.rerank_score:.2f}", indent="  ")


def _absent(channel: str, size: int) -> str:
    if not size:
        return f"by {channel}: not asked, or nothing found"
    return f"by {channel}: not among the best {size:,}"


def _words(query: str, text: str) -> tuple[list[str], list[str]]:
    """Return the words of *query* that *text* has, and those that it has not."""
    words = dict.fromkeys(word for word in re.findall(WORD, query) if len(word) > 1)
    held = [word for word in words if marks(text, word)]
    return held, [word for word in words if word not in held]


def _times(story: Trace) -> str:
    parts = ", ".join(f"{name} {spent} ms" for name, spent in stages(story.timing))
    return f"{story.timing.total_ms} ms: {parts}"


def _listed(
    listing: Listing, hit: Hit, titles: dict[str, Hit], *, is_off: bool = False
) -> Iterator[Row]:
    yield Row(f"{count(len(listing.rows), 'candidate')} in {listing.spent_ms} ms", "note")
    yield Row("")
    if not listing.rows:
        yield Row("not asked in this mode" if is_off else "nothing found", "note")
        return
    is_fused = listing.name == "fused"
    yield Row(f"  place   score{'  words  meaning' if is_fused else ''}  document", "note")
    for row in listing.rows:
        ranks = "".join(map(_rank, row.ranks or (), (5, 7)))
        sign = "▌" if row.chunk_id == hit.chunk_id else " "
        one = titles.get(row.chunk_id)
        place = place_of(one) if one else f"  chunk {row.chunk_id[:8]}"
        text = f"{sign} {row.rank:>5}  {row.score:>6.3f}{ranks}  {visible(row.doc_path)}{place}"
        yield Row(text, "head" if sign.strip() else "text")


def _rank(rank: int | None, columns: int) -> str:
    return f"  {'-' if rank is None else rank:>{columns}}"
