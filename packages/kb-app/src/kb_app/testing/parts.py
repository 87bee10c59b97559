"""The parts of a knowledge base in a test: in memory, or real and all in this process."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from kb_app._ingest.judging.kinds import Caps
from kb_app._ingest.settings import Settings
from kb_app._parts import Parts
from kb_app.config import Config
from kb_app.knowledge_base import KnowledgeBase
from kb_core.documents import ChunkLimits
from kb_core.ports import Clock, Embedder, IndexReader, Store
from kb_core.testing.fakes import MemoryIndex, fixed_clock
from kb_core.values import replace
from kb_search.rerank import CloseReader

if TYPE_CHECKING:
    from kb_app._wiring import LazyEmbedder

__all__ = ["SETTINGS", "memory_parts", "open_here", "writable_parts"]

SETTINGS = Settings(
    model="none",
    cache_dir="",
    limits=ChunkLimits(target_tokens=300, overlap_tokens=30, max_tokens=480),
    window=512,
    caps=Caps(),
    allow_secrets=False,
)
"""What files are read by, where a test asks for nothing else."""


def memory_parts(index: IndexReader, embedder: Embedder, clock: Clock | None = None) -> Parts:
    """Return parts that read *index*; whatever would write is an error of the test."""
    return Parts(
        reader=lambda: index,
        session=_no_store,
        lock=_no_store,
        calm=_no_store,
        session_in=_no_store,
        describe=_no_store,
        salvage=_no_store,
        examine=list,
        examine_index=list,
        keep_safe=lambda _: None,
        over=_no_store,
        query=_no_store,
        model=lambda: embedder.model,
        embedder=lambda: embedder,
        reranker=_no_store,
        close_reader=lambda: CloseReader(embedder),
        language_model=lambda: None,
        executor=_no_store,
        clock=clock or fixed_clock(),
    )


def writable_parts(store: Store, index: MemoryIndex, embedder: Embedder, data_dir: Path) -> Parts:
    """Return parts that write to *store* and *index*, and files to *data_dir*; in one process."""
    from kb_app._data_dir import DataDir  # what most tests have no use for
    from kb_app._ingest.workers.executor import InlineExecutor
    from kb_app._write import WriteSession

    clock = fixed_clock()
    return Parts(
        reader=lambda: index,
        session=lambda: WriteSession(
            DataDir(data_dir), lock=nullcontext(), store=lambda: store, index=lambda: index
        ),
        lock=nullcontext,
        calm=nullcontext,
        session_in=_no_store,
        describe=_no_store,
        salvage=_no_store,
        examine=lambda: list(store.deep_check()),
        examine_index=list,
        keep_safe=lambda _: None,
        over=_no_store,
        query=_no_store,
        model=lambda: embedder.model,
        embedder=lambda: embedder,
        reranker=_no_store,
        close_reader=lambda: CloseReader(embedder),
        language_model=lambda: None,
        executor=lambda task, _: InlineExecutor(task),
        clock=clock,
    )


def _no_store(*_: object) -> NoReturn:
    raise AssertionError("this knowledge base is in memory, and has no such part")


_embedders: dict[object, LazyEmbedder] = {}
"""The one that was asked for last."""


class _KnowledgeBaseHere(KnowledgeBase):
    @property
    def is_working(self) -> bool:
        return False  # whoever asks would end the process, which is the test's


def open_here(config: Config, readonly: bool = False) -> KnowledgeBase:  # noqa: FBT001, FBT002
    """Open what *config* describes, with real parts that work in this process alone.

    Files are read without a worker, and a model is loaded once for all tests that follow.
    """
    from kb_app._ingest.workers.executor import InlineExecutor
    from kb_app._models import models_dir, quality_of
    from kb_app._wiring import LazyEmbedder, parts_of

    wanted = (config.embedding, quality_of(config), models_dir())
    if wanted not in _embedders:
        _embedders.clear()
    embedder = _embedders.setdefault(wanted, LazyEmbedder(config))
    parts = replace(
        parts_of(config),
        executor=lambda task, _: InlineExecutor(task),
        embedder=embedder,
        embed_ahead=embedder.ahead,
        reranker=embedder.reranker,
        close_reader=embedder.close_reader,
    )
    return _KnowledgeBaseHere(config, parts, readonly=readonly)
