"""Accents that old fonts print over a letter, put together with it.

In such a PDF *für* is written as ``fu¨r``, and PDFium, which orders what it finds, may put the
accent a word further, or behind the line. Where it stands tells whose it is. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from kb_app._ingest.making.glyphs import Glyphs, Run

__all__ = ["with_accents"]

_ACCENTS = {
    "¨": "\u0308", "´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "^": "\u0302", "˜": "\u0303",
    "~": "\u0303", "¸": "\u0327", "ˇ": "\u030c", "˘": "\u0306", "˙": "\u0307", "˚": "\u030a",
    "˝": "\u030b", "˛": "\u0328", "¯": "\u0304",
}  # fmt: skip
"""Accents by themselves, and as they go with a letter."""
_ACCENT = re.compile("[¨´`ˆ^˜~¸ˇ˘˙˚˝˛¯]")
_DOTLESS = str.maketrans("ıȷ", "ij")
_NEAR = 4
"""So many letters to each side of where an accent is may be the one under it."""
_APART = 0.5
"""So much of its height may lie between an accent and its letter."""
_BLANK = 0.15
"""So much of its height is between two words at least."""


def with_accents(glyphs: Glyphs) -> Glyphs:
    """Return the characters of a page with each accent in its letter."""
    if not _ACCENT.search(glyphs.text):
        return glyphs
    text, gone = list(glyphs.text), set[int]()
    for run in glyphs.runs:
        if not run.turn and (taken := _compose(glyphs, run, text)):
            gone |= _no_blanks(glyphs, run, taken, text)
    if not gone:
        return glyphs
    kept = [at for at in range(len(text)) if at not in gone]
    sides = (
        [side[at] for at in kept] for side in (glyphs.left, glyphs.bottom, glyphs.right, glyphs.top)
    )
    left, bottom, right, top = sides
    runs = [
        run._replace(start=bisect_left(kept, run.start), end=bisect_left(kept, run.end))
        for run in glyphs.runs
    ]
    whole = "".join(text[at] for at in kept)
    return Glyphs(whole, left, bottom, right, top, runs, glyphs.is_layer)


def _compose(glyphs: Glyphs, run: Run, text: list[str]) -> set[int]:
    """Put the accents of a line into its letters; return where they were."""
    found = [match.start() for match in _ACCENT.finditer(glyphs.text, run.start, run.end)]
    if not found:
        return set()
    letters = [at for at in range(run.start, run.end) if text[at].isalpha()]
    letters.sort(key=lambda at: glyphs.left[at] + glyphs.right[at])
    middles = [glyphs.left[at] + glyphs.right[at] for at in letters]
    taken = set()
    for accent in found:
        middle = glyphs.left[accent] + glyphs.right[accent]
        near = bisect_left(middles, middle)
        under = letters[max(0, near - _NEAR) : near + _NEAR]
        under.sort(key=lambda at: abs(glyphs.left[at] + glyphs.right[at] - middle))
        for letter in under:
            if _is_over(glyphs, accent, letter) and (whole := _whole(text[letter], text[accent])):
                text[letter] = whole
                taken.add(accent)
                break
    return taken


def _is_over(glyphs: Glyphs, accent: int, letter: int) -> bool:
    middle = (glyphs.left[accent] + glyphs.right[accent]) / 2
    apart = abs(glyphs.bottom[accent] - glyphs.bottom[letter])
    height = glyphs.top[letter] - glyphs.bottom[letter]
    return glyphs.left[letter] <= middle <= glyphs.right[letter] and apart < _APART * height


def _whole(letter: str, accent: str) -> str:
    """Return a letter with its accent, where there is such a character."""
    whole = unicodedata.normalize("NFC", letter.translate(_DOTLESS) + _ACCENTS[accent])
    return whole if len(whole) == 1 else ""


def _no_blanks(glyphs: Glyphs, run: Run, taken: set[int], text: list[str]) -> set[int]:
    """Return what goes: accents, and blanks beside them but for one where words are apart."""
    gone = set(taken)
    for first, last in _spaces(text, taken, run):
        gone |= set(range(first, last))
        if first > run.start and last < run.end:
            apart = glyphs.left[last] - glyphs.right[first - 1]
            if abs(apart) > _BLANK * (glyphs.top[last] - glyphs.bottom[last]):
                text[first] = " "
                gone.discard(first)
    return gone


def _spaces(text: Sequence[str], taken: set[int], run: Run) -> Iterator[tuple[int, int]]:
    """Yield where there is nothing but accents that were taken, and blanks beside them."""
    at = run.start
    while at < run.end:
        end = at
        while end < run.end and (end in taken or text[end].isspace()):
            end += 1
        if any(each in taken for each in range(at, end)):
            yield at, end
        at = max(end, at + 1)
