"""Ranking by words: what a query asks for, as tantivy queries built from analysed terms.

A query is a question: its words are OR-ed and scored by BM25. A word scores in the field
of stems; the unstemmed word, the parts of identifiers, the words around the passage
(title, headings, path) and the symbol that it defines add to that. Beyond BM25:

* A word is worth what it tells: BM25's weight less that of a word which six passages in
  ten hold, so that the function words of any language hardly count. What counts is how many
  passages of the whole index hold it, whatever the filter (ruling R13).
* Words that stand side by side in the query and in the passage add a little where the
  query's words are rare enough, and quoted phrases a lot; see ``Ranking`` for how that is
  asked without giving up tantivy's skipping.

Weights are chosen once for all languages and collections (``tools/bench/ir.py`` measures
them, ``docs/decisions/0010-lexical-ranking.md`` tells how).

A query may require words (``a AND b``) and phrases (``"a b"``). A requirement is let go
when no passage of the whole index meets it, alone or together with those before it; its
words are still ranked by. So that decision follows from the query and from how many
passages there are, never from a filter or a result (ruling R13).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise
from typing import Any

import tantivy
from tantivy import Occur, Query

from kb_core.search import (
    FULL_MATCH_WORDS,
    Clause,
    KnownWord,
    KnownWords,
    LexicalQuery,
    Relaxation,
)
from kb_core.values import dataclass
from kb_search.analysis import Term, analyze, query_terms
from kb_search.narrowing import all_of, any_of, in_order, lone_character, phrase_of, term_of
from kb_search.statistics import TermStatistics, idf

__all__ = [
    "Ranking",
    "Requirement",
    "Weights",
    "better_of",
    "build_ranking",
    "describe",
    "holding",
    "inform",
    "known_words",
    "requirements",
    "satisfiable",
]

_MOST_REQUIRED = 50
_WORD_FIELDS = ("exact", "head", "symbol", "ident", "name")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A clause that has to match, and the query for the passages where it does."""

    clause: Clause
    query: Query

    @property
    def shown(self) -> str:
        """The clause as a person would type it."""
        return f'"{self.clause.text}"' if self.clause.phrase else self.clause.text


def requirements(
    schema: tantivy.Schema, query: LexicalQuery, langs: Sequence[str]
) -> list[Requirement]:
    """Return what the query says a passage has to hold, each once, in its order."""
    asked = dict.fromkeys(clause for clause in query.clauses if clause.kind == "must")
    made = ((clause, holding(schema, clause, langs)) for clause in asked)
    return [Requirement(clause, query) for clause, query in made if query is not None]


def satisfiable(
    searcher: tantivy.Searcher, asked: Sequence[Requirement]
) -> tuple[Requirement, ...]:
    """Return those of *asked* that some passage meets, all of them at once, in order.

    Each is tried together with those before it, so more than a person would require are let
    go untried: the time that a query takes must not grow with the square of its length.
    """
    kept: tuple[Requirement, ...] = ()
    for requirement in asked[:_MOST_REQUIRED]:
        together = all_of(r.query for r in (*kept, requirement))
        found: Any = searcher.search(together, 1, count=True)
        if found.count:
            kept = (*kept, requirement)
    return kept


def describe(
    schema: tantivy.Schema,
    searcher: tantivy.Searcher,
    statistics: TermStatistics,
    query: LexicalQuery,
    langs: Sequence[str],
) -> Relaxation | None:
    """Return what of *query* counts less than it says, or ``None`` if nothing does."""
    asked = requirements(schema, query, langs)
    kept = satisfiable(searcher, asked)
    text = " ".join(clause.text for clause in query.clauses if clause.kind != "must_not")
    words = {term.exact: term for term in query_terms(text, langs) if _is_telling(term)}
    known = {word: _frequency(statistics, term) for word, term in words.items()}
    found = Relaxation(
        asked=tuple(requirement.shown for requirement in asked),
        required=tuple(requirement.shown for requirement in kept),
        common=tuple(word for word, n in known.items() if n > (statistics.total - 1) / 2),
        unknown=tuple(word for word, n in known.items() if not n),
    )
    return found if found.let_go or found.common or found.unknown else None


