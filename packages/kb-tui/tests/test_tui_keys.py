"""Every key of every pane does what the table in the guide says, in the mode that it says.

One case a key: go to the pane, press what leads there, press the key, look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from textual import events
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input

from kb_core.answers import AskQuery
from kb_tui._filters import FilterPopup
from kb_tui._keys import ASK, INSPECT, JOBS, LIBRARY, PANES, SEARCH, Key
from kb_tui._trace import TracePopup
from kb_tui.app import KbTui
from kb_tui.popups import AddFolder, CheatSheet, Chooser, QueryHistory
from kb_tui.screens.inspect import FoldList
from kb_tui.screens.search import SearchPane
from kb_tui.testing import (
    CODE,
    KOREAN,
    PAPER,
    TuiKnowledgeBase,
    app_of,
    comes_true,
    idle,
    on_screen,
    shown,
    until,
)
from kb_tui.widgets.hit_list import HitList
from kb_tui.widgets.lines import Lines
from kb_tui.widgets.lists import ChoiceList

TABLES = {"library": LIBRARY, "search": SEARCH, "ask": ASK, "inspect": INSPECT, "jobs": JOBS}
LONG = tuple(replace(PAPER, rank=n, chunk_id=f"d{n:031}") for n in range(1, 13))


@dataclass(frozen=True)
class Seen:
    """What a case looks at."""

    app: KbTui
    kb: TuiKnowledgeBase

    @property
    def pane(self) -> str:
        return self.app.pane.NAME

    @property
    def chosen(self) -> int:
        return next(each for each in self.app.pane.query(ChoiceList) if each.can_focus).chosen

    @property
    def scrolled(self) -> float:
        return self.app.pane.query_one(Lines).scroll_offset.y

    @property
    def state(self) -> str:
        return shown(self.app, "#state")

    @property
    def value(self) -> str:
        return self.app.pane.query_one(Input).value


Look = Callable[[Seen], Any]

_TO = {"library": "1", "search": "2", "ask": "3", "inspect": "4", "jobs": "5"}
_INSPECTED = ["1", "enter"]
_SEARCHED = ["2", *"x", "enter", "escape"]
_AGAIN = [*_SEARCHED, "i", "y", "enter", "escape"]
_ASKED = ["3", *"why", "enter", "escape"]
_RUNNING = ["1", "r"]
_ASK_NOTHING = {"escape", "home", "G", "j", "k", "c", "f1", "shift+home", *"wxy"}


def on_popup(kind: type) -> Look:
    return lambda seen: isinstance(seen.app.screen, kind)


def on_pane(name: str) -> Look:
    return lambda seen: seen.pane == name


EVERYWHERE: list[tuple[str, list[str], str, Look]] = [
    ("F1 in NORMAL", ["1"], "f1", on_popup(CheatSheet)),
    ("F1 in INSERT", ["2"], "f1", on_popup(CheatSheet)),
    ("? in NORMAL", ["1"], "?", on_popup(CheatSheet)),
    ("? in INSERT is text", ["2"], "?", lambda s: s.value == "?"),
    ("Ctrl-P in NORMAL", ["1"], "ctrl+p", on_popup(CommandPalette)),
    ("Ctrl-P in INSERT", ["2"], "ctrl+p", on_popup(CommandPalette)),
    ("Tab in NORMAL", ["1"], "tab", on_pane("search")),
    ("Tab in INSERT", ["2"], "tab", on_pane("ask")),
    ("Tab goes round", ["5"], "tab", on_pane("library")),
    ("Shift-Tab", ["1"], "shift+tab", on_pane("jobs")),
    ("1", ["5"], "1", on_pane("library")),
    ("2", ["5"], "2", on_pane("search")),
    ("3", ["5"], "3", on_pane("ask")),
    ("4", ["5"], "4", on_pane("inspect")),
    ("5", ["1"], "5", on_pane("jobs")),
    ("1 in INSERT is text", ["2"], "1", lambda s: (s.pane, s.value) == ("search", "1")),
    ("q in NORMAL", ["1"], "q", lambda s: not s.app.is_running),
    ("q in INSERT is text", ["2"], "q", lambda s: s.app.is_running and s.value == "q"),
    ("Ctrl-Q in INSERT", ["2"], "ctrl+q", lambda s: not s.app.is_running),
    ("Ctrl-C in INSERT", ["2", "x"], "ctrl+c", lambda s: not s.app.is_running),
    ("Ctrl-C in a popup", ["1", "f1"], "ctrl+c", lambda s: not s.app.is_running),
    (
        "Ctrl-C copies what is selected",
        ["2", *"xy", "shift+home"],
        "ctrl+c",
        lambda s: s.app.clipboard == "xy" and s.app.is_running,
    ),
    ("i enters INSERT", ["2", "escape"], "i", lambda s: shown(s.app, "#typing") == "INSERT"),
    ("Esc leaves INSERT", ["2"], "escape", lambda s: shown(s.app, "#typing") == "NORMAL"),
    ("Esc closes a popup", ["1", "f1"], "escape", lambda s: s.app.screen is s.app.pane),
]
OF_LIBRARY: list[tuple[str, list[str], str, Look]] = [
    ("j", ["1", "g"], "j", lambda s: s.chosen == 1),
    ("down", ["1", "g"], "down", lambda s: s.chosen == 1),
    ("k", ["1", "G"], "k", lambda s: s.chosen == 1),
    ("up", ["1", "G"], "up", lambda s: s.chosen == 1),
    ("G", ["1", "g"], "G", lambda s: s.chosen == 2),
    ("g", ["1", "G"], "g", lambda s: s.chosen == 0),
    ("f", ["1"], "f", on_popup(FilterPopup)),
    ("/", ["1"], "/", lambda s: s.pane == "search" and shown(s.app, "#typing") == "INSERT"),
    (
        "Enter",
        ["1", "G"],
        "enter",
        lambda s: s.pane == "inspect" and "노트/검색.md" in on_screen(s.app),
    ),
    ("r", ["1"], "r", lambda s: s.kb.ingests == 1),
    ("Esc cancels", _RUNNING, "escape", lambda s: s.kb.stop.is_set()),
    ("a", ["1"], "a", on_popup(AddFolder)),
    ("l", ["1"], "l", lambda s: s.app.pane.query_one(ContentSwitcher).current == "ledger"),
]
OF_SEARCH: list[tuple[str, list[str], str, Look]] = [
    ("Enter in INSERT", ["2", *"xy"], "enter", lambda s: len(s.kb.queries) == 2),
    ("Enter in NORMAL", _SEARCHED, "enter", lambda s: len(s.kb.queries) == 2),
    ("m", _SEARCHED, "m", lambda s: s.kb.queries[-1].mode == "lexical"),
    ("j", _SEARCHED, "j", lambda s: s.chosen == 1),
    ("k", [*_SEARCHED, "j", "j"], "k", lambda s: s.chosen == 1),
    ("o", _SEARCHED, "o", lambda s: s.pane == "inspect" and "Chunk 1 of" in on_screen(s.app)),
    ("y", _SEARCHED, "y", lambda s: s.app.clipboard == "노트/검색.md#L3-L7"),
    ("t", _SEARCHED, "t", on_popup(TracePopup)),
    ("n", _SEARCHED, "n", lambda s: s.app.pane.query_one(HitList).count == 4),
    ("f", _SEARCHED, "f", on_popup(FilterPopup)),
    ("Ctrl-R", _SEARCHED, "ctrl+r", on_popup(QueryHistory)),
    ("Ctrl-R in INSERT", ["2", "x"], "ctrl+r", on_popup(QueryHistory)),
    ("Enter takes a query", [*_AGAIN, "ctrl+r", "j"], "enter", lambda s: s.value == "x"),
    ("a", _SEARCHED, "a", on_popup(AddFolder)),
    ("r", _SEARCHED, "r", lambda s: s.kb.ingests == 1),
]
_NEW = AskQuery(text="x", conversation="new")
OF_ASK: list[tuple[str, list[str], str, Look]] = [
    (
        "Enter",
        ["3", "x"],
        "enter",
        lambda s: ("answer", AskQuery(text="x", conversation="new")) in s.kb.asked,
    ),
    ("e", _ASKED, "e", lambda s: "why: score 0.87" in on_screen(s.app)),
    ("G", [*_ASKED, "home"], "G", lambda s: s.scrolled > 0 and s.app.pane.query_one(Lines).follow),
    ("Home", [*_ASKED, "G"], "home", lambda s: s.scrolled == 0),
    ("k leaves the tail", _ASKED, "k", lambda s: not s.app.pane.query_one(Lines).follow),
    ("j", [*_ASKED, "home"], "j", lambda s: s.scrolled == 1),
    ("PgDn", [*_ASKED, "home"], "pagedown", lambda s: s.scrolled > 1),
    ("PgUp", _ASKED, "pageup", lambda s: not s.app.pane.query_one(Lines).follow),
    ("n", _ASKED, "n", lambda s: "▌[2]" in on_screen(s.app)),
    ("p", [*_ASKED, "n"], "p", lambda s: "▌[1]" in on_screen(s.app)),
    ("o", [*_ASKED, "n"], "o", lambda s: "Chunk 1 of src/parse.py" in on_screen(s.app)),
    ("y", [*_ASKED, "n"], "y", lambda s: s.app.clipboard == "src/parse.py#L1-L2"),
    ("g", _ASKED, "g", lambda s: ("locate", KOREAN.citation.uri, "notes") in s.kb.asked),
    ("Y", _ASKED, "Y", lambda s: s.app.clipboard.startswith("## why\n\n")),
    ("c", ["3", "escape"], "c", on_popup(Chooser)),
    ("d warns", _ASKED, "d", lambda s: "press d again" in s.state),
    ("d", [*_ASKED, "d"], "d", lambda s: ("delete_conversations", ["trip"]) in s.kb.asked),
    ("Ctrl-L", _ASKED, "ctrl+l", lambda s: "Ask a question" in on_screen(s.app)),
]
OF_INSPECT: list[tuple[str, list[str], str, Look]] = [
    ("j", _INSPECTED, "j", lambda s: s.chosen == 1),
    ("k", [*_INSPECTED, "j", "j"], "k", lambda s: s.chosen == 1),
    ("PgDn", _INSPECTED, "pagedown", lambda s: s.chosen > 5),
    (
        "PgUp",
        [*_INSPECTED, "G"],
        "pageup",
        lambda s: s.chosen < s.app.pane.query_one(FoldList).count - 5,
    ),
    ("c folds", _INSPECTED, "c", lambda s: "▸ About" in on_screen(s.app)),
    ("c unfolds", [*_INSPECTED, "c"], "c", lambda s: "▾ About" in on_screen(s.app)),
    ("Esc", _INSPECTED, "escape", on_pane("library")),
]
OF_JOBS: list[tuple[str, list[str], str, Look]] = [
    ("r", ["5"], "r", lambda s: s.kb.ingests == 1),
    ("w", ["5"], "w", lambda s: ("watch", True, None) in s.kb.asked),
    ("Esc cancels", ["5", "r"], "escape", lambda s: s.kb.stop.is_set()),
]
Case = tuple[str, list[str], str, Look]
PANES_OF_CASES: dict[str, list[Case]] = {
    "everywhere": EVERYWHERE,
    "library": OF_LIBRARY,
    "search": OF_SEARCH,
    "ask": OF_ASK,
    "inspect": OF_INSPECT,
    "jobs": OF_JOBS,
}
ALONE = {"q in NORMAL", "Ctrl-Q in INSERT", "Ctrl-C in INSERT", "Ctrl-C in a popup", "c unfolds"}
"""Each has an application of its own: they end it, or want what is remembered as it was."""


def groups() -> Iterator[Any]:
    """Yield the cases that one application has: it costs more to open than a key to press."""
    for pane, cases in PANES_OF_CASES.items():
        yield pytest.param([case for case in cases if case[0] not in ALONE], id=pane)
        for case in cases:
            if case[0] in ALONE:
                yield pytest.param([case], id=f"{pane}: {case[0]}")


@pytest.mark.parametrize("cases", [*groups()])
async def test_a_key_does_what_the_table_says(cases: list[Case]) -> None:
    kb = TuiKnowledgeBase(hits=(*TuiKnowledgeBase().hits,))
    kb.more = LONG[:1]
    release = threading.Event()
    kb.events = [lambda: release.wait(120)]
    app = app_of(kb)
    try:
        async with app.run_test(size=(80, 20)) as pilot:
            await idle(pilot)
            for name, before, key, look in cases:
                await pilot.press("escape")
                await press(pilot, before)
                assert not look(Seen(app, kb)), f"{name}: so before the key was pressed"
                await press(pilot, [key])

                assert await comes_true(partial(look, Seen(app, kb))), name
                release.set()
                if app.is_running:
                    await begin_again(pilot, kb)
                    release.clear()
    finally:
        release.set()


async def begin_again(pilot: Pilot[None], kb: TuiKnowledgeBase) -> None:
    """Leave what a case opened, typed, chose, copied and asked for."""
    app = pilot.app
    assert isinstance(app, KbTui)
    while app.screen is not app.pane:
        app.pop_screen()
        await pilot.pause()
    await until(pilot, lambda: not app.runner.is_running)
    for field in app.pane.query(Input):
        field.value = ""
    await idle(pilot)
    app.copy_to_clipboard("")
    kb.asked.clear()
    kb.stop = threading.Event()


async def press(pilot: Pilot[None], keys: list[str]) -> None:
    """Press keys, and after each that asks for something wait for what comes of it."""
    for number, key in enumerate(keys, start=1):
        await pilot.press(key)
        is_asking = number == len(keys) or key not in _ASK_NOTHING
        if is_asking and not _is_over(pilot):
            await idle(pilot)


def _is_over(pilot: Pilot[None]) -> bool:
    return not pilot.app.is_running or isinstance(pilot.app.screen, CommandPalette)


@pytest.fixture(autouse=True)
def _no_search_of_half_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchPane, "DELAY_S", 1.0)
    monkeypatch.setenv("PATH", "/nonexistent")  # nothing opens a file, whatever is installed


@pytest.mark.parametrize("key", ["pageup", "pagedown", "home", "end", "up", "down"])
async def test_the_palette_without_room_for_a_line_takes_any_key(key: str) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 2)) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        listed = app.screen.query_one(CommandList)
        await until(pilot, lambda: listed.option_count > 0)
        await pilot.press(key)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CommandPalette))


@pytest.mark.parametrize("pane", PANES)
def test_no_two_actions_share_a_key_in_one_mode(pane: str) -> None:
    taken: dict[tuple[str, bool], str] = {}
    for key in TABLES[pane]:
        for name in key.names.split(","):
            for insert in (True, False):
                if key.action and key.works_in("INSERT" if insert else "NORMAL"):
                    assert taken.setdefault((name, insert), key.action) == key.action


@pytest.mark.parametrize("pane", PANES)
def test_no_letter_is_a_command_while_typing(pane: str) -> None:
    letters = [key for key in TABLES[pane] if _is_text(key) and key.action]

    assert letters
    assert not any(key.insert for key in letters)


def _is_text(key: Key) -> bool:
    return any(
        len(name) == 1 or name in {"question_mark", "slash"} for name in key.names.split(",")
    )


async def test_esc_in_inspect_gives_the_search_back_as_it_was() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await press(pilot, ["x", "enter", "escape", "j"])
        before = on_screen(app)
        await press(pilot, ["o", "j", "escape"])

        assert on_screen(app) == before


async def test_enter_in_inspect_follows_and_esc_goes_back_step_by_step() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 40)) as pilot:
        await idle(pilot)
        await press(pilot, ["x", "enter", "escape", "o"])
        await press(pilot, [*"Gkk", "enter"])  # the last neighbour
        assert "Chunk 2 of 노트/검색.md" in on_screen(app)
        await press(pilot, ["escape"])
        assert "Chunk 1 of 노트/검색.md" in on_screen(app)
        await press(pilot, ["escape"])

        assert app.pane.NAME == "search"


async def test_enter_on_a_link_goes_to_the_other_document_and_back_by_the_link_there() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(140, 40)) as pilot:
        await idle(pilot)
        await press(pilot, ["escape", "1", "G", "enter"])
        assert "Document 노트/검색.md" in on_screen(app)
        await press(pilot, ["G", "enter"])
        assert "Document papers/[rrf].pdf" in on_screen(app)
        await press(pilot, ["G", "enter"])
        assert "Document 노트/검색.md" in on_screen(app)
        await press(pilot, ["G", *"kkk", "enter"])

        assert "this row leads nowhere" in on_screen(app)


async def test_g_opens_the_citation_of_the_chosen_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headless there is no terminal to give away; the command and the place are what counts."""
    ran: list[list[str]] = []

    def edit(command: list[str]) -> int:
        ran.append(command)
        return 0

    monkeypatch.setenv("VISUAL", "vim -u NONE")
    monkeypatch.setattr("kb_tui.app.run_editor", edit)
    monkeypatch.setattr(KbTui, "suspend", lambda _app: nullcontext())
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await press(pilot, ["x", "enter", "escape"])
        before = on_screen(app)
        await press(pilot, ["g"])

        assert ran == [["vim", "-u", "NONE", "+3", "/notes/검색.md"]]
        assert on_screen(app).splitlines()[:-2] == before.splitlines()[:-2]
        assert shown(app, "#state") == "back from vim"


