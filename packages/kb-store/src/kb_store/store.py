"""The store: one DuckDB file that holds what cannot be rebuilt from anything else.

Promises: a commit is durable and whole, whatever kills the process; keys are never
given twice; what the index has not been told is kept until it has been.

It is opened by the one writer, who holds the ``WriterLock``, and by maintenance
commands that wait for it. No reader ever opens it: searches are served from the
index. Methods may be called from any thread, one at a time is served; they raise
only ``KbError``, and return values that stay good after ``close``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from kb_core.clock import utc_now
from kb_core.control import OLDER_STORE
from kb_core.errors import NotIndexed
from kb_core.ports import Clock
from kb_core.records import Changes, DocumentRecord, FileRecord, PendingPassage, Publication
from kb_store import _documents, _embeddings, _files, _meta, _publication, _tables
from kb_store._check import deep_check
from kb_store._commit import Written, commit, forget
from kb_store._errors import translate_errors
from kb_store._files import beside, remove_leftovers, set_log_aside, take_place, wal_of
from kb_store._ledger import expired_files, known_bytes, ledger
from kb_store._meta import Meta, create_meta, load_meta
from kb_store._migrate import create, is_current, last_migration, migrate
from kb_store._publication import counts, stats
from kb_store._salvage import salvage
from kb_store._session import Session, to_us
from kb_store._sums import complete_sums
from kb_store._tables import expired_aliases

__all__ = ["Store"]

_MOST_SHOWN = 5
_HEADERS, _BLOCK = 3 * 4096, 1 << 18
"""Bytes of the headers of a file of DuckDB, and of each of the blocks behind them."""


class Store:
    """An open store. Get one with ``Store.open(path)``."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._written = Written()
        """What the last commit wrote, until the index is told of it."""
        self._committed_bytes = 0
        """What the last commit added to the log."""
        self._counted: dict[str, Any] | None = None
        """What is counted, until a commit changes it: a run publishes twice or three times."""

    @classmethod
    def open(cls, path: Path, clock: Clock = utc_now) -> Self:
        """Open the store at *path*, make it if it is missing, bring it up to date.

        Raises ``StoreBusy`` if a process has it open, ``StoreNewer`` if a newer kebab
        wrote it, and ``StoreCorrupt`` if it is damaged or something else.
        """
        with translate_errors(f"open the store {str(path)!r}"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_leftovers(path)
            if not path.exists():
                set_log_aside(path)
                # A process that is killed while it makes the file leaves none there.
                _make(beside(path), clock)
                take_place(path)
        return cls(_open(path, clock), clock)

    def close(self) -> None:
        """Write a checkpoint and let go of the file; closing twice is harmless."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is stored

    @property
    def store_id(self) -> str:
        """Return the random id that the store was given when it was made."""
        return self._meta.store_id

    @property
    def sequence(self) -> int:
        """Return how many commits changed anything."""
        return self._meta.sequence

    @property
    def corpus_revision(self) -> int:
        """Return how many commits changed documents."""
        return self._meta.corpus_revision

    @property
    def vector_revision(self) -> int:
        """Return how many commits added embeddings."""
        return self._meta.vector_revision

    @property
    def _meta(self) -> Meta:
        with self._session.use("read the counters"):
            return load_meta(self._session)

    def ledger(self, source_id: str) -> dict[str, FileRecord]:
        """Return every ledger row of a source, by path."""
        with self._session.use("read the ledger"):
            return ledger(self._session, source_id)

    def document(self, doc_id: str) -> DocumentRecord | None:
        """Return a document, whole, or ``None``."""
        with self._session.use("read a document"):
            keys = _documents.find_keys(self._session, [doc_id])
            found = _documents.read_documents(self._session, list(keys.values()))
        return found[0] if found else None

    def enclosed(self, source_id: str, path: str) -> dict[str, str]:
        """Return the hashes of the bytes of all that is within a file, by path."""
        with self._session.use("look into a file"):
            return _documents.enclosed(self._session, source_id, path)

    def count_chunks(self, doc_ids: Sequence[str]) -> int:
        """Return how many chunks these documents have."""
        with self._session.use("count chunks"):
            return _documents.count_chunks(self._session, doc_ids)

    def known_bytes(self, hashes: Sequence[str]) -> set[str]:
        """Return those hashes that the bytes of some file have which is not deleted."""
        with self._session.use("compare files with what is kept of them"):
            return known_bytes(self._session, hashes)

    def doc_ids(self, source_id: str) -> list[str]:
        """Return the ids of a source's documents, by path."""
        with self._session.use("read document ids"):
            return _documents.doc_ids(self._session, source_id)

    def unaccounted_docs(self) -> list[str]:
        """Return the ids of documents that no row of the ledger says to be indexed."""
        with self._session.use("compare documents with the ledger"):
            return _documents.unaccounted(self._session)

    def stats(self) -> dict[str, Any]:
        """Return the counts that publications carry."""
        with self._session.use("count"):
            return stats(self._session, self._counts())

    def _counts(self) -> dict[str, Any]:
        if self._counted is None:
            self._counted = counts(self._session)
        return self._counted

    # Changing it

    def commit(self, changes: Changes) -> int:
        """Commit *changes*, all or nothing; return the sequence the store is at then."""
        with self._session.use("commit"):
            earlier, self._written, self._counted = self._written, Written(), None
            before = _files.wal_bytes(self._session)
            sequence, written = commit(self._session, changes, self._clock())
            self._written = earlier if written is None else written
            self._committed_bytes = _files.wal_bytes(self._session) - before
        return sequence

    def forget_expired(self, now: datetime, days: int = 90) -> int:
        """Forget deleted files and aliases older than *days*; return how many."""
        before = to_us(now - timedelta(days=days)) or 0
        with self._session.use("forget what expired"), self._session.transaction():
            self._counted, self._written = None, Written()
            files = expired_files(self._session, before)
            aliases = expired_aliases(self._session, before)
            forget(self._session, files, aliases)
        return len(files) + len(aliases)

    def erase(self, doc_ids: Sequence[str], source_ids: Sequence[str]) -> None:
        """Delete what is still said of documents and sources that are gone.

        That is aliases, descriptions, costly results, and what past runs were asked for, which
        may name files. Readers see it with the next rebuild; ``compact`` takes the bytes away.
        """
        with self._session.use("erase what is said of what is gone"):
            _tables.erase(self._session, doc_ids, source_ids)

    # Telling the index

    def publication(self, since: int) -> Publication | None:
        """Return what an index at *since* lacks, or ``None`` if it lacks nothing.

        Raises ``NotIndexed`` if that index can only be rebuilt: it is ahead of the
        store, or so far behind that the outbox has been pruned.
        """
        with self._session.use("prepare a publication"):
            written, self._written = self._written, Written()
            return _publication.publication(self._session, since, written, self._counts)

    def prune_outbox(self, published: int) -> None:
        """Forget what an index at *published* shows already."""
        with self._session.use("prune the outbox"):
            _meta.prune_outbox(self._session, published)

    def rebuild_publications(self, batch_chunks: int = 4000) -> Iterator[Publication]:
        """Yield the whole truth, at least one publication, all at the current sequence."""
        return _publication.rebuild(self._session, batch_chunks, self._counts)

    # Embedding

    def missing_passages(
        self, model_key: str, limit: int, only: Sequence[int] | None = None
    ) -> list[PendingPassage]:
        """Return passages that *model_key* has not embedded, newest documents first."""
        with self._session.use("look for passages without embeddings"):
            return _embeddings.missing_passages(self._session, model_key, limit, only)

    def count_missing(self, model_key: str) -> int:
        """Return how many different passages *model_key* has not embedded."""
        with self._session.use("count passages without embeddings"):
            return _embeddings.count_missing(self._session, model_key)

    # Runs, costly results, settings

    def start_run(self, run_id: str, kind: str, scope: Mapping[str, Any]) -> None:
        """Record that a run begins."""
        with self._session.use("record a run"):
            _tables.start_run(self._session, run_id, kind, scope, self._clock())

    def finish_run(self, run_id: str, state: str, report: Mapping[str, Any]) -> None:
        """Record how a run ended, and owe the index the time of it."""
        with self._session.use("record a run"):
            _tables.finish_run(self._session, run_id, state, report, self._clock())

    def last_runs(self, count: int) -> list[dict[str, Any]]:
        """Return the newest runs, newest first; one that died is ``interrupted``."""
        with self._session.use("read the runs"):
            return _tables.last_runs(self._session, count)

    def get_derivation(self, kind: str, content_hash: str, settings_hash: str) -> bytes | None:
        """Return a costly result that was kept, or ``None``."""
        with self._session.use("read a derivation"):
            return _tables.get_derivation(self._session, (kind, content_hash, settings_hash))

    def put_derivation(
        self, kind: str, content_hash: str, settings_hash: str, value: bytes
    ) -> None:
        """Keep a costly result."""
        key = (kind, content_hash, settings_hash)
        with self._session.use("keep a derivation"):
            _tables.put_derivation(self._session, key, value, self._clock())

    def get_setting(self, name: str) -> Any:  # noqa: ANN401 (JSON)
        """Return a setting, or ``None``."""
        with self._session.use("read a setting"):
            return _tables.get_setting(self._session, name)

    def put_setting(self, name: str, value: object) -> None:
        """Write a setting."""
        with self._session.use("write a setting"):
            _tables.put_setting(self._session, name, value)

    # Care

    def sizes(self) -> dict[str, int]:
        """Return bytes of ``database``, its log ``wal``, and in it, ``free`` and ``unused``."""
        with self._session.use("measure the store"):
            return _files.sizes(self._session)

    def checkpoint(self) -> None:
        """Fold the log into the file; for the end of a run, never inside a burst."""
        with self._session.use("write a checkpoint"):
            _files.checkpoint(self._session)

    def checkpoint_if_large(self, max_wal_bytes: int) -> bool:
        """Write a checkpoint if the log is larger than *max_wal_bytes*."""
        with self._session.use("write a checkpoint"):
            large = _files.wal_bytes(self._session) > max_wal_bytes
            if large:
                _files.checkpoint(self._session)
        return large

    def let_go_if_large(self, max_commit_bytes: int) -> bool:
        """Fold the log in and free what is kept in memory, after a commit of more than that."""
        with self._session.use("write a checkpoint"):
            large = self._committed_bytes > max_commit_bytes
            if large:
                _files.checkpoint(self._session)
                self._session.let_go()
        return large

    def compact(self, min_free_share: float = 0.25) -> bool:
        """Drop unused embeddings, and rewrite the file if that share of it is free."""
        with self._session.use("compact the store"):
            return _files.compact(self._session, min_free_share)

    def complete_sums(self) -> int:
        """Make the sums of documents that an older version stored; return how many."""
        with self._session.use("make sums of documents"):
            return complete_sums(self._session)

    def deep_check(self) -> list[str]:
        """Return what is wrong with the store: nothing, if all is well."""
        with self._session.use("check the store"):
            return deep_check(self._session)

    @classmethod
    def salvage(cls, damaged: Path, into: Path, clock: Clock = utc_now) -> tuple[Self, list[str]]:
        """Return a new store at *into* with all that can be read of the one at *damaged*.

        And what cannot be, in sentences. *damaged* stays as it is, byte for byte.
        """
        for leftover in (into, wal_of(into)):
            leftover.unlink(missing_ok=True)
        store = cls.open(into, clock)
        try:
            with store._session.use("save what can be read"):  # noqa: SLF001 - its own
                lost = salvage(store._session, damaged) if damaged.exists() else []  # noqa: SLF001
        except BaseException:
            store.close()
            raise
        return store, lost

    @classmethod
    def describe(cls, path: Path) -> dict[str, Any]:
        """Return ``store_id``, ``schema`` (its last migration), revisions, sequence and ``stats``.

        The store is opened for reading alone; raises as ``examine``.
        """
        if not path.exists():
            raise _no_store(path)
        with closing(Session(path, readonly=True)) as session, session.use("read the store"):
            is_current(session)
            meta = load_meta(session)
            return {
                "store_id": meta.store_id,
                "schema": last_migration(session),
                "corpus_revision": meta.corpus_revision,
                "sequence": meta.sequence,
                "stats": stats(session, counts(session)),
            }

    @staticmethod
    def is_cut_off(path: Path) -> bool:
        """Say whether the file at *path* has a size that no store has; it is not opened."""
        size = path.stat().st_size - _HEADERS
        return size < 0 or size % _BLOCK != 0

    @classmethod
    def examine(cls, path: Path) -> list[str]:
        """Return what is wrong with the store at *path*, which is opened for reading alone.

        Raises as ``open``, and ``NotIndexed`` if there is no store: none is made.
        """
        if not path.exists():
            raise _no_store(path)
        with closing(Session(path, readonly=True)) as session, session.use("check the store"):
            if not is_current(session):
                return [OLDER_STORE]
            load_meta(session)
            problems = deep_check(session)
            hidden = _documents.unaccounted(session)
            if hidden:
                shown = ", ".join(hidden[:_MOST_SHOWN])
                problems.append(f"no row of the ledger accounts for document {shown}")
        return problems


def _no_store(path: Path) -> NotIndexed:
    return NotIndexed(f"there is no store at {str(path)!r}", hint="run 'kebab ingest'")


def _make(path: Path, clock: Clock) -> None:
    """Make an empty store at *path*, where nothing is."""
    action = f"make the store {str(path)!r}"
    with closing(Session(path)) as session, session.use(action), session.transaction():
        create(session, clock)
        create_meta(session, clock())


def _open(path: Path, clock: Clock) -> Session:
    """Return a session of the file at *path*, brought up to date."""
    session = Session(path)
    try:
        with session.use(f"open the store {str(path)!r}"):
            migrate(session, clock)
            create_meta(session, clock())
            _tables.interrupt_runs(session)
    except BaseException:
        session.close()
        raise
    return session
