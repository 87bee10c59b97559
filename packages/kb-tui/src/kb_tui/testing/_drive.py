"""What a person does at the terminal, and what they see."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import textual.app
import textual.pilot
from textual._context import active_app
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widgets import Input, Static
from textual.worker import WorkerCancelled

from kb_tui.app import KbTui
from kb_tui.screens.search import SearchPane

if TYPE_CHECKING:
    from kb_app import KnowledgeBase

__all__ = [
    "app_of",
    "check_golden",
    "comes_true",
    "has_drawn",
    "idle",
    "on_screen",
    "search",
    "shown",
    "until",
]

_PATIENCE_S = 120.0
_SETTLED_S = 0.5


_TURNS = 2_000
"""Of the event loop, after which what still waits for something is left to it."""
_QUIET_TURNS = 3


async def _settle(min_sleep: float = 0, max_sleep: float = 1) -> None:  # noqa: ARG001 - textual's
    """Let the application run until no message is under way and all is drawn.

    Textual's pilot looks for a process that was idle for 20 ms instead, twice a key: most of
    the time of a test, and on a busy machine no sign of anything.
    """
    app = active_app.get()
    quiet = 0
    for _ in range(_TURNS):
        await asyncio.sleep(0)
        quiet = 0 if _is_busy(app) else quiet + 1
        if quiet == _QUIET_TURNS:
            return


def _is_busy(app: textual.app.App[object]) -> bool:
    """Say whether somebody has something to do; draw what is to be drawn when nobody has.

    Half of what these tests cost is drawing; a terminal is drawn once in a sixtieth of a second.
    """
    if _has_messages(app):
        return True
    screen = app.screen
    if screen._layout_required or screen._dirty_widgets or screen._repaint_required:  # noqa: SLF001
        screen._on_timer_update()  # noqa: SLF001 - else after its sixtieth of a second
    return _has_messages(app)


def _has_messages(app: textual.app.App[object]) -> bool:
    pumps: list[MessagePump] = [app, *app.screen.walk_children(with_self=True)]
    return any(pump.message_queue_size or pump._next_callbacks for pump in pumps)  # noqa: SLF001


for _module in (textual.app, textual.pilot):
    setattr(_module, "wait_for_idle", _settle)  # noqa: B010 - they do not export it


def app_of(kb: KnowledgeBase, named: Callable[[str], str] = str) -> KbTui:
    """Return the application over *kb*, the commands that it tells *named*."""
    return KbTui(kb, named)


def on_screen(app: KbTui) -> str:
    """Return what is on the screen, one line a row."""
    rows = app.screen._compositor.render_strips()  # noqa: SLF001 - the one way to the text
    return "\n".join(row.text.rstrip() for row in rows) + "\n"


def has_drawn(app: KbTui, size: tuple[int, int]) -> bool:
    """Say whether the screen is laid out in so many columns and rows, and no row is wider."""
    columns, rows = size
    drawn = app.screen._compositor.render_strips()  # noqa: SLF001 - as above
    return len(drawn) == rows and {row.cell_length for row in drawn} == {columns}


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
    await comes_true(lambda: on_screen(app) == wanted)
    assert on_screen(app) == wanted


def shown(app: KbTui, selector: str) -> str:
    """Return the text of a label of the pane, perhaps behind a popup."""
    return str(app.pane.query_one(selector, Static).content)


async def until(pilot: Pilot[None], happened: Callable[[], bool]) -> None:
    """Let the application run until something is so."""
    await _until(happened)
    await pilot.pause()


async def comes_true(happened: Callable[[], object]) -> bool:
    """Wait until something is so, also once the application has ended; say whether it came.

    What a thread of its own does with a key, an ingest for one, has no worker to wait for.
    """
    with suppress(TimeoutError):
        await _until(happened)
    return bool(happened())


async def _workers(pilot: Pilot[None]) -> None:
    """Wait for all workers; one that was cancelled has another of its kind in its place."""
    while True:
        try:
            await pilot.app.workers.wait_for_complete()
        except WorkerCancelled:
            await pilot.pause()
        else:
            return


async def idle(pilot: Pilot[None]) -> None:
    """Wait for the timer of the query, the workers and what their replies ask in turn."""
    app = pilot.app
    assert isinstance(app, KbTui)
    asked = None
    while asked != (asked := app.pane.questions_asked):
        await _until(lambda: not (isinstance(app.pane, SearchPane) and app.pane.is_about_to_search))
        await _workers(pilot)
        await pilot.pause()


async def _until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not happened():
            await asyncio.sleep(0.005)


async def search(pilot: Pilot[None], text: str) -> None:
    """Put *text* into the query as one paste does, and search; a key press takes 50 ms here."""
    pilot.app.screen.query_one(Input).insert_text_at_cursor(text)
    await pilot.press("enter")
    await idle(pilot)
