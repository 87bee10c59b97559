"""The list of hits: what each is, where it stands, and what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.message import Message

from kb_app.shown import visible
from kb_app.shown.excerpts import Passage, excerpt
from kb_app.shown.marks import marks
from kb_core.citations import CellSpan
from kb_core.search import Hit
from kb_tui.widgets.lists import ChoiceList, fit, middle

__all__ = ["HitList", "place_of", "score_bar"]

_BAR_CELLS = 5
_ROOMY = 12
"""Lines from which on a hit gets a third one."""
_INDENT = "      "
_LEAST_SAID = 16
_SIGNS = re.compile(r"\A(?:[-*+>] (?:\[[ xX]\] )?)+|\*\*|`+")
"""Of Markdown; they say nothing on one line."""
_IN_FULL = " (t: in full)"
"""The trace of a hit says all that was remarked of its search."""
_BESIDE_A_REMARK = 4
"""Cells of the frame, and of spaces, in its line."""
_LEAST_ABOVE = 12
"""Cells from which on headings above a passage say something."""


class HitList(ChoiceList):
    """Shows hits: score, title, language and source; the place; the snippet, marked.

    Low lists leave the place out of a line of its own. ``NearEnd`` is posted when the last
    hit comes into sight, so that more can be put below.
    """

    LINES: ClassVar[int] = 3

    class NearEnd(Message):
        """The last hit is in sight."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._hits: tuple[Hit, ...] = ()
        self._query = ""
        self._remark = ""
        self.names_sources = False
        """Whether each hit says its source: where there is one, that says nothing."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits that are shown."""
        return self._hits

    @property
    def hit(self) -> Hit | None:
        """The chosen hit."""
        return self._hits[self.chosen] if self._hits else None

    @property
    def capacity(self) -> int:
        """How many hits are in sight at once."""
        return max(1, self.scrollable_content_region.height // self.lines_each)

    def show(
        self, hits: Sequence[Hit], note: str = "", *, query: str = "", keep_choice: bool = False
    ) -> None:
        """Replace the hits and choose the first; words of *query* are marked.

        With *keep_choice*, the hit that was chosen stays so; where it is gone, what stands
        in its place now.
        """
        chosen = self._place_of(self.hit, hits) if keep_choice else 0
        self._hits, self._query = tuple(hits), query
        self.replace_rows(len(hits), note, chosen=chosen)
        self._tell_end()

    def add(self, hits: Sequence[Hit]) -> None:
        """Put another page below; the choice stays."""
        self._hits += tuple(hits)
        self.replace_rows(len(self._hits), chosen=None)
        self._tell_end()

    def remark(self, text: str) -> None:
        """Say *text* below the hits; where it has no room, what says all of it, too."""
        self._remark = visible(text)
        self._show_remark()

    def _show_remark(self) -> None:
        said, room = self._remark, self.size.width - _BESIDE_A_REMARK
        if self._hits and Content(said).cell_length > room > len(_IN_FULL):
            said = fit(said, room - len(_IN_FULL)) + _IN_FULL
        self.border_subtitle = Content(said)

    def on_resize(self, event: events.Resize) -> None:
        """Give each hit the lines that there is room for."""
        lines = self.LINES if event.size.height >= _ROOMY else self.LINES - 1
        if lines != self.lines_each:
            self.lines_each = lines
            self.replace_rows(len(self._hits), self._note, chosen=None)
        self._show_remark()
        self._tell_end()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._tell_end()

    def watch_chosen(self) -> None:
        super().watch_chosen()
        self._tell_end()

    def _tell_end(self) -> None:
        in_sight = self.scroll_offset.y // self.lines_each + self.capacity
        if self._hits and max(in_sight, self.chosen + 1) >= len(self._hits):
            self.post_message(self.NearEnd())

    def _place_of(self, hit: Hit | None, among: Sequence[Hit]) -> int:
        ids = [one.chunk_id for one in among]
        return ids.index(hit.chunk_id) if hit and hit.chunk_id in ids else self.chosen

    # ---------------------------------------------------------------- drawing

    def line(self, index: int, row: int, width: int) -> tuple[str | Content, str]:
        hit = self._hits[index]
        if row == 0:
            return self._head(index, hit, width), "main"
        if row == 1 and self.lines_each == self.LINES:
            return self._where(hit, width), "detail"
        return self._said(hit, width), "detail"

    def _styled(self, text: str, kind: str) -> Content:
        return Content.styled(text, self.ink(kind))

    def _head(self, index: int, hit: Hit, width: int) -> Content:
        """Rank, score and title to the left; remarks, language and source to the right."""
        full, rest = score_bar(self._share(hit))
        left = Content(f"{index + 1:>3} ") + self._styled(full, "score")
        left += self._styled(rest, "faint") + Content(" ")
        more = [f"+{hit.more_in_doc:,} more"] if hit.more_in_doc else []
        remarks = [*(["stale"] if hit.stale else []), *hit.flags, *more]
        tail = Content("  ").join(
            self._styled(visible(text), kind)
            for text, kind in (
                *((f"[{remark}]", "remark") for remark in remarks),
                (hit.code_lang or hit.lang or hit.media, "kind"),
                (hit.source_id if self.names_sources else "", "source"),
            )
            if text
        )
        room = max(8, width - left.cell_length - tail.cell_length - 2)
        title = self._styled(_title(hit), "title").truncate(room, ellipsis=True, pad=True)
        return left + title + Content("  ") + tail

    def _where(self, hit: Hit, width: int) -> Content:
        """The path, cut in its middle, and the line; then the headings above the passage."""
        place = place_of(hit)
        path = middle(visible(hit.doc_path), max(8, width - len(_INDENT) - len(place)))
        where = Content(f"{_INDENT}{path}{place}")
        above = visible(" › ".join(hit.heading_path[:-1]))
        if above and above != visible(hit.title) and width - where.cell_length > _LEAST_ABOVE:
            where += Content(f"  {above}")
        return where.stylize(self.ink("dim"))

    def _said(self, hit: Hit, width: int) -> Content:
        before = Content(_INDENT)
        if self.lines_each != self.LINES:
            place = place_of(hit)
            path = middle(visible(hit.doc_path), max(8, width // 3 - len(place)))
            before = self._styled(f"{_INDENT}{path}{place}  ", "dim")
        text = visible(_plain(hit, self._query, max(_LEAST_SAID, width - before.cell_length)))
        said = Content(text)
        for start, end in marks(text, self._query):
            said = said.stylize(self.ink("match"), start, end)
        return before + said

    def _share(self, hit: Hit) -> float:
        """How good a hit is, from 0 to 1; scores without a scale are measured by the best."""
        if hit.score_kind != "bm25":
            return hit.score
        return hit.score / max(self._hits[0].score, 1e-9)


def score_bar(share: float) -> tuple[str, str]:
    """Return a bar for *share* in two parts: what is full, and what is not."""
    halves = round(max(0.0, min(1.0, share)) * _BAR_CELLS * 2)
    full = "━" * (halves // 2) + "╸" * (halves % 2)
    return full, "╌" * (_BAR_CELLS - len(full))


def place_of(hit: Hit) -> str:
    """Return where in its file a hit stands: ``:12``, `` p. 3``, or what its citation says."""
    span = hit.citation.span
    if isinstance(span, CellSpan):
        return f" {visible(span.sheet)}!{span.range}"
    for name, before in (("start", ":"), ("line_start", ":"), ("page", " p. ")):
        number = getattr(span, name, None)
        if isinstance(number, int):
            return f"{before}{number}"
    fragment = hit.citation.uri.rpartition("#")[2]
    return f"#{visible(fragment)}" if "#" in hit.citation.uri else ""


def _title(hit: Hit) -> str:
    """Return what a hit is called: its document, and the section if that says more."""
    title = hit.title or hit.doc_path.rpartition("/")[2]
    section = hit.heading_path[-1] if hit.heading_path else hit.section_label
    if section and section.strip() != title.strip():
        title = f"{title} › {section}"
    return visible(title)


@lru_cache(maxsize=256)
def _plain(hit: Hit, query: str, columns: int) -> str:
    """Return what of the snippet to show on one line, where its matches are."""
    passage = Passage(
        text=hit.snippet,
        medium=hit.media,
        shown=(*hit.heading_path, hit.title),
        starts=getattr(hit.citation.span, "start", 0) == 1,
    )
    lines = excerpt(passage, query, columns=columns, rows=1).lines
    text = " ".join(" ".join(line.text for line in lines).split())
    return _SIGNS.sub("", text) if hit.media == "markdown" else text
