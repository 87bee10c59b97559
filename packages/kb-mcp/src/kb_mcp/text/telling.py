"""Which lines of a passage tell: those with the words of the query that few others have.

Where nobody asked for whole passages, one that is long is shown by some of its lines, in their
order: code by lines, prose by lines and, of a long one, by sentences. What is longer than a
reader needs is cut around its first match. ``…`` stands where something is left out; of code,
the numbers of the lines say that.

For reading only: which passages are found, and in which order, is decided elsewhere. Words
are compared as ``shown.marks`` compares them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from math import log

from kb_app.shown.marks import marks
from kb_core.values import dataclass
from kb_mcp.text import INDENT, indented, numbered, weight
from kb_mcp.text.pieces import Piece

__all__ = ["LONGEST_LINE", "Telling", "around", "cut"]

LONGEST_LINE = 200
"""Characters of a line, or of a sentence, that are shown of it."""
_BEFORE = 4
"""One part in so many of a cut line is what stands before its first match."""
_GAP = "…"
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]*_`]*\s+(?=\S)|(?<=[。！？])")
_VALUE = re.compile(r"[=:]\s*[-+(\[{]?[\"'\d]")
_OF_VALUES = 1.5
"""How much more a line says that gives a name a value, which is what is mostly looked for."""
_COMMENTS, _STRINGS = ("#", "//", "--", ";", "*/"), ('"""', "'''")
_SAYING = re.compile(r"[^\W\d_]{3,}\W+[^\W\d_]{3,}")
_FOLLOWING, _LEADING = 0.4, 0.3
"""How much of what a sentence is worth those after and before it are."""
_OPENING = 2
"""So many lines that say something tell what a passage is."""
_WORD = 4
"""Characters by which two forms of a word are one, as ``excerpts`` has it."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A line, or a sentence of one."""

    line: int
    """Of the passage, from 0."""
    text: str
    words: frozenset[str]

    @property
    def cost(self) -> int:
        return weight(self.text) + len(INDENT) + 1


class Telling:
    """Picks lines for one *query*: a word tells the more, the fewer lines of *pieces* have it."""

    def __init__(self, query: str, pieces: Iterable[Piece]) -> None:
        self._query = query
        self._parts = {piece.key: list(self._split(piece)) for piece in pieces}
        every = [part for parts in self._parts.values() for part in parts]
        times = Counter(word for part in every for word in part.words)
        self._worth = {word: log(1 + len(every) / n) for word, n in times.items()}

    def lines(self, piece: Piece, room: int) -> Piece:
        """Return *piece* whole where it costs no more than *room*, else by the lines that tell.

        There is one line at least.
        """
        parts = self._parts[piece.key]
        if piece.cost <= room or not parts:
            return piece
        kept: list[int] = []
        worth = [self._says(part) for part in parts]
        worth = _with_what_is_meant(parts, worth) if piece.is_code else _with_neighbours(worth)
        opening = _opening(parts)
        for at in sorted(range(len(parts)), key=lambda at: (-worth[at], at)):
            if not kept or (parts[at].cost <= room and (worth[at] or at in opening)):
                kept.append(at)
                room -= parts[at].cost
        return replace(piece, told=tuple(_shown(piece, parts, sorted(kept))))

    def _says(self, part: _Part) -> float:
        said = sum(self._worth[word] for word in part.words)
        return said * _OF_VALUES if said and _VALUE.search(part.text) else said

    def _split(self, piece: Piece) -> Iterator[_Part]:
        for number, line in enumerate(piece.text.split("\n")):
            is_long = len(line) > LONGEST_LINE and not piece.is_code
            for said in _SENTENCE.split(line) if is_long else [line]:
                if said.strip():
                    text = around(said.rstrip(), self._query)
                    yield _Part(number, text, frozenset(self._words(said)))

    def _words(self, text: str) -> Iterator[str]:
        for start, end in marks(text, self._query):
            yield text[start:end].casefold()[:_WORD]


def _with_what_is_meant(parts: Sequence[_Part], worth: Sequence[float]) -> list[float]:
    """Return what lines of code are worth: one with a value as much as what is said of it.

    That is a comment before it or a string after it.
    """
    own = list(worth)
    for at, part in enumerate(parts):
        if not _VALUE.search(part.text):
            continue
        if at and parts[at - 1].text.lstrip().startswith(_COMMENTS):
            own[at] = max(own[at], worth[at - 1])
        if at + 1 < len(parts) and parts[at + 1].text.lstrip().startswith(_STRINGS):
            own[at] = max(own[at], worth[at + 1])
    return own


def _with_neighbours(worth: Sequence[float]) -> list[float]:
    """Return what sentences are worth in prose: what stands beside one that tells does, too.

    Above all what follows: an answer seldom says the words of its question again.
    """
    return [
        own + _FOLLOWING * before + _LEADING * after
        for before, own, after in zip([0.0, *worth[:-1]], worth, [*worth[1:], 0.0], strict=True)
    ]


def _opening(parts: Sequence[_Part]) -> list[int]:
    """Return the first parts that have words, such as a signature and what is said of it."""
    saying = (at for at, part in enumerate(parts) if not at or _SAYING.search(part.text))
    return list(islice(saying, _OPENING))


def around(text: str, query: str) -> str:
    """Return a line as it is, or of a long one the part around the first match of *query*."""
    found = marks(text, query) if len(text) > LONGEST_LINE else ()
    return cut(text, found[0][0] if found else 0)


def cut(text: str, at: int, most: int = LONGEST_LINE) -> str:
    """Return *most* characters of a long line around a place in it, at words if there are any."""
    if len(text) <= most:
        return text
    start = max(0, min(at - most // _BEFORE, len(text) - most))
    if start and (space := text.find(" ", start, at)) >= 0:
        start = space + 1
    stop = start + most
    if stop < len(text) and (space := text.rfind(" ", stop - most // _BEFORE, stop)) > at:
        stop = space
    before, after = _GAP if start else "", _GAP if stop < len(text) else ""
    return f"{before}{text[start:stop].strip()}{after}"


def _shown(piece: Piece, parts: Sequence[_Part], kept: Sequence[int]) -> Iterator[str]:
    """Yield the lines that the kept parts make."""
    if piece.is_code:
        first = piece.first or 1
        margin = min(len(said) - len(said.lstrip()) for said in (parts[at].text for at in kept))
        for at in kept:
            yield from numbered(parts[at].text[margin:], first + parts[at].line)
        return
    said = ""
    for before, at in pairwise([-1, *kept]):
        part, follows = parts[at], at == before + 1
        if said and part.line == parts[before].line:
            said = f"{said} {part.text}" if follows else f"{said} {_GAP} {part.text}"
            continue
        yield from indented(said) if said else ()
        if before >= 0 and not follows:
            yield f"{INDENT}{_GAP}"
        said = part.text
    yield from indented(said)
