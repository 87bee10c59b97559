"""What the words of a query weigh, whichever engine adds the weights up.

A word scores in several fields of a passage; BM25 gives what it scores in each, and a weight
is what that is multiplied by. Everything here follows from the query and from how many
passages hold a word, so that two engines which count the same passages rank alike
(``docs/decisions/0010-lexical-ranking.md`` tells how the weights were chosen).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from kb_core.search import (
    FULL_MATCH_WORDS,
    Clause,
    KnownWord,
    KnownWords,
    LexicalQuery,
    Relaxation,
)
from kb_core.values import dataclass, lazy_pattern
from kb_search.analysis import Term, analyze, query_terms, spelled_stems

__all__ = [
    "AGAIN",
    "FILLING",
    "MOST_REQUIRED",
    "WEIGHTS",
    "Frequencies",
    "Weighed",
    "WeightedTerm",
    "Weights",
    "frequency_of",
    "idf",
    "inform",
    "is_held",
    "is_plain",
    "known_words",
    "name_parts",
    "rarity",
    "relaxation",
    "required_terms",
    "shown",
    "telling_pairs",
    "weigh",
]

MOST_REQUIRED = 50
"""So many of a query's requirements are tried; the rest only ranks."""

FILLING = "\u00b7"
"""A term that no text and no query holds."""

AGAIN = "again"
"""A field that is counted in alone: the stems of a passage that an earlier one of its document
holds as well, and of every passage but a document's first also ``FILLING``."""

_BY_DOCUMENTS = 0.8
_TOLD_BY_ANY_WORD = 0.5
_LEAST = 0.05
_READ_AS = 0.6
"""Of a word that no passage holds, where it is read as another."""
_ADJACENT_RARITY = 0.05
_MOST_PAIRS = 8
_MOST_NAMED = 8
_QUALIFIES = lazy_pattern(r"\.|::")
_WORD_FIELDS = ("exact", "head", "symbol", "ident", "name")


class Frequencies(Protocol):
    """In how many passages, and in how many documents, words stand."""

    @property
    def total(self) -> int:
        """How many passages there are, and one that holds no word."""

    @property
    def documents(self) -> int:
        """How many documents have a passage, and one that holds no word."""

    def frequency(self, field: str, term: str, /) -> int:
        """Return how many passages hold *term* in *field*."""

    def held(self, places: Iterable[tuple[str, str]], /) -> dict[tuple[str, str], int]:
        """Return those pairs of a field and a term that passages hold, with how many do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each field counts; the field of stems is 1."""

    exact: float = 0.3
    unstemmed: float = 0.1
    """Of the exact field, for a word that is its own stem: the field of stems says it, too."""
    ident: float = 0.1
    whole: float = 0.5
    head: float = 0.3
    called: float = 1.0
    """For what a document is called, its title and the name of its file, where that holds every
    word of the query: a name is asked for, and not a question that shares words with it."""
    symbol: float = 0.3
    name: float = 4.0
    """For what is written as an identifier: a plain word is the name of too many things."""
    phrase: float = 1.0
    adjacent: float = 0.1
    adjacent_postings: int = 10_000
    """Where the words of a query stand in more passages than that, added up, neighbours are
    not asked for: it takes scoring every passage that holds a word, and costs more than
    neighbours tell. In a large index that is every question of common words; what adjacency
    adds to those cannot be measured."""


WEIGHTS = Weights()
"""What they are."""


class WeightedTerm(NamedTuple):
    """A term of a field, and what its BM25 counts."""

    field: str
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the words of a query score."""

    terms: tuple[WeightedTerm, ...]
    """Terms that some passage holds; what none holds would only be asked for."""
    lone: tuple[tuple[str, float], ...]
    """CJK characters that stand alone, and what each scores where it is found."""
    postings: int
    """How many passages hold each stem, added up."""


def idf(total: int, frequency: int) -> float:
    """Return BM25's inverse document frequency: ``ln(1 + (N - n + 0.5) / (n + 0.5))``."""
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def inform(total: int, frequency: int) -> float:
    """Return which share of its BM25 weight a word keeps that *frequency* of *total* hold.

    BM25 gives ``ln((N + 1) / (n + 0.5))``. Half a unit of that is what a word tells that six
    passages in ten hold; every word loses as much, but none all it has, so that passages
    which hold nothing else are still found.
    """
    told = math.log((total + 1) / (frequency + 0.5))
    return max(_LEAST, 1 - _TOLD_BY_ANY_WORD / told) if told > 0 else _LEAST


