"""Publications: what the index has to be told, read off the truth, and the counts it carries.

Invariant: an index that applied every publication, each of them at least once and in
order, shows the same as one that applied those of a rebuild.

Everything is counted on documents and the ledger, never on chunks: what concerns chunks
is kept as sums beside their documents and models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from operator import attrgetter
from typing import Any, TypeAlias

from kb_core.errors import KbError, NotIndexed
from kb_core.media import MEDIA_ALWAYS_COUNTED
from kb_core.records import DocumentRecord, FileRecord, Publication, VectorRecord
from kb_store._commit import Written
from kb_store._documents import as_read, read_documents
from kb_store._embeddings import load_models, read_vectors
from kb_store._ledger import read_files
from kb_store._meta import Meta, load_meta, read_outbox
from kb_store._session import Record, Session, from_json
from kb_store._tables import all_aliases, load_sources, read_aliases

__all__ = [
    "counts",
    "publication",
    "rebuild",
    "stats",
]

_DOCUMENTS = """
SELECT media, coalesce(lang, 'null') AS lang, code_lang, repo, source_id,
       count(*) AS doc_count,
       sum(chunk_count)::BIGINT AS chunk_count,
       count(*) FILTER (asset IS NOT NULL OR bytes_hash <> '') AS asset_count,
       sum(text_chars)::BIGINT AS text_chars,
       sum(token_count)::BIGINT AS token_count
FROM documents GROUP BY ALL
"""
_TOTALS = ("doc_count", "chunk_count", "asset_count", "text_chars", "token_count")
_BREAKDOWNS = {
    "media_breakdown": "media",
    "lang_breakdown": "lang",
    "code_lang_breakdown": "code_lang",
    "repo_breakdown": "repo",
    "source_breakdown": "source_id",
}
_OTHERS = {
    "file_states": "SELECT state, count(*) FROM files GROUP BY ALL ORDER BY ALL",
    "tags": """
        SELECT tag, count(*) AS docs FROM (SELECT unnest(tags) AS tag FROM documents)
        GROUP BY tag ORDER BY docs DESC, tag LIMIT 50
    """,
    "embedded": "SELECT model_key, chunk_count FROM models ORDER BY model_key",
}
_RUNS_SHOWN = 30
_RUNS = f"""
SELECT kind, state, epoch_us(started_at) // 1000000 AS started_at,
       epoch_us(finished_at) // 1000000 AS finished_at, report,
       epoch_us(max(finished_at) OVER ()) // 1000000 AS last_ingest_at
FROM runs WHERE state <> 'running' ORDER BY started_at DESC, rowid DESC LIMIT {_RUNS_SHOWN}
"""  # noqa: S608 - a number of ours


Counted: TypeAlias = Callable[[], Mapping[str, Any]]


def counts(session: Session) -> dict[str, Any]:
    """Return what is counted of documents, files and embeddings: it changes with a commit."""
    groups = session.records(_DOCUMENTS)
    found: dict[str, Any] = {name: sum(row[name] for row in groups) for name in _TOTALS}
    for name, column in _BREAKDOWNS.items():
        summed: Counter[str] = Counter()
        for row in groups:
            if row[column] is not None:
                summed[row[column]] += row["doc_count"]
        found[name] = dict(sorted(summed.items()))
    found["media_breakdown"] = dict.fromkeys(MEDIA_ALWAYS_COUNTED, 0) | found["media_breakdown"]
    return found | {name: session.mapping(sql) for name, sql in _OTHERS.items()}


def stats(session: Session, counted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``schema.v1`` and ``stats.v1`` are made of: the ``counts``, and the runs."""
    runs = session.records(_RUNS)
    return {
        **counted,
        "last_ingest_at": runs[0]["last_ingest_at"] if runs else None,
        "runs": [_run(row) for row in runs],
    }


def _run(row: Record) -> Record:
    del row["last_ingest_at"]
    counted = (from_json(row.pop("report")) or {}).get("counts", {})
    return row | {"counts": {name: n for name, n in counted.items() if n}}


