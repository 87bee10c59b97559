"""Questions made of documents that are known to be there, in several difficulties. Pure.

    title      what the document is called, where no other is called so
    heading    the heading of one of its passages, of three words or more: "Context" is anybody's
    sentence   a sentence of one of its passages; of code, a telling line
    hard       the same without the rarer half of those of its words that tell something
    paraphrase the same as a language model asks for it, where that is wanted
    translated a sentence of the same document in another language

A question is words alone: marks, quotes and capitals of a query language have no say in it.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from kb_app._search.query import words_of
from kb_core.language import Message
from kb_core.sentences import units
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.ports import LanguageModel, StoredChunk, StoredDoc

__all__ = [
    "DIFFICULTIES",
    "Difficulty",
    "KnownItem",
    "Others",
    "known_items",
    "paraphrase",
    "plain_title",
]

Difficulty: TypeAlias = Literal["title", "heading", "sentence", "hard", "paraphrase", "translated"]
DIFFICULTIES: tuple[Difficulty, ...] = (
    "title",
    "heading",
    "sentence",
    "hard",
    "paraphrase",
    "translated",
)

_FEWEST_CHARS, _MOST_CHARS = 40, 300
"""Of a sentence that says something, and is not a table that lost its lines."""
_FEWEST_SIGNS = 15
"""The same where a letter may be a syllable or a word."""
_LEFT = 3
"""Words that tell something have to be left: who asks in function words alone misses nothing."""
_TELLING_WORDS, _TELLING_CHARS = 3, 6
_LINES = 5
_ASKED_TOKENS = 80
_ASK_FOR_IT = (
    "Ask for what the sentence says, as a person would who has half forgotten it: one short "
    "question, in the language of the sentence, without its telling words. Write nothing else."
)
_OPERATORS = frozenset(("AND", "OR", "NOT"))


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A question, and the document that it was made of; ``source`` is the text it was made of."""

    difficulty: Difficulty
    query: str
    doc: StoredDoc
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """What of all documents the questions of one have to know."""

    spread: Callable[[str], int]
    """How many passages hold a word."""
    common: int
    """A word that so many hold tells nothing."""
    titles: Container[str]
    """As ``plain_title`` has them: in a list of links, one asks for another document."""


def known_items(
    doc: StoredDoc,
    chunks: Sequence[StoredChunk],
    chance: random.Random,
    others: Others,
    *,
    is_title_its_own: bool,
) -> list[KnownItem]:
    """Return the questions of one document."""
    made: list[tuple[Difficulty, str]] = [("title", doc["title"])] if is_title_its_own else []
    headings = [c["heading_path"][-1] for c in chunks if c["heading_path"]]
    headings = [one for one in headings if one != doc["title"] and _tells(one)]
    if headings:
        made.append(("heading", chance.choice(headings)))
    source = _sentence(chunks, chance, others)
    if source:
        made.append(("sentence", source))
        if hard := _without_rarest(source, others):
            made.append(("hard", hard))
    found = ((kind, _asked(text), text) for kind, text in made)
    return [
        KnownItem(kind, query, doc, source if kind == "hard" else text)
        for kind, query, text in found
        if query
    ]


def paraphrase(sentence: KnownItem, model: LanguageModel, stop: Callable[[], bool]) -> KnownItem:
    """Return what *model* asks for a sentence; it raises what the model raises.

    The query is empty where the model says nothing, or the sentence again.
    """
    told = (Message("system", _ASK_FOR_IT), Message("user", sentence.source))
    said = "".join(one.text for one in model.generate(told, max_tokens=_ASKED_TOKENS, stop=stop))
    query = _asked(next((line for line in said.splitlines() if words_of(line)), ""))
    is_new = query.casefold() != sentence.query.casefold()
    return KnownItem("paraphrase", query if is_new else "", sentence.doc, sentence.source)


def translations(docs: Iterable[StoredDoc]) -> dict[str, StoredDoc]:
    """Return for the id of a document one of the same path in another language.

    That is ``de/guide.md`` or ``guide.de.md`` beside ``guide.md`` or ``en/guide.md``.
    """
    groups: defaultdict[tuple[str, str], dict[str, StoredDoc]] = defaultdict(dict)
    for doc in docs:
        if (lang := doc["lang"] or "und") != "und":
            marked = rf"(?:^|[/._-]){re.escape(lang)}(?=[/._-])"
            path = re.sub(marked, "", doc["path"].casefold(), count=1).lstrip("/")
            groups[doc["source_id"], path].setdefault(lang, doc)
    found: dict[str, StoredDoc] = {}
    for group in groups.values():
        alike = list(group.values())
        pairs = zip(alike, alike[1:] + alike[:1], strict=True) if len(alike) > 1 else ()
        found |= {doc["doc_id"]: other for doc, other in pairs}
    return found


def plain_title(title: str) -> str:
    """Return the words of a title, by which it is known again."""
    return " ".join(words_of(title)).casefold()


def _sentence(chunks: Sequence[StoredChunk], chance: random.Random, others: Others) -> str:
    """Return a sentence of a passage drawn at random; of code, the most telling of some lines."""
    for chunk in chance.sample(list(chunks), len(chunks)):
        text, is_code = chunk["text"], chunk["media"] == "code"
        if is_code:
            told = [line.strip() for line in text.splitlines()]
        else:
            told = [text[u.start : u.end] for u in units(text) if u.kind in {"sentence", "item"}]
        saying = (one for one in told if _says_something(one))
        long_enough = [one for one in saying if plain_title(one) not in others.titles]
        if not long_enough:
            continue
        if not is_code:
            return chance.choice(long_enough)
        some = chance.sample(long_enough, min(_LINES, len(long_enough)))
        # The first lines of files of code are often those of all others.
        return min(some, key=lambda line: min(map(others.spread, words_of(line))))
    return ""


def _tells(heading: str) -> bool:
    least = _TELLING_WORDS if heading.isascii() else 1
    return len(words_of(heading)) >= least and len(heading) >= _TELLING_CHARS


def _says_something(text: str) -> bool:
    fewest = _FEWEST_CHARS if text.isascii() else _FEWEST_SIGNS
    return fewest <= len(text) <= _MOST_CHARS and bool(words_of(text))


def _without_rarest(text: str, others: Others) -> str | None:
    """Return a sentence without the rarer half of its words that tell something."""
    spread = others.spread
    words = words_of(text)
    telling = {word for word in words if spread(word) < others.common}
    rarest = sorted(telling, key=lambda word: (spread(word), word))[: len(telling) // 2]
    if len(telling) - len(rarest) < _LEFT:
        return None
    return " ".join(word for word in words if word not in rarest)


def _asked(text: str) -> str:
    """Return the words of *text* as a query that means nothing but them."""
    words = words_of(text)
    return " ".join(word.lower() if word in _OPERATORS else word for word in words)
