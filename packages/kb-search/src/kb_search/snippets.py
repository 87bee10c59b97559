"""Snippets: the part of a chunk's own text that shows best why it was found.

A snippet is a slice of the text, never analyser output and never marked up. The slice
is chosen where the most different words of the query stand close together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from kb_core.text import snap_to_grapheme
from kb_search.analysis import query_terms

__all__ = ["Highlighter", "Match"]

_MOST_MATCHES = 400
_SHORTEST_FREE_PREFIX = 4
_CONTEXT_SHARE = 4
_BOUNDARY = r"(?<![^\W_])"


@dataclass(frozen=True, slots=True)
class Match:
    """A half-open range of the text, and which word of the query it matches."""

    start: int
    end: int
    term: int


class Highlighter:
    """Finds the words of one query in texts. Build it once per query."""

    def __init__(self, text: str, langs: Sequence[str] = ("en",)) -> None:
        patterns = []
        for term in query_terms(text, langs):
            if term.kind == "cjk":
                patterns += [re.escape(gram) for gram in dict.fromkeys(term.forms)]
            else:
                shared = [_shared_prefix(term.exact, stem) for stem in term.stems]
                patterns.append(_word_pattern(min(shared, key=len, default="") or term.exact))
        unique = list(dict.fromkeys(patterns))
        self._pattern = re.compile("|".join(f"({p})" for p in unique)) if unique else None

    def matches(self, text: str) -> list[Match]:
        """Return where words of the query stand in *text*, in order."""
        if self._pattern is None:
            return []
        found = []
        for match in self._pattern.finditer(_same_length_fold(text)):
            found.append(Match(match.start(), match.end(), match.lastindex or 0))
            if len(found) == _MOST_MATCHES:
                break
        return found

    def snippet(self, text: str, limit: int) -> tuple[str, bool]:
        """Return at most *limit* characters of *text*, and whether that is all of it."""
        whole = text.strip()
        if len(whole) <= limit:
            return whole, True
        start, end = _window(self.matches(text), limit)
        start = max(0, min(start - (limit - (end - start)) // _CONTEXT_SHARE, len(text) - limit))
        start = _word_start(text, start, end)
        stop = _word_end(text, start, min(len(text), start + limit))
        return text[start:stop].strip(), False


def _shared_prefix(word: str, stem: str) -> str:
    same = next((i for i, (a, b) in enumerate(zip(word, stem, strict=False)) if a != b), None)
    return word[: min(len(word), len(stem)) if same is None else same]


def _word_pattern(prefix: str) -> str:
    # A long prefix may stand inside an identifier; a short one only at a word's start.
    free = len(prefix) >= _SHORTEST_FREE_PREFIX
    return f"{'' if free else _BOUNDARY}{re.escape(prefix)}[^\\W_]*"


def _window(matches: Sequence[Match], limit: int) -> tuple[int, int]:
    """Return the range of matches with the most different words within *limit* characters."""
    best = (0, 0, 0, 0)
    left = 0
    for right, last in enumerate(matches):
        while last.end - matches[left].start > limit and left < right:
            left += 1
        inside = matches[left : right + 1]
        score = (len({match.term for match in inside}), -inside[0].start)
        if score > best[:2] or not best[0]:
            best = (*score, inside[0].start, last.end)
    return best[2], min(best[3], best[2] + limit)


def _word_start(text: str, start: int, latest: int) -> int:
    """Move *start* to the beginning of a word, not past *latest*'s window start."""
    if start == 0 or text[start - 1].isspace():
        return start
    space = re.compile(r"\s").search(text, start, max(start, min(latest, start + 24)))
    return space.end() if space else snap_to_grapheme(text, start, floor=0)


def _word_end(text: str, start: int, stop: int) -> int:
    if stop >= len(text) or text[stop].isspace():
        return stop
    earliest = max(start, stop - 24)
    space = max(text.rfind(" ", earliest, stop), text.rfind("\n", earliest, stop))
    return space if space > start else snap_to_grapheme(text, stop, floor=start)


class _Folding(dict[int, int]):
    """Folds one character to one character, so that offsets stay those of the text."""

    def __missing__(self, code: int) -> int:
        base = unicodedata.normalize("NFKD", chr(code))[:1].casefold() or chr(code)
        folded = ord(base) if len(base) == 1 and not 0xAC00 <= code <= 0xD7A3 else code  # noqa: PLR2004
        self[code] = folded
        return folded


_FOLDING = _Folding()


def _same_length_fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING)
