"""An ingest in a process of its own: the same events, stopped, abandoned, killed, failed."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app.config import Source
from kb_app.jobs import JobFile
from kb_core.errors import InvalidInput, KbError
from kb_core.ingest import IngestEvent, IngestOptions


@pytest.fixture
def config(tmp_path: Path) -> Config:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(120):
        (notes / f"{number:03}.md").write_text(f"# Note {number}\n\nText {number}.\n", "utf-8")
    made = Config.inside(tmp_path, Source(id="notes", root=notes))
    model = replace(made.embedding, model="none")
    return replace(made, embedding=model, ingest=replace(made.ingest, batch_docs=8))


def closing(events: object) -> Generator[IngestEvent]:
    assert isinstance(events, Generator)
    return events


def test_the_events_are_those_of_an_ingest(config: Config) -> None:
    with KnowledgeBase.open(config) as kb:
        events = list(kb.ingest_apart(IngestOptions()))
        again = list(kb.ingest(IngestOptions()))

        assert events[-1].report is not None
        assert events[-1].report.counts["new"] == 120
        assert again[-1].report is not None
        assert again[-1].report.counts["unchanged"] == 120
        assert [e.kind for e in events if e.kind.startswith("scan")] == [
            e.kind for e in again if e.kind.startswith("scan")
        ]
        assert kb.stats()["doc_count"] == 120


def test_stop_ends_it_after_its_batch(config: Config) -> None:
    stop = threading.Event()
    with KnowledgeBase.open(config) as kb:
        kinds = []
        for event in kb.ingest_apart(IngestOptions(), stop=stop):
            kinds.append(event.kind)
            if event.kind == "committed":
                stop.set()
                stop.wait()

        assert kinds[-1] in {"aborted", "completed"}
        assert kb.stats()["doc_count"] in range(1, 121)


def test_closing_ends_it_and_lets_go_of_the_lock(config: Config) -> None:
    with KnowledgeBase.open(config) as kb:
        events = closing(kb.ingest_apart(IngestOptions()))
        next(events)
        events.close()

        report = list(kb.ingest(IngestOptions()))[-1].report
        assert report is not None
        assert kb.stats()["doc_count"] == 120


def test_a_child_that_is_killed_is_an_error_that_says_what_to_do(config: Config) -> None:
    with KnowledgeBase.open(config) as kb:
        events = closing(kb.ingest_apart(IngestOptions()))
        while next(events).kind != "committed":
            pass
        running = kb.jobs().running
        assert running is not None
        os.kill(running.pid, signal.SIGKILL)
        with pytest.raises(KbError, match="perhaps it was killed") as failed:
            list(events)

        assert failed.value.hint == "ingest again: it goes on where it stopped"
        list(kb.ingest(IngestOptions()))
        assert kb.stats()["doc_count"] == 120


def test_what_the_child_raises_is_raised_here(config: Config) -> None:
    with KnowledgeBase.open(config) as kb, pytest.raises(InvalidInput) as refused:
        list(kb.ingest_apart(IngestOptions(paths=("/nowhere/at/all",))))

    assert refused.value.details


def test_past_runs_are_told_newest_first(config: Config) -> None:
    with KnowledgeBase.open(config) as kb:
        assert kb.jobs().past == ()
        list(kb.ingest_apart(IngestOptions()))
        list(kb.ingest(IngestOptions()))
        told = kb.jobs()

    assert told.running is None
    assert [dict(run.counts) for run in told.past] == [{"unchanged": 120}, {"new": 120}]
    assert {run.state for run in told.past} == {"completed"}


def test_a_job_file_of_a_dead_process_is_no_running_job(config: Config) -> None:
    with KnowledgeBase.open(config) as kb:
        list(kb.ingest(IngestOptions()))
        job = config.storage.data_dir / "run" / "job.json"
        job.write_text('{"kind": "ingest", "pid": 999999999, "started": "x"}', "utf-8")
        assert kb.jobs().running is None
        job.write_text(f'{{"kind": "ingest", "pid": {os.getpid()}, "started": "x"}}', "utf-8")
        running = kb.jobs().running
        assert running is not None
        assert running.pid == os.getpid()
        job.write_text("not json", "utf-8")
        assert kb.jobs().running is None


def test_what_is_told_of_one_file_is_over_with_its_event(tmp_path: Path) -> None:
    """Else a run that embeds would seem to parse the last file still."""
    path = tmp_path / "run" / "job.json"
    job = JobFile(path, "ingest", "2026-01-02T03:04:05Z")

    job.update({"event": "asset_phase", "doc_path": "a.md", "phase": "chunk", "total": 2}, now=True)
    during = json.loads(path.read_text("utf-8"))
    job.update({"event": "committed", "done": 1}, now=True)
    after = json.loads(path.read_text("utf-8"))

    assert (during["doc_path"], during["phase"]) == ("a.md", "chunk")
    assert not {"doc_path", "phase"} & after.keys()
    assert (after["kind"], after["done"], after["total"]) == ("ingest", 1, 2)


def test_preferences_are_those_of_the_configuration(config: Config) -> None:
    light = replace(config, ui=replace(config.ui, theme="light"))
    ten = replace(light, search=replace(light.search, default_k=7))
    with KnowledgeBase.open(ten) as kb:
        assert (kb.preferences().theme, kb.preferences().default_k) == ("light", 7)
