"""Documents at rest, their texts in pieces, and their chunks as ranges with keys.

One string of 50 MB cannot leave memory while it waits for a checkpoint, and DuckDB
reads 2,048 neighbouring strings to find one, and writes up to as many anew at the end of
a table that one was added to; small pieces bound all three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from kb_core.changes import Kept, passage_hash
from kb_core.ids import text_hash
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.values import replace
from kb_store._session import (
    Record,
    Session,
    booleans,
    from_json,
    from_us,
    instants,
    integers,
    lists,
    strings,
    to_json,
)

__all__ = [
    "PIECE_CHARS",
    "KeyedChunk",
    "KeyedDocument",
    "as_read",
    "count_chunks",
    "delete_chunks",
    "delete_documents",
    "delete_texts",
    "doc_ids",
    "enclosed",
    "enclosed_keys",
    "find_keys",
    "read_documents",
    "read_texts",
    "stored_chunks",
    "unaccounted",
    "write_chunks",
    "write_documents",
    "write_texts",
]

_READ = """
SELECT doc_key, text FROM texts
WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, piece
"""
_DELETE = "DELETE FROM texts WHERE doc_key IN (SELECT unnest(?::BIGINT[]))"

PIECE_CHARS = 2_048
"""Where it is half of that, storing a document takes a tenth longer."""
_PIECES_AT_ONCE = 2_048
_CHUNKS_AT_ONCE = 5000
"""Of what is inserted at once, the engine has four copies for a while."""


def write_texts(session: Session, texts: Mapping[int, str]) -> None:
    """Insert the texts of documents, by document key; an empty text has no pieces."""
    pieces = ((key, n, piece) for key, text in texts.items() for n, piece in _pieces(text))
    while some := list(islice(pieces, _PIECES_AT_ONCE)):
        columns = {
            "doc_key": integers(key for key, _, _ in some),
            "piece": integers(n for _, n, _ in some),
            "text": strings(piece for _, _, piece in some),
        }
        session.insert("texts", columns)


def delete_texts(session: Session, doc_keys: Sequence[int]) -> None:
    """Delete the texts of these documents."""
    session.run(_DELETE, [doc_keys])


def read_texts(session: Session, doc_keys: Sequence[int]) -> dict[int, str]:
    """Return the texts of documents, by key; what has no pieces is empty."""
    pieces: defaultdict[int, list[str]] = defaultdict(list)
    for doc_key, text in session.rows(_READ, [doc_keys]):
        pieces[doc_key].append(text)
    return {doc_key: "".join(pieces.get(doc_key, ())) for doc_key in doc_keys}


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    starts = range(0, len(text), PIECE_CHARS)
    return enumerate(text[start : start + PIECE_CHARS] for start in starts)


_STORED = """
SELECT doc_key, chunk_key, chunk_id, passage_hash FROM chunks
WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, ordinal
"""
_DELETE_CHUNKS = "DELETE FROM chunks WHERE doc_key IN (SELECT unnest(?::BIGINT[]))"
_READ_CHUNKS = """
SELECT doc_key, chunk_key, chunk_id, ordinal, start_char AS "start", end_char AS "end",
       line_start, line_end, token_count, heading_path, symbol, part, span, context,
       passage_hash, flags
