"""The composition root: the parts of a knowledge base, as its configuration asks for them.

Nobody else chooses a part. What is heavy is loaded when it is first needed, and once.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kb_app._data_dir import DataDir
from kb_app._models import model_of, models_dir, quality_of
from kb_app._parts import Parts
from kb_app._pinned import PinnedReader, is_pinned, refuse_pinned
from kb_core.clock import utc_now
from kb_core.errors import KbError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kb_app._ingest.workers.companion import Companion
    from kb_app._ingest.workers.process import Spare
    from kb_app._write import WriteSession
    from kb_app.config import Config
    from kb_core.execution import Executor
    from kb_core.ports import (
        Clock,
        CloseReader,
        Embedder,
        IndexReader,
        IndexWriter,
        LanguageModel,
        Reranker,
        Store,
    )
    from kb_core.stored import QueryResult
    from kb_search.milvus import Place
    from kb_search.terms import Task, Told
    from kb_store import WriterLock

__all__ = ["LazyEmbedder", "open_session", "parts_of"]

T = TypeVar("T")
R = TypeVar("R")

_WORKER_WORTH_SECS = 4.0
"""How long the rest of a run has to take for one worker more: several times its start."""
_TERMS_SECS = 60.0
"""How long a process may take for the terms of some hundred passages, which take milliseconds."""


def parts_of(
    config: Config,
    *,
    clock: Clock = utc_now,
    hear: Callable[[int], object] = lambda _: None,
    spare: Spare | None = None,
) -> Parts:
    """Return the parts that *config* asks for; none of them is made yet.

    *hear* is told how many passages a rebuild has taken so far. A worker that is idle is kept
    as *spare*, if that is given.
    """
    embedder = LazyEmbedder(config)
    return Parts(
        reader=partial(_reader, config),
        session=partial(_session, config, clock, hear),
        lock=partial(_lock, config, clock),
        calm=partial(_calm, config, clock),
        session_in=partial(_session_in, config, clock),
        describe=partial(_describe, config),
        salvage=partial(_salvage, clock),
        examine=partial(_examine, config, clock),
        is_cut_off=partial(_is_cut_off, config),
        examine_index=partial(_examine_index, config, clock),
        keep_safe=partial(_keep_safe, config, clock),
        engine=partial(_engine, config),
        collections=partial(_drop_index, config, dry_run=True),
        drop_index=partial(_drop_index, config, dry_run=False),
        over=partial(_over, config, clock),
        query=partial(_query, config, clock),
        model=partial(model_of, config),
        embedder=embedder,
        embed_ahead=embedder.ahead,
        reranker=embedder.reranker,
        close_reader=embedder.close_reader,
        language_model=partial(_language_model, config),
        executor=partial(_executor, config, spare=spare),
        clock=clock,
    )


class LazyEmbedder:
    """Gives the configured embedder; loads it at the first call, in whichever thread."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._reading: threading.Thread | None = None

    def ahead(self, query: str) -> None:
        """Load the model, and have it read *query* beside what the caller does next.

        Nothing is done where it is loaded, or where there are no vectors to be near to. What
        fails fails once more, for whoever needs it.
        """
        if self._embedder is not None or self._reading is not None or not self._has_vectors():
            return
        from kb_search.embed.sessions import load_library

        # Before the model is looked for: what is imported for that takes half as long.
        threading.Thread(target=load_library, name="kebab-library").start()
        with suppress(KbError):
            self._reading = threading.Thread(target=_read, args=(self(), query), name="kebab-query")
            self._reading.start()
            import kb_search.small_view  # noqa: F401 - what compares with it, while it opens

    def _has_vectors(self) -> bool:
        from kb_search.vector_files import generations

        folder = self._config.storage.data_dir / "vectors"
        with suppress(KbError, OSError):
            model = model_of(self._config)
            return model is not None and bool(generations(folder, model.key))
        return False

    def __call__(self) -> Embedder:
        from kb_search.embed import load_embedder

        if self._reading is not None:
            self._reading.join()  # its query is most likely the one that is asked for
        with self._lock:
            if self._embedder is None:
                self._embedder = load_embedder(
                    self._config.embedding.model,
                    quality=quality_of(self._config),
                    cache_dir=models_dir(),
                    threads=self._config.embedding.threads or None,
                )
            return self._embedder

    def reranker(self) -> Reranker:
        """Give what reorders the first hits: the same model, loaded once."""
        from kb_search.rerank import MaxSimReranker

        return MaxSimReranker(self())

    def close_reader(self) -> CloseReader:
        """Give what tells the sentences of a passage apart: the same model, loaded once."""
        from kb_search.rerank import CloseReader

        return CloseReader(self())


