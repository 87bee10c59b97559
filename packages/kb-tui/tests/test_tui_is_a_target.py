"""What documents, models and names of files hold reaches no cell of any pane as it stands."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from kb_app.jobs import Jobs, PastRun, RunningJob
from kb_app.shown import is_hidden
from kb_core.citations import Citation, LineSpan
from kb_core.errors import NotIndexed
from kb_core.testing.documents import document, file_row
from kb_tui.app import KbTui
from kb_tui.screens.search import SearchPane
from kb_tui.testing import KOREAN, TuiKnowledgeBase, app_of, idle, on_screen, search

CONTROL = "\x1b]0;a\x07\x9b31m\x9d\x90\x9c\x7f\x08\x0b\r"
FORMAT = "\u202e\u2066\u200b\u2028\u00ad\ufeff\ue000\U000e0041"
EVIL = f"ev{CONTROL}il{FORMAT}"
LONE = "\udc9b"
"""A byte of a file name that is no UTF-8, as Python has it."""
PATH = f"notes/{EVIL}{LONE}.md"
TEXT = f"# The {EVIL}\n\nA walrus {EVIL} counts.\n\n| {EVIL} | b |\n|---|---|\n| c | `{EVIL}` |\n"


def hostile_world() -> TuiKnowledgeBase:
    """Return a knowledge base in which every text that anyone wrote is hostile."""
    made = document(
        PATH, TEXT,
        title=EVIL, tags=(EVIL,), lang=None,
        metadata={EVIL: EVIL},
        links=({"kind": "link", "target": EVIL, "text": EVIL, "start": 3},),
    )  # fmt: skip
    hit = replace(
        KOREAN,
        doc_id=made.doc_id, chunk_id=made.chunks[0].chunk_id, doc_path=PATH, title=EVIL,
        heading_path=(EVIL, EVIL), section_label=EVIL, snippet=TEXT,
        citation=Citation(PATH, LineSpan(1, 2)),
    )  # fmt: skip
    kb = TuiKnowledgeBase((hit,))
    kb.keep(made, files=(file_row(PATH, doc_id=made.doc_id), file_row(f"b{PATH}")))
    kb.counts |= {"source_breakdown": {EVIL: 3}, "tag_breakdown": {EVIL: 2}}
    kb.degraded = (f"without {EVIL}",)
    kb.pieces = [f"A model writes {EVIL} and **{EVIL}**."]
    told = {"event": "asset_phase", "phase": EVIL, "doc_path": PATH, "done": 1, "total": 2}
    kb.jobs_told = Jobs(
        RunningJob(kind=EVIL, pid=1, started="2026-02-02T02:40:00Z", told=told),
        (PastRun(kind="ingest", state=EVIL, started_at=1_770_000_000, counts={EVIL: 1}),),
    )
    return kb


def raw(text: str) -> set[str]:
    """Return what a terminal would obey, or show nothing for."""
    return {hex(ord(c)) for c in text if is_hidden(c) and c != "\n"}


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and look at the screen after each."""
    app = pilot.app
    assert isinstance(app, KbTui)
    for key in keys:
        await pilot.press(key)
        await idle(pilot)
        assert raw(on_screen(app)) == set(), (type(app.screen).__name__, key)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchPane, "DELAY_S", 5.0)


async def test_no_pane_or_popup_draws_what_a_terminal_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"evil{CONTROL}\u202e").mkdir()
    monkeypatch.chdir(tmp_path)
    kb = hostile_world()
    app = app_of(kb)
    async with app.run_test(size=(120, 36)) as pilot:
        await idle(pilot)
        await search(pilot, f"walrus {EVIL}")
        assert "walrus ev" in on_screen(app)
        await press(pilot, "ctrl+r", "escape")
        await press(pilot, "escape", "j", "t", "escape", "plus", "y", "o", "j", "j", "c")
        await press(pilot, "2", "escape", "x", "enter", "j", "escape", "escape")
        await press(pilot, "f", "down", "tab", "down", "tab", "down", "tab", "escape")
        await press(pilot, "1", "j", "l", "j", "f")
        app.screen.query_one(Input).value = f"since:[/red] tag:{EVIL}"
        await press(pilot, "down", "escape", "5")
        await press(pilot, "1", "a")
        app.screen.query_one(Input).value = f"{tmp_path}/"
        await press(pilot, "tab", "escape", "3")


async def test_nothing_of_an_answer_or_an_error_is_drawn_or_copied_raw() -> None:
    kb = hostile_world()
    app = app_of(kb)
    async with app.run_test(size=(120, 36)) as pilot:
        await idle(pilot)
        await press(pilot, "escape", "3")
        await search(pilot, f"what does {EVIL} count?")
        await press(pilot, "escape", "e", "n", "y")
        assert raw(app.clipboard) == set()
        await press(pilot, "Y", "c")
        assert r"what does ev\x1b]0;a" in app.clipboard
        assert raw(app.clipboard) == set()
        await press(pilot, "enter", "ctrl+l", "escape")
        kb.before = partial(_fail, NotIndexed(f"no {EVIL}{LONE}", hint=EVIL))
        await press(pilot, "1", "2", "escape", "5", "escape")


def _fail(error: Exception, _call: str) -> None:
    raise error
