"""The parts of a knowledge base that is nowhere but in memory, and cannot be written."""

from __future__ import annotations

from typing import NoReturn

from kb_app._parts import Parts
from kb_core.ports import Clock, Embedder, IndexReader
from kb_core.testing.fakes import fixed_clock

__all__ = ["memory_parts"]


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


def _no_store(*_: object) -> NoReturn:
    raise AssertionError("this knowledge base is in memory, and has no such part")
