"""The line at the top: whether keys are text or commands, and the panes."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from kb_tui._keymaps import PANES
from kb_tui._keys import Typing

__all__ = ["TopLine"]


class TopLine(Horizontal):
    """Says the mode and the pane; a click on another pane's name goes there."""

    DEFAULT_CSS = """
    TopLine { height: 1; background: $panel; color: $foreground; }
    TopLine > #typing { width: 8; padding: 0 1; text-style: bold reverse; }
    TopLine > #panes { width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    class Picked(Message):
        """The name of a pane was clicked."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, pane: str) -> None:
        super().__init__()
        self._labels = [
            f"[{number} {name.title()}]" if name == pane else f" {number} {name.title()} "
            for number, name in enumerate(PANES, start=1)
        ]

    def compose(self) -> ComposeResult:
        yield Static("NORMAL", id="typing")
        yield Static(Content(" ".join(["", *self._labels])), id="panes")

    def show_typing(self, typing: Typing) -> None:
        """Say the mode."""
        self.query_one("#typing", Static).update(typing)

    def on_click(self, event: events.Click) -> None:
        if event.widget is None or event.widget.id != "panes":
            return
        at = event.screen_x - event.widget.region.x - 1
        for name, label in zip(PANES, self._labels, strict=True):
            if 0 <= at < len(label):
                self.post_message(self.Picked(name))
                return
            at -= len(label) + 1
