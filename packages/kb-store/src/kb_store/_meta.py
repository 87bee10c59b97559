"""The store's counters: one row, read and written inside each transaction.

``sequence`` counts publications, ``corpus_revision`` those that changed documents,
``vector_revision`` those that changed embeddings. Keys are minted from here and
never given twice; a batch that is rolled back has given none.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime

from kb_core.errors import StoreCorrupt
from kb_store._rows import instants, integers, strings
from kb_store._session import Session

__all__ = ["Keys", "Meta", "bump_sequence", "create_meta", "load_meta", "save_meta"]

_LOAD = """
SELECT store_id, sequence, corpus_revision, vector_revision, pruned_sequence,
       next_doc_key, next_chunk_key
FROM meta
"""
_SAVE = """
UPDATE meta SET sequence = ?, corpus_revision = ?, vector_revision = ?,
                next_doc_key = ?, next_chunk_key = ?
"""
_BUMP = "UPDATE meta SET sequence = sequence + 1"
_COUNT = "SELECT count(*) FROM meta"
_CREATE = "INSERT INTO meta BY NAME SELECT * FROM incoming"


@dataclass(frozen=True, slots=True)
class Meta:
    """The row."""

    store_id: str
    sequence: int
    corpus_revision: int
    vector_revision: int
    pruned_sequence: int
    """Publications up to this one can no longer be replayed from the outbox."""
    next_doc_key: int
    next_chunk_key: int


class Keys:
    """Mints keys for one transaction."""

    def __init__(self, meta: Meta) -> None:
        self.next_doc_key = meta.next_doc_key
        self.next_chunk_key = meta.next_chunk_key

    def doc_key(self) -> int:
        """Return a key that no document ever had."""
        key = self.next_doc_key
        self.next_doc_key += 1
        return key

    def chunk_key(self) -> int:
        """Return a key that no chunk ever had."""
        key = self.next_chunk_key
        self.next_chunk_key += 1
        return key


def create_meta(session: Session, now: datetime) -> None:
    """Write the row of a store that has none: a new store gets its identity."""
    counted = session.row(_COUNT)
    if counted is not None and counted[0]:
        return
    numbers = {
        "sequence": 0,
        "corpus_revision": 0,
        "vector_revision": 0,
        "pruned_sequence": 0,
        "next_doc_key": 1,
        "next_chunk_key": 1,
    }
    columns = {name: integers([value]) for name, value in numbers.items()}
    identity = {"store_id": strings([secrets.token_hex(16)]), "created_at": instants([now])}
    session.insert(_CREATE, identity | columns)


def load_meta(session: Session) -> Meta:
    """Read the row."""
    row = session.row(_LOAD)
    if row is None:
        raise StoreCorrupt(
            "the store has lost its counters", hint="move the file away and run 'kebab ingest'"
        )
    return Meta(*row)


def save_meta(session: Session, meta: Meta, keys: Keys) -> None:
    """Write the counters of *meta* and the state of *keys*."""
    revisions = [meta.sequence, meta.corpus_revision, meta.vector_revision]
    session.run(_SAVE, [*revisions, keys.next_doc_key, keys.next_chunk_key])


def bump_sequence(session: Session) -> None:
    """Owe the index a publication of counts alone."""
    session.run(_BUMP)
