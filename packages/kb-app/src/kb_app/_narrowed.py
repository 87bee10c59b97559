"""A part of a source: a knowledge base of which only what passes a filter is seen.

That is how a folder inside a source is answered from the source, as its last ingest left it.

**Invariant:** what is found passes the filter; what an id names is read anyway.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from kb_app.knowledge_base import KnowledgeBase
from kb_app.preferences import Preferences
from kb_core.errors import NotIndexed
from kb_core.filters import Filter, OneOf, all_of
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_app.config import Source
    from kb_core.ports import IndexReader, IndexSnapshot, StoredDoc, StoredFile
    from kb_core.search import LexicalQuery, Sampling, Scored
    from kb_core.stored import Ledger, TextBatch

__all__ = ["Narrowed"]


class Narrowed(KnowledgeBase):
    """A knowledge base of which only what is below one folder of a source is seen."""

    _where: Filter | None = None
    _scope = ""
    _source: Source

    def narrow(self, source: Source, where: Filter | None, scope: str) -> None:
        """Say of which source and others what is seen, and what that is called."""
        self._source, self._where, self._scope = source, where, scope

    def preferences(self) -> Preferences:
        return replace(super().preferences(), scope=self._scope, follows_roots=False)

    def _snapshot(self) -> IndexSnapshot:
        """Return what is published; ``NotIndexed`` where nothing of the folder ever was."""
        snapshot, named = super()._snapshot(), self._source
        was_seen = snapshot.control.sources.get(named.id, {}).get("verified_at")
        if not (was_seen or snapshot.count_docs(None)):
            raise NotIndexed(
                f"nothing of {self._scope} was ever ingested",
                hint=f"run 'kebab ingest {shlex.quote(str(named.root))}'",
                details={"source": named.id},
            )
        return snapshot

    @cached_property
    def _reader(self) -> IndexReader:
        return _NarrowReader(self._parts.reader(), self._where)


class _NarrowReader:
    """Hands out snapshots that hold nothing but what passes a filter."""

    def __init__(self, reader: IndexReader, where: Filter | None) -> None:
        self._reader, self._where = reader, where

    def snapshot(self) -> IndexSnapshot:
        return cast("IndexSnapshot", _NarrowSnapshot(self._reader.snapshot(), self._where))

    def close(self) -> None:
        self._reader.close()


class _NarrowSnapshot:
    """A snapshot of which only what passes a filter is found; what an id names is read anyway."""

    def __init__(self, whole: IndexSnapshot, where: Filter | None) -> None:
        self._whole, self._where = whole, where

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of a snapshot
        return getattr(self._whole, name)

    def roughly(self) -> _NarrowSnapshot:
        return _NarrowSnapshot(self._whole.roughly(), self._where)

    def sampled(self, sampling: Sampling) -> _NarrowSnapshot:
        return _NarrowSnapshot(self._whole.sampled(sampling), self._where)

    def lexical(self, query: LexicalQuery, where: Filter | None, limit: int) -> Sequence[Scored]:
        return self._whole.lexical(query, self._both(where), limit)

    def vector(
        self,
        query: bytes,
        model_key: str,
        where: Filter | None,
        limit: int,
        *,
        above: float = 0.0,
    ) -> Sequence[Scored]:
        return self._whole.vector(query, model_key, self._both(where), limit, above=above)

    def count(self, where: Filter | None) -> int:
        return self._whole.count(self._both(where))

    def count_docs(self, where: Filter | None) -> int:
        return self._whole.count_docs(self._both(where))

    def docs(self, where: Filter | None) -> Sequence[StoredDoc]:
        return self._whole.docs(self._both(where))

    def docs_called(self, names: Sequence[str]) -> Sequence[StoredDoc]:
        return self._inside(self._whole.docs_called(names))

    def docs_linking(self, names: Sequence[str]) -> Sequence[StoredDoc]:
        return self._inside(self._whole.docs_linking(names))

    def _inside(self, docs: Sequence[StoredDoc]) -> Sequence[StoredDoc]:
        return self.docs(OneOf("doc_id", tuple(doc["doc_id"] for doc in docs)))

    def files(self, where: Filter | None) -> Sequence[StoredFile]:
        return self._whole.files(self._both(where))

    def ledger(self, where: Filter | None) -> Ledger:
        return self._whole.ledger(self._both(where))

    def texts(self, where: Filter | None, needs: Sequence[Sequence[str]]) -> Iterator[TextBatch]:
        return self._whole.texts(self._both(where), needs)

    def _both(self, where: Filter | None) -> Filter | None:
        return all_of([self._where, where])
