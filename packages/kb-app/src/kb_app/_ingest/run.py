"""A whole run: its phases, recorded, cancellable, with its events.

ingest   walk, parse, chunk, publish; then embed what has no vector yet
embed    the second phase alone

A run is recorded when it begins, tells what happens while it goes on, and ends with a
report, whatever ended it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from threading import Event
from typing import Any

from kb_app._data_dir import DataDir
from kb_app._ingest.added.assets import Assets
from kb_app._ingest.added.planning import plan_added, record_of_row, unrecorded, used_assets
from kb_app._ingest.embedding import embed_missing
from kb_app._ingest.outcomes import Tally
from kb_app._ingest.pipeline import Run, plan_sources, process
from kb_app._ingest.plan import Plan
from kb_app._ingest.settings import ingest_settings, source_specs
from kb_app._parts import Parts
from kb_app.config import Config
from kb_app.jobs import JobFile
from kb_core.clock import from_epoch, to_epoch, to_rfc3339
from kb_core.control import ADDED_SOURCE
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions, ItemKind
from kb_core.ports import Clock
from kb_core.records import FileRecord, FileState

__all__ = ["embed", "embed_if_wanted", "ingest", "now_ns", "open_run", "recorded", "sweep_assets"]


def ingest(
    config: Config, options: IngestOptions, parts: Parts, stop: Event
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
        yield from _rehearse(config, options, parts, scope)
        return
    with open_run(config, options, parts, stop) as run:
        yield from recorded(run, "ingest", scope, _both_phases)


def embed(config: Config, parts: Parts, stop: Event) -> Generator[IngestEvent]:
    """Run the second phase."""
    with open_run(config, IngestOptions(), parts, stop) as run:
        yield from recorded(run, "embed", {}, _second_phase)


def _both_phases(run: Run) -> Generator[IngestEvent]:
    run.session.store.forget_expired(run.clock())
    plans = yield from _scan(run)
    yield from process(run, plans)
    if not run.options.paths:
        sweep_assets(run)
        if not run.stop.is_set() and all(plan.verified for plan in plans):
            run.session.whole()
    yield from embed_if_wanted(run)


def _scan(run: Run) -> Generator[IngestEvent, None, list[Plan]]:
    plans = []
    with run.tally.phase("scan"):
        for spec in source_specs(run.config, run.options.paths):
            yield run.event("scan_started", source_id=spec.source_id, root=spec.root)
            sources = run.session.control.sources
            ledger = run.session.store.ledger
            plan = next(plan_sources([spec], ledger, run.settings, run.options, sources))
            plans.append(plan)
            yield _scanned(run, plan)
        if not run.options.paths:
            plans += [plan for plan in [_look_at_added(run)] if plan.scanned]
    return plans


def _scanned(run: Run, plan: Plan) -> IngestEvent:
    return run.event(
        "scan_completed",
        source_id=plan.source.source_id,
        scanned=plan.scanned,
        candidates=len(plan.wanted),
    )


def _look_at_added(run: Run) -> Plan:
    store, assets = run.session.store, Assets(run.session.data.assets)

    ledger = store.ledger(ADDED_SOURCE)
    for row in unrecorded(ledger, assets.records(), assets):
        document = store.document(row.doc_id) if row.doc_id else None
        title = document.title if document is not None else None
        assets.record(record_of_row(row, title, now_ns(run)))
    return plan_added(ledger, assets.records(), assets, run.settings, run.options)


def _rehearse(
    config: Config, options: IngestOptions, parts: Parts, scope: Mapping[str, Any]
) -> Generator[IngestEvent]:
    """Say what a run would do, from the published ledger; nothing is read or written."""
    from kb_core.errors import NotIndexed

    rows: list[FileRecord] = []
    sources: Mapping[str, Mapping[str, Any]] = {}
    try:
        snapshot = parts.reader().snapshot()
        rows = [_file_record(row) for row in snapshot.files(None)]
        sources = snapshot.control.sources
    except NotIndexed:
        pass
    tally = Tally()

    def ledger(source_id: str) -> dict[str, FileRecord]:
        return {row.path: row for row in rows if row.source_id == source_id}

    specs, settings = source_specs(config, options.paths), ingest_settings(config)
    plans = [*plan_sources(specs, ledger, settings, options, sources)]
    if not options.paths:
        assets = Assets(DataDir(config.storage.data_dir).assets)
        plans.append(plan_added(ledger(ADDED_SOURCE), assets.records(), assets, settings, options))
    for plan in plans:
        tally.add_plan([*plan.items, *_guesses(plan)], plan.scanned, plan.warnings)
    yield _last_event(tally, scope, options, parts.clock, aborted=False)


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


@contextmanager
def open_run(config: Config, options: IngestOptions, parts: Parts, stop: Event) -> Generator[Run]:
    """Become the one writer; raise ``StoreBusy`` if another process is, for too long."""
    with parts.session() as session:
        yield Run(
            config=config,
            settings=ingest_settings(config),
            options=options,
            parts=parts,
            session=session,
            stop=stop,
            tally=Tally(),
        )


def recorded(
    run: Run,
    kind: str,
    scope: Mapping[str, Any],
    phases: Callable[[Run], Generator[IngestEvent]],
) -> Generator[IngestEvent]:
    """Record the run when it begins, and how it ended; a kill leaves it ``running``."""
    session, tally = run.session, run.tally
    run_id = uuid.uuid4().hex
    session.store.start_run(run_id, kind, scope)
    progress = JobFile(session.data.job, kind, to_rfc3339(run.clock()))
    ended = "failed"
    try:
        if session.healed:
            tally.warnings.append(session.healed)
        for event in phases(run):
            progress.update({"event": event.kind, **_plain(event.data)})
            yield event
        ended = "aborted" if run.stop.is_set() else "completed"
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
    yield _last_event(tally, scope, run.options, run.clock, aborted=run.stop.is_set())


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if not isinstance(value, IngestItem)}


def _last_event(
    tally: Tally, scope: Mapping[str, Any], options: IngestOptions, clock: Clock, *, aborted: bool
) -> IngestEvent:
    """Return the event that ends a run, with the report."""
    report = tally.report(scope, aborted=aborted, summary_only=options.summary_only)
    return IngestEvent(
        kind="aborted" if aborted else "completed",
        at=clock(),
        data={"counts": dict(report.counts), "duration_ms": report.duration_ms},
        report=report,
    )


def embed_if_wanted(run: Run, most: int | None = None) -> Generator[IngestEvent]:
    """Run the second phase, or count what it would have to do where nobody wants it."""
    if run.options.embed and run.config.ingest.embed and not run.stop.is_set():
        yield from _second_phase(run, most)
    elif (model := run.parts.model()) is not None:
        run.tally.embeddings_missing = run.session.store.count_missing(model.key)


def _second_phase(run: Run, most: int | None = None) -> Generator[IngestEvent]:
    """Embed what has no vector yet; with *most*, at most so many passages."""
    model = run.parts.model()
    if model is None:
        return
    with run.tally.phase("embed"):
        done, left = yield from embed_missing(
            run.session, run.parts.embedder, model.key, run.clock, run.stop, most=most
        )
    run.tally.embedded, run.tally.embeddings_missing = done, left


def sweep_assets(run: Run) -> None:
    """Delete the assets that commands replaced or removed, and name those that nobody knows."""
    assets = Assets(run.session.data.assets)
    used = used_assets(run.session.store.ledger(ADDED_SOURCE))
    run.tally.warnings += [
        f"{assets.folder / name} belongs to no document; it stays: "
        f"'kebab ingest-file {assets.folder / name}' adds it again"
        for name in assets.sweep(used, now_ns(run))
    ]


def now_ns(run: Run) -> int:
    """Return the time of the run's clock in nanoseconds since the epoch."""
    return to_epoch(run.clock()) * 1_000_000_000
