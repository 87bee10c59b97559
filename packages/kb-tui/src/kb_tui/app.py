"""The application: its panes, what leads from one to another, and the end of it all."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import PurePath
from typing import Any, ClassVar

from textual import events, on
from textual.app import App, SuspendNotSupported, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandList, CommandPalette
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.logging import TextualHandler
from textual.screen import Screen
from textual.widgets import Input

from kb_app import KnowledgeBase
from kb_app.editors import FilePlace, open_command, way_out
from kb_core.errors import IoError, KbError
from kb_core.ingest import IngestReport
from kb_tui._keys import PANES
from kb_tui._pane import GoTo, InspectTarget, Pane, Shared
from kb_tui._runner import IngestRunner, SourceFollower, brief_outcome, outcome, summary
from kb_tui._terminal import (
    OpenPlace,
    ReadingOn,
    check_terminal,
    forget_exported_size,
    leave_on_signals,
    needs_terminal,
    redraw_on_resize,
    run_beside,
    run_editor,
)
from kb_tui._themes import DARK, LIGHT, theme_name
from kb_tui.popups import ErrorPopup
from kb_tui.screens.ask import AskPane
from kb_tui.screens.inspect import InspectPane, LeaveInspect
from kb_tui.screens.jobs import JobsPane
from kb_tui.screens.library import LibraryPane
from kb_tui.screens.search import SearchPane

__all__ = ["KbTui", "run"]

_PANES: tuple[type[Pane], ...] = (LibraryPane, SearchPane, AskPane, InspectPane, JobsPane)
_FIRST = "search"
_LOOK_EVERY_S = 0.2
"""How often a running ingest is looked at."""
_SWITCH_S = 0.0005
"""How long a thread that computes may make the screen's wait for the interpreter, at each
of the dozens of steps from a key to a frame. Python's own 5 ms add up to half a second."""
_TURN_S = 0.001
_TAKEN_S = 1.0
"""How long the next key waits for a field that does not take the last one, as it is closing."""
_LAST_WAIT_S = 60.0
"""How long leaving waits for the batch at hand; a killed ingest is healed by the next."""


class _Palette(CommandPalette):
    """Textual's, which ends the application where its list has no line to page through."""

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region.height:
            super()._action_command_list(action)


