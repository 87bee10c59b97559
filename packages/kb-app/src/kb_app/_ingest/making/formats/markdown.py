"""Markdown: CommonMark with tables and front matter, to blocks of the text as it stands.

``markdown-it-py`` says which lines make which block; nothing is re-serialised. Blocks hold
every character but white space. A heading path is made of the headings outside quotes and
lists. A file of very many lines is read by headings and blank lines alone, with a warning,
so that no input takes more than linear time and a few seconds.

Front matter, a YAML block between ``---`` lines or a TOML block between ``+++`` lines,
stands at the very start. One wrong value costs that value and a warning, never the block
(lesson 36): where the block as a whole cannot be read, its top-level keys are read one by
one. A block of YAML that is no mapping is not front matter but text. Size and nesting are
bounded, and no tag can construct anything but plain data.

Links and tags are found by ``links``. Fields behind a note that Joplin exported raw say what
front matter says, and are in no chunk (``joplin``).

A heading opens the text if it is its very first block, or of level 1 and nothing is before it
but images, links, HTML and tags.

Chunks are headings first, then whole blocks, up to the target size. A paragraph, code block,
table or item of a list is not cut while it fits; where one has to be cut, the parts overlap
by whole sentences or, in code and tables, lines. Of a table that is a reference, few rows make
a chunk (``sections``). Short front matter goes with the first section. Tiny sections under one
heading are merged.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kb_app._ingest.making.blocks import Headings, Lines, Region, flatten, paragraphs
from kb_app._ingest.making.joplin import read_trailer
from kb_app._ingest.making.links import LINKS_MAX, links_and_tags
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.sections import section_chunks
from kb_app._ingest.making.versions import MARKDOWN as _PARSER, MARKDOWN_CHUNKS as _CHUNKER
from kb_core.documents import (
    Block,
    ChunkDraft,
    ChunkLimits,
    ParsedDocument,
    SourceFile,
)
from kb_core.ports import Content, TokenCounter
from kb_core.values import dataclass, field, lazy_pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

__all__ = ["MarkdownChunker", "MarkdownParser", "read_front_matter", "written_out"]


_MOST_LINES = 100_000
_MOST_HEADINGS = 100_000
"""A block for each costs time and memory that no reader of so many has anything from."""
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
_ATX = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]+(.{0,1000})|[ \t]*$)")
_WIKI = lazy_pattern(r"\[\[([^\[\]|\n]{1,500})(?:\|([^\[\]\n]{0,500}))?\]\]")
_DECORATION = lazy_pattern(
    r"!?\[[^\[\]\n]{0,300}\]\([^()\n]{0,1000}\)|!\[\[[^\[\]\n]{0,300}\]\]|<[^<>]{0,1000}>"
    r"|(?<!\S)#[\w/-]{1,200}"
)
_DECORATION_LINES = 20
_MARKED_END = lazy_pattern(r"\s*(?:\{[^{}]{0,200}\}|#+)\s*$")


class MarkdownParser:
    """``Parser`` of Markdown."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        text = content.text
        front, trailer = read_front_matter(text), read_trailer(text)
        end = trailer.start if trailer else len(text)
        lines = Lines(text)
        warnings = list(content.warnings)
        code: list[tuple[int, int]] = []
        rest = len(lines)
        if len(lines) > _MOST_LINES:
            warnings.append(f"more than {_MOST_LINES} lines: read by headings and blank lines")
            regions, rest = _plain_regions(lines, front)
        else:
            regions, code = _regions(lines, front, end)
        if rest < len(lines):
            warnings.append(
                f"more than {_MOST_HEADINGS} headings: from line {rest + 1} on, read as paragraphs"
            )
        blocks, heading = _blocks(lines, regions, rest)
        body = text[front.end if front else 0 : end]
        links, tags = links_and_tags(text, code)
        hints = Hints(path=file.path, heading=heading, body=body, tags=tags)
        values = {**(trailer.values if trailer else {}), **(front.values if front else {})}
        metadata, wrong = text_metadata(values, hints)
        if len(links) == LINKS_MAX:
            warnings.append(f"links: only the first {LINKS_MAX} were kept")
        return ParsedDocument(
            text=text,
            media=file.media,
            metadata=metadata,
            blocks=blocks,
            links=links,
            warnings=(*warnings, *(front.warnings if front else ()), *wrong),
            parser_version=_PARSER,
        )


