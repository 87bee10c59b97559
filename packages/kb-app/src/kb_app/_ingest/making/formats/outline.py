"""Code and resources without a grammar: a unit from each header line to the next.

What the header lines look like is in ``kb_app._ingest.making.grammars``. Comments right before a
header belong to its unit; lines before the first header are a gap. A signature and the clauses
of a function (Erlang, Haskell) are one. YAML is cut at its
document markers first: a document that says what ``kind`` of resource it is and what its
name is (Kubernetes) is one unit, ``Kind/namespace/name``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_app._ingest.making.blocks import Lines, Region, paragraphs
from kb_app._ingest.making.grammars import HEADERS, Header
from kb_app._ingest.making.metadata import code_metadata
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ports import Content

__all__ = ["OutlineParser"]

_PARSER = "outline-2"

_LONGEST_LINE = 1000
_SYMBOL_MAX = 120
_RESOURCE = re.compile(r"(apiVersion|kind|metadata):[ \t]*(.{0,200})")
_NAMED = re.compile(r"[ \t]+(name|namespace):[ \t]*(.{1,200})")


class OutlineParser:
    """``Parser`` of the languages in ``kb_app._ingest.making.grammars``."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        lines = Lines(content.text)
        find = _yaml if file.code_lang == "yaml" else _units
        regions = find(lines, HEADERS[file.code_lang or ""], 0, len(lines))
        return ParsedDocument(
            text=content.text,
            media=file.media,
            metadata=code_metadata(file.path),
            code_lang=file.code_lang,
            blocks=tuple(block for region in regions if (block := lines.block(region))),
            warnings=content.warnings,
            parser_version=_PARSER,
        )


def _units(lines: Lines, header: Header, first: int, end: int) -> Iterator[Region]:
    match_header = header.line.match
    at, symbol, kind = first, None, None
    for line in range(first, end):
        match = match_header(lines.texts[line], 0, _LONGEST_LINE)
        if match is None:
            continue
        groups = match.groupdict()
        sort = (groups.get("kind") or header.kind).lower().lstrip("@")
        called = _clean(groups.get("name") or "", sort) if groups.get("name") else sort
        if header.has_clauses and called == symbol:
            continue
        start = line
        while start > at and lines.texts[start - 1].startswith(header.comment):
            start -= 1
        yield from _unit(lines, at, start, symbol, kind)
        at, symbol, kind = start, called, sort
    yield from _unit(lines, at, end, symbol, kind)


def _unit(
    lines: Lines, first: int, end: int, symbol: str | None, kind: str | None
) -> Iterator[Region]:
    if symbol is None:
        yield from paragraphs(lines, first, end, "gap")
    elif first < end:
        yield Region(first, end, "unit", 1, symbol, kind)


def _clean(name: str, kind: str) -> str:
    parts = name.removeprefix("::").replace("::", ".").replace(":", ".").split()
    named = [part.strip("\"'`[]") for part in parts]
    # The labels of a block of Terraform are told apart by what they label.
    return ".".join([kind, *named] if parts[0].startswith('"') and parts else named)[:_SYMBOL_MAX]


def _yaml(lines: Lines, header: Header, first: int, end: int) -> Iterator[Region]:
    markers = [line for line in range(first + 1, end) if lines.texts[line].startswith("---")]
    # A marker with nothing after it belongs to the document before.
    last = end - 1
    while last > first and (lines.is_blank(last) or lines.texts[last].startswith("---")):
        last -= 1
    starts = [first, *(marker for marker in markers if marker < last)]
    for number, at in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else end
        resource = _resource(lines, at, stop)
        if resource is not None:
            yield Region(at, stop, "unit", 1, resource, "resource")
        else:
            yield from _units(lines, header, at, stop)


def _resource(lines: Lines, first: int, end: int) -> str | None:
    """Return ``Kind/namespace/name`` of the document, if it is a resource."""
    found: dict[str, str] = {}
    in_metadata = False
    for line in range(first, end):
        text = lines.texts[line]
        if match := _RESOURCE.match(text):
            found.setdefault(match[1], _scalar(match[2]))
            in_metadata = match[1] == "metadata"
        elif text[:1] not in {"", " ", "\t", "#"}:
            in_metadata = False
        elif in_metadata and (match := _NAMED.match(text)):
            found.setdefault(match[1], _scalar(match[2]))
    if "apiVersion" not in found or not found.get("kind"):
        return None
    parts = (found["kind"], found.get("namespace", ""), found.get("name", ""))
    return "/".join(part for part in parts if part)[:_SYMBOL_MAX]


def _scalar(value: str) -> str:
    return value.partition(" #")[0].strip().strip("\"'")
