"""Sums of documents: whether a text and its chunks still are what was committed.

DuckDB has a checksum for each block, and finds a bit that a disk has turned. It knows nothing of
a text that lost a piece, a chunk of another version, or a bit that was turned before the block
was written. A document's sum is made of the record that is committed, and held against the one
that is read, so it covers the whole way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kb_core.ids import blake2b
from kb_core.records import DocumentRecord
from kb_store._documents import read_documents
from kb_store._session import Session, integers, strings

__all__ = ["batches", "complete_sums", "sum_of"]

_WITHOUT = "SELECT doc_key, text_chars FROM documents WHERE sum IS NULL ORDER BY doc_key"
_PUT = """
UPDATE documents SET sum = given.sum
FROM (SELECT {} AS doc_key, {} AS sum) AS given WHERE documents.doc_key = given.doc_key
"""
_BATCH_DOCS = 500
_BATCH_CHARS = 16_000_000
"""A batch ends here too, however few its documents: this much text is in memory at once."""


def sum_of(document: DocumentRecord) -> str:
    """Return the sum of a document's identity, text and chunks, in hex."""
    told = [
        document.doc_id,
        document.source_id,
        document.path,
        document.title,
        document.media,
        document.tags,
        [
            (
                *(chunk.chunk_id, chunk.ordinal, chunk.start, chunk.end),
                *(chunk.line_start, chunk.line_end, chunk.token_count, chunk.heading_path),
                *(chunk.symbol, chunk.part, chunk.context, chunk.flags),
                dict(chunk.span) if chunk.span is not None else None,
            )
            for chunk in document.chunks
        ],
    ]
    digest = blake2b(
        json.dumps(told, separators=(",", ":"), sort_keys=True).encode(), digest_size=16
    )
    digest.update(document.text.encode())
    return digest.hexdigest()


def complete_sums(session: Session) -> int:
    """Make the sums that no earlier version made; return how many.

    Each batch is a transaction of its own: who is interrupted goes on from there.
    """
    waiting = session.records(_WITHOUT)
    for start, end in batches([row["text_chars"] for row in waiting]):
        keys = [row["doc_key"] for row in waiting[start:end]]
        sums = strings(sum_of(document) for document in read_documents(session, keys))
        given = {"doc_key": integers(keys), "sum": sums}
        sql = _PUT.format(*(form.format(name) for name, (form, _) in given.items()))
        with session.transaction():
            session.run(sql, {name: values for name, (_, values) in given.items()})
    return len(waiting)


def batches(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return where each batch of documents with texts of these *sizes* starts and ends."""
    found, start, chars = [], 0, 0
    for at, size in enumerate(sizes):
        if at > start and (at - start >= _BATCH_DOCS or chars + size > _BATCH_CHARS):
            found.append((start, at))
            start, chars = at, 0
        chars += size
    return [*found, (start, len(sizes))] if sizes else []