def _is_telling(term: Term) -> bool:
    """Say no to what other terms speak for, and to a character that is found inside pairs."""
    if term.kind == "cjk":
        return len(term.exact) > 1
    return term.kind in {"word", "identifier"} or term.is_symbolic


def _frequency(statistics: TermStatistics, term: Term) -> int:
    """Return in how many passages a word stands, in the field where most have it."""
    if term.kind == "cjk":
        # A run is found by any of its pairs; the rarest tells how common it can be.
        pairs = (_most(statistics, ("stem", "head"), gram) for gram in term.forms)
        return min(filter(None, pairs), default=0)
    stems = (_most(statistics, ("stem", "head", "symbol"), stem) for stem in term.stems)
    return max(_most(statistics, _WORD_FIELDS, term.exact), *stems, 0)


def _most(statistics: TermStatistics, fields: Sequence[str], text: str) -> int:
    return max(statistics.frequency(field, text) for field in fields)


def holding(schema: tantivy.Schema, clause: Clause, langs: Sequence[str]) -> Query | None:
    """Return the query for passages that hold the phrase, or a form of every word."""
    if clause.phrase:
        return phrase_of(schema, clause.text)
    terms = [term for term in query_terms(clause.text, langs) if _is_required(term)]
    return all_of(any_of(_forms(schema, term)) for term in terms) if terms else None


def _is_required(term: Term) -> bool:
    """Say no to parts of a camelCase word, and to a compound: its words are required."""
    return term.kind in {"word", "identifier", "cjk"} or term.is_symbolic


def _forms(schema: tantivy.Schema, term: Term) -> list[Query]:
    if term.kind == "cjk":
        if len(term.exact) == 1:
            return [lone_character(schema, term.exact)]
        return [
            all_of(term_of(schema, field, gram) for gram in dict.fromkeys(term.forms))
            for field in ("stem", "head")
        ]
    exact = [term_of(schema, f, term.exact) for f in ("exact", "ident", "head", "symbol", "name")]
    stems = [term_of(schema, f, s) for f in ("stem", "head", "symbol") for s in term.stems]
    return exact + stems


