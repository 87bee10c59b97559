"""The store's counters, and what the index has not been told yet.

``sequence`` counts publications, ``corpus_revision`` those that changed documents,
``vector_revision`` those that changed embeddings. Keys are minted from here and never
given twice; a batch that is rolled back has given none.

The outbox holds names of what was touched, not copies. Whether a document was changed or
removed is read off the truth when a publication is made, so a document that was deleted
and added again, or changed five times, folds by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from kb_core.changes import Outbox
from kb_core.errors import StoreCorrupt
from kb_core.values import dataclass
from kb_store._errors import CORRUPT_HINT
from kb_store._session import Row, Session, instants, integers, strings

__all__ = [
    "Keys",
    "Meta",
    "bump_sequence",
    "create_meta",
    "load_meta",
    "prune_outbox",
    "read_outbox",
    "save_meta",
    "write_outbox",
]

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
_COUNT = "SELECT (SELECT count(*) FROM meta) + (SELECT count(*) FROM documents)"


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
    """Write the row of a store that has none: a new store gets its identity.

    One that has documents has lost it, with the keys that it gave them: ``load_meta`` says so.
    """
    if session.count(_COUNT):
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
    identity = {"store_id": strings([os.urandom(16).hex()]), "created_at": instants([now])}
    session.insert("meta", identity | columns)


def load_meta(session: Session) -> Meta:
    """Read the row."""
    row = session.record(_LOAD)
    if row is None:
        raise StoreCorrupt("the store has lost its counters", hint=CORRUPT_HINT)
    return Meta(**row)


def save_meta(session: Session, meta: Meta, keys: Keys) -> None:
    """Write the counters of *meta* and the state of *keys*."""
    revisions = [meta.sequence, meta.corpus_revision, meta.vector_revision]
    session.run(_SAVE, [*revisions, keys.next_doc_key, keys.next_chunk_key])


def bump_sequence(session: Session) -> None:
    """Owe the index a publication of counts alone."""
    session.run(_BUMP)


_READ = "SELECT kind, key, name, value FROM outbox WHERE sequence > ?"
_PRUNE = "DELETE FROM outbox WHERE sequence <= ?"
_PRUNED = "UPDATE meta SET pruned_sequence = ? WHERE pruned_sequence < ?"


def write_outbox(session: Session, outbox: Outbox, sequence: int) -> None:
    """Add what *outbox* holds, as of *sequence*."""
    rows = sorted(_rows(outbox), key=lambda row: (row[0], row[1] or 0))
    if not rows:
        return
    kinds, keys, names, values = zip(*rows, strict=True)
    session.insert(
        "outbox",
        {
            "sequence": integers([sequence] * len(rows)),
            "kind": strings(kinds),
            "key": integers(keys),
            "name": strings(names),
            "value": strings(values),
        },
    )


def _rows(outbox: Outbox) -> Iterator[Row]:
    yield from (("document", key, None, None) for key in outbox.documents)
    yield from (("dead", key, None, None) for key in outbox.dead_chunks)
    yield from (("vector", key, model, None) for model, key in outbox.vectors)
    yield from (("file", None, source, path) for source, path in outbox.files)
    yield from (("alias", None, old, None) for old in outbox.aliases)


def read_outbox(session: Session, since: int) -> Outbox:
    """Return everything that was touched after *since*, folded."""
    outbox = Outbox()
    for row in session.records(_READ, [since]):
        match row["kind"]:
            case "document":
                outbox.documents.add(row["key"])
            case "dead":
                outbox.dead_chunks.add(row["key"])
            case "vector":
                outbox.vectors.add((row["name"], row["key"]))
            case "file":
                outbox.files.add((row["name"], row["value"]))
            case _:
                outbox.aliases.add(row["name"])
    return outbox


def prune_outbox(session: Session, published: int) -> None:
    """Forget what the index shows already."""
    with session.transaction():
        session.run(_PRUNE, [published])
        session.run(_PRUNED, [published, published])
