"""Writing the index on Milvus: rows first, then the one control row, then what is old goes.

Order of a publication: new rows are written with ``born`` at its sequence, which no reader
looks at yet; rows that it replaces get it as ``died``, until which readers go on to see them;
then the control row is replaced. **That is the publication.** Rows that were replaced longer
than ten minutes ago are removed afterwards.

Whatever was interrupted is taken back by the next writer: rows born after the published
sequence go, and what died after it lives. So replaying a publication repeats it exactly.

A rebuild fills collections of a generation of their own and ends with the same one write:
several collections change places at once, which aliases cannot. So does a publisher that
follows one over another data directory (``lease``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Self, TypeVar

from kb_core.clock import to_epoch, utc_now
from kb_core.control import Control, VectorFiles
from kb_core.errors import ConfigInvalid, KbError, NotIndexed
from kb_core.ports import Clock
from kb_core.quantization import dequantize
from kb_core.records import Publication
from kb_core.values import replace
from kb_search.milvus import Place
from kb_search.milvus.counts import Segment, merged, named, segment_rows, to_merge
from kb_search.milvus.engine import Engine
from kb_search.milvus.expressions import ALL, FAR, Expression, all_of, any_of, listed, visible
from kb_search.milvus.lease import Lease, Publisher
from kb_search.milvus.rows import (
    CHUNKS,
    RECORDS,
    Analysed,
    Row,
    alias_row,
    analysed,
    chunk_row,
    chunk_row_of,
    doc_rows,
    file_row,
    more_rows,
    vector_fields,
    vector_row,
    weights_of,
)
from kb_search.milvus.snapshot import KEPT_SECS, MOVED, Snapshot
from kb_search.milvus.state import (
    INDEX_VERSION,
    Names,
    State,
    collections_of,
    generation_of,
    read_state,
    write_state,
)
from kb_search.schema import key_of
from kb_search.statistics import PASSAGES, SCORED_FIELDS, add_up, pivots
from kb_search.weighing import AGAIN, FILLING

__all__ = ["Writer"]

T = TypeVar("T")

_FLUSHED_ROWS = 2000
_SMALL = 2000
"""So many passages are weighed anew whenever mean lengths move; a larger index, seldom."""
_GROWN = 2
_KEYS_A_SEGMENT = 64
_BATCH = 500


class Writer:
    """An ``IndexWriter``. The caller holds the writer lock of the truth, this one the lease."""

    is_mostly_dead = False
    """What is replaced is removed ten minutes later, so nothing gathers."""
    damage: Sequence[str] = ()

    def __init__(
        self, place: Place, clock: Clock = utc_now, *, who: Publisher | None = None
    ) -> None:
        self._engine = Engine(place)
        self._base = place.collection
        self._clock = clock
        self._unflushed: Counter[str] = Counter()
        self._is_closed = False
        self._state: State | None = None
        self._others: State | None = None
        """What a publisher over another data directory has published, until we do."""
        self._lease = Lease(self._engine, self._base, who or Publisher(), clock)
        try:
            self._lease.take()
            self._begin()
        except BaseException:
            self._engine.close()
            raise

    def _begin(self) -> None:
        """Go on from what is published, if it is ours."""
        with suppress(NotIndexed):
            state = read_state(self._engine, self._base)
            if state.term == self._lease.term:
                self._state = state
                self._take_back(state)
            else:
                self._others = state

    @property
    def control(self) -> Control | None:
        """The published control record; ``None`` where the index has to be rebuilt."""
        return self._state.control if self._state else None

    def publish(self, publication: Publication, /) -> Control:
        """Make *publication* what readers see; publishing it again changes nothing."""
        self._refuse_another(publication)
        before = self._state or self._fresh(publication.store_id)
        if self._state is not None and publication.sequence == before.control.sequence:
            return before.control
        try:
            self._lease.hold()
            after = _Step(self, before, publication).taken()
            return self._publish(before, after)
        except BaseException:
            if self._state is not None:
                with suppress(KbError):  # who opens it next takes it back
                    self._take_back(self._state)
            raise

    def prepare(self, publication: Publication, /) -> Callable[[], Control]:
        """Return what publishes *publication*: most of that is the server's work."""
        return partial(self.publish, publication)

    def rebuild(self, publications: Iterable[Publication], /) -> Control:
        """Replace everything by what *publications* add up to, published in one step."""
        state = self._fresh("")
        try:
            for publication in publications:
                self._refuse_another(publication)
                self._lease.hold()
                state = _Step(self, state, publication, is_fresh=True).taken()
            state = self._weighed(state)
        except BaseException:
            with suppress(KbError):
                self._drop(state.generation)
            raise
        return self._publish(self._state or self._others or state, state)

    def wipe(self) -> None:
        """Begin with nothing; a rebuild has to follow."""
        for name in collections_of(self._base, self._engine.names()):
            self._engine.drop(name)
        self._state = self._others = None

    def close(self) -> None:
        """Have all sealed and indexed, and let go; closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        for name in [name for name, rows in self._unflushed.items() if rows >= _FLUSHED_ROWS // 4]:
            self._engine.flush(name)
        self._lease.release()
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------- what a step asks for

    def make_vectors(self, name: str, dimensions: int) -> None:
        """Make the collection of a model's vectors, if there is none."""
        self._engine.make(name, vector_fields(dimensions))

    def write(self, name: str, rows: Sequence[Row], *, partial: bool = False) -> None:
        """Write rows, and have them sealed where there are many."""
        if not rows:
            return
        self._engine.upsert(name, rows, partial=partial)
        self._unflushed[name] += len(rows)
        if self._unflushed[name] >= _FLUSHED_ROWS:
            self._engine.flush(name)
            self._unflushed[name] = 0

    def rows(self, name: str, where: Expression, fields: Sequence[str]) -> list[Row]:
        """Return rows of a condition."""
        return self._engine.rows(name, where, fields)

    def delete(self, name: str, where: Expression) -> None:
        """Delete rows."""
        self._engine.delete(name, where)

    def snapshot(self, state: State) -> Snapshot:
        """Return what a state shows."""
        return Snapshot(self._engine, self._base, state)

    # ---------------------------------------------------------------- private

    def _refuse_another(self, publication: Publication) -> None:
        """Refuse to replace what another store published here, or a later state of this one."""
        published = (self._state or self._others or State(control=Control(store_id=""))).control
        if published.store_id not in {"", publication.store_id}:
            problem = "is of another store, and this one would replace it"
        elif self._others and publication.sequence < published.sequence:
            problem = "is ahead of this copy of the store, which would take back what it shows"
        else:
            return
        raise ConfigInvalid(
            f"the index {self._base!r} {problem}",
            hint="set index.collection to another name, or run where it was published from; "
            "'kebab reset --index-only' drops it",
            details={"field": "index.collection", "value": self._base},
        )

    def _fresh(self, store_id: str) -> State:
        """Return a state that shows nothing yet, in collections of its own."""
        generation = self._lease.generation_after(self._newest_generation())
        self._make(Names(self._base, generation))
        control = Control(store_id=store_id)
        return State(control=control, term=self._lease.term, generation=generation)

    def _make(self, names: Names) -> None:
        self._engine.make(names.chunks, CHUNKS)
        self._engine.make(names.records, RECORDS)

    def _publish(self, before: State, after: State) -> Control:
        now = to_epoch(self._clock())
        history = (*before.history, (before.control.sequence, now))
        kept = tuple((rev, at) for rev, at in history if now - at < KEPT_SECS)
        past = [rev for rev, at in history if now - at >= KEPT_SECS]
        after = replace(after, history=kept, purged=max([before.purged, *past]))
        self._lease.hold()
        write_state(self._engine, self._base, after)
        self._state, self._others = after, None
        if after.purged > before.purged and after.generation == before.generation:
            self._purge(after)
        return after.control

    def _purge(self, state: State) -> None:
        for name in self._collections(state):
            self._engine.delete(name, f"died <= {state.purged + 1}")

    def _take_back(self, state: State) -> None:
        """Remove what was written after the published sequence, and revive what it replaced."""
        sequence = state.control.sequence
        for name in self._collections(state):
            late = self._engine.rows(name, f"born > {sequence}", ["born"])
            if late:
                self._engine.delete(name, f"born > {sequence}")
            dying = self._engine.rows(name, f"died > {sequence} and died < {FAR}", ["born"])
            self.write(name, [{"pk": row["pk"], "died": FAR} for row in dying], partial=True)
        for name in self._engine.names():
            generation = generation_of(self._base, name)
            is_older = 0 < generation < state.generation
            is_begun = generation > state.generation and self._lease.is_ours(generation)
            if is_begun or (is_older and not self._is_read(state)):
                self._engine.drop(name)

    def _is_read(self, state: State) -> bool:
        """Say whether somebody may still read what was replaced."""
        now = to_epoch(self._clock())
        return any(now - at < KEPT_SECS for _, at in state.history)

    def _collections(self, state: State) -> list[str]:
        names = Names(self._base, state.generation)
        models = map(names.vectors, state.control.vectors)
        return [name for name in (names.chunks, names.records, *models) if self._engine.has(name)]

    def _newest_generation(self) -> int:
        found = (generation_of(self._base, name) for name in self._engine.names())
        return max(filter(None, found), default=0)

    def _drop(self, generation: int) -> None:
        for name in self._engine.names():
            if generation_of(self._base, name) == generation:
                self._engine.drop(name)

    def _weighed(self, state: State) -> State:
        """Weigh what was just built by the mean lengths that came out."""
        should = pivots(state.control.statistics)
        if should == state.pivots:
            return state
        name = Names(self._base, state.generation).chunks
        found = self.snapshot(state).read_chunks(ALL, [])
        for part in _parts(found):
            words = ((r["pk"], weights_of(analysed(*chunk_row_of(p)), should)) for r, p in part)
            self.write(name, [{"pk": pk, "words": w} for pk, w in words], partial=True)
        return replace(state, pivots=should, weighed=state.control.statistics.get(PASSAGES, 0))


