"""Ports: what the application needs from the outside, and nothing more.

Shaped by their callers, not by the library behind them. The store is the truth; the index
is made of it: a reader hands out snapshots, a writer publishes. The work side is parsing,
counting, embedding. Fakes of store and index live in ``kb_core.testing``, with one contract
suite for all implementations: what an engine cannot do fails there, so nobody asks what it
can. Implementations raise ``KbError`` and nothing else.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
)
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kb_core.stored import StoredChunk, StoredDoc, StoredFile, StoredText, TextBatch

if TYPE_CHECKING:
    from kb_core.control import Control, EmbeddingModel
    from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
    from kb_core.filters import Filter
    from kb_core.language import Delta, Message, ModelName
    from kb_core.records import Changes, DocumentRecord, FileRecord, PendingPassage, Publication
    from kb_core.search import (
        KnownWords,
        LexicalQuery,
        Parent,
        PartReading,
        Relaxation,
        Sampling,
        Scored,
    )
    from kb_core.stored import Ledger

__all__ = ["Chunker", "Clock", "CloseReader", "Content", "Embedder", "IndexReader"]
__all__ += ["IndexSnapshot", "IndexWriter", "LanguageModel", "Parser", "Reranker", "Results"]
__all__ += ["Store", "StoredChunk", "StoredDoc", "StoredFile", "StoredText", "TextBatch"]
__all__ += ["TokenCounter"]
__all__ += ["never"]

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, in UTC. Production passes ``kb_core.clock.utc_now``."""


class IndexSnapshot(Protocol):
    """One published state; every answer from it is of that state, whatever is written since."""

    @property
    def control(self) -> Control: ...

    @property
    def damage(self) -> Mapping[str, str]:
        """What is wrong with it, by what suffers: ``words``, ``records``, or a model's key.

        Asking for what suffers raises ``IndexCorrupt``; the vectors of such a model are not in
        ``control``. The rest is answered as ever. ``nothing`` names what no answer needs.
        """
        ...

    @property
    def languages(self) -> Sequence[str]:
        """The languages that words are stemmed by, as ISO 639-1; English is among them."""
        ...

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
        """Return what of *query* ``lexical`` takes less strictly, if anything; R13 holds, too."""
        ...

    def drift(self) -> float:
        """Return by how much scores by words may differ from those of a fresh index.

        A relative measure; 0 where no deletion can be told from the scores. What is above
        rounding, the next publication mends.
        """
        ...

    def roughly(self) -> IndexSnapshot:
        """Return the same state, for which it will do to know about how common a word is.

        For choosing among words, of which the common ones are dear to count: not for scores.
        """
        ...

    def sampled(self, sampling: Sampling, /) -> IndexSnapshot:
        """Return the same state, in which words are as rare as in all that it is a part of.

        That is for questions without a filter.
        """
        ...

    def vector(
        self,
        query: bytes,
        model_key: str,
        where: Filter | None,
        limit: int,
        /,
        *,
        above: float = 0.0,
    ) -> Sequence[Scored]:
        """Return the nearest *limit* chunks by cosine; *query* is float32, little-endian.

        *above* is added to each cosine: what was taken from it with a part of the question.
        """
        ...

    def vectors_of(self, keys: Sequence[int], model_key: str, /) -> Mapping[int, bytes]:
        """Return the vectors of those chunks that have one, as float32, by key."""
        ...

    def with_vector(self, keys: Sequence[int], model_key: str, /) -> AbstractSet[int]:
        """Return those chunks that have a vector."""

    def elsewhere(
        self, keys: Sequence[int], than: int, model_key: str, /
    ) -> AbstractSet[int] | None:
        """Return those of *keys* that are in another language than the chunk *than*.

        ``None`` where *vector* does not compare several languages alike, as there is one.
        """
        ...

    def count(self, where: Filter | None, /) -> int:
        """Return how many chunks pass *where*."""
        ...

    def chunks(self, keys: Sequence[int], /) -> Mapping[int, StoredChunk]:
        """Return those chunks that exist."""

    def parents(self, keys: Sequence[int], /) -> Mapping[int, Parent]:
        """Return the documents of those chunks that exist, without reading the chunks."""

    def find_chunks(self, id_prefix: str, limit: int, /) -> Sequence[StoredChunk]:
        """Return chunks whose id starts with *id_prefix*."""
        ...

    def doc_chunks(self, doc_id: str, /) -> Sequence[StoredChunk]:
        """Return a document's chunks by ordinal."""

    def find_docs(self, id_prefix: str, limit: int, /) -> Sequence[StoredDoc]:
        """Return documents whose id starts with *id_prefix*; aliases of moved files count."""
        ...

    def doc_text(self, doc_id: str, /) -> str | None:
        """Return a document's text."""

    def texts(self, where: Filter | None, needs: Sequence[Sequence[str]], /) -> Iterator[TextBatch]:
        """Yield the texts of documents that pass *where*, in an order that stays.

        Each of *needs* is a list of literals. A text may be left out if it holds none of
        one list, in any case of its letters; no other is.
        """
        ...

    def count_docs(self, where: Filter | None, /) -> int:
        """Return how many documents pass *where*, without reading them."""

    def docs(self, where: Filter | None, /) -> Sequence[StoredDoc]:
        """Return documents that pass *where*, by source and path; each is read when it is taken."""

    def docs_of(self, keys: Sequence[int], /) -> Mapping[int, StoredDoc]:
        """Return those documents that exist, by key."""

    def docs_called(self, names: Sequence[str], /) -> Sequence[StoredDoc]:
        """Return documents that have one of these names, as ``kb_core.linking`` spells them.

        By source and path; there may be others among them.
        """
        ...

    def docs_linking(self, names: Sequence[str], /) -> Sequence[StoredDoc]:
        """Return, the same way, documents with a link to something of one of these names."""
        ...

    def files(self, where: Filter | None, /) -> Sequence[StoredFile]:
        """Return ledger rows, likewise; ``path`` globs, ``source_id`` and ``state`` narrow them."""
        ...

    def ledger(self, where: Filter | None, /) -> Ledger:
        """Return what ``files`` would, summed up, and read none of them."""


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

    @property
    def is_mostly_dead(self) -> bool:
        """Whether most of what it holds is of no use any more, so that a rebuild is worth it."""
        ...

    @property
    def damage(self) -> Sequence[str]:
        """What was found to be wrong when it was opened; it has no control record then."""
        ...

    def publish(self, publication: Publication, /) -> Control: ...

    def prepare(self, publication: Publication, /) -> Callable[[], Control]:
        """Begin to publish what follows the publication under way; return what does the rest.

        May be called while that one is being published, in another thread; the rest may not.
        """
        ...

    def wipe(self) -> None:
        """Begin with nothing, whatever is wrong with what there is; a rebuild has to follow."""
        ...

    def rebuild(self, publications: Iterable[Publication], /) -> Control:
        """Replace everything by what *publications* add up to, published in one step.

        If they end in an error, all is as it was.
        """
        ...

    def close(self) -> None:
        """Wait for background work and let go; closing twice is harmless."""
        ...