def _read(embedder: Embedder, query: str) -> None:
    with suppress(KbError):
        embedder.embed_query(query)


def _reader(config: Config) -> IndexReader:
    whole = _whole_reader(config)
    return PinnedReader(whole, config.search.allowed_sources) if is_pinned(config) else whole


def _whole_reader(config: Config) -> IndexReader:
    if config.index.engine == "milvus":
        from kb_search.milvus.reader import Reader as MilvusReader

        return MilvusReader(_place(config))
    from kb_search.reader import Reader

    return Reader(config.storage.data_dir)


def _place(config: Config) -> Place:
    from kb_app._remote import place_of
    from kb_app.paths import environment

    return place_of(config.index, environment())


def _over(config: Config, clock: Clock, engine: str, hear: Callable[[int], object]) -> Parts:
    from dataclasses import replace

    return parts_of(
        replace(config, index=replace(config.index, engine=engine)), clock=clock, hear=hear
    )


def _session(config: Config, clock: Clock, hear: Callable[[int], object]) -> WriteSession:
    refuse_pinned(config, "writing")
    storage = config.storage
    index = None
    if config.index.engine == "milvus":
        from kb_app._remote import publisher_of
        from kb_search.milvus.writer import Writer

        who = publisher_of(storage.data_dir, storage.lock_wait_secs)
        index = partial(Writer, _place(config), clock, who=who)
    return open_session(
        storage.data_dir,
        lock_wait_secs=storage.lock_wait_secs,
        clock=clock,
        index=index,
        hear=hear,
        cores=config.ingest.workers,
    )


def _session_in(config: Config, clock: Clock, data_dir: Path) -> WriteSession:
    return open_session(
        data_dir,
        lock_wait_secs=config.storage.lock_wait_secs,
        clock=clock,
        cores=config.ingest.workers,
    )


def open_session(
    data_dir: Path,
    *,
    lock_wait_secs: float,
    clock: Clock = utc_now,
    index: Callable[[], IndexWriter] | None = None,
    hear: Callable[[int], object] = lambda _: None,
    cores: int = 0,
) -> WriteSession:
    """Become the one writer of the store in *data_dir*, and of the index, there unless given.

    It uses so many *cores*; 0: all.
    """
    from kb_app._write import WriteSession
    from kb_search.writer import Writer
    from kb_store import Store, WriterLock

    data = DataDir(data_dir)
    return WriteSession(
        data,
        lock=WriterLock(data.lock, lock_wait_secs, clock),
        store=partial(Store.open, data.store, clock),
        index=index or partial(Writer, data_dir, partial(_companion, cores)),
        restore=partial(_restore, data_dir) if index is None else _restores_nothing,
        finish=_finish,
        hear=hear,
    )


def _companion(cores: int) -> Companion[Task, Told] | None:
    """Return what makes terms in another process, where there is a core for it."""
    from kb_app.config._rules import available_cores

    if (cores or available_cores()) == 1:
        return None
    from kb_app._ingest.workers.companion import Companion

    return Companion("kb_search.terms:terms_of_all", timeout_secs=_TERMS_SECS)


def _restore(data_dir: Path, store: Store) -> int:
    """Commit to *store*, an older copy, what only the index still has."""
    from kb_app._keep.repairing import restore_from_index
    from kb_search.reader import Reader

    return restore_from_index(Reader(data_dir), store)


def _restores_nothing(store: Store) -> int:
    """An index of several readers is no place to look for what a store has lost."""
    del store
    return 0


def _finish(session: WriteSession) -> str | None:
    """Go on with what is being forgotten, if anything is."""
    if not session.data.forgetting.exists():
        return None
    from kb_app._forgetting.forgetting import finish

    return finish(session)


