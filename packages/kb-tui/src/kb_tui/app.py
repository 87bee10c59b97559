"""The application: its screens and what is the same on all of them."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from textual.app import App
from textual.logging import TextualHandler

from kb_app import KnowledgeBase
from kb_tui.screens.search import SearchScreen

__all__ = ["KbTui", "run"]


class KbTui(App[None]):
    """The terminal interface over one open knowledge base."""

    TITLE = "kebab"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = True

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self._kb = kb

    def on_mount(self) -> None:
        self.push_screen(SearchScreen(self._kb))


def run(kb: KnowledgeBase) -> None:
    """Show the knowledge base until the person quits."""
    with _log_off_screen():
        KbTui(kb).run()


@contextmanager
def _log_off_screen() -> Generator[None]:
    """Send log lines, which would land in the middle of the screen, to textual's console."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, [TextualHandler()]
    try:
        yield
    finally:
        root.handlers = handlers
