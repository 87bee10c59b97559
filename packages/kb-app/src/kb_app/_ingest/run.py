"""A whole run of ingest: both phases, recorded, cancellable, with its events.

ingest   walk, parse, chunk, publish; then embed what has no vector yet
embed    the second phase alone
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from threading import Event
from typing import Any

from kb_app._embedding import embed_missing
from kb_app._ingest.executor import Executor, ProcessExecutor
from kb_app._ingest.pipeline import Run, plan_sources, process
from kb_app._ingest.plan import Plan
from kb_app._ingest.settings import Settings
from kb_app._ingest.tally import Tally
from kb_app._ingest.work import Made, Task, work
from kb_app._job import JobFile
from kb_app._wiring import ingest_settings, model_of, source_specs
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
        yield from _recorded(
            session,
            "ingest",
            scope,
            clock,
            stop,
            options,
            lambda tally: _both_phases(config, options, session, embedder, clock, stop, tally),
        )


def embed(
    config: Config, embedder: Callable[[], Embedder], clock: Clock, stop: Event
) -> Generator[IngestEvent]:
    """Run the second phase."""
    with _session(config, clock) as session:
        yield from _recorded(
            session,
            "embed",
            {},
            clock,
            stop,
            IngestOptions(),
            lambda tally: _second_phase(config, session, embedder, clock, stop, tally),
        )


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


def _recorded(  # noqa: PLR0913, PLR0917 - the parts of a run
    session: WriteSession,
    kind: str,
    scope: Mapping[str, Any],
    clock: Clock,
    stop: Event,
    options: IngestOptions,
    phases: Callable[[Tally], Generator[IngestEvent]],
) -> Generator[IngestEvent]:
    """Record the run when it begins, and how it ended; a kill leaves it ``running``."""
    tally = Tally()
    run_id = uuid.uuid4().hex
    session.store.start_run(run_id, kind, scope)
    job = JobFile(session.data_dir, kind, to_rfc3339(clock()))
    ended = "failed"
    try:
        if session.healed:
            tally.warnings.append(session.healed)
        for event in phases(tally):
            job.update({"event": event.kind, **_plain(event.data)})
            yield event
        ended = "aborted" if stop.is_set() else "completed"
    except GeneratorExit:
        ended = "aborted"
        raise
    finally:
        tally.corpus_revision = session.control.corpus_revision
        counts = {**tally.counts(), "embedded": tally.embedded}
        session.store.finish_run(run_id, ended, {"counts": counts, "ms": tally.duration_ms})
        session.publish()  # the time of the last run is part of what readers see
        job.remove()
    yield _last(tally, scope, options, clock, aborted=stop.is_set())


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


def _both_phases(  # noqa: PLR0913, PLR0917 - the parts of a run
    config: Config,
    options: IngestOptions,
    session: WriteSession,
    embedder: Callable[[], Embedder],
    clock: Clock,
    stop: Event,
    tally: Tally,
) -> Generator[IngestEvent]:
    settings = ingest_settings(config)
    session.store.forget_expired(clock())
    plans = yield from _scan(config, options, session, settings, clock, tally)
    wanted = sum(len(plan.wanted) for plan in plans)
    run = Run(
        session=session,
        settings=settings,
        options=options,
        executor=_executor(config, wanted),
        clock=clock,
        stop=stop,
        tally=tally,
        batch_docs=config.ingest.batch_docs,
        batch_secs=config.ingest.batch_secs,
    )
    yield from process(run, plans)
    if options.embed and config.ingest.embed and not stop.is_set():
        yield from _second_phase(config, session, embedder, clock, stop, tally)
    elif (model := model_of(config)) is not None:
        tally.embeddings_missing = session.store.count_missing(model.key)


def _scan(  # noqa: PLR0913, PLR0917 - the parts of a run
    config: Config,
    options: IngestOptions,
    session: WriteSession,
    settings: Settings,
    clock: Clock,
    tally: Tally,
) -> Generator[IngestEvent, None, list[Plan]]:
    plans = []
    with tally.phase("scan"):
        for spec in source_specs(config, options.paths):
            started = {"source_id": spec.source_id, "root": spec.root}
            yield IngestEvent(kind="scan_started", at=clock(), data=started)
            sources = session.control.sources
            plan = next(plan_sources([spec], session.store.ledger, settings, options, sources))
            plans.append(plan)
            found = {
                "source_id": spec.source_id,
                "scanned": plan.scanned,
                "candidates": len(plan.wanted),
            }
            yield IngestEvent(kind="scan_completed", at=clock(), data=found)
    return plans


def _executor(config: Config, wanted: int) -> Executor[Task, Made]:
    """Return the worker processes; none starts before there is something to do."""
    workers = config.ingest.workers or os.cpu_count() or 1
    return ProcessExecutor(
        work, workers=max(1, min(workers, wanted)), timeout_secs=_FILE_TIMEOUT_SECS
    )


def _second_phase(  # noqa: PLR0913, PLR0917 - the parts of a run
    config: Config,
    session: WriteSession,
    embedder: Callable[[], Embedder],
    clock: Clock,
    stop: Event,
    tally: Tally,
) -> Generator[IngestEvent]:
    model = model_of(config)
    if model is None:
        return
    with tally.phase("embed"):
        done, left = yield from embed_missing(session, embedder, model.key, clock, stop)
    tally.embedded, tally.embeddings_missing = done, left


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