class MarkdownChunker:
    """``Chunker`` of Markdown."""

    version = _CHUNKER

    def __call__(
        self, document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits, /
    ) -> Iterable[ChunkDraft]:
        return section_chunks(document, counter, limits)


def _regions(
    lines: Lines, front: _FrontMatter | None, end: int
) -> tuple[list[Region], list[tuple[int, int]]]:
    """Return the regions of a text, outer before inner, and the ranges of its code.

    From *end* on, it is no Markdown.
    """
    # A line ends at LF only, which markdown-it has to be told by other characters.
    text = lines.text[:end].translate(_NOT_LINES)
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
    if end < len(lines.text):
        regions.append(Region(lines.text.count("\n", 0, end), len(lines), "fields"))
        code.append((end, len(lines.text)))
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


def _plain_regions(lines: Lines, front: _FrontMatter | None) -> tuple[list[Region], int]:
    """Return regions by headings and blank lines, and the line from which no heading is read."""
    regions: list[Region] = []
    at, count, rest = 0, 0, len(lines)
    if front is not None:
        at = lines.text.count("\n", 0, front.end)
        regions.append(Region(0, at, "front_matter"))
    for region in paragraphs(lines, at, len(lines), "paragraph"):
        start = region.first
        for line in range(region.first, min(region.end, rest)):
            if match := _ATX.fullmatch(lines.texts[line]):
                if start < line:
                    regions.append(Region(start, line, "paragraph"))
                start = line
                if count == _MOST_HEADINGS:
                    rest = line
                    break
                regions.append(Region(line, line + 1, "heading", len(match[1])))
                start, count = line + 1, count + 1
        if start < region.end:
            regions.append(Region(start, region.end, "paragraph"))
    return regions, rest


def _blocks(lines: Lines, regions: Iterable[Region], rest: int) -> tuple[tuple[Block, ...], str]:
    """Return the blocks, and the heading that opens the text, if one does.

    From the line *rest* on, headings are not read: what stands there stands under none.
    """
    headings = Headings()
    opening = ""
    is_first = is_open = True
    blocks = []
    for region in _parted(lines, regions):
        texts = lines.texts[region.first : region.end]
        if region.kind == "heading":
            title = _heading(texts)
            headings.enter(region.level, title)
            if is_first or (is_open and region.level == 1):
                opening = title
            is_first = is_open = False
        elif region.kind != "front_matter":
            is_first = False
            is_open = is_open and (region.kind == "html" or _is_decoration(texts))
        if region.first >= rest:
            headings.leave()
        if block := lines.block(region, headings.path):
            blocks.append(block)
    return tuple(blocks), opening


def _is_decoration(texts: Sequence[str]) -> bool:
    """Say whether a paragraph holds nothing but images, links, HTML, rules and tags."""
    text = "\n".join(texts[:_DECORATION_LINES])
    for pattern in (_DECORATION, _DECORATION):  # an image may stand in a link
        text = pattern.sub("", text)
    return len(texts) <= _DECORATION_LINES and not any(map(str.isalnum, text))


def _parted(lines: Lines, regions: Iterable[Region]) -> Iterator[Region]:
    """Yield the regions flat; what no rule claimed (definitions, rules) by blank lines."""
    for region in flatten(regions, len(lines), "plain"):
        if region.kind == "plain":
            yield from paragraphs(lines, region.first, region.end, "paragraph")
        else:
            yield region


def _heading(texts: Sequence[str]) -> str:
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
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    return parser


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as a rule is called
    """Read a table; its cells, a kilobyte each, are nothing that anybody asks for."""
    from markdown_it.rules_block.table import table

    tokens, state.tokens = state.tokens, _Tables()
    try:
        return table(state, first, end, silent)
    finally:
        tokens += state.tokens
        state.tokens = tokens


class _Tables(list["Token"]):
    """Of the tokens that are appended, where tables begin."""

    def append(self, token: Token) -> None:
        if token.type == "table_open":
            super().append(token)


@cache
def _inline() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("strikethrough").disable("autolink")