class KbTui(App[None]):
    """The terminal interface over one open knowledge base."""

    TITLE = "kebab"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True, system=True),
    ]
    # All at once: a sheet that comes with a screen has every other one parsed again.
    CSS_PATH: ClassVar[list[str | PurePath]] = [f"screens/{name}.tcss" for name in PANES]

    def __init__(self, kb: KnowledgeBase, named: Callable[[str], str] = str) -> None:
        super().__init__()
        self.runner = IngestRunner(kb, self._run_ended)
        self.follower = SourceFollower(kb, self._follower_told)
        self._shared = Shared(kb, kb.preferences(), self.runner, self.follower, named)
        self._panes = {pane.NAME: pane(self._shared) for pane in _PANES}
        self._origin = _FIRST
        self._is_leaving = False
        self._was_running = False
        self._switch_interval = sys.getswitchinterval()

    async def on_mount(self) -> None:
        sys.setswitchinterval(_SWITCH_S)
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = theme_name(self._shared.preferences.theme)
        for name, pane in self._panes.items():
            self.install_screen(pane, name)
        await self.push_screen(_FIRST)
        self._begin(_FIRST)
        self.set_interval(_LOOK_EVERY_S, self._look_at_ingest)
        if not self.is_headless:
            leave_on_signals(self._hang_up)
            redraw_on_resize(self._redraw)

    def _redraw(self) -> None:
        self.screen.refresh()

    def on_unmount(self) -> None:
        sys.setswitchinterval(self._switch_interval)
        self.follower.stop()

    # ---------------------------------------------------------------- keys

    async def on_event(self, event: events.Event) -> None:
        """Take one key after another, and none before the screen in sight is all there.

        Textual hands a key to the widget in focus and takes the next one, while what the
        first is bound to happens only when nobody on its way back wanted it: on a busy
        machine Ctrl-U would delete what was typed after it.
        """
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await super().on_event(event)
            return
        while not self.screen.is_mounted:
            await asyncio.sleep(_TURN_S)
        field = self.focused
        if isinstance(event, events.Key) and not (isinstance(field, Input) and event.is_printable):
            for goes_first in (True, False):
                if await self._check_bindings(event.key, priority=goes_first):
                    return
        await super().on_event(event)
        if isinstance(field, Input):
            await _has_taken(field)

    # ---------------------------------------------------------------- panes

    @property
    def pane(self) -> Pane:
        """The pane that is in sight, perhaps behind a popup."""
        shown = (screen for screen in reversed(self.screen_stack) if isinstance(screen, Pane))
        return next(shown, self._panes[_FIRST])

    @on(GoTo)
    async def _go_to(self, event: GoTo) -> None:
        if event.pane == "inspect" and not isinstance(self.pane, InspectPane):
            self._origin = self.pane.NAME
        await self._show(event.pane)
        self._begin(event.pane)

    @on(InspectTarget)
    async def _inspect(self, event: InspectTarget) -> None:
        self._origin = self.pane.NAME
        inspector = self._panes["inspect"]
        assert isinstance(inspector, InspectPane)  # noqa: S101 - by its name
        await self._show("inspect")
        self._begin("inspect")
        inspector.inspect(event.target)

    @on(LeaveInspect)
    async def _go_back(self) -> None:
        """Show the pane that led to Inspect as it was left."""
        await self._show(self._origin)
        self.pane.changed()
        self._draw_job(self.pane)

    async def _show(self, name: str) -> None:
        """Put a pane in sight, and wait until all of it is there to be drawn on."""
        if name != self.pane.NAME:
            await self.switch_screen(name)

    def _begin(self, name: str) -> None:
        pane = self._panes[name]
        pane.begin()
        pane.changed()
        self._draw_job(pane)

    def get_driver_class(self) -> type[Driver]:
        """Return what reads keys and draws."""
        driver = super().get_driver_class()
        return ReadingOn if driver is LinuxDriver else driver

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:  # noqa: ARG002
        """Yield what the palette offers: panes, what the pane can do, themes, quit."""
        for name in self._panes:
            yield SystemCommand(
                name.title(), f"Show the pane {name.title()}", partial(self._palette_go, name)
            )
        pane = self.pane
        for key in pane.keys:
            if key.command and key.action:
                does = partial(pane.run_action, key.action)
                yield SystemCommand(key.command, f"{key.does} ({key.shown})", does)
        yield SystemCommand("Keys", "Which keys work here (F1)", pane.action_help)
        yield SystemCommand("Theme", "Light, dark, and others", self.action_change_theme)
        yield SystemCommand("Quit", "Leave (q)", self.action_quit)

    def action_command_palette(self) -> None:
        """Show the palette."""
        if self.use_command_palette and not isinstance(self.screen, CommandPalette):
            self.push_screen(_Palette(id="--command-palette"))

    def _palette_go(self, name: str) -> None:
        self.post_message(GoTo(name))

    # ---------------------------------------------------------------- the ingest

    def _look_at_ingest(self) -> None:
        is_running = self.runner.is_running or self.follower.progress is not None
        if is_running or self._was_running:
            self._was_running = is_running
            self._draw_job(self.pane)

    def _draw_job(self, pane: Pane) -> None:
        if not pane.is_ready:
            return
        progress = self.runner.progress or self.follower.progress
        pane.show_job(self.runner.told if progress is None else summary(progress))

    def _run_ended(self, report: IngestReport | None, error: Exception | None) -> None:
        """Called on the run's thread."""
        with suppress(RuntimeError):  # the application is gone already
            self.call_later(self._show_ended, report, error)

    def _show_ended(self, report: IngestReport | None, error: Exception | None) -> None:
        if self._is_leaving:
            self.exit()
            return
        pane = self.pane
        if not pane.is_ready:
            return
        if report is not None:
            self.runner.told, self.runner.last = brief_outcome(report), outcome(report)
        self._draw_job(pane)
        pane.changed()
        if error is not None:
            pane.state(f"ingest failed: {getattr(error, 'code', 'internal')}")
            self.push_screen(ErrorPopup(error, self._shared.named))

    def _follower_told(self, report: IngestReport | None, error: Exception | None) -> None:
        """Called on the thread that follows the sources."""
        with suppress(RuntimeError):  # the application is gone already
            self.call_later(self._show_followed, report, error)

    def _show_followed(self, report: IngestReport | None, error: Exception | None) -> None:
        pane = self.pane
        if self._is_leaving or not pane.is_ready:
            return
        if report is not None and not self.runner.is_running:
            self.runner.told, self.runner.last = brief_outcome(report), outcome(report)
        self._draw_job(pane)
        pane.changed()
        if error is not None:
            pane.state(f"not following: {getattr(error, 'code', 'internal')}")
            self.push_screen(ErrorPopup(error, self._shared.named))

    # ---------------------------------------------------------------- the editor

    @on(OpenPlace)
    def _open(self, event: OpenPlace) -> None:
        """Give the terminal away until the editor ends; then everything is drawn anew."""
        try:
            command = open_command(event.place, os.environ)
            name = PurePath(command[0]).name
            if needs_terminal(event.place, os.environ):
                code = self._edit(command)
                self.refresh(layout=True)
                self.pane.state(f"back from {name}{_ended(code)}")
            else:
                run_beside(command, partial(self._viewer_failed, event.place, name))
                self.pane.state(f"opened with {name}")
        except KbError as error:
            self.push_screen(ErrorPopup(error, self._shared.named))

    def _viewer_failed(self, place: FilePlace, name: str, code: int) -> None:
        """Called on a thread, of a viewer that ended at once."""
        failure = IoError(f"{name!r} opened nothing: it ended with {code}", hint=way_out(place))
        with suppress(RuntimeError):  # the application is gone already
            self.call_later(self.push_screen, ErrorPopup(failure, self._shared.named))

    def _edit(self, command: list[str]) -> int:
        """Run an editor in the terminal, and take the terminal back however that ends."""
        failure: KbError | None = None
        code = 0
        try:
            with self.suspend():  # what is raised in it would leave the terminal given away
                try:
                    code = run_editor(command)
                except KbError as error:
                    failure = error
        except SuspendNotSupported as error:
            raise IoError(
                "this terminal cannot be given to an editor",
                hint="y copies the citation; 'kebab cite --open' opens it",
            ) from error
        if failure is not None:
            raise failure
        return code

    # ---------------------------------------------------------------- the end

    async def action_quit(self) -> None:
        """Leave; a running ingest finishes its batch first, or is dropped the second time."""
        if not self.runner.is_running:
            self.exit()
        elif self._is_leaving:
            self.runner.abandon()
            self.exit()
        else:
            self._is_leaving = True
            self.runner.stop()
            self.pane.state("leaving after the batch; q again: at once")

    async def action_interrupt(self) -> None:
        """Copy what is selected, in a field or with the mouse; else leave, as q does."""
        field = self.screen.focused
        selected = field.selected_text if isinstance(field, Input) else ""
        selected = selected or self.screen.get_selected_text() or ""
        if selected:
            self.copy_to_clipboard(selected)
            self.pane.state("copied what was selected")
        else:
            await self.action_quit()

    def _hang_up(self) -> None:
        """Leave without a word: the ingest ends at its next event, whole documents stay."""
        self.runner.abandon()
        self.exit()


def _ended(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f", which {signal.Signals(-code).name} ended"
    return f", which ended with {code}" if code else ""


async def _has_taken(field: Input) -> None:
    """Wait until *field* has dealt with what it was handed."""
    taken = asyncio.Event()
    if field.call_later(taken.set):
        with suppress(TimeoutError):
            await asyncio.wait_for(taken.wait(), _TAKEN_S)


def run(kb: KnowledgeBase, *, named: Callable[[str], str] = str) -> None:
    """Show the knowledge base until the person quits; ``InvalidInput`` without a terminal.

    *named* returns a text with its commands as they are for *kb*, such as with ``--config``.
    """
    check_terminal(os.environ)
    forget_exported_size()
    app = KbTui(kb, named)
    with _log_off_screen():
        try:
            app.run()
        finally:
            app.runner.abandon()
            app.follower.stop()  # however it ended
            app.runner.wait(_LAST_WAIT_S)
            app.follower.wait(_LAST_WAIT_S)


@contextmanager
def _log_off_screen() -> Generator[None]:
    """Send log lines, which would land in the middle of the screen, to textual's console."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, [TextualHandler()]
    try:
        yield
    finally:
        root.handlers = handlers
