"""Reading the index: snapshots of one published state, for any number of processes.

Protocol: before each question, ``stat`` the chunk index's ``meta.json``; when it changed,
reload, take searchers, read the control record and map the vector files to the published
lengths. The records of a batch are committed before its chunks, so the records that a
snapshot sees are at or ahead of its control record; each carries the sequence it was
written at, and a snapshot takes the newest at or below its own. Superseded records are
deleted one batch later, which is why the chunk index must not have moved on while the
records were opened.

Before anything is opened, the files are looked at (``kb_search.sums``). What is damaged is
left out where the rest can do without: a snapshot says so, and answers from what is whole.

No lock is taken, and nothing is written.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import tantivy

from kb_core.control import Control, VectorFiles
from kb_core.disk import disk_hint
from kb_core.errors import IndexCorrupt, IoError, KbError, NotIndexed
from kb_core.values import replace
from kb_search.common_words import CommonWords
from kb_search.narrowing import only
from kb_search.opening import (
    CONTROL,
    INDEX_VERSION,
    NO_INDEX_HINT,
    Mirror,
    control_of,
    damaged,
    open_index,
    payload_of,
    read_segments,
    translate_errors,
)
from kb_search.snapshot import Snapshot
from kb_search.sums import look, read_sums
from kb_search.texts import Shelf
from kb_search.vector_files import Layout, VectorSet

__all__ = ["Reader"]

_TRIES = 50
_PAUSE_SECS = 0.005
_STUCK = "run 'kebab doctor'; 'kebab reset --index-only' and 'kebab ingest' rebuild it"

_OF_WORDS = (".pos", ".fieldnorm")
"""Of a segment of chunks, what nothing but a ranking by words needs."""

Signature = tuple[int, int, int]


class Reader:
    """An ``IndexReader`` over ``lexical/`` and ``vectors/`` below a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._chunks_dir = data_dir / "lexical" / "chunks"
        self._meta = str(self._chunks_dir / "meta.json")
        self._records_dir = data_dir / "lexical" / "records"
        self._vectors_dir = data_dir / "vectors"
        self._lock = threading.Lock()
        self._chunks: tantivy.Index | None = None
        self._records: tantivy.Index | None = None
        self._signature: Signature | None = None
        self._snapshot: Snapshot | None = None
        self._mirror = Mirror()
        self._shelf = Shelf()
        self._vector_sets: dict[tuple[object, ...], VectorSet] = {}

    def snapshot(self) -> Snapshot:
        """Return the newest published state; raise ``NotIndexed`` if there is none."""
        with self._lock:
            signature = self._sign()
            if self._snapshot is None or signature != self._signature:
                self._snapshot, self._signature = self._load(signature)
            return self._snapshot

    def close(self) -> None:
        """Let go of searchers and maps; snapshots that were handed out stay good."""
        with self._lock:
            self._chunks = self._records = self._snapshot = None
            self._shelf = Shelf()
            self._vector_sets.clear()

    def _sign(self) -> Signature:
        try:
            status = os.stat(self._meta)  # noqa: PTH116 - a Path takes longer than its stat
        except FileNotFoundError as error:
            if read_sums(self._data_dir) is not None:
                raise damaged(f"{self._chunks_dir / 'meta.json'} is missing") from error
            raise NotIndexed("nothing has been indexed here yet", hint=NO_INDEX_HINT) from error
        except OSError as error:
            raise IoError(
                f"could not read the index: {error}", hint=disk_hint(error.errno)
            ) from error
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _load(self, signature: Signature) -> tuple[Snapshot, Signature]:
        problem: KbError | OSError | None = None
        for _ in range(_TRIES):
            snapshot: Snapshot | None = None
            try:
                with translate_errors("open the index"):
                    snapshot = self._read()
            except (KbError, OSError) as error:
                self._chunks = self._records = None
                problem = error
            newest = self._sign()
            if newest == signature:
                if snapshot is not None:
                    return snapshot, signature
                if isinstance(problem, NotIndexed):
                    raise problem
                if isinstance(problem, IndexCorrupt) and self._is_settled():
                    raise problem
                time.sleep(_PAUSE_SECS)
            # Otherwise the writer published while this was read: look again.
            signature = newest
        if isinstance(problem, IndexCorrupt):
            raise problem
        raise IoError(
            "could not get a steady view of the index"
            + (f": {problem}" if problem is not None else ""),
            hint=(problem.hint if isinstance(problem, IoError) else None) or _STUCK,
        )

    def _read(self) -> Snapshot:
        wrong = self._look()
        try:
            chunks, searcher = self._open_chunks()
        except ValueError:
            if wrong:  # the engine cannot do without, after all
                raise damaged(next(iter(wrong.values()))) from None
            raise
        segments = read_segments(self._chunks_dir)
        control = replace(_control(chunks, searcher), index_state=segments.state)
        records = None if "records" in wrong else self._open_records()
        found = {key: self._vectors(files, wrong) for key, files in control.vectors.items()}
        vectors = {key: vector_set for key, vector_set in found.items() if vector_set is not None}
        return Snapshot(
            control=replace(control, vectors={key: control.vectors[key] for key in vectors}),
            chunks=(chunks, searcher),
            segments=segments,
            common=CommonWords(self._chunks_dir, segments.state),
            records=records,
            vectors=vectors,
            shelf=self._shelf,
            damage=wrong,
        )

    def _is_settled(self) -> bool:
        """Say whether no writer is at it, whose files could come and go."""
        return read_sums(self._data_dir) is not None

    def _look(self) -> dict[str, str]:
        """Return what is damaged, by what suffers; raise where that is everything."""
        sums = read_sums(self._data_dir)
        wrong = look(self._data_dir, sums) if sums is not None else {}
        if not wrong or read_sums(self._data_dir) != sums:  # a writer has begun meanwhile
            return {}
        for path, what in wrong.items():
            if _area(path) == "all":
                raise damaged(f"{path} {what}")
        return {_area(path): f"{path} {what}" for path, what in wrong.items()}

    def _open_chunks(self) -> tuple[tantivy.Index, tantivy.Searcher]:
        folder = self._mirror.of(self._chunks_dir)
        if self._chunks is None:
            self._chunks = _opened(folder)
        else:
            self._chunks.reload()
        return self._chunks, self._chunks.searcher()

    def _open_records(self) -> tuple[tantivy.Schema, tantivy.Searcher]:
        folder = self._mirror.of(self._records_dir)
        if self._records is None:
            self._records = _opened(folder)
        self._records.reload()
        return self._records.schema, self._records.searcher()

    def _vectors(self, files: VectorFiles, wrong: dict[str, str]) -> VectorSet | None:
        """Map a model's vectors; ``None``, and a line in *wrong*, where they are damaged.

        Where no file of them is left, somebody took them away, and there are none for now.
        A writer that replaced them has published before, so that the caller reads again.
        """
        model_key = files.model_key
        stem = Layout.of(self._vectors_dir, files).path("").name
        if said := wrong.pop(f"vectors/{stem}", None):
            if any(self._vectors_dir.glob(f"{stem}*")):
                wrong[model_key] = said
            return None
        key = (model_key, files.generation, files.rows, files.dead)
        found = self._vector_sets.get(key)
        if found is None:
            for stale in [known for known in self._vector_sets if known[0] == model_key]:
                del self._vector_sets[stale]
            try:
                found = self._vector_sets[key] = VectorSet.open(self._vectors_dir, files)
            except (FileNotFoundError, ValueError) as error:  # or shorter than was published
                wrong[model_key] = f"the vectors cannot be read: {error}"
                return None
        return found


def _area(path: str) -> str:
    """Return what suffers where a file is damaged: ``all``, if nothing can do without."""
    folder, _, name = path.rpartition("/")
    if name == ".managed.json":
        return "writing"  # nothing that is read needs it
    if folder == "vectors":
        return f"vectors/{name.rpartition('.')[0]}."
    if folder == "lexical/records":
        return "records"
    return "words" if name.endswith(_OF_WORDS) else "all"


def _opened(path: Path) -> tantivy.Index:
    index = open_index(path)
    index.config_reader("manual", 0)
    return index


def _control(index: tantivy.Index, searcher: tantivy.Searcher) -> Control:
    hits = searcher.search(only(CONTROL, index.schema), 2, count=False).hits
    if not hits:
        raise NotIndexed("the index is empty: no run has finished yet", hint="run 'kebab ingest'")
    control = control_of(payload_of(searcher.doc(hits[0][1]), CONTROL))
    if control.index_version != INDEX_VERSION:
        raise NotIndexed(
            f"the index is of version {control.index_version!r}, this is {INDEX_VERSION!r}",
            hint="run 'kebab ingest' to rebuild it; nothing is parsed or embedded again",
            details={"index_version": control.index_version},
        )
    return control
