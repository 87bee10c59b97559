"""Embeddings at rest, which chunks owe a vector to the vector files, and which have none yet.

Invariant: for every model, the vector files must hold exactly the chunks whose
passage has an embedding of that model. A vector is therefore owed when an embedding
arrives for a passage that chunks have, and when a chunk arrives whose passage is
embedded already: a copy, a revert, a forced ingest. ``models.chunk_count`` counts
those chunks, so that nobody has to join two large tables to know.

An embedding that exists is never replaced, and one that no chunk needs stays until
the store is compacted: text that comes back costs no model call.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import TypeAlias

from kb_core.changes import Outbox
from kb_core.errors import KbError
from kb_core.quantization import quantize
from kb_core.records import PASSAGES_AT_A_TURN, PendingPassage, VectorRecord
from kb_core.values import dataclass
from kb_store._documents import read_texts
from kb_store._session import Record, Session, blobs, from_json, integers, strings, to_json

__all__ = [
    "Embedded",
    "Owed",
    "count_missing",
    "describe_models",
    "embed",
    "load_models",
    "missing_passages",
    "quantize_halves",
    "read_vectors",
]

_MODELS = "SELECT model_key, description FROM models ORDER BY model_key"
_DESCRIBE = "UPDATE models SET description = ?::JSON WHERE model_key = ?"
_COUNT = "UPDATE models SET chunk_count = chunk_count + ? WHERE model_key = ?"
_STORED = """
SELECT passage_hash, model_key FROM embeddings
WHERE passage_hash IN (SELECT unnest(?::VARCHAR[]))
"""
_CHUNKS_OF = """
SELECT chunk_key, passage_hash FROM chunks WHERE passage_hash IN (SELECT unnest(?::VARCHAR[]))
"""
_PASSAGES_OF = """
SELECT chunk_key, passage_hash FROM chunks WHERE chunk_key IN (SELECT unnest(?::BIGINT[]))
"""
# Finding rows by hash first and fetching blobs by row number keeps the scan off the blobs.
_ROWS_OF = """
SELECT rowid FROM embeddings
WHERE model_key = ? AND passage_hash IN (SELECT unnest(?::VARCHAR[]))
"""
_VECTORS_AT = """
SELECT passage_hash, vector FROM embeddings
WHERE rowid BETWEEN ? AND ? AND rowid IN (SELECT unnest(?::BIGINT[]))
"""


Owed: TypeAlias = tuple[str, int]
"""Model key and chunk key of a vector that the vector files lack."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of embeddings."""

    is_new: bool
    """Whether any were added."""
    vectors: Mapping[Owed, bytes]
    """Those that are owed, of what was added."""


def load_models(session: Session) -> dict[str, dict[str, object]]:
    """Return the description of every model, by key."""
    return {key: from_json(description) for key, description in session.rows(_MODELS)}


def describe_models(session: Session, models: Mapping[str, Mapping[str, object]]) -> bool:
    """Write descriptions; return whether anything was different."""
    if not models:
        return False
    stored = {key: to_json(value, "a model") for key, value in load_models(session).items()}
    given = {key: to_json(dict(value), f"model {key!r}") for key, value in models.items()}
    changed = {key: text for key, text in given.items() if stored.get(key) != text}
    for key in changed.keys() & stored.keys():
        session.run(_DESCRIBE, [changed[key], key])
    if fresh := sorted(changed.keys() - stored.keys()):
        columns = {
            "model_key": strings(fresh),
            "description": strings(changed[key] for key in fresh),
            "chunk_count": integers(0 for _ in fresh),
        }
        session.insert("models", columns)
    return bool(changed)


def embed(
    session: Session,
    given: Mapping[str, Mapping[str, bytes]],
    born: Mapping[int, str],
    dead: Mapping[int, str],
    outbox: Outbox,
) -> Embedded:
    """Store embeddings, owe vectors for them and for *born* chunks, forget *dead* ones.

    *born* and *dead* map chunk keys to passage hashes.
    """
    models = load_models(session)
    if unknown := given.keys() - models.keys():
        raise KbError(f"embeddings of models without a description: {sorted(unknown)}")
    if not models:
        return Embedded(is_new=False, vectors={})
    wanted = {*born.values(), *dead.values(), *(h for vectors in given.values() for h in vectors)}
    stored = _stored(session, wanted)
    fresh = {
        model: {h: vector for h, vector in vectors.items() if h not in stored.get(model, ())}
        for model, vectors in given.items()
    }
    _insert(session, fresh)
    first = {
        (model, key): fresh[model][passage_hash]
        for model, key, passage_hash in _owed(_chunks_of(session, fresh, born, dead), fresh)
    }
    owed = first.keys() | {(model, key) for model, key, _ in _owed(born, stored)}
    outbox.vectors |= owed
    counts = Counter(model for model, _ in owed)
    counts.subtract(model for model, _, _ in _owed(dead, stored))
    for model, count in counts.items():
        if count:
            session.run(_COUNT, [count, model])
    return Embedded(is_new=any(fresh.values()), vectors=first)