def rarity(statistics: Frequencies, stem: str) -> float:
    """Return what a stem tells of a passage: mostly in how few documents it stands.

    Half of the passages of a long document hold its own name, and count it as common as what
    every document speaks of. But where there are few documents, only passages tell words
    apart; so a fifth of it is by them.
    """
    passages = max(1, statistics.frequency("stem", stem))
    documents = max(1, passages - statistics.frequency(AGAIN, stem))
    by_passages = idf(statistics.total, passages)
    return by_passages + _BY_DOCUMENTS * (idf(statistics.documents, documents) - by_passages)


def weigh(
    terms: Iterable[Term], statistics: Frequencies, weights: Weights, read_as: Iterable[Term] = ()
) -> Weighed:
    """Return what *terms* of a query score, each in every field that counts.

    *read_as* are terms that it does not hold, but may have meant: they score less.
    """
    scorer = _Scorer(statistics, weights)
    lone, terms = [], list(terms)
    scorer.know(terms)
    for term in terms:
        if term.kind == "cjk" and len(term.exact) == 1:
            lone.append((term.exact, float(term.count)))
        elif term.exact:
            scorer.add(term)
    scorer.share = _READ_AS
    for term in read_as:
        scorer.add(term)
    return Weighed(tuple(scorer.made), tuple(lone), scorer.postings)


class _Scorer:
    """Makes weighted terms; one per query."""

    def __init__(self, statistics: Frequencies, weights: Weights) -> None:
        self._statistics = statistics
        self._weights = weights
        self.made: list[WeightedTerm] = []
        self.postings = 0
        self.share = 1.0
        """Of its weight that each term has."""
        self._qualified: set[str] = set()
        """Names such as ``Cache.get`` that something is defined by."""
        self._owners: set[str] = set()
        """What these are in."""

    def know(self, terms: Iterable[Term]) -> None:
        """Look which of *terms* name one thing in another: what that is in is not asked for."""
        for term in terms:
            *owners, _ = _QUALIFIES.split(term.exact)
            if term.kind == "whole" and owners and self._statistics.frequency("symbol", term.exact):
                self._qualified.add(term.exact)
                self._owners |= {*owners}

    def add(self, term: Term) -> None:
        if term.kind == "cjk":
            for gram in dict.fromkeys(term.forms):
                weight = self._informs(gram) * term.count
                self._add("stem", gram, weight * self._share(gram))
                self._add("head", gram, self._weights.head * weight)
        elif term.kind == "whole":
            is_defined = term.exact in self._qualified
            # A word with its article tells no more than without, where it is not written as one.
            own = "exact" if term.exact.isalnum() else "ident"
            for field in (own, "head", "symbol"):
                is_name = is_defined and field == "symbol"
                weight = self._weights.name if is_name else self._weights.whole
                self._add(field, term.exact, weight * term.count)
            self._add("name", term.exact, self._weights.name * term.count)
        else:
            self._word(term)

    def _word(self, term: Term) -> None:
        weights = self._weights
        if term.kind == "identifier" and term.exact not in self._owners:
            self._add("name", term.exact, weights.name * term.count)
        most = most_said = 0.0
        held = {stem for stem in term.stems if self._statistics.frequency("stem", stem)}
        kept = self._as_one_word([stem for stem in spelled_stems(term.exact) if stem in held])
        kept |= self._as_the_word(held, term.exact)
        for stem in term.stems:
            weight = self._informs(stem) * term.count * kept.get(stem, 1.0)
            said = weight * self._share(stem)
            if stem in held or not held:  # the rarest of all is what stands nowhere
                most, most_said = max(most, weight), max(most_said, said)
            self._add("stem", stem, said)
            self._add("head", stem, weights.head * weight)
            self._add("symbol", stem, weights.symbol * weight)
        exact = weights.unstemmed if term.exact in term.stems else weights.exact
        self._add("exact", term.exact, exact * most_said)
        self._add("ident", term.exact, weights.ident * most)

    def _as_one_word(self, spellings: Sequence[str]) -> dict[str, float]:
        """Return what each spelling keeps of its weight: none tells more than the commonest."""
        total, frequency = self._statistics.total, self._statistics.frequency
        told = {
            stem: inform(total, frequency("stem", stem)) * rarity(self._statistics, stem)
            for stem in spellings
        }
        least = min(told.values(), default=0.0)
        return {stem: least / each for stem, each in told.items()}

    def _as_the_word(self, stems: Iterable[str], word: str) -> dict[str, float]:
        """Return what stems keep of their weight that fewer passages hold than hold the word.

        Those have it as another language cuts it: *lines* is rare as what Italian makes of it,
        and tells as little there as anywhere.
        """
        total, frequency = self._statistics.total, self._statistics.frequency
        passages = frequency("exact", word)
        rare = {stem: frequency("stem", stem) for stem in stems}
        told = inform(total, passages) * idf(total, max(1, passages))
        return {
            stem: told / (inform(total, held) * idf(total, held))
            for stem, held in rare.items()
            if held < passages
        }

    def _share(self, stem: str) -> float:
        """Return what a stem tells in the text of a passage, as a share of its BM25 weight."""
        frequency = self._statistics.frequency("stem", stem)
        return rarity(self._statistics, stem) / idf(self._statistics.total, max(1, frequency))

    def _informs(self, stem: str) -> float:
        frequency = self._statistics.frequency("stem", stem)
        self.postings += frequency
        return inform(self._statistics.total, frequency)

    def _add(self, field: str, text: str, weight: float) -> None:
        if self._statistics.frequency(field, text):
            self.made.append(WeightedTerm(field, text, weight * self.share))


