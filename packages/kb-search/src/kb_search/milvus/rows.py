"""What is stored: passages, records and vectors as rows of the engine.

An index has one collection of passages, one of records (documents, texts, the ledger,
aliases, counts), and one of vectors for each model. Every row has ``born``, the sequence that
made it, and ``died``, the one that replaced it. What is filtered by stands in fields of its
own, also beside the vectors, since the engine filters within one collection; what is shown
travels as JSON. A text longer than a field is cut into further rows (``more_rows``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

from kb_core.clock import from_epoch, to_epoch
from kb_core.media import TrustLevel
from kb_core.records import ChunkRecord, DocumentRecord, FileRecord
from kb_search.analysis import analyze
from kb_search.milvus.expressions import FAR, MISSING, NEVER, folded, safe, spaced
from kb_search.schema import (
    CHUNK_FIELDS,
    NAMES,
    changed_of,
    chunk_payload,
    doc_payload,
    doc_shared,
    file_payload,
    key_of,
    lengths_of,
    names_by_field,
    place_of,
    scored_texts,
    standing_of,
    streams_of,
)
from kb_search.statistics import SCORED_FIELDS, told_length
from kb_search.weighing import FILLING

__all__ = ["CHUNKS", "FILTERED", "RECORDS", "Analysed", "Field", "Row", "alias_row", "analysed"]
__all__ += ["chunk_row", "chunk_row_of", "dimension", "doc_rows", "file_row"]
__all__ += [
    "impact",
    "more_rows",
    "name_codes",
    "paged",
    "record",
    "row_key",
    "vector_fields",
    "vector_row",
    "weights_of",
]

Row: TypeAlias = dict[str, Any]

MOST_BYTES = 65_535
"""What the engine takes in one field of text."""

_CONTINUES = 0x80
"""The two upper bits of a byte of UTF-8 that goes on with a character."""
_K1 = 1.2
_B = 0.75
_PAGE = 60_000


class Field(NamedTuple):
    """A field of a collection: ``text``, ``number``, ``sparse``, or ``dense`` of some size."""

    name: str
    kind: str
    size: int = 0


FILTERED = (
    *(Field(n, "text") for n in ("doc_id", "source_id", "source_type", "path", "media", "lang")),
    *(Field(n, "text") for n in ("code_lang", "repo", "tags", "tag_tree")),
    *(Field(n, "text") for n in ("title_words", "path_words")),
    *(Field(n, "number") for n in ("doc_key", "depth", "trust", "indexed_at", "doc_date")),
)
"""What documents, passages and vectors are filtered by."""

_LIVES = (Field("born", "number"), Field("died", "number"))
_BODY = (Field("chunk_id", "text"), Field("exact", "text"), Field("cjk", "text"))

CHUNKS = (
    *_LIVES,
    *FILTERED,
    *_BODY,
    Field("chunk_key", "number"),
    Field("chunk_count", "number"),
    Field("signpost", "number"),
    Field("called", "text"),
    Field("terms", "text"),
    Field("payload", "text"),
    Field("parts", "number"),
    Field("pages", "text"),
    Field("words", "sparse"),
)

RECORDS = (
    *_LIVES,
    *FILTERED,
    Field("chunk_id", "text"),
    Field("kind", "text"),
    Field("key", "number"),
    Field("place", "text"),
    Field("state", "text"),
    Field("standing", "text"),
    Field("changed", "number"),
    *(Field(name, "text") for name in NAMES),
    Field("payload", "text"),
    Field("parts", "number"),
    Field("pages", "text"),
    Field("pad", "dense", 2),
)
"""``pad`` is there because the engine wants a vector of every collection."""


def vector_fields(dimensions: int) -> tuple[Field, ...]:
    """Return the fields of one model's collection."""
    own = (Field("chunk_key", "number"), Field("signpost", "number"))
    return (*_LIVES, *FILTERED, *_BODY, *own, Field("vector", "dense", dimensions))


class Analysed(NamedTuple):
    """A passage as it is ranked: how often it holds each term, and how long it is, by field."""

    counts: Mapping[str, Counter[str]]
    lengths: Mapping[str, int]
    exact: Sequence[str]
    cjk: Sequence[str]
    is_signpost: bool


def analysed(chunk: ChunkRecord, doc: DocumentRecord) -> Analysed:
    """Return what of a passage ranks."""
    streams = streams_of(chunk, doc)
    texts = scored_texts(chunk, doc, streams)
    counts = {field: Counter(texts[field].split()) for field in SCORED_FIELDS}
    padding = counts["stem"].pop(FILLING, 0)
    exact, cjk = streams.exact.split(), streams.cjk.split()
    return Analysed(counts, lengths_of(texts), exact, cjk, padding > _SIGNPOST_PADDING)


