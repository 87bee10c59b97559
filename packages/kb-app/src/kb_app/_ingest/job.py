"""What every job that writes is made of: its session, its record, its phases.

A job is recorded when it begins, tells what happens while it runs, and ends with a report,
whatever ended it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

from kb_app._embedding import embed_missing
from kb_app._ingest.added import used_assets
from kb_app._ingest.assets import Assets
from kb_app._ingest.pipeline import Run
from kb_app._ingest.settings import Settings
from kb_app._ingest.tally import Tally
from kb_app._job import JobFile
from kb_app._parts import Parts
from kb_app._write import WriteSession
from kb_app.config import Config
from kb_core.clock import to_epoch, to_rfc3339
from kb_core.control import ADDED_SOURCE
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions
from kb_core.ports import Clock

__all__ = [
    "Job",
    "embed_if_wanted",
    "last_event",
    "now_ns",
    "open_job",
    "recorded",
    "run_of",
    "second_phase",
    "sweep_assets",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every part of a job needs."""

    config: Config
    options: IngestOptions
    parts: Parts
    session: WriteSession
    stop: Event
    tally: Tally

    @property
    def clock(self) -> Clock:
        return self.parts.clock

    def event(self, kind: str, **data: Any) -> IngestEvent:  # noqa: ANN401 - JSON values
        return IngestEvent(kind=kind, at=self.clock(), data=data)


@contextmanager
def open_job(config: Config, options: IngestOptions, parts: Parts, stop: Event) -> Generator[Job]:
    """Become the one writer; raise ``StoreBusy`` if another process is, for too long."""
    with parts.session() as session:
        yield Job(
            config=config, options=options, parts=parts, session=session, stop=stop, tally=Tally()
        )


def recorded(
    job: Job,
    kind: str,
    scope: Mapping[str, Any],
    phases: Callable[[Job], Generator[IngestEvent]],
) -> Generator[IngestEvent]:
    """Record the run when it begins, and how it ended; a kill leaves it ``running``."""
    session, tally = job.session, job.tally
    run_id = uuid.uuid4().hex
    session.store.start_run(run_id, kind, scope)
    progress = JobFile(session.data.job, kind, to_rfc3339(job.clock()))
    ended = "failed"
    try:
        if session.healed:
            tally.warnings.append(session.healed)
        for event in phases(job):
            progress.update({"event": event.kind, **_plain(event.data)})
            yield event
        ended = "aborted" if job.stop.is_set() else "completed"
        if ended == "completed" and tally.has_changes:
            session.tidy()
    except GeneratorExit:
        ended = "aborted"
        raise
    finally:
        tally.corpus_revision = session.control.corpus_revision
        counts = {**tally.counts(), "embedded": tally.embedded}
        session.store.finish_run(run_id, ended, {"counts": counts, "ms": tally.duration_ms})
        session.publish()  # the time of the last run is part of what readers see
        progress.remove()
    yield last_event(tally, scope, job.options, job.clock, aborted=job.stop.is_set())


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if not isinstance(value, IngestItem)}


def last_event(
    tally: Tally, scope: Mapping[str, Any], options: IngestOptions, clock: Clock, *, aborted: bool
) -> IngestEvent:
    """Return the event that ends a job, with the report."""
    report = tally.report(scope, aborted=aborted, summary_only=options.summary_only)
    return IngestEvent(
        kind="aborted" if aborted else "completed",
        at=clock(),
        data={"counts": dict(report.counts), "duration_ms": report.duration_ms},
        report=report,
    )


def run_of(job: Job, settings: Settings, wanted: int) -> Run:
    """Return what ``process`` needs to make *wanted* documents."""
    return Run(
        session=job.session,
        settings=settings,
        options=job.options,
        executor=job.parts.workers(wanted),
        clock=job.clock,
        stop=job.stop,
        tally=job.tally,
        batch_docs=job.config.ingest.batch_docs,
        batch_secs=job.config.ingest.batch_secs,
    )


def embed_if_wanted(job: Job, most: int | None = None) -> Generator[IngestEvent]:
    """Run the second phase, or count what it would have to do where nobody wants it."""
    if job.options.embed and job.config.ingest.embed and not job.stop.is_set():
        yield from second_phase(job, most)
    elif (model := job.parts.model()) is not None:
        job.tally.embeddings_missing = job.session.store.count_missing(model.key)


def second_phase(job: Job, most: int | None = None) -> Generator[IngestEvent]:
    """Embed what has no vector yet; with *most*, at most so many passages."""
    model = job.parts.model()
    if model is None:
        return
    with job.tally.phase("embed"):
        done, left = yield from embed_missing(
            job.session, job.parts.embedder, model.key, job.clock, job.stop, most=most
        )
    job.tally.embedded, job.tally.embeddings_missing = done, left


def sweep_assets(job: Job) -> None:
    """Delete the assets that commands replaced or removed, and name those that nobody knows."""
    assets = Assets(job.session.data.assets)
    used = used_assets(job.session.store.ledger(ADDED_SOURCE))
    job.tally.warnings += [
        f"{assets.folder / name} belongs to no document; it stays: "
        f"'kebab ingest-file {assets.folder / name}' adds it again"
        for name in assets.sweep(used, now_ns(job))
    ]


def now_ns(job: Job) -> int:
    """Return the time of the job's clock in nanoseconds since the epoch."""
    return to_epoch(job.clock()) * 1_000_000_000
