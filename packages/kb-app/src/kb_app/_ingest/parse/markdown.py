"""Markdown: CommonMark with tables and front matter, to blocks of the text as it stands.

``markdown-it-py`` says which lines make which block; nothing is re-serialised. Blocks hold
every character but white space. A heading path is made of the headings outside quotes and
lists. Links are found in the source, so that each has its offset.

A file of very many lines is read by headings and blank lines alone, with a warning, so that
no input takes more than linear time and a few seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from kb_app._ingest.meta.fields import Origin, text_metadata
from kb_app._ingest.meta.front_matter import FrontMatter, read_front_matter
from kb_app._ingest.meta.links import LINKS_MAX, find_links
from kb_app._ingest.structure import Headings, Lines, Region, flatten, paragraphs
from kb_core.documents import Block, ParsedDocument, SourceFile
from kb_core.ports import Content

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["VERSION", "MarkdownParser"]

VERSION = "markdown-1"

_MOST_LINES = 100_000
_TITLE_MAX = 200
_KINDS = {
    "blockquote_open": "quote",
    "code_block": "code",
    "fence": "code",
    "heading_open": "heading",
    "html_block": "html",
    "paragraph_open": "paragraph",
    "table_open": "table",
}
_NOT_LINES = str.maketrans({"\r": " ", "\0": "\ufffd"})
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.{0,1000})|[ \t]*$)")
_WIKI = re.compile(r"\[\[([^\[\]|\n]{1,500})(?:\|([^\[\]\n]{0,500}))?\]\]")
_MARKED_END = re.compile(r"\s*(?:\{[^{}]{0,200}\}|#+)\s*$")


class MarkdownParser:
    """``Parser`` of Markdown."""

    version = VERSION

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        text = content.text
        front = read_front_matter(text)
        lines = Lines(text)
        warnings = list(content.warnings)
        code: list[tuple[int, int]] = []
        if len(lines) > _MOST_LINES:
            warnings.append(f"more than {_MOST_LINES} lines: read by headings and blank lines")
            regions = _plain_regions(lines, front)
        else:
            regions, code = _regions(lines, front)
        blocks, heading = _blocks(lines, regions)
        body = text[front.end if front else 0 :]
        origin = Origin(path=file.path, heading=heading, body=body)
        metadata, wrong = text_metadata(front.values if front else {}, origin)
        links = find_links(text, code)
        if len(links) == LINKS_MAX:
            warnings.append(f"links: only the first {LINKS_MAX} were kept")
        return ParsedDocument(
            text=text,
            media=file.media,
            metadata=metadata,
            blocks=blocks,
            links=links,
            warnings=(*warnings, *(front.warnings if front else ()), *wrong),
            parser_version=VERSION,
        )


def _regions(lines: Lines, front: FrontMatter | None) -> tuple[list[Region], list[tuple[int, int]]]:
    """Return the regions of a text, outer before inner, and the ranges of its code."""
    # A line ends at LF only, which markdown-it has to be told by other characters.
    text = lines.text.translate(_NOT_LINES)
    regions: list[Region] = []
    code: list[tuple[int, int]] = []
    if front is not None:
        count = text.count("\n", 0, front.end) + (not text.endswith("\n", 0, front.end))
        text = "\n" * text.count("\n", 0, front.end) + text[front.end :]
        regions.append(Region(0, count, "front_matter"))
        code.append((0, front.end))
    for token in _markdown().parse(text):
        if token.map is None:
            continue
        if token.type in {"fence", "code_block"}:
            code.append((lines.start(token.map[0]), lines.start(token.map[1])))
        if (region := _region(token)) is not None:
            regions.append(region)
    return regions, code


def _region(token: Token) -> Region | None:
    first, end = token.map or (0, 0)
    if token.type == "list_item_open" and token.level % 2:
        # Lists and their items alternate, unless a quote stands between them.
        return Region(first, end, "list_item", (token.level + 1) // 2)
    if token.level or token.type not in _KINDS:
        return None
    level = int(token.tag[1]) if token.type == "heading_open" else 0
    return Region(first, end, _KINDS[token.type], level)


def _plain_regions(lines: Lines, front: FrontMatter | None) -> list[Region]:
    regions, at = [], 0
    if front is not None:
        at = lines.text.count("\n", 0, front.end)
        regions.append(Region(0, at, "front_matter"))
    for region in paragraphs(lines, at, len(lines), "paragraph"):
        start = region.first
        for line in range(region.first, region.end):
            if match := _ATX.fullmatch(lines.texts[line]):
                if start < line:
                    regions.append(Region(start, line, "paragraph"))
                regions.append(Region(line, line + 1, "heading", len(match[1])))
                start = line + 1
        if start < region.end:
            regions.append(Region(start, region.end, "paragraph"))
    return regions


def _blocks(lines: Lines, regions: Iterable[Region]) -> tuple[tuple[Block, ...], str]:
    """Return the blocks, and the first heading."""
    headings = Headings()
    first = ""
    blocks = []
    for region in _parted(lines, regions):
        if region.kind == "heading":
            title = _heading(lines.texts[region.first : region.end])
            headings.enter(region.level, title)
            first = first or title
        if block := lines.block(region, headings.path):
            blocks.append(block)
    return tuple(blocks), first


def _parted(lines: Lines, regions: Iterable[Region]) -> Iterator[Region]:
    """Yield the regions flat; what no rule claimed (definitions, rules) by blank lines."""
    for region in flatten(regions, len(lines), "plain"):
        if region.kind == "plain":
            yield from paragraphs(lines, region.first, region.end, "paragraph")
        else:
            yield region


def _heading(texts: list[str]) -> str:
    """Return the words of a heading without its markup."""
    atx = _ATX.match(texts[0])
    source = (atx[2] or "") if atx else " ".join(texts[:-1])
    source = _MARKED_END.sub("", source[:1000]).strip()
    source = _WIKI.sub(lambda match: (match[2] or match[1]).strip(), source)
    if not source or source.replace(" ", "").isalnum():
        return source[:_TITLE_MAX]
    inline = _inline().parseInline(source)[0].children or []
    words = "".join(" " if token.type.endswith("break") else token.content for token in inline)
    return (" ".join(words.split()) or source)[:_TITLE_MAX]


@cache
def _markdown() -> MarkdownIt:
    """Return a parser of blocks: what stands within them is not looked at."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["block"])
    return parser


@cache
def _inline() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("strikethrough").disable("autolink")
