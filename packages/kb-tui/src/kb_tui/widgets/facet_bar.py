"""The sidebar: of what the candidates of a search are, and by which of it is filtered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.message import Message

from kb_app.shown import visible
from kb_tui._filters import Facet
from kb_tui.widgets.lists import ChoiceList, fit

__all__ = ["FacetBar"]

_NAMES = {
    "media": "Kind",
    "lang": "Language",
    "code": "Code",
    "source": "Source",
    "repo": "Repository",
}
_BAR = 5


class FacetBar(ChoiceList):
    """Shows facets under the names of their keys; a click puts one into the filter or out."""

    can_focus = False
    MARKS_CHOICE: ClassVar[bool] = False

    class Picked(Message):
        """A facet was clicked."""

        def __init__(self, facet: Facet) -> None:
            super().__init__()
            self.facet = facet

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._rows: list[Facet | str] = []
        self._ticked: Collection[str] = ()

    def show(self, facets: Sequence[Facet], ticked: Collection[str], note: str = "") -> None:
        """Replace the facets; those whose tokens are *ticked* are filtered by."""
        self._rows, self._ticked = [], ticked
        for key, group in groupby(facets, key=lambda facet: facet.key):
            self._rows += [""] if self._rows else []
            self._rows += [_NAMES.get(key, key), *group]
        self.replace_rows(len(self._rows), note)

    def line(self, index: int, row: int, width: int) -> tuple[str | Content, str]:  # noqa: ARG002
        shown = self._rows[index]
        if isinstance(shown, str):
            return shown, "head"
        most = max(f.count for f in self._rows if isinstance(f, Facet) and f.key == shown.key)
        sign = "✓ " if shown.token in self._ticked else "  "
        number = f"{shown.count:>5,}"
        name = fit(visible(shown.value), max(4, width - len(sign) - len(number) - _BAR - 1))
        bar = Content.styled(_bar(shown.count / most), self.ink("score"))
        tail = Content.styled(number, self.ink("dim"))
        return Content(f"{sign}{name} ") + bar + tail, "main"

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        index = at.y + self.scroll_offset.y if at else len(self._rows)
        shown = self._rows[index] if index < len(self._rows) else ""
        if isinstance(shown, Facet):
            self.post_message(self.Picked(shown))


def _bar(share: float) -> str:
    halves = max(1, round(share * _BAR * 2))
    return fit("━" * (halves // 2) + "╸" * (halves % 2), _BAR)