class _Step:
    """One publication on its way into the rows; readers see nothing of it yet."""

    def __init__(
        self, writer: Writer, before: State, publication: Publication, *, is_fresh: bool = False
    ) -> None:
        self._writer = writer
        self._before = before
        self._new = publication
        self._rev = publication.sequence
        self._names = Names(writer._base, before.generation)  # noqa: SLF001 - its own other half
        self._now = visible(before.control.sequence)
        self._shows = writer.snapshot(before)
        self._is_fresh = is_fresh

    def taken(self) -> State:
        """Write all rows of the step, and return the state that shows them."""
        gone = [doc.doc_key for doc in self._new.documents] + list(self._new.removed_docs)
        old = self._old_chunks(gone)
        found = [(d, c, analysed(c, d)) for d in self._new.documents for c in d.chunks]
        statistics = add_up(self._before.control.statistics, (a.lengths for _, _, a in found))
        statistics = add_up(statistics, (a.lengths for _, a in old), -1)
        state = self._with_pivots(self._before, statistics)
        rows = [
            row
            for doc, chunk, each in found
            for row in chunk_row(chunk, doc, each, state.pivots, self._rev)
        ]
        chunks, more = more_rows(rows)
        if state.pivots != self._before.pivots and not self._is_fresh:
            chunks += self._weighed_anew(gone, state.pivots)
        fresh = {int(row["chunk_key"]): row for row in chunks}
        self._writer.write(self._names.chunks, chunks)
        self._writer.write(self._names.records, [*more, *self._records()])
        vectors = self._vectors(fresh, gone)
        if not self._is_fresh:
            replaced = listed("chunk_key", fresh)
            self._end(self._names.chunks, any_of([listed("doc_key", gone), replaced]))
            self._end_records(gone)
        segments = self._counted(state.segments, [(d.doc_id, a) for d, _, a in found], old)
        control = replace(
            self._before.control,
            store_id=self._new.store_id,
            sequence=self._rev,
            corpus_revision=self._new.corpus_revision,
            vector_revision=self._new.vector_revision,
            index_version=INDEX_VERSION,
            records_sequence=self._rev,
            vectors=vectors,
            statistics=statistics,
            stats=self._new.stats or self._before.control.stats,
            sources=self._new.sources or self._before.control.sources,
        )
        return replace(state, control=control, segments=segments)

    # ---------------------------------------------------------------- private

    def _old_chunks(self, gone: Sequence[int]) -> list[tuple[str, Analysed]]:
        """Return the passages that go, as they were counted, each with its document's id."""
        if self._is_fresh:
            return []
        found = self._shows.read_chunks(listed("doc_key", gone), [])
        return [(payload["doc_id"], analysed(*chunk_row_of(payload))) for _, payload in found]

    def _with_pivots(self, state: State, statistics: Mapping[str, int]) -> State:
        """Return *state* with the mean lengths that rows are weighed by from here on."""
        should, passages = pivots(statistics), statistics[PASSAGES]
        off = [max(should[f], n) / min(should[f], n) for f, n in state.pivots.items()]
        is_small = passages <= _SMALL and not self._is_fresh
        has_grown = passages > _GROWN * state.weighed and not self._is_fresh
        if state.pivots and not (is_small or has_grown or max(off) > MOVED):
            return state
        if state.pivots and self._is_fresh:
            return state
        return replace(state, pivots=should, weighed=passages)

    def _weighed_anew(self, gone: Sequence[int], kept: Mapping[str, int]) -> list[Row]:
        """Return all passages that stay, weighed by other mean lengths."""
        names = [field.name for field in CHUNKS if field.name != "words"]
        made = []
        for row, payload in self._shows.read_chunks(ALL, names):
            if row["doc_key"] not in gone:
                words = weights_of(analysed(*chunk_row_of(payload)), kept)
                made.append({**row, "words": words} | self._born(row))
        return made

    def _born(self, row: Row) -> Row:
        return {"pk": f"{row['chunk_key']}@{self._rev}", "born": self._rev, "died": FAR}

    def _records(self) -> Iterable[Row]:
        for doc in self._new.documents:
            yield from doc_rows(doc, self._rev)
        for file in self._new.files:
            yield from file_row(file, self._rev)
        for old_id, new_id in self._new.aliases.items():
            yield from alias_row(old_id, new_id, self._rev)

    def _vectors(self, fresh: Mapping[int, Row], gone: Sequence[int]) -> dict[str, VectorFiles]:
        known = dict(self._before.control.vectors)
        for key, description in self._new.models.items():
            size = description["dimensions"]
            assert isinstance(size, int)  # noqa: S101 - the store checked it
            self._writer.make_vectors(self._names.vectors(key), size)
            if key not in known:
                known[key] = VectorFiles(
                    model_key=key,
                    dimensions=size,
                    generation=self._before.generation,
                    rows=0,
                    dead=0,
                    model=dict(description),
                )
        return {key: self._vectors_of(files, fresh, gone) for key, files in known.items()}

    def _vectors_of(
        self, files: VectorFiles, fresh: Mapping[int, Row], gone: Sequence[int]
    ) -> VectorFiles:
        """Write a model's rows: the new vectors, and those of passages that were written anew."""
        name = self._names.vectors(files.model_key)
        given = {v.chunk_key: v.vector for v in self._new.vectors.get(files.model_key, ())}
        dead = set(self._new.dead_chunks)
        touched = any_of([listed("doc_key", gone), listed("chunk_key", [*given, *dead])])
        where = all_of([self._now, touched])
        old = self._writer.rows(name, where, ["chunk_key", "vector"])
        kept = {int(row["chunk_key"]): row["vector"] for row in old}
        made = {key: dequantize(vector) for key, vector in given.items()} | {
            key: kept[key] for key in kept if key in fresh and key not in given
        }
        lacking = [key for key in made if key not in fresh]
        shown = {**fresh, **self._shown(lacking)}
        rows = [vector_row(shown[key], made[key], self._rev) for key in made if key in shown]
        self._writer.write(name, rows)
        ends = [{"pk": row["pk"], "died": self._rev} for row in old]
        self._writer.write(name, [end for end in ends if not self._is_new(end["pk"])], partial=True)
        return replace(files, rows=files.rows + len(rows) - len(old), dead=0)

    def _is_new(self, key: str) -> bool:
        return key.rpartition("@")[2] == str(self._rev)

    def _shown(self, keys: Sequence[int]) -> dict[int, Row]:
        """Return the rows of passages that are there already."""
        names = [f.name for f in CHUNKS if f.name not in {"words", "payload", "terms", "called"}]
        where = all_of([self._visible_now(), listed("chunk_key", keys)])
        rows = self._writer.rows(self._names.chunks, where, names)
        return {int(row["chunk_key"]): row for row in rows}

    def _visible_now(self) -> str:
        # Of a rebuild the passages may have come with a step of the same sequence.
        return visible(self._rev) if self._is_fresh else self._now

    def _end(self, name: str, where: Expression) -> None:
        """Let rows that are seen now be replaced from this step on; a rebuild just drops them."""
        if self._is_fresh:
            self._writer.delete(name, where)
            return
        rows = self._writer.rows(name, all_of([self._now, f"born < {self._rev}", where]), ["born"])
        self._writer.write(name, [{"pk": r["pk"], "died": self._rev} for r in rows], partial=True)

    def _end_records(self, gone: Sequence[int]) -> None:
        files = [key_of("file", f.source_id, f.path) for f in self._new.files]
        files += [key_of("file", *place) for place in self._new.forgotten_files]
        aliases = [key_of("alias", old_id) for old_id in self._new.aliases]
        for kind, keys in (("doc", gone), ("text", gone), ("file", files), ("alias", aliases)):
            self._end(self._names.records, all_of([f'kind == "{kind}"', listed("key", keys)]))
        more = all_of(['kind == "more"', listed("doc_key", gone)])
        self._end(self._names.records, more)

    def _counted(
        self,
        segments: Sequence[Segment],
        found: Sequence[tuple[str, Analysed]],
        old: Sequence[tuple[str, Analysed]],
    ) -> tuple[Segment, ...]:
        """Write by how much counts differ, together with segments that are hardly larger."""
        counts = _counts_of(found)
        counts.subtract(_counts_of(old))
        if not any(counts.values()):
            return tuple(segments)
        key = max((s.key for s in segments), default=0) + 1
        made, rows = segment_rows(key, counts, self._rev)
        many = to_merge([*segments, made]) - 1
        if many:
            last = [segment.key for segment in segments[-many:]]
            made, rows = segment_rows(
                key, merged([counts, *self._shows.counts_of(last)]), self._rev
            )
            self._end(self._names.records, all_of(['kind == "count"', listed("key", last)]))
        self._writer.write(self._names.records, rows)
        return (*segments[: len(segments) - many], made)


def _counts_of(passages: Iterable[tuple[str, Analysed]]) -> Counter[str]:
    """Count the passages that hold a term, and those of which another one of its document does."""
    counts: Counter[str] = Counter()
    stems: dict[str, Counter[str]] = defaultdict(Counter)
    for doc_id, each in passages:
        counts.update(named(f, term) for f in SCORED_FIELDS for term in each.counts[f])
        stems[doc_id].update((FILLING, *each.counts["stem"]))
    for held in stems.values():
        counts.update({named(AGAIN, term): count - 1 for term, count in held.items() if count > 1})
    return counts


def _parts(rows: Sequence[T]) -> Iterable[Sequence[T]]:
    return (rows[at : at + _BATCH] for at in range(0, len(rows), _BATCH))
