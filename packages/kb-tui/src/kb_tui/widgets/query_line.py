"""The query line: are keys text or commands, which mode, and the query itself."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from kb_core.media import SearchMode
from kb_tui._keys import Typing

__all__ = ["QueryLine"]


class QueryLine(Horizontal):
    """A field for the query, behind two labels that say how it is taken.

    The typing mode is where the focus is: INSERT while the field has it, so that a
    letter can never be taken for a command, NORMAL otherwise.
    """

    DEFAULT_CSS = """
    QueryLine { height: 1; background: $panel; }
    QueryLine > #typing { width: 8; padding: 0 1; text-style: bold reverse; }
    QueryLine > #mode { width: auto; padding: 0 1; text-style: bold; }
    QueryLine > Input { width: 1fr; }
    """

    def __init__(self, mode: SearchMode) -> None:
        super().__init__()
        self._mode = mode

    def compose(self) -> ComposeResult:
        yield Static("INSERT", id="typing")
        yield Static(f"{self._mode}:", id="mode")
        # Coming back to the field goes on with the query; Ctrl-U begins another.
        yield Input(placeholder="search your documents", compact=True, select_on_focus=False)

    @property
    def text(self) -> str:
        """The query as it stands."""
        return self.query_one(Input).value

    @property
    def typing(self) -> Typing:
        """Whether keys write into the field, or do something."""
        return "INSERT" if self.query_one(Input).has_focus else "NORMAL"

    def show_typing(self) -> None:
        """Bring the label up to date."""
        self.query_one("#typing", Static).update(self.typing)

    def show_mode(self, mode: SearchMode) -> None:
        """Say how the query is searched for."""
        self.query_one("#mode", Static).update(f"{mode}:")

    def start_typing(self) -> None:
        """Give the field the focus."""
        self.query_one(Input).focus()
