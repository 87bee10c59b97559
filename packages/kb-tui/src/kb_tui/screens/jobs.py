"""The jobs pane: the ingest that runs, those that ran, and who follows the sources."""

from __future__ import annotations

import os
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from kb_app import KnowledgeBase
from kb_app.jobs import Jobs, PastRun, RunningJob
from kb_app.shown import brief_duration, local_time, visible
from kb_app.shown.progress import bar
from kb_core.clock import from_epoch
from kb_tui._keys import JOBS, Key, bindings
from kb_tui._pane import Pane, Reply, Shared
from kb_tui._runner import details
from kb_tui.widgets.lists import Column, RowTable

__all__ = ["JobsPane"]

_NONE_RUNS = "no job is running: r begins an ingest"
_NONE_RAN = "nothing was ever ingested here"
_LOOK_EVERY_S = 1.0
_CELLS = 20
_KIND = 6
_MINUTE = 60
_DOING = {"scan": "scanning", "asset": "indexing", "committed": "indexing", "embed": "embedding"}
"""What a run does when its last event begins so."""


class Looked(Reply[tuple[Jobs, str]]):
    """What runs in any process, and what ran; and in a line who follows the sources."""


class RunTable(RowTable[PastRun]):
    """Past runs: when, what, how they ended, how long they took, what came of them."""

    def columns_for(self, width: int) -> list[Column[PastRun]]:  # noqa: ARG002
        return [
            Column("began", 16, lambda r: local_time(from_epoch(r.started_at).isoformat())),
            Column("run", max([_KIND, *(len(r.kind) for r in self.rows)]), lambda r: r.kind),
            Column("ended", 11, lambda r: r.state),
            Column("took", -9, _took),
            Column("files", 0, _counts),
        ]


def _took(run: PastRun) -> str:
    """Return how long it took, as far as that is known: its times are whole seconds."""
    if run.finished_at is None:
        return ""
    seconds = run.finished_at - run.started_at
    if seconds >= _MINUTE:
        return brief_duration(seconds)
    return f"{seconds} s" if seconds > 0 else "< 1 s"


def _counts(run: PastRun) -> str:
    nothing = "nothing to do" if run.state == "completed" else ""
    return ", ".join(f"{n:,} {kind}" for kind, n in run.counts.items()) or nothing


class JobsPane(Pane):
    """Shows how far the running ingest is, its own or another process's, and past runs."""

    NAME: ClassVar[str] = "jobs"
    KEYS: ClassVar[tuple[Key, ...]] = JOBS
    BINDINGS: ClassVar[list[BindingType]] = bindings(JOBS)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._elsewhere: RunningJob | None = None
        self._followed = ""

    def body(self) -> ComposeResult:
        yield Static("", id="running")
        yield RunTable(id="past")

    def on_mount(self) -> None:
        self.query_one("#running").border_title = "Running"
        self.query_one("#past").border_title = "Past runs"
        self.set_interval(_LOOK_EVERY_S, self._look_again)
        self._show_running()

    def leave_insert(self) -> None:
        self.set_focus(self.query_one(RunTable))

    def changed(self) -> None:
        super().changed()
        self._look()

    def _look_again(self) -> None:
        """Follow a run of another process; our own is at hand."""
        if self.is_current and not self.shared.runner.is_running:
            self._look()

    def _look(self) -> None:
        self.ask(Looked, lambda: (self.kb.jobs(), _told_of_following(self.kb)))

    @on(Looked)
    def show_looked(self, reply: Looked) -> None:
        if self.is_stale(reply):
            return
        jobs, self._followed = reply.value
        self._elsewhere = jobs.running
        table = self.query_one(RunTable)
        if tuple(table.rows) != jobs.past or not table.rows:
            table.show(jobs.past, _NONE_RAN, chosen=None)
        self._show_running()

    def show_job(self, job: str) -> None:
        super().show_job(job)
        self._show_running()

    def _show_running(self) -> None:
        runner, follower = self.shared.runner, self.shared.follower
        progress = runner.progress or follower.progress
        if progress is not None:
            lines = [f"ingest: {details(progress, runner.now())[0]}"]
            lines += details(progress, runner.now())[1:]
        elif self._elsewhere is not None:
            lines = _told(self._elsewhere)
        else:
            lines = [*runner.last, "" if self.kb.readonly else _NONE_RUNS]
        if follower.is_following and follower.said:
            lines.append(follower.said)
        running = self.query_one("#running", Static)
        running.border_subtitle = self._followed
        running.update(Content(visible("\n".join(lines), keep="\n")))

    def action_escape(self) -> None:
        """Cancel the ingest after its batch."""
        if self.shared.runner.stop():
            self.state("cancelling the ingest after its batch")
        else:
            self.shared.runner.told = ""
            self.show_job("")

    def action_move(self, by: int) -> None:
        self.query_one(RunTable).chosen += by

    def action_first(self) -> None:
        self.query_one(RunTable).chosen = 0

    def action_last(self) -> None:
        table = self.query_one(RunTable)
        table.chosen = table.count - 1

    def action_page(self, pages: int) -> None:
        self.query_one(RunTable).page(pages)


def _told_of_following(kb: KnowledgeBase) -> str:
    """Return who follows the sources, and how old what is found may be; nothing for nobody."""
    who = kb.followed()
    if who is None:
        return ""
    by = "" if who.pid == os.getpid() else f" by process {who.pid}"
    seen = f"as they were {local_time(who.seen_at)}" if who.seen_at else "not looked at yet"
    return f"the sources are followed{by}: {seen}{', changes to take in' if who.pending else ''}"


def _told(job: RunningJob) -> list[str]:
    """Return what another process says of its run."""
    told = job.told
    done, total = told.get("done"), told.get("total")
    what = " ".join(filter(None, (told.get("phase"), told.get("doc_path"))))
    event = str(told.get("event", ""))
    doing = next((said for kind, said in _DOING.items() if event.startswith(kind)), "running")
    far = ""
    if isinstance(done, int) and isinstance(total, int) and total > 0:
        share = min(1.0, done / total)
        far = f"{bar(share, _CELLS)} {share:4.0%}  {done:,}/{total:,}"
    return [
        f"{job.kind} by process {job.pid}, since {local_time(job.started)}",
        f"{doing}  {far}".strip(),
        what,
    ]
