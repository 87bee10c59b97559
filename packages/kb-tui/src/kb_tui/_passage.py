"""A passage: the lines of a chunk in their place, and in them the words that were asked for.

Made from ``fetch_result.v1`` of a chunk with context. Neighbours may overlap the chunk
and may leave blank lines out; here every line stands once, under its own number.

Marks are for the eye only. The index matches by its own analysis, which an interface does
not have; this comes close enough to see why a hit is one: the same word whatever its
ending, the parts of an identifier, and in scripts without spaces any two characters
side by side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from kb_app.shown import visible

__all__ = ["Line", "marks", "passage", "plain"]

Chunk: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A line to show; ``number`` only where the source has lines."""

    text: str
    number: int | None
    inside: bool
    """Part of the chunk, and not of what is around it."""


def plain(text: str) -> list[Line]:
    """Return a text of unknown place, such as a snippet."""
    return [Line(visible(line), None, inside=True) for line in text.split("\n")]


def passage(fetched: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a fetched chunk and of its context, in document order."""
    chunk = fetched["chunk"]
    before = [line for near in fetched["context_before"] for line in _before(near, chunk)]
    after = [line for near in fetched["context_after"] for line in _after(near, chunk)]
    return list(_joined([*before, *_lines(chunk["text"], _first(chunk)), *after]))


def _before(near: Chunk, chunk: Chunk) -> list[Line]:
    text = near["text"][: max(0, chunk["char_start"] - near["char_start"])]
    return _outside(_lines(text, _first(near)))


def _after(near: Chunk, chunk: Chunk) -> list[Line]:
    skipped = max(0, chunk["char_end"] - near["char_start"])
    first = _first(near)
    if first is not None:
        first += near["text"].count("\n", 0, skipped)
    return _outside(_lines(near["text"][skipped:], first))


def _outside(lines: Iterable[Line]) -> list[Line]:
    return [replace(line, inside=False) for line in lines]


def _first(chunk: Chunk) -> int | None:
    """Return the number of a chunk's first line, if its source has lines."""
    for place in chunk["source_spans"]:
        number = place.get("start", place.get("line_start"))
        return number if isinstance(number, int) else None
    return None


def _lines(text: str, first: int | None) -> list[Line]:
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    return [
        Line(visible(line), None if first is None else first + offset, inside=True)
        for offset, line in enumerate(lines)
    ]


def _joined(lines: Iterable[Line]) -> Iterator[Line]:
    """Put the halves of a cut line together, and blank lines back where they were."""
    held: Line | None = None
    for line in lines:
        if held is None:
            held = line
        elif line.number is not None and line.number == held.number:
            held = Line(held.text + line.text, held.number, held.inside or line.inside)
        else:
            yield held
            yield from _blanks(held, line)
            held = line
    if held is not None:
        yield held


def _blanks(above: Line, below: Line) -> Iterator[Line]:
    if above.number is not None and below.number is not None:
        for number in range(above.number + 1, below.number):
            yield Line("", number, inside=above.inside and below.inside)


_SYNTAX = re.compile(r"(?<!\S)(?:-\S+|(?:title|path|tag):)", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
_ENDINGS = (
    "",
    "s",
    "es",
    "d",
    "ed",
    "e",
    "ing",
    "r",
    "er",
    "ers",
    "or",
    "ors",
    "ion",
    "ions",
    "y",
    "ies",
)
_LEAST_STEM = 4
_SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from has have how i in is it its not of on or "
        "that the this to was what when where which who why will with you",
    )
)


def marks(text: str, query: str) -> list[tuple[int, int]]:
    """Return the half-open ranges of *text* to mark for *query*, in order, apart."""
    words = {_fold(match[0]) for match in _WORD.finditer(_SYNTAX.sub(" ", query))}
    wanted = (words - _SMALL_WORDS) or words
    dense = {word for word in wanted if _is_dense(word)}
    pairs = {word[i : i + 2] for word in dense for i in range(max(1, len(word) - 1))}
    found = [*_same_words(text, wanted - dense), *_same_pairs(text, pairs)]
    return _merged(sorted(found))


def _same_words(text: str, wanted: set[str]) -> Iterator[tuple[int, int]]:
    stems = {stem for word in wanted for stem in _stems(word)}
    for match in _WORD.finditer(text):
        word = _fold(match[0])
        if word in wanted or not stems.isdisjoint(_stems(word)):
            yield match.span()


def _same_pairs(text: str, pairs: set[str]) -> Iterator[tuple[int, int]]:
    for pair in pairs:
        for match in re.finditer(f"(?={re.escape(pair)})", text):
            yield match.start(), match.start() + len(pair)


def _stems(word: str) -> set[str]:
    """Return a word without each ending that it may have, as long as enough is left."""
    stems = (word.removesuffix(ending) for ending in _ENDINGS)
    return {stem for stem in stems if len(stem) >= _LEAST_STEM}


def _fold(word: str) -> str:
    folded = word.casefold()
    if folded.isascii() or _is_dense(folded):
        return folded
    parts = unicodedata.normalize("NFKD", folded)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _is_dense(word: str) -> bool:
    """Say whether a word is of a script whose words are short and often not apart."""
    return any(unicodedata.east_asian_width(character) == "W" for character in word)


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
