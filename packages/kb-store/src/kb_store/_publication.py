"""Publications: what the index has to be told, read off the truth.

Invariant: an index that applied every publication, each of them at least once and
in order, shows the same as one that applied those of a rebuild.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kb_core.errors import KbError, NotIndexed
from kb_core.records import Publication, VectorRecord
from kb_store._aliases import all_aliases, read_aliases
from kb_store._documents import read_documents
from kb_store._embeddings import load_models, read_vectors
from kb_store._ledger import read_files
from kb_store._meta import Meta, load_meta
from kb_store._outbox import read_outbox
from kb_store._session import Session
from kb_store._sources import load_sources
from kb_store._stats import stats

__all__ = ["publication", "rebuild"]

_SIZES = "SELECT doc_key, chunk_count, text_chars FROM documents ORDER BY doc_key"
_FILES = "SELECT source_id, path FROM files ORDER BY source_id, path"
_VECTORS = """
SELECT model_key, chunk_key, vector
FROM embeddings JOIN chunks ON chunks.passage_hash = embeddings.passage_hash
"""
_BATCH_CHARS = 64_000_000
"""A batch of a rebuild ends here too, however few its chunks."""


def publication(session: Session, since: int) -> Publication | None:
    """Return everything after *since* as one publication, or ``None`` if that is nothing."""
    with session.transaction():
        meta = load_meta(session)
        if since == meta.sequence:
            return None
        _refuse_unreplayable(meta, since)
        outbox = read_outbox(session, since)
        documents = read_documents(session, sorted(outbox.documents))
        files = read_files(session, outbox.files) if outbox.files else []
        vectors = read_vectors(session, outbox.vectors)
        models = load_models(session)
        return _publication(
            meta,
            _surroundings(session),
            documents=tuple(documents),
            removed_docs=tuple(sorted(outbox.documents - {d.doc_key for d in documents})),
            files=tuple(files),
            forgotten_files=tuple(sorted(outbox.files - {(f.source_id, f.path) for f in files})),
            aliases=read_aliases(session, outbox.aliases),
            dead_chunks=tuple(sorted(outbox.dead_chunks)),
            vectors=vectors,
            models={model: models[model] for model in vectors},
        )


def _refuse_unreplayable(meta: Meta, since: int) -> None:
    if not meta.pruned_sequence <= since < meta.sequence:
        raise NotIndexed(
            f"an index at {since} cannot follow a store that replays "
            f"{meta.pruned_sequence} to {meta.sequence}",
            hint="rebuild the index from the store",
            details={"since": since, "first": meta.pruned_sequence, "last": meta.sequence},
        )


def _surroundings(session: Session) -> dict[str, Any]:
    return {"stats": stats(session), "sources": load_sources(session)}


def _publication(
    meta: Meta,
    surroundings: dict[str, Any],
    **parts: Any,  # noqa: ANN401 (the fields of a publication)
) -> Publication:
    return Publication(
        sequence=meta.sequence,
        corpus_revision=meta.corpus_revision,
        vector_revision=meta.vector_revision,
        store_id=meta.store_id,
        **surroundings,
        **parts,
    )


def rebuild(session: Session, batch_chunks: int) -> Iterator[Publication]:
    """Yield the whole truth in batches: at least one, all at the current sequence.

    Nothing may be committed meanwhile. The lock is held while a batch is read, not
    while the caller works on it.
    """
    with session.use("begin a rebuild"):
        meta = load_meta(session)
        around = _surroundings(session)
        aliases = all_aliases(session)
        documents = _document_batches(session, batch_chunks)
        files = session.rows(_FILES)
    yield _publication(meta, around, aliases=aliases)
    for keys in documents:
        with session.use("rebuild the index"):
            _refuse_drift(session, meta)
            batch = tuple(read_documents(session, keys))
        yield _publication(meta, around, documents=batch)
    for start in range(0, len(files), batch_chunks):
        with session.use("rebuild the index"):
            _refuse_drift(session, meta)
            rows = tuple(read_files(session, files[start : start + batch_chunks]))
        yield _publication(meta, around, files=rows)
    yield from _rebuild_vectors(session, meta, around, batch_chunks)


def _rebuild_vectors(
    session: Session, meta: Meta, around: dict[str, Any], batch_chunks: int
) -> Iterator[Publication]:
    with session.use("read the models"):
        models = load_models(session)
    batches = session.stream(_VECTORS, batch_chunks) if models else iter(())
    while True:
        with session.use("rebuild the vectors"):
            rows = next(batches, [])
            _refuse_drift(session, meta)
        if not rows:
            return
        vectors: dict[str, tuple[VectorRecord, ...]] = {
            model: tuple(VectorRecord(key, vector) for of, key, vector in rows if of == model)
            for model in {row[0] for row in rows}
        }
        described = {model: models[model] for model in vectors}
        yield _publication(meta, around, vectors=vectors, models=described)


def _refuse_drift(session: Session, meta: Meta) -> None:
    if load_meta(session).sequence != meta.sequence:
        raise KbError("the store changed while an index was rebuilt from it")


def _document_batches(session: Session, batch_chunks: int) -> list[Sequence[int]]:
    batches: list[list[int]] = [[]]
    chunks = chars = 0
    for doc_key, chunk_count, text_chars in session.rows(_SIZES):
        chunks += chunk_count
        chars += text_chars
        if batches[-1] and (chunks > batch_chunks or chars > _BATCH_CHARS):
            batches.append([])
            chunks, chars = chunk_count, text_chars
        batches[-1].append(doc_key)
    return [batch for batch in batches if batch]
