"""A whole run: its phases, recorded, cancellable, with its events.

ingest   walk, parse, chunk, publish; then embed what has no vector yet
embed    the second phase alone

A run is recorded when it begins, tells what happens while it goes on, and ends with a
report, whatever ended it.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from kb_app._data_dir import DataDir
from kb_app._ingest.added.assets import Assets
from kb_app._ingest.added.planning import plan_added, record_of_row, unrecorded, used_assets
from kb_app._ingest.embedding import embed_batch, embed_missing
from kb_app._ingest.estimate import expected
from kb_app._ingest.looked import looked_by
from kb_app._ingest.outcomes import Tally
from kb_app._ingest.pipeline import Run, process
from kb_app._ingest.plan import Known, Plan, plan_sources
from kb_app._ingest.quiet import nothing_to_do, published, seal, sealed, sealed_by
from kb_app._ingest.reading import Reader
from kb_app._ingest.seeing.files import spell
from kb_app._ingest.settings import Settings, SourceSpec, ingest_settings, source_specs
from kb_app._ingest.sought import Telling, forget_told, leave_unsought
from kb_app._media import phases_off
from kb_app._parts import Parts
from kb_app.config import Config
from kb_app.jobs import JobFile, PastRun, note_quiet_run
from kb_core.clock import to_epoch, to_rfc3339
from kb_core.control import ADDED_SOURCE
from kb_core.disk import disk_errors
from kb_core.errors import IndexCorrupt, KbError, NotIndexed
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions, ItemKind
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_app._write import WriteSession
    from kb_core.ports import Clock

__all__ = [
    "embed",
    "embed_if_wanted",
    "embed_some",
    "embed_these",
    "ingest",
    "look",
    "now_ns",
    "open_run",
    "open_run_for_one",
    "recorded",
    "sweep_assets",
]

_AT_A_TIME = 8
"""Passages that are embedded between two looks at whether somebody asks: a third of a second."""
_TURN_SECS = 1.5
"""How long another process that wants to write waits for what is embedded meanwhile."""


def ingest(
    config: Config, options: IngestOptions, parts: Parts, stop: Event
) -> Generator[IngestEvent]:
    """Run both phases; the last event carries the report."""
    options = _with_configured(config, options)
    specs = source_specs(config, options.paths)  # refuses bad paths before anything is opened
    scope = {
        "sources": [spec.source_id for spec in specs],
        "paths": [spell([path])[0] for path in options.paths],
        "force": options.force,
        "dry_run": options.dry_run,
    }
    if options.dry_run:
        yield from _rehearse(config, options, parts, scope)
        return
    begun, tally = to_epoch(parts.clock()), Tally()
    settings, ready = ingest_settings(config), None
    if state := sealed(config, options, parts, specs):
        ready = yield from _scan(specs, state.known, settings, options, (parts.clock, tally))
        data = DataDir(config.storage.data_dir)
        if seen := nothing_to_do(ready, state, data, settings):
            tally.embeddings_missing = state.missing
            tally.corpus_revision = state.known.corpus_revision
            for plan in seen:
                if not (options.paths and plan.source.source_id == ADDED_SOURCE):
                    tally.add_plan(plan.items, plan.scanned, plan.warnings)
            with disk_errors("note a run"):
                note_quiet_run(data, _past(tally, begun, parts.clock, seen))
            yield _last_event(tally, scope, options, parts.clock, aborted=False)
            return
    reader = Reader(parts, settings, options, DataDir(config.storage.data_dir).costly)
    with (
        closing(reader.begin(ready or ())) as ahead,
        open_run(config, options, parts, stop, tally) as run,
    ):
        if state is None or state.known.sequence != run.session.control.sequence:
            state = ready = None
            ahead.close()
        run = replace(run, ahead=None if ready is None else ahead)  # noqa: PLW2901 - the same run
        yield from recorded(run, "ingest", scope, partial(_both_phases, ready=ready))
        model, data = parts.model(), run.session.data
        # What was whole before is so after a run of what has changed.
        is_part = (options.paths and not state) or tally.left.files or run.session.shows_another
        is_whole = not (is_part or stop.is_set())
    if is_whole:  # and closed: nothing of it is written after this
        missing = {model.key: tally.embeddings_missing} if model is not None else {}
        seal(data, missing, looked_by(source_specs(config, ()), settings, options.without))


def look(config: Config, parts: Parts) -> tuple[bool, frozenset[str]]:
    """Say whether a run would find nothing to do, and which folders it would look into.

    Nothing is written, and the store is not opened.
    """
    options, settings = _with_configured(config, IngestOptions()), ingest_settings(config)
    state = sealed(config, options, parts)
    known = state.known if state else Known(ledger=lambda _: {}, sources={})
    plans = [*plan_sources(source_specs(config, ()), known, settings, options)]
    folders = frozenset(folder for plan in plans for folder in plan.folders)
    data = DataDir(config.storage.data_dir)
    return bool(state and nothing_to_do(plans, state, data, settings) is not None), folders


def _with_configured(config: Config, options: IngestOptions) -> IngestOptions:
    """Return *options*, without the later phases that the configuration switches off."""
    off = phases_off(config)
    return replace(options, without=tuple(dict.fromkeys([*options.without, *off])))


def embed(config: Config, parts: Parts, stop: Event) -> Generator[IngestEvent]:
    """Run the second phase."""
    with open_run(config, IngestOptions(), parts, stop) as run:
        yield from recorded(run, "embed", {}, _second_phase)


def embed_these(config: Config, parts: Parts, keys: Sequence[int], sequence: int) -> None:
    """Embed the passages of these chunks, in one batch, where they have no vector yet.

    A seal is renewed where nobody has written since the state *sequence*.
    """
    model = parts.model()
    if model is None:
        return
    embedder = parts.embedder()
    with _sealing(config, parts, model.key, sequence) as session:
        pending = session.store.missing_passages(model.key, len(keys), keys)
        embed_batch(session, embedder, model.key, pending)


def embed_some(
    config: Config, parts: Parts, keys: Sequence[int], most: int, sequence: int, stop: Event
) -> bool:
    """Embed passages without a vector for a turn, or until *stop*: those of *keys* come first.

    At most *most*. Return whether more may be embedded, and some may be left. A seal is renewed
    as by ``embed_these``.
    """
    model = parts.model()
    if model is None or most <= 0:
        return False
    embedder, until = parts.embedder(), time.monotonic() + _TURN_SECS
    wanted, is_done = keys, False
    with _sealing(config, parts, model.key, sequence) as session:
        while most > 0 and not (is_done or stop.is_set()) and time.monotonic() < until:
            size = min(_AT_A_TIME, most)
            pending = session.store.missing_passages(model.key, size, wanted or None)
            is_done = not (pending or wanted)
            if pending:
                embed_batch(session, embedder, model.key, pending)
                most -= len(pending)
            if len(pending) < size:  # of those that come first none is left
                wanted = ()
        return most > 0 and not is_done


@contextmanager
def _sealing(
    config: Config, parts: Parts, model_key: str, sequence: int
) -> Generator[WriteSession]:
    """Open a session for vectors alone, and renew the seal if nothing but them is new."""
    data = DataDir(config.storage.data_dir)
    by = sealed_by(data)
    with parts.session() as session:
        is_same = session.control.sequence == sequence
        yield session
        missing = session.store.count_missing(model_key)
    if by is not None and is_same:
        seal(data, {model_key: missing}, by)


def _both_phases(run: Run, ready: list[Plan] | None) -> Generator[IngestEvent]:
    """Run both phases; *ready* is what the walks gave, if they were made already."""
    run.session.store.forget_expired(run.clock())
    if ready is None:
        specs = source_specs(run.config, run.options.paths)
        known = Known(ledger=run.session.store.ledger, sources=run.session.control.sources)
        ready = yield from _scan(specs, known, run.settings, run.options, (run.clock, run.tally))
    plans = ready
    if run.options.sought is not None:
        telling = Telling(
            folder=run.session.data.letters,
            settings=run.settings,
            executor=run.parts.executor,
            clock=run.clock,
        )
        sought, most = run.options.sought, run.options.sought_bytes
        run.tally.left = leave_unsought(plans, sought, most, telling)
    if not run.options.paths:
        plans = [*ready, *(plan for plan in [_look_at_added(run)] if plan.scanned)]
    yield from process(run, plans)
    if not run.options.paths:
        sweep_assets(run)
        if _has_seen_all(run, plans):
            run.session.whole()
            forget_told(run.session.data.letters)
            from kb_app._costly import sweep  # as the store: not where nothing changed

            # A store that is made anew knows only from here on which files need them.
            sweep(run.session.data.costly, run.session.store.known_bytes)
    yield from embed_if_wanted(run)


def _has_seen_all(run: Run, plans: Sequence[Plan]) -> bool:
    """Say whether every source was seen; who sees none has not. Warn of one that is empty now.

    What was there before a store that is made anew is known from the index of the old one.
    """
    if not plans or run.stop.is_set() or not all(plan.verified for plan in plans):
        return False
    if not run.session.shows_another or run.options.allow_empty:
        return True
    try:
        before = published(run.parts)
    except (NotIndexed, IndexCorrupt):  # nobody is answered from it
        return True
    empty = [
        plan.source
        for plan in plans
        if not plan.scanned
        and any(row.doc_id for row in before.ledger(plan.source.source_id).values())
    ]
    run.tally.warnings += [
        f"source {source.source_id!r}: nothing is in {source.root}, where documents were; searches "
        "are answered from the old index until something is there, or with --allow-empty"
        for source in empty
    ]
    return not empty


def _scan(
    specs: Sequence[SourceSpec],
    known: Known,
    settings: Settings,
    options: IngestOptions,
    told: tuple[Clock, Tally],
) -> Generator[IngestEvent, None, list[Plan]]:
    """Walk every source, and return what has to be done for each."""
    clock, tally = told
    plans = []
    with tally.phase("scan"):
        for spec in specs:
            where = {"source_id": spec.source_id}
            yield IngestEvent(kind="scan_started", at=clock(), data={**where, "root": spec.root})
            plan = next(plan_sources([spec], known, settings, options))
            plans.append(plan)
            tally.add_looked(plan.looked)
            counts = {"scanned": plan.scanned, "candidates": len(plan.wanted)}
            yield IngestEvent(kind="scan_completed", at=clock(), data={**where, **counts})
    return plans


def _look_at_added(run: Run) -> Plan:
    store, assets = run.session.store, Assets(run.session.data.assets)

    ledger = store.ledger(ADDED_SOURCE)
    for row in unrecorded(ledger, assets.records(), assets):
        document = store.document(row.doc_id) if row.doc_id else None
        title = document.title if document is not None else None
        assets.record(record_of_row(row, title, now_ns(run)))
    return plan_added(ledger, assets.records(), assets, run.settings, run.options)


def _past(tally: Tally, begun: int, clock: Clock, plans: Sequence[Plan]) -> PastRun:
    counts = {**tally.counts(), "embedded": 0}
    return PastRun(
        kind="ingest",
        state="completed",
        started_at=begun,
        finished_at=to_epoch(clock()),
        counts={name: count for name, count in counts.items() if count},
        seen=[plan.source.source_id for plan in plans if plan.verified],
    )


def _rehearse(
    config: Config, options: IngestOptions, parts: Parts, scope: Mapping[str, Any]
) -> Generator[IngestEvent]:
    """Say what a run would do, from the published ledger; nothing is read or written."""
    tally, data = Tally(), DataDir(config.storage.data_dir)
    try:
        known = published(parts)
    except (NotIndexed, IndexCorrupt) as error:
        known = Known(ledger=lambda _: {}, sources={})
        if data.store.exists():
            tally.warnings.append(
                f"{data.lost_index() or error}; so every file is told as new, and a run, which "
                "makes the index again from the store, reads what has changed alone"
            )
    specs, settings = source_specs(config, options.paths), ingest_settings(config)
    plans = [*plan_sources(specs, known, settings, options)]
    if not options.paths:
        assets = Assets(data.assets)
        plans.append(
            plan_added(known.ledger(ADDED_SOURCE), assets.records(), assets, settings, options)
        )
    for plan in plans:
        tally.add_plan([*plan.items, *_guesses(plan)], plan.scanned, plan.warnings)
    last = _last_event(tally, scope, options, parts.clock, aborted=False)
    assert last.report is not None  # noqa: S101 - the last event has it
    embeds = options.embed and config.ingest.embed and parts.model() is not None
    wanted = [want for plan in plans for want in plan.wanted]
    workers = config.ingest.workers or os.cpu_count() or 1
    rows = expected(wanted, workers, options.without, embeds=embeds)
    yield replace(last, report=replace(last.report, expected=rows))


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


@contextmanager
def open_run_for_one(
    config: Config, parts: Parts, *, embed: bool, stop: Event | None
) -> Generator[Run]:
    """Open a run for a document that somebody names, and so wants tried again.

    Those of this process wait for one another, until *stop*: a model hands in several at once,
    and none is to be lost because the others take longer than another process is waited for.
    """
    stop = stop or Event()
    options = _with_configured(config, IngestOptions(embed=embed, retry_failed=True))
    with _turn(config.storage.data_dir, stop), open_run(config, options, parts, stop) as run:
        yield run


_LOOK_S = 0.1
"""How often who waits for its turn looks whether it is to stop."""
_turns: dict[Path, Lock] = {}
"""Of each data directory, who of this process adds a document to it."""


@contextmanager
def _turn(data_dir: Path, stop: Event) -> Generator[None]:
    lock = _turns.setdefault(data_dir, Lock())
    has_turn = lock.acquire(blocking=False)
    while not (has_turn or stop.is_set()):
        has_turn = lock.acquire(timeout=_LOOK_S)
    try:
        yield
    finally:
        if has_turn:
            lock.release()


@contextmanager
def open_run(
    config: Config, options: IngestOptions, parts: Parts, stop: Event, tally: Tally | None = None
) -> Generator[Run]:
    """Become the one writer; raise ``StoreBusy`` if another process is, for too long."""
    with disk_errors("write to the data directory"), parts.session() as session:
        yield Run(
            config=config,
            settings=ingest_settings(config),
            options=options,
            parts=parts,
            session=session,
            stop=stop,
            tally=tally or Tally(),
        )


def recorded(
    run: Run,
    kind: str,
    scope: Mapping[str, Any],
    phases: Callable[[Run], Generator[IngestEvent]],
) -> Generator[IngestEvent]:
    """Record the run when it begins, and how it ended; a kill leaves it ``running``.

    The end is published with the last batch, where nothing comes after that.
    """
    session, tally = run.session, run.tally
    run_id, told = os.urandom(16).hex(), dict[str, Any]()
    session.store.start_run(run_id, kind, scope)

    def end(state: str) -> None:
        counts = {**tally.counts(), "embedded": tally.embedded}
        now = {"state": state, "counts": counts}
        if told != now:
            session.store.finish_run(run_id, state, {"counts": counts, "ms": tally.duration_ms})
            told.update(now)

    run = replace(run, end=partial(end, "completed"))
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
        if said := run.parts.keep_safe(tally.has_changes):
            tally.warnings.append(said)
    except GeneratorExit:
        ended = "aborted"
        raise
    finally:
        tally.corpus_revision = session.control.corpus_revision
        with suppress(*((KbError,) if ended == "failed" else ())):  # it is not what went wrong
            end(ended)
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
    if run.embeds:
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
        f"'kebab ingest-file {shlex.quote(str(assets.folder / name))}' adds it again"
        for name in assets.sweep(used, now_ns(run))
    ]


def now_ns(run: Run) -> int:
    """Return the time of the run's clock in nanoseconds since the epoch."""
    return to_epoch(run.clock()) * 1_000_000_000