_MOST_CHARACTERS = 65_536
_CLOSING = {
    "---": lazy_pattern(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE),
    "+++": lazy_pattern(r"^\+\+\+[ \t]*$", re.MULTILINE),
}
_OPENING = lazy_pattern(r"(---|\+\+\+)[ \t]*\n")
_TOP_LEVEL_KEY = lazy_pattern(r"^[^\s#\-\[\]{}&*!|>%@`][^\n:=]{0,200}[:=]", re.MULTILINE)
_UNREADABLE = (ValueError, TypeError, RecursionError, OverflowError)
_UNQUOTED = lazy_pattern(r"[^\n:]+:[ \t]+(\w[^\n]*)\n?")
_NESTING = lazy_pattern(r"[\[{]|(?:[-?][ \t]+){20}")
_MOST_NESTING = 200
_MOST_VALUES = 20_000
"""How many values a front matter may have where its aliases are written out."""


@dataclass(frozen=True, slots=True)
class _FrontMatter:
    """The values of a block, where the block ends, and what was wrong with it."""

    end: int
    values: dict[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_front_matter(text: str) -> _FrontMatter | None:
    """Return the front matter that *text* starts with, if it does."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING[opening[1]].search(text, opening.end())
    if closing is None:
        return None
    end = min(closing.end() + 1, len(text))
    inner = text[opening.end() : closing.start()]
    if len(inner) > _MOST_CHARACTERS or len(_NESTING.findall(inner)) > _MOST_NESTING:
        return _FrontMatter(end, {}, ("front matter: too large, its values were not read",))
    read = _read_yaml if opening[1] == "---" else _read_toml
    return _read(inner, read, end)


class _NotAMapping(ValueError):
    """The block is well formed, and is not front matter."""


def _read(inner: str, read: Callable[[str], dict[str, object]], end: int) -> _FrontMatter | None:
    try:
        return _FrontMatter(end, read(inner))
    except _NotAMapping:
        return None
    except _UNREADABLE as error:
        values, warnings = _salvage(inner, read)
        return _FrontMatter(end, values, tuple(warnings) or (f"front matter: {_brief(error)}",))


def _salvage(
    inner: str, read: Callable[[str], dict[str, object]]
) -> tuple[dict[str, object], list[str]]:
    """Read each top-level key by itself; those that cannot be read become warnings."""
    values: dict[str, object] = {}
    warnings = []
    for name, part in _top_level_parts(inner):
        try:
            values |= read(part)
        except _UNREADABLE as error:
            warnings.append(f"front matter: {name}: {_brief(error)}")
            # What people write most: a title with a colon in it, and no quotes.
            if read is _read_yaml and (line := _UNQUOTED.fullmatch(part)):
                values[name] = line[1].strip()
    return values, warnings


def _top_level_parts(inner: str) -> Iterator[tuple[str, str]]:
    starts = [match.start() for match in _TOP_LEVEL_KEY.finditer(inner)]
    for start, end in pairwise([*starts, len(inner)]):
        part = inner[start:end]
        yield re.split("[:=]", part, maxsplit=1)[0].strip(), part


@cache
def _yaml_loader() -> Any:  # noqa: ANN401 - a class of a library that is not loaded before
    """Return a loader to which a date is a string: a wrong one must not fail the block."""
    import yaml

    class Loader(yaml.CSafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class declares it
            first: [(tag, pattern) for tag, pattern in rules if not tag.endswith(":timestamp")]
            for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
        }

    return Loader


def _read_yaml(inner: str) -> dict[str, object]:
    import yaml  # a tenth of a run that finds nothing to do, and so reads no front matter

    try:
        if "*" in inner and written_out(yaml.parse(inner, yaml.CSafeLoader)) > _MOST_VALUES:
            raise ValueError("aliases make it too large")
        value: Any = yaml.load(inner, _yaml_loader())  # noqa: S506 - a subclass of the safe one
    except yaml.YAMLError as error:
        raise ValueError(_brief(error)) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _NotAMapping
    return {str(key): item for key, item in value.items()}


def written_out(events: Iterable[Any]) -> int:
    """Return how many values a document of YAML has where each alias is written out.

    A kilobyte of aliases of aliases can stand for more than fits anywhere.
    """
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in events:
        kind = type(event).__name__
        if kind in {"MappingStartEvent", "SequenceStartEvent"}:
            open_nodes.append((event.anchor, total))
            total += 1
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif kind == "ScalarEvent":
            total += 1
        elif kind == "AliasEvent":
            total += sizes.get(event.anchor, 1)
    return total


def _read_toml(inner: str) -> dict[str, object]:
    return tomllib.loads(inner)


def _brief(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    return " ".join(str(problem).split())[:200]