class Store(Protocol):
    """The truth, which one writer has open. Methods may be called from any thread."""

    @property
    def store_id(self) -> str:
        """The random id that the store was given when it was made."""
        ...

    @property
    def sequence(self) -> int:
        """How many commits changed anything."""
        ...

    @property
    def corpus_revision(self) -> int:
        """How many commits changed documents."""
        ...

    @property
    def vector_revision(self) -> int:
        """How many commits added embeddings."""
        ...

    # What is stored

    def ledger(self, source_id: str, /) -> Mapping[str, FileRecord]:
        """Return every ledger row of a source, by path."""
        ...

    def document(self, doc_id: str, /) -> DocumentRecord | None:
        """Return a document, whole, or ``None``."""
        ...

    def enclosed(self, source_id: str, path: str, /) -> Mapping[str, str]:
        """Return the hashes of the bytes of all that is within a file, by path."""
        ...

    def count_chunks(self, doc_ids: Sequence[str], /) -> int:
        """Return how many chunks these documents have."""
        ...

    def known_bytes(self, hashes: Sequence[str], /) -> AbstractSet[str]:
        """Return those hashes that the bytes of some file have which is not deleted."""
        ...

    def doc_ids(self, source_id: str, /) -> Sequence[str]:
        """Return the ids of a source's documents, by path."""
        ...

    def unaccounted_docs(self) -> Sequence[str]:
        """Return the ids of documents that no row of the ledger names, nor that of their file."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Return the counts that publications carry."""
        ...

    # Changing it

    def commit(self, changes: Changes, /) -> int:
        """Commit *changes*, all or nothing; return the sequence the store is at then."""
        ...

    def forget_expired(self, now: datetime, days: int = 90) -> int:
        """Forget deleted files and aliases older than *days*; return how many."""
        ...

    def erase(self, doc_ids: Sequence[str], source_ids: Sequence[str], /) -> None:
        """Delete aliases of documents and rows of sources that are gone, and scopes of runs."""

    # Telling the index

    def publication(self, since: int, /) -> Publication | None:
        """Return what an index at *since* lacks, or ``None`` if it lacks nothing.

        Raises ``NotIndexed`` if that index can only be rebuilt: it is ahead of the store,
        or so far behind that the outbox has been pruned.
        """
        ...

    def prune_outbox(self, published: int, /) -> None:
        """Forget what an index at *published* shows already."""
        ...

    def rebuild_publications(self, batch_chunks: int = 4000) -> Iterator[Publication]:
        """Yield the whole truth, at least one publication, all at the current sequence."""
        ...

    # Embedding

    def missing_passages(
        self, model_key: str, limit: int, only: Sequence[int] | None = None, /
    ) -> Sequence[PendingPassage]:
        """Return passages that *model_key* has not embedded, newest documents first.

        Documents have turns of ``PASSAGES_AT_A_TURN``, so that no long one holds up the others.
        With *only*, those of these chunks, by key, in the order given.
        """

    def count_missing(self, model_key: str, /) -> int:
        """Return how many different passages *model_key* has not embedded."""
        ...

    # Runs and settings

    def start_run(self, run_id: str, kind: str, scope: Mapping[str, Any], /) -> None:
        """Record that a run begins."""
        ...

    def finish_run(self, run_id: str, state: str, report: Mapping[str, Any], /) -> None:
        """Record how a run ended, and owe the index the time of it."""
        ...

    def get_setting(self, name: str, /) -> Any:  # noqa: ANN401 - JSON
        """Return a setting, or ``None``."""
        ...

    def put_setting(self, name: str, /, value: object) -> None:
        """Write a setting."""
        ...

    # Care

    def sizes(self) -> Mapping[str, int]:
        """Return bytes of ``database``, its log ``wal``, and in it, ``free`` and ``unused``."""

    def checkpoint(self) -> None:
        """Fold the log into the file; for the end of a run, never inside a burst."""

    def checkpoint_if_large(self, max_wal_bytes: int, /) -> bool:
        """Fold the log into the file if it is larger than *max_wal_bytes*."""

    def let_go_if_large(self, max_commit_bytes: int, /) -> bool:
        """Fold the log in and free memory if the last commit was larger; say whether it was."""

    def compact(self, min_free_share: float = 0.25) -> bool:
        """Drop unused embeddings, and rewrite the file if that share of it is free."""

    def complete_sums(self) -> int:
        """Make the sums of documents that an older version stored; return how many."""

    def deep_check(self) -> Sequence[str]:
        """Return what is wrong with the store: nothing, if all is well."""

    def close(self) -> None:
        """Let go of it; closing twice is harmless."""
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

    def results(self, kind: str, maker: Mapping[str, object], /) -> Results:
        """Return what was made of it in the later phase *kind* before, part by part.

        *maker* is all that can change what is made, such as an engine and its version.
        """
        ...


