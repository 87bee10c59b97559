"""What a person typed, read as a query. A query is a question, not a formula.

Understood are ``"quoted phrases"`` and ``this AND that``, which are required (quotes in a
long question only mark a term: there they rank), ``OR``, ``-word`` and ``NOT word``,
``title:word``, ``path:word`` and ``tag:name``. Exclusions and fields are filters of both
channels (ruling R13); everything else is words, and anything that is not valid grammar is
words too. No input raises.

``AND`` takes the words or phrases right beside it. Where ``AND`` and ``OR`` meet, as in
``a AND b OR c``, there are no parentheses to tell what is meant: nothing is required.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

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
_DEMANDING = 0.25
"""Which share of a query's letters its quotes hold at least where they are demands."""
_LETTER = re.compile(r"[^\W_]")

Kind: TypeAlias = Literal["word", "phrase", "filter", "AND", "OR", "NOT"]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """Words to rank by, filters to narrow by, and the text for the vector channel."""

    lexical: LexicalQuery
    where: Filter | None
    text: str


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: Kind
    text: str
    where: Filter | None = None


def parse_query(text: str) -> ParsedQuery:
    """Read a query; a query of nothing but filters is ranked by its own text."""
    pieces = _negated([_read(found) for found in _PIECE.finditer(text)])
    required = _required(pieces)
    spoken = [at for at, piece in enumerate(pieces) if piece.kind in {"word", "phrase"}]
    plain = " ".join(pieces[at].text for at in spoken if at not in required)
    clauses = [Clause(plain)] if plain else []
    for at in spoken:
        piece = pieces[at]
        if at in required:
            clauses.append(Clause(piece.text, phrase=piece.kind == "phrase", kind="must"))
        elif piece.kind == "phrase":
            clauses.append(Clause(piece.text, phrase=True))
    return ParsedQuery(
        lexical=LexicalQuery(tuple(clauses or [Clause(text)])),
        where=all_of(piece.where for piece in pieces),
        text=" ".join(pieces[at].text for at in spoken) or text,
    )


def _read(found: re.Match[str]) -> _Piece:
    phrase, word = found["phrase"], found["word"] or ""
    if word in {"AND", "OR", "NOT"} and not found["negated"] and not found["field"]:
        return _Piece(_operator(word), word)
    value = word if phrase is None else phrase
    if not value.strip():
        return _Piece("word", "")
    is_phrase = phrase is not None
    where = _field(found["field"], value, is_phrase=is_phrase)
    if found["negated"]:
        return _exclude(_Piece("phrase" if is_phrase else "word", value, where))
    if where is not None:
        return _Piece("filter", value, where)
    # Quotes around punctuation have no words that could stand side by side.
    return _Piece("phrase" if is_phrase and _LETTER.search(value) else "word", value)


def _operator(word: str) -> Kind:
    return "AND" if word == "AND" else "OR" if word == "OR" else "NOT"


def _field(name: str | None, value: str, *, is_phrase: bool) -> Filter | None:
    if name is None:
        return None
    if name == "tag":
        return OneOf("tag", (value,))
    return Words(name, value, phrase=is_phrase)


def _exclude(piece: _Piece) -> _Piece:
    body = Words("body", piece.text, phrase=piece.kind == "phrase")
    return _Piece("filter", piece.text, Not(piece.where or body))


def _negated(pieces: list[_Piece]) -> list[_Piece]:
    """Apply every ``NOT`` to what follows it; one at the very end is a word."""
    read: list[_Piece] = []
    negate = False
    for piece in pieces:
        if not piece.text:
            continue
        if piece.kind == "NOT":
            negate = True
        elif negate and piece.kind in {"word", "phrase", "filter"}:
            # What is excluded already stays so: "NOT -word" is no double negation.
            read.append(piece if isinstance(piece.where, Not) else _exclude(piece))
            negate = False
        else:
            read.append(piece)
    return [*read, _Piece("word", "NOT")] if negate else read


def _required(pieces: list[_Piece]) -> set[int]:
    """Return which pieces have to match: phrases, and what stands beside ``AND``."""
    phrases = _demanded(pieces)
    kinds = [piece.kind for piece in pieces]
    if "OR" in kinds:
        # Alternatives: what stands beside OR is not required, and no AND can be told from it.
        beside = {at + step for at, kind in enumerate(kinds) if kind == "OR" for step in (-1, 1)}
        return set() if "AND" in kinds else phrases - beside
    beside = {at + step for at, kind in enumerate(kinds) if kind == "AND" for step in (-1, 1)}
    return phrases | {at for at in beside if 0 <= at < len(kinds) and kinds[at] == "word"}


def _demanded(pieces: list[_Piece]) -> set[int]:
    """Return the phrases that are demands: all of them, unless they are a small part.

    In a question of many words, quotes around one mark a term, and are no demand.
    """
    phrases = {at for at, piece in enumerate(pieces) if piece.kind == "phrase"}
    quoted = sum(len(pieces[at].text) for at in phrases)
    spoken = sum(len(piece.text) for piece in pieces if piece.kind in {"word", "phrase"})
    return phrases if quoted >= _DEMANDING * spoken else set()