def telling_pairs(text: str, statistics: Frequencies) -> list[tuple[str, str]]:
    """Return pairs of neighbouring words, the rarest first, as far as they tell anything.

    A pair costs what its rarer word costs; where both are common, it is grammar.
    """
    words = analyze(text).exact.split()
    pairs = []
    for pair in dict.fromkeys(pairwise(words)):
        rarer = min(statistics.frequency("exact", word) for word in pair)
        if 0 < rarer <= _ADJACENT_RARITY * statistics.total and pair[0] != pair[1]:
            pairs.append((rarer, pair))
    return [pair for _, pair in sorted(pairs)[:_MOST_PAIRS]]


def name_parts(terms: Iterable[Term], statistics: Frequencies) -> list[tuple[str, ...]]:
    """Return, for each of *terms*, the forms that names hold; nothing, where one is in none.

    Compounds are left out, and so is a query of many words: it asks for no name.
    """
    parts: list[tuple[str, ...]] = []
    for forms in (term.forms or term.stems for term in terms):
        held = tuple(f for f in dict.fromkeys(forms) if statistics.frequency("called", f))
        if held:
            parts.append(held)
        elif forms:
            return []
    return parts if len(parts) <= _MOST_NAMED else []


def required_terms(clause: Clause, langs: Sequence[str]) -> list[Term]:
    """Return what of a clause a passage has to hold, in one of its forms each.

    Not parts of a camelCase word, nor a compound: its words are required.
    """
    return [
        term
        for term in query_terms(clause.text, langs)
        if term.kind in {"word", "identifier", "cjk"} or term.is_symbolic
    ]


def is_plain(clause: Clause) -> bool:
    """Say whether a clause is words that rank, and nothing more."""
    return not clause.phrase and clause.kind != "must_not"


def shown(clause: Clause) -> str:
    """Return a clause as a person would type it."""
    return f'"{clause.text}"' if clause.phrase else clause.text


