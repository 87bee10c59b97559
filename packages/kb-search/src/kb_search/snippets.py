"""Snippets: the part of a chunk's own text that shows best why it was found.

A snippet is a slice of the text, never analyser output and never marked up. The slice
is chosen where the most different words of the query stand close together.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from kb_core.text import WordPattern, in_word, snap_to_grapheme
from kb_core.values import lazy_pattern
from kb_search.analysis import HALANT, NASAL, NASALS, Term, fold, query_terms, spelled_otherwise

__all__ = ["Highlighter", "Match", "word_end", "word_start"]

_MOST_MATCHES = 400
_SHORTEST_INSIDE = 4
_CONTEXT_SHARE = 4
_REST = WordPattern("<sign>*")
_SPACE = lazy_pattern(r"\s")
_JOINED = lazy_pattern("[\u1161-\u1175\u3099\u309a\u094d]")
"""Vowels of Hangul and signs of kana, as they stand behind a letter in normal form D, and what
joins letters of Devanagari."""
_LETTER = lazy_pattern(
    f"[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|.[\u3099\u309a]|{NASALS}|.", re.DOTALL
)


class Match(NamedTuple):
    """A half-open range of the text, and the beginning of the query's word that it matches."""

    start: int
    end: int
    term: str


class Highlighter:
    """Finds the words of one query in texts. Build it once per query."""

    def __init__(self, text: str, langs: Sequence[str] = ("en",)) -> None:
        words: list[str] = []
        grams: list[str] = []
        for term in query_terms(text, langs):
            if term.only_asks:
                continue
            if term.kind == "cjk":
                grams += term.forms
            else:
                words += _beginnings(term)
        self._words = sorted(dict.fromkeys(words), key=len, reverse=True)
        self._grams = list(dict.fromkeys(grams))

    def matches(self, text: str) -> list[Match]:
        """Return where words of the query stand in *text*, in order.

        Words count where they begin; where none does, inside identifiers, too.
        """
        folded, ends = _folded(text)
        found = self._matches(folded)
        return found if ends is None else [_unfolded(ends, match) for match in found]

    def _matches(self, folded: str) -> list[Match]:
        starting = [word for word in self._words if word in folded]
        found, goes_on = [], _goes_on(folded)
        for number, word in enumerate(starting):
            at = folded.find(word)
            while at >= 0:
                if not at or not goes_on(folded[at - 1]):
                    found.append((at, number, word))
                at = folded.find(word, at + 1)
        for gram in self._grams:
            found += [(at, len(starting), gram) for at in _places(folded, gram)]
        return _apart(folded, found, len(starting)) or self._inside(folded, starting)

    def _inside(self, folded: str, words: Sequence[str]) -> list[Match]:
        long = [word for word in words if len(word) >= _SHORTEST_INSIDE]
        found = [(at, n, word) for n, word in enumerate(long) for at in _places(folded, word)]
        return _apart(folded, found, len(long))

    def snippet(self, text: str, limit: int) -> tuple[str, bool]:
        """Return at most *limit* characters of *text*, and whether that is all of it."""
        whole = text.strip()
        if len(whole) <= limit:
            return whole, True
        start, end = _window(self.matches(text), limit)
        start = max(0, min(start - (limit - (end - start)) // _CONTEXT_SHARE, len(text) - limit))
        start = word_start(text, start, end)
        stop = word_end(text, start, min(len(text), start + limit))
        return text[start:stop].strip(), False


def _beginnings(term: Term) -> list[str]:
    """Return how the forms of a word begin: of each spelling, what it shares with its stems."""
    shortest: dict[str, str] = {}
    spellings = [*filter(None, (term.exact, spelled_otherwise(term.exact)))]
    for stem in term.stems:
        shared = max((_shared_prefix(each, stem) for each in spellings), key=len)
        spelling = next(each for each in (term.exact, stem) if each.startswith(shared))
        shortest[spelling] = min(shortest.get(spelling, shared), shared, key=len)
    return [shared for shared in shortest.values() if shared] or [term.exact]


def _shared_prefix(word: str, stem: str) -> str:
    same = next((i for i, (a, b) in enumerate(zip(word, stem, strict=False)) if a != b), None)
    return word[: min(len(word), len(stem)) if same is None else same]


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _goes_on(folded: str) -> Callable[[str], bool]:
    """Return what says of characters of *folded* whether they are of a word."""
    return str.isalnum if folded.isascii() else in_word


def _apart(folded: str, found: list[tuple[int, int, str]], n_words: int) -> list[Match]:
    """Return matches that do not overlap, the first and then the longest first.

    *found* has places, numbers in the order of preference, and what stands there; what has a
    number below *n_words* is a word, and goes on to the end of what it begins. No regular
    expression is made of them: to compile one takes longer than to look through ten passages.
    """
    matches: list[Match] = []
    end, goes_on, going_on = 0, _goes_on(folded), _REST.of(folded)
    found.sort()
    for at, number, part in found:
        if at < end:
            continue
        end = at + len(part)
        if (
            number < n_words
            and goes_on(folded[end : end + 1])
            and (rest := going_on.match(folded, end))
        ):
            end = rest.end()
        matches.append(Match(at, end, part))
        if len(matches) == _MOST_MATCHES:
            break
    return matches


def _window(matches: Sequence[Match], limit: int) -> tuple[int, int]:
    """Return the range of matches with the most different words within *limit* characters."""
    most, best = 0, (0, 0)
    inside: dict[str, int] = {}
    left = 0
    for at, (_, end, term) in enumerate(matches):
        inside[term] = inside.get(term, 0) + 1
        while left < at and end - matches[left].start > limit:
            passed = matches[left].term
            inside[passed] -= 1
            if not inside[passed]:
                del inside[passed]
            left += 1
        if len(inside) > most:
            most, best = len(inside), (matches[left].start, end)
    return best[0], min(best[1], best[0] + limit)


def word_start(text: str, start: int, latest: int) -> int:
    """Move *start* to the beginning of a word, not past *latest*'s window start."""
    if start == 0 or text[start - 1].isspace():
        return start
    space = _SPACE.search(text, start, max(start, min(latest, start + 24)))
    return space.end() if space else snap_to_grapheme(text, start, floor=0)


def word_end(text: str, start: int, stop: int) -> int:
    """Move *stop* back to the end of a word, not to *start* or before it."""
    if stop >= len(text) or text[stop].isspace():
        return stop
    earliest = max(start, stop - 24)
    space = max(text.rfind(" ", earliest, stop), text.rfind("\n", earliest, stop))
    return space if space > start else snap_to_grapheme(text, stop, floor=start)


class _Folding(dict[int, str]):
    """Folds letters one by one, most of them to one; what may be left out to none."""

    def __init__(self) -> None:
        super().__init__()
        self.others = set[str]()
        """Characters so far that are not one character, or not without the one before."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = fold(character)
        folded = folded if in_word(character) or not folded else character
        if len(folded) != 1 or _JOINED.match(character):
            self.others.add(character)
        self[code] = folded  # last: another thread that finds it here looks for it among those
        return folded


_FOLDING = _Folding()


def _folded(text: str) -> tuple[str, list[int] | None]:
    """Return *text* folded, and where in that each of its characters ends, if not at its place."""
    if text.isascii():
        return text.lower(), None
    folded = text.translate(_FOLDING)
    if _FOLDING.others.isdisjoint(text):
        return folded, None
    if _JOINED.search(text) is None:
        return folded, list(accumulate(map(len, map(_FOLDING.__getitem__, map(ord, text)))))
    pieces, ends, size = list[str](), list[int](), 0
    for piece in _LETTER.findall(text):
        is_nasal = len(piece) > 1 and piece.endswith(HALANT)
        folded = NASAL if is_nasal else unicodedata.normalize("NFC", piece).translate(_FOLDING)
        pieces.append(folded)
        size += len(pieces[-1])
        ends += [size] * len(piece)
    return "".join(pieces), ends


def _unfolded(ends: Sequence[int], match: Match) -> Match:
    """Return where in a text is what was found in it folded, with marks that are left out there."""
    start, last = bisect_right(ends, match.start), bisect_right(ends, match.end - 1)
    return Match(start, bisect_right(ends, ends[last]), match.term)
