"""What an index shows of chunks, documents, files and texts: the rows that its port returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

__all__ = ["Ledger", "QueryResult", "StoredChunk", "StoredDoc", "StoredFile", "StoredText"]
__all__ += ["TextBatch"]


class QueryResult(NamedTuple):
    """What a question in SQL found: rows of JSON values under their columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    """Whether there is more than was asked for, or than can be told."""


class StoredChunk(TypedDict):
    """A chunk as the index shows it, with what its document lends it."""

    chunk_key: int
    chunk_id: str
    ordinal: int
    """Its place among the document's chunks, from 0."""
    start: int
    end: int
    """Its half-open range of the document's text, in code points."""
    text: str
    line_start: int
    line_end: int
    """First and last line in the file, from 1."""
    token_count: int
    """As the embedding model counts, without context."""
    heading_path: Sequence[str]
    symbol: str | None
    part: int | None
    """Which part of a unit that was cut, from 1."""
    span: Mapping[str, Any] | None
    """What ``places.stored_span`` made, where it is no citation of lines."""
    flags: Sequence[str]
    doc_id: str
    source_id: str
    path: str
    title: str
    media: str
    lang: str | None
    code_lang: str | None
    repo: str | None
    tags: Sequence[str]
    source_type: str
    trust_level: str
    indexed_at: int
    doc_date: int | None
    """Epoch seconds, both."""
    size: int
    """Bytes of the file when it was read."""
    mtime_ns: int
    """Its time then, in nanoseconds since the epoch."""
    chunker_version: str
    asset: str | None
    """Name under ``assets/`` where no source has the file."""
    container: NotRequired[str | None]
    """Path of the file that it is within; as ``has_lines``, not in every index."""


class StoredDoc(TypedDict):
    """A document as the index shows it: ``DocumentRecord`` without text and chunks."""

    doc_key: int
    doc_id: str
    source_id: str
    path: str
    title: str
    media: str
    lang: str | None
    code_lang: str | None
    repo: str | None
    repo_branch: str | None
    repo_commit: str | None
    tags: Sequence[str]
    aliases: Sequence[str]
    source_type: str
    trust_level: str
    doc_date: int | None
    created_at: int | None
    updated_at: int | None
    indexed_at: int
    """Epoch seconds, all four."""
    byte_len: int
    size: int
    mtime_ns: int
    bytes_hash: str
    fingerprint: str
    parser_version: str
    chunker_version: str
    metadata: Mapping[str, Any]
    blocks: Sequence[Mapping[str, Any]]
    links: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]
    asset: str | None
    container: NotRequired[str | None]
    has_lines: NotRequired[bool | None]
    chunk_count: int
    text_chars: int
    """Length of the text, in code points."""


class StoredFile(TypedDict):
    """A row of the ledger as the index shows it: ``FileRecord``, times as epoch seconds."""

    source_id: str
    path: str
    raw_path: str | None
    state: str
    reason: str | None
    detail: str | None
    media: str | None
    size: int
    mtime_ns: int
    bytes_hash: str | None
    fingerprint: str | None
    doc_id: str | None
    error_code: str | None
    processed_at: int | None
    changed_at: int | None


class Ledger(NamedTuple):
    """What the ledger holds, summed up."""

    counts: Mapping[tuple[str, str | None], int]
    """How many files there are of each state and reason."""
    changed: int | None
    """When the last of them was processed or came into another state, in epoch seconds."""


class StoredText(NamedTuple):
    """The text of a document, to be looked through."""

    doc_key: int
    data: bytes
    """In UTF-8."""
    form: str
    """``ascii``, ``nfc``, or ``other``, as ``kb_search.patterns`` tells them apart."""


class TextBatch(NamedTuple):
    """Texts of documents of one form, one after the other, to be looked through at once."""

    data: bytes
    """In UTF-8; of several, each ends with a newline, which may be here only."""
    form: str
    spans: Sequence[tuple[int, int, int]]
    """The key of each document that is asked for, where its text begins, and where it ends.

    In order; what lies between them is of no interest.
    """

    def texts(self) -> Iterator[StoredText]:
        """Yield the texts one by one."""
        for key, start, end in self.spans:
            yield StoredText(key, self.data[start:end], self.form)
