"""What becomes of a query's requirements that nothing can meet, and what is said of it.

A query may require words (``a AND b``) and phrases (``"a b"``). A requirement is let go
when no passage of the whole index meets it, alone or together with those before it; its
words are still ranked by. So that decision follows from the query and from how many
passages there are, never from a filter or a result (ruling R13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tantivy
from tantivy import Query

from kb_core.search import Clause, LexicalQuery, Relaxation
from kb_search.analysis import Term, query_terms
from kb_search.narrowing import all_of, any_of, lone_character, phrase_of, term_of
from kb_search.statistics import TermStatistics

__all__ = ["Requirement", "describe", "holding", "requirements", "satisfiable"]

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
    """Return what the query says a passage has to hold, in its order."""
    made = ((c, holding(schema, c, langs)) for c in query.clauses if c.kind == "must")
    return [Requirement(clause, query) for clause, query in made if query is not None]


def satisfiable(
    searcher: tantivy.Searcher, asked: Sequence[Requirement]
) -> tuple[Requirement, ...]:
    """Return those of *asked* that some passage meets, all of them at once, in order."""
    kept: tuple[Requirement, ...] = ()
    for requirement in asked:
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
