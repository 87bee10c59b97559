"""Queries and filters as tantivy queries, built from analysed terms.

No text that a person typed reaches tantivy's own query parser: that one refuses, finds
nothing, or kills the process on input of a known kind (lesson 49).

Ranking. A query is a question: its words are OR-ed. A word scores in the field of
stems; the unstemmed word, the parts of identifiers, the words around the passage (title,
headings, path) and the symbol that it defines add to that. Weights are below, chosen once for all
languages and collections (``tools/bench/ir.py`` measures them).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import tantivy
from tantivy import Occur, Query

from kb_core.filters import And, Filter, Glob, Not, OneOf, Or, Range, Words
from kb_core.search import Clause, LexicalQuery
from kb_search.analysis import Term, analyze, query_terms

__all__ = ["Weights", "build_filter", "build_query", "glob_regex", "only"]

_NOTHING = Query.empty_query()
_FAR = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each field counts; the field of stems and that of bigrams are 1."""

    exact: float = 0.2
    ident: float = 0.1
    whole: float = 0.5
    head: float = 0.15
    symbol: float = 0.3
    name: float = 4.0
    """For what is written as an identifier: a plain word is the name of too many things."""
    phrase: float = 1.0


def build_query(
    schema: tantivy.Schema,
    query: LexicalQuery,
    langs: Sequence[str],
    weights: Weights = Weights(),
) -> Query | None:
    """Return what *query* ranks by, or ``None`` if it holds no term at all."""
    should: list[Query] = []
    must: list[Query] = []
    must_not: list[Query] = []
    for clause in query.clauses:
        wanted = _clause(schema, clause, langs, weights)
        {"should": should, "must": must, "must_not": must_not}[clause.kind].extend(wanted)
    if not should and not must:
        return None
    parts = [(Occur.Should, part) for part in should] + [(Occur.Must, part) for part in must]
    return Query.boolean_query(parts + [(Occur.MustNot, part) for part in must_not])


def _clause(
    schema: tantivy.Schema, clause: Clause, langs: Sequence[str], weights: Weights
) -> list[Query]:
    """Return queries of which any may match; those of a ``must`` are one query that has to."""
    if clause.phrase:
        phrase = _phrase(schema, clause.text)
        return [] if phrase is None else [Query.boost_query(phrase, weights.phrase)]
    terms = [_term(schema, term, weights) for term in query_terms(clause.text, langs) if term.exact]
    if clause.kind == "should":
        # One flat list of term queries: tantivy skips blocks that cannot reach the top
        # (block-max WAND) only where a union holds nothing but terms.
        return [query for term in terms for query in term]
    return [_all(_any(term) for term in terms)] if terms else []


def _term(schema: tantivy.Schema, term: Term, weights: Weights) -> list[Query]:
    # A word that a long question repeats matters more, but not so many times as much.
    often = math.sqrt(term.count)

    def scored(field: str, text: str, weight: float) -> Query:
        weight *= often
        option = "position" if field in {"exact", "cjk"} else "freq"
        query = Query.term_query(schema, field, text, option)
        return query if weight == 1 else Query.boost_query(query, weight)

    if term.kind == "cjk":
        if len(term.exact) == 1:
            return [_lone_character(schema, term.exact)]
        grams = dict.fromkeys(term.forms)
        return [
            *(scored("cjk", gram, 1.0) for gram in grams),
            *(scored("head", gram, weights.head) for gram in grams),
        ]
    if term.kind == "whole":
        return [
            *(scored(field, term.exact, weights.whole) for field in ("ident", "head", "symbol")),
            scored("name", term.exact, weights.name),
        ]
    named = [scored("name", term.exact, weights.name)] if term.kind == "identifier" else []
    return [
        *named,
        *(scored("stem", stem, 1.0) for stem in term.stems),
        *(scored("head", stem, weights.head) for stem in term.stems),
        *(scored("symbol", stem, weights.symbol) for stem in term.stems),
        scored("exact", term.exact, weights.exact),
        scored("ident", term.exact, weights.ident),
    ]


