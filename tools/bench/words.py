"""Made-up documents whose words behave like real ones.

Sentences come from the documentation strings of Python's own library, in random order;
one word in five is replaced by one drawn from all the words of its source code, as often
as they occur there. That gives a vocabulary with a long tail, posting lists of realistic
lengths, and almost no passage twice. The same seed gives the same documents on the same
Python.
"""

from __future__ import annotations

import itertools
import random
import re
import sysconfig
from collections import Counter
from functools import cache
from pathlib import Path

__all__ = ["Words"]

_DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n\s*\n")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{1,30}")
_SHORTEST, _LONGEST = 5, 40
_REPLACED = 0.2
_TOO_COMMON = 40
"""A question does not begin with one of so many most frequent words."""


@cache
def _sources() -> tuple[str, ...]:
    root = Path(sysconfig.get_path("stdlib"))
    files = sorted(root.glob("*.py")) + sorted(root.glob("[a-z]*/**/*.py"))
    skipped = {"site-packages", "dist-packages", "test", "tests", "lib2to3", "idlelib"}
    wanted = (file for file in files if skipped.isdisjoint(file.relative_to(root).parts))
    return tuple(file.read_text("utf-8", "replace") for file in wanted)


@cache
def _sentences() -> tuple[tuple[str, ...], ...]:
    found: dict[tuple[str, ...], None] = {}
    for source in _sources():
        for docstring in _DOCSTRING.findall(source):
            for sentence in _SENTENCE_END.split(docstring):
                words = tuple(sentence.split())
                if _SHORTEST <= len(words) <= _LONGEST:
                    found[words] = None
    return tuple(found)


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[int, ...]]:
    counts = Counter(word for source in _sources() for word in _WORD.findall(source))
    ranked = counts.most_common()
    return (
        tuple(word for word, _ in ranked),
        tuple(itertools.accumulate(count for _, count in ranked)),
    )


class Words:
    """A source of passages, documents and questions; its own random numbers, no one else's."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - not for secrets

    @property
    def vocabulary_size(self) -> int:
        """How many different words may be drawn."""
        return len(_vocabulary()[0])

    def passage(self, words: int = 90) -> str:
        """Return a paragraph of about *words* words."""
        chosen: list[str] = []
        while len(chosen) < words - _SHORTEST:
            chosen += self._random.choice(_sentences())
        vocabulary, weights = _vocabulary()
        count = round(len(chosen) * _REPLACED)
        drawn = self._random.choices(vocabulary, cum_weights=weights, k=count)
        for at, word in zip(self._random.sample(range(len(chosen)), count), drawn, strict=True):
            chosen[at] = word
        return " ".join(chosen)

    def title(self) -> str:
        """Return a few words."""
        return " ".join(self._random.choice(_sentences())[:6]).strip(".:,")

    def markdown(self, passages: int = 10) -> str:
        """Return a document: a title, and a heading before every third passage."""
        parts = [f"# {self.title()}"]
        for number in range(passages):
            if number % 3 == 0:
                parts.append(f"## {self.title()}")
            parts.append(self.passage())
        return "\n\n".join(parts) + "\n"

    def query(self, words: int) -> str:
        """Return so many words that follow each other in a sentence, not all of them common."""
        common = set(_vocabulary()[0][:_TOO_COMMON])
        while True:
            plain = _WORD.findall(" ".join(self._random.choice(_sentences())))
            if len(plain) < words:
                continue
            start = self._random.randint(0, len(plain) - words)
            if plain[start].lower() not in common:
                return " ".join(plain[start : start + words])