FROM chunks WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, ordinal
"""

KeyedChunk: TypeAlias = tuple[int, int, ChunkRecord]
"""Document key, chunk key, chunk."""


def stored_chunks(session: Session, doc_keys: Sequence[int]) -> dict[int, list[Kept]]:
    """Return the chunks of documents by document key, by ordinal."""
    found: defaultdict[int, list[Kept]] = defaultdict(list)
    if doc_keys:
        for row in session.records(_STORED, [doc_keys]):
            found[row.pop("doc_key")].append(Kept(**row))
    return found


def delete_chunks(session: Session, doc_keys: Sequence[int]) -> None:
    """Delete every chunk of these documents."""
    session.run(_DELETE_CHUNKS, [doc_keys])


def write_chunks(session: Session, chunks: Sequence[KeyedChunk]) -> None:
    """Insert chunks under the keys they were given."""
    for at in range(0, len(chunks), _CHUNKS_AT_ONCE):
        _insert_chunks(session, chunks[at : at + _CHUNKS_AT_ONCE])


def _insert_chunks(session: Session, chunks: Sequence[KeyedChunk]) -> None:
    records = [chunk for _, _, chunk in chunks]
    columns = {
        "chunk_key": integers(chunk_key for _, chunk_key, _ in chunks),
        "doc_key": integers(doc_key for doc_key, _, _ in chunks),
        "chunk_id": strings(chunk.chunk_id for chunk in records),
        "ordinal": integers(chunk.ordinal for chunk in records),
        "start_char": integers(chunk.start for chunk in records),
        "end_char": integers(chunk.end for chunk in records),
        "line_start": integers(chunk.line_start for chunk in records),
        "line_end": integers(chunk.line_end for chunk in records),
        "token_count": integers(chunk.token_count for chunk in records),
        "heading_path": lists(chunk.heading_path for chunk in records),
        "symbol": strings(chunk.symbol for chunk in records),
        "part": integers(chunk.part for chunk in records),
        "span": strings(map(_span_json, records)),
        "context": strings(chunk.context for chunk in records),
        "passage_hash": strings(map(passage_hash, records)),
        "text_hash": strings(text_hash(chunk.text) for chunk in records),
        "flags": lists(chunk.flags for chunk in records),
    }
    session.insert("chunks", columns)


def _span_json(chunk: ChunkRecord) -> str | None:
    if chunk.span is None:
        return None
    return to_json(dict(chunk.span), f"the span of chunk {chunk.chunk_id!r}")


def _chunks(session: Session, texts: Mapping[int, str]) -> dict[int, list[ChunkRecord]]:
    """Return the chunks of documents by document key, by ordinal.

    They are made while the rows come: a document may have a hundred thousand.
    """
    found: defaultdict[int, list[ChunkRecord]] = defaultdict(list)
    for row in session.each(_READ_CHUNKS, [list(texts)]):
        doc_key = row.pop("doc_key")
        found[doc_key].append(_chunk(row, texts[doc_key]))
    return found


def _chunk(row: Record, text: str) -> ChunkRecord:
    """Return the chunk of *row*; *text* is its document's.

    The slice is taken here: ranges count code points, and cutting by them in SQL
    walks the text from its start for every chunk.
    """
    made = row | {
        "text": text[row["start"] : row["end"]],
        "heading_path": tuple(row["heading_path"]),
        "span": from_json(row["span"]),
        "flags": tuple(row["flags"]),
    }
    return ChunkRecord(**made)


_KEYS = "SELECT doc_id, doc_key FROM documents WHERE doc_id IN (SELECT unnest(?::VARCHAR[]))"
_CHUNKS_OF = """
SELECT count(*) FROM chunks JOIN documents USING (doc_key)
WHERE doc_id IN (SELECT unnest(?::VARCHAR[]))
"""
_WITHIN = "SELECT path, bytes_hash FROM documents WHERE source_id = ? AND container = ?"
_UNACCOUNTED = """
SELECT doc_id FROM documents
ANTI JOIN (SELECT doc_id FROM files) USING (doc_id)
ANTI JOIN (SELECT source_id, path AS container FROM files WHERE doc_id IS NOT NULL)
    USING (source_id, container)
"""
_ENCLOSED = """
SELECT enclosed.doc_id, enclosed.doc_key
FROM documents AS enclosed JOIN documents AS file
    ON enclosed.source_id = file.source_id AND enclosed.container = file.path
WHERE enclosed.container IS NOT NULL
  AND file.doc_key IN (SELECT unnest(?::BIGINT[]))
"""
_IDS = "SELECT doc_id FROM documents WHERE source_id = ? ORDER BY path"
_DELETE_DOCUMENTS = "DELETE FROM documents WHERE doc_key IN (SELECT unnest(?::BIGINT[]))"
_READ_DOCUMENTS = """
SELECT doc_key, doc_id, source_id, path, title, media, lang, code_lang,
       repo, repo_branch, repo_commit, tags, aliases, source_type, trust_level,
       epoch_us(doc_date) AS doc_date, epoch_us(created_at) AS created_at,
       epoch_us(updated_at) AS updated_at, epoch_us(indexed_at) AS indexed_at,
       byte_len, size, mtime_ns, bytes_hash, fingerprint, parser_version, chunker_version,
       metadata, blocks, links, warnings, asset, container, has_lines
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
    "container",
)
_INSTANTS = ("doc_date", "created_at", "updated_at", "indexed_at")
_INTEGERS = ("byte_len", "size", "mtime_ns")
_LISTS = ("tags", "aliases", "warnings")


def find_keys(session: Session, ids: Iterable[str]) -> dict[str, int]:
    """Return the keys of those documents that exist, by document id."""
    wanted = list(ids)
    return session.mapping(_KEYS, [wanted]) if wanted else {}


