"""Counting tokens: fast enough to ask again for every line of a corpus.

Where a tokenizer cuts at white space, the count of a text is the sum over its words, and
words repeat: what was counted once is remembered, so that prose costs two dictionary
look-ups a word. Counts are the tokenizer's, without special tokens and prefix; white
space at the ends counts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from kb_search.embed.tokenize import Tokenizer

__all__ = ["EstimatingCounter", "TextCounter", "WordCounter", "counter_of"]

_WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_MAX_WORDS = 200_000
_MAX_LETTERS = 32
"""A longer word, a clause of Chinese or a hash, hardly comes twice: not remembered."""


class WordCounter:
    """Counts by words, over a tokenizer that has separators; for any thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}
        separators = tokenizer.separators
        # What str.split would cut at, and the tokenizer does not.
        odd = set(_WHITE_SPACE) - set(separators)
        self._odd = re.compile(f"[{re.escape(''.join(sorted(odd)))}]")
        self._separators = re.compile(f"[{re.escape(separators)}]+")

    def count(self, text: str, /) -> int:
        """Return the number of tokens of *text*."""
        words = self._split(text)
        try:
            return sum(map(self._known.__getitem__, words))
        except KeyError:
            return self._count_new([words])[0]

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each text; faster than one by one."""
        return self._count_new([self._split(text) for text in texts])

    def _split(self, text: str) -> list[str]:
        if self._odd.search(text):
            return [word for word in self._separators.split(text) if word]
        return text.split()

    def _count_new(self, texts: list[list[str]]) -> list[int]:
        known = self._known
        new = [word for word in set(chain.from_iterable(texts)) if word not in known]
        counts = dict(zip(new, self._tokenizer.lengths(new), strict=True))
        get = known.get
        totals = [
            # A word that is not among the new ones was known when they were chosen.
            sum(counts[word] if (n := get(word)) is None else n for word in words)
            for words in texts
        ]
        self._remember(counts)
        return totals

    def _remember(self, counts: dict[str, int]) -> None:
        short = {word: n for word, n in counts.items() if len(word) <= _MAX_LETTERS}
        if len(self._known) + len(short) > _MAX_WORDS:
            # Replaced, not cleared: another thread may be counting with the old one.
            self._known = {}
        self._known.update(short)


class TextCounter:
    """Counts whole texts, for tokenizers that may join what white space parts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def count(self, text: str, /) -> int:
        """Return the number of tokens of *text*."""
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each text."""
        return self._tokenizer.lengths([text.strip() for text in texts])


class EstimatingCounter:
    """Estimates tokens where there is no model: one for three bytes of UTF-8.

    English takes a token for four letters and more, Korean, Japanese and Chinese one for
    one to two characters of three bytes, so that this is generous for prose; source code
    comes out right, and only strings of digits and signs take up to twice as many.
    """

    def count(self, text: str, /) -> int:
        """Return the estimate for *text*."""
        return -(-len(text.strip().encode("utf-8", "replace")) // 3)

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        """Return the estimate for each text."""
        return list(map(self.count, texts))


def counter_of(tokenizer: Tokenizer) -> WordCounter | TextCounter:
    """Return the fastest counter that is exact for *tokenizer*."""
    return WordCounter(tokenizer) if tokenizer.separators else TextCounter(tokenizer)
