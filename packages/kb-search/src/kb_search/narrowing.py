"""Filters as tantivy queries, built from analysed terms.

A filter narrows before ranking and adds nothing to a score. No text that a person typed
reaches tantivy's own query parser: that one refuses, finds nothing, or kills the process
on input of a known kind (lesson 49).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import tantivy
from tantivy import Occur, Query

from kb_core.errors import InvalidInput
from kb_core.filters import And, Filter, Glob, Not, OneOf, Or, Range, Tagged, Words
from kb_core.text import quoted
from kb_search.analysis import analyze, fold

__all__ = [
    "all_of",
    "any_of",
    "build_filter",
    "glob_regex",
    "in_order",
    "inside",
    "lone_character",
    "one_of",
    "only",
    "phrase_of",
    "refuse_glob",
    "term_of",
    "terms_of",
]

_NOTHING = Query.empty_query()
_FAR = 2**62
_SHOWN = 60
_MANY = 1_000
"""From so many values on it is quicker to walk the dictionary for them than to look each up."""
_PATTERNS_KEPT = 64
_LONGEST_TAG = 1_000
"""No tag is longer; an automaton of one of three megabytes takes a gigabyte until it is refused."""


def only(kind: str, schema: tantivy.Schema) -> Query:
    """Return the query for every record of a kind."""
    return Query.term_query(schema, "kind", kind, "basic")


def build_filter(schema: tantivy.Schema, where: Filter) -> Query:  # noqa: C901, PLR0911 - one per node
    """Return *where* as a query; its score means nothing and must not be added."""
    match where:
        case Tagged(tags):
            return any_of([_tagged(schema, tag) for tag in tags])
        case OneOf(field, values):
            return one_of(schema, field, values)
        case Range(field, low, high):
            # Without any bound: whatever has a value at all.
            low = -_FAR if low is None and high is None else low
            return Query.range_query(schema, field, tantivy.FieldType.Integer, low, high)
        case Glob(pattern):
            return _path_query(_Schema(schema), pattern)
        case Words(field, text, phrase):
            return _words(schema, field, text, phrase=phrase)
        case And(parts):
            return all_of(build_filter(schema, part) for part in parts)
        case Or(parts):
            return any_of([build_filter(schema, part) for part in parts])
        case Not(part):
            return Query.boolean_query(
                [(Occur.Must, Query.all_query()), (Occur.MustNot, build_filter(schema, part))]
            )


def one_of(schema: tantivy.Schema, field: str, values: Sequence[str | int]) -> Query:
    """Return the query for records with one of these values; its score means nothing."""
    if len(values) > _MANY:
        return Query.term_set_query(schema, field, list(values))
    # Looked up one by one: to walk the dictionary for them takes five times as long.
    found = any_of([Query.term_query(schema, field, value, "basic") for value in values])
    return Query.const_score_query(found, 1.0) if len(values) > 1 else found


def _tagged(schema: tantivy.Schema, tag: str) -> Query:
    exactly = Query.term_query(schema, "tag", tag, "basic")
    if len(tag) > _LONGEST_TAG:
        return exactly
    try:
        pattern = f"(?i){''.join(map(_literal, tag))}(/.*)?"
        return any_of([exactly, Query.regex_query(schema, "tag", pattern)])
    except ValueError:  # longer than the engine's automata may be, as no real tag is
        return exactly


class _Schema:
    """A schema to keep something by: the engine's own can be told from no other."""

    def __init__(self, schema: tantivy.Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and self.schema is other.schema


@lru_cache(maxsize=_PATTERNS_KEPT)
def _path_query(known: _Schema, pattern: str) -> Query:
    """Return the query for a path pattern; its automaton takes .3 ms, and a search has three."""
    try:
        return Query.regex_query(known.schema, "path", glob_regex(pattern))
    except ValueError as error:
        raise refuse_glob(pattern, str(error)) from error


def refuse_glob(pattern: str, problem: str) -> InvalidInput:
    """Return the error for a pattern that the engine does not take; *problem* is what it said."""
    shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}…"
    too_large = "size limit" in problem or "too large" in problem
    expected = "as simple as it has to be" if too_large else "a path pattern"
    return InvalidInput(
        f"path_glob {quoted(shown)} is not {expected}",
        hint="use fewer of * ? [ ]" if too_large else "a pattern looks like 'docs/**/*.md'",
        details={"field": "path_glob", "value": shown, "expected": expected},
    )


