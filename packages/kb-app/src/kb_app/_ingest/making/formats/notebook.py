"""Jupyter notebooks: cells in their order, with what they printed, and where each line stands.

The text is what a reader sees of a notebook: the sources of its cells, and the beginning of
each output that is text. A chunk is cited by the lines of the ``.ipynb`` in which it stands,
and by its cells, counted from 1; these are not the lines of the text. Versions 3 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json import JSONDecoder
from typing import Any, NamedTuple

from kb_app._ingest.making.blocks import Headings, Lines, Region, paragraphs
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.versions import NOTEBOOK as _PARSER
from kb_core.citations import CodeSpan
from kb_core.documents import ParsedDocument, Place, SourceFile
from kb_core.ports import Content
from kb_core.text import LineIndex

__all__ = ["NotebookParser"]

_MOST_OUTPUT = 2_000
_DEEPEST = 60
_STRINGS = JSONDecoder(strict=False)
_BLANK = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_TITLE_MAX = 200


class _Said(NamedTuple):
    """A text in the file, and the offset of the quotation mark before it."""

    text: str
    at: int


class NotebookParser:
    """``Parser`` of notebooks."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        try:
            book, _ = _value(content.text, 0, 0)
            told: tuple[str, ...] = () if isinstance(book, dict) else ("it is no notebook",)
        except (ValueError, RecursionError):
            book, told = {}, ("it is not JSON",)
        page = _Page(LineIndex(content.text), _language(book))
        for number, cell in enumerate(_cells(book), 1):
            page.add(cell, number)
        if told or not page.lines:
            return _plain(content, file, told)
        return page.document(file, content.warnings)


def _plain(content: Content, file: SourceFile, told: Sequence[str]) -> ParsedDocument:
    """Return what is no notebook, or one without a cell, by its lines."""
    lines = Lines(content.text if told else "")
    regions = paragraphs(lines, 0, len(lines), "paragraph")
    metadata, _ = text_metadata({}, Hints(path=file.path))
    return ParsedDocument(
        text=lines.text,
        media=file.media,
        metadata=metadata,
        blocks=tuple(block for region in regions if (block := lines.block(region))),
        has_lines=True,
        warnings=(*content.warnings, *(f"{why}; its text is" for why in told)),
        parser_version=_PARSER,
    )


@dataclass(slots=True)
class _Page:
    """The text as it grows, line by line, and where in the file each line stands."""

    index: LineIndex
    language: str | None
    lines: list[str] = field(default_factory=list)
    spans: list[CodeSpan] = field(default_factory=list)
    regions: list[tuple[Region, tuple[str, ...]]] = field(default_factory=list)
    headings: Headings = field(default_factory=Headings)
    opening: str = ""

    def add(self, cell: Mapping[str, Any], number: int) -> None:
        """Take in a cell, with what it printed."""
        kind, symbol = _word(cell.get("cell_type")), f"cell {number}"
        first = self._write(_pieces(cell.get("source", cell.get("input"))), symbol)
        if kind == "code":
            self._mark(first, "code")
            outputs = cell.get("outputs")
            for output in outputs if isinstance(outputs, list) else ():
                if isinstance(output, dict):
                    self._mark(self._write(_shown(output), symbol), "code")
        elif kind == "heading" and first < len(self.lines):
            level = int(level) if (level := _word(cell.get("level"))).isdigit() else 1
            self._head(first, min(6, max(1, level)), self.lines[first])
            self._prose(first + 1, is_markdown=True)
        else:
            self._prose(first, is_markdown=kind == "markdown")

    def document(self, file: SourceFile, warnings: tuple[str, ...]) -> ParsedDocument:
        """Return all of it."""
        lines = Lines("\n".join(self.lines))
        blocks = [lines.block(region, path) for region, path in self.regions]
        hints = Hints(path=file.path, heading=self.opening, body=self._words())
        metadata, _ = text_metadata({}, hints)
        places = [Place(lines.start(at), span) for at, span in enumerate(self.spans)]
        return ParsedDocument(
            text=lines.text,
            media=file.media,
            metadata=metadata,
            code_lang=self.language,
            blocks=tuple(block for block in blocks if block is not None),
            places=tuple(places),
            warnings=warnings,
            parser_version=_PARSER,
        )

    def _words(self) -> str:
        """Return what is prose: its language is that of the notebook."""
        prose = (r for r, _ in self.regions if r.kind != "code")
        return "\n".join(line for r in prose for line in self.lines[r.first : r.end])

    def _write(self, pieces: Sequence[_Said], symbol: str) -> int:
        """Write *pieces* down, after a blank line; return the number of their first line."""
        if self.lines and pieces:
            self.lines.append("")
            self.spans.append(self.spans[-1])
        first, goes_on = len(self.lines), False
        for text, at in pieces:
            line, _ = self.index.lines_of(at, at)
            for part in text.splitlines(keepends=True):
                if goes_on:
                    self.lines[-1] += part.rstrip("\r\n")
                else:
                    self.lines.append(part.rstrip("\r\n"))
                    self.spans.append(CodeSpan(line, line, symbol, self.language))
                goes_on = not part.endswith(("\n", "\r"))
        return first

    def _mark(self, first: int, kind: str) -> None:
        if first < len(self.lines):
            self.regions.append((Region(first, len(self.lines), kind), self.headings.path))

    def _head(self, line: int, level: int, title: str) -> None:
        name = title.strip()[:_TITLE_MAX]
        if not self.regions:
            self.opening = name
        path = self.headings.enter(level, name)
        self.regions.append((Region(line, line + 1, "heading", level), path))

    def _prose(self, first: int, *, is_markdown: bool) -> None:
        begun, fence = first, ""
        for number in range(first, len(self.lines)):
            line = self.lines[number]
            if mark := _FENCE.match(line):
                fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
            elif is_markdown and not fence and (heading := _HEADING.fullmatch(line)):
                self._paragraphs(begun, number)
                self._head(number, len(heading[1]), heading[2])
                begun = number + 1
        self._paragraphs(begun, len(self.lines))

    def _paragraphs(self, first: int, end: int) -> None:
        lines = Lines("\n".join(self.lines[first:end]))
        if first < end:
            for region in paragraphs(lines, 0, len(lines), "paragraph"):
                moved = Region(first + region.first, first + region.end, "paragraph")
                self.regions.append((moved, self.headings.path))


