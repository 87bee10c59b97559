"""A whole run of ingest: both phases, recorded, cancellable, with its events.

ingest   walk, parse, chunk, publish; then embed what has no vector yet
embed    the second phase alone
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any

from kb_app._embedding import embed_missing
from kb_app._ingest.configured import ingest_settings, source_specs
from kb_app._ingest.executor import Executor, ProcessExecutor
from kb_app._ingest.pipeline import Run, plan_sources, process
from kb_app._ingest.plan import Plan
from kb_app._ingest.settings import Settings
from kb_app._ingest.tally import Tally
from kb_app._ingest.work import Made, Task, work
from kb_app._job import JobFile
from kb_app._wiring import model_of
from kb_app._write import WriteSession
from kb_app.config import Config
from kb_core.clock import from_epoch, to_rfc3339
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions, ItemKind
from kb_core.ports import Embedder
from kb_core.records import Changes, FileRecord, FileState

__all__ = ["embed", "ingest", "remove_orphans"]

Clock = Callable[[], datetime]

_FILE_TIMEOUT_SECS = 120.0
"""Longer than any honest file takes; a parser that loops is one file's error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What every part of a run needs."""

    config: Config
    options: IngestOptions
    session: WriteSession
    embedder: Callable[[], Embedder]
    clock: Clock
    stop: Event
    tally: Tally

    def event(self, kind: str, **data: Any) -> IngestEvent:  # noqa: ANN401 - JSON values
        return IngestEvent(kind=kind, at=self.clock(), data=data)


def ingest(
    config: Config,
    options: IngestOptions,
    embedder: Callable[[], Embedder],
    clock: Clock,
    stop: Event,
) -> Generator[IngestEvent]:
    """Run both phases; the last event carries the report."""
    specs = source_specs(config, options.paths)  # refuses bad paths before anything is opened
    scope = {
        "sources": [spec.source_id for spec in specs],
        "paths": list(options.paths),
        "force": options.force,
        "dry_run": options.dry_run,
    }
    if options.dry_run:
        yield from _rehearse(config, options, clock, scope)
        return
    with _session(config, clock) as session:
        job = _Job(
            config=config,
            options=options,
            session=session,
            embedder=embedder,
            clock=clock,
            stop=stop,
            tally=Tally(),
        )
        yield from _recorded(job, "ingest", scope, _both_phases)


def embed(
    config: Config, embedder: Callable[[], Embedder], clock: Clock, stop: Event
) -> Generator[IngestEvent]:
    """Run the second phase."""
    with _session(config, clock) as session:
        job = _Job(
            config=config,
            options=IngestOptions(),
            session=session,
            embedder=embedder,
            clock=clock,
            stop=stop,
            tally=Tally(),
        )
        yield from _recorded(job, "embed", {}, _second_phase)


def remove_orphans(session: WriteSession, known_sources: Sequence[str]) -> None:
    """Remove the documents and ledger rows of sources that are not configured any more."""
    for source_id in session.control.sources:
        if source_id in known_sources:
            continue
        rows = session.store.ledger(source_id)
        session.commit(
            Changes(
                deleted_docs=tuple(session.store.doc_ids(source_id)),
                forgotten_files=tuple((source_id, path) for path in rows),
            )
        )


def _session(config: Config, clock: Clock) -> WriteSession:
    storage = config.storage
    return WriteSession(storage.data_dir, lock_wait_secs=storage.lock_wait_secs, clock=clock)


def _recorded(
    job: _Job,
    kind: str,
    scope: Mapping[str, Any],
    phases: Callable[[_Job], Generator[IngestEvent]],
) -> Generator[IngestEvent]:
    """Record the run when it begins, and how it ended; a kill leaves it ``running``."""
    session, tally = job.session, job.tally
    run_id = uuid.uuid4().hex
    session.store.start_run(run_id, kind, scope)
    progress = JobFile(session.data_dir, kind, to_rfc3339(job.clock()))
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
    yield _last(tally, scope, job.options, job.clock, aborted=job.stop.is_set())


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if not isinstance(value, IngestItem)}


def _last(
    tally: Tally, scope: Mapping[str, Any], options: IngestOptions, clock: Clock, *, aborted: bool
) -> IngestEvent:
    report = tally.report(scope, aborted=aborted, summary_only=options.summary_only)
    return IngestEvent(
        kind="aborted" if aborted else "completed",
        at=clock(),
        data={"counts": dict(report.counts), "duration_ms": report.duration_ms},
        report=report,
    )


