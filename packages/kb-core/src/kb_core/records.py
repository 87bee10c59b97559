"""Records: what the truth stores, what the index shows, and what moves between them.

The store (``kb_store``) and the index (``kb_search``) do not know each other; both
speak these types, and ``kb_app`` carries them across. Integer keys (``doc_key``,
``chunk_key``) are minted by the store from sequences and never reused.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from kb_core.control import Control, VectorFiles
from kb_core.values import dataclass, field

__all__ = [
    "PASSAGES_AT_A_TURN",
    "Changes",
    "ChunkRecord",
    "Control",
    "DocumentRecord",
    "FileRecord",
    "FileState",
    "Move",
    "PendingPassage",
    "Publication",
    "VectorFiles",
    "VectorRecord",
]


class FileState(StrEnum):
    """What became of a file that was seen."""

    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"
    PENDING = "pending"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One row of the ledger: a file, or an ignored directory, that a walk saw.

    A file that waits for a later phase is ``pending``, and ``reason`` is the phase; what is
    known of it without is stored meanwhile.
    """

    source_id: str
    path: str
    raw_path: str | None = None
    """The name on disk where it differs from ``path`` (other normal form, or bytes that
    are not UTF-8): ``os.fsencode`` of the relative path, in hex."""
    state: FileState
    reason: str | None = None
    detail: str | None = None
    media: str | None = None
    size: int = 0
    mtime_ns: int = 0
    bytes_hash: str | None = None
    fingerprint: str | None = None
    doc_id: str | None = None
    error_code: str | None = None
    processed_at: datetime | None = None
    changed_at: datetime | None = None
    """When the state last changed; rows that are ``deleted`` are kept 90 days from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRecord:
    """A chunk: a half-open range of its document's text. Key 0 means not stored yet."""

    chunk_id: str
    ordinal: int
    start: int
    end: int
    text: str
    line_start: int
    line_end: int
    token_count: int
    heading_path: tuple[str, ...] = ()
    symbol: str | None = None
    part: int | None = None
    span: Mapping[str, Any] | None = None
    """The citation's own fields where it is not a line or code citation."""
    context: str = ""
    """What is put before the text for the models: title and heading path."""
    passage_hash: str = ""
    """Hash of context and text: what an embedding belongs to."""
    flags: tuple[str, ...] = ()
    chunk_key: int = 0

    @property
    def passage(self) -> str:
        """The text that is embedded, without the model's prefix."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document with its text and its chunks. Key 0 means not stored yet."""

    doc_id: str
    source_id: str
    path: str
    title: str
    media: str
    text: str
    lang: str | None
    """``None`` for code, ``und`` where it was not recognised."""
    code_lang: str | None = None
    repo: str | None = None
    repo_branch: str | None = None
    repo_commit: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    source_type: str = "note"
    trust_level: str = "primary"
    doc_date: datetime | None = None
    """Front matter, else file name, else modification time: what since/until ask."""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    indexed_at: datetime
    """When it was last really processed."""
    byte_len: int = 0
    size: int = 0
    mtime_ns: int = 0
    bytes_hash: str = ""
    fingerprint: str = ""
    parser_version: str = ""
    chunker_version: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[Mapping[str, Any], ...] = ()
    links: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    asset: str | None = None
    """Name under ``assets/`` where the bytes exist nowhere else."""
    container: str | None = None
    """Path of the file that it is in, where it is not a file of its own."""
    has_lines: bool | None = None
    """Whether lines of its text are how it is addressed; ``None``: as its medium is."""
    chunks: tuple[ChunkRecord, ...] = ()
    doc_key: int = 0


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A passage's vector, of length 1, as ``kb_core.quantization`` keeps it."""

    chunk_key: int
    vector: bytes


PASSAGES_AT_A_TURN = 32
"""So many passages of a document are embedded before it is the turn of older documents: what
is small is whole soon, and a book that was just added does not keep all else waiting."""


@dataclass(frozen=True, slots=True)
class PendingPassage:
    """A chunk that has no vector of a model yet."""

    chunk_key: int
    passage_hash: str
    passage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A file whose bytes are known under an old path that is gone.

    The document keeps its keys, and so its vectors; it gets the new path's ids.
    """

    old_doc_id: str
    document: DocumentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """One batch for the truth: all of it is committed, or nothing."""

    documents: tuple[DocumentRecord, ...] = ()
    """New, or to replace what is stored under the same ``doc_id``.

    What is stored of a file is replaced, moved and deleted whole: documents in it that the
    batch does not write go with what was there.
    """
    moves: tuple[Move, ...] = ()
    kept: tuple[str, ...] = ()
    """Ids of documents within files of the batch that stay as they are."""
    deleted_docs: tuple[str, ...] = ()
    """Ids of documents that are gone."""
    files: tuple[FileRecord, ...] = ()
    forgotten_files: tuple[tuple[str, str], ...] = ()
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Source id → root, trust_level, source_type, verified_at: replaced as given."""
    embeddings: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    """Model key → passage hash → vector, quantised."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Model key → description, for every key of ``embeddings``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One step from a published state of the index to the next.

    ``documents`` replace what the index holds under their ``doc_key``, chunks
    included; ``removed_docs`` are keys of documents that are gone; ``dead_chunks`` are
    keys whose vectors are dead. ``vectors`` are appended per model key.
    """

    sequence: int
    corpus_revision: int
    vector_revision: int
    store_id: str
    documents: tuple[DocumentRecord, ...] = ()
    removed_docs: tuple[int, ...] = ()
    files: tuple[FileRecord, ...] = ()
    forgotten_files: tuple[tuple[str, str], ...] = ()
    """Ledger rows, as (source id, path), that no longer exist."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Old document id → new one, for files that moved."""
    dead_chunks: tuple[int, ...] = ()
    vectors: Mapping[str, tuple[VectorRecord, ...]] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Description of each model that ``vectors`` names."""
    stats: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def is_of_counts_alone(self) -> bool:
        """Whether it names nothing that was touched, as one at the end of a run."""
        records = (self.documents, self.removed_docs, self.files, self.forgotten_files)
        return not any((*records, self.aliases, self.dead_chunks, self.vectors))
