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

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

import tantivy
from tantivy import Occur, Query

from kb_core.search import Clause, LexicalQuery, Relaxation
from kb_core.values import dataclass
from kb_search.analysis import Term, analyze, query_terms
from kb_search.narrowing import all_of, any_of, in_order, lone_character, phrase_of, term_of
from kb_search.spelling import respelled
from kb_search.statistics import TermStatistics
from kb_search.weighing import (
    MOST_REQUIRED,
    WEIGHTS,
    Weights,
    is_plain,
    name_parts,
    relaxation,
    required_terms,
    telling_pairs,
    weigh,
)

__all__ = [
    "Ranking",
    "Requirement",
    "better_of",
    "build_ranking",
    "describe",
    "holding",
    "requirements",
    "satisfiable",
]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A clause that has to match, and the query for the passages where it does."""

    clause: Clause
    query: Query


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

    Mostly one meets all. Else each is tried together with those before it, so more than a person
    would require are let go untried: the time that a query takes must not grow with the square of
    its length.
    """
    tried = tuple(asked[:MOST_REQUIRED])
    if not tried or _are_met(searcher, tried):
        return tried
    kept: tuple[Requirement, ...] = ()
    for requirement in tried if len(tried) > 1 else ():
        if _are_met(searcher, (*kept, requirement)):
            kept = (*kept, requirement)
    return kept


def _are_met(searcher: tantivy.Searcher, asked: Sequence[Requirement]) -> bool:
    found: Any = searcher.search(all_of(each.query for each in asked), 1, count=True)
    return bool(found.count)


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
    wanted, met = ([each.clause for each in some] for some in (asked, kept))
    return relaxation(wanted, met, query, statistics, langs)


def holding(schema: tantivy.Schema, clause: Clause, langs: Sequence[str]) -> Query | None:
    """Return the query for passages that hold the phrase, or a form of every word."""
    if clause.phrase:
        return phrase_of(schema, clause.text)
    terms = required_terms(clause, langs)
    return all_of(any_of(_forms(schema, term)) for term in terms) if terms else None


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

    @property
    def free(self) -> Query | None:
        """The words, where nothing else has to match: what the engine skips blocks of."""
        if self.near_only or self.required or self.excluded:
            return None
        return self.words

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
    weights: Weights = WEIGHTS,
) -> Ranking | None:
    """Return what *query* ranks by, or ``None`` if it holds no term at all."""
    asked = requirements(schema, query, langs)
    kept = satisfiable(searcher, asked)
    plain = " ".join(clause.text for clause in query.clauses if is_plain(clause))
    spoken = " ".join([plain, *(r.clause.text for r in asked if r.clause.phrase)])
    meant = [other for _, other in respelled(query, statistics, langs)]
    weighed = weigh(query_terms(spoken, langs), statistics, weights, meant)
    words = [_scored(schema, statistics, field, [text], w) for field, text, w in weighed.terms]
    words += [
        Query.const_score_query(lone_character(schema, character), weight)
        for character, weight in weighed.lone
    ]
    quoted = [
        *(clause.text for clause in query.clauses if clause.phrase and clause.kind == "should"),
        *(requirement.clause.text for requirement in kept if requirement.clause.phrase),
    ]
    phrases = (_phrase(schema, statistics, text, weights.phrase) for text in quoted)
    near = [phrase for phrase in phrases if phrase is not None]
    if weighed.postings <= weights.adjacent_postings:
        pairs = telling_pairs(plain, statistics)
        near += [_scored(schema, statistics, "exact", p, weights.adjacent) for p in pairs]
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


def _scored(
    schema: tantivy.Schema,
    statistics: TermStatistics,
    field: str,
    terms: Sequence[str],
    weight: float,
) -> Query:
    """Return the query for *terms* side by side, scored by how often the live passages do."""
    return Query.boost_query(
        in_order(schema, field, terms), weight * statistics.factor(field, terms)
    )


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
    parts = [
        any_of([_scored(schema, statistics, "called", [form], weight) for form in held])
        for held in name_parts(terms, statistics)
    ]
    return [all_of(parts)] if parts else []


def _excluded(schema: tantivy.Schema, query: LexicalQuery, langs: Sequence[str]) -> Iterable[Query]:
    for clause in query.clauses:
        if clause.kind == "must_not":
            holds = holding(schema, clause, langs)
            if holds is not None:
                yield holds


def better_of(lists: Sequence[Sequence[tuple[float, int]]], limit: int) -> list[tuple[float, int]]:
    """Merge lists of negative scores and keys, each cut at *limit*; a chunk has its best score."""
    found = [each for each in lists if each]
    if len(found) <= 1:
        return list(found[0]) if found else []
    best: dict[int, float] = {}
    for below, key in sorted(chain.from_iterable(found)):
        best.setdefault(key, below)
    return [(below, key) for key, below in islice(best.items(), limit)]