def known_words(
    statistics: Frequencies,
    query: LexicalQuery,
    langs: Sequence[str],
    weights: Weights = WEIGHTS,
) -> KnownWords:
    """Return what the index knows of the words of *query*.

    A full match scores what ``build_ranking`` gives to the text of a passage of average
    length for every word, in the form that most passages hold.
    """
    text = " ".join(clause.text for clause in query.clauses if clause.kind != "must_not")
    held: list[bool] = []
    known: list[KnownWord] = []
    ranked: list[float] = []
    for term in query_terms(text, langs):
        form_weight = 1.0 if term.kind == "cjk" else 1 + weights.unstemmed
        words = _words_of(term)
        stands = any(_stands(statistics, form) for forms in words for form in forms)
        if words:
            held.append(stands)
        for forms in words:
            commonest = max(forms, key=lambda form: statistics.frequency("stem", form))
            told = form_weight * _told(statistics, commonest)
            # Of what is known, words that ask count as others, and of what ranks, as they rank;
            # but that nothing holds them tells that the question is in another language.
            known.append(KnownWord(forms, max(1.0, term.count) * told))
            ranked.append((term.count if stands else max(1.0, term.count)) * told)
    return KnownWords(
        share=sum(held) / len(held) if held else 1.0,
        full_match=math.fsum(heapq.nlargest(FULL_MATCH_WORDS, ranked)),
        words=tuple(known),
    )


def relaxation(
    asked: Sequence[Clause],
    kept: Sequence[Clause],
    query: LexicalQuery,
    statistics: Frequencies,
    langs: Sequence[str],
) -> Relaxation | None:
    """Return what of *query* counts less than it says, or ``None`` if nothing does.

    *asked* is what it requires, *kept* what of that some passage meets.
    """
    text = " ".join(clause.text for clause in query.clauses if clause.kind != "must_not")
    words = {term.exact: term for term in query_terms(text, langs) if _is_telling(term)}
    known = {word: frequency_of(statistics, term) for word, term in words.items()}
    found = Relaxation(
        asked=tuple(map(shown, asked)),
        required=tuple(map(shown, kept)),
        common=tuple(word for word, n in known.items() if n > (statistics.total - 1) / 2),
        unknown=tuple(word for word, n in known.items() if not n),
    )
    return found if found.let_go or found.common or found.unknown else None


def _words_of(term: Term) -> list[tuple[str, ...]]:
    """Return the words that a term stands for, each as the forms that passages hold."""
    if term.kind == "cjk" and len(term.exact) > 1:
        return [(gram,) for gram in dict.fromkeys(term.forms)]
    return [term.stems] if term.kind in {"word", "identifier"} and term.exact else []


def _stands(statistics: Frequencies, form: str) -> bool:
    return any(statistics.frequency(field, form) for field in ("stem", "head", "symbol"))


def _told(statistics: Frequencies, stem: str) -> float:
    """Return what a word scores that stands once in a passage of average length."""
    frequency = max(1, statistics.frequency("stem", stem))
    return rarity(statistics, stem) * inform(statistics.total, frequency)


def _is_telling(term: Term) -> bool:
    """Say no to what other terms speak for, and to a character that is found inside pairs."""
    if term.kind == "cjk":
        return len(term.exact) > 1
    return term.kind in {"word", "identifier"} or term.is_symbolic


def frequency_of(statistics: Frequencies, term: Term) -> int:
    """Return in how many passages a word stands, in the field where most have it."""
    if term.kind == "cjk":
        # A run is found by any of its pairs; the rarest tells how common it can be.
        pairs = (_most(statistics, ("stem", "head"), gram) for gram in term.forms)
        return min(filter(None, pairs), default=0)
    stems = (_most(statistics, ("stem", "head", "symbol"), stem) for stem in term.stems)
    return max(_most(statistics, _WORD_FIELDS, term.exact), *stems, 0)


def is_held(statistics: Frequencies, term: Term) -> bool:
    """Say whether any passage holds a word: whether ``frequency_of`` it is more than 0.

    Stems first, which most words are held as, and which whatever weighs them asks for, too.
    """
    if term.kind == "cjk":
        places = [(field, gram) for gram in term.forms for field in ("stem", "head")]
    else:
        places = [(field, stem) for field in ("stem", "head", "symbol") for stem in term.stems]
        places += [(field, term.exact) for field in _WORD_FIELDS]
    return any(statistics.frequency(*place) for place in places)


def _most(statistics: Frequencies, fields: Sequence[str], text: str) -> int:
    return max(statistics.frequency(field, text) for field in fields)
