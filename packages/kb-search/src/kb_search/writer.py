"""Writing the index: one publication is one atomic step for every reader.

Order of a publication: vectors are appended and synced beyond the published lengths;
the record index is committed, each record with its sequence, while the terms of the chunks
are made; once that is done, the chunk index is committed with the batch's chunks and the new
control record. **That last commit is the publication.** Whatever was interrupted before it
is invisible, and replaying the publication repeats it exactly.

Two faults of tantivy 0.27 are remedied whenever an index is opened, before anything
else: files that a killed commit left behind are collected (or every later commit fails
with "file already exists"), and one no-op delete is made (or a delete that is the first
operation of a writer can be lost while small segments wait for a merge).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from typing import Self, TypeAlias

import tantivy
from tantivy import FieldType, Occur, Query

from kb_core.disk import remove_folder
from kb_core.errors import IndexCorrupt
from kb_core.records import Control, DocumentRecord, Publication, VectorFiles
from kb_core.values import replace
from kb_search import common_words, sums
from kb_search.narrowing import only
from kb_search.opening import (
    CONTROL,
    INDEX_VERSION,
    can_be_opened,
    control_of,
    damaged,
    open_index,
    payload_of,
    read_segments,
    remove_unlisted,
    translate_errors,
)
from kb_search.schema import (
    Terms,
    alias_document,
    chunk_document,
    chunks_schema,
    control_document,
    doc_document,
    doc_fields,
    doc_shared,
    file_document,
    filler_document,
    has_records,
    key_of,
    length_field,
    record_keys,
    records_schema,
    text_document,
    tombstone,
)
from kb_search.statistics import (
    PASSAGES,
    SCORED_FIELDS,
    Counted,
    add_up,
    balance,
    dear,
    measure,
    pivots,
)
from kb_search.terms import Companion, terms_beside, terms_of
from kb_search.vector_files import cut_tails, remove_other_generations, start

__all__ = ["Writer"]

_CHUNK_HEAP_BYTES = 40_000_000
_RECORD_HEAP_BYTES = 16_000_000
_MADE_AHEAD = 2_000
"""Of how many passages at most the terms are made before a publication is begun; of a publication
with as many, a companion makes them: it starts in the time that a thousand take."""
_MOST_BESIDE = 32_000_000
"""Characters of a batch that are handed to a companion: their terms take three times as much."""
_MOST_FILLINGS = 8
_WORTH_EXPUNGING = 1000

_VERIFIED_BYTES = 1 << 26
"""What a writer reads of an index before it goes on with it: 16 ms; a small index, whole."""

Made: TypeAlias = tuple[tantivy.Document, Mapping[str, int]]
"""A chunk as the engine takes it, and its lengths by field."""


class Writer:
    """An ``IndexWriter``. The caller holds the writer lock; one per data directory.

    What a writer left here is verified first, all of it up to a size; where anything is
    damaged, it is dropped whole, and ``damage`` says what it was.

    *find_companion* is asked once, when there is much to prepare, for a process that makes terms
    beside this one; the writer closes it.
    """

    def __init__(
        self, data_dir: Path, find_companion: Callable[[], Companion | None] = lambda: None
    ) -> None:
        self._find_companion = find_companion
        self._data_dir = data_dir
        self._lexical_dir = data_dir / "lexical"
        self._vectors_dir = data_dir / "vectors"
        with translate_errors("open the index for writing"):
            wrong = sums.verify(data_dir, _VERIFIED_BYTES)
            self.damage: Sequence[str] = sums.damage(data_dir, wrong)
            sums.begin(data_dir)
        try:
            if wrong:
                raise damaged(next(iter(wrong)))
            self._open()
        except IndexCorrupt as error:
            self.damage = self.damage if wrong else [str(error)]
            self.wipe()

    def _open(self) -> None:
        with translate_errors("open the index for writing"):
            self._chunks = _Part(self._lexical_dir / "chunks", chunks_schema(), _CHUNK_HEAP_BYTES)
            self._records = _Part(
                self._lexical_dir / "records", records_schema(), _RECORD_HEAP_BYTES
            )
            self._control = self._read_control()
            folder = self._lexical_dir / "chunks"
            told = common_words.CommonWords(folder, read_segments(folder).state)
            self._common: common_words.Counts = told.counts if self._control is not None else {}
            """In how many passages common words stand at what is committed, where that is known."""
            self._counted_apart = 0
            self._is_uneven = False
            """Whether what would fill up the index is put off until the writer lets go."""

    def wipe(self) -> None:
        """Drop both indexes and the vectors, and begin with nothing."""
        with translate_errors("drop the damaged index"):
            self._control = None  # whatever of this is refused: there is nothing to go on with
            self.__dict__.pop("_chunks", None)  # and with it the engine's own lock
            self.__dict__.pop("_records", None)
            for folder in (self._lexical_dir, self._vectors_dir):
                if folder.exists():
                    remove_folder(folder)
        self._open()

    @property
    def _is_open(self) -> bool:
        """Whether both indexes are there: the disk may refuse them once they were dropped."""
        return "_records" in self.__dict__ and "_chunks" in self.__dict__

    @property
    def control(self) -> Control | None:
        """The published control record; ``None`` where the index has to be rebuilt."""
        return self._control

    def publish(self, publication: Publication, /) -> Control:
        """Make *publication* what readers see; publishing it again changes nothing."""
        return self._publish(publication, _made(_terms_here(publication.documents)))

    def prepare(self, publication: Publication, /) -> Callable[[], Control]:
        """Make the terms of *publication*; return what publishes it."""
        with translate_errors("prepare a publication"):
            if (beside := self._made_beside(publication.documents)) is not None:
                return partial(self._publish, publication, beside)
            made = _made(_terms_here(publication.documents))
            first = list(islice(made, _MADE_AHEAD))
        return partial(self._publish, publication, chain(first, made))

    def _made_beside(self, documents: Sequence[DocumentRecord]) -> Iterator[Made] | None:
        """Have the terms of *documents* made beside, if that is worth it; return the chunks."""
        if sum(len(doc.chunks) for doc in documents) < _MADE_AHEAD:
            return None
        if sum(len(doc.text) for doc in documents) > _MOST_BESIDE:
            return None
        companion = self._companion
        return _made(terms_beside(documents, companion)) if companion is not None else None

    @cached_property
    def _companion(self) -> Companion | None:
        return self._find_companion()

    def _publish(self, publication: Publication, made: Iterator[Made]) -> Control:
        before = self._control or Control(store_id=publication.store_id)
        records = _Aside()
        with translate_errors("publish"):
            try:
                files = self._append(before, publication)
                control = _advance(before, publication, files)
                if has_records(publication):
                    self._write_records(before, publication)
                    records.start(self._records.writer.commit)
                    control = replace(control, records_sequence=publication.sequence)
                control = self._write_chunks(before, publication, control, (records, made))
            except BaseException:
                records.join()
                self._roll_back()
                raise
        return self._published(control)

    @property
    def is_mostly_dead(self) -> bool:
        """Whether more than half of what the chunk index is to hold is deleted, or filling."""
        passages = self._control.statistics.get(PASSAGES, 0) if self._control else 0
        records = read_segments(self._lexical_dir / "chunks").records
        if self._is_uneven and self._control:
            records += len(self._lacking(self._control))
        return records > 2 * passages + _WORTH_EXPUNGING

    def rebuild(self, publications: Iterable[Publication]) -> Control:
        """Replace everything by what *publications* add up to, published in one step.

        Records are committed before that, and are of the sequence that readers are at until
        then: else they would be told meanwhile, or after a kill, that there is no document.
        """
        control, counted = Control(store_id=""), _NOTHING
        shown = self._control.sequence if self._control is not None else None
        if not self._is_open:
            self._open()
        with translate_errors("rebuild the index"):
            try:
                self._common = {}
                self._chunks.writer.delete_all_documents()
                self._records.writer.delete_all_documents()
                for publication, made in self._made_ahead(publications):
                    files = self._append(control, publication)
                    control = _advance(control, publication, files)
                    rev = publication.sequence
                    self._add_records(publication, rev if shown is None else min(shown, rev))
                    lengths = self._add_chunks(made)
                    counted = counted.plus(lengths)
                    control = replace(control, statistics=add_up(control.statistics, lengths))
                control = replace(control, records_sequence=control.sequence)
                self._records.writer.commit()
                self._commit_chunks(control, counted)
            except BaseException:
                self._roll_back()
                raise
            for part in (self._records, self._chunks):
                part.renew()
        return self._published(control)

    def _made_ahead(
        self, publications: Iterable[Publication]
    ) -> Iterator[tuple[Publication, Iterator[Made]]]:
        """Yield *publications* with their chunks, one later where a companion makes the terms."""
        waiting: tuple[Publication, Iterator[Made]] | None = None
        for publication in publications:
            beside = self._made_beside(publication.documents)
            if waiting is not None:
                yield waiting
            waiting = (publication, beside) if beside is not None else None
            if waiting is None:
                yield publication, _made(_terms_here(publication.documents))
        if waiting is not None:
            yield waiting

    def _published(self, control: Control) -> Control:
        for files in control.vectors.values():
            remove_other_generations(self._vectors_dir, files)
        state = read_segments(self._lexical_dir / "chunks").state
        self._control = replace(control, index_state=state)
        return self._control

    def close(self) -> None:
        """Wait for merges, fill up what they changed, and let go; closing twice is harmless."""
        if (companion := self.__dict__.get("_companion")) is not None:
            companion.close()
        if not self._is_open or self._chunks.is_closed:
            return
        counting = _Aside()
        if self._control and self._control.statistics.get(PASSAGES, 0) >= common_words.LARGE:
            counting.start(self._count_ahead)  # beside the merges, which change no count
        self._records.close()
        self._chunks.close()
        counting.join()  # what it raised, a reader finds out for itself
        if self._control is None:
            return
        self._fill_up(self._control)
        with suppress(OSError, ValueError):  # without sums, less is noticed; nothing is lost
            sums.leave(self._data_dir)
            folder = self._lexical_dir / "chunks"
            common_words.leave(folder, read_segments(folder).state, self._common)

    def _count_ahead(self) -> None:
        """Count common words, where readers would have to count passages that hold them."""
        index = self._chunks.index
        index.reload()
        passages = self._control.statistics[PASSAGES] if self._control else 0
        if not self._common and index.searcher().doc_freq("kind", "chunk") != passages:
            self._common = common_words.count(index)

    def _fill_up(self, control: Control) -> None:
        for _ in range(_MOST_FILLINGS):
            with translate_errors("fill up the index"):
                fillers = self._lacking(control)
                if not fillers:
                    break
                self._chunks.open()
                self._add_fillers(fillers)
                self._chunks.writer.commit()
            self._chunks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------- opening

    def _read_control(self) -> Control | None:
        """Return the control record if the whole index can be gone on with."""
        if self._chunks.made or self._records.made:
            return None
        searcher = self._chunks.index.searcher()
        hits = searcher.search(only(CONTROL, self._chunks.index.schema), 2, count=False).hits
        if len(hits) != 1:
            return None
        control = control_of(payload_of(searcher.doc(hits[0][1]), CONTROL))
        if control.index_version != INDEX_VERSION:
            return None
        try:
            for files in control.vectors.values():
                cut_tails(self._vectors_dir, files)
        except OSError as error:
            if error.errno is None:  # missing, or too short
                return None
            raise
        return control

    # ---------------------------------------------------------------- vectors

    def _append(self, before: Control, publication: Publication) -> dict[str, VectorFiles]:
        known = dict(before.vectors)
        for key, description in publication.models.items():
            if key not in known:
                size = description["dimensions"]
                assert isinstance(size, int)  # noqa: S101 - the store checked it
                known[key] = start(self._vectors_dir, key, description, size)
        return {key: self._append_to(files, publication) for key, files in known.items()}

    def _append_to(self, files: VectorFiles, publication: Publication) -> VectorFiles:
        # A failed publication may have left a tail in this very process.
        cut_tails(self._vectors_dir, files)
        rows = publication.vectors.get(files.model_key, ())
        if not (rows or publication.dead_chunks):
            return files
        from kb_search.appending import append  # not where nothing is found by meaning

        return append(self._vectors_dir, files, rows, publication.dead_chunks)

    # ---------------------------------------------------------------- records

    def _write_records(self, before: Control, publication: Publication) -> None:
        part = self._records
        rev = publication.sequence
        part.delete(self._rev(before.sequence + 1, None))
        self._delete_superseded(before)
        if keys := list(record_keys(publication)):
            part.delete(part.terms("key", keys), self._rev(rev, None))
        for removed in publication.removed_docs:
            part.writer.add_document(tombstone("doc", removed, rev))
            part.writer.add_document(tombstone("text", removed, rev))
        for source_id, path in publication.forgotten_files:
            key = key_of("file", source_id, path)
            part.writer.add_document(tombstone("file", key, rev))
        self._add_records(publication, rev)

    def _add_records(self, publication: Publication, rev: int) -> None:
        add = self._records.writer.add_document
        for doc in publication.documents:
            add(doc_document(doc, rev))
            add(text_document(doc, rev))
        for file in publication.files:
            add(file_document(file, rev))
        for old_id, new_id in publication.aliases.items():
            add(alias_document(old_id, new_id, rev))

    def _delete_superseded(self, before: Control) -> None:
        """Delete what the newest published batch replaced: no snapshot needs it any more."""
        part = self._records
        newest = self._rev(before.records_sequence, before.sequence)
        part.index.reload()
        searcher = part.index.searcher()
        hits = searcher.search(newest, max(1, searcher.num_docs), count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits])
        if keys:
            older = self._rev(None, before.records_sequence - 1)
            part.delete(part.terms("key", [int(key or 0) for key in keys]), older)
        dead = Query.term_query(part.index.schema, "dead", 1)
        part.delete(dead, self._rev(None, before.sequence))

    def _rev(self, low: int | None, high: int | None) -> Query:
        return Query.range_query(self._records.index.schema, "rev", FieldType.Integer, low, high)

    # ----------------------------------------------------------------- chunks

    def _write_chunks(
        self,
        before: Control,
        publication: Publication,
        control: Control,
        parts: tuple[_Aside, Iterator[Made]],
    ) -> Control:
        """Add and commit the chunks that are made; not before the records are committed."""
        part, (records, chunks) = self._chunks, parts
        part.index.reload()
        searcher = part.index.searcher()
        statistics = before.statistics
        gone = [doc.doc_key for doc in publication.documents] + list(publication.removed_docs)
        common, self._common = self._common if self._are_few(gone) else {}, {}
        lost = common_words.count_among(common, part.index, gone)
        if gone:
            replaced = part.terms("doc_key", gone)
            statistics = add_up(statistics, _lengths_of(searcher, replaced), -1)
            part.delete(replaced)
        lengths = self._add_chunks(chunks)
        control = replace(control, statistics=add_up(statistics, lengths))
        counted = measure(part.index, searcher) if self._control is not None else _NOTHING
        part.delete(only(CONTROL, part.index.schema))
        records.wait()
        self._commit_chunks(control, counted.plus(lengths))
        # A segment of nothing but deleted records is dropped by the commit, uncounted.
        if fillers := self._unless_dear(self._lacking(control)):
            self._add_fillers(fillers)
            part.writer.commit()
        made = [doc.doc_key for doc in publication.documents]
        gained = common_words.count_among(common, part.index, made)
        self._common = common_words.changed(common, lost, gained)
        return control

    def _are_few(self, docs: Sequence[int]) -> bool:
        """Say whether common words are counted in these alone, or all of them at the end."""
        self._counted_apart += bool(docs)
        return len(docs) <= common_words.FEW and self._counted_apart <= common_words.FEW_TIMES

    def _commit_chunks(self, control: Control, counted: Counted) -> None:
        """Commit what was added, with the control record and what fills the index up."""
        aims = pivots(control.statistics)
        self._add_fillers(self._unless_dear(balance(counted.plus([aims]), aims)))
        self._chunks.writer.add_document(control_document(control))
        self._chunks.writer.commit()

    def _unless_dear(self, fillers: list[dict[str, int]]) -> list[dict[str, int]]:
        """Return *fillers*, or none of them where they wait for the last of many publications."""
        self._is_uneven = dear(fillers)
        return [] if self._is_uneven else fillers

    def _lacking(self, control: Control) -> list[dict[str, int]]:
        """Return what would fill up the index as it is committed."""
        index = self._chunks.index
        index.reload()
        return balance(measure(index, index.searcher()), pivots(control.statistics))

    def _add_fillers(self, fillers: Iterable[dict[str, int]]) -> None:
        for lengths in fillers:
            self._chunks.writer.add_document(filler_document(lengths))

    def _add_chunks(self, made: Iterable[Made]) -> list[Mapping[str, int]]:
        """Add chunks; return their lengths by field."""
        add, added = self._chunks.writer.add_document, []
        for document, lengths in made:
            add(document)
            added.append(lengths)
        return added

    def _roll_back(self) -> None:
        for part in (self._chunks, self._records):
            try:
                part.writer.rollback()
                part.burn_first_operation()
            except ValueError:  # the writer is gone already; the next open recovers
                continue


def _made(told: Iterable[tuple[DocumentRecord, Iterable[Terms]]]) -> Iterator[Made]:
    """Yield the chunks of documents, of their terms: nothing of the index is looked at."""
    for doc, chunks in told:
        shared, fields = doc_shared(doc, keep_absent=False), doc_fields(doc)
        for chunk, terms in zip(doc.chunks, chunks, strict=True):
            yield chunk_document(chunk, fields, shared, terms), terms.lengths


def _terms_here(
    documents: Iterable[DocumentRecord],
) -> Iterator[tuple[DocumentRecord, Iterable[Terms]]]:
    return ((doc, terms_of(doc)) for doc in documents)


class _Aside:
    """Work that is done beside other work: the engine lets go of the interpreter meanwhile."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], object]) -> None:
        self._thread = Thread(target=self._do, args=(work,))
        self._thread.start()

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
            self._error = error

    def join(self) -> None:
        """Return once the work has ended, whatever came of it; at once, if there is none."""
        if self._thread is not None:
            self._thread.join()

    def wait(self) -> None:
        """Return once the work is done; raise what it raised."""
        self.join()
        if self._error is not None:
            raise self._error