def _stored(session: Session, hashes: AbstractSet[str]) -> Mapping[str, AbstractSet[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    if hashes:
        for passage_hash, model in session.rows(_STORED, [list(hashes)]):
            found[model].add(passage_hash)
    return found


def _insert(session: Session, fresh: Mapping[str, Mapping[str, bytes]]) -> None:
    rows = [(h, model, v) for model, vectors in fresh.items() for h, v in vectors.items()]
    if rows:
        columns = {
            "passage_hash": strings(passage_hash for passage_hash, _, _ in rows),
            "model_key": strings(model for _, model, _ in rows),
            "vector": blobs(vector for _, _, vector in rows),
        }
        session.insert("embeddings", columns)


def _chunks_of(
    session: Session,
    fresh: Mapping[str, Mapping[str, bytes]],
    born: Mapping[int, str],
    dead: Mapping[int, str],
) -> Mapping[int, str]:
    """Return the chunks of *fresh* passages: among *born*, where all others had their vectors."""
    hashes = {h for vectors in fresh.values() for h in vectors}
    if not hashes:
        return {}
    come = len(born) - len(dead)
    without = (
        session.count(_COUNT_WITHOUT, [model]) for model, vectors in fresh.items() if vectors
    )
    if all(count == come for count in without):
        return born
    return session.mapping(_CHUNKS_OF, [list(hashes)])


def _owed(
    chunks: Mapping[int, str], embedded: Mapping[str, Container[str]]
) -> Iterator[tuple[str, int, str]]:
    """Yield model key, chunk key and passage of every chunk whose passage is *embedded*."""
    return (
        (model, chunk_key, passage_hash)
        for model, hashes in embedded.items()
        for chunk_key, passage_hash in chunks.items()
        if passage_hash in hashes
    )


def read_vectors(
    session: Session, owed: AbstractSet[Owed], known: Mapping[Owed, bytes]
) -> dict[str, tuple[VectorRecord, ...]]:
    """Return the vectors of those chunks that still exist, by model and chunk key.

    Those that are *known* are not read.
    """
    found: defaultdict[str, dict[int, bytes]] = defaultdict(dict)
    for model, chunk_key in owed & known.keys():
        found[model][chunk_key] = known[model, chunk_key]
    unknown: defaultdict[str, list[int]] = defaultdict(list)
    for model, chunk_key in owed - known.keys():
        unknown[model].append(chunk_key)
    for model, chunk_keys in unknown.items():
        found[model] |= _vectors_of(session, model, chunk_keys)
    return {
        model: tuple(VectorRecord(*each) for each in sorted(vectors.items()))
        for model, vectors in sorted(found.items())
        if vectors
    }


def _vectors_of(session: Session, model: str, chunk_keys: list[int]) -> dict[int, bytes]:
    passages = session.mapping(_PASSAGES_OF, [chunk_keys])
    rows = sorted(row for (row,) in session.rows(_ROWS_OF, [model, list(set(passages.values()))]))
    if not rows:
        return {}
    vectors = session.mapping(_VECTORS_AT, [rows[0], rows[-1], rows])
    return {key: vectors[passage] for key, passage in passages.items() if passage in vectors}


_HALVES = "SELECT count(*) FROM embeddings WHERE model_key = ? AND octet_length(vector) = ?"
_LAST = "SELECT coalesce(max(rowid), -1) FROM embeddings"
_SOME = "SELECT passage_hash, model_key, vector FROM embeddings WHERE rowid BETWEEN ? AND ?"
_BESIDE = """
CREATE TABLE quantised (
    passage_hash VARCHAR NOT NULL, model_key VARCHAR NOT NULL, vector BLOB NOT NULL
)
"""
_TAKE_PLACE = ("DROP TABLE embeddings", "ALTER TABLE quantised RENAME TO embeddings")
_READ_TOGETHER = 2048


def quantize_halves(session: Session) -> None:
    """Keep vectors that are float16, told by their length, as ``kb_core.quantization`` does.

    A tenth of a millisecond each, in the caller's transaction. They are put into a table beside
    theirs: what is updated in place stays in memory until the end.
    """
    sizes = {model: told.get("dimensions") for model, told in load_models(session).items()}
    halves = {m: struct.Struct(f"<{n}e") for m, n in sizes.items() if isinstance(n, int)}
    if not any(session.count(_HALVES, [model, form.size]) for model, form in halves.items()):
        return
    session.run(_BESIDE)
    for start in range(0, session.count(_LAST) + 1, _READ_TOGETHER):
        rows = session.records(_SOME, [start, start + _READ_TOGETHER - 1])
        columns = {
            "passage_hash": strings(row["passage_hash"] for row in rows),
            "model_key": strings(row["model_key"] for row in rows),
            "vector": blobs(
                _quantized(row["vector"], halves.get(row["model_key"])) for row in rows
            ),
        }
        session.insert("quantised", columns)
    for statement in _TAKE_PLACE:
        session.run(statement)


def _quantized(vector: bytes, half: struct.Struct | None) -> bytes:
    return quantize(half.unpack(vector)) if half and len(vector) == half.size else vector


_COUNT_PENDING = """
SELECT count(DISTINCT passage_hash) FROM chunks
WHERE passage_hash NOT IN (SELECT passage_hash FROM embeddings WHERE model_key = ?)
"""
_COUNT_WITHOUT = """
SELECT (SELECT coalesce(sum(chunk_count), 0) FROM documents)
       - (SELECT coalesce(sum(chunk_count), 0) FROM models WHERE model_key = ?)
"""
_MISSING = """
SELECT chunk_key, chunks.passage_hash, chunks.doc_key, start_char, end_char, context
FROM chunks
JOIN (SELECT doc_key, coalesce(doc_date, indexed_at) AS newest FROM documents) AS dated
  ON dated.doc_key = chunks.doc_key
ANTI JOIN (SELECT passage_hash FROM embeddings WHERE model_key = ?) AS done
  ON done.passage_hash = chunks.passage_hash
ORDER BY ordinal // ?, newest DESC, chunks.doc_key DESC, ordinal
LIMIT ?
"""


_MISSING_OF = """
SELECT chunk_key, passage_hash, doc_key, start_char, end_char, context
FROM chunks
WHERE chunk_key IN (SELECT unnest(?))
  AND passage_hash NOT IN (SELECT passage_hash FROM embeddings WHERE model_key = ?)
"""


def count_missing(session: Session, model_key: str) -> int:
    """Return how many different passages the model has not embedded."""
    if not session.count(_COUNT_WITHOUT, [model_key]):
        return 0  # as nearly always, and known without a look at every passage
    return session.count(_COUNT_PENDING, [model_key])


def missing_passages(
    session: Session, model_key: str, limit: int, only: Sequence[int] | None = None
) -> list[PendingPassage]:
    """Return at most *limit* passages, each once: newest documents in turns, or of *only*."""
    if only is None:
        rows = _distinct_rows(session, model_key, limit)
    else:
        rows = _rows_of(session, model_key, only)[:limit]
    texts = read_texts(session, list({row["doc_key"] for row in rows}))
    return [
        PendingPassage(row["chunk_key"], row["passage_hash"], _passage(row, texts[row["doc_key"]]))
        for row in rows
    ]


def _distinct_rows(session: Session, model_key: str, limit: int) -> Sequence[Record]:
    # The first rows in order are cheap to find, and the first different ones are not;
    # so more rows are asked for until enough differ, or there are no more.
    asked = limit + limit // 4
    while True:
        rows = session.records(_MISSING, [model_key, PASSAGES_AT_A_TURN, asked])
        first = {row["passage_hash"]: row for row in reversed(rows)}
        if len(first) >= limit or len(rows) < asked:
            return [row for row in rows if first[row["passage_hash"]] is row][:limit]
        asked *= 4


def _rows_of(session: Session, model_key: str, keys: Sequence[int]) -> Sequence[Record]:
    order = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    rows = session.records(_MISSING_OF, [list(keys), model_key])
    rows = sorted(rows, key=lambda row: order[row["chunk_key"]])
    first = {row["passage_hash"]: row for row in reversed(rows)}
    return [row for row in rows if first[row["passage_hash"]] is row]


def _passage(row: Record, text: str) -> str:
    own = text[row["start_char"] : row["end_char"]]
    return f"{row['context']}\n\n{own}" if row["context"] else own