_SIGNPOST_PADDING = 100


def dimension(field: str, term: str) -> int:
    """Return the dimension of a field's term, from 1; 0 is that of every passage."""
    digest = blake2b(f"{field}\0{term}".encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return max(1, int.from_bytes(digest, "little") >> 1)


def impact(count: int, length: int, pivot: int) -> float:
    """Return what BM25 gives for a term that stands *count* times, without its rarity."""
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * told_length(length) / pivot))


def weights_of(found: Analysed, pivots: Mapping[str, int]) -> dict[int, float]:
    """Return what a passage gives to each of its terms, as a sparse vector."""
    weights: dict[int, float] = {0: 1.0}
    for field, counts in found.counts.items():
        if field == "cjk":  # its pairs rank beside the stems
            continue
        for term, count in counts.items():
            at = dimension(field, term)
            gives = impact(count, found.lengths[field], pivots[field])
            weights[at] = weights.get(at, 0.0) + gives
    return weights


def chunk_row(
    chunk: ChunkRecord, doc: DocumentRecord, found: Analysed, pivots: Mapping[str, int], rev: int
) -> list[Row]:
    """Return a passage's row, and what of its payload needs further ones."""
    every = {term for counts in found.counts.values() for term in counts} | {*found.exact}
    payload = _text(chunk_payload(chunk, doc_shared(doc)))
    row = _filtered(doc) | {
        "pk": f"{chunk.chunk_key}@{rev}",
        "born": rev,
        "died": FAR,
        "chunk_key": chunk.chunk_key,
        "chunk_count": len(doc.chunks),
        "chunk_id": safe(chunk.chunk_id),
        "exact": _within(spaced(found.exact)),
        "cjk": _within(spaced(found.cjk)),
        "called": _within(spaced(found.counts["called"])),
        "terms": _within(spaced(sorted(every))),
        "signpost": int(found.is_signpost),
        "words": weights_of(found, pivots),
    }
    return paged(row, payload)


def chunk_row_of(payload: Mapping[str, Any]) -> tuple[ChunkRecord, DocumentRecord]:
    """Return a passage and its document, as far as they rank, from what is shown of it."""
    chunk = ChunkRecord(**{name: payload[name] for name in CHUNK_FIELDS})
    known = ("doc_id", "source_id", "path", "title", "media", "lang")
    shared = {name: payload[name] for name in known}
    return chunk, DocumentRecord(**shared, text="", indexed_at=from_epoch(payload["indexed_at"]))


def vector_row(chunk: Row, vector: Sequence[float], rev: int) -> Row:
    """Return a vector's row; *chunk* is the row of its passage, or of its vector before."""
    names = [field.name for field in (*FILTERED, *_BODY)]
    own = {name: chunk[name] for name in (*names, "chunk_key", "signpost")}
    lives = {"pk": f"{chunk['chunk_key']}@{rev}", "born": rev, "died": FAR}
    return own | lives | {"vector": list(vector)}


def doc_rows(doc: DocumentRecord, rev: int) -> Iterator[Row]:
    """Yield the rows of a document: what is shown of it, and its text."""
    shown = record("doc", doc.doc_key, rev) | _filtered(doc)
    names = {
        field: _within(spaced(name_codes(given))) for field, given in names_by_field(doc).items()
    }
    shown |= {"place": _safe_place(doc.source_id, doc.path), **names}
    yield from paged(shown, _text(doc_payload(doc)))
    text = record("text", doc.doc_key, rev) | _filtered(doc)
    yield from paged(text, json.dumps({"text": doc.text}, ensure_ascii=not _is_clean(doc.text)))


def name_codes(names: Iterable[str]) -> list[str]:
    """Return what stands for names in a field, which takes some nine thousand of these.

    Two names may share one: what is found by it is compared with the name afterwards.
    """
    return [blake2b(name.encode("utf-8", "replace"), digest_size=3).hexdigest() for name in names]


def file_row(file: FileRecord, rev: int) -> list[Row]:
    """Return the rows of a row of the ledger."""
    row = record("file", key_of("file", file.source_id, file.path), rev) | {
        "source_id": safe(file.source_id),
        "path": _within(safe(file.path)),
        "depth": file.path.count("/"),
        "state": safe(file.state),
        "place": _safe_place(file.source_id, file.path),
        "standing": standing_of(file.state, file.reason),
        "changed": changed_of(file),
    }
    return paged(row, _text(file_payload(file)))


