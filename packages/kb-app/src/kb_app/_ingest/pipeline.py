"""The first phase of ingest: walk, read, parse, chunk, commit, publish.

A generator of events; the last one carries the report. Batches are committed to the truth
and published one after the other, so closing the generator, or killing the process, leaves
whole documents behind, and the next run goes on. While one is being published, the next is
collected and committed. Parsing happens in worker processes; only this driver writes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from kb_app._ingest import outcomes
from kb_app._ingest.fates import Fate, apart, rows_beside, taking_back
from kb_app._ingest.making.record import Made, Task
from kb_app._ingest.outcomes import Tally
from kb_app._ingest.pace import Pace
from kb_app._ingest.plan import Plan, Wanted, source_row, unchanged_item
from kb_app._ingest.reading import Reader, Reading, settings_for
from kb_app._ingest.settings import Settings
from kb_app._ingest.workers.worker import error_of
from kb_app._media import PHASES
from kb_app._parts import Parts
from kb_app.config import Config
from kb_core import logs
from kb_core.clock import to_epoch
from kb_core.errors import IoError, StoreBusy, StoreCorrupt, StoreNewer
from kb_core.execution import Notice
from kb_core.ids import doc_id, enclosed_path
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions, Looked
from kb_core.media import Media
from kb_core.records import Changes, DocumentRecord, FileRecord, FileState, Move
from kb_core.values import dataclass, field, replace

if TYPE_CHECKING:
    from kb_app._write import WriteSession
    from kb_core.ports import Clock

__all__ = ["Run", "process"]

_THERE = frozenset({FileState.INDEXED, FileState.PENDING})
_ROWS_PER_BATCH = 5000
_CHUNKS_PER_BATCH = 4000
_CHUNKS_PER_LOOK = 16_000
_LOOK_SECS = 30.0
"""A batch of a first look ends here too, so that one which is killed has not read in vain."""
_KEPT_TO_THE_END = ("repos",)
"""What readers are told of a source only once every file of it was made by that."""
_PUBLISHING_SHARE = 10
"""A batch is collected for this many times as long as the last one took to publish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what every part of it works with, and what it adds up to."""

    config: Config
    settings: Settings
    options: IngestOptions
    parts: Parts
    session: WriteSession
    stop: Event
    tally: Tally
    ahead: Reading | None = None
    """What of the first plans is being read already."""
    end: Callable[[], object] = lambda: None
    """Records that it is over; what is committed to the truth before is published with that."""

    @property
    def embeds(self) -> bool:
        """Whether passages without a vector get one, once all is read, or it fails for that."""
        wanted = self.options.embed and self.config.ingest.embed and not self.stop.is_set()
        return wanted and self.parts.model_or_absence() != (None, None)

    @property
    def reader(self) -> Reader:
        return Reader(self.parts, self.settings, self.options, self.session.data.costly)

    @property
    def clock(self) -> Clock:
        return self.parts.clock

    def event(self, kind: str, **data: Any) -> IngestEvent:  # noqa: ANN401 - JSON values
        return IngestEvent(kind=kind, at=self.clock(), data=data)


@dataclass(slots=True)
class _Batch:
    """What the next commit will hold."""

    documents: list[DocumentRecord] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    files: list[FileRecord] = field(default_factory=list)
    chunks: int = 0
    opened: float = field(default_factory=time.perf_counter)
    committed: Changes = Changes()
    """All of it, once it is committed."""
    sequence: int = 0
    """Of the store then; 0 where that, or what comes with it, was refused."""

    def changes(self, sources: Mapping[str, Mapping[str, Any]]) -> Changes:
        return Changes(
            documents=tuple(self.documents),
            moves=tuple(self.moves),
            kept=tuple(self.kept),
            deleted_docs=tuple(self.deleted),
            files=tuple(self.files),
            sources=sources,
        )

    def is_full(self, run: Run, least_secs: float) -> bool:
        is_look = run.options.is_first_look
        most = _CHUNKS_PER_LOOK if is_look else _CHUNKS_PER_BATCH
        if self.chunks >= most or len(self.files) >= _ROWS_PER_BATCH:
            return True
        documents, limits = len(self.documents) + len(self.moves), run.config.ingest
        secs = time.perf_counter() - self.opened
        if is_look:
            return documents > 0 and secs > _LOOK_SECS
        enough = documents >= limits.batch_docs or (documents > 0 and secs > limits.batch_secs)
        return enough and secs >= least_secs


def process(run: Run, plans: Sequence[Plan]) -> Generator[IngestEvent]:
    """Do what was planned, batch by batch; stops after the current batch when told to."""
    writer = _Writing(run, plans)
    for plan in plans:
        run.tally.add_plan(plan.items, plan.scanned, plan.warnings)
    try:
        yield from writer.decided(plans)
        yield from writer.outcomes(plans)
        if not run.stop.is_set():
            yield from writer.removals()
            writer.note_verified()
        yield from writer.flush(force=True, is_last=writer.ends_here)
        yield from writer.later_phases()
    finally:
        writer.settle()


class _Writing:
    """Collects outcomes into batches and commits them."""

    def __init__(self, run: Run, plans: Sequence[Plan]) -> None:
        self._run = run
        self._batch = _Batch()
        self._unpublished: list[_Batch] = []
        """What is being published, and what is being committed."""
        self._published_secs = 0.0
        self._now = run.clock()
        self._sources = {plan.source.source_id: source_row(plan) for plan in plans}
        self._pending_sources: dict[str, Mapping[str, Any]] = {}
        self._describe(plans)
        self._gone = {(row.source_id, row.path): row for plan in plans for row in plan.gone}
        self._movable: defaultdict[str, list[FileRecord]] = defaultdict(list)
        for row in self._gone.values():
            if row.state in _THERE and row.bytes_hash and row.reason is None:
                self._movable[row.bytes_hash].append(row)
        self._plans = plans
        self._waiting = [(plan, want) for plan in plans for want in plan.waiting]
        """What waits for a later phase that this run goes through."""

    @property
    def ends_here(self) -> bool:
        """Whether nothing of the run comes after what is read."""
        return not (self._waiting or self._run.stop.is_set() or self._run.embeds)

    def decided(self, plans: Sequence[Plan]) -> Generator[IngestEvent]:
        """Commit what needs no reading: rows, and the removal of what is not to be found.

        A row that says so and the removal are one step, however soon the run is stopped.
        """
        self._batch.deleted += self._run.session.store.unaccounted_docs()
        for row in (row for plan in plans for row in plan.rows):
            hidden = self._gone.pop((row.source_id, row.path), None)
            if hidden is not None:
                self._remove(hidden)
            self._batch.files.append(replace(row, changed_at=self._now, processed_at=self._now))
            yield from self.flush()
        for row in [row for row in self._gone.values() if row.reason is not None]:
            yield from self._remove_whole(row)

    def outcomes(self, plans: Sequence[Plan]) -> Generator[IngestEvent]:
        """Have every wanted file made, and take in what comes of it."""
        wanted, ahead = [(plan, want) for plan in plans for want in plan.wanted], self._run.ahead
        if ahead is not None and ahead.wanted:
            yield from self._taken(ahead)
            wanted = wanted[len(ahead.wanted) :]
        if not self._run.stop.is_set():
            yield from self._make(wanted)

    def later_phases(self) -> Generator[IngestEvent]:
        """Have what waits for a later phase made again, newest first; it replaces what is there.

        Whatever ends it, what is not made yet goes on waiting.
        """
        phases = tuple(phase for phase in PHASES if phase not in self._run.options.without)
        waiting = sorted(self._waiting, key=lambda each: -each[1].file.mtime_ns)
        if waiting and not self._run.stop.is_set():
            yield from self._make(waiting, phases)
            yield from self.flush(force=True)

    def _make(
        self, wanted: Sequence[tuple[Plan, Wanted]], phases: tuple[str, ...] = ()
    ) -> Generator[IngestEvent]:
        enclosed = self._run.session.store.enclosed
        yield from self._taken(self._run.reader.read(wanted, enclosed, phases), phases)

    def _taken(self, reading: Reading, phases: tuple[str, ...] = ()) -> Generator[IngestEvent]:
        """Take in what comes of a *reading*."""
        run, done, total = self._run, 0, len(reading.wanted)
        known = {(w.file.source_id, w.file.path): (plan, w) for plan, w in reading.wanted}
        pace = Pace({key: want.file.size for key, (_, want) in known.items()} if phases else {})
        with closing(reading):
            for result in reading:
                file = result.task.file
                if isinstance(result, Notice):
                    yield self._under_way(result, total, pace)
                    if phases and run.stop.is_set():
                        return  # what it made so far is kept, part by part
                    continue
                done += 1
                plan, want = known[(file.source_id, file.path)]
                item = self._take(want, result.value, result.error, is_late=bool(phases))
                pace.finished((file.source_id, file.path))
                if phases:
                    item = run.tally.complete(item)
                else:
                    run.tally.add(item)
                    self._note_waiting(plan, want, result.value)
                yield self._run.event(
                    "asset_finished",
                    source_id=file.source_id,
                    doc_path=file.path,
                    item=item,
                    done=done,
                    total=total,
                    **({"phase": want.known.reason} if phases and want.known else {}),
                    **pace.expected(),
                )
                yield from self.flush()
                if run.stop.is_set():
                    return

    def _note_waiting(self, plan: Plan, want: Wanted, made: Made | None) -> None:
        row = self._batch.files[-1]
        is_wanted = row.reason not in self._run.options.without
        if row.state is FileState.PENDING and made is not None and is_wanted:
            self._waiting.append((plan, replace(want, known=row)))

    def _under_way(self, told: Notice[Task], total: int, pace: Pace) -> IngestEvent:
        file, kind, more = told.task.file, "asset_started", dict[str, Any]()
        if told.phase:
            kind, more = "asset_phase", {"phase": told.phase}
        if told.whole:
            more |= {"reached": told.reached, "whole": told.whole}
            pace.reached((file.source_id, file.path), told.reached, told.whole)
            more |= pace.expected()
        where = {"source_id": file.source_id, "doc_path": file.path}
        return self._run.event(kind, **where, total=total, **more)

    def removals(self) -> Generator[IngestEvent]:
        """Remove what is gone and was not moved."""
        for row in list(self._gone.values()):
            yield from self._remove_whole(row)

    def _remove_whole(self, row: FileRecord) -> Generator[IngestEvent]:
        """Remove the document of a row whose file is gone, and let the row say so."""
        del self._gone[row.source_id, row.path]
        self._remove(row)
        detail = None if row.state is FileState.PENDING else row.detail
        gone = replace(row, state=FileState.DELETED, detail=detail, doc_id=None)
        self._batch.files.append(replace(gone, changed_at=self._now))
        yield from self.flush()

    def _remove(self, row: FileRecord) -> None:
        if row.doc_id:
            self._batch.deleted.append(row.doc_id)
            self._run.tally.add(outcomes.deleted_item(row))

    def note_verified(self) -> None:
        """Remember that these sources were seen whole."""
        verified = to_epoch(self._now)
        for plan in self._plans:
            if plan.verified:
                source_id = plan.source.source_id
                row = {**self._sources[source_id], **source_row(plan), "verified_at": verified}
                self._pending_sources[source_id] = row

    def flush(self, *, force: bool = False, is_last: bool = False) -> Generator[IngestEvent]:
        """Commit and publish the batch when it is full, or anyway; with the last, the run's end.

        One that is full is published beside what comes next, and told of when that is done.
        """
        batch, run = self._batch, self._run
        if not (force or batch.is_full(run, self._published_secs * _PUBLISHING_SHARE)):
            if self._unpublished and not run.session.is_publishing:
                yield from self._told(self.settle())
            return
        batch.committed = batch.changes(self._pending_sources)
        if batch.committed == Changes():
            yield from self._told(self.settle())
            return
        self._unpublished.append(batch)
        self._batch, self._pending_sources = _Batch(), {}
        if force:
            end = run.end if is_last else None
            step = partial(run.session.commit, batch.committed, end)
        else:
            step = partial(run.session.commit_ahead, batch.committed)
        started = time.perf_counter()
        published = self._publish(step)
        self._published_secs = time.perf_counter() - started + run.session.beside_secs
        run.tally.phase_secs["store"] += self._published_secs
        is_all = is_last and not (run.tally.left.files or run.session.shows_another)
        yield from self._told(published, looked=run.tally.looked if is_all else None)

    def settle(self) -> Sequence[_Batch]:
        """Wait until what was committed is published; return what that was."""
        return self._publish(self._run.session.settle)

    def _told(
        self, published: Sequence[_Batch], looked: Looked | None = None
    ) -> Generator[IngestEvent]:
        revision = self._run.session.control.corpus_revision
        for batch in published:
            documents = len(batch.documents) + len(batch.moves)
            if documents or batch.deleted:
                event = self._run.event(
                    "committed", revision=revision, documents=documents, chunks=batch.chunks
                )
                yield replace(event, looked=looked)

    def _publish(self, step: Callable[[], object]) -> Sequence[_Batch]:
        """Take a *step*; return what is published with it.

        What one document is at fault for costs that document alone.
        """
        session = self._run.session
        batches, self._unpublished = self._unpublished, []
        try:
            step()
        except (OSError, IoError, StoreBusy, StoreCorrupt, StoreNewer):
            raise  # no document's fault: what the truth has taken, the next run publishes
        except Exception as error:
            with suppress(Exception):  # it may be the batch before that is refused
                session.settle()
            seen = session.control.sequence
            refused = [each for each in batches if not 0 < each.sequence <= seen]
            if not any(apart(each.committed) for each in refused):
                raise
            logs.logger(__name__).warning(
                "a batch was refused, so it is committed one by one: %s", error
            )
            self._one_by_one([each.committed for each in refused])
        if batches:
            batches[-1].sequence = session.store.sequence
        self._unpublished = batches[-1:] if session.is_ahead else []
        return batches[: len(batches) - len(self._unpublished)]

    def _one_by_one(self, refused: Sequence[Changes]) -> None:
        session = self._run.session
        parted = [(changes, apart(changes)) for changes in refused]
        session.take_back(*(taking_back(fates) for _, fates in parted))
        for changes, fates in parted:
            rows = rows_beside(changes, fates)
            session.commit(replace(changes, documents=(), moves=(), kept=(), files=rows))
            for fate in fates:
                self._alone(fate)

    def _alone(self, fate: Fate) -> None:
        session = self._run.session
        try:
            session.commit(fate.changes)
        except Exception as error:  # noqa: BLE001 - whatever a value in it is refused with
            session.take_back(taking_back([fate]))
            before = session.store.document(fate.first.doc_id)
            row, item = outcomes.refused(fate.row, before, fate.first, error_of(error), self._now)
            session.commit(Changes(files=(row,)))
            self._run.tally.replace(item)

    def _describe(self, plans: Sequence[Plan]) -> None:
        """Readers need a source's root from its first document on."""
        published = self._run.session.control.sources
        for plan in plans:
            source_id = plan.source.source_id
            known = published.get(source_id, {})
            later = _KEPT_TO_THE_END if plan.verified else ()
            kept = {name: known[name] for name in later if name in known}
            row = {**self._sources[source_id], "verified_at": known.get("verified_at"), **kept}
            self._sources[source_id] = row
            if row != known:
                self._pending_sources[source_id] = row

    def _take(
        self,
        want: Wanted,
        made: Made | None,
        error: Mapping[str, Any] | None,
        *,
        is_late: bool = False,
    ) -> IngestItem:
        if made is not None and made.documents:
            late = want.known.reason if is_late and want.known else None
            for name, millis in made.phases_ms.items():
                named = late if late and name == "parse" else name
                self._run.tally.phase_secs[named] += millis / 1000
            keeps = not is_late and outcomes.knows_more(want, made)
            return self._keep(want, made) if keeps else self._store(want, made)
        settings = settings_for(want, self._run.settings)
        if made is None:
            row, item = outcomes.failure(want, error or {}, settings, self._now)
        elif made.skipped is not None and outcomes.stays(want, made):
            if is_late and made.fingerprint is not None:
                row, item = outcomes.nothing_more(want, made, self._now)
            else:
                row, item = outcomes.unmade(want, made, settings, self._now)
        elif made.skipped is not None:
            row, item = outcomes.skip(want, made, self._now)
            if want.known is not None and want.known.doc_id:
                # What is skipped now is not searchable any more.
                self._batch.deleted.append(want.known.doc_id)
        else:
            row, item = outcomes.same_again(want, made)
        self._batch.files.append(row)
        return item

    def _keep(self, want: Wanted, made: Made) -> IngestItem:
        """Leave what is indexed as it is until the phase that *made* waits for."""
        first = made.documents[0]
        self._batch.files.append(outcomes.stored_row(want, made, first, self._now))
        return unchanged_item(made.file, first.doc_id)

    def _store(self, want: Wanted, made: Made) -> IngestItem:
        first = made.documents[0]
        old = self._moved_from(want, first.bytes_hash)
        self._batch.kept += made.kept
        if old is None:
            self._batch.documents += made.documents
        else:
            self._batch.moves += [self._move(old, document) for document in made.documents]
            self._batch.files.append(outcomes.moved_away(old, first.path, self._now))
        self._batch.chunks += sum(len(document.chunks) for document in made.documents)
        self._batch.files.append(outcomes.stored_row(want, made, first, self._now))
        item = outcomes.stored_item(want, made, first, old)
        kept = self._run.session.store.count_chunks(made.kept) if made.kept else 0
        return replace(item, chunk_count=(item.chunk_count or 0) + kept)

    def _move(self, old: FileRecord, document: DocumentRecord) -> Move:
        old_id = old.doc_id or ""
        if document.container is not None:
            within = document.path.removeprefix(enclosed_path(document.container, ""))
            old_id = doc_id(old.source_id, old.path, within)
            if document.media != Media.CODE:  # no context of it names the file that it is in
                return Move(old_doc_id=old_id, document=document)
        before = self._run.session.store.document(old_id)
        document = outcomes.with_old_passages(document, before)
        return Move(old_doc_id=old_id, document=document)

    def _moved_from(self, want: Wanted, digest: str) -> FileRecord | None:
        """Return the row of the file that was moved or renamed to this one, and use it up.

        It has the same content hash, *digest*, and its own path is gone.
        """
        if want.asset is not None:
            return None  # that its bytes were in a source once does not make it a file of one
        if want.known is not None and want.known.state in _THERE:
            return None
        candidates = self._movable.get(digest)
        if not candidates:
            return None
        # Of several equal files the one in the same source with the same name comes first.
        name = want.file.path.rpartition("/")[2]
        best = max(
            candidates,
            key=lambda row: (
                row.source_id == want.file.source_id,
                row.path.rpartition("/")[2] == name,
                row.path,
            ),
        )
        candidates.remove(best)
        del self._gone[(best.source_id, best.path)]
        return best
