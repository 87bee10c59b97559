r"""Plain text: paragraphs, and headings where a format makes them certain.

reStructuredText, Org, AsciiDoc, LaTeX, MediaWiki, Textile, tiddlers of TiddlyWiki, DocBook,
man pages, POD and Texinfo have headings, and so have help of Vim and pages of DokuWiki, Zim
(``== Name ==``) and TWiki (``---+ Name``), which are called ``.txt``; every other text has
paragraphs only: a line in capitals or over a row of dashes may be anything. A text of any
other name that has a directive or a target of reStructuredText (``.. note::``, ``.. _name:``)
is that. At their heads they say what front matter says (``#+DATE:``, ``#+FILETAGS:``;
``:date:``, ``:tags:``; ``\title{}``; ``.TH``; the fields of a tiddler). Headings of Org have
tags; their state and priority are no part of their names. Code in a language that nothing is
known of comes here too: its paragraphs are gaps, and it has a name but no language.

A heading starts a chunk. Paragraphs are not cut while they fit; where one has to be cut,
the parts overlap by whole sentences or lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kb_app._ingest.making.blocks import Headings, Lines, Region, paragraphs
from kb_app._ingest.making.docbook import docbook_headings, docbook_says
from kb_app._ingest.making.latex import latex_headings, latex_says
from kb_app._ingest.making.links import markup_links
from kb_app._ingest.making.man_pages import is_man_page, man_page, man_says
from kb_app._ingest.making.manuals import (
    is_vim_help,
    pod_headings,
    texinfo_headings,
    texinfo_says,
    vim_headings,
)
from kb_app._ingest.making.metadata import Hints, code_metadata, text_metadata
from kb_app._ingest.making.restructured import find_headings, is_restructured
from kb_app._ingest.making.sections import section_chunks
from kb_app._ingest.making.versions import PARAGRAPHS as _CHUNKER, TEXT as _PARSER
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.ports import Content, TokenCounter
from kb_core.values import lazy_pattern

__all__ = ["ParagraphChunker", "TextParser"]


_TITLE_MAX = 200
_ORG = lazy_pattern(r"(\*{1,20})[ \t]+(\S.*)")
_ORG_KEYWORD = lazy_pattern(r"[ \t]*#\+(\w+):[ \t]*(\S.*)", re.IGNORECASE)
_FIELD = lazy_pattern(r":([\w-]+):[ \t]+(\S.*)")
_SAYS = {
    "created": "created", "date": "date", "filetags": "tags", "keywords": "tags", "lang": "lang",
    "language": "lang", "modified": "modified", "revdate": "date", "tags": "tags",
    "title": "title", "updated": "updated",
}  # fmt: skip
"""What a file says of itself at its head, by the keys of front matter."""
_SAYING = {"org": _ORG_KEYWORD, "rst": _FIELD, "adoc": _FIELD, "asciidoc": _FIELD}
_ORG_STATES = frozenset(
    {"CANCELED", "CANCELLED", "DONE", "HOLD", "IN-PROGRESS", "MAYBE", "NEXT", "PROJ", "SOMEDAY",
     "STARTED", "TODO", "WAIT", "WAITING"}
)  # fmt: skip
_ORG_TAGS = lazy_pattern(r"[ \t]+:([\w@#%:]+):[ \t]*$")
_ORG_PRIORITY = lazy_pattern(r"\[#[A-Z0-9]\][ \t]*")
_DAY = lazy_pattern(r"[<\[]?(\d{4}-\d\d-\d\d)")
_HEAD = 60
"""How many lines of a file say something of it."""
_ADOC = lazy_pattern(r"(={1,6})[ \t]+(\S.*)")
_WIKI = lazy_pattern(r"(={1,6})[ \t]*([^=\s].*?)[ \t]*\1[ \t]*")
_PAGE = lazy_pattern(
    r"(={2,6})[ \t]*([^=\s](?:.*?[^=\s])?)[ \t]*\1[ \t]*|---(\+{1,6})!*[ \t]*([^+\s].*)"
)
_PAGES, _MOST_SIGNS = ("txt", "text"), 7
"""What pages of DokuWiki, Zim and TWiki are called; in the first two, six signs are the top."""
_TEXTILE = lazy_pattern(r"h([1-6])[^.\s]{0,80}\.[ \t]+(\S.*)")
_TIDDLER = lazy_pattern(r"(!{1,6})[^\S\n]*([^!\s].*)")
_TIDDLER_FIELD = lazy_pattern(r"([\w.$/-]+):[ \t]*(.*)")
_TIDDLER_TAG = lazy_pattern(r"\[\[((?:[^\[\]]|\[(?!\[)|\](?!\]))+)\]\]|(\S+)")
_TIDDLER_DAY = lazy_pattern(r"(\d{4})(\d\d)(\d\d)\d{4,9}")
_LATEX, _TEXINFO = ("tex", "ltx", "latex"), ("texi", "texinfo", "txi")
_DOCBOOK = ("sgml", "dbk", "docbook", "xml")
_SETTING = lazy_pattern(r"\s|$|\.\.|:|//|#")
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
        extension = file.path.rpartition(".")[2].lower()
        said = _said(lines, extension)
        lines, headings = _read(lines, extension)
        blocks, heading = _blocks(lines, headings)
        tags = tuple(_org_tags(lines)) if extension == "org" else ()
        hints = Hints(path=file.path, heading=heading, body=lines.text, tags=tags)
        metadata, _ = text_metadata(said, hints)
        return ParsedDocument(
            text=lines.text,
            media=file.media,
            metadata=metadata,
            blocks=blocks,
            links=markup_links(lines.text, extension),
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


def _blocks(lines: Lines, found: Iterable[tuple[Region, str]]) -> tuple[tuple[Block, ...], str]:
    headings, at, opening, opened = Headings(), 0, "", False
    blocks: list[Block] = []
    for region, name in found:
        blocks += _between(lines, at, region.first, headings.path)
        at = region.end
        if region.kind == "leave":
            headings.close(region.level)
            continue
        path_here = headings.enter(region.level, name[:_TITLE_MAX])
        if not opened and all(map(_SETTING.match, lines.texts[: region.first])):
            opening = name[:_TITLE_MAX]
        if block := lines.block(region, path_here):
            blocks.append(block)
        opened = True
    blocks += _between(lines, at, len(lines), headings.path)
    return tuple(blocks), opening


def _read(lines: Lines, extension: str) -> tuple[Lines, Iterable[tuple[Region, str]]]:
    """Return the lines as they are read, and the headings in them."""
    if is_man_page(lines.text):
        page = man_page(lines.text)
        return Lines(page.text), page.headings
    by_text = None
    if extension in _PAGES:
        by_text = vim_headings if is_vim_help(lines.text) else _page
    by_text = find_headings if is_restructured(lines.text) else by_text
    find = _FINDERS.get(extension, by_text)
    return lines, find(lines) if find else ()


def _between(lines: Lines, first: int, end: int, path: tuple[str, ...]) -> Iterator[Block]:
    for region in paragraphs(lines, first, end, "paragraph"):
        if block := lines.block(region, path):
            yield block


def _org(lines: Lines) -> Iterator[tuple[Region, str]]:
    for region, said in _marked(lines, _ORG, "*"):
        name = _ORG_TAGS.sub("", said)
        state, _, rest = name.partition(" ")
        name = rest.lstrip() if state in _ORG_STATES else name
        yield region, _ORG_PRIORITY.sub("", name).strip() or said


def _said(lines: Lines, extension: str) -> dict[str, object]:
    """Return what a file says of itself at its head, under the keys of front matter."""
    if (tell := _telling(lines.text, extension)) is not None:
        told = tell(lines.text)
        day = _DAY.match(told.get("date", ""))
        values = {"title": told.get("title", ""), "date": day[1] if day else ""}
        return {key: value for key, value in values.items() if value}
    if extension == "tid":
        return _tiddler_says(lines)
    pattern = _SAYING.get(extension)
    return _fields(lines, pattern) if pattern is not None else {}


def _fields(lines: Lines, pattern: re.Pattern[str]) -> dict[str, object]:
    says: dict[str, object] = {}
    for line in lines.texts[:_HEAD]:
        match = pattern.fullmatch(line)
        if match is None or (key := _SAYS.get(match[1].lower())) is None:
            continue
        value = match[2].strip()
        if key == "tags":
            value = ",".join(filter(None, re.split(r"[:,;\s]+", value)))
        elif key not in {"title", "lang"}:
            value = day[1] if (day := _DAY.match(value)) else ""
        if value:
            says.setdefault(key, value)
    return says


def _telling(text: str, extension: str) -> Callable[[str], dict[str, str]] | None:
    """Return what reads the title and date that a text says anywhere at its head."""
    if extension in _LATEX:
        return latex_says
    if extension in _TEXINFO:
        return texinfo_says
    if extension in _DOCBOOK:
        return docbook_says
    return man_says if is_man_page(text) else None


def _org_tags(lines: Lines) -> Iterator[str]:
    """Yield the tags of headings."""
    for line in lines.texts:
        if line.startswith("*") and (tags := _ORG_TAGS.search(line)):
            yield from filter(None, tags[1].split(":"))


def _adoc(lines: Lines) -> Iterator[tuple[Region, str]]:
    return _marked(lines, _ADOC, "=")


def _wiki(lines: Lines) -> Iterator[tuple[Region, str]]:
    for number, line in enumerate(lines.texts):
        if line.startswith("=") and (match := _WIKI.fullmatch(line)):
            yield Region(number, number + 1, "heading", len(match[1])), match[2].strip()


def _page(lines: Lines) -> Iterator[tuple[Region, str]]:
    for number, line in enumerate(lines.texts):
        if line.startswith(("==", "---+")) and (match := _PAGE.fullmatch(line)):
            level = _MOST_SIGNS - len(match[1]) if match[1] else len(match[3])
            yield Region(number, number + 1, "heading", level), (match[2] or match[4]).strip()


def _textile(lines: Lines) -> Iterator[tuple[Region, str]]:
    for number, line in enumerate(lines.texts):
        if line.startswith("h") and (match := _TEXTILE.fullmatch(line)):
            yield Region(number, number + 1, "heading", int(match[1])), match[2].strip()


def _tiddler(lines: Lines) -> Iterator[tuple[Region, str]]:
    fenced = False
    for number, line in enumerate(lines.texts):
        fenced ^= line.startswith("```")
        if line.startswith("!") and not fenced and (match := _TIDDLER.fullmatch(line)):
            yield Region(number, number + 1, "heading", len(match[1])), match[2].strip()


def _tiddler_says(lines: Lines) -> dict[str, object]:
    """Return what the fields of a tiddler say, which end with its first blank line."""
    fields: dict[str, str] = {}
    for line in lines.texts:
        match = _TIDDLER_FIELD.fullmatch(line)
        if match is None:
            break
        fields.setdefault(match[1].lower(), match[2].strip())
    says: dict[str, object] = {}
    if title := fields.get("title"):
        says["title"] = title
    if tags := [match[1] or match[2] for match in _TIDDLER_TAG.finditer(fields.get("tags", ""))]:
        says["tags"] = tags
    for key in ("created", "modified"):
        if day := _TIDDLER_DAY.fullmatch(fields.get(key, "")):
            says[key] = "-".join(day.groups())
    return says


def _marked(lines: Lines, pattern: re.Pattern[str], mark: str) -> Iterator[tuple[Region, str]]:
    for number, line in enumerate(lines.texts):
        if line.startswith(mark) and (match := pattern.fullmatch(line)):
            yield Region(number, number + 1, "heading", len(match[1])), match[2].strip()


_FINDERS: dict[str, Callable[[Lines], Iterator[tuple[Region, str]]]] = {
    "adoc": _adoc,
    "asciidoc": _adoc,
    "asc": _adoc,
    "org": _org,
    "mediawiki": _wiki,
    "wiki": _wiki,
    "textile": _textile,
    "tid": _tiddler,
    **dict.fromkeys(_LATEX, latex_headings),
    **dict.fromkeys(_DOCBOOK, docbook_headings),
    "pod": pod_headings,
    **dict.fromkeys(_TEXINFO, texinfo_headings),
    "rst": find_headings,
}