def alias_row(old_id: str, new_id: str, rev: int) -> list[Row]:
    """Return the row that leads from a moved document's old id to its new one."""
    row = record("alias", key_of("alias", old_id), rev) | {"doc_id": safe(old_id)}
    return paged(row, json.dumps({"old": old_id, "new": new_id}))


def record(kind: str, key: int, rev: int) -> Row:
    """Return a record of a kind that says nothing yet."""
    row: Row = dict.fromkeys((f.name for f in RECORDS if f.kind == "text"), MISSING)
    row |= dict.fromkeys((f.name for f in RECORDS if f.kind == "number"), NEVER)
    lives = {"pk": f"{kind}:{key}@{rev}", "kind": kind, "key": key, "born": rev, "died": FAR}
    return row | lives | {"changed": 0, "parts": 1, "pad": [0.0, 0.0]}


def more_rows(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Part rows into those that are looked for and those that only go on with a payload."""
    found: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        found[row.get("kind") == "more"].append(row)
    return found


def paged(row: Row, payload: str) -> list[Row]:
    """Return *row* with its payload; what does not fit goes on in rows of the kind ``more``."""
    pages = list(_pages(payload))
    further = [
        record("more", 0, row["born"])
        | {
            "pk": f"{row['pk']}#{n}",
            "doc_key": row["doc_key"],
            "payload": page,
            "key": row_key(row),
        }
        for n, page in enumerate(pages[1:], 1)
    ]
    whole = {"payload": pages[0], "parts": len(pages), "pages": row["pk"]}
    return [row | whole, *further]


def row_key(row: Row) -> int:
    """Return the key of what a row is of."""
    return int(row["chunk_key"] if "chunk_key" in row else row["key"])


def _pages(payload: str) -> Iterator[str]:
    if len(payload) <= _PAGE // 4:  # four bytes a character at most
        yield payload
        return
    data = payload.encode()
    at = 0
    while at < len(data):
        end = min(at + _PAGE, len(data))
        while end < len(data) and data[end] & 0xC0 == _CONTINUES:
            end -= 1
        yield data[at:end].decode()
        at = end


def _filtered(doc: DocumentRecord) -> Row:
    tree = {folded("/".join(part)) for tag in doc.tags for part in _above(tag)}
    return {
        "doc_id": safe(doc.doc_id),
        "doc_key": doc.doc_key,
        "source_id": safe(doc.source_id),
        "source_type": safe(doc.source_type),
        "path": _within(safe(doc.path)),
        "depth": doc.path.count("/"),
        "media": safe(doc.media),
        "lang": safe(doc.lang or ""),
        "code_lang": safe(doc.code_lang) if doc.code_lang else MISSING,
        "repo": safe(doc.repo) if doc.repo else MISSING,
        "tags": _within(_barred(map(safe, doc.tags))),
        "tag_tree": _within(_barred(sorted(tree))),
        "title_words": _within(spaced(_plain_terms(doc.title, doc.lang))),
        "path_words": _within(spaced(_plain_terms(doc.path, None))),
        "trust": TrustLevel(doc.trust_level).rank,
        "indexed_at": to_epoch(doc.indexed_at),
        "doc_date": NEVER if doc.doc_date is None else to_epoch(doc.doc_date),
    }


def _above(tag: str) -> Iterator[list[str]]:
    parts = tag.split("/")
    return (parts[:end] for end in range(1, len(parts) + 1))


def _barred(values: Iterable[str]) -> str:
    joined = "|".join(values)
    return f"|{joined}|" if joined else ""


def _plain_terms(text: str, lang: str | None) -> list[str]:
    streams = analyze(text, lang)
    return [*streams.stem.split(), *streams.ident.split(), *streams.cjk.split()]


def _safe_place(source_id: str, path: str) -> str:
    return place_of(source_id, path).encode("utf-8", "replace").decode()


def _within(text: str) -> str:
    """Return what of *text* a field takes, cut between terms where it is longer."""
    if len(text) <= MOST_BYTES // 4 or len(text.encode()) <= MOST_BYTES:
        return text
    kept = text.encode()[: MOST_BYTES - 1].decode("utf-8", "ignore")
    return kept[: max(kept.rfind(" "), kept.rfind("|")) + 1]


def _text(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError:  # half a pair of UTF-16: JSON can say it, UTF-8 cannot
        return json.dumps(json.loads(payload.decode("utf-8", "surrogatepass")))


def _is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
