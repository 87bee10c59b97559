"""The filter popup: a line to type in, and the values that there are to filter by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kb_core.errors import KbError
from kb_tui._filters import Facet, parse_filter, toggled
from kb_tui._text import visible
from kb_tui.widgets.choice_list import ChoiceList
from kb_tui.widgets.tables import FacetTable

__all__ = ["FilterPopup"]


class FilterPopup(ModalScreen[str | None]):
    """Returns the new filter line, or ``None`` for Esc: the filter stays what it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("tab", "toggle_facet", show=False),
    ]
    DEFAULT_CSS = """
    FilterPopup { align: center middle; background: $background 60%; }
    FilterPopup > Vertical {
        width: 70; max-width: 100%; height: 80%;
        border: heavy $primary; padding: 0 1; background: $surface;
    }
    FilterPopup Input { height: 1; }
    FilterPopup #keys { height: auto; color: $foreground 75%; }
    FilterPopup #problem { height: auto; color: $error; text-style: bold; }
    FilterPopup FacetTable { height: 1fr; }
    """

    def __init__(self, text: str, facets: Sequence[Facet], words: str) -> None:
        super().__init__()
        self._text = text
        self._facets = facets
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Filter"
            box.border_subtitle = "Enter applies, Esc leaves it, ↓ ↑ choose, Tab toggles"
            yield Input(
                self._text,
                placeholder="media:code lang:ko tag:x path:docs/** since:2026-01-01",
                compact=True,
                select_on_focus=False,
            )
            yield Static(f"words: {self._words}", id="keys")
            yield Static("", id="problem")
            yield FacetTable()

    def on_mount(self) -> None:
        table = self.query_one(FacetTable)
        table.can_focus = False
        table.show(self._facets, "nothing is indexed yet")
        self._tick()

    @on(Input.Changed)
    def _tick(self) -> None:
        text = self.query_one(Input).value
        table = self.query_one(FacetTable)
        table.ticked = frozenset(facet.token for facet in self._facets if facet.token in text)
        table.refresh()
        self.query_one("#problem", Static).update(_problem(text))

    @on(Input.Submitted)
    def _apply(self) -> None:
        text = self.query_one(Input).value
        if not _problem(text):
            self.dismiss(text)

    @on(ChoiceList.Opened)
    def action_toggle_facet(self) -> None:
        """Put the chosen value into the line, or take it out."""
        facet = self.query_one(FacetTable).row
        if facet is not None:
            field = self.query_one(Input)
            field.value = toggled(field.value, facet)
            field.cursor_position = len(field.value)

    def action_cancel(self) -> None:
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        self.query_one(FacetTable).chosen += by

    def action_page(self, pages: int) -> None:
        self.query_one(FacetTable).page(pages)


def _problem(text: str) -> str:
    try:
        parse_filter(text)
    except KbError as error:
        return visible(f"{error}: {error.hint}" if error.hint else str(error))
    return ""
