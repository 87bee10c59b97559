"""Code with a grammar: one block for each function, method and head of a class.

Blocks are whole lines. Comments, decorators and attributes belong to the unit they stand
before; a class is a head, its members, and gaps for what lies between them; imports and
other lines outside all units are gaps. Lines that only close what was opened belong
to what they follow. The symbol of a member is its path, joined by dots.

An error in the code never fails the file: what the grammar makes out is used. A file that
takes a grammar too long, or has endless lines, is cut at its blank lines, with a warning.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

from kb_app._ingest.code.languages import CODE_ALIASES, LANGUAGES, Language
from kb_app._ingest.code.units import find_units
from kb_app._ingest.meta.fields import code_metadata
from kb_app._ingest.structure import Lines, Region, flatten, paragraphs
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ports import Content

if TYPE_CHECKING:
    import tree_sitter

__all__ = ["VERSION", "CodeParser"]

VERSION = "code-1"

_LONGEST_LINE = 5_000
"""Longer lines are generated, units are whole lines, and on some of them grammars that
look far ahead take minutes and all memory without ever asking whether to go on."""
_SECONDS = 3.0
_SECONDS_PER_BYTE = 3e-6
_SMALL = 1 << 16
"""Files below this many bytes are parsed in one go: they cannot take long, and it is quicker."""
_PIECE = 1 << 12
_CLOSING_MAX = 200
_CLOSERS = re.compile(r"(?:[\s})\]>;,]|(?://|end\b|done\b|fi\b|esac\b|#endif\b)[^\n]*(?:\n|\Z))*")


class CodeParser:
    """``Parser`` of code in the languages of ``kb_app._ingest.code.languages``."""

    version = VERSION

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        lines = Lines(content.text)
        name = file.code_lang or ""
        language = LANGUAGES[CODE_ALIASES.get(name, name)]
        warnings = list(content.warnings)
        tree = None
        if max(map(len, lines.texts)) > _LONGEST_LINE:
            warnings.append(f"code: a line of over {_LONGEST_LINE} characters, cut at blank lines")
        elif (tree := _parse(content.text.encode("utf-8", "replace"), language)) is None:
            warnings.append("code: the grammar took too long, cut at blank lines")
        if tree is None:
            regions = paragraphs(lines, 0, len(lines), "gap")
        else:
            units = find_units(tree.root_node, language)
            regions = _settled(lines, flatten(units, len(lines), "gap"))
        return ParsedDocument(
            text=content.text,
            media=file.media,
            metadata=code_metadata(file.path),
            code_lang=file.code_lang,
            blocks=tuple(block for region in regions if (block := lines.block(region))),
            warnings=tuple(warnings),
            parser_version=VERSION,
        )


def _settled(lines: Lines, regions: Iterable[Region]) -> Iterator[Region]:
    """Yield heads once, their later parts as gaps, and closing lines with what they close."""
    seen: set[int] = set()
    held: Region | None = None
    for region in regions:
        part = region
        if region.number in seen:
            part = region._replace(kind="gap", symbol_kind=None)
        elif region.number >= 0:
            seen.add(region.number)
        if held is not None and part.kind == "gap" and _only_closes(lines, part):
            held = held._replace(end=part.end)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def _only_closes(lines: Lines, region: Region) -> bool:
    start, end = lines.start(region.first), lines.start(region.end)
    return end - start < _CLOSING_MAX and _CLOSERS.fullmatch(lines.text, start, end) is not None


def _parse(source: bytes, language: Language) -> tree_sitter.Tree | None:
    """Return the syntax tree, or ``None`` if that takes longer than the size explains."""
    from tree_sitter import Parser

    parser = Parser(_grammar(language.module, language.function))
    if len(source) < _SMALL:
        return parser.parse(source)
    deadline = monotonic() + _SECONDS + len(source) * _SECONDS_PER_BYTE

    # Bytes and no view of them: ``Node.text`` crashes on a tree that was read from views.
    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _PIECE]

    def is_late(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001 - the library's call
        return monotonic() > deadline

    try:
        return parser.parse(read, progress_callback=is_late)
    except ValueError:
        return None


@cache
def _grammar(module: str, function: str) -> tree_sitter.Language:
    from tree_sitter import Language as Grammar

    return Grammar(getattr(importlib.import_module(module), function)())