def _lone_character(schema: tantivy.Schema, character: str) -> Query:
    """Find one CJK character at either end of any bigram."""
    literal = _literal(character)
    found = Query.regex_query(schema, "cjk", f"{literal}.?|.{literal}")
    return Query.const_score_query(found, 1.0)


def _phrase(schema: tantivy.Schema, text: str) -> Query | None:
    streams = analyze(text)
    parts = [
        _in_order(schema, field, terms.split())
        for field, terms in (("exact", streams.exact), ("cjk", streams.cjk))
        if terms
    ]
    if not parts:
        return None
    return Query.boolean_query([(Occur.Must, part) for part in parts])


def _in_order(schema: tantivy.Schema, field: str, terms: list[str]) -> Query:
    if len(terms) == 1:
        return Query.term_query(schema, field, terms[0])
    return Query.phrase_query(schema, field, list(terms))


def _any(parts: Sequence[Query]) -> Query:
    if len(parts) == 1:
        return parts[0]
    return Query.boolean_query([(Occur.Should, part) for part in parts]) if parts else _NOTHING


def only(kind: str, schema: tantivy.Schema) -> Query:
    """Return the query for every record of a kind."""
    return Query.term_query(schema, "kind", kind, "basic")


def build_filter(schema: tantivy.Schema, where: Filter) -> Query:  # noqa: PLR0911 - one per node
    """Return *where* as a query; its score means nothing and must not be added."""
    match where:
        case OneOf(field, values):
            return Query.term_set_query(schema, field, list(values)) if values else _NOTHING
        case Range(field, low, high):
            # Without any bound: whatever has a value at all.
            low = -_FAR if low is None and high is None else low
            return Query.range_query(schema, field, tantivy.FieldType.Integer, low, high)
        case Glob(pattern):
            return Query.regex_query(schema, "path", glob_regex(pattern))
        case Words(field, text, phrase):
            return _words(schema, field, text, phrase=phrase)
        case And(parts):
            return _all(build_filter(schema, part) for part in parts)
        case Or(parts):
            return _any([build_filter(schema, part) for part in parts])
        case Not(part):
            return Query.boolean_query(
                [(Occur.Must, Query.all_query()), (Occur.MustNot, build_filter(schema, part))]
            )


def _all(parts: Iterable[Query]) -> Query:
    required = [(Occur.Must, part) for part in parts]
    return Query.boolean_query(required) if required else Query.all_query()


def _words(schema: tantivy.Schema, field: str, text: str, *, phrase: bool) -> Query:
    if field == "body" and phrase:
        return _phrase(schema, text) or _NOTHING
    streams = analyze(text)
    if field == "body":
        wanted = [("exact", term) for term in streams.exact.split()]
        wanted += [("cjk", term) for term in streams.cjk.split()]
    else:
        inside = {"title": "title", "path": "path_words"}[field]
        wanted = [(inside, term) for term in f"{streams.stem} {streams.cjk}".split()]
    if not wanted:
        return _NOTHING
    return _all(Query.term_query(schema, inside, term, "basic") for inside, term in wanted)


@cache
def glob_regex(pattern: str) -> str:
    """Return a gitignore-like path pattern as a regular expression over whole paths."""
    pattern = pattern.removeprefix("./")
    anchored = "/" in pattern.rstrip("/")
    if pattern.endswith("/"):
        pattern += "**"
    body = _glob_body(pattern.removeprefix("/"))
    return body if anchored else f"(.*/)?{body}"


def _glob_body(pattern: str) -> str:
    out = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) != -1:
            inside = pattern[at + 1 : end]
            negated = inside[:1] in {"!", "^"}
            members = re.sub(r"([\\\[\]&~^])", r"\\\1", inside[1:] if negated else inside)
            out.append(f"[{'^' if negated else ''}{members}]")
            at = end + 1
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at]) or _literal(pattern[at]))
            at += 1
    return "".join(out)


def _literal(character: str) -> str:
    return f"\\{character}" if character in r"\.+*?()|[]{}^$#&-~" else character
