"""Where a text may be cut, and how good each place is.

A piece is a range with its size in tokens and the joint before it. The functions here yield
places within a piece: blank lines, lines, ends of sentences, gaps between words, and at
last gaps between characters as people see them, never inside one. All are linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kb_core.text import is_grapheme_boundary, snap_to_grapheme

__all__ = ["BLOCK", "GLUE", "INSIDE", "LINE", "PART", "SECTION", "SENTENCE", "WORD"]
__all__ += ["SPACES", "Cuts", "Piece", "at_lines", "at_parts", "at_sentences", "between_words"]
__all__ += ["in_the_middle", "trimmed"]

INSIDE, GLUE, WORD, LINE, SENTENCE, PART, BLOCK, SECTION = range(8)
"""Joints, from the worst place to cut to the best."""

_RUN = 120
"""Into how many characters, at most, text is cut between words."""
_APART = 32
"""How many characters lie at least between two cuts at lines or sentences."""
_LONGEST_CLUSTER = 2048
SPACES = " \n\t"
"""What every tokenizer parts words at."""

_PARTS = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINES = re.compile(r"\n")
_SENTENCES = re.compile(
    r"""\n | [.!?…]["'”’»)\]*_]{0,3}[^\S\n]+(?=[^\sa-z])"""
    r"""| [。！？｡]["'”’」』）》】]{0,3}(?![。！？｡…"'”’」』）》】])[^\S\n]*""",
    re.VERBOSE,
)
_LEADING_SPACE = re.compile(r"\s*")
_ENDS = ".!?…。！？｡"


class Piece(NamedTuple):
    """A range of the text, its size, and the joint before it; ``owner`` is the caller's."""

    start: int
    end: int
    tokens: int
    joint: int
    owner: int = 0


Cuts: TypeAlias = Callable[[str, Piece], Iterator[tuple[int, int]]]
"""Yields places within a piece, in order, and how good each is."""


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range without blank lines before it and white space after it.

    What begins a line keeps its indentation. An empty range means there was nothing else.
    """
    length = len(text[start:end].rstrip())
    if not length:
        return start, start
    match = _LEADING_SPACE.match(text, start)
    first = match.end() if match else start
    line = text.rfind("\n", start, first) + 1
    if line or start == 0 or text[start - 1] == "\n":
        return line or start, start + length
    return first if _may_cut(text, first) else start, start + length


def at_parts(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places after blank lines."""
    return _spaced(_PARTS, PART, text, piece)


def at_lines(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places at which a line starts."""
    return _spaced(_LINES, LINE, text, piece)


def at_sentences(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places at which a sentence or, a worse joint, a line starts."""
    return _spaced(_SENTENCES, SENTENCE, text, piece)


def _spaced(
    pattern: re.Pattern[str], joint: int, text: str, piece: Piece
) -> Iterator[tuple[int, int]]:
    """Yield the ends of the matches of *pattern*, not too close to each other."""
    least = piece.start + _APART
    for match in pattern.finditer(text, piece.start, piece.end):
        cut = match.end()
        if cut < least or cut >= piece.end or not _may_cut(text, cut):
            continue
        ends_line = match[0] == "\n" and text[match.start() - 1] not in _ENDS
        yield cut, min(joint, LINE) if ends_line else joint
        least = cut + _APART


def between_words(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places between words, or else characters, at least every ``_RUN`` characters."""
    at, end = piece.start, piece.end
    while end - at > _RUN:
        cut = max(text.rfind(space, at, at + _RUN) for space in SPACES) + 1
        while 0 < cut < end and text[cut] in SPACES:
            cut += 1
        joint = WORD
        if cut <= at or not _may_cut(text, cut):
            cut = at + snap_to_grapheme(text[at : min(end, at + _LONGEST_CLUSTER)], _RUN, floor=0)
            joint = WORD if text[cut - 1] in SPACES else GLUE
        if cut >= end:
            return
        yield cut, joint
        at = cut


def _may_cut(text: str, at: int) -> bool:
    """Say whether a cut at *at* is between two characters as people see them."""
    if at >= len(text) or text[at].isascii() or text[at - 1] == "\n":
        return True
    return is_grapheme_boundary(text[max(0, at - 1) : at + 1], min(at, 1))


def in_the_middle(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield one place near the middle; inside a character if there is nothing but one."""
    start, end = piece.start, piece.end
    if end - start == 1:
        return
    middle, quarter = (start + end) // 2, (end - start) // 4
    space = max(text.rfind(space, start + quarter, middle) for space in SPACES)
    if space > start and _may_cut(text, space + 1):
        yield space + 1, WORD
        return
    cut = start + snap_to_grapheme(text[start:end], middle - start, floor=0)
    if cut < end:
        yield cut, GLUE
    elif start < middle:
        yield middle, INSIDE
