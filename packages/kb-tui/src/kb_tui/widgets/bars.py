"""The lines around a pane: mode and panes above, the query, state and keys below."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from kb_app.shown import count, steady, visible
from kb_core import __version__
from kb_core.media import SearchMode
from kb_tui._keys import PANES, Typing

__all__ = ["Field", "HintLine", "QueryLine", "StatusBar", "TopLine"]

_NO_CELL = "\u034f"
"""A mark that no terminal draws, and that has no width."""


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


class Field(Input):
    """A line to type in, which draws what a terminal would obey as pictures of one cell.

    What was pasted, or taken from a tag or from the name of a folder, stays as it is in ``value``.
    Several lines that are pasted are one.
    """

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()  # of several lines textual takes the first, and drops the others
        lines = event.text.splitlines()
        text = lines[0] if len(lines) == 1 else " ".join(filter(None, map(str.strip, lines)))
        self.replace(text, *self.selection)

    @property
    def _value(self) -> Any:  # noqa: ANN401 - of a library that is textual's, not ours
        text = super()._value
        text.plain = _drawn(self.value)
        return text

    def _position_to_cell(self, position: int) -> int:
        return Content(_drawn(self.value[:position])).cell_length


def _drawn(text: str) -> str:
    # One character for one: textual finds the cursor by its place in the value.
    return visible(steady(text, _NO_CELL).replace("\t", " "))


class QueryLine(Horizontal):
    """A field for the query, behind a label that says how it is searched for."""

    DEFAULT_CSS = """
    QueryLine { height: 1; background: $surface; }
    QueryLine > #mode { width: auto; padding: 0 1; text-style: bold; }
    QueryLine > Input { width: 1fr; }
    """

    def __init__(self, mode: SearchMode) -> None:
        super().__init__()
        self._mode = mode

    def compose(self) -> ComposeResult:
        yield Static(f"{self._mode}:", id="mode")
        # Coming back to the field goes on with the query; Ctrl-U begins another.
        yield Field(placeholder="search your documents", compact=True, select_on_focus=False)

    @property
    def text(self) -> str:
        """The query as it stands."""
        return self.query_one(Input).value

    def put(self, text: str) -> None:
        """Replace the query, without a search by itself."""
        field = self.query_one(Input)
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)

    def show_mode(self, mode: SearchMode) -> None:
        """Say how the query is searched for."""
        self.query_one("#mode", Static).update(f"{mode}:")


class StatusBar(Horizontal):
    """Version, pane, size of the knowledge base; to the right the ingest, and the state."""

    DEFAULT_CSS = """
    StatusBar { height: 1; background: $panel; color: $foreground; }
    StatusBar > Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    StatusBar > #about { width: 1fr; padding: 0 1; }
    StatusBar > #job { width: auto; padding: 0 1; text-style: bold; }
    StatusBar > #state { width: auto; max-width: 60%; padding: 0 1; text-style: bold; }
    """

    def __init__(self, pane: str, *, is_readonly: bool) -> None:
        super().__init__()
        self._pane = f"{pane} (read-only)" if is_readonly else pane
        self._count = ""

    def compose(self) -> ComposeResult:
        yield Static(self._about(), id="about")
        yield Static("", id="job")
        yield Static("ready", id="state")

    def show_size(self, documents: int, chunks: int) -> None:
        """Say how much there is to search."""
        self._count = f" │ {count(documents, 'document')}, {count(chunks, 'chunk')}"
        self.query_one("#about", Static).update(self._about())

    def show_state(self, state: str) -> None:
        """Say what is going on, or what the last action led to."""
        self.query_one("#state", Static).update(Content(visible(state)))

    def show_job(self, job: str) -> None:
        """Say how far the ingest in the background is."""
        self.query_one("#job", Static).update(Content(visible(job)))

    def _about(self) -> Content:
        return Content(f"kebab {__version__} │ {self._pane}{self._count}")


class HintLine(Static):
    """The keys that work now."""

    DEFAULT_CSS = """
    HintLine { height: 1; padding: 0 1; color: $foreground 75%;
               text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def show(self, keys: str) -> None:
        """Replace the hint."""
        self.update(Content(keys))
