"""A document or chunk by what a person has at hand: an id, its beginning, or a path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_app._ingest.seeing.files import is_utf8
from kb_core.errors import DocNotFound, InvalidInput
from kb_core.filters import OneOf, all_of
from kb_core.ids import doc_id as id_of_path, is_id_prefix
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.text import nfc

__all__ = ["Origin", "document_at", "documents_at", "origin_of", "spellings"]


@dataclass(frozen=True, slots=True)
class Origin:
    """What neighbours are wanted of: chunks of one document."""

    id: str
    doc_id: str
    chunks: Sequence[StoredChunk]


def document_at(snapshot: IndexSnapshot, text: str) -> tuple[StoredDoc | None, str]:
    """Return the document that *text* names, and its path; ``None`` for a path without one.

    *text* is an id or its beginning, a path relative to its source, or an absolute path.
    ``InvalidInput`` where that names several documents or none at all can be meant.
    """
    if not text.strip():
        raise InvalidInput(
            "the document is missing",
            hint="give its path, or its id from a hit or from 'kebab list docs'",
            details={"field": "doc", "value": text},
        )
    if is_id_prefix(text):
        found = list(snapshot.find_docs(text.strip().lower(), 2))
        if len(found) == 1:
            return found[0], found[0]["path"]
        if found:
            raise _several(text, [doc["path"] for doc in found], "give more digits of the id")
    source, path = _inside_a_source(snapshot, text)
    found = documents_at(snapshot, path, source)
    if len(found) > 1:
        raise _several(text, [doc["source_id"] for doc in found], "give its id instead")
    return (found[0], found[0]["path"]) if found else (None, path)


def documents_at(snapshot: IndexSnapshot, path: str, source: str | None) -> list[StoredDoc]:
    """Return the documents at *path*, one of each source, else those that were moved from it."""
    if not is_utf8(path + (source or "")):
        return []  # nothing in here is called so
    within = OneOf("source_id", (source,)) if source else None
    names = spellings(path)
    for name in names:
        if found := snapshot.docs(all_of([OneOf("path", (name,)), within])):
            return list(found)
    sources = [source] if source else sorted(snapshot.control.sources)
    ids = [id_of_path(each, name) for each in sources for name in names]
    moved = [doc for old in ids for doc in snapshot.find_docs(old, 1)]
    return list({doc["doc_id"]: doc for doc in moved}.values())


def spellings(path: str) -> list[str]:
    """Return what a path that a person typed may be called in the index."""
    return list(dict.fromkeys((path, nfc(path).removeprefix("./"))))


def origin_of(snapshot: IndexSnapshot, text: str) -> Origin:
    """Return the chunks that *text* names: one by its id, or those of a document."""
    if is_id_prefix(text):
        chunks = snapshot.find_chunks(text.strip().lower(), 2)
        if len(chunks) == 1:
            return Origin(chunks[0]["chunk_id"], chunks[0]["doc_id"], chunks)
        if chunks:
            ids = [chunk["chunk_id"] for chunk in chunks]
            raise _several(text, ids, "give more digits of the id")
    doc, path = document_at(snapshot, text)
    if doc is None:
        raise DocNotFound(
            f"no chunk or document is {path!r}",
            hint="'kebab list docs' shows the ids and paths of all documents",
            details={"field": "id", "value": text},
        )
    return Origin(doc["doc_id"], doc["doc_id"], snapshot.doc_chunks(doc["doc_id"]))


def _inside_a_source(snapshot: IndexSnapshot, text: str) -> tuple[str | None, str]:
    """Return the source and the path in it of an absolute path; a relative one as it is."""
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - leaves an unknown user alone
    if path.is_absolute():
        for source_id, source in snapshot.control.sources.items():
            root = source.get("root")
            if root and path.is_relative_to(root):
                return source_id, nfc(path.relative_to(root).as_posix())
    return None, nfc(text).removeprefix("./")


def _several(text: str, places: list[str], hint: str) -> InvalidInput:
    return InvalidInput(
        f"{text!r} names several: {', '.join(places)}",
        hint=hint,
        details={"field": "doc", "value": text},
    )
