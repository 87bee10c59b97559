"""Knowledge bases of made-up documents, of any size, without parsing or a model.

Records are made here and written the way an ingest writes them: batch by batch to the
truth and then to the index, by one ``WriteSession``. The files exist too, because a search
looks at those of its hits. The same size gives the same documents.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import numpy as np
from peers import FullTextSearch
from words import Words

from kb_app import Config
from kb_app._models import model_of, models_dir
from kb_app._operations import part_bytes
from kb_app._wiring import open_session
from kb_app._write import WriteSession
from kb_app.config import Source
from kb_core.clock import utc_now
from kb_core.control import EmbeddingModel
from kb_core.errors import NotIndexed
from kb_core.ids import chunk_ids, doc_id, text_hash
from kb_core.quantization import quantize
from kb_core.records import Changes, ChunkRecord, DocumentRecord, FileRecord, FileState
from kb_search.reader import Reader

__all__ = [
    "Vectors",
    "build",
    "build_of_words",
    "config_of",
    "documents",
    "fts_file",
    "models_dir",
    "publish_more",
    "sizes",
]

SOURCE = "made-up"
CHUNKS_PER_DOC = 10
WORDS = 90
"""Of a passage, about."""
BUILD_DOCS = 400
"""Documents of a batch while building; nobody waits for those."""
SHORT_WORDS = 30
"""Of a passage where many documents matter more than long ones."""
PUBLISHED_DOCS, PUBLISHED_BATCHES = 256, 6
"""Batches as large as those of an ingest once it knows how long one takes to publish: it collects
for ten times as long, or up to 4,000 chunks."""
_CLUSTERS = 3000
_SEPARATOR = "\n\n"


def config_of(home: Path) -> Config:
    """Return the configuration of a knowledge base below *home*."""
    return Config.inside(home, Source(id=SOURCE, root=home / "files"))


def build_of_words(config: Config, n_docs: int) -> None:
    """Make a knowledge base of *n_docs* documents without vectors, unless it is there."""
    data_dir = config.storage.data_dir
    try:
        if Reader(data_dir).snapshot().control.stats["doc_count"] >= n_docs:
            return
    except NotIndexed:
        pass
    shutil.rmtree(data_dir.parent, ignore_errors=True)
    with _session(config) as session:
        for batch in _batches(config, range(n_docs), BUILD_DOCS, SHORT_WORDS):
            session.commit(_changes(batch, config))


def fts_file(config: Config) -> Path:
    """Return where the same texts are kept for SQLite."""
    return config.storage.data_dir.parent / "fts.sqlite"


def build(config: Config, n_chunks: int) -> dict[str, float]:
    """Make the knowledge base unless it is there; return what that took."""
    data_dir = config.storage.data_dir
    try:
        if Reader(data_dir).snapshot().control.stats["chunk_count"] >= n_chunks:
            return {"built before": 1}
    except NotIndexed:
        pass
    # Half a store, or one that another version wrote, would be measured as it never is.
    shutil.rmtree(data_dir.parent, ignore_errors=True)
    model = model_of(config)
    assert model is not None  # noqa: S101 - the default configuration has one
    texts = FullTextSearch(fts_file(config))
    vectors = Vectors(model.dimensions)
    started = time.perf_counter()
    batches = _batches(config, range(n_chunks // CHUNKS_PER_DOC), BUILD_DOCS)
    published = 0.0
    with _session(config) as session:
        while some := list(islice(batches, PUBLISHED_BATCHES)):
            texts.add(chunk.text for batch in some for doc in batch for chunk in doc.chunks)
            made = [_with_vectors(_changes(batch, config), model, vectors) for batch in some]
            published += _publish(session, made)
    texts.close()
    _write_sizes(config)
    return {
        "built in s": time.perf_counter() - started,
        "of which publishing": published,
        "chunks/s published, with vectors": n_chunks / published,
    }


def _publish(session: WriteSession, batches: Sequence[Changes]) -> float:
    """Publish as an ingest does, one while the next is committed; return the seconds it takes."""
    started = time.perf_counter()
    for changes in batches:
        session.commit_ahead(changes)
    session.settle()
    return time.perf_counter() - started


def publish_more(config: Config, beyond: int) -> dict[str, float]:
    """Publish some batches into the store that is there, without vectors, and time them."""
    first = beyond // CHUNKS_PER_DOC
    wanted = range(first, first + PUBLISHED_DOCS * PUBLISHED_BATCHES)
    batches = [
        Changes(documents=tuple(batch), files=tuple(map(_file_record, batch)))
        for batch in _batches(config, wanted, PUBLISHED_DOCS)
    ]
    with _session(config) as session:
        processor = time.process_time()
        taken = _publish(session, batches)
        processor = time.process_time() - processor
        closing = time.perf_counter()
    closed = time.perf_counter() - closing
    # Publishing the same batches anew would measure replacement: take them away again.
    with _session(config) as session:
        gone = tuple(doc.doc_id for changes in batches for doc in changes.documents)
        session.commit(Changes(deleted_docs=gone))
    for doc in (doc for changes in batches for doc in changes.documents):
        (config.sources[0].root / doc.path).unlink()
    chunks = sum(len(doc.chunks) for changes in batches for doc in changes.documents)
    return {
        "chunks": chunks,
        "chunks/s": chunks / taken,
        "chunks/s, last merges included": chunks / (taken + closed),
        "processor us a chunk, of this process": processor / chunks * 1_000_000,
    }


def documents(
    config: Config, numbers: Sequence[int], words: int = WORDS
) -> Iterator[DocumentRecord]:
    """Yield documents as records, with passages of so many *words*, and write their files."""
    root = config.sources[0].root
    for number in numbers:
        yield _document(number, root, words)


def sizes(config: Config) -> dict[str, int]:
    """Return the bytes on disk of every part, and of the texts, as they were when built."""
    found: dict[str, int] = json.loads(_sizes_file(config).read_text("utf-8"))
    return found


def _sizes_file(config: Config) -> Path:
    return config.storage.data_dir.parent / "sizes.json"


def _write_sizes(config: Config) -> None:
    parts = {name: size for name, size in part_bytes(config.storage.data_dir).items() if size}
    text = sum(path.stat().st_size for path in config.sources[0].root.rglob("*.md"))
    _sizes_file(config).write_text(json.dumps({**parts, "text": text}), "utf-8")


def _session(config: Config) -> WriteSession:
    return open_session(config.storage.data_dir, lock_wait_secs=1.0, clock=utc_now)


def _batches(
    config: Config, numbers: range, size: int, words: int = WORDS
) -> Iterator[list[DocumentRecord]]:
    for start in range(0, len(numbers), size):
        yield list(documents(config, numbers[start : start + size], words))


def _changes(batch: Sequence[DocumentRecord], config: Config) -> Changes:
    """Return what makes documents known, without vectors."""
    source = config.sources[0]
    return Changes(
        documents=tuple(batch),
        files=tuple(map(_file_record, batch)),
        sources={
            source.id: {
                "root": str(source.root),
                "trust_level": source.trust_level,
                "source_type": source.source_type,
                "verified_at": int(utc_now().timestamp()),
            }
        },
    )


def _with_vectors(changes: Changes, model: EmbeddingModel, vectors: Vectors) -> Changes:
    hashes = [chunk.passage_hash for doc in changes.documents for chunk in doc.chunks]
    return replace(
        changes,
        embeddings={model.key: dict(zip(hashes, vectors.draw(len(hashes)), strict=True))},
        models={model.key: asdict(model)},
    )


def _document(number: int, root: Path, length: int) -> DocumentRecord:
    words = Words(number)
    path = f"{number // 1000:03}/{number:06}.md"
    title = words.title()
    passages = [words.passage(length) for _ in range(CHUNKS_PER_DOC)]
    text = _SEPARATOR.join(passages)
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    status = file.stat()
    identity = doc_id(SOURCE, path)
    instant = utc_now()
    return DocumentRecord(
        doc_id=identity,
        source_id=SOURCE,
        path=path,
        title=title,
        media="markdown",
        text=text,
        lang="en",
        doc_date=instant,
        indexed_at=instant,
        byte_len=status.st_size,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        bytes_hash=text_hash(text),
        fingerprint=text_hash(path),
        parser_version="made-up",
        chunker_version="made-up",
        chunks=_chunks(title, passages, chunk_ids(identity, map(text_hash, passages))),
    )


def _chunks(title: str, passages: Sequence[str], ids: Sequence[str]) -> tuple[ChunkRecord, ...]:
    made = []
    start = 0
    for ordinal, (chunk_id, text) in enumerate(zip(ids, passages, strict=True)):
        line = 1 + 2 * ordinal
        made.append(
            ChunkRecord(
                chunk_id=chunk_id,
                ordinal=ordinal,
                start=start,
                end=start + len(text),
                text=text,
                line_start=line,
                line_end=line,
                token_count=len(text) // 4,
                heading_path=(title,),
                context=title,
                passage_hash=text_hash(f"{title}\n\n{text}"),
            )
        )
        start += len(text) + len(_SEPARATOR)
    return tuple(made)


def _file_record(document: DocumentRecord) -> FileRecord:
    return FileRecord(
        source_id=document.source_id,
        path=document.path,
        state=FileState.INDEXED,
        media=document.media,
        size=document.size,
        mtime_ns=document.mtime_ns,
        bytes_hash=document.bytes_hash,
        fingerprint=document.fingerprint,
        doc_id=document.doc_id,
        processed_at=document.indexed_at,
        changed_at=document.indexed_at,
    )


class Vectors:
    """Unit vectors as embeddings lie: in clusters of unequal size, all on one side."""

    def __init__(self, dimensions: int) -> None:
        self._generator = np.random.default_rng(5)
        # A few directions carry most of the differences.
        self._spread = (1.0 / np.sqrt(np.arange(1, dimensions + 1))).astype(np.float32)
        self._side = self._normal(1, dimensions)
        self._centres = self._normal(_CLUSTERS, dimensions)
        weights = 1.0 / np.arange(1, _CLUSTERS + 1)
        self._weights = weights / weights.sum()

    def draw(self, count: int) -> list[bytes]:
        """Return so many vectors as they are kept."""
        clusters = self._generator.choice(_CLUSTERS, count, p=self._weights)
        near = self._centres[clusters] + 0.5 * self._normal(count, len(self._spread))
        rows = 1.5 * self._side + near
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return list(map(quantize, rows.tolist()))

    def _normal(
        self, count: int, dimensions: int
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        drawn = self._generator.standard_normal((count, dimensions), np.float32)
        return drawn * self._spread
