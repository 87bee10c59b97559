"""Ranking by words: what a query asks of the engine, and what is added to the answer.

The words of a query are one sparse vector: a term's weight times its rarity, where a
passage's row has what BM25 gives for the term. Their product is the score that the embedded
engine gives to the same union of terms. What needs the order of words (phrases, neighbours)
or all of them at once (a document's name) is added here, from the terms that come along with
a passage: exactly, for the passages that were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from kb_core.search import Clause, LexicalQuery, Relaxation, Scored
from kb_core.values import dataclass
from kb_search.analysis import Term, analyze, query_terms
from kb_search.milvus.counts import Counts
from kb_search.milvus.expressions import (
    Expression,
    all_of,
    any_of,
    holds,
    in_order,
    inside,
    negated,
    safe,
)
from kb_search.milvus.rows import Row, dimension, impact
from kb_search.spelling import respelled
from kb_search.weighing import (
    AGAIN,
    FILLING,
    MOST_REQUIRED,
    WEIGHTS,
    idf,
    is_plain,
    name_parts,
    relaxation,
    required_terms,
    telling_pairs,
    weigh,
)

__all__ = ["Bonus", "Ranking", "better_of", "build_ranking", "describe", "holding", "learn"]

_FIELDS = ("stem", "exact", "cjk", "head", "symbol", "ident", "name", "called", AGAIN)

Exists = Callable[[Expression], bool]
"""Says whether some passage of the whole index meets a condition."""


@dataclass(frozen=True, slots=True)
class Bonus:
    """What a passage scores beyond its words: for each part, if it holds all of them."""

    parts: tuple[tuple[tuple[str, tuple[str, ...], float], ...], ...]
    """Alternatives of one part: a field, terms that stand side by side in it, their weight."""

    def of(self, row: Row, pivots: Mapping[str, int]) -> float:
        """Return what *row* scores for it: 0, unless every part has an alternative there."""
        scores = [math.fsum(_scored(row, *each, pivots) for each in part) for part in self.parts]
        return math.fsum(scores) if all(scores) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What a query ranks by."""

    words: Mapping[int, float]
    """The weight of each term, by its dimension."""
    near: Expression
    """Where a passage has to be looked for apart, since its words alone may not bring it."""
    bonuses: tuple[Bonus, ...]
    lone: tuple[tuple[str, float], ...]
    narrow: Expression
    """What is required and what is excluded."""
    near_only: bool

    @property
    def needs_terms(self) -> bool:
        """Whether a score needs more of a passage than its words' product."""
        return bool(self.bonuses or self.lone)

    def searches(self) -> list[tuple[Mapping[int, float], Expression]]:
        """Return the one or two searches to be made."""
        found: list[tuple[Mapping[int, float], Expression]] = []
        if self.words and not self.near_only:
            found.append((self.words, self.narrow))
        if self.near is not False:
            found.append((dict(self.words) | {0: _HARDLY}, all_of([self.narrow, self.near])))
        return found

    def score(self, product: float, row: Row, pivots: Mapping[str, int]) -> float:
        """Return the score of a passage whose words score *product*."""
        added = [bonus.of(row, pivots) for bonus in self.bonuses]
        added += [weight for letter, weight in self.lone if safe(letter) in row["cjk"]]
        return round(abs(product) + math.fsum(added), 5)


_HARDLY = 1e-9
"""Of the dimension that every passage has: it finds those that no word brings."""


def learn(statistics: Counts, query: LexicalQuery, langs: Sequence[str]) -> None:
    """Look up all that is asked about the words of *query*, at once."""
    terms = query_terms(" ".join(clause.text for clause in query.clauses), langs)
    forms = {form for term in terms for form in (term.exact, *term.stems, *term.forms) if form}
    wanted = ((field, form) for form in forms for field in _FIELDS)
    statistics.learn([*wanted, (AGAIN, FILLING)])


def build_ranking(
    statistics: Counts, query: LexicalQuery, langs: Sequence[str], exists: Exists
) -> Ranking | None:
    """Return what *query* ranks by, or ``None`` if it holds no term at all."""
    asked = _requirements(query, langs)
    kept = _satisfiable(exists, asked)
    plain = " ".join(clause.text for clause in query.clauses if is_plain(clause))
    spoken = " ".join([plain, *(clause.text for clause, _ in asked if clause.phrase)])
    meant = [other for _, other in respelled(query, statistics, langs)]
    weighed = weigh(query_terms(spoken, langs), statistics, WEIGHTS, meant)
    words: dict[int, float] = {}
    for field, text, weight in weighed.terms:
        at = dimension(field, text)
        rarity = idf(statistics.total, statistics.frequency(field, text))
        words[at] = words.get(at, 0.0) + weight * rarity
    quoted = [c.text for c in query.clauses if c.phrase and c.kind == "should"]
    quoted += [clause.text for clause, _ in kept if clause.phrase]
    phrases = [(text, bonus) for text in quoted if (bonus := _phrase(statistics, text))]
    name = _name(statistics, query_terms(plain, langs))
    near = any_of(
        chain(
            (where for text, _ in phrases if (where := _phrase_of(text)) is not None),
            (inside("cjk", letter) for letter, _ in weighed.lone),
            () if name is None else [_together(name)],
        )
    )
    bonuses = [bonus for _, bonus in phrases] + ([] if name is None else [name])
    if weighed.postings <= WEIGHTS.adjacent_postings:
        pairs = telling_pairs(plain, statistics)
        bonuses += [_side_by_side(statistics, "exact", p, WEIGHTS.adjacent) for p in pairs]
    if not words and near is False:
        return None
    excluded = (holding(c, langs) for c in query.clauses if c.kind == "must_not")
    return Ranking(
        words=words,
        near=near,
        bonuses=tuple(bonuses),
        lone=weighed.lone,
        narrow=all_of(
            [*(where for _, where in kept), *(negated(w) for w in excluded if w is not None)]
        ),
        near_only=not words or any(clause.phrase for clause, _ in kept),
    )


