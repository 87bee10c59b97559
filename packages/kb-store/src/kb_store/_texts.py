"""Texts at rest: a document's text in pieces that DuckDB can keep apart.

One string of 50 MB cannot leave memory while it waits for a checkpoint, and DuckDB
reads 2,048 neighbouring strings to find one; pieces well under a block bound both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kb_store._rows import integers, strings
from kb_store._session import Session

__all__ = ["delete_texts", "read_texts", "write_texts"]

_READ = """
SELECT doc_key, text FROM texts
WHERE doc_key IN (SELECT unnest(?::BIGINT[])) ORDER BY doc_key, piece
"""
_DELETE = "DELETE FROM texts WHERE doc_key IN (SELECT unnest(?::BIGINT[]))"
_INSERT = "INSERT INTO texts BY NAME SELECT * FROM incoming"

_PIECE_CHARS = 16_384


def write_texts(session: Session, texts: Mapping[int, str]) -> None:
    """Insert the texts of documents, by document key; an empty text has no pieces."""
    pieces = [(key, n, piece) for key, text in texts.items() for n, piece in _pieces(text)]
    if pieces:
        columns = {
            "doc_key": integers(key for key, _, _ in pieces),
            "piece": integers(n for _, n, _ in pieces),
            "text": strings(piece for _, _, piece in pieces),
        }
        session.insert(_INSERT, columns)


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
    starts = range(0, len(text), _PIECE_CHARS)
    return enumerate(text[start : start + _PIECE_CHARS] for start in starts)