class Results(Protocol):
    """What takes long to make of parts of one content, such as pages; a part is made once."""

    def get(self, part: str, /) -> object | None:
        """Return what was made of *part*, as JSON gives it back; ``None``: not made yet."""
        ...

    def put(self, part: str, value: object, /) -> None:
        """Keep what was made of *part*: a JSON value, but not ``None``."""
        ...


class Parser(Protocol):
    """Turns what is in one medium's files into documents. Pure: no input or output."""

    version: str

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument: ...


class TokenCounter(Protocol):
    """Counts tokens as the embedding model does, special tokens and prefix excluded."""

    @property
    def adds_up(self) -> bool:
        """Whether the counts of what white space parts add up to that of the whole."""

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
        """Return vectors as ``kb_core.quantization`` keeps them, in the order of *texts*.

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

    def rerank(
        self,
        query: str,
        passages: Sequence[str],
        /,
        *,
        telling: Callable[[str], float],
        stop: Callable[[], bool] = never,
    ) -> list[float] | None:
        """Return a score in 0..1 per passage, higher is better, in the order of *passages*.

        *telling* says how much a word of the query tells, above 0. ``None`` if *stop* became
        true before all had one. A score does not depend on the other passages of the call.
        """


class CloseReader(Protocol):
    """Says how each part of a passage stands to a query, read with all of the passage."""

    def read(
        self, query: str, passages: Sequence[Sequence[str]], /, *, stop: Callable[[], bool] = never
    ) -> list[tuple[PartReading, ...]] | None:
        """Return a reading per part, in the order of *passages* and of their parts.

        ``None`` if *stop* became true before all were read. A reading does not depend on the
        other passages of the call.
        """
        ...


class LanguageModel(Protocol):
    """Writes text. Nothing is asked of it, and nothing sent, before a method is called.

    What fails is ``ModelUnreachable`` (nobody is there, or what is said cannot be understood,
    or it ends in the middle), ``ModelNotPulled`` or ``Timeout``, each with what can be done.
    """

    @property
    def name(self) -> ModelName:
        """Which model it is, and where what it is told is sent to."""

    def check(self, *, stop: Callable[[], bool] = never) -> None:
        """Raise what ``generate`` would raise at once, without having anything written."""

    def count(self, text: str, /) -> int | None:
        """Return the tokens of *text* as the model counts; ``None`` where nobody knows."""

    def generate(
        self, messages: Sequence[Message], /, *, max_tokens: int, stop: Callable[[], bool] = never
    ) -> Generator[Delta]:
        """Yield the answer piece by piece, as it comes; the last has an ``end``, no other.

        If *stop* becomes true, the pieces end without one. What came before an error stays
        good. An iterator that is closed early lets go of all that it held.
        """
        ...