def describe(
    statistics: Counts, query: LexicalQuery, langs: Sequence[str], exists: Exists
) -> Relaxation | None:
    """Return what of *query* counts less than it says, or ``None`` if nothing does."""
    asked = _requirements(query, langs)
    kept = _satisfiable(exists, asked)
    wanted, met = ([clause for clause, _ in some] for some in (asked, kept))
    return relaxation(wanted, met, query, statistics, langs)


def holding(clause: Clause, langs: Sequence[str]) -> Expression | None:
    """Return the condition for passages that hold the phrase, or a form of every word."""
    if clause.phrase:
        return _phrase_of(clause.text)
    terms = required_terms(clause, langs)
    return all_of(any_of(_forms(term)) for term in terms) if terms else None


def better_of(found: Iterable[Iterable[tuple[float, int]]], limit: int) -> list[Scored]:
    """Merge lists of scores and keys: a passage has its best score, ties go by key."""
    best: dict[int, float] = {}
    for score, key in chain.from_iterable(found):
        best[key] = max(score, best.get(key, 0.0))
    order = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Scored(key, score) for key, score in order[:limit]]


def _requirements(query: LexicalQuery, langs: Sequence[str]) -> list[tuple[Clause, Expression]]:
    asked = dict.fromkeys(clause for clause in query.clauses if clause.kind == "must")
    made = ((clause, holding(clause, langs)) for clause in asked)
    return [(clause, where) for clause, where in made if where is not None]


def _satisfiable(
    exists: Exists, asked: Sequence[tuple[Clause, Expression]]
) -> list[tuple[Clause, Expression]]:
    """Return those of *asked* that some passage meets, all of them at once, in order."""
    kept: list[tuple[Clause, Expression]] = []
    for each in asked[:MOST_REQUIRED]:
        if exists(all_of(where for _, where in (*kept, each))):
            kept.append(each)
    return kept


def _forms(term: Term) -> list[Expression]:
    if term.kind == "cjk":
        if len(term.exact) == 1:
            return [inside("cjk", term.exact)]
        return [all_of(holds("terms", gram) for gram in dict.fromkeys(term.forms))]
    return [holds("terms", form) for form in dict.fromkeys((term.exact, *term.stems)) if form]


def _phrase_of(text: str) -> Expression | None:
    streams = analyze(text)
    parts = [
        in_order(field, terms.split())
        for field, terms in (("exact", streams.exact), ("cjk", streams.cjk))
        if terms
    ]
    return all_of(parts) if parts else None


def _phrase(statistics: Counts, text: str) -> Bonus | None:
    """Return what the words of *text* side by side score; ``None`` if no passage has them all."""
    streams = analyze(text)
    parts = []
    for field, terms in (("exact", streams.exact.split()), ("cjk", streams.cjk.split())):
        if not terms:
            continue
        if not all(statistics.frequency(field, term) for term in terms):
            return None
        parts.append(_side_by_side(statistics, field, terms, WEIGHTS.phrase).parts[0])
    return Bonus(tuple(parts)) if parts else None


def _side_by_side(statistics: Counts, field: str, terms: Sequence[str], weight: float) -> Bonus:
    rarity = math.fsum(idf(statistics.total, statistics.frequency(field, term)) for term in terms)
    return Bonus((((field, tuple(terms), weight * rarity),),))


def _name(statistics: Counts, terms: Iterable[Term]) -> Bonus | None:
    parts = tuple(
        tuple(
            ("called", (form,), WEIGHTS.called * idf(statistics.total, count))
            for form in forms
            if (count := statistics.frequency("called", form))
        )
        for forms in name_parts(terms, statistics)
    )
    return Bonus(parts) if parts else None


def _together(name: Bonus) -> Expression:
    return all_of(any_of(holds(f, terms[0]) for f, terms, _ in part) for part in name.parts)


def _scored(
    row: Row, field: str, terms: Sequence[str], weight: float, pivots: Mapping[str, int]
) -> float:
    stream = str(row[field])
    count = stream.replace(" ", "  ").count(f" {'  '.join(map(safe, terms))} ")
    if not count:
        return 0.0
    length = stream.count(" ") - 1
    return weight * impact(count, length, pivots[field])