_TOLD_BY_ANY_WORD = 0.5
_LEAST = 0.05
_ADJACENT_RARITY = 0.05
_MOST_PAIRS = 8
_MOST_NAMED = 8


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What a query ranks by.

    tantivy skips the blocks of a union that cannot reach the top (block-max WAND) only
    where the union holds nothing but terms. So words are one flat union, and what needs
    positions is asked for apart, among the few passages that have it: a passage's score is
    the better one of both searches, and that is exact, since the second adds to the first.
    """

    words: Query | None
    near: Query | None
    required: tuple[Query, ...]
    excluded: tuple[Query, ...]
    near_only: bool
    """Nothing can match without matching *near*."""

    def searches(self, where: Query | None) -> list[Query]:
        """Return the one or two searches to be made within *where*."""
        wanted = []
        if self.words is not None and not self.near_only:
            wanted.append(self.words)
        if self.near is not None:
            parts = [(Occur.Must, self.near)]
            parts += [(Occur.Should, self.words)] if self.words is not None else []
            wanted.append(Query.boolean_query(parts))
        return [self._within(query, where) for query in wanted]

    def _within(self, query: Query, where: Query | None) -> Query:
        narrow = [*self.required, *([] if where is None else [where])]
        if not narrow and not self.excluded:
            return query
        # A constant 0 adds nothing to the score, and BM25 counts the whole index.
        parts = [(Occur.Must, Query.const_score_query(part, 0.0)) for part in narrow]
        parts += [(Occur.MustNot, part) for part in self.excluded]
        return Query.boolean_query([(Occur.Must, query), *parts])


def build_ranking(
    schema: tantivy.Schema,
    searcher: tantivy.Searcher,
    statistics: TermStatistics,
    query: LexicalQuery,
    langs: Sequence[str],
    weights: Weights = Weights(),
) -> Ranking | None:
    """Return what *query* ranks by, or ``None`` if it holds no term at all."""
    asked = requirements(schema, query, langs)
    kept = satisfiable(searcher, asked)
    plain = " ".join(clause.text for clause in query.clauses if _is_plain(clause))
    spoken = " ".join([plain, *(r.clause.text for r in asked if r.clause.phrase)])
    scorer = _Scorer(schema, statistics, weights)
    words = scorer.words(query_terms(spoken, langs))
    quoted = [
        *(clause.text for clause in query.clauses if clause.phrase and clause.kind == "should"),
        *(requirement.clause.text for requirement in kept if requirement.clause.phrase),
    ]
    phrases = (_phrase(schema, statistics, text, weights.phrase) for text in quoted)
    near = [phrase for phrase in phrases if phrase is not None]
    if scorer.postings <= weights.adjacent_postings:
        near += _adjacent(schema, statistics, plain, weights.adjacent)
    near += _called(schema, statistics, query_terms(plain, langs), weights.called)
    if not words and not near:
        return None
    return Ranking(
        words=any_of(words) if words else None,
        near=any_of(near) if near else None,
        required=tuple(requirement.query for requirement in kept),
        excluded=tuple(_excluded(schema, query, langs)),
        near_only=not words or any(requirement.clause.phrase for requirement in kept),
    )


def known_words(
    statistics: TermStatistics,
    query: LexicalQuery,
    langs: Sequence[str],
    weights: Weights = Weights(),
) -> KnownWords:
    """Return what the index knows of the words of *query*.

    A full match scores what ``build_ranking`` gives to the text of a passage of average
    length for every word, in the form that most passages hold.
    """
    text = " ".join(clause.text for clause in query.clauses if clause.kind != "must_not")
    held: list[bool] = []
    known: list[KnownWord] = []
    for term in query_terms(text, langs):
        weight = term.count * (1.0 if term.kind == "cjk" else 1 + weights.unstemmed)
        words = _words_of(term)
        if words:
            held.append(any(_stands(statistics, form) for forms in words for form in forms))
        for forms in words:
            frequency = max(statistics.frequency("stem", form) for form in forms)
            told = weight * _told(statistics.total, max(1, frequency))
            known.append(KnownWord(forms, told))
    return KnownWords(
        share=sum(held) / len(held) if held else 1.0,
        full_match=math.fsum(heapq.nlargest(FULL_MATCH_WORDS, (word.weight for word in known))),
        words=tuple(known),
    )


def _words_of(term: Term) -> list[tuple[str, ...]]:
    """Return the words that a term stands for, each as the forms that passages hold."""
    if term.kind == "cjk" and len(term.exact) > 1:
        return [(gram,) for gram in dict.fromkeys(term.forms)]
    return [term.stems] if term.kind in {"word", "identifier"} and term.exact else []


def _stands(statistics: TermStatistics, form: str) -> bool:
    return any(statistics.frequency(field, form) for field in ("stem", "head", "symbol"))


def _told(total: int, frequency: int) -> float:
    """Return what a word scores that stands once in a passage of average length."""
    return idf(total, frequency) * inform(total, frequency)


def inform(total: int, frequency: int) -> float:
    """Return which share of its BM25 weight a word keeps that *frequency* of *total* hold.

    BM25 gives ``ln((N + 1) / (n + 0.5))``. Half a unit of that is what a word tells that six
    passages in ten hold; every word loses as much, but none all it has, so that passages
    which hold nothing else are still found.
    """
    told = math.log((total + 1) / (frequency + 0.5))
    return max(_LEAST, 1 - _TOLD_BY_ANY_WORD / told) if told > 0 else _LEAST


def _is_plain(clause: Clause) -> bool:
    return not clause.phrase and clause.kind != "must_not"


class _Scorer:
    """Makes scored terms; one per query."""

    def __init__(
        self, schema: tantivy.Schema, statistics: TermStatistics, weights: Weights
    ) -> None:
        self._schema = schema
        self._statistics = statistics
        self._weights = weights
        self._made: list[Query] = []
        self.postings = 0
        """How many passages hold each stem, added up."""

    def words(self, terms: Iterable[Term]) -> list[Query]:
        """Return one flat list of term queries."""
        for term in terms:
            if not term.exact:
                continue
            if term.kind == "cjk":
                self._cjk(term)
            elif term.kind == "whole":
                for field in ("ident", "head", "symbol"):
                    self._add(field, term.exact, self._weights.whole * term.count)
                self._add("name", term.exact, self._weights.name * term.count)
            else:
                self._word(term)
        return self._made

    def _cjk(self, term: Term) -> None:
        if len(term.exact) == 1:
            found = lone_character(self._schema, term.exact)
            self._made.append(Query.const_score_query(found, float(term.count)))
            return
        for gram in dict.fromkeys(term.forms):
            weight = self._informs(gram) * term.count
            self._add("stem", gram, weight)
            self._add("head", gram, self._weights.head * weight)

    def _word(self, term: Term) -> None:
        weights = self._weights
        if term.kind == "identifier":
            self._add("name", term.exact, weights.name * term.count)
        most = 0.0
        for stem in term.stems:
            weight = self._informs(stem) * term.count
            most = max(most, weight)
            self._add("stem", stem, weight)
            self._add("head", stem, weights.head * weight)
            self._add("symbol", stem, weights.symbol * weight)
        exact = weights.unstemmed if term.exact in term.stems else weights.exact
        self._add("exact", term.exact, exact * most)
        self._add("ident", term.exact, weights.ident * most)

    def _informs(self, stem: str) -> float:
        frequency = self._statistics.frequency("stem", stem)
        self.postings += frequency
        return inform(self._statistics.total, frequency)

    def _add(self, field: str, text: str, weight: float) -> None:
        """Add a term that some passage holds; what none holds would only be asked for."""
        factor = self._statistics.factor(field, [text])
        if factor:
            term = term_of(self._schema, field, text)
            self._made.append(Query.boost_query(term, weight * factor))


def _phrase(
    schema: tantivy.Schema, statistics: TermStatistics, text: str, weight: float
) -> Query | None:
    """Return the words of *text* side by side, scored; ``None`` if no passage has them all."""
    streams = analyze(text)
    parts = []
    for field, terms in (("exact", streams.exact.split()), ("cjk", streams.cjk.split())):
        if not terms:
            continue
        factor = statistics.factor(field, terms)
        if not factor:
            return None
        parts.append(Query.boost_query(in_order(schema, field, terms), weight * factor))
    return all_of(parts) if parts else None


def _called(
    schema: tantivy.Schema, statistics: TermStatistics, terms: Iterable[Term], weight: float
) -> list[Query]:
    """Return the query for names that hold all of *terms*, if there are any; compounds aside."""
    parts: list[Query] = []
    for forms in (term.forms or term.stems for term in terms):
        held = [
            Query.boost_query(term_of(schema, "called", form), weight * factor)
            for form in dict.fromkeys(forms)
            if (factor := statistics.factor("called", [form]))
        ]
        if held:
            parts.append(any_of(held))
        elif forms:
            return []
    return [all_of(parts)] if 0 < len(parts) <= _MOST_NAMED else []


def _adjacent(
    schema: tantivy.Schema, statistics: TermStatistics, text: str, weight: float
) -> list[Query]:
    """Return phrases of neighbouring words, the rarest first, as far as they tell anything.

    A pair costs what its rarer word costs; where both are common, it is grammar.
    """
    words = analyze(text).exact.split()
    pairs = []
    for pair in dict.fromkeys(pairwise(words)):
        rarer = min(statistics.frequency("exact", word) for word in pair)
        if 0 < rarer <= _ADJACENT_RARITY * statistics.total and pair[0] != pair[1]:
            pairs.append((rarer, pair))
    rarest = [list(pair) for _, pair in sorted(pairs)[:_MOST_PAIRS]]
    return [
        Query.boost_query(in_order(schema, "exact", p), weight * statistics.factor("exact", p))
        for p in rarest
    ]


def _excluded(schema: tantivy.Schema, query: LexicalQuery, langs: Sequence[str]) -> Iterable[Query]:
    for clause in query.clauses:
        if clause.kind == "must_not":
            holds = holding(schema, clause, langs)
            if holds is not None:
                yield holds


def better_of(lists: Iterable[Sequence[tuple[float, int]]], limit: int) -> list[tuple[float, int]]:
    """Merge lists of negative scores and keys, each cut at *limit*; a chunk has its best score."""
    best: dict[int, float] = {}
    for below, key in sorted(chain.from_iterable(lists)):
        best.setdefault(key, below)
    return [(below, key) for key, below in islice(best.items(), limit)]
