"""Chunks at rest: ranges of their document's text, and the keys they keep.

A chunk keeps its key while its id and its passage stay the same, and a moved one
while its passage does; every other chunk gets a key that was never given before. A
key therefore stands for one passage for ever, which is what lets vector files and
postings refer to it without looking back.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kb_core.ids import text_hash
from kb_core.records import ChunkRecord
from kb_store._rows import from_json, integers, lists, strings, to_json
from kb_store._session import Row, Session

__all__ = [
    "KeyedChunk",
    "StoredChunk",
    "delete_chunks",
    "keep_keys",
    "passage_hash",
    "read_chunk_rows",
    "stored_chunks",
    "to_record",
    "write_chunks",
]

_STORED = """
SELECT doc_key, chunk_key, chunk_id, passage_hash FROM chunks
WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, ordinal
"""
_DELETE = "DELETE FROM chunks WHERE doc_key IN (SELECT unnest(?::BIGINT[]))"
_INSERT = "INSERT INTO chunks BY NAME SELECT * FROM incoming"
_READ = """
SELECT doc_key, chunk_key, chunk_id, ordinal, start_char, end_char, line_start, line_end,
       token_count, heading_path, symbol, part, span, context, passage_hash, flags
FROM chunks WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, ordinal
"""

KeyedChunk: TypeAlias = tuple[int, int, ChunkRecord]
"""Document key, chunk key, chunk."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """What of a stored chunk decides whether its key is kept."""

    chunk_key: int
    chunk_id: str
    passage_hash: str


def passage_hash(chunk: ChunkRecord) -> str:
    """Return the chunk's passage hash, computed where the record has none."""
    return chunk.passage_hash or text_hash(chunk.passage)


def keep_keys(
    old: Iterable[StoredChunk],
    new: Sequence[ChunkRecord],
    mint: Callable[[], int],
    *,
    moved: bool,
) -> list[int]:
    """Return a key for every chunk of *new*: an old one where the chunk is the same."""
    keys: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
    for stored in old:
        keys["" if moved else stored.chunk_id, stored.passage_hash].append(stored.chunk_key)
    kept = []
    for chunk in new:
        same = keys.get(("" if moved else chunk.chunk_id, passage_hash(chunk)))
        kept.append(same.popleft() if same else mint())
    return kept


def stored_chunks(session: Session, doc_keys: Sequence[int]) -> dict[int, list[StoredChunk]]:
    """Return the chunks of documents by document key, by ordinal."""
    found: defaultdict[int, list[StoredChunk]] = defaultdict(list)
    if doc_keys:
        for doc_key, *rest in session.rows(_STORED, [doc_keys]):
            found[doc_key].append(StoredChunk(*rest))
    return found


def delete_chunks(session: Session, doc_keys: Sequence[int]) -> None:
    """Delete every chunk of these documents."""
    session.run(_DELETE, [doc_keys])


def write_chunks(session: Session, chunks: Sequence[KeyedChunk]) -> None:
    """Insert chunks under the keys they were given."""
    if not chunks:
        return
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
    session.insert(_INSERT, columns)


def _span_json(chunk: ChunkRecord) -> str | None:
    if chunk.span is None:
        return None
    return to_json(dict(chunk.span), f"the span of chunk {chunk.chunk_id!r}")


def read_chunk_rows(session: Session, doc_keys: Sequence[int]) -> dict[int, list[Row]]:
    """Return the rows of documents' chunks by document key, by ordinal."""
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for row in session.rows(_READ, [doc_keys]):
        found[row[0]].append(row)
    return found


def to_record(row: Row, text: str) -> ChunkRecord:
    """Return the record of *row*; *text* is its document's.

    The slice is taken here: ranges count code points, and cutting by them in SQL
    walks the text from its start for every chunk.
    """
    (_, chunk_key, chunk_id, ordinal, start, end, line_start, line_end) = row[:8]
    (token_count, heading_path, symbol, part, span, context, passage, flags) = row[8:]
    return ChunkRecord(
        chunk_id=chunk_id,
        ordinal=ordinal,
        start=start,
        end=end,
        text=text[start:end],
        line_start=line_start,
        line_end=line_end,
        token_count=token_count,
        heading_path=tuple(heading_path),
        symbol=symbol,
        part=part,
        span=from_json(span),
        context=context,
        passage_hash=passage,
        flags=tuple(flags),
        chunk_key=chunk_key,
    )
