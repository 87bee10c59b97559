"""The ingest in the background: told while it runs, cancelled, failed, and left behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from kb_app._presence import Followed
from kb_app.jobs import Jobs, PastRun, RunningJob
from kb_app.testing.facade import event
from kb_core.errors import StoreBusy
from kb_tui.popups import ErrorPopup
from kb_tui.testing import TuiKnowledgeBase, app_of, finished, idle, on_screen, shown, until

NOON = "2026-02-02T12:00:00Z"


class Release(threading.Event):
    """An event that knows whether somebody waits for it, or did."""

    has_begun = False

    def wait(self, timeout: float | None = None) -> bool:
        self.has_begun = True
        return super().wait(timeout)


@pytest.fixture
def release() -> Iterator[Release]:
    """What a run waits for at most; set at the end whatever happens."""
    event = Release()
    yield event
    event.set()


async def test_a_run_is_told_while_it_goes_on_and_after(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [
        event("scan_started", root="/notes"),
        event("scan_completed", scanned=4, candidates=4),
        event("asset_started", doc_path="a.md"),
        finished("a.md", 1, 4),
        event("committed", documents=1, chunks=7),
        event("asset_phase", doc_path="b/노트.md", phase="parse"),
        lambda: release.wait(120),
    ]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "5", "r")
        await until(pilot, lambda: "b/노트.md" in on_screen(app))
        await until(pilot, lambda: "ingest: indexing 25%" in on_screen(app))
        screen = on_screen(app)
        kb.revision, kb.counts = 2, {"doc_count": 2, "chunk_count": 9}
        kb.jobs_told = Jobs(None, (PastRun(kind="ingest", state="completed", started_at=0),))
        release.set()
        await until(pilot, lambda: not app.runner.is_running)
        await until(pilot, lambda: "done" in shown(app, "#job"))
        await idle(pilot)

        assert "[#####...............]  25%  1/4 files" in screen
        assert "parse b/노트.md" in screen
        assert "1 new; searchable: 1 document, 7 chunks" in screen
        assert "ingest done in 1.5 s: 2 new, 1 error" in on_screen(app)
        assert shown(app, "#job") == "ingest done: 2 new, 1 error"
        assert "2 documents, 9 chunks" in shown(app, "#about")
        assert "1970-01-01" in on_screen(app)


async def test_what_came_of_a_run_stays_until_it_is_taken_note_of() -> None:
    """Neither the counts that are read then, nor another pane, nor a search wipe it away."""
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "r")
        await until(pilot, lambda: "done" in shown(app, "#job"))
        for keys in (["2", "x", "enter"], ["escape", "5"]):
            await pilot.press(*keys)
            await idle(pilot)
            assert shown(app, "#job") == "ingest done: 2 new, 1 error"
        assert "ingest done in 1.5 s: 2 new, 1 error" in on_screen(app)
        await pilot.press("escape")
        await until(pilot, lambda: shown(app, "#job") == "")


async def test_esc_lets_the_batch_finish_and_says_so(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [lambda: release.wait(120), finished("a.md", 1, 2)]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "r")
        await until(pilot, lambda: release.has_begun)
        await pilot.press("escape")
        await until(pilot, lambda: "finishing the batch" in shown(app, "#job"))
        assert app.runner.is_running
        release.set()
        await until(pilot, lambda: "cancelled" in shown(app, "#job"))

    assert kb.stop.is_set()
    assert kb.has_ended


async def test_two_runs_at_once_are_refused(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [lambda: release.wait(120)]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1")
        await idle(pilot)
        await pilot.press("r", "r")
        await until(pilot, lambda: shown(app, "#state") == "an ingest is running already")

        assert kb.ingests == 1
        release.set()


async def test_a_run_goes_on_on_other_panes(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [event("scan_completed", candidates=4), finished("a", 1, 4), release.wait]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "r", "3")
        await until(pilot, lambda: shown(app, "#job") == "ingest: indexing 25%")

        assert app.pane.NAME == "ask"
        release.set()


async def test_a_run_that_fails_is_a_popup_and_the_next_one_may_begin() -> None:
    kb = TuiKnowledgeBase()

    def busy() -> None:
        raise StoreBusy("process 7 is writing", hint="wait for it")

    kb.events = [busy]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "5", "r")
        await until(pilot, lambda: isinstance(app.screen, ErrorPopup))
        assert "process 7 is writing" in on_screen(app)
        assert shown(app, "#state") == "ingest failed: store_busy"
        kb.events = []
        await pilot.press("escape", "r")
        await until(pilot, lambda: "done" in shown(app, "#job"))


async def test_reading_only_refuses_to_ingest() -> None:
    kb = TuiKnowledgeBase(readonly=True)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "r")
        await until(pilot, lambda: "Error: readonly_mode" in on_screen(app))

        assert kb.ingests == 0


async def test_q_leaves_after_the_batch(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [lambda: release.wait(120), finished("a", 1, 2)]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "r")
        await until(pilot, lambda: release.has_begun)
        await pilot.press("q")
        assert app.is_running
        assert "q again: at once" in shown(app, "#state")
        release.set()
        await until(pilot, lambda: not app.is_running)

    assert kb.stop.is_set()
    assert kb.has_ended


async def test_q_again_leaves_at_once_and_closes_the_run(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [lambda: release.wait(120), finished("a", 1, 2), lambda: pytest.fail("went on")]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "r")
        await until(pilot, lambda: release.has_begun)
        await pilot.press("q", "q")
        await until(pilot, lambda: not app.is_running)
    release.set()
    app.runner.wait(120)

    assert kb.has_ended


async def test_an_ingest_is_never_on_the_thread_of_the_screen() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "l", "f", "escape", "enter", "escape", "4", "5", "r")
        await until(pilot, lambda: "done" in shown(app, "#job"))

    assert kb.ingests
    assert threading.get_ident() not in kb.threads


async def test_what_following_finds_is_told_until_w_ends_it(release: Release) -> None:
    kb = TuiKnowledgeBase()
    begun = Release()
    kb.events = [
        begun.wait,
        event("scan_completed", candidates=4),
        finished("b/노트.md", 1, 4),
        release.wait,
    ]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        kb.answers["followed"] = Followed(pid=os.getpid(), since=NOON, seen_at=NOON)
        await pilot.press("escape", "5", "w")
        await until(pilot, lambda: begun.has_begun)
        assert shown(app, "#state") == "following the sources"
        await until(pilot, lambda: "the sources are followed: as they were" in on_screen(app))
        begun.set()
        await until(pilot, lambda: shown(app, "#job") == "ingest: indexing 25%")
        assert "1 new; searchable" in on_screen(app)
        await pilot.press("w")
        assert kb.stop.is_set()
        assert shown(app, "#state") == "no longer following the sources"
        await pilot.press("w")
        assert "ends after the batch" in shown(app, "#state")
        release.set()
        await until(pilot, lambda: shown(app, "#job") == "ingest cancelled: 2 new, 1 error")
        await until(pilot, lambda: app.follower.progress is None)

    assert kb.has_ended


async def test_who_follows_already_is_said() -> None:
    kb = TuiKnowledgeBase()
    kb.answers["followed"] = Followed(pid=4711, since=NOON, pending=True)

    def taken() -> None:
        raise StoreBusy("another kebab follows these sources already: process 4711")

    kb.events = [taken]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "5")
        await until(pilot, lambda: "followed by process 4711: not looked at yet" in on_screen(app))
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, ErrorPopup))

        assert "process 4711" in on_screen(app)
        assert shown(app, "#state") == "not following: store_busy"
        assert not app.follower.is_following


async def test_leaving_ends_following(release: Release) -> None:
    kb = TuiKnowledgeBase()
    kb.events = [lambda: release.wait(120), lambda: pytest.fail("went on")]
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "w")
        await until(pilot, lambda: release.has_begun)
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)
    release.set()
    app.follower.wait(120)

    assert kb.has_ended


async def test_the_run_of_another_process_shows_its_bar() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "5")
        await idle(pilot)
        assert "no job is running: r begins an ingest" in on_screen(app)
        told = {"event": "asset_phase", "phase": "parse", "doc_path": "a.md", "done": 1, "total": 4}
        job = RunningJob(kind="ingest", pid=4711, started="2026-02-02T02:40:00Z", told=told)
        kb.jobs_told = Jobs(job, ())
        await until(pilot, lambda: "4711" in on_screen(app))

        assert "indexing  [#####...............]  25%  1/4" in on_screen(app)
        assert "parse a.md" in on_screen(app)


@pytest.mark.parametrize(
    ("kind", "seconds", "said"),
    [
        ("ingest-stdin", 0, "< 1 s"),
        ("ingest-file", 9, "9 s"),
        ("ingest", 10, "10 s"),
        ("embed", 185, "3:05 min"),
        ("ingest", None, "nothing to do"),
    ],
)
async def test_a_past_run_is_named_whole_and_took_what_its_whole_seconds_tell(
    kind: str, seconds: int | None, said: str
) -> None:
    kb = TuiKnowledgeBase()
    run = PastRun(kind=kind, state="completed", started_at=0, finished_at=seconds)
    kb.jobs_told = Jobs(None, (run,))
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "5")
        await until(pilot, lambda: "completed" in on_screen(app))
        row = next(row for row in on_screen(app).split("\n") if "completed" in row)
        cells = [cell.strip() for cell in row.strip("┃▌ ").split("  ") if cell]

        assert (cells[1], cells[3]) == (kind, said)
