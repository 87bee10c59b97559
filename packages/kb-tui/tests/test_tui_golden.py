"""Every pane and every popup, drawn: whole screens against committed text, in two sizes.

KEBAB_UPDATE_GOLDEN=1 writes them anew; the difference is to be read like code.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from kb_app.jobs import Jobs, PastRun, RunningJob
from kb_core.errors import NotIndexed
from kb_tui._keys import cheat_sheet
from kb_tui.app import KbTui
from kb_tui.popups import CheatSheet
from kb_tui.screens.search import SearchPane
from kb_tui.testing import TuiKnowledgeBase, app_of, check_golden, idle, on_screen, search, until

GOLDEN = Path(__file__).with_name("golden")
SIZES = [(80, 24), (140, 40)]
PAST = PastRun(
    kind="ingest",
    state="completed",
    started_at=1_770_000_000,
    finished_at=1_770_000_075,
    counts={"new": 12, "skipped": 3, "embedded": 96},
)
JOBS = Jobs(
    RunningJob(
        kind="ingest",
        pid=4711,
        started="2026-02-02T02:40:00Z",
        told={
            "event": "asset_phase",
            "phase": "parse",
            "doc_path": "노트/검색.md",
            "done": 30,
            "total": 120,
        },
    ),
    (PAST, PastRun(kind="embed", state="interrupted", started_at=1_760_000_000)),
)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No search of half a word; and times are those of a person in Seoul."""
    monkeypatch.setattr(SearchPane, "DELAY_S", 5.0)
    with monkeypatch.context() as there:
        there.setenv("TZ", "Asia/Seoul")
        time.tzset()
        yield
    time.tzset()


async def look(pilot: Pilot[None], name: str, *keys: str) -> None:
    """Press keys, and compare what is then on the screen."""
    app = pilot.app
    assert isinstance(app, KbTui)
    for key in keys:
        await pilot.press(key)
        await idle(pilot)
    width, height = app.size
    await check_golden(pilot, GOLDEN / f"{name}_{width}x{height}.txt")


async def back_to(pilot: Pilot[None], screen: str) -> None:
    """Wait for the screen to be what it was, but for the state in the last line but one."""
    app = pilot.app
    assert isinstance(app, KbTui)
    rows = screen.splitlines()
    await until(pilot, lambda: on_screen(app).splitlines()[:-2] == rows[:-2])


async def no_blinking(pilot: Pilot[None]) -> None:
    """The cursor is drawn by colour alone, so it is on no golden screen; keep it still anyway."""
    for field in pilot.app.screen.query(Input):
        field.cursor_blink = False