_SIZES = "SELECT doc_key, chunk_count, text_chars FROM documents ORDER BY doc_key"
_FILES = "SELECT source_id, path FROM files ORDER BY source_id, path"
_VECTORS = """
SELECT model_key, chunk_key, vector
FROM embeddings JOIN chunks ON chunks.passage_hash = embeddings.passage_hash
"""
_BATCH_CHARS = 64_000_000
"""A batch of a rebuild ends here too, however few its chunks."""


def publication(
    session: Session, since: int, written: Written, counted: Counted
) -> Publication | None:
    """Return everything after *since* as one publication, or ``None`` if that is nothing.

    What the last commit has *written* is not read. *counted* gives the ``counts``.
    """
    with session.transaction():
        meta = load_meta(session)
        if since == meta.sequence:
            return None
        _refuse_unreplayable(meta, since)
        outbox = read_outbox(session, since)
        documents = _documents(session, outbox.documents, written)
        files = _files(session, outbox.files, written)
        vectors = read_vectors(session, outbox.vectors, written.vectors)
        models = load_models(session) if vectors else {}
        return _publication(
            meta,
            _surroundings(session, counted),
            documents=tuple(documents),
            removed_docs=tuple(sorted(outbox.documents - {d.doc_key for d in documents})),
            files=tuple(files),
            forgotten_files=tuple(sorted(outbox.files - {(f.source_id, f.path) for f in files})),
            aliases=read_aliases(session, outbox.aliases),
            dead_chunks=tuple(sorted(outbox.dead_chunks)),
            vectors=vectors,
            models={model: models[model] for model in vectors},
        )


def _documents(session: Session, keys: AbstractSet[int], written: Written) -> list[DocumentRecord]:
    known = [as_read(key, *written.documents[key]) for key in keys & written.documents.keys()]
    read = read_documents(session, list(keys - written.documents.keys()))
    return sorted(known + read, key=attrgetter("doc_key"))


def _files(
    session: Session, keys: AbstractSet[tuple[str, str]], written: Written
) -> list[FileRecord]:
    unknown = keys - written.files.keys()
    known = [written.files[key] for key in keys & written.files.keys()]
    read = read_files(session, unknown) if unknown else []
    return sorted(known + read, key=attrgetter("source_id", "path"))


def _refuse_unreplayable(meta: Meta, since: int) -> None:
    if not meta.pruned_sequence <= since < meta.sequence:
        raise NotIndexed(
            f"an index at {since} cannot follow a store that replays "
            f"{meta.pruned_sequence} to {meta.sequence}",
            hint="rebuild the index from the store",
            details={"since": since, "first": meta.pruned_sequence, "last": meta.sequence},
        )


def _surroundings(session: Session, counted: Counted) -> dict[str, Any]:
    return {"stats": stats(session, counted()), "sources": load_sources(session)}


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


def rebuild(session: Session, batch_chunks: int, counted: Counted) -> Iterator[Publication]:
    """Yield the whole truth in batches: at least one, all at the current sequence.

    Nothing may be committed meanwhile. The lock is held while a batch is read, not
    while the caller works on it.
    """
    with session.use("begin a rebuild"):
        meta = load_meta(session)
        around = _surroundings(session, counted)
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
            model: tuple(
                VectorRecord(row["chunk_key"], row["vector"])
                for row in rows
                if row["model_key"] == model
            )
            for model in {row["model_key"] for row in rows}
        }
        described = {model: models[model] for model in vectors}
        yield _publication(meta, around, vectors=vectors, models=described)


def _refuse_drift(session: Session, meta: Meta) -> None:
    if load_meta(session).sequence != meta.sequence:
        raise KbError("the store changed while an index was rebuilt from it")


def _document_batches(session: Session, batch_chunks: int) -> list[Sequence[int]]:
    batches: list[list[int]] = [[]]
    chunks = chars = 0
    for row in session.records(_SIZES):
        chunks += row["chunk_count"]
        chars += row["text_chars"]
        if batches[-1] and (chunks > batch_chunks or chars > _BATCH_CHARS):
            batches.append([])
            chunks, chars = row["chunk_count"], row["text_chars"]
        batches[-1].append(row["doc_key"])
    return [batch for batch in batches if batch]
