"""What a person does at the terminal, and what they see."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.pilot import Pilot
from textual.widgets import Input, Static

from kb_tui.app import KbTui
from kb_tui.screens.search import SearchPane

if TYPE_CHECKING:
    from kb_app import KnowledgeBase

__all__ = ["app_of", "check_golden", "idle", "on_screen", "search", "shown", "until"]

_PATIENCE_S = 120.0
_SETTLED_S = 0.5


def app_of(kb: KnowledgeBase) -> KbTui:
    """Return the application over *kb*."""
    return KbTui(kb)


def on_screen(app: KbTui) -> str:
    """Return what is on the screen, one line a row."""
    rows = app.screen._compositor.render_strips()  # noqa: SLF001 - the one way to the text
    return "\n".join(row.text.rstrip() for row in rows) + "\n"


async def check_golden(pilot: Pilot[None], path: Path) -> None:
    """Wait for the screen to be as a committed text; KEBAB_UPDATE_GOLDEN=1 writes it anew.

    A popup is there before it is laid out, and what is drawn last comes when it can: what
    counts is the screen at the end.
    """
    app = pilot.app
    assert isinstance(app, KbTui)
    if os.environ.get("KEBAB_UPDATE_GOLDEN"):
        await pilot.pause(_SETTLED_S)
        path.parent.mkdir(exist_ok=True)
        path.write_text(on_screen(app), "utf-8")
    wanted = path.read_text("utf-8")
    with suppress(TimeoutError):
        await until(pilot, lambda: on_screen(app) == wanted)
    assert on_screen(app) == wanted


def shown(app: KbTui, selector: str) -> str:
    """Return the text of a label of the pane, perhaps behind a popup."""
    return str(app.pane.query_one(selector, Static).content)


async def until(pilot: Pilot[None], happened: Callable[[], bool]) -> None:
    """Let the application run until something is so."""
    await _until(happened)
    await pilot.pause()


async def idle(pilot: Pilot[None]) -> None:
    """Wait for the timer of the query, the workers and what their replies ask in turn."""
    app = pilot.app
    assert isinstance(app, KbTui)
    asked = None
    while asked != (asked := app.pane.questions_asked):
        await _until(lambda: not (isinstance(app.pane, SearchPane) and app.pane.is_about_to_search))
        await app.workers.wait_for_complete()
        await pilot.pause()


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not happened():
            await asyncio.sleep(0.005)


async def search(pilot: Pilot[None], text: str) -> None:
    """Put *text* into the query as one paste does, and search; a key press takes 50 ms here."""
    pilot.app.screen.query_one(Input).insert_text_at_cursor(text)
    await pilot.press("enter")
    await idle(pilot)
