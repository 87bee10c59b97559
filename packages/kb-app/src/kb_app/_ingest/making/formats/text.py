"""Plain text: paragraphs, and headings where a format makes them certain.

reStructuredText, Org and AsciiDoc have headings; every other text has paragraphs only: a
line in capitals or over a row of dashes may be anything. Code in a language that nothing
is known of comes here too: its paragraphs are gaps, and it has a name but no language.

A heading starts a chunk. Paragraphs are not cut while they fit; where one has to be cut,
the parts overlap by whole sentences or lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kb_app._ingest.making.blocks import Headings, Lines, Region, paragraphs
from kb_app._ingest.making.metadata import Hints, code_metadata, text_metadata
from kb_app._ingest.making.sections import section_chunks
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.ports import Content, TokenCounter

__all__ = ["ParagraphChunker", "TextParser"]

_PARSER = "text-2"
_CHUNKER = "paragraphs-3"

_TITLE_MAX = 200
_ORG = re.compile(r"(\*{1,20})[ \t]+(\S.*)")
_ORG_TITLE = re.compile(r"^[ \t]*#\+TITLE:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_ADOC = re.compile(r"(={1,6})[ \t]+(\S.*)")
_ADORNMENT = re.compile(r"""([!-/:-@[-`{-~])\1{1,200}[ \t]*""")
_ADORNED_MAX = 200
_SETTING = re.compile(r"\s|$|\.\.|:|//|#")
"""Lines that may stand before a heading that opens the text: settings, comments, blanks."""


class TextParser:
    """``Parser`` of texts, and of code without a grammar."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        lines = Lines(content.text)
        if file.media == "code":
            regions = paragraphs(lines, 0, len(lines), "gap")
            return ParsedDocument(
                text=lines.text,
                media=file.media,
                metadata=code_metadata(file.path),
                code_lang=file.code_lang,
                blocks=tuple(block for region in regions if (block := lines.block(region))),
                warnings=content.warnings,
                parser_version=_PARSER,
            )
        blocks, heading = _blocks(lines, file.path)
        hints = Hints(path=file.path, heading=heading, body=lines.text)
        metadata, _ = text_metadata({}, hints)
        return ParsedDocument(
            text=lines.text,
            media=file.media,
            metadata=metadata,
            blocks=blocks,
            warnings=content.warnings,
            parser_version=_PARSER,
        )


class ParagraphChunker:
    """``Chunker`` of texts."""

    version = _CHUNKER

    def __call__(
        self, document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits, /
    ) -> Iterable[ChunkDraft]:
        return section_chunks(document, counter, limits)


def _blocks(lines: Lines, path: str) -> tuple[tuple[Block, ...], str]:
    extension = path.rpartition(".")[2].lower()
    find = _FINDERS.get(extension)
    headings, at, opening = Headings(), 0, ""
    blocks: list[Block] = []
    for region, name in find(lines) if find else ():
        blocks += _between(lines, at, region.first, headings.path)
        path_here = headings.enter(region.level, name[:_TITLE_MAX])
        if at == 0 and all(map(_SETTING.match, lines.texts[: region.first])):
            opening = name[:_TITLE_MAX]
        if block := lines.block(region, path_here):
            blocks.append(block)
        at = region.end
    blocks += _between(lines, at, len(lines), headings.path)
    if extension == "org" and (match := _ORG_TITLE.search(lines.text, 0, 10_000)):
        opening = match[1].strip()[:_TITLE_MAX]
    return tuple(blocks), opening


def _between(lines: Lines, first: int, end: int, path: tuple[str, ...]) -> Iterator[Block]:
    for region in paragraphs(lines, first, end, "paragraph"):
        if block := lines.block(region, path):
            yield block


def _org(lines: Lines) -> Iterator[tuple[Region, str]]:
    return _marked(lines, _ORG, "*")


def _adoc(lines: Lines) -> Iterator[tuple[Region, str]]:
    return _marked(lines, _ADOC, "=")


def _marked(lines: Lines, pattern: re.Pattern[str], mark: str) -> Iterator[tuple[Region, str]]:
    for number, line in enumerate(lines.texts):
        if line.startswith(mark) and (match := pattern.fullmatch(line)):
            yield Region(number, number + 1, "heading", len(match[1])), match[2].strip()


def _rst(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield titles that are underlined, or between two equal lines, over their full width."""
    styles: dict[tuple[str, bool], int] = {}
    previous_end = 0
    for number in range(1, len(lines)):
        mark = _adornment(lines.texts[number])
        title = lines.texts[number - 1]
        if mark is None or number - 1 < previous_end or not _is_title(title, lines.texts[number]):
            continue
        above = lines.texts[number - 2] if number >= previous_end + 2 else ""
        over = _adornment(above) == mark and len(above.rstrip()) == len(
            lines.texts[number].rstrip()
        )
        # Without a line above, a title starts at the margin and after a blank line.
        if not over and (title[0].isspace() or not _starts_here(lines, number - 1, previous_end)):
            continue
        level = styles.setdefault((mark, over), len(styles) + 1)
        previous_end = number + 1
        yield Region(number - 1 - over, number + 1, "heading", level), " ".join(title.split())


def _adornment(line: str) -> str | None:
    return line[0] if len(line) > 1 and _ADORNMENT.fullmatch(line) else None


def _is_title(title: str, underline: str) -> bool:
    words = title.strip()
    return (
        bool(words)
        and len(title.rstrip()) <= min(len(underline.rstrip()), _ADORNED_MAX)
        and any(map(str.isalnum, words))
    )


def _starts_here(lines: Lines, line: int, previous_end: int) -> bool:
    return line in {0, previous_end} or lines.is_blank(line - 1)


_FINDERS: dict[str, Callable[[Lines], Iterator[tuple[Region, str]]]] = {
    "adoc": _adoc,
    "asciidoc": _adoc,
    "asc": _adoc,
    "org": _org,
    "rst": _rst,
}
