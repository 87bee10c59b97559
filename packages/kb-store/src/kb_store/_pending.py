"""Passages that have no embedding of a model yet, newest documents first."""

from __future__ import annotations

from collections.abc import Sequence

from kb_core.records import PendingPassage
from kb_store._session import Row, Session
from kb_store._texts import read_texts

__all__ = ["count_missing", "missing_passages"]

_COUNT = """
SELECT count(DISTINCT passage_hash) FROM chunks
WHERE passage_hash NOT IN (SELECT passage_hash FROM embeddings WHERE model_key = ?)
"""
_MISSING = """
SELECT chunk_key, chunks.passage_hash, chunks.doc_key, start_char, end_char, context
FROM chunks
JOIN (SELECT doc_key, coalesce(doc_date, indexed_at) AS newest FROM documents) AS dated
  ON dated.doc_key = chunks.doc_key
ANTI JOIN (SELECT passage_hash FROM embeddings WHERE model_key = ?) AS done
  ON done.passage_hash = chunks.passage_hash
ORDER BY newest DESC, chunks.doc_key DESC, ordinal
LIMIT ?
"""


def count_missing(session: Session, model_key: str) -> int:
    """Return how many different passages the model has not embedded."""
    row = session.row(_COUNT, [model_key])
    return 0 if row is None else int(row[0])


def missing_passages(session: Session, model_key: str, limit: int) -> list[PendingPassage]:
    """Return at most *limit* passages, each once, of the newest documents."""
    rows = _distinct_rows(session, model_key, limit)
    texts = read_texts(session, list({row[2] for row in rows}))
    return [
        PendingPassage(chunk_key, passage_hash, _passage(context, texts[doc_key][start:end]))
        for chunk_key, passage_hash, doc_key, start, end, context in rows
    ]


def _distinct_rows(session: Session, model_key: str, limit: int) -> Sequence[Row]:
    # The first rows in order are cheap to find, and the first different ones are not;
    # so more rows are asked for until enough differ, or there are no more.
    asked = limit + limit // 4
    while True:
        rows = session.rows(_MISSING, [model_key, asked])
        first = {row[1]: row for row in reversed(rows)}
        if len(first) >= limit or len(rows) < asked:
            return [row for row in rows if first[row[1]] is row][:limit]
        asked *= 4


def _passage(context: str, text: str) -> str:
    return f"{context}\n\n{text}" if context else text
