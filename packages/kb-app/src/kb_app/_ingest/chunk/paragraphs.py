"""Chunks of plain text: paragraphs under one heading, up to the target size.

A heading starts a chunk. Paragraphs are not cut while they fit; where one has to be cut,
the parts overlap by whole sentences or lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb_app._ingest.sections import section_chunks
from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument
from kb_core.ports import TokenCounter

__all__ = ["VERSION", "ParagraphChunker"]

VERSION = "paragraphs-1"


class ParagraphChunker:
    """``Chunker`` of texts."""

    version = VERSION

    def __call__(
        self, document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits, /
    ) -> Iterable[ChunkDraft]:
        return section_chunks(document, counter, limits)
