"""Commit: one batch becomes part of the truth, all of it or nothing.

The rows, what the index is owed for them, and the counters change in one transaction. A
batch that changes nothing leaves the sequence where it is. What a batch means for the
documents that are stored, who keeps which key, is decided first, and purely: all moves of
a batch happen at once, so files that swapped their names, or moved along a chain, each
keep their own key. Where entries contend for a stored document, a move wins over a
replacement, and a replacement over a deletion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kb_core.errors import InvalidInput, KbError
from kb_core.records import Changes, DocumentRecord
from kb_store._documents import (
    delete_documents,
    find_keys,
    keep_keys,
    passage_hash,
    stored_chunks,
    write_chunks,
    write_documents,
)
from kb_store._embeddings import describe_models, embed
from kb_store._ledger import forget_files, write_files
from kb_store._meta import Keys, Outbox, load_meta, save_meta, write_outbox
from kb_store._session import Session
from kb_store._tables import describe_sources, forget_aliases, record_moves

__all__ = [
    "Plan",
    "Write",
    "check",
    "commit",
    "forget",
    "plan",
]


@dataclass(frozen=True, slots=True)
class Write:
    """A document to write."""

    doc_key: int
    document: DocumentRecord
    moved_from: str | None = None
    """The id it had until now, where that was another."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Documents to write, and keys of documents that go."""

    writes: tuple[Write, ...]
    removed: tuple[int, ...]

    @property
    def touched(self) -> list[int]:
        """Return the keys of every document concerned."""
        return [write.doc_key for write in self.writes] + list(self.removed)

    @property
    def moves(self) -> dict[str, str]:
        """Return the new ids of documents that moved, by old id."""
        return {w.moved_from: w.document.doc_id for w in self.writes if w.moved_from is not None}


def plan(changes: Changes, stored: Mapping[str, int], mint: Callable[[], int]) -> Plan:
    """Decide for *changes*; *stored* has the keys of all documents they name that exist."""
    free = dict(stored)
    moved = []
    replacing = list(changes.documents)
    for move in changes.moves:
        key = free.pop(move.old_doc_id, None)
        if key is None:
            replacing.append(move.document)
        else:
            moved.append((key, move))
    # Only now is it known which documents are left to be replaced, or to make way.
    writes = []
    for document in replacing:
        key = free.pop(document.doc_id, None)
        writes.append(Write(mint() if key is None else key, document))
    removed = []
    for key, move in moved:
        doc_id = move.document.doc_id
        removed.extend([free.pop(doc_id)] if doc_id in free else [])
        writes.append(
            Write(key, move.document, move.old_doc_id if move.old_doc_id != doc_id else None)
        )
    removed.extend(free.pop(doc_id) for doc_id in changes.deleted_docs if doc_id in free)
    return Plan(tuple(writes), tuple(removed))


def check(changes: Changes) -> None:
    """Refuse a batch that would make the truth contradict itself."""
    documents = [*changes.documents, *(move.document for move in changes.moves)]
    for doc_id, times in Counter(document.doc_id for document in documents).items():
        if times > 1:
            raise KbError(f"document {doc_id!r} is {times} times in one batch")
    for document in documents:
        _check_text(document)
        _check_chunks(document)


def _check_text(document: DocumentRecord) -> None:
    try:
        document.text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the text of {document.path!r} has a lone surrogate at character {error.start}",
            details={"path": document.path, "position": error.start},
        ) from error


def _check_chunks(document: DocumentRecord) -> None:
    text = document.text
    if len({chunk.chunk_id for chunk in document.chunks}) != len(document.chunks):
        raise KbError(f"two chunks of {document.path!r} have one id")
    for ordinal, chunk in enumerate(document.chunks):
        if chunk.ordinal != ordinal:
            raise KbError(f"chunk {ordinal} of {document.path!r} has ordinal {chunk.ordinal}")
        if not 0 <= chunk.start <= chunk.end or text[chunk.start : chunk.end] != chunk.text:
            raise KbError(f"chunk {ordinal} of {document.path!r} is not the text of its range")


@dataclass(frozen=True, slots=True)
class _Turnover:
    """Passage hashes of chunks that came and went, by chunk key."""

    born: Mapping[int, str]
    dead: Mapping[int, str]


def commit(session: Session, changes: Changes, now: datetime) -> int:
    """Commit *changes*; return the sequence number the store is at."""
    check(changes)
    with session.transaction():
        meta = load_meta(session)
        keys = Keys(meta)
        outbox = Outbox()
        decided = plan(changes, find_keys(session, _named_ids(changes)), keys.doc_key)
        turnover = _write(session, decided, keys, outbox)
        _record_moves(session, decided, now, outbox)
        described = describe_models(session, changes.models)
        embedded = embed(session, changes.embeddings, turnover.born, turnover.dead, outbox)
        outbox.files.update(write_files(session, changes.files))
        outbox.files.update(forget_files(session, changes.forgotten_files))
        relocated = describe_sources(session, changes.sources)
        written = bool(decided.touched)
        if not (written or described or embedded or outbox.files or relocated):
            return meta.sequence
        after = replace(
            meta,
            sequence=meta.sequence + 1,
            corpus_revision=meta.corpus_revision + written,
            vector_revision=meta.vector_revision + embedded,
        )
        write_outbox(session, outbox, after.sequence)
        save_meta(session, after, keys)
    return after.sequence


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


def _named_ids(changes: Changes) -> set[str]:
    return {
        *(document.doc_id for document in changes.documents),
        *(move.old_doc_id for move in changes.moves),
        *(move.document.doc_id for move in changes.moves),
        *changes.deleted_docs,
    }


def _write(session: Session, decided: Plan, keys: Keys, outbox: Outbox) -> _Turnover:
    if not decided.touched:
        return _Turnover({}, {})
    old = stored_chunks(session, decided.touched)
    chunks = []
    for write in decided.writes:
        records = write.document.chunks
        moved = write.moved_from is not None
        kept = keep_keys(old.get(write.doc_key, ()), records, keys.chunk_key, moved=moved)
        chunks += [(write.doc_key, key, chunk) for key, chunk in zip(kept, records, strict=True)]
    delete_documents(session, decided.touched)
    write_documents(session, [(write.doc_key, write.document) for write in decided.writes])
    write_chunks(session, chunks)
    before = {s.chunk_key: s.passage_hash for stored in old.values() for s in stored}
    after = {key: passage_hash(chunk) for _, key, chunk in chunks}
    dead = {key: before[key] for key in before.keys() - after.keys()}
    outbox.documents.update(decided.touched)
    outbox.dead_chunks.update(dead)
    return _Turnover({key: after[key] for key in after.keys() - before.keys()}, dead)


def _record_moves(session: Session, decided: Plan, now: datetime, outbox: Outbox) -> None:
    written = {write.document.doc_id for write in decided.writes}
    if written:
        outbox.aliases |= record_moves(session, decided.moves, written, now)
