"""Checking: whether the evidence says what an answer says that it says.

Three things are held against the evidence, each exactly:

1. every marker names an item of the evidence; a sentence without any gets those of the items
   that support it, if there are such,
2. every quotation, and every line of code, stands in what it cites, white space aside,
3. every sentence is supported by what it cites: one or a few sentences there hold most of its
   words, all its figures with their units, all its names, and deny what it denies and nothing
   that it does not.

For the third, the sentences of the evidence are taken one by one, the one that holds most of
the statement first, and another only for words that it adds: a figure or a name alone is not
enough to take one, since that is how a false one would find its place. What a pronoun stands
for may come from the sentence before, and what all is about from title and headings.

Where words differ, as they do in a translation, a model that reads closely may vouch for them
(``near``); nothing vouches for figures, names and denials. Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from kb_app._ask.evidence import units_of
from kb_app._ask.facts import is_joining, read
from kb_app._ask.packing import Item, squeezed
from kb_app._ask.statements import Statement, quotes_in, statements
from kb_core.ports import StoredChunk
from kb_core.sentences import Unit
from kb_core.values import dataclass, replace

__all__ = [
    "FAULTS",
    "Checked",
    "Fault",
    "Judged",
    "Nearness",
    "Support",
    "check",
    "settled",
    "supports",
]

Nearness: TypeAlias = Callable[[str, Sequence[str]], bool]
"""Says whether a statement is near enough to sentences of the evidence, read by a model."""

Fault: TypeAlias = Literal[
    "uncited", "unknown_marker", "quote", "words", "figure", "name", "denial"
]

FORMAL: tuple[Fault, ...] = ("uncited", "unknown_marker", "quote")
"""What can be told without weighing a word."""
FAULTS: tuple[Fault, ...] = (*FORMAL, "words", "figure", "name", "denial")

ENOUGH = 0.6
"""The share of a statement's words that its evidence has to hold."""
_MOST_SENTENCES = 3
_LEAST_GAIN = 2.0
"""Words that another sentence has to add."""
_FACT = 0.5
"""What a figure or a name counts among them: one alone does not take a sentence."""
_SIGNS_OF_LONG = 8
_STOP = re.compile(r"[.!?…。！？]*[\"'”’»」』)*_]*\s*$")
_LONG_NEW = 2
"""From how many signs in a row on, what no evidence has counts as a name."""
_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|his|her|its|their|him|them|this|these|that|those|er|sie|es|sein\w*|ihr\w*"
    r"|dies\w*|él|ella|ellos|su|sus|este|esta|il|elle|ils|leur)\b|[他她它其该此]|彼|これ|それ|그(?:는|녀|들|의)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Support:
    """Where in the evidence a statement stands."""

    item: int
    """The number of the item."""
    chunk: StoredChunk
    start: int
    end: int
    """Half-open range of the chunk's text: the sentence that holds most of the statement."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement, and what is wrong with it, if anything."""

    statement: Statement
    share: float
    """Of its words, what the evidence holds; 0..1."""
    support: tuple[Support, ...]
    """The best sentence of each item that it cites, in the order of its markers."""
    faults: tuple[tuple[Fault, str], ...]
    """Each with what it is about, as the answer has it."""
    added: tuple[int, ...] = ()
    """The markers that it did not have, and gets."""

    @property
    def is_good(self) -> bool:
        """Whether it can stand."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer, statement by statement."""

    answer: str
    judged: tuple[Judged, ...]

    @property
    def score(self) -> float:
        """The share of its statements that can stand; 0 where it states nothing."""
        stating = [each for each in self.judged if each.statement.states]
        return sum(each.is_good for each in stating) / len(stating) if stating else 0.0

    @property
    def passed(self) -> bool:
        """Whether every statement can stand, and there is one."""
        return self.score == 1

    def only(self, kinds: Collection[Fault] = FAULTS) -> str:
        """Return the answer without what has a fault of *kinds*, perhaps empty.

        What led into that, and a heading over nothing, goes with it.
        """
        stays = [not any(kind in kinds for kind, _ in each.faults) for each in self.judged]
        for at in reversed(range(len(stays))):
            if not self.judged[at].statement.states:
                stays[at] = any(stays[at + 1 : at + 2])
        pieces, end = [], 0
        for is_staying, each in zip(stays, self.judged, strict=True):
            start, upto = each.statement.start, each.statement.end
            if is_staying:
                pieces += [self.answer[end:start], _marked(self.answer[start:upto], each.added)]
            end = upto
        return "".join(pieces).strip()


