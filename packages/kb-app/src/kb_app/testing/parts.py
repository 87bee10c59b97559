"""The parts of a knowledge base whose store and index are nowhere but in memory."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

from kb_app._parts import Parts
from kb_core.ports import Clock, Embedder, IndexReader, Store
from kb_core.testing.fakes import MemoryIndex, fixed_clock

__all__ = ["memory_parts", "writable_parts"]


def memory_parts(index: IndexReader, embedder: Embedder, clock: Clock | None = None) -> Parts:
    """Return parts that read *index*; whatever would write is an error of the test."""
    return Parts(
        reader=lambda: index,
        session=_no_store,
        lock=_no_store,
        examine=list,
        model=lambda: embedder.model,
        embedder=lambda: embedder,
        reranker=_no_store,
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
        examine=lambda: list(store.deep_check()),
        model=lambda: embedder.model,
        embedder=lambda: embedder,
        reranker=_no_store,
        executor=lambda task, _: InlineExecutor(task),
        clock=clock,
    )


def _no_store(*_: object) -> NoReturn:
    raise AssertionError("this knowledge base is in memory, and has no such part")
