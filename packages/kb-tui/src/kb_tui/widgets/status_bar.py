"""The two lines at the bottom: what is the case, and which keys work now."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from kb_app.shown import count, visible
from kb_core import __version__

__all__ = ["HintLine", "StatusBar"]


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
