"""A whole run of ingest: both phases, recorded, cancellable, with its events.

ingest   walk, parse, chunk, publish; then embed what has no vector yet
embed    the second phase alone
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from threading import Event
from typing import Any

from kb_app._data_dir import DataDir
from kb_app._ingest.added import plan_added, record_of_row, unrecorded
from kb_app._ingest.assets import Assets
from kb_app._ingest.configured import ingest_settings, source_specs
from kb_app._ingest.job import (
    Job,
    embed_if_wanted,
    last_event,
    now_ns,
    open_job,
    recorded,
    run_of,
    second_phase,
    sweep_assets,
)
from kb_app._ingest.pipeline import plan_sources, process
from kb_app._ingest.plan import Plan
from kb_app._ingest.settings import Settings
from kb_app._ingest.tally import Tally
from kb_app._parts import Parts
from kb_app._write import WriteSession
from kb_app.config import Config
from kb_core.clock import from_epoch
from kb_core.control import ADDED_SOURCE
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions, ItemKind
from kb_core.records import Changes, FileRecord, FileState

__all__ = ["embed", "ingest", "remove_orphans"]


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
    with open_job(config, options, parts, stop) as job:
        yield from recorded(job, "ingest", scope, _both_phases)


def embed(config: Config, parts: Parts, stop: Event) -> Generator[IngestEvent]:
    """Run the second phase."""
    with open_job(config, IngestOptions(), parts, stop) as job:
        yield from recorded(job, "embed", {}, second_phase)


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


def _both_phases(job: Job) -> Generator[IngestEvent]:
    settings = ingest_settings(job.config)
    job.session.store.forget_expired(job.clock())
    plans = yield from _scan(job, settings)
    run = run_of(job, settings, sum(len(plan.wanted) for plan in plans))
    yield from process(run, plans)
    if not job.options.paths:
        sweep_assets(job)
        if not job.stop.is_set() and all(plan.verified for plan in plans):
            job.session.whole()
    yield from embed_if_wanted(job)


def _scan(job: Job, settings: Settings) -> Generator[IngestEvent, None, list[Plan]]:
    plans = []
    with job.tally.phase("scan"):
        for spec in source_specs(job.config, job.options.paths):
            yield job.event("scan_started", source_id=spec.source_id, root=spec.root)
            sources = job.session.control.sources
            ledger = job.session.store.ledger
            plan = next(plan_sources([spec], ledger, settings, job.options, sources))
            plans.append(plan)
            yield _scanned(job, plan)
        if not job.options.paths:
            plans += [plan for plan in [_look_at_added(job, settings)] if plan.scanned]
    return plans


def _scanned(job: Job, plan: Plan) -> IngestEvent:
    return job.event(
        "scan_completed",
        source_id=plan.source.source_id,
        scanned=plan.scanned,
        candidates=len(plan.wanted),
    )


def _look_at_added(job: Job, settings: Settings) -> Plan:
    store, assets = job.session.store, Assets(job.session.data.assets)

    ledger = store.ledger(ADDED_SOURCE)
    for row in unrecorded(ledger, assets.records(), assets):
        document = store.document(row.doc_id) if row.doc_id else None
        title = document.title if document is not None else None
        assets.record(record_of_row(row, title, now_ns(job)))
    return plan_added(ledger, assets.records(), assets, settings, job.options)


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
    yield last_event(tally, scope, options, parts.clock, aborted=False)


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