def _both_phases(job: _Job) -> Generator[IngestEvent]:
    settings = ingest_settings(job.config)
    job.session.store.forget_expired(job.clock())
    plans = yield from _scan(job, settings)
    run = Run(
        session=job.session,
        settings=settings,
        options=job.options,
        executor=_executor(job.config, sum(len(plan.wanted) for plan in plans)),
        clock=job.clock,
        stop=job.stop,
        tally=job.tally,
        batch_docs=job.config.ingest.batch_docs,
        batch_secs=job.config.ingest.batch_secs,
    )
    yield from process(run, plans)
    if job.options.embed and job.config.ingest.embed and not job.stop.is_set():
        yield from _second_phase(job)
    elif (model := model_of(job.config)) is not None:
        job.tally.embeddings_missing = job.session.store.count_missing(model.key)


def _scan(job: _Job, settings: Settings) -> Generator[IngestEvent, None, list[Plan]]:
    plans = []
    with job.tally.phase("scan"):
        for spec in source_specs(job.config, job.options.paths):
            yield job.event("scan_started", source_id=spec.source_id, root=spec.root)
            sources = job.session.control.sources
            ledger = job.session.store.ledger
            plan = next(plan_sources([spec], ledger, settings, job.options, sources))
            plans.append(plan)
            yield job.event(
                "scan_completed",
                source_id=spec.source_id,
                scanned=plan.scanned,
                candidates=len(plan.wanted),
            )
    return plans


def _executor(config: Config, wanted: int) -> Executor[Task, Made]:
    """Return the worker processes; none starts before there is something to do."""
    workers = config.ingest.workers or os.cpu_count() or 1
    return ProcessExecutor(
        work, workers=max(1, min(workers, wanted)), timeout_secs=_FILE_TIMEOUT_SECS
    )


def _second_phase(job: _Job) -> Generator[IngestEvent]:
    model = model_of(job.config)
    if model is None:
        return
    with job.tally.phase("embed"):
        done, left = yield from embed_missing(
            job.session, job.embedder, model.key, job.clock, job.stop
        )
    job.tally.embedded, job.tally.embeddings_missing = done, left


def _rehearse(
    config: Config, options: IngestOptions, clock: Clock, scope: Mapping[str, Any]
) -> Generator[IngestEvent]:
    """Say what a run would do, from the published ledger; nothing is read or written."""
    from kb_core.errors import NotIndexed
    from kb_search.reader import Reader

    reader = Reader(config.storage.data_dir)
    rows: list[FileRecord] = []
    sources: Mapping[str, Mapping[str, Any]] = {}
    try:
        snapshot = reader.snapshot()
        rows = [_file_record(row) for row in snapshot.files(None)]
        sources = snapshot.control.sources
    except NotIndexed:
        pass
    tally = Tally()

    def ledger(source_id: str) -> dict[str, FileRecord]:
        return {row.path: row for row in rows if row.source_id == source_id}

    specs = source_specs(config, options.paths)
    for plan in plan_sources(specs, ledger, ingest_settings(config), options, sources):
        tally.scanned += plan.scanned
        tally.warnings += plan.warnings
        for item in (*plan.items, *_guesses(plan)):
            tally.add(item)
    yield _last(tally, scope, options, clock, aborted=False)


def _guesses(plan: Plan) -> list[IngestItem]:
    items = [
        IngestItem(
            kind=ItemKind.UPDATED if want.known and want.known.doc_id else ItemKind.NEW,
            source_id=want.file.source_id,
            doc_path=want.file.path,
            media=want.file.media,
            byte_len=want.file.size,
        )
        for want in plan.wanted
    ]
    items += [
        IngestItem(
            kind=ItemKind.DELETED,
            source_id=row.source_id,
            doc_path=row.path,
            doc_id=row.doc_id,
            reason=row.reason,
        )
        for row in plan.gone
        if row.doc_id
    ]
    return items


def _file_record(row: Mapping[str, Any]) -> FileRecord:
    times = {
        name: from_epoch(row[name]) if row.get(name) else None
        for name in ("processed_at", "changed_at")
    }
    return FileRecord(**{**row, "state": FileState(row["state"]), **times})
