"""Popups: a box over the screen, closed by Esc, which gives the screen back as it was.

They take no other key, so that what is still being typed when one opens does nothing.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kb_core import wire
from kb_tui._text import visible

__all__ = ["CheatSheet", "ErrorPopup", "Popup"]


class Popup(ModalScreen[None]):
    """A box with a title and a text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", show=False)]
    DEFAULT_CSS = """
    Popup { align: center middle; background: $background 60%; }
    Popup > VerticalScroll {
        width: auto; min-width: 40; max-width: 76; height: auto; max-height: 90%;
        border: heavy $primary; padding: 1 2; background: $surface;
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
            box.border_subtitle = "Esc closes"
            yield Static(Content(self._text))


class CheatSheet(Popup):
    """The keys of a pane."""


class ErrorPopup(Popup):
    """What went wrong, under its stable code, and what can be done."""

    DEFAULT_CSS = "ErrorPopup > VerticalScroll { border: heavy $error; }"

    def __init__(self, error: BaseException) -> None:
        shown = wire.error(error)
        hint = f"\n\n{visible(shown['hint'])}" if shown["hint"] else ""
        super().__init__(f"Error: {shown['code']}", f"{visible(shown['message'])}{hint}")
