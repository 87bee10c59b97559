"""The list of hits: two lines each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kb_app.shown import visible
from kb_core.search import Hit
from kb_tui.widgets.lists import ChoiceList

__all__ = ["HitList"]


class HitList(ChoiceList):
    """Shows hits: rank, score and citation; then where in the document, and the snippet."""

    LINES: ClassVar[int] = 2

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._hits: tuple[Hit, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits that are shown."""
        return self._hits

    @property
    def hit(self) -> Hit | None:
        """The chosen hit."""
        return self._hits[self.chosen] if self._hits else None

    def show(self, hits: Sequence[Hit], note: str = "", *, keep_choice: bool = False) -> None:
        """Replace the hits and choose the first.

        With *keep_choice*, the hit that was chosen stays so; where it is gone, what stands
        in its place now.
        """
        chosen = self._place_of(self.hit, hits) if keep_choice else 0
        self._hits = tuple(hits)
        self.replace_rows(len(hits), note, chosen=chosen)

    def add(self, hits: Sequence[Hit]) -> None:
        """Put another page below, and choose its first hit."""
        before = len(self._hits)
        self._hits += tuple(hits)
        self.replace_rows(len(self._hits), chosen=before)

    def _place_of(self, hit: Hit | None, among: Sequence[Hit]) -> int:
        ids = [one.chunk_id for one in among]
        return ids.index(hit.chunk_id) if hit and hit.chunk_id in ids else self.chosen

    def line(self, index: int, row: int, width: int) -> tuple[str, str]:  # noqa: ARG002
        hit = self._hits[index]
        return (_detail(hit), "detail") if row else (_head(index + 1, hit), "main")


def _head(rank: int, hit: Hit) -> str:
    remarks = [*(["stale"] if hit.stale else []), *hit.flags]
    tail = "".join(f"  [{visible(remark)}]" for remark in remarks)
    return f"{rank:>3}. {hit.score:.2f}  {visible(hit.citation.uri)}{tail}"


def _detail(hit: Hit) -> str:
    place = " › ".join(hit.heading_path) or hit.section_label or hit.title
    snippet = " ".join(hit.snippet.split())
    return "     " + visible(f"{place}: {snippet}" if place else snippet)
