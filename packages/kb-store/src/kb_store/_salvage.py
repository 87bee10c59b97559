"""Salvage: a new store of every row that can be read of a damaged one.

Rows are copied table by table, and where a block is damaged 2,048 at a time, which is what
DuckDB reads together. What is incomplete or not what was committed then goes: a document without
all of its text and chunks, or with another sum, and the row of the ledger that says that it is
stored, so that the next run reads the file again. The damaged file is opened for reading alone.

The new store keeps identity and keys of the old one, as far as those could be read. No index can
follow it: it is to be rebuilt.
"""

from __future__ import annotations

from pathlib import Path

from kb_store._documents import delete_documents
from kb_store._embeddings import quantize_halves
from kb_store._session import Session
from kb_store._sums import wrong_keys

__all__ = ["salvage"]

_OURS = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
_THEIRS = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'damaged'"
_COPY = 'INSERT INTO "{0}" BY NAME SELECT * FROM damaged."{0}"'
_LAST = 'SELECT coalesce(max(rowid), -1) FROM damaged."{0}"'
_SOME = f"{_COPY} WHERE rowid BETWEEN ? AND ?"
_READ_TOGETHER = 2048
_ROWS = "SELECT count(*) FROM meta"
_NOT_COPIED = {"migrations", "outbox"}

_MEND = """
DELETE FROM documents WHERE doc_key IN (
    SELECT documents.doc_key FROM documents
    LEFT JOIN (SELECT doc_key, sum(length(text)) AS n FROM texts GROUP BY ALL) AS text
        ON text.doc_key = documents.doc_key
    LEFT JOIN (SELECT doc_key, count(*) AS n FROM chunks GROUP BY ALL) AS chunk
        ON chunk.doc_key = documents.doc_key
    WHERE text_chars <> coalesce(text.n, 0) OR chunk_count <> coalesce(chunk.n, 0)
);
DELETE FROM texts WHERE doc_key NOT IN (SELECT doc_key FROM documents);
DELETE FROM chunks WHERE doc_key NOT IN (SELECT doc_key FROM documents)
"""
"""Drop what is incomplete."""
_FOLLOW = """
DELETE FROM documents WHERE container IS NOT NULL AND (source_id, container) NOT IN (
    SELECT (source_id, path) FROM documents WHERE container IS NULL
);
DELETE FROM texts WHERE doc_key NOT IN (SELECT doc_key FROM documents);
DELETE FROM chunks WHERE doc_key NOT IN (SELECT doc_key FROM documents);
DELETE FROM files WHERE doc_id IS NOT NULL AND doc_id NOT IN (SELECT doc_id FROM documents);
DELETE FROM aliases WHERE old_doc_id IN (SELECT doc_id FROM documents);
DELETE FROM embeddings WHERE model_key NOT IN (SELECT model_key FROM models);
UPDATE models SET chunk_count = (
    SELECT count(*) FROM chunks JOIN embeddings USING (passage_hash)
    WHERE embeddings.model_key = models.model_key
);
UPDATE meta SET sequence = sequence + 1, corpus_revision = corpus_revision + 1;
UPDATE meta SET pruned_sequence = sequence,
    next_doc_key = greatest(
        next_doc_key, (SELECT coalesce(max(doc_key), 0) + 1 FROM documents)
    ),
    next_chunk_key = greatest(
        next_chunk_key, (SELECT coalesce(max(chunk_key), 0) + 1 FROM chunks)
    )
"""


def salvage(session: Session, damaged: Path) -> list[str]:
    """Fill the new, empty store of *session*; return what could not be read of *damaged*."""
    place = str(damaged).replace("'", "''")
    said = session.damaged(f"ATTACH '{place}' AS damaged (READ_ONLY)")
    if said is not None:
        return [f"nothing of it can be read: {said}"]
    try:
        theirs = {name for (name,) in session.rows(_THEIRS)}
        ours = [name for (name,) in session.rows(_OURS) if name not in _NOT_COPIED]
        lost = [note for name in ours if name in theirs for note in _copied(session, name)]
    finally:
        session.run("DETACH damaged")
    with session.transaction():
        _run(session, _MEND)
        quantize_halves(session)  # of a store of an older version
        delete_documents(session, wrong_keys(session))
        _run(session, _FOLLOW)
    return lost


def _run(session: Session, script: str) -> None:
    for statement in script.split(";"):
        session.run(statement)


def _copied(session: Session, table: str) -> list[str]:
    """Copy what can be read of a table; return what to say of the rest."""
    if table == "meta":
        return _copied_meta(session)
    if session.damaged(_COPY.format(table)) is None:
        return []
    if session.damaged(_LAST.format(table)) is not None:
        return [f"the table {table!r} cannot be read"]
    rows = session.count(_LAST.format(table)) + 1
    starts = range(0, rows, _READ_TOGETHER)
    bad = [
        start
        for start in starts
        if session.damaged(_SOME.format(table), [start, start + _READ_TOGETHER - 1]) is not None
    ]
    lost = sum(min(_READ_TOGETHER, rows - start) for start in bad)
    return [f"{lost:,} of {rows:,} rows of the table {table!r} cannot be read"]


def _copied_meta(session: Session) -> list[str]:
    """Take over identity and counters, or keep the new ones."""
    with session.transaction():
        session.run("CREATE TEMP TABLE fresh AS SELECT * FROM meta")
        session.run("DELETE FROM meta")
    is_lost = session.damaged(_COPY.format("meta")) is not None or not session.count(_ROWS)
    if is_lost:
        session.run("INSERT INTO meta SELECT * FROM fresh")
    session.run("DROP TABLE fresh")
    return ["its identity and counters cannot be read, and are new"] if is_lost else []
