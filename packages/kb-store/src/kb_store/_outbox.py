"""The outbox: what the index has not been told yet.

It holds names of what was touched, not copies. Whether a document was changed or
removed is read off the truth when a publication is made, so a document that was
deleted and added again, or changed five times, folds by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kb_store._rows import integers, strings
from kb_store._session import Row, Session

__all__ = ["Outbox", "prune_outbox", "read_outbox", "write_outbox"]

_READ = "SELECT kind, key, name, value FROM outbox WHERE sequence > ?"
_WRITE = "INSERT INTO outbox BY NAME SELECT * FROM incoming"
_PRUNE = "DELETE FROM outbox WHERE sequence <= ?"
_PRUNED = "UPDATE meta SET pruned_sequence = ? WHERE pruned_sequence < ?"


@dataclass(slots=True)
class Outbox:
    """What one commit touched, or many."""

    documents: set[int] = field(default_factory=set)
    dead_chunks: set[int] = field(default_factory=set)
    vectors: set[tuple[str, int]] = field(default_factory=set)
    """Model key and chunk key of vectors that the vector files lack."""
    files: set[tuple[str, str]] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    """Old document ids."""


def write_outbox(session: Session, outbox: Outbox, sequence: int) -> None:
    """Add what *outbox* holds, as of *sequence*."""
    rows = sorted(_rows(outbox), key=lambda row: (row[0], row[1] or 0))
    if not rows:
        return
    kinds, keys, names, values = zip(*rows, strict=True)
    session.insert(
        _WRITE,
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
    for kind, key, name, value in session.rows(_READ, [since]):
        match kind:
            case "document":
                outbox.documents.add(key)
            case "dead":
                outbox.dead_chunks.add(key)
            case "vector":
                outbox.vectors.add((name, key))
            case "file":
                outbox.files.add((name, value))
            case _:
                outbox.aliases.add(name)
    return outbox


def prune_outbox(session: Session, published: int) -> None:
    """Forget what the index shows already."""
    with session.transaction():
        session.run(_PRUNE, [published])
        session.run(_PRUNED, [published, published])