def settled(checked: Checked, verify: bool | Literal["auto"]) -> str | None:  # noqa: FBT001 - the setting
    """Return what may be given of an answer by ``[ask] verify``; ``None``: it is to be refused.

    ``auto`` takes out what is not supported, and refuses an answer of which nothing is left;
    ``true`` refuses one of which anything is not; ``false`` leaves supports unchecked, and takes
    out only what cites nothing, or quotes what is not there.
    """
    if verify is True:
        return checked.only(()) if checked.passed else None
    return checked.only(_kinds(verify)) or None


def supports(checked: Checked, verify: bool | Literal["auto"]) -> tuple[Support, ...]:  # noqa: FBT001
    """Return where what ``settled`` gives stands in the evidence, each place once, in order."""
    kinds = _kinds(verify)
    found = {
        (each.item, each.chunk["ordinal"], each.start): each
        for judged in checked.judged
        if not any(kind in kinds for kind, _ in judged.faults)
        for each in judged.support
    }
    return tuple(found[place] for place in sorted(found))


def _kinds(verify: bool | Literal["auto"]) -> tuple[Fault, ...]:  # noqa: FBT001 - the setting
    return FORMAL if verify is False else FAULTS


def check(answer: str, items: Sequence[Item], *, near: Nearness | None = None) -> Checked:
    """Return what of *answer* can stand on the evidence in *items*, as a model was given it."""
    library = {item.number: _Shelf(item) for item in items}
    return Checked(answer, tuple(_judge(each, library, near) for each in statements(answer)))


def _judge(statement: Statement, library: Mapping[int, _Shelf], near: Nearness | None) -> Judged:
    if not statement.states:
        return Judged(statement, 1.0, (), ())
    cited = [library[number] for number in statement.cites if number in library]
    faults: list[tuple[Fault, str]] = [
        ("unknown_marker", f"[{number}]") for number in statement.cites if number not in library
    ]
    if not statement.cites:
        return _attributed(statement, list(library.values()), near)
    if not cited:
        return Judged(statement, 0.0, (), tuple(faults))
    return _held(statement, cited, near, faults)


def _attributed(statement: Statement, shelves: Sequence[_Shelf], near: Nearness | None) -> Judged:
    """Judge a statement that cites nothing by what would support it."""
    uncited = Judged(statement, 0.0, (), (("uncited", statement.text),))
    if statement.is_code or not shelves:
        return uncited
    numbers = _Match(statement.text, shelves).numbers
    found = _held(statement, [each for each in shelves if each.item.number in numbers], near, ())
    return replace(found, added=numbers) if found.is_good else uncited


def _held(
    statement: Statement,
    cited: Sequence[_Shelf],
    near: Nearness | None,
    formal: Sequence[tuple[Fault, str]],
) -> Judged:
    """Judge a statement by the items that it cites."""
    faults = list(formal)
    held = squeezed(" ".join(shelf.item.text for shelf in cited))
    quoted = _lines_of(statement.text) if statement.is_code else quotes_in(statement.text)
    faults += [("quote", quote) for quote in quoted if squeezed(quote) not in held]
    if statement.is_code:
        whole = tuple(shelf.place(lambda _: 0) for shelf in cited)
        return Judged(statement, 1.0, whole, tuple(faults))
    found = _Match(statement.text, cited)
    faults += found.faults(near)
    support = tuple(shelf.place(found.order) for shelf in cited)
    return Judged(statement, found.share, support, tuple(faults))


def _marked(text: str, numbers: Sequence[int]) -> str:
    """Return a statement with markers before its stop."""
    end = _STOP.search(text)
    at = end.start() if end else len(text)
    return text[:at] + "".join(f" [{number}]" for number in numbers) + text[at:]


