"""Ports: what the application needs from the outside, and nothing more.

Shaped by their callers, not by the library behind them. The retrieval side is the
index: a reader hands out snapshots, a writer publishes. The work side is parsing,
counting, embedding. Fakes of the retrieval side live in ``kb_core.testing`` with one
contract suite for all implementations. Implementations raise ``KbError`` and nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from kb_core.control import Control, IndexCaps
from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.filters import Filter
from kb_core.models_info import EmbeddingModel
from kb_core.records import Publication
from kb_core.search import KnownWords, LexicalQuery, Relaxation, Scored

__all__ = [
    "Chunker",
    "Clock",
    "Content",
    "Embedder",
    "IndexCaps",
    "IndexReader",
    "IndexSnapshot",
    "IndexWriter",
    "Parser",
    "Reranker",
    "StoredChunk",
    "StoredDoc",
    "StoredFile",
    "TokenCounter",
    "never",
]

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, in UTC. Production passes ``kb_core.clock.utc_now``."""

StoredChunk: TypeAlias = Mapping[str, Any]
"""A chunk as the index shows it; keys are those of ``ChunkRecord`` and, of its document,
doc_id, source_id, path, title, media, lang, code_lang, repo, tags, source_type,
trust_level, indexed_at, doc_date (epoch seconds), size, mtime_ns, chunker_version."""

StoredDoc: TypeAlias = Mapping[str, Any]
"""A document as the index shows it: ``DocumentRecord`` without text and chunks, times as
epoch seconds, plus ``chunk_count``."""

StoredFile: TypeAlias = Mapping[str, Any]
"""A ledger row as the index shows it: ``FileRecord`` with times as epoch seconds."""


class IndexSnapshot(Protocol):
    """One published state; every answer from it is of that state, whatever is written since."""

    @property
    def control(self) -> Control: ...

    def lexical(self, query: LexicalQuery, where: Filter | None, limit: int, /) -> Sequence[Scored]:
        """Return the best *limit* chunks by BM25, best first, ties by chunk key.

        The filtered list is the exhaustive list restricted to *where*, scores included.
        """
        ...

    def known_words(self, query: LexicalQuery, /) -> KnownWords:
        """Return what the index knows of the words of *query*.

        It follows from the query and the whole index, never from a filter (ruling R13).
        """
        ...

    def relaxation(self, query: LexicalQuery, /) -> Relaxation | None:
        """Return what of *query* ``lexical`` takes less strictly, or ``None`` if nothing.

        It follows from the query and the whole index, never from a filter (ruling R13).
        """
        ...

    def drift(self) -> float:
        """Return by how much scores by words may differ from those of a fresh index.

        A relative measure; 0 where no deletion can be told from the scores. What is above
        rounding, the next publication mends.
        """
        ...

    def vector(
        self, query: bytes, model_key: str, where: Filter | None, limit: int, /
    ) -> Sequence[Scored]:
        """Return the nearest *limit* chunks by cosine; *query* is float32, little-endian."""
        ...

    def vector_of(self, chunk_key: int, model_key: str, /) -> bytes | None:
        """Return a chunk's vector as float32, or ``None``."""
        ...

    def with_vector(self, keys: Sequence[int], model_key: str, /) -> AbstractSet[int]:
        """Return those chunks that have a vector."""
        ...

    def count(self, where: Filter | None, /) -> int:
        """Return how many chunks pass *where*."""
        ...

    def chunks(self, keys: Sequence[int], /) -> Mapping[int, StoredChunk]:
        """Return those chunks that exist."""
        ...

    def find_chunks(self, id_prefix: str, limit: int, /) -> Sequence[StoredChunk]:
        """Return chunks whose id starts with *id_prefix*."""
        ...

    def doc_chunks(self, doc_id: str, /) -> Sequence[StoredChunk]:
        """Return a document's chunks by ordinal."""
        ...

    def find_docs(self, id_prefix: str, limit: int, /) -> Sequence[StoredDoc]:
        """Return documents whose id starts with *id_prefix*; aliases of moved files count."""
        ...

    def doc_text(self, doc_id: str, /) -> str | None:
        """Return a document's text."""
        ...

    def count_docs(self, where: Filter | None, /) -> int:
        """Return how many documents pass *where*, without reading them."""
        ...

    def docs(self, where: Filter | None, /) -> Sequence[StoredDoc]:
        """Return documents that pass *where*, by source and path."""
        ...

    def files(self, where: Filter | None, /) -> Sequence[StoredFile]:
        """Return ledger rows; only ``path`` globs and ``source_id`` can narrow them."""
        ...


class IndexReader(Protocol):
    """Hands out snapshots; any number of processes may hold one while another writes."""

    def snapshot(self) -> IndexSnapshot:
        """Return the newest published state; raise ``NotIndexed`` if there is none."""
        ...

    def close(self) -> None: ...


class IndexWriter(Protocol):
    """The one writer. ``publish`` is atomic: a reader sees all of a publication or nothing."""

    @property
    def control(self) -> Control | None:
        """The published control record, or ``None`` for an index without one."""
        ...

    def publish(self, publication: Publication, /) -> Control: ...

    def close(self) -> None:
        """Wait for background work and let go."""
        ...


class Content(Protocol):
    """What is in one file: its bytes, and the text that they are."""

    @property
    def data(self) -> bytes: ...

    @property
    def text(self) -> str:
        """The bytes, decoded: once, when they are first asked for. CRLF is LF."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was lost in decoding; a parser that takes the text hands it on."""
        ...


class Parser(Protocol):
    """Turns what is in one medium's files into documents. Pure: no input or output."""

    version: str

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument: ...


class TokenCounter(Protocol):
    """Counts tokens as the embedding model does, special tokens and prefix excluded."""

    def count(self, text: str, /) -> int: ...

    def count_many(self, texts: Sequence[str], /) -> list[int]: ...


class Chunker(Protocol):
    """Chooses ranges of a document. Pure. Together they cover all but white space."""

    version: str

    def __call__(
        self, document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits, /
    ) -> Iterable[ChunkDraft]: ...


class Embedder(Protocol):
    """Turns text into vectors of length 1."""

    @property
    def model(self) -> EmbeddingModel: ...

    def embed_query(self, text: str, /) -> bytes:
        """Return one float32 vector, little-endian."""
        ...

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        """Return float16 vectors, little-endian, in the order of *texts*.

        A vector does not depend on its neighbours in the call.
        """
        ...


def never() -> bool:
    """Ask for no early end."""
    return False


class Reranker(Protocol):
    """Says how well passages answer a query by reading both together."""

    @property
    def name(self) -> str:
        """Names all that a score depends on, apart from query and passage."""
        ...

    def rerank(
        self, query: str, passages: Sequence[str], /, *, stop: Callable[[], bool] = never
    ) -> list[float] | None:
        """Return a score in 0..1 per passage, higher is better, in the order of *passages*.

        ``None`` if *stop* became true before all had one. A score does not depend on the
        other passages of the call.
        """
        ...
