"""Chunks of Markdown: headings first, then whole blocks, up to the target size.

A heading starts a chunk and is part of it. A paragraph, code block, table or item of a
list is not cut while it fits; where one has to be cut, the parts overlap by whole
sentences or, in code and tables, lines. Short front matter goes with the first section.
Tiny sections under one heading are merged.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb_app._ingest.sections import section_chunks
from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument
from kb_core.ports import TokenCounter

__all__ = ["VERSION", "MarkdownChunker"]

VERSION = "markdown-2"


class MarkdownChunker:
    """``Chunker`` of Markdown."""

    version = VERSION

    def __call__(
        self, document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits, /
    ) -> Iterable[ChunkDraft]:
        return section_chunks(document, counter, limits)
