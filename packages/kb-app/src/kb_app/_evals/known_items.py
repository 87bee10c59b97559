"""Questions made of documents that are known to be there, in several difficulties. Pure.

    title      what the document is called, where no other is called so
    heading    the heading of one of its passages, of three words or more: "Context" is anybody's
    sentence   a sentence of one of its passages; of code, a telling line
    hard       the same without its rarest words, of which a third are taken out

A question is words alone: marks, quotes and capitals of a query language have no say in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from kb_app._search.query import words_of
from kb_core.sentences import units
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.ports import StoredChunk, StoredDoc

__all__ = ["DIFFICULTIES", "Difficulty", "KnownItem", "known_items"]

Difficulty: TypeAlias = Literal["title", "heading", "sentence", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = ("title", "heading", "sentence", "hard")

_FEWEST_CHARS, _MOST_CHARS = 40, 300
"""Of a sentence that says something, and is not a table that lost its lines."""
_FEWEST_SIGNS = 15
"""The same where a letter may be a syllable or a word."""
_FEWEST_WORDS = 5
"""From which on some can be taken out."""
_TAKEN_OUT = 3
_TELLING_WORDS, _TELLING_CHARS = 3, 6
_LINES = 5
_OPERATORS = frozenset(("AND", "OR", "NOT"))


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A question, and the document that it was made of; ``source`` is the text it was made of."""

    difficulty: Difficulty
    query: str
    doc: StoredDoc
    source: str


def known_items(
    doc: StoredDoc,
    chunks: Sequence[StoredChunk],
    chance: random.Random,
    spread: Callable[[str], int],
    *,
    is_title_its_own: bool,
) -> list[KnownItem]:
    """Return the questions of one document; *spread* says how many passages hold a word."""
    made: list[tuple[Difficulty, str]] = [("title", doc["title"])] if is_title_its_own else []
    headings = [c["heading_path"][-1] for c in chunks if c["heading_path"]]
    headings = [one for one in headings if one != doc["title"] and _tells(one)]
    if headings:
        made.append(("heading", chance.choice(headings)))
    source = _sentence(chunks, chance, spread)
    if source:
        made.append(("sentence", source))
        if hard := _without_rarest(source, spread):
            made.append(("hard", hard))
    found = ((kind, _asked(text), text) for kind, text in made)
    return [
        KnownItem(kind, query, doc, source if kind == "hard" else text)
        for kind, query, text in found
        if query
    ]


def _sentence(
    chunks: Sequence[StoredChunk], chance: random.Random, spread: Callable[[str], int]
) -> str:
    """Return a sentence of a passage drawn at random; of code, the most telling of some lines."""
    for chunk in chance.sample(list(chunks), len(chunks)):
        text, is_code = chunk["text"], chunk["media"] == "code"
        if is_code:
            told = [line.strip() for line in text.splitlines()]
        else:
            told = [text[u.start : u.end] for u in units(text) if u.kind in {"sentence", "item"}]
        long_enough = [one for one in told if _says_something(one)]
        if not long_enough:
            continue
        if not is_code:
            return chance.choice(long_enough)
        some = chance.sample(long_enough, min(_LINES, len(long_enough)))
        # The first lines of files of code are often those of all others.
        return min(some, key=lambda line: min(map(spread, words_of(line))))
    return ""


def _tells(heading: str) -> bool:
    least = _TELLING_WORDS if heading.isascii() else 1
    return len(words_of(heading)) >= least and len(heading) >= _TELLING_CHARS


def _says_something(text: str) -> bool:
    fewest = _FEWEST_CHARS if text.isascii() else _FEWEST_SIGNS
    return fewest <= len(text) <= _MOST_CHARS and bool(words_of(text))


def _without_rarest(text: str, spread: Callable[[str], int]) -> str | None:
    """Return a sentence without the third of its words that the fewest passages hold."""
    words = words_of(text)
    if len(words) < _FEWEST_WORDS:
        return None
    rarest = sorted(words, key=lambda word: (spread(word), word))[: len(words) // _TAKEN_OUT]
    return " ".join(word for word in words if word not in rarest)


def _asked(text: str) -> str:
    """Return the words of *text* as a query that means nothing but them."""
    words = words_of(text)
    return " ".join(word.lower() if word in _OPERATORS else word for word in words)