def _cells(book: object) -> Iterator[Mapping[str, Any]]:
    """Yield the cells; those of version 3 are in work sheets."""
    if not isinstance(book, dict):
        return
    sheets = book.get("worksheets")
    holders = [book, *(sheets if isinstance(sheets, list) else ())]
    for holder in holders:
        cells = holder.get("cells") if isinstance(holder, dict) else None
        for cell in cells if isinstance(cells, list) else ():
            if isinstance(cell, dict):
                yield cell


def _language(book: object) -> str | None:
    for path in (("language_info", "name"), ("kernelspec", "language")):
        found: object = book.get("metadata") if isinstance(book, dict) else None
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if word := _word(found).strip().lower():
            return word[:40]
    return None


def _shown(output: Mapping[str, Any]) -> list[_Said]:
    """Return the beginning of what an output shows as text; of an error, its name."""
    data = output.get("data")
    data = data if isinstance(data, dict) else output
    for name in ("text/markdown", "text/plain", "text"):
        if name in data:
            return _beginning(_pieces(data[name]))
    return _pieces(output.get("ename"))


def _beginning(pieces: Sequence[_Said]) -> list[_Said]:
    room, kept = _MOST_OUTPUT, []
    for text, at in pieces:
        shown = _ESCAPES.sub("", text)
        if len(shown) > room:
            kept.append(_Said(f"{shown[:room]}…", at))
            break
        kept.append(_Said(shown, at))
        room -= len(shown)
    return kept


def _pieces(given: object) -> list[_Said]:
    """Return a text that is written as one, or as a list of its lines."""
    pieces = given if isinstance(given, list) else [given]
    return [piece for piece in pieces if isinstance(piece, _Said) and piece.text]


def _word(given: object) -> str:
    return given.text if isinstance(given, _Said) else given if isinstance(given, str) else ""


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Read a value of JSON at *at*; texts say where they stand, numbers are as written."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    at = _blank(text, at)
    match text[at : at + 1]:
        case '"':
            said, end = _STRINGS.raw_decode(text, at)
            return _Said(_valid(said), at), end
        case "{":
            return _object(text, at + 1, depth)
        case "[":
            return _array(text, at + 1, depth)
    literal = _LITERAL.match(text, at)
    if literal is None:
        raise ValueError(f"no value at {at}")
    return literal[0], literal.end()


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _blank(text, at)
    while text[at : at + 1] == '"':
        name, at = _STRINGS.raw_decode(text, at)
        at = _blank(text, at)
        if text[at : at + 1] != ":":
            raise ValueError(f"no colon at {at}")
        found[name], at = _value(text, at + 1, depth + 1)
        at = _blank(text, at)
        if text[at : at + 1] != ",":
            break
        at = _blank(text, at + 1)
    return found, _closed(text, at, "}")


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _blank(text, at)
    while text[at : at + 1] not in {"]", ""}:
        value, at = _value(text, at, depth + 1)
        found.append(value)
        at = _blank(text, at)
        if text[at : at + 1] != ",":
            break
        at += 1
    return found, _closed(text, at, "]")


def _closed(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise ValueError(f"no {mark} at {at}")
    return at + 1


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _valid(text: str) -> str:
    """Return *text* without halves of characters, which JSON can write and nothing can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
