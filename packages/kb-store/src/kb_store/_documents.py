"""Documents at rest: one row each, read and written as records with text and chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from kb_core.records import DocumentRecord
from kb_store._chunks import delete_chunks, read_chunk_rows, to_record
from kb_store._rows import from_json, from_us, instants, integers, lists, strings, to_json
from kb_store._session import Row, Session
from kb_store._texts import delete_texts, read_texts, write_texts

__all__ = [
    "KeyedDocument",
    "delete_documents",
    "doc_ids",
    "find_keys",
    "keys_by_hash",
    "read_documents",
    "unaccounted",
    "write_documents",
]

_KEYS = "SELECT doc_id, doc_key FROM documents WHERE doc_id IN (SELECT unnest(?::VARCHAR[]))"
_KEYS_BY_HASH = "SELECT doc_key FROM documents WHERE bytes_hash = ? ORDER BY source_id, path"
_UNACCOUNTED = """
SELECT doc_id FROM documents ANTI JOIN (SELECT doc_id FROM files) USING (doc_id)
"""
_IDS = "SELECT doc_id FROM documents WHERE source_id = ? ORDER BY path"
_DELETE = "DELETE FROM documents WHERE doc_key IN (SELECT unnest(?::BIGINT[]))"
_INSERT = "INSERT INTO documents BY NAME SELECT * FROM incoming"
_READ = """
SELECT doc_key, doc_id, source_id, path, title, media, lang, code_lang,
       repo, repo_branch, repo_commit, tags, aliases, source_type, trust_level,
       epoch_us(doc_date), epoch_us(created_at), epoch_us(updated_at), epoch_us(indexed_at),
       byte_len, size, mtime_ns, bytes_hash, fingerprint, parser_version, chunker_version,
       metadata, blocks, links, warnings, asset
FROM documents WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key
"""

KeyedDocument: TypeAlias = tuple[int, DocumentRecord]
"""Document key, document."""

_TEXTS = (
    "doc_id",
    "source_id",
    "path",
    "title",
    "media",
    "lang",
    "code_lang",
    "repo",
    "repo_branch",
    "repo_commit",
    "source_type",
    "trust_level",
    "bytes_hash",
    "fingerprint",
    "parser_version",
    "chunker_version",
    "asset",
)
_INSTANTS = ("doc_date", "created_at", "updated_at", "indexed_at")
_INTEGERS = ("byte_len", "size", "mtime_ns")
_LISTS = ("tags", "aliases", "warnings")


def find_keys(session: Session, ids: Iterable[str]) -> dict[str, int]:
    """Return the keys of those documents that exist, by document id."""
    wanted = list(ids)
    return session.mapping(_KEYS, [wanted]) if wanted else {}


def keys_by_hash(session: Session, bytes_hash: str) -> list[int]:
    """Return the keys of the documents made from these bytes."""
    return [key for (key,) in session.rows(_KEYS_BY_HASH, [bytes_hash])]


def doc_ids(session: Session, source_id: str) -> list[str]:
    """Return the ids of a source's documents, by path."""
    return [doc_id for (doc_id,) in session.rows(_IDS, [source_id])]


def unaccounted(session: Session) -> list[str]:
    """Return the ids of documents that no row of the ledger names."""
    return [doc_id for (doc_id,) in session.rows(_UNACCOUNTED)]


def delete_documents(session: Session, doc_keys: Sequence[int]) -> None:
    """Delete these documents whole."""
    delete_chunks(session, doc_keys)
    delete_texts(session, doc_keys)
    session.run(_DELETE, [doc_keys])


def write_documents(session: Session, documents: Sequence[KeyedDocument]) -> None:
    """Insert documents with their texts, under the keys they were given."""
    if not documents:
        return
    records = [document for _, document in documents]
    columns = {"doc_key": integers(key for key, _ in documents)}
    columns |= {name: strings(getattr(r, name) for r in records) for name in _TEXTS}
    columns |= {name: instants(getattr(r, name) for r in records) for name in _INSTANTS}
    columns |= {name: integers(getattr(r, name) for r in records) for name in _INTEGERS}
    columns |= {name: lists(getattr(r, name) for r in records) for name in _LISTS}
    columns |= {
        "metadata": strings(_json(r, "metadata", dict(r.metadata)) for r in records),
        "blocks": strings(_json(r, "blocks", [dict(block) for block in r.blocks]) for r in records),
        "links": strings(_json(r, "links", [dict(link) for link in r.links]) for r in records),
        "chunk_count": integers(len(r.chunks) for r in records),
        "token_count": integers(sum(chunk.token_count for chunk in r.chunks) for r in records),
        "text_chars": integers(len(r.text) for r in records),
    }
    session.insert(_INSERT, columns)
    write_texts(session, {key: document.text for key, document in documents})


def _json(document: DocumentRecord, name: str, value: object) -> str:
    return to_json(value, f"{name} of document {document.path!r}")


def read_documents(session: Session, doc_keys: Sequence[int]) -> list[DocumentRecord]:
    """Return those documents that exist, whole, by key."""
    if not doc_keys:
        return []
    rows = session.rows(_READ, [doc_keys])
    chunks = read_chunk_rows(session, doc_keys)
    texts = read_texts(session, [row[0] for row in rows])
    return [_from_row(row, texts[row[0]], chunks.get(row[0], [])) for row in rows]


def _from_row(row: Row, text: str, chunk_rows: Sequence[Row]) -> DocumentRecord:
    (doc_key, doc_id, source_id, path, title, media, lang, code_lang) = row[:8]
    (repo, repo_branch, repo_commit, tags, aliases, source_type, trust_level) = row[8:15]
    doc_date, created_at, updated_at, indexed_at = map(from_us, row[15:19])
    (byte_len, size, mtime_ns, bytes_hash, fingerprint, parser, chunker) = row[19:26]
    (metadata, blocks, links, warnings, asset) = row[26:]
    assert indexed_at is not None, "the column is NOT NULL"  # noqa: S101
    return DocumentRecord(
        doc_id=doc_id,
        source_id=source_id,
        path=path,
        title=title,
        media=media,
        text=text,
        lang=lang,
        code_lang=code_lang,
        repo=repo,
        repo_branch=repo_branch,
        repo_commit=repo_commit,
        tags=tuple(tags),
        aliases=tuple(aliases),
        source_type=source_type,
        trust_level=trust_level,
        doc_date=doc_date,
        created_at=created_at,
        updated_at=updated_at,
        indexed_at=indexed_at,
        byte_len=byte_len,
        size=size,
        mtime_ns=mtime_ns,
        bytes_hash=bytes_hash,
        fingerprint=fingerprint,
        parser_version=parser,
        chunker_version=chunker,
        metadata=from_json(metadata),
        blocks=tuple(from_json(blocks)),
        links=tuple(from_json(links)),
        warnings=tuple(warnings),
        asset=asset,
        chunks=tuple(to_record(chunk, text) for chunk in chunk_rows),
        doc_key=doc_key,
    )
