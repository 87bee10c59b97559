"""Which parser and which chunker a medium has.

Importing this is cheap: a parser's library is loaded with the first file that needs it.
"""

from __future__ import annotations

from functools import cache

from kb_app._ingest.code.languages import CODE_ALIASES, LANGUAGES
from kb_app._ingest.code.rules import RULES
from kb_core.ports import Chunker, Parser

__all__ = ["chunker_for", "parser_for"]


@cache
def parser_for(media: str, code_lang: str | None = None) -> Parser:
    """Return the parser of *media*; code in an unknown language is read as text."""
    if media == "markdown":
        from kb_app._ingest.parse.markdown import MarkdownParser

        return MarkdownParser()
    if media == "code" and CODE_ALIASES.get(code_lang or "", code_lang) in LANGUAGES:
        from kb_app._ingest.parse.code import CodeParser

        return CodeParser()
    if media == "code" and code_lang in RULES:
        from kb_app._ingest.parse.outline import OutlineParser

        return OutlineParser()
    from kb_app._ingest.parse.text import TextParser

    return TextParser()


@cache
def chunker_for(media: str) -> Chunker:
    """Return the chunker of *media*."""
    if media == "markdown":
        from kb_app._ingest.chunk.markdown import MarkdownChunker

        return MarkdownChunker()
    if media == "code":
        from kb_app._ingest.chunk.code import CodeChunker

        return CodeChunker()
    from kb_app._ingest.chunk.paragraphs import ParagraphChunker

    return ParagraphChunker()
