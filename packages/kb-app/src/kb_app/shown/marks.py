"""Marks: the words of a passage that the query speaks of.

For the eye only. The index matches by its own analysis, which an interface does not
have; this comes close enough to see why a hit is one: the same word whatever its
ending, the parts of an identifier, and in scripts without spaces any two characters
side by side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from kb_core.text import SIGNS
from kb_core.values import lazy_pattern

__all__ = ["marks"]

_SYNTAX = lazy_pattern(r"(?<!\S)(?:-\S+|(?:title|path|tag):)", re.IGNORECASE)
_WITHIN = (
    "\u00ad\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u200d"
    + SIGNS
)
"""Accents and vowels that are characters of their own, with the letters of their scripts."""
_WORD = lazy_pattern(
    rf"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+(?:[{_WITHIN}]+[^\W\d_A-Z]*)*"
    rf"|[A-Z](?:[{_WITHIN}]+[^\W\d_A-Z]*)+|[A-Z]+|\d+"
)
_PLAIN = str.maketrans(
    {"\u0131": "i", "\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u0127": "h", "\u0167": "t"}
    | {"\u00e6": "ae", "\u0153": "oe", "\u00ad": None, "\u0640": None, "\u200d": None}
)
"""Letters that people write plainly, and what they do not write, as the index knows them."""
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
_SMALL = (
    "a an and are as at be by can do does for from has have how i in is it its not of on or "
    "that the this to was what when where which who why will with you"
)
_SMALL_WORDS = frozenset(_SMALL.split())


def marks(text: str, query: str) -> list[tuple[int, int]]:
    """Return the half-open ranges of *text* to mark for *query*, in order, apart."""
    wanted = _wanted(query)
    found = [*_same_words(text, wanted), *_same_pairs(text, wanted.pairs)]
    return _merged(sorted(found))


class _Wanted(NamedTuple):
    words: frozenset[str]
    stems: frozenset[str]
    starts: frozenset[str]
    """What the stems begin with, and so every word that has one of them."""
    pairs: frozenset[str]


@lru_cache(maxsize=64)
def _wanted(query: str) -> _Wanted:
    """Return what to look for; a page of hits asks for the same in every line."""
    words = {_fold(match[0]) for match in _WORD.finditer(_SYNTAX.sub(" ", query))}
    wanted = (words - _SMALL_WORDS) or words
    dense = {word for word in wanted if _is_dense(word)}
    apart = frozenset(wanted - dense)
    stems = frozenset(stem for word in apart for stem in _stems(word))
    return _Wanted(
        apart,
        stems,
        frozenset(stem[:_LEAST_STEM] for stem in stems),
        frozenset(word[i : i + 2] for word in dense for i in range(max(1, len(word) - 1))),
    )


def _same_words(text: str, wanted: _Wanted) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(text):
        word = _fold(match[0])
        if word in wanted.words or (
            word[:_LEAST_STEM] in wanted.starts and not wanted.stems.isdisjoint(_stems(word))
        ):
            yield match.span()


def _same_pairs(text: str, pairs: frozenset[str]) -> Iterator[tuple[int, int]]:
    for pair in pairs:
        for match in re.finditer(f"(?={re.escape(pair)})", text):
            yield match.start(), match.start() + len(pair)


@lru_cache(maxsize=4096)
def _stems(word: str) -> frozenset[str]:
    """Return a word without each ending that it may have, as long as enough is left."""
    if len(word) < _LEAST_STEM:
        return frozenset()
    stems = (word.removesuffix(ending) for ending in _ENDINGS)
    return frozenset(stem for stem in stems if len(stem) >= _LEAST_STEM)


def _fold(word: str) -> str:
    folded = word.casefold()
    if folded.isascii() or _is_dense(folded):
        return folded
    parts = unicodedata.normalize("NFKD", folded)
    return "".join(part for part in parts if not unicodedata.combining(part)).translate(_PLAIN)


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
