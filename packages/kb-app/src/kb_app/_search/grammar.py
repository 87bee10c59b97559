"""What a person typed, read as a query. A query is a question, not a formula.

Understood are ``"quoted phrases"``, ``-word`` and ``NOT word``, ``title:word``,
``path:word``, ``tag:name``, and ``AND``/``OR`` between words. Exclusions and fields are
filters of both channels (ruling R13); everything else is words, and anything that is
not valid grammar is words too. No input raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kb_core.filters import Filter, Not, OneOf, Words, all_of
from kb_core.search import Clause, LexicalQuery

__all__ = ["ParsedQuery", "parse_query"]

_PIECE = re.compile(
    r"""
    (?P<negated>(?<!\S)-(?=[\w"]))?
    (?:(?P<field>title|path|tag):(?=[\w"]))?
    (?:"(?P<phrase>[^"]+)"|(?P<word>[^\s"]+)|(?P<quote>"))
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """Words to rank by, filters to narrow by, and the text for the vector channel."""

    lexical: LexicalQuery
    where: Filter | None
    text: str


@dataclass(slots=True)
class _Reading:
    words: list[str] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    negate_next: bool = False


def parse_query(text: str) -> ParsedQuery:
    """Read a query; a query of nothing but filters is ranked by its own text."""
    reading = _Reading()
    for piece in _PIECE.finditer(text):
        _read(reading, piece)
    if reading.negate_next:
        reading.words.append("NOT")
    plain = " ".join(reading.words)
    clauses = [*([Clause(plain)] if plain else []), *reading.clauses]
    if not clauses:
        clauses = [Clause(text)]
    spoken = " ".join([plain, *(clause.text for clause in reading.clauses)]).strip()
    return ParsedQuery(LexicalQuery(tuple(clauses)), all_of(reading.filters), spoken or text)


def _read(reading: _Reading, piece: re.Match[str]) -> None:
    phrase, word = piece["phrase"], piece["word"]
    if phrase is None and word in {"AND", "OR"}:
        return
    if phrase is None and word == "NOT":
        reading.negate_next = True
        return
    value = phrase if phrase is not None else (word or "")
    negated = bool(piece["negated"]) or reading.negate_next
    reading.negate_next = False
    if not value.strip():
        return
    narrowed = _narrow(piece["field"], value, phrase=phrase is not None)
    if negated:
        reading.filters.append(Not(narrowed or Words("body", value, phrase=phrase is not None)))
    elif narrowed is not None:
        reading.filters.append(narrowed)
    elif phrase is not None:
        reading.words.append(phrase)
        reading.clauses.append(Clause(phrase, phrase=True))
    else:
        reading.words.append(value)


def _narrow(name: str | None, value: str, *, phrase: bool) -> Filter | None:
    if name is None:
        return None
    if name == "tag":
        return OneOf("tag", (value,))
    return Words(name, value, phrase=phrase)
