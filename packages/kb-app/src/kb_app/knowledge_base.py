"""The facade: everything a user interface may do, and nothing else.

Opening a knowledge base is cheap: it reads and loads nothing. A search by words loads
neither numpy nor a model; nothing but writing opens the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from kb_core.clock import to_epoch, utc_now
from kb_core.errors import NotIndexed, ReadonlyMode
from kb_core.search import SearchFilters, SearchQuery, SearchResponse

if TYPE_CHECKING:
    from kb_app._search.freshness import Freshness
    from kb_app._wiring import LazyEmbedder
    from kb_app._write import WriteSession
    from kb_app.config import Config
    from kb_core.ingest import IngestEvent, IngestOptions
    from kb_core.ports import IndexReader, IndexSnapshot

__all__ = ["KnowledgeBase"]

Json = dict[str, Any]


class KnowledgeBase:
    """An open knowledge base.

    Get one with ``KnowledgeBase.open(config)``. Methods block, may be called from any
    thread, and raise only ``KbError``; what they return is plain values, safe to keep
    after ``close()``. Operations that are their wire object return it as a dictionary.
    Every answer is of one published revision, the newest when it was asked for.
    """

    def __init__(
        self, config: Config, *, readonly: bool = False, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._config = config
        self._readonly = readonly
        self._clock = clock

    @classmethod
    def open(cls, config: Config, *, readonly: bool = False) -> Self:
        """Open the knowledge base that *config* describes, there yet or not."""
        return cls(config, readonly=readonly)

    @property
    def readonly(self) -> bool:
        """Whether writing is refused."""
        return self._readonly

    # ---------------------------------------------------------------- reading

    def search(self, query: SearchQuery) -> SearchResponse:
        """Return the best passages for *query*, best first; no match is an empty list."""
        from kb_app._search.service import search
        from kb_app._wiring import search_settings

        settings = search_settings(self._config)
        return search(query, self._snapshot(), self._embedder, settings, self._now())

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> Json:
        """Return fetch_result.v1 of a chunk and its neighbours; a unique id prefix will do."""
        from kb_app import _reading

        snapshot = self._snapshot()
        return _reading.fetch_chunk(snapshot, chunk_id, context, self._freshness(snapshot))

    def fetch_doc(self, doc_id: str, *, max_tokens: int | None = None) -> Json:
        """Return fetch_result.v1 of a document's text, cut to ``4 * max_tokens`` characters."""
        from kb_app import _reading

        snapshot = self._snapshot()
        return _reading.fetch_doc(snapshot, doc_id, max_tokens, self._freshness(snapshot))

    def fetch_span(
        self, doc_id: str, start: int, end: int, *, max_tokens: int | None = None
    ) -> Json:
        """Return fetch_result.v1 of lines *start* to *end*, from 1 and inclusive."""
        from kb_app import _reading

        snapshot = self._snapshot()
        fresh = self._freshness(snapshot)
        return _reading.fetch_span(snapshot, doc_id, (start, end), max_tokens, fresh)

    def list_docs(self, filters: SearchFilters, *, limit: int = 100, offset: int = 0) -> Json:
        """Return doc_summary_list.v1: documents by source and path; empty where there are none."""
        from kb_app import _reading
        from kb_core import wire

        snapshot = self._snapshot_or_none()
        if snapshot is None:
            return wire.doc_list([], total=0)
        return _reading.list_docs(snapshot, filters, limit, offset)

    def inspect_doc(self, doc_id: str) -> Json:
        """Return doc_inspection.v1."""
        from kb_app import _reading

        return _reading.inspect_doc(self._snapshot(), doc_id)

    def inspect_chunk(self, chunk_id: str) -> Json:
        """Return chunk_inspection.v1."""
        from kb_app import _reading

        return _reading.inspect_chunk(self._snapshot(), chunk_id)

    def status(self, path_glob: str | None = None, state: str | None = None) -> Json:
        """Return file_status.v1: what became of every file, and why."""
        from kb_app import _reading
        from kb_core import wire

        snapshot = self._snapshot_or_none()
        if snapshot is None:
            return wire.file_status([], wire.coverage([], chunks=0, embedded=0))
        return _reading.status(snapshot, path_glob, state)

    def schema(self) -> Json:
        """Return schema.v1: what this installation can do, and what it holds."""
        from kb_app import _operations

        return _operations.schema(self._config, self._snapshot_or_none(), self._now())

    def stats(self) -> Json:
        """Return stats.v1."""
        from kb_app import _operations

        return _operations.stats(self._config, self._snapshot_or_none(), self._now())

    def models(self) -> Json:
        """Return model_list.v1."""
        from kb_app import _operations

        return _operations.models(self._config, self._snapshot_or_none())

    def doctor(self, *, deep: bool = False) -> Json:
        """Return doctor.v1; *deep* opens the store, waiting for a writer for a bounded time."""
        from kb_app import _operations

        check = self._check_store if deep else None
        return _operations.doctor(self._config, self._snapshot, self._embedder, deep=check)

    # ---------------------------------------------------------------- writing

    def ingest(
        self, options: IngestOptions, *, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        """Index what is new or changed; yield what happens.

        The last event, ``completed`` or ``aborted``, carries the report. Setting *stop*
        ends the run after the current batch; closing the iterator ends it at once. Either
        way whole documents stay behind, and the next run goes on.
        """
        self._refuse_readonly("ingest")
        from kb_app._ingest.run import ingest

        return ingest(self._config, options, self._embedder, self._clock, stop or threading.Event())

    def embed(self, *, stop: threading.Event | None = None) -> Iterator[IngestEvent]:
        """Compute the embeddings that are missing; events as of ``ingest``."""
        self._refuse_readonly("embed")
        from kb_app._ingest.run import embed

        return embed(self._config, self._embedder, self._clock, stop or threading.Event())

    def reset(self, scope: str, *, dry_run: bool) -> Json:
        """Delete what *scope* names; return reset_report.v1. A dry run only says what."""
        if not dry_run:
            self._refuse_readonly("reset")
        from kb_app import _reset
        from kb_core import wire

        if scope == "orphans-only":
            return self._reset_orphans(dry_run=dry_run)
        paths = _reset.paths_of(self._config, scope)
        removed = [(str(path), _reset.size_of(path)) for path in paths]
        if not dry_run and paths:
            if self._config.storage.data_dir.is_dir():
                with self._writer_lock():
                    _reset.delete(self._config, paths)
            else:
                _reset.delete(self._config, paths)
            self.close()
        return wire.reset_report(scope.removesuffix("-only"), removed, dry_run=dry_run)

    def close(self) -> None:
        """Let go of every file and model; closing twice is harmless."""
        self._reader.close()
        self.__dict__.pop("_reader", None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------- private

    @cached_property
    def _reader(self) -> IndexReader:
        from kb_search.reader import Reader

        return Reader(self._config.storage.data_dir)

    @cached_property
    def _embedder(self) -> LazyEmbedder:
        from kb_app._wiring import LazyEmbedder

        return LazyEmbedder(self._config)

    def _snapshot(self) -> IndexSnapshot:
        return self._reader.snapshot()

    def _snapshot_or_none(self) -> IndexSnapshot | None:
        try:
            return self._reader.snapshot()
        except NotIndexed:
            return None

    def _freshness(self, snapshot: IndexSnapshot) -> Freshness:
        from kb_app._search.freshness import Freshness

        days = self._config.search.stale_threshold_days
        return Freshness(snapshot, now=self._now(), threshold_days=days)

    def _now(self) -> int:
        return to_epoch(self._clock())

    def _refuse_readonly(self, what: str) -> None:
        if self._readonly:
            raise ReadonlyMode(
                f"{what} writes, and this knowledge base is open for reading only",
                hint="run without --readonly",
                details={"operation": what},
            )

    def _session(self) -> WriteSession:
        from kb_app._write import WriteSession

        storage = self._config.storage
        return WriteSession(
            storage.data_dir, lock_wait_secs=storage.lock_wait_secs, clock=self._clock
        )

    def _writer_lock(self) -> Any:  # noqa: ANN401 - a context manager of the store
        from kb_store import WriterLock

        storage = self._config.storage
        return WriterLock(storage.data_dir / "writer.lock", storage.lock_wait_secs, self._clock)

    def _check_store(self) -> list[str]:
        self._refuse_readonly("doctor --deep")
        with self._session() as session:
            return session.store.deep_check()

    def _reset_orphans(self, *, dry_run: bool) -> Json:
        from kb_app._ingest.run import remove_orphans
        from kb_core import wire

        known = [source.id for source in self._config.sources]
        snapshot = self._snapshot_or_none()
        docs = [d for d in snapshot.docs(None) if d["source_id"] not in known] if snapshot else []
        if docs and not dry_run:
            with self._session() as session:
                remove_orphans(session, known)
        return wire.reset_report("orphans", [], dry_run=dry_run, documents=len(docs))
