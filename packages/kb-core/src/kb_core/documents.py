"""What a parser makes of one file, and what a chunker makes of that.

``ParsedDocument.text`` is the decoded text of the file, newline-normalised, for
everything that is text, and the extracted text for the rest. Everything else
points into it with half-open character ranges; nothing is re-serialised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from kb_core.citations import Span
from kb_core.values import dataclass, field

__all__ = [
    "Block",
    "ChunkDraft",
    "ChunkLimits",
    "Enclosure",
    "Link",
    "Metadata",
    "ParsedDocument",
    "Place",
    "ReadingLimits",
    "SourceFile",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """How much one file may hold that is no text; a file that holds more is refused unread.

    Names are those of ``[limits]`` in the configuration.
    """

    unpacked_mb: int = 1_000
    part_mb: int = 200
    """Of one file in an archive."""
    ratio: int = 1_000
    """How many times the size of its archive a large file in it may have."""
    members: int = 10_000
    pages: int = 20_000
    cells: int = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """What is known of a file before it is read."""

    source_id: str
    path: str
    """Relative to the source's root, POSIX, NFC; of ``_added``, any text that names it."""
    media: str
    code_lang: str | None = None
    size: int = 0
    mtime_ns: int = 0
    source_type: str = "note"
    trust_level: str = "primary"
    options: Mapping[str, object] = field(default_factory=dict)
    """Settings that change this medium's output; part of the fingerprint."""
    limits: ReadingLimits = ReadingLimits()
    """How much of it is read; of those that a parser heeds, part of the fingerprint."""


@dataclass(frozen=True, slots=True)
class Block:
    """A structural part of a document.

    ``kind`` is ``heading``, ``paragraph``, ``list_item``, ``code``, ``table``,
    ``quote``, ``html``, ``front_matter``, ``fields`` (what stands behind a note and says what it
    is), ``signature`` (of a mail), ``note`` (at the foot, or to a slide), ``comment``, ``margin``
    (header or footer of all pages), ``unit`` (of code), or ``gap`` (what lies between the units
    of code). A block of level *n* is inside its heading path.
    """

    kind: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    level: int = 0
    symbol: str | None = None
    symbol_kind: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of a document, as written: ``wiki``, ``markdown`` or ``html``."""

    kind: str
    target: str
    text: str
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a document says of itself. ``user`` keeps keys that mean nothing to us."""

    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    lang: str | None = None
    created: datetime | None = None
    updated: datetime | None = None
    name_date: datetime | None = None
    """A date at the start of the file's name."""
    source_type: str | None = None
    trust_level: str | None = None
    user: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the source the text from ``start`` stands, as far as the next place begins."""

    start: int
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A file within a file: an attachment, a mail of a mailbox. It becomes a document too."""

    name: str
    """What it is called in there; what cannot stand in a path, or is taken, is replaced."""
    data: bytes
    media: str | None = None
    """Where name and bytes do not tell, or tell something else."""
    created: datetime | None = None
    """A date that its container knows, for where it has none of its own."""
    folder: str = ""
    """The folders that it lies in there, parted by ``/``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A file, parsed."""

    text: str
    media: str
    metadata: Metadata = Metadata()
    code_lang: str | None = None
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    places: tuple[Place, ...] = ()
    """In order: of what is not cited by its lines. No chunk is of two places that have none
    in common, such as two pages."""
    has_lines: bool | None = None
    """Whether lines of the text are how it is addressed; ``None``: as its medium is."""
    enclosures: Iterable[Enclosure] = ()
    """The files within it, in order; each is parsed as what it is, or is a warning of this."""
    refused: tuple[str, str] | None = None
    """Why the file is left alone, if it is: a ``SkipReason`` and a detail. The rest is nothing."""
    waits_for: str | None = None
    """The later phase that would give more, such as ``ocr``; this is what is known without."""
    warnings: tuple[str, ...] = ()
    parser_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLimits:
    """Sizes in tokens of the embedding model, special tokens and prefix excluded.

    No chunk is longer than ``max_tokens``; chunks aim at ``target_tokens``; where
    one block had to be cut, neighbours share about ``overlap_tokens``.
    """

    target_tokens: int
    overlap_tokens: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A half-open range of a document's text that a chunker chose.

    ``span`` overrides the span that is computed from the range: that of the document's
    places, else of its lines. ``part`` counts from 1 where an oversize unit was cut.
    """

    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    symbol: str | None = None
    part: int | None = None
    token_count: int = 0
    span: Span | None = None
