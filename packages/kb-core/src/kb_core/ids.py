"""Ids: one recipe, so that equal things have equal ids on every machine.

An id is the BLAKE2b hash, 16 bytes in 32 lowercase hex digits, of canonical JSON
(sorted keys, no spaces, UTF-8) of what identifies the thing:

    doc_id    source id and path, and the    stable while the file is edited
              path in there of a document
              within the file
    chunk_id  doc_id, hash of the chunk's    stable while other parts of the
              text, occurrence number        document are edited

Hashes of content are 16 bytes too; ``content_hash``, which travels in citations,
is their first 8 bytes in hex.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NewType

from kb_core.errors import InvalidInput
from kb_core.values import lazy_pattern

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        # What hashlib hands on, without OpenSSL, which takes a short command long to load.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

__all__ = [
    "ChunkId",
    "DocId",
    "blake2b",
    "bytes_hash",
    "canonical_json",
    "chunk_id",
    "chunk_ids",
    "content_hash",
    "doc_id",
    "doc_ids_at",
    "enclosed_path",
    "enclosing_paths",
    "fingerprint",
    "is_id_prefix",
    "parse_id_prefix",
    "text_hash",
]

DocId = NewType("DocId", str)
ChunkId = NewType("ChunkId", str)

_HEX = lazy_pattern(r"[0-9a-f]{8,32}", re.ASCII)


def canonical_json(value: object) -> bytes:
    """Return *value* as JSON with sorted keys, no spaces and no escapes, in UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def fingerprint(value: object) -> str:
    """Return the 32-digit hash of a JSON value; the one recipe behind every id."""
    return blake2b(canonical_json(value), digest_size=16).hexdigest()


def doc_id(source_id: str, path: str, within: str | None = None) -> DocId:
    """Return the id of the document at *path* of a source; *within* is the path in there."""
    place = {"path": path, "source": source_id}
    return DocId(fingerprint(place if within is None else {**place, "within": within}))


_INTO = "!/"
"""Stands in a path where it leads into a file."""


def enclosed_path(container: str, within: str) -> str:
    """Return the path that a document within a file is shown under."""
    return f"{container}{_INTO}{within}"


def doc_ids_at(source_id: str, path: str) -> list[DocId]:
    """Return the ids that a document at *path* may have: a folder may be called ``a!``, too."""
    files = enclosing_paths(path)[:-1]
    inside = [(file, path.removeprefix(f"{file}{_INTO}")) for file in files]
    return [doc_id(source_id, path), *(doc_id(source_id, *each) for each in inside)]


def enclosing_paths(path: str) -> list[str]:
    """Return the paths of all files that *path* may lead through, and *path*, outermost first."""
    parts = path.split(_INTO)
    return [_INTO.join(parts[: end + 1]) for end in range(len(parts))]


def chunk_id(doc: DocId, hash_of_text: str, occurrence: int) -> ChunkId:
    """Return the id of the *occurrence*-th chunk, from 0, with that text in *doc*."""
    return ChunkId(fingerprint({"doc": doc, "n": occurrence, "text": hash_of_text}))


def chunk_ids(doc: DocId, hashes: Iterable[str]) -> list[ChunkId]:
    """Return the ids of a document's chunks, given the hashes of their texts in order."""
    seen: Counter[str] = Counter()
    ids = []
    before = canonical_json({"doc": doc})[:-1]
    for digest in hashes:
        # As ``chunk_id``, without an encoder for each: hashes have nothing to escape.
        told = b'%b,"n":%d,"text":"%b"}' % (before, seen[digest], digest.encode())
        ids.append(ChunkId(bytes_hash(told)))
        seen[digest] += 1
    return ids


def bytes_hash(data: bytes) -> str:
    """Return the 32-digit hash of a file's bytes."""
    return blake2b(data, digest_size=16).hexdigest()


def text_hash(text: str) -> str:
    """Return the 32-digit hash of a text."""
    return bytes_hash(text.encode("utf-8", "surrogatepass"))


def content_hash(text: str) -> str:
    """Return the 16-digit hash of a cited text that a citation carries."""
    return text_hash(text)[:16]


def is_id_prefix(text: str) -> bool:
    """Say whether *text* can be an id, or the beginning of one that says enough."""
    return _HEX.fullmatch(text.strip().lower()) is not None


def parse_id_prefix(text: str, *, what: str) -> str:
    """Return a lower-case id or id prefix of at least 8 digits, or raise ``InvalidInput``."""
    lowered = text.strip().lower()
    if not _HEX.fullmatch(lowered):
        raise InvalidInput(
            f"{what} {text!r} is not 8 to 32 hex digits",
            hint="copy the id from a search hit or from 'kebab list docs'",
            details={"field": what, "value": text},
        )
    return lowered
