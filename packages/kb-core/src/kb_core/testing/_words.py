"""Words of a text, as the fakes understand them.

Case and diacritics are folded; runs of CJK letters become overlapping pairs, so that a
short word is found inside a longer one; everything else stays whole.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold", "runs", "words"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def fold(text: str) -> str:
    """Return *text* without case and diacritics; Hangul syllables stay whole."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in apart if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFKC", bare)


def words(text: str) -> list[str]:
    """Return the words of *text* in order."""
    return [word for run in runs(text) for word in run]


def runs(text: str) -> list[list[str]]:
    """Return the words of *text* in order, pairs of the same run of CJK letters together."""
    found: list[list[str]] = []
    for word in _WORD.findall(fold(text)):
        if len(word) > 1 and _IS_CJK.match(word):
            found.append([word[at : at + 2] for at in range(len(word) - 1)])
        else:
            found.append([word])
    return found