class _Part:
    """One of the two indexes with its writer, opened with the remedies for both faults."""

    def __init__(self, path: Path, schema: tantivy.Schema, heap_bytes: int) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.made = not can_be_opened(path, schema)
        if self.made:
            remove_folder(path)
            path.mkdir()
        self._path, self.index = path, open_index(path, schema)
        self.index.config_reader("manual", 0)
        self._heap_bytes = heap_bytes
        self.open()

    def open(self) -> None:
        """Become the writer of the index, again if it was closed."""
        self.writer = self.index.writer(self._heap_bytes, 1)
        self.collect_leftovers()
        self.burn_first_operation()
        self.is_closed = False

    def renew(self) -> None:
        """Become the writer anew, of the files of what is published alone.

        A merge under way holds what was replaced, and leaves what came of it.
        """
        self.close()
        remove_unlisted(self._path)
        self.open()

    def collect_leftovers(self) -> None:
        """Remove what a killed commit left: its files would stand in the way of the next."""
        self.writer.garbage_collect_files()

    def burn_first_operation(self) -> None:
        """Delete nothing, so that no real delete is the first operation of a writer."""
        self.writer.delete_documents_by_query(Query.empty_query())

    def delete(self, *conditions: Query) -> None:
        """Delete what meets every condition. Never by term: on some fields that does nothing."""
        query = Query.boolean_query([(Occur.Must, condition) for condition in conditions])
        self.writer.delete_documents_by_query(query)

    def terms(self, field: str, values: list[int]) -> Query:
        return Query.term_set_query(self.index.schema, field, values)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            with translate_errors("finish merging"):
                self.writer.wait_merging_threads()


_NOTHING = Counted(0, {})


def _lengths_of(searcher: tantivy.Searcher, query: Query) -> Sequence[dict[str, int]]:
    """Return the lengths by field of the chunks that *query* finds."""
    hits = searcher.search(query, max(1, searcher.num_docs), count=False).hits
    addresses = [address for _, address in hits]
    columns = {
        field: searcher.fast_field_values(length_field(field), addresses) for field in SCORED_FIELDS
    }
    return [
        {field: int(column[row] or 0) for field, column in columns.items()}
        for row in range(len(addresses))
    ]


def _advance(before: Control, publication: Publication, files: dict[str, VectorFiles]) -> Control:
    return replace(
        before,
        store_id=publication.store_id,
        sequence=publication.sequence,
        corpus_revision=publication.corpus_revision,
        vector_revision=publication.vector_revision,
        index_version=INDEX_VERSION,
        vectors=files,
        stats=publication.stats or before.stats,
        sources=publication.sources or before.sources,
    )
