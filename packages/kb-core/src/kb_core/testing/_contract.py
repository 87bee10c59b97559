"""The world of a contract test: one index, and a corpus that publishes into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

from kb_core.filters import Filter
from kb_core.ports import IndexReader, IndexSnapshot, IndexWriter
from kb_core.records import Control, DocumentRecord, Publication
from kb_core.search import Clause, LexicalQuery, Scored
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import HashEmbedder

__all__ = ["Contract", "World", "near", "query"]

EMBEDDER = HashEmbedder(32)
MODEL = EMBEDDER.model.key


class Contract(ABC):
    """Opens the index of one test."""

    @abstractmethod
    def make_writer(self) -> IndexWriter:
        """Return a writer of this test's index, which is empty at first."""

    @abstractmethod
    def make_reader(self) -> IndexReader:
        """Return a reader of this test's index."""

    def world(self) -> World:
        """Return the test's index with a corpus to fill it from."""
        return World(self)

    def filled(self, *texts: str) -> World:
        """Return a world with one published document per text, ``0.md`` and on."""
        world = self.world()
        world.put(*(world.corpus.document(f"{n}.md", text) for n, text in enumerate(texts)))
        return world


class World:
    """Publishes through writers that come and go, and looks through fresh snapshots."""

    def __init__(self, contract: Contract, corpus: Corpus | None = None) -> None:
        self._contract = contract
        self.corpus = corpus or Corpus(EMBEDDER)

    def put(self, *documents: DocumentRecord, **changes: Any) -> Publication:  # noqa: ANN401
        """Publish the next step; *changes* as ``Corpus.publication`` takes them."""
        step = self.corpus.publication(*documents, **changes)
        self.publish(step)
        return step

    def write(self, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
        """Publish one document."""
        return self.put(self.corpus.document(path, text, **fields)).documents[0]

    def publish(self, *steps: Publication) -> Control:
        """Publish steps through one writer and return what the last one gave back."""
        with closing(self._contract.make_writer()) as writer:
            return [writer.publish(step) for step in steps][-1]

    def snapshot(self) -> IndexSnapshot:
        """Return the newest state."""
        return self._contract.make_reader().snapshot()

    def paths(self, found: Iterable[Scored]) -> list[str]:
        """Return the paths of scored chunks, in their order."""
        keys = [scored.chunk_key for scored in found]
        chunks = self.snapshot().chunks(keys)
        return [chunks[key]["path"] for key in keys]

    def search(self, wanted: str | LexicalQuery, where: Filter | None = None) -> list[str]:
        """Return the paths that a lexical search finds, best first."""
        asked = query(wanted) if isinstance(wanted, str) else wanted
        return self.paths(self.snapshot().lexical(asked, where, 100))

    def nearest(self, text: str, where: Filter | None = None) -> list[str]:
        """Return the paths that a vector search finds, best first."""
        vector = EMBEDDER.embed_query(text)
        return self.paths(self.snapshot().vector(vector, MODEL, where, 100))


def query(*clauses: str | Clause) -> LexicalQuery:
    """Return a query; a plain text is a clause that should match."""
    return LexicalQuery(tuple(Clause(c) if isinstance(c, str) else c for c in clauses))


def near(left: Sequence[Scored], right: Sequence[Scored], *, tolerance: float = 1e-6) -> bool:
    """Say whether two lists hold the same chunks in the same order with equal scores."""
    return [s.chunk_key for s in left] == [s.chunk_key for s in right] and all(
        abs(a.score - b.score) <= tolerance * max(1.0, abs(a.score))
        for a, b in zip(left, right, strict=True)
    )