@pytest.mark.parametrize("size", SIZES)
async def test_search(size: tuple[int, int]) -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await no_blinking(pilot)
        await look(pilot, "search_start")
        await search(pilot, "검색은 어떻게 되나")
        await look(pilot, "search_hits")
        await look(pilot, "search_normal", "escape", "j")
        before = on_screen(app)
        await look(pilot, "search_help", "f1")
        await look(pilot, "search_filter", "escape", "f", "tab", "down", "down")
        await look(pilot, "search_filtered", "enter")
        kb.hits = ()
        await look(pilot, "search_nothing", "enter")
        assert before != on_screen(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_trace_of_hybrid_lexical_and_nothing(size: tuple[int, int]) -> None:
    """Esc gives the pane back exactly; only the state in the status bar has moved on."""
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await search(pilot, "fusion")
        await look(pilot, "search_fusion", "escape")
        for name, hits, keys in (
            ("trace_hybrid", kb.hits, []),
            ("trace_lexical", kb.hits, ["m"]),
            ("trace_nothing", (), ["m"]),
        ):
            kb.hits = hits
            for key in keys:
                await pilot.press(key)
                await idle(pilot)
            before = on_screen(app)
            await look(pilot, name, "t")
            assert on_screen(app) != before
            await pilot.press("j", "k", "x", "q", "escape")
            await back_to(pilot, before)


@pytest.mark.parametrize("size", SIZES)
async def test_library(size: tuple[int, int]) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await look(pilot, "library_documents", "escape", "1")
        await look(pilot, "library_ledger", "l", "j", "j")
        await look(pilot, "library_help", "f1")
        await look(pilot, "library_filter", "escape", "f", *"state:skipped")
        await look(pilot, "library_filtered", "enter")
        await look(pilot, "library_filter_wrong", "f", "space", *"colour:red")


@pytest.mark.parametrize("size", SIZES)
async def test_ask(size: tuple[int, int]) -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await look(pilot, "ask_start", "escape", "3")
        await look(pilot, "ask_evidence", *"why", "enter")
        await look(pilot, "ask_explained", "escape", "e", "home")
        await look(pilot, "ask_help", "f1")
        await look(pilot, "ask_conversations", "escape", "c")
        await look(pilot, "ask_kept", "enter")


@pytest.mark.parametrize("size", SIZES)
async def test_inspect(size: tuple[int, int]) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await look(pilot, "inspect_nothing", "escape", "4")
        await look(pilot, "inspect_document", "1", "G", "enter")
        await look(pilot, "inspect_folded", "c", "j", "j", "j")
        await look(pilot, "inspect_help", "f1")
        await pilot.press("escape", "2")
        await search(pilot, "x")
        await look(pilot, "inspect_chunk", "escape", "o")


@pytest.mark.parametrize("size", SIZES)
async def test_jobs(size: tuple[int, int]) -> None:
    kb = TuiKnowledgeBase()
    kb.jobs_told = JOBS
    app = app_of(kb)
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await look(pilot, "jobs", "escape", "5")
        await look(pilot, "jobs_help", "f1")


@pytest.mark.parametrize("size", SIZES)
async def test_an_error(size: tuple[int, int]) -> None:
    kb = TuiKnowledgeBase()
    error = NotIndexed("there is no knowledge base here yet", hint="run 'kebab ingest'")
    app = app_of(kb)
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        kb.before = partial(_fail, error)
        await search(pilot, "x")
        await look(pilot, "error")


def _fail(error: Exception, _call: str) -> None:
    raise error


@pytest.mark.parametrize("pane", "12345")
async def test_help_that_scrolls_shows_the_end_of_every_line(pane: str) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 12)) as pilot:
        await idle(pilot)
        await pilot.press("escape", pane, "f1")
        await until(pilot, lambda: isinstance(app.screen, CheatSheet))
        wanted = cheat_sheet(app.pane.keys, has_modes=app.pane.IS_TYPING).split("\n")
        seen = []
        for _ in wanted:
            seen.append(on_screen(app))
            await pilot.press("j")

        screens = "".join(seen)
        assert [line for line in wanted if f"┃  {line}" not in screens] == []


@pytest.mark.parametrize("size", SIZES)
async def test_the_command_palette(size: tuple[int, int]) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=size) as pilot:
        await idle(pilot)
        await pilot.press("escape", "ctrl+p", *"copy")
        await pilot.pause(0.5)

        screen = on_screen(app)
        assert "Copy the citation" in screen
        assert "copy the citation (y)" in screen


async def test_every_command_of_the_palette_says_what_it_does_and_by_which_key() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await idle(pilot)
        for pane in "12345":
            await pilot.press("escape", pane)
            offered = [*app.get_system_commands(app.screen)]
            told = [command.help for command in offered]

            assert not [said for said in told if said.startswith(" ") or "()" in said]
            assert len(set(told)) == len(told)


async def test_both_themes_show_the_same_text() -> None:
    """Every colour differs, and nothing that is told does."""
    told = []
    for theme in ("dark", "light"):
        kb = TuiKnowledgeBase(theme=theme)
        kb.jobs_told = JOBS
        app = app_of(kb)
        screens = []
        async with app.run_test(size=(80, 24)) as pilot:
            await idle(pilot)
            assert app.current_theme.dark is (theme == "dark")
            await search(pilot, "fusion")
            for key in ("escape", "t", "escape", "f", "escape", "o", "1", "l", "f1", "escape", "5"):
                await pilot.press(key)
                await idle(pilot)
                screens.append(on_screen(app))
        told.append(screens)

    assert told[0] == told[1]