def _lines_of(code: str) -> list[str]:
    """Return the lines of a block of code, without those that fence it."""
    lines = (line.strip() for line in code.splitlines())
    return [line for line in lines if line and not line.startswith(("```", "~~~"))]


class _Shelf:
    """One item of the evidence, in sentences."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.sentences = [
            _Sentence(item.number, chunk, unit, before)
            for chunk in item.chunks
            for unit, before in _with_before(chunk)
        ]
        chunk = item.chunks[0]
        named = " ".join((chunk["title"], *(h for c in item.chunks for h in c["heading_path"])))
        self.about = read(f". {named}", chunk["lang"])

    def place(self, order: Callable[[_Sentence], float]) -> Support:
        """Return where the sentence stands that is the first in *order*."""
        best = max(self.sentences, key=order, default=None)
        if best is None:
            chunk = self.item.chunks[0]
            return Support(self.item.number, chunk, 0, len(chunk["text"]))
        return Support(self.item.number, best.chunk, best.unit.start, best.unit.end)


def _with_before(chunk: StoredChunk) -> Iterator[tuple[Unit, str]]:
    """Yield the units of a chunk, each with the text of what is read before it."""
    before, text = "", chunk["text"]
    for unit in units_of(chunk):
        lead = text[slice(*unit.over)] if unit.over else ""
        yield unit, f"{lead} {before}".strip()
        before = text[unit.start : unit.end]


class _Sentence:
    """A unit of the evidence, read."""

    def __init__(self, number: int, chunk: StoredChunk, unit: Unit, before: str) -> None:
        self.number = number
        self.chunk = chunk
        self.unit = unit
        self.text = chunk["text"][unit.start : unit.end]
        lead = chunk["text"][slice(*unit.over)] if unit.over else ""
        self.reading = read(f"{lead} {self.text}".strip(), chunk["lang"])
        self.before = before
        self.terms = frozenset(self.reading.words) | self.reading.names
        self.pairs = _pairs(self.reading.signs)


class _Match:
    """A statement, and the sentences that hold most of it."""

    def __init__(self, text: str, shelves: Sequence[_Shelf]) -> None:
        self._text = text
        self._shelves = shelves
        sentences = [sentence for shelf in shelves for sentence in shelf.sentences]
        lang = shelves[0].item.chunks[0]["lang"]
        self._said = read(text, lang)
        held = Counter(term for sentence in sentences for term in sentence.terms)
        self._weights = {
            word: 1.0 / math.sqrt(1 + held[word]) if held[word] else 1.0
            for word in self._said.words
        }
        self._pairs = _pairs(self._said.signs)
        self._taken = list(self._chosen(sentences))
        self.share = self._share()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The items of the sentences that hold most of it."""
        return tuple(sorted({each.number for each in self._taken}))

    def order(self, sentence: _Sentence) -> float:
        """Return how much of the statement a sentence holds."""
        names = len(self._said.names & sentence.terms)
        figures = len(self._said.figures & sentence.reading.figures)
        return self._gain(sentence, ()) + names + figures

    def faults(self, near: Nearness | None) -> Iterator[tuple[Fault, str]]:
        """Yield what the sentences do not say of what the statement says."""
        yield from (("figure", " ".join(figure).strip()) for figure in self._missing_figures())
        yield from (("name", name) for name in self._missing_names())
        yield from (("denial", " ".join(sorted(words))) for words in self._other_denials())
        new = [run for run in self._new_signs() if len(run) >= _LONG_NEW]
        if self.share >= ENOUGH and not new:
            return
        if near is None or not near(self._text, [each.text for each in self._taken]):
            yield "words", ", ".join(new) or f"{self.share:.2f}"

    def _chosen(self, sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
        left = list(sentences)
        taken: list[_Sentence] = []
        while left and len(taken) < _MOST_SENTENCES:
            best = max(
                left, key=lambda each: self._gain(each, taken) if taken else self.order(each)
            )
            if taken and self._gain(best, taken) < _LEAST_GAIN:
                return
            yield best
            taken.append(best)
            left.remove(best)

    def _gain(self, sentence: _Sentence, taken: Sequence[_Sentence]) -> float:
        """Return what *sentence* holds of the statement that those *taken* do not."""
        has = frozenset().union(*(each.terms for each in taken))
        words = len((frozenset(self._said.words) - has) & frozenset(sentence.reading.words))
        # Whether a word that opens a sentence is a name, the other one may tell.
        facts = len((self._said.names - has) & sentence.terms)
        facts += len((frozenset(self._said.words) - has) & sentence.reading.names)
        figures = frozenset().union(*(each.reading.figures for each in taken))
        facts += len((self._said.figures - figures) & sentence.reading.figures)
        return words + facts * _FACT + self._signs_gained(sentence, taken)

    def _signs_gained(self, sentence: _Sentence, taken: Sequence[_Sentence]) -> float:
        """Return the same of signs: a run of a name's length is one word, a long one more."""
        has = frozenset().union(*(each.pairs for each in taken))
        runs = {part for run in self._said.signs for part in _new_in(run, has)}
        held = (len(run) - sum(map(len, _new_in(run, sentence.pairs))) for run in runs)
        return sum(max(min(1.0, n / _LONG_NEW), n / _SIGNS_OF_LONG) for n in held)

    def _share(self) -> float:
        has = frozenset().union(*(each.terms for each in self._taken), *self._about())
        total = sum(self._weights.values())
        held = sum(weight for word, weight in self._weights.items() if word in has)
        signs = sum(len(run) for run in self._said.signs)
        new = sum(len(run) for run in self._new_signs())
        total += signs / 2
        held += (signs - new) / 2
        return held / total if total else 1.0

    def _about(self) -> list[frozenset[str]]:
        return [shelf.about.content for shelf in self._shelves]

    def _missing_figures(self) -> list[tuple[str, str]]:
        has = {figure for each in self._taken for figure in each.reading.figures}
        has |= {figure for shelf in self._shelves for figure in shelf.about.figures}
        values = {value for value, _ in has}
        return sorted(
            (value, unit)
            for value, unit in self._said.figures
            if (value, unit) not in has
            and (value, "") not in has
            and not (unit == "" and value in values)
        )

    def _missing_names(self) -> list[str]:
        has = frozenset().union(*(each.reading.content for each in self._taken), *self._about())
        missing = self._said.names - has
        if missing:
            before = [e for e in self._taken if _PRONOUN.search(e.text)]
            has = frozenset().union(*(read(e.before, e.chunk["lang"]).content for e in before))
        return sorted(missing - has)

    def _other_denials(self) -> list[frozenset[str]]:
        """Return what is denied on one side, said on the other, and denied nowhere there."""
        there = [denial for each in self._taken for denial in each.reading.denials]
        here = self._said.denials
        said = self._said.content | frozenset("".join(self._said.signs))
        has = frozenset().union(
            *(each.reading.content | frozenset("".join(each.reading.signs)) for each in self._taken)
        )
        return [
            *(denial for denial in here if denial & has and not _is_among(denial, there)),
            *(denial for denial in there if _is_said(denial, said) and not _is_among(denial, here)),
        ]

    def _new_signs(self) -> list[str]:
        """Return the runs of signs that no sentence has, without what only joins."""
        has = frozenset().union(*(each.pairs for each in self._taken))
        has |= frozenset().union(*(_pairs(shelf.about.signs) for shelf in self._shelves))
        return [run for signs in self._said.signs for run in _new_in(signs, has)]


def _pairs(runs: Sequence[str]) -> frozenset[str]:
    return frozenset(run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1)))


def _new_in(run: str, has: frozenset[str]) -> list[str]:
    """Return the parts of *run* that are in no pair of *has*, without what only joins."""
    held = [False] * len(run)
    for at in range(max(1, len(run) - 1)):
        if run[at : at + 2] in has:
            held[at : at + 2] = [True] * len(run[at : at + 2])
    signs = "".join(" " if is_held else sign for sign, is_held in zip(run, held, strict=True))
    return [part for part in signs.split() if not all(map(is_joining, part))]


def _is_among(denial: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    return any(denial & other for other in others)


def _is_said(denial: frozenset[str], said: frozenset[str]) -> bool:
    """Say whether most of what a denial reaches is said, so that it is about the same."""
    return len(denial & said) * 2 > len(denial) > 0