def _lock(config: Config, clock: Clock) -> WriterLock:
    from kb_store import WriterLock

    storage = config.storage
    return WriterLock(DataDir(storage.data_dir).lock, storage.lock_wait_secs, clock)


def _calm(config: Config, clock: Clock) -> AbstractContextManager[None]:
    return _lock(config, clock).shared()


def _describe(config: Config) -> dict[str, Any]:
    from kb_store import Store

    return Store.describe(DataDir(config.storage.data_dir).store)


def _salvage(clock: Clock, damaged: Path, into: Path) -> tuple[Store, list[str]]:
    from kb_store import Store

    return Store.salvage(damaged, into, clock)


def _examine(config: Config, clock: Clock) -> list[str]:
    from kb_store import Store

    with _lock(config, clock).shared():
        return Store.examine(DataDir(config.storage.data_dir).store)


def _is_cut_off(config: Config) -> bool:
    from kb_store import Store

    return Store.is_cut_off(DataDir(config.storage.data_dir).store)


def _examine_index(config: Config, clock: Clock) -> list[str]:
    if config.index.engine == "milvus":
        from kb_search.milvus.verifying import verify as verify_rows

        return verify_rows(_place(config))
    from kb_core.disk import disk_errors
    from kb_search.sums import verify

    with disk_errors("read the index"), _lock(config, clock).shared():
        found = verify(config.storage.data_dir)
    return [f"{path} {what}" for path, what in found.items()]


def _keep_safe(config: Config, clock: Clock, has_changes: bool) -> str | None:  # noqa: FBT001
    from kb_app._keep.safety import keep_safe

    return keep_safe(config, clock, has_changes=has_changes)


def _engine(config: Config) -> str | None:
    if config.index.engine == "embedded":
        return None
    from kb_search.milvus.verifying import described

    return described(_place(config))


def _drop_index(config: Config, *, dry_run: bool) -> Sequence[str]:
    if config.index.engine == "embedded":
        return ()
    from kb_app._remote import publisher_of
    from kb_search.milvus.dropping import drop

    who = publisher_of(config.storage.data_dir, 0.0)
    return drop(_place(config), _describe(config)["store_id"], who=who, dry_run=dry_run)


def _query(config: Config, clock: Clock, sql: str, limit: int, seconds: float) -> QueryResult:
    from kb_store import query

    refuse_pinned(config, "sql")
    with _lock(config, clock).shared():
        return query(DataDir(config.storage.data_dir).store, sql, limit, seconds=seconds)


def _language_model(config: Config) -> LanguageModel | None:
    from kb_app._ask.language_models import language_model
    from kb_app.paths import environment

    return language_model(config.ask, environment())


def _executor(
    config: Config, task: Callable[[T], R], wanted: int, /, *, spare: Spare | None = None
) -> Executor[T, R]:
    from kb_app._ingest.workers.executor import ProcessExecutor

    if config.ingest.executor == "ray" and wanted > 1:
        return _ray_executor(config, task, wanted)
    most = config.ingest.workers or os.cpu_count() or 1
    count = max(1, min(most, wanted))
    return ProcessExecutor(
        task,
        workers=count,
        timeout_secs=config.limits.wall_secs,
        cpu_secs=config.limits.cpu_secs,
        memory_mb=config.limits.memory_mb,
        expected=wanted,
        worth_secs=_WORKER_WORTH_SECS,
        weigh=_size_of,
        spare=spare,
    )


def _size_of(task: object) -> int:
    """Return the size of the file that a task is about, if it is about one."""
    return int(getattr(getattr(task, "file", None), "size", 0))


def _ray_executor(config: Config, task: Callable[[T], R], wanted: int) -> Executor[T, R]:
    from kb_app._ingest.settings import ingest_settings
    from kb_app._ingest.workers.cluster.executor import RayExecutor
    from kb_app._ingest.workers.cluster.versions import installed

    address = config.ingest.ray_address
    return RayExecutor(
        task,
        actors=config.ingest.actors or (0 if address else config.ingest.workers),
        address=address,
        timeout_secs=config.limits.wall_secs,
        cpu_secs=config.limits.cpu_secs,
        memory_mb=config.limits.memory_mb,
        expected=wanted,
        versions=partial(installed, ingest_settings(config)),
    )