def enclosed_keys(session: Session, doc_keys: Iterable[int]) -> dict[str, int]:
    """Return the keys of the documents within the files of these, by document id."""
    wanted = list(doc_keys)
    return session.mapping(_ENCLOSED, [wanted]) if wanted else {}


def enclosed(session: Session, source_id: str, path: str) -> dict[str, str]:
    """Return the hashes of the bytes of what is within a file, by path."""
    return session.mapping(_WITHIN, [source_id, path])


def count_chunks(session: Session, ids: Sequence[str]) -> int:
    """Return how many chunks these documents have."""
    ((count,),) = session.rows(_CHUNKS_OF, [list(ids)])
    return int(count)


def doc_ids(session: Session, source_id: str) -> list[str]:
    """Return the ids of a source's documents, by path."""
    return [doc_id for (doc_id,) in session.rows(_IDS, [source_id])]


def unaccounted(session: Session) -> list[str]:
    """Return the ids of documents that no row of the ledger names, nor that of their file."""
    return [doc_id for (doc_id,) in session.rows(_UNACCOUNTED)]


def delete_documents(session: Session, doc_keys: Sequence[int]) -> None:
    """Delete these documents whole."""
    delete_chunks(session, doc_keys)
    delete_texts(session, doc_keys)
    session.run(_DELETE_DOCUMENTS, [doc_keys])


def write_documents(
    session: Session, documents: Sequence[KeyedDocument], sums: Sequence[str]
) -> None:
    """Insert documents with their texts and *sums*, under the keys they were given."""
    if not documents:
        return
    records = [document for _, document in documents]
    columns = {"doc_key": integers(key for key, _ in documents)}
    columns |= {name: strings(getattr(r, name) for r in records) for name in _TEXTS}
    columns |= {name: instants(getattr(r, name) for r in records) for name in _INSTANTS}
    columns |= {name: integers(getattr(r, name) for r in records) for name in _INTEGERS}
    columns |= {name: lists(getattr(r, name) for r in records) for name in _LISTS}
    columns |= {
        "metadata": strings(map(_metadata_json, records)),
        "blocks": strings(map(_blocks_json, records)),
        "links": strings(map(_links_json, records)),
        "has_lines": booleans(r.has_lines for r in records),
        "chunk_count": integers(len(r.chunks) for r in records),
        "token_count": integers(sum(chunk.token_count for chunk in r.chunks) for r in records),
        "text_chars": integers(len(r.text) for r in records),
        "sum": strings(sums),
    }
    session.insert("documents", columns)
    write_texts(session, {key: document.text for key, document in documents})


def _metadata_json(document: DocumentRecord) -> str:
    return to_json(dict(document.metadata), f"metadata of document {document.path!r}")


def _blocks_json(document: DocumentRecord) -> str:
    return to_json(list(map(dict, document.blocks)), f"blocks of document {document.path!r}")


def _links_json(document: DocumentRecord) -> str:
    return to_json(list(map(dict, document.links)), f"links of document {document.path!r}")


def read_documents(session: Session, doc_keys: Sequence[int]) -> list[DocumentRecord]:
    """Return those documents that exist, whole, by key."""
    if not doc_keys:
        return []
    rows = session.records(_READ_DOCUMENTS, [doc_keys])
    texts = read_texts(session, [row["doc_key"] for row in rows])
    chunks = _chunks(session, texts)
    return [_document(row, texts[row["doc_key"]], chunks[row["doc_key"]]) for row in rows]


def _document(row: Record, text: str, chunks: Sequence[ChunkRecord]) -> DocumentRecord:
    made: Record = {name: from_us(row[name]) for name in _INSTANTS}
    made |= {name: tuple(row[name]) for name in _LISTS}
    made |= {name: tuple(from_json(row[name])) for name in ("blocks", "links")}
    made |= {"metadata": from_json(row["metadata"]), "text": text, "chunks": tuple(chunks)}
    return DocumentRecord(**row | made)


def as_read(doc_key: int, document: DocumentRecord, chunk_keys: Sequence[int]) -> DocumentRecord:
    """Return a document that was written under these keys as ``read_documents`` returns it."""
    chunks = (
        replace(
            chunk,
            chunk_key=key,
            passage_hash=passage_hash(chunk),
            span=from_json(_span_json(chunk)),
        )
        for key, chunk in zip(chunk_keys, document.chunks, strict=True)
    )
    return replace(
        document,
        doc_key=doc_key,
        chunks=tuple(chunks),
        metadata=from_json(_metadata_json(document)),
        blocks=tuple(from_json(_blocks_json(document))),
        links=tuple(from_json(_links_json(document))),
    )
