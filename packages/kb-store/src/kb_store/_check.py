"""The deep check: every promise about what is stored, looked at.

Slow on purpose: it reads every text. What it finds is a list of sentences, empty
for a store that is as it should be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb_core.ids import text_hash
from kb_store._documents import PIECE_CHARS, read_documents
from kb_store._session import Record, Row, Session
from kb_store._sums import batches, sum_of

__all__ = ["deep_check", "readable_keys"]

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
_SIZES = "SELECT doc_key, doc_id, path, text_chars, sum FROM documents ORDER BY doc_key"
_RANGES = """
SELECT doc_key, ordinal, start_char, end_char, text_hash FROM chunks
WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, ordinal
"""
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
_THROUGH = "SELECT bit_xor(hash(whole)) FROM {} AS whole"
_KEYS = (
    "SELECT doc_key, text_chars FROM documents ORDER BY doc_key",
    "SELECT doc_key, 0 FROM documents ORDER BY doc_key",
)
_PATHS = """
SELECT path FROM documents WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY path
"""
_WHOLE = tuple(
    f"{_THROUGH.format(table)} WHERE doc_key BETWEEN ? AND ?"  # a join would read neighbours, too
    for table in ("documents", "texts", "chunks")
)
"""What is read of a document."""
_READ_TOGETHER = 2048
_MOST_PER_RULE = 20
_MOST_NAMED = 20


def deep_check(session: Session) -> list[str]:
    """Return what is wrong, at most a few examples of each kind.

    Where blocks are damaged, these and the documents that they cost are all that is told: other
    rules could not be looked at.
    """
    if damaged := list(_damaged_tables(session)):
        return [*damaged, *_lost(session)]
    problems = []
    for sentence, sql in _RULES.items():
        found = session.rows(f"{sql} LIMIT {_MOST_PER_RULE}")
        problems += [sentence.format(repr(value)) for (value,) in found]
    documents = session.records(_SIZES)
    for start, end in batches([row["text_chars"] for row in documents]):
        problems += _check_texts(session, documents[start:end])
    return problems


def _damaged_tables(session: Session) -> Iterator[str]:
    """Read every column of every table; yield what DuckDB says of those that cannot be read."""
    for (table,) in session.rows(_TABLES):
        said = session.damaged(_THROUGH.format(f'"{table}"'))
        if said is not None:
            yield f"the table {table!r} cannot be read whole: {said}"


def _lost(session: Session) -> Iterator[str]:
    """Yield which documents cannot be read any more."""
    keys = readable_keys(session)
    if keys is None:
        yield "which documents there are cannot be read any more"
        return
    lost = [key for key, is_readable in keys.items() if not is_readable]
    if not lost:
        yield f"all {len(keys):,} documents can be read, with their texts and chunks"
        return
    yield f"{len(lost):,} of {len(keys):,} documents cannot be read"
    if session.damaged(_PATHS, [lost]) is None:
        named = session.rows(_PATHS, [lost])
        yield from (f"document {path!r} cannot be read" for (path,) in named[:_MOST_NAMED])


def readable_keys(session: Session) -> dict[int, bool] | None:
    """Return of each document, by key, whether all of it can be read; ``None``: nobody knows.

    DuckDB reads 2,048 rows at a time, so as many are tried together, and lost together.
    """
    known = next((sql for sql in _KEYS if session.damaged(sql) is None), None)
    if known is None:
        return None
    found: dict[int, bool] = {}
    for keys in _groups(session.rows(known)):
        ends = [keys[0], keys[-1]]
        is_readable = all(session.damaged(sql, ends) is None for sql in _WHOLE)
        found |= dict.fromkeys(keys, is_readable)
    return found


def _groups(sized: Sequence[Row]) -> Iterator[list[int]]:
    """Put neighbours together whose texts have as many pieces as are read at a time."""
    group: list[int] = []
    pieces = 0
    for key, chars in sized:
        pieces += 1 + chars // PIECE_CHARS
        if group and pieces > _READ_TOGETHER:
            yield group
            group, pieces = [], 1 + chars // PIECE_CHARS
        group.append(key)
    if group:
        yield group


def _check_texts(session: Session, rows: list[Record]) -> Iterator[str]:
    keys = [row["doc_key"] for row in rows]
    found = {document.doc_id: document for document in read_documents(session, keys)}
    paths = {row["doc_key"]: row["path"] for row in rows}
    texts = {row["doc_key"]: found[row["doc_id"]].text for row in rows}
    for row in rows:
        document, said = found[row["doc_id"]], row["text_chars"]
        if len(document.text) != said:
            yield f"the text of {row['path']!r} has {len(document.text)} characters, not {said}"
        if row["sum"] is not None and row["sum"] != sum_of(document):
            yield f"{row['path']!r} is not what was committed: its sum is another one"
    for row in session.records(_RANGES, [keys]):
        start, end, text = row["start_char"], row["end_char"], texts.get(row["doc_key"], "")
        chunk = f"chunk {row['ordinal']} of {paths[row['doc_key']]!r}"
        if not 0 <= start <= end <= len(text):
            yield f"{chunk} ends outside its text"
        elif text_hash(text[start:end]) != row["text_hash"]:
            yield f"{chunk} is not the text it was made of"