@pytest.mark.parametrize("key", ["o", "g", "y", "t", "n"])
async def test_keys_of_a_hit_say_so_where_there_is_none(key: str) -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await press(pilot, ["escape", key])

        assert app.screen is app.pane
        assert kb.queries == []
        assert shown(app, "#state") in {
            "no hit is chosen",
            "nothing to trace: there are no hits",
            "no hits yet",
        }


async def test_a_click_goes_to_a_pane_chooses_a_row_and_a_second_one_inspects() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.click("#panes", offset=(2, 0))
        await idle(pilot)
        assert app.pane.NAME == "library"
        await pilot.click("#documents", offset=(10, 4))
        assert app.pane.query(ChoiceList).first().chosen == 2
        await pilot.click("#documents", offset=(10, 3), times=2)
        await idle(pilot)

        assert app.pane.NAME == "inspect"
        assert CODE.doc_path in on_screen(app)


def at_once(app: KbTui, *keys: str) -> None:
    """Press keys faster than anything can be done about them."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("a", "ctrl+u", "b", "c"), "bc"),
        (("a", "b", "left", "backspace", "c"), "cb"),
        (("a", "escape", "j", "k", "i", "b"), "ab"),
        (("escape", "i", "a"), "a"),
    ],
)
async def test_keys_that_come_at_once_are_taken_one_after_another(
    keys: tuple[str, ...], value: str
) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        at_once(app, *keys)
        await pilot.pause()
        await idle(pilot)

        assert app.pane.query_one(Input).value == value


@pytest.mark.parametrize(("key", "popup"), [("f", FilterPopup), ("a", AddFolder)])
async def test_what_is_typed_right_after_a_key_that_opens_a_box_is_in_the_box(
    key: str, popup: type
) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        at_once(app, "escape", key, "ctrl+u", *"tag")
        await until(pilot, lambda: isinstance(app.screen, popup))
        await until(pilot, lambda: [f.value for f in app.screen.query(Input)] == ["tag"])


async def test_a_box_that_opens_by_itself_takes_every_key_from_its_beginning() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        app.pane.action_add()
        at_once(app, *"notes")
        await until(pilot, lambda: [f.value for f in app.screen.query(Input)] == ["~/notes"])
