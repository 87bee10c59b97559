"""The query line: which mode, and the query itself."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from kb_core.media import SearchMode

__all__ = ["QueryLine"]


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
        yield Input(placeholder="search your documents", compact=True, select_on_focus=False)

    @property
    def text(self) -> str:
        """The query as it stands."""
        return self.query_one(Input).value

    def show_mode(self, mode: SearchMode) -> None:
        """Say how the query is searched for."""
        self.query_one("#mode", Static).update(f"{mode}:")
