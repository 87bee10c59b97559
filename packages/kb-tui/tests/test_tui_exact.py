"""Exact text in the terminal: a pattern, its lines, and what can be done with one of them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from kb_tui._exact import ExactPopup, MatchList
from kb_tui.app import KbTui
from kb_tui.screens.search import SearchPane
from kb_tui.testing import TuiKnowledgeBase, app_of, check_golden, idle, on_screen, search, until

GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchPane, "DELAY_S", 5.0)


async def look_for(pilot: Pilot[None], pattern: str) -> ExactPopup:
    """Open the popup from a query, and wait for the passage around the first line."""
    await idle(pilot)
    await search(pilot, pattern)
    await pilot.press("escape", "x")
    await until(pilot, lambda: isinstance(pilot.app.screen, ExactPopup))
    popup = pilot.app.screen
    assert isinstance(popup, ExactPopup)
    await settled(pilot)
    return popup


async def settled(pilot: Pilot[None]) -> None:
    """Wait for what was asked, and for what its replies ask in turn."""
    popup = pilot.app.screen
    assert isinstance(popup, ExactPopup)
    asked = None
    while asked != (asked := popup.questions_asked):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


def lines_of(popup: ExactPopup) -> MatchList:
    return popup.query_one(MatchList)


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_lines_of_a_pattern_come_with_the_passage_around_them(size: tuple[int, int]) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=size) as pilot:
        await look_for(pilot, "parse|찾는다")
        width, height = size
        await check_golden(pilot, GOLDEN / f"exact_{width}x{height}.txt")
        before = on_screen(app)
        await pilot.press("j")
        await settled(pilot)

        assert on_screen(app) != before


async def test_the_query_is_the_pattern_and_the_filter_holds() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await idle(pilot)
        await pilot.press("escape", "f", *"media:code", "enter")
        await pilot.press("i")
        popup = await look_for(pilot, "parse|찾는다")

        assert popup.query_one(Input).value == "parse|찾는다"
        match = lines_of(popup).match
        assert match is not None
        assert (match.place, match.text) == ("src/parse.py:1", "parse")
        assert lines_of(popup).count == 1


async def test_a_pattern_that_is_none_is_told_and_can_be_mended() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        popup = await look_for(pilot, "parse(")
        assert "parse(" in on_screen(app)
        assert lines_of(popup).match is None
        assert "a ( that nothing closes" in on_screen(app)

        await pilot.press("backspace", "enter")
        await settled(pilot)
        assert lines_of(popup).count == 1

        await pilot.press("i", *"nowhere", "enter")
        await settled(pilot)
        assert "no line matches parsenowhere" in on_screen(app)


async def test_a_line_is_copied_inspected_and_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def edit(command: list[str]) -> int:
        ran.append(command)
        return 0

    monkeypatch.setenv("VISUAL", "vim")
    monkeypatch.setattr("kb_tui.app.run_editor", edit)
    monkeypatch.setattr(KbTui, "suspend", lambda _app: nullcontext())
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        popup = await look_for(pilot, "parse")
        await pilot.press("y")
        assert app.clipboard == lines_of(popup).match.uri  # type: ignore[union-attr]
        assert "copied src/parse.py#L1" in on_screen(app)
        await pilot.press("g")
        await settled(pilot)
        await until(pilot, lambda: bool(ran))
        assert ran == [["vim", "+3", "/notes/검색.md"]]
        await pilot.press("enter")
        await until(pilot, lambda: app.pane.NAME == "inspect")
        await idle(pilot)

        assert "src/parse.py" in on_screen(app)
        assert not isinstance(app.screen, ExactPopup)
        await pilot.press("escape")
        await until(pilot, lambda: app.pane.NAME == "search")


async def test_esc_gives_the_pane_back() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await look_for(pilot, "parse")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.pane)
        assert app.pane.NAME == "search"
