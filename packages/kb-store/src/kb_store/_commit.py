"""Commit: one batch becomes part of the truth, all of it or nothing.

The rows, what the index is owed for them, and the counters change in one transaction. A
batch that changes nothing leaves the sequence where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from kb_core.changes import (
    Decided,
    Outbox,
    check_changes,
    decide,
    keep_keys,
    named_ids,
    passage_hash,
)
from kb_core.records import Changes, DocumentRecord, FileRecord
from kb_core.values import dataclass, field, replace
from kb_store._documents import (
    delete_documents,
    enclosed_keys,
    find_keys,
    stored_chunks,
    write_chunks,
    write_documents,
)
from kb_store._embeddings import Owed, describe_models, embed
from kb_store._ledger import forget_files, write_files
from kb_store._meta import Keys, load_meta, save_meta, write_outbox
from kb_store._session import Session
from kb_store._sums import sum_of
from kb_store._tables import describe_sources, forget_aliases, record_moves

__all__ = ["Written", "commit", "forget"]


@dataclass(frozen=True, slots=True)
class Written:
    """What a commit wrote, as it was given: who publishes it need not read it."""

    documents: Mapping[int, tuple[DocumentRecord, Sequence[int]]] = field(default_factory=dict)
    """By key, with the keys of their chunks."""
    files: Mapping[tuple[str, str], FileRecord] = field(default_factory=dict)
    vectors: Mapping[Owed, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Turnover:
    """Passage hashes of chunks that came and went, by chunk key, and what was written."""

    born: Mapping[int, str]
    dead: Mapping[int, str]
    documents: Mapping[int, tuple[DocumentRecord, Sequence[int]]]


def commit(session: Session, changes: Changes, now: datetime) -> tuple[int, Written | None]:
    """Commit *changes*; return the sequence number the store is at, and what was written.

    That is ``None`` where nothing was different.
    """
    check_changes(changes)
    with session.transaction():
        meta = load_meta(session)
        keys = Keys(meta)
        outbox = Outbox()
        named = find_keys(session, named_ids(changes))
        enclosed = enclosed_keys(session, named.values())
        decided = decide(changes, named, keys.doc_key, enclosed)
        known = [key for key in decided.touched if key < meta.next_doc_key]
        turnover = _write(session, decided, known, keys, outbox)
        _record_moves(session, decided, now, outbox)
        described = describe_models(session, changes.models)
        embedded = embed(session, changes.embeddings, turnover.born, turnover.dead, outbox)
        outbox.files.update(write_files(session, changes.files))
        outbox.files.update(forget_files(session, changes.forgotten_files))
        relocated = describe_sources(session, changes.sources)
        written = bool(decided.touched)
        if not (written or described or embedded.is_new or outbox.files or relocated):
            return meta.sequence, None
        after = replace(
            meta,
            sequence=meta.sequence + 1,
            corpus_revision=meta.corpus_revision + written,
            vector_revision=meta.vector_revision + embedded.is_new,
        )
        write_outbox(session, outbox, after.sequence)
        save_meta(session, after, keys)
    files = {(file.source_id, file.path): file for file in changes.files}
    for key in changes.forgotten_files:
        files.pop(key, None)
    return after.sequence, Written(turnover.documents, files, embedded.vectors)


def forget(session: Session, files: Sequence[tuple[str, str]], old_doc_ids: Sequence[str]) -> None:
    """Delete ledger rows and aliases, and owe the index the news; part of a transaction."""
    if not files and not old_doc_ids:
        return
    meta = load_meta(session)
    forget_files(session, files)
    forget_aliases(session, old_doc_ids)
    after = replace(meta, sequence=meta.sequence + 1)
    write_outbox(session, Outbox(files=set(files), aliases=set(old_doc_ids)), after.sequence)
    save_meta(session, after, Keys(meta))


def _write(
    session: Session, decided: Decided, known: Sequence[int], keys: Keys, outbox: Outbox
) -> _Turnover:
    """Write what was decided; *known* are those of its documents that were there before."""
    if not decided.touched:
        return _Turnover({}, {}, {})
    old = stored_chunks(session, known)
    chunks, documents = [], {}
    for write in decided.writes:
        records = write.document.chunks
        moved = write.moved_from is not None
        kept = keep_keys(old.get(write.doc_key, ()), records, keys.chunk_key, moved=moved)
        chunks += [(write.doc_key, key, chunk) for key, chunk in zip(kept, records, strict=True)]
        documents[write.doc_key] = write.document, kept
    if known:
        delete_documents(session, known)
    keyed = [(write.doc_key, write.document) for write in decided.writes]
    write_documents(session, keyed, [sum_of(document) for _, document in keyed])
    write_chunks(session, chunks)
    before = {s.chunk_key: s.passage_hash for stored in old.values() for s in stored}
    after = {key: passage_hash(chunk) for _, key, chunk in chunks}
    dead = {key: before[key] for key in before.keys() - after.keys()}
    outbox.documents.update(decided.touched)
    outbox.dead_chunks.update(dead)
    born = {key: after[key] for key in after.keys() - before.keys()}
    return _Turnover(born, dead, documents)


def _record_moves(session: Session, decided: Decided, now: datetime, outbox: Outbox) -> None:
    written = {write.document.doc_id for write in decided.writes}
    if written:
        outbox.aliases |= record_moves(session, decided.moves, written, now)
