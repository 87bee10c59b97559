"""The deep check: every promise about what is stored, looked at.

Slow on purpose: it reads every text. What it finds is a list of sentences, empty
for a store that is as it should be.
"""

from __future__ import annotations

from collections.abc import Iterator

from kb_core.ids import text_hash
from kb_store._documents import read_texts
from kb_store._session import Record, Session

__all__ = ["deep_check"]

_RULES = {
    "document id {} is given twice": """
        SELECT doc_id FROM documents GROUP BY doc_id HAVING count(*) > 1
    """,
    "document key {} is given twice": """
        SELECT doc_key FROM documents GROUP BY doc_key HAVING count(*) > 1
    """,
    "chunk id {} is given twice": """
        SELECT chunk_id FROM chunks GROUP BY chunk_id HAVING count(*) > 1
    """,
    "chunk key {} is given twice": """
        SELECT chunk_key FROM chunks GROUP BY chunk_key HAVING count(*) > 1
    """,
    "file {} has two rows": """
        SELECT source_id || ':' || path FROM files GROUP BY source_id, path HAVING count(*) > 1
    """,
    "file {} is said to be indexed, and has no document": """
        SELECT source_id || ':' || path FROM files
        WHERE state = 'indexed' AND doc_id NOT IN (SELECT doc_id FROM documents)
    """,
    "passage {} has two embeddings of one model": """
        SELECT passage_hash FROM embeddings GROUP BY passage_hash, model_key HAVING count(*) > 1
    """,
    "alias {} is given twice": """
        SELECT old_doc_id FROM aliases GROUP BY old_doc_id HAVING count(*) > 1
    """,
    "alias {} hides a document": """
        SELECT old_doc_id FROM aliases WHERE old_doc_id IN (SELECT doc_id FROM documents)
    """,
    "chunk {} belongs to no document": """
        SELECT chunk_key FROM chunks WHERE doc_key NOT IN (SELECT doc_key FROM documents)
    """,
    "{} is a document within a file that is none": """
        SELECT path FROM documents
        ANTI JOIN (SELECT source_id, path AS container FROM documents WHERE container IS NULL)
            USING (source_id, container)
        WHERE container IS NOT NULL
    """,
    "a text belongs to no document: key {}": """
        SELECT DISTINCT doc_key FROM texts WHERE doc_key NOT IN (SELECT doc_key FROM documents)
    """,
    "an embedding is of the unknown model {}": """
        SELECT DISTINCT model_key FROM embeddings
        WHERE model_key NOT IN (SELECT model_key FROM models)
    """,
    "chunk key {} is yet to be given": """
        SELECT chunk_key FROM chunks WHERE chunk_key >= (SELECT next_chunk_key FROM meta)
    """,
    "document key {} is yet to be given": """
        SELECT doc_key FROM documents WHERE doc_key >= (SELECT next_doc_key FROM meta)
    """,
    "the chunks of document key {} are miscounted": """
        SELECT doc_key FROM documents
        LEFT JOIN (
            SELECT doc_key, count(*) AS n, sum(token_count) AS tokens, max(ordinal) + 1 AS last
            FROM chunks GROUP BY doc_key
        ) AS counted USING (doc_key)
        WHERE chunk_count <> coalesce(n, 0) OR documents.token_count <> coalesce(tokens, 0)
           OR coalesce(last, 0) <> coalesce(n, 0)
    """,
    "the embedded chunks of model {} are miscounted": """
        SELECT model_key FROM models WHERE chunk_count <> (
            SELECT count(*) FROM chunks JOIN embeddings USING (passage_hash)
            WHERE embeddings.model_key = models.model_key
        )
    """,
}
_SIZES = "SELECT doc_key, path, text_chars FROM documents ORDER BY doc_key"
_RANGES = """
SELECT doc_key, ordinal, start_char, end_char, text_hash FROM chunks
WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, ordinal
"""
_BATCH = 200
_MOST_PER_RULE = 20


def deep_check(session: Session) -> list[str]:
    """Return what is wrong, at most a few examples of each kind."""
    problems = []
    for sentence, sql in _RULES.items():
        found = session.rows(f"{sql} LIMIT {_MOST_PER_RULE}")
        problems += [sentence.format(repr(value)) for (value,) in found]
    documents = session.records(_SIZES)
    for start in range(0, len(documents), _BATCH):
        problems += _check_texts(session, documents[start : start + _BATCH])
    return problems


def _check_texts(session: Session, documents: list[Record]) -> Iterator[str]:
    paths = {row["doc_key"]: row["path"] for row in documents}
    texts = read_texts(session, list(paths))
    for row in documents:
        found, said = len(texts[row["doc_key"]]), row["text_chars"]
        if found != said:
            yield f"the text of {row['path']!r} has {found} characters, not {said}"
    for row in session.records(_RANGES, [list(paths)]):
        start, end, text = row["start_char"], row["end_char"], texts.get(row["doc_key"], "")
        chunk = f"chunk {row['ordinal']} of {paths[row['doc_key']]!r}"
        if not 0 <= start <= end <= len(text):
            yield f"{chunk} ends outside its text"
        elif text_hash(text[start:end]) != row["text_hash"]:
            yield f"{chunk} is not the text it was made of"