def _words(schema: tantivy.Schema, field: str, text: str, *, phrase: bool) -> Query:
    if field == "body" and phrase:
        return phrase_of(schema, text) or _NOTHING
    wanted = terms_of(field, text)
    if not wanted:
        return _NOTHING
    return all_of(Query.term_query(schema, inside, term, "basic") for inside, term in wanted)


def terms_of(field: str, text: str) -> list[tuple[str, str]]:
    """Return what has to stand where *field* is to hold the words of *text*: fields, and terms."""
    if field == "name":
        return [("name", term) for term in fold(text).split()]
    streams = analyze(text)
    if field == "body":
        wanted = [("exact", term) for term in streams.exact.split()]
        return wanted + [("cjk", term) for term in streams.cjk.split()]
    inside = {"title": "title", "path": "path_words"}[field]
    return [(inside, term) for term in f"{streams.stem} {streams.cjk}".split()]


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
        elif pattern[at] == "[" and (end := _class_end(pattern, at)) != -1:
            inside = pattern[at + 1 : end]
            negated = inside[:1] in {"!", "^"}
            members = re.sub(r"([\\\[\]&~^])", r"\\\1", inside[1:] if negated else inside)
            out.append(f"[{'^' if negated else ''}{members}]")
            at = end + 1
        elif pattern[at] == "\\" and at + 1 < len(pattern):
            out.append(_literal(pattern[at + 1]))
            at += 2
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at]) or _literal(pattern[at]))
            at += 1
    return "".join(out)


def _class_end(pattern: str, at: int) -> int:
    """Return where the bracket at *at* is closed, or -1: the first member may be a bracket."""
    first = at + 2 if pattern[at + 1 : at + 2] in {"!", "^"} else at + 1
    return pattern.find("]", first + 1)


def _literal(character: str) -> str:
    return f"\\{character}" if character in r"\.+*?()|[]{}^$#&-~" else character


def phrase_of(schema: tantivy.Schema, text: str) -> Query | None:
    """Return the query for the words of *text* side by side, or ``None`` if it has none."""
    streams = analyze(text)
    parts = [
        in_order(schema, field, terms.split())
        for field, terms in (("exact", streams.exact), ("cjk", streams.cjk))
        if terms
    ]
    return all_of(parts) if parts else None


def in_order(schema: tantivy.Schema, field: str, terms: Sequence[str]) -> Query:
    """Return the query for *terms* side by side."""
    if len(terms) == 1:
        return term_of(schema, field, terms[0])
    return Query.phrase_query(schema, field, list(terms))


def any_of(parts: Sequence[Query]) -> Query:
    """Return what matches where one of *parts* does; no parts, never."""
    if len(parts) == 1:
        return parts[0]
    return Query.boolean_query([(Occur.Should, part) for part in parts]) if parts else _NOTHING


def all_of(parts: Iterable[Query]) -> Query:
    """Return what matches where all of *parts* do; no parts, always."""
    required = [(Occur.Must, part) for part in parts]
    return Query.boolean_query(required) if required else Query.all_query()


def term_of(schema: tantivy.Schema, field: str, text: str) -> Query:
    """Return the query for one analysed term, scored by how often a passage has it."""
    option = "position" if field in {"exact", "cjk"} else "freq"
    return Query.term_query(schema, field, text, option)


def lone_character(schema: tantivy.Schema, character: str) -> Query:
    """Find one CJK character at either end of any bigram."""
    known = _literal(character)
    return Query.regex_query(schema, "cjk", f"{known}.?|.{known}")


def inside(schema: tantivy.Schema, part: str) -> Query:
    """Return the query for chunks with a word that has *part*, as written, anywhere in it.

    All words of the index are walked for it.
    """
    return Query.regex_query(schema, "exact", f".*{part}.*")


def beginning(schema: tantivy.Schema, part: str) -> Query:
    """Return the query for chunks with a word that begins with *part*, as written."""
    return Query.regex_query(schema, "exact", f"{part}.*")
