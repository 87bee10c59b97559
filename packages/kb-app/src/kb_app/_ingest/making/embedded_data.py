"""Data that stands in a text for a program: pictures in links, packed drawings, certificates.

It is in the document, as it is in the file; no passage has it, since nobody looks for it, and
what stands around it would hardly be found. Pure, and linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb_core.documents import Block
from kb_core.values import lazy_pattern, replace

__all__ = ["without_data"]

_LONG_WORD = 60
"""No data is in shorter words, and most blocks have no longer one."""
_LEAST = 600
"""So many characters of base64 are data; a few lines may be a key that a text is about."""
_MOSTLY = 0.9
"""A block of code that is data to this part is data."""
_FOUND = lazy_pattern(
    r"(?P<link>data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,4},[^\s()\"'<>]{60,})"
    r"|[A-Za-z0-9+/]{60,}(?:\s{1,9}[A-Za-z0-9+/]{60,})*"
    r"(?:\s{1,9}[A-Za-z0-9+/]{1,59}(?==?=?[ \t]*(?:\n|\Z)))?={0,2}"
)
_MIXED = ((re.compile("[a-z]"), 0.1), (re.compile("[A-Z]"), 0.1), (re.compile("[0-9]"), 0.05))
"""What all base64 has at least to this part, and neither numbers in hexadecimal, nor sequences of
genes, nor lists of paths."""
_LOOKED_AT = 4_000
_DRAWING = lazy_pattern(r"[`~\w\s-]{0,40}\{\s{0,40}\"type\":\s{0,9}\"excalidraw\"")


def without_data(text: str, blocks: Sequence[Block]) -> list[Sequence[Block]]:
    """Return *blocks* without the data in them, in runs that no passage may cross.

    A block that is data in part is cut there, since a passage is a part of the text as it is, and
    a run without words is none. Where all is data, it stays. Fields, which say what the file is,
    are in none.
    """
    if any(block.kind == "fields" for block in blocks):
        blocks = [block for block in blocks if block.kind != "fields"]
    runs: list[list[Block]] = [[]]
    for block in blocks:
        at = block.start
        for start, end in _data(text, block):
            runs[-1] += _worded(text, block, at, start)
            runs.append([])
            at = end
        runs[-1] += [block] if at == block.start else _worded(text, block, at, block.end)
    if len(runs) == 1:
        return [blocks]
    worded = (run for run in runs if any(_has_words(text, each.start, each.end) for each in run))
    return [*worded] or [blocks]


def _data(text: str, block: Block) -> Sequence[tuple[int, int]]:
    """Return the ranges of a block that are data."""
    if block.kind == "code" and _DRAWING.match(text, block.start, block.end):
        return [(block.start, block.end)]
    if max(map(len, text[block.start : block.end].split()), default=0) < _LONG_WORD:
        return []
    found = [
        _in_brackets(text, match) if match["link"] else match.span()
        for match in _FOUND.finditer(text, block.start, block.end)
        if match["link"] or _is_base64(match[0])
    ]
    size = sum(end - start for start, end in found)
    is_whole = block.kind == "code" and size > _MOSTLY * (block.end - block.start)
    return [(block.start, block.end)] if is_whole else found


def _in_brackets(text: str, link: re.Match[str]) -> tuple[int, int]:
    """Return the range of a link with the round brackets around it, which are no part of a text."""
    start, end = link.span()
    return start - (text[start - 1 : start] == "("), end + (text[end : end + 1] == ")")


def _is_base64(run: str) -> bool:
    if len(run) < _LEAST:
        return False
    said = run[:_LOOKED_AT]
    return all(len(kind.findall(said)) >= least * len(said) for kind, least in _MIXED)


def _worded(text: str, block: Block, start: int, end: int) -> Iterator[Block]:
    """Yield what a block says from *start* to *end*, if that has any words."""
    if _has_words(text, start, end):
        said = text[start:end]
        first = start + len(said) - len(said.lstrip())
        yield replace(block, start=first, end=start + len(said.rstrip()))


def _has_words(text: str, start: int, end: int) -> bool:
    return any(map(str.isalpha, text[start:end]))
