"""What is asked: a question as a person types it, and the filters beside it.

A query is a question, not a formula. Understood are ``"quoted phrases"`` and ``this AND
that``, which are required (quotes in a long question only mark a term: there they rank),
``OR``, ``-word`` and ``NOT word``, ``title:word``, ``path:word`` and ``tag:name``.
Exclusions and fields are filters of both channels (ruling R13); everything else is words,
and anything that is not valid grammar is words too. No text of a query raises; a value of
a filter that means nothing does.

In a question in capitals, ``AND``, ``OR`` and ``NOT`` are words like the others: what
tells an operator is that it is written otherwise than they are. ``AND`` takes the words or
phrases right beside it. Where ``AND`` and ``OR`` meet, as in
``a AND b OR c``, there are no parentheses to tell what is meant: nothing is required.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kb_core.clock import parse_rfc3339, to_epoch
from kb_core.control import ADDED_SOURCE
from kb_core.errors import InvalidInput
from kb_core.filters import (
    FILTERS,
    Filter,
    FilterSpec,
    Glob,
    Not,
    OneOf,
    Or,
    Range,
    Tagged,
    Words,
    all_of,
    as_value,
    values_of,
)
from kb_core.ids import parse_id_prefix
from kb_core.media import MEDIA_ALIASES, Media, TrustLevel
from kb_core.search import MAX_QUERY_TERMS, Clause, LexicalQuery, Missing, SearchFilters
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = [
    "ParsedQuery",
    "check_query",
    "compile_each",
    "compile_filters",
    "epoch_of",
    "filter_warnings",
    "glob_of",
    "missing_of",
    "nearest_of",
    "parse_query",
    "words_of",
]

_PIECE = re.compile(
    r"""
    (?P<negated>(?<!\S)-(?=[\w"]))?
    (?:(?P<field>title|path|tag):(?=[\w"]))?
    (?:"(?P<phrase>[^"]+)"|(?P<word>[^\s"]+)|(?P<quote>"))
    """,
    re.VERBOSE,
)
_OPERATOR = re.compile(r"(?<!\S)(?:AND|OR|NOT)(?!\S)")
_DEMANDING = 0.25
"""Which share of a query's letters its quotes hold at least where they are demands."""
_LETTER = re.compile(r"[^\W_]")

_WORD = re.compile(r"[^\W_][\w.\-]*[^\W_]|[^\W_]")

_CLASS = re.compile(r"\[[!^]?(.[^]]*)\]", re.DOTALL)
"""The members of a bracket in a path pattern; the first may be a bracket itself."""
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)

Kind: TypeAlias = Literal["word", "phrase", "filter", "AND", "OR", "NOT"]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """Words to rank by, filters to narrow by, the text without these, and what is embedded."""

    lexical: LexicalQuery
    where: Filter | None
    text: str
    meant: str
    excludes_only: bool = False
    """Whether it says what is not wanted, and nothing that is."""


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: Kind
    text: str
    where: Filter | None = None


def parse_query(text: str) -> ParsedQuery:
    """Read a query; a query of nothing but filters is ranked by its own text."""
    in_capitals = _is_in_capitals(text)
    found = [_read(piece, in_capitals=in_capitals) for piece in _PIECE.finditer(text)]
    pieces = _negated(found)
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
    said = " ".join(pieces[at].text for at in spoken) or text
    return ParsedQuery(
        lexical=LexicalQuery(tuple(clauses or [Clause(text)])),
        where=all_of(piece.where for piece in pieces),
        text=said,
        meant=said,
        excludes_only=bool(pieces) and all(isinstance(piece.where, Not) for piece in pieces),
    )


def check_query(parsed: ParsedQuery, text: str) -> None:
    """Refuse with ``InvalidInput`` what nothing can be found for, or only in a long time."""
    if parsed.excludes_only:
        raise InvalidInput(
            f"query {text!r} only says what not to find",
            hint="add what to look for, such as: otter -zoo",
            details={"field": "query", "value": text},
        )
    if len(text) <= MAX_QUERY_TERMS:
        return  # no room for more
    from kb_search.analysis import analyze

    streams = analyze(text)
    terms = len({*streams.exact.split(), *streams.cjk.split()})
    if terms > MAX_QUERY_TERMS:
        raise InvalidInput(
            f"the query has {terms:,} different words, and at most {MAX_QUERY_TERMS:,} are "
            "looked for",
            hint="ask for what is telling in it",
            details={"field": "query", "value": terms, "max": MAX_QUERY_TERMS},
        )


def words_of(text: str) -> list[str]:
    """Return the words of a text, each once, in order; joined identifiers stay whole."""
    return list(dict.fromkeys(_WORD.findall(text)))


_MOST_WORDS = 6
_SHORTEST = 4
_ASKING = frozenset(("where", "what", "when", "which", "does", "with", "from", "this", "that"))


def missing_of(
    snapshot: IndexSnapshot, typed: str, text: str, where: Filter | None
) -> Missing | None:
    """Return which words keep passages from holding all of a query, if none does.

    *text* is what of the query as it was *typed* is ranked by. Of key words that is worth
    knowing; of a sentence, which no passage repeats, and of what ``OR`` joins only what
    stands nowhere. Short words of lower case and those that ask are taken for grammar.
    """
    words = [word for word in words_of(text) if not _is_grammar(word)]
    if not words:
        return None
    parts = {word: Words("body", word) for word in words[: 2 * _MOST_WORDS]}

    def count(wanted: Iterable[str]) -> int:
        return snapshot.count(all_of([where, *(parts[word] for word in wanted)]))

    unknown = tuple(word for word in parts if not count([word]))
    known = [word for word in parts if word not in unknown]
    wants_all = 1 < len(known) <= _MOST_WORDS and "OR" not in typed.split()
    if not wants_all or count(known):
        return Missing(unknown=unknown) if unknown else None
    held = {word: count(other for other in known if other != word) for word in known}
    without = sorted(((word, n) for word, n in held.items() if n), key=lambda pair: -pair[1])
    return Missing(unknown=unknown, without=tuple(without))


def _is_grammar(word: str) -> bool:
    is_short = len(word) < _SHORTEST and word.isascii() and word.isalpha() and word.islower()
    return is_short or word in _ASKING


def _is_in_capitals(text: str) -> bool:
    """Say whether the words beside the operators are in capitals, all of them.

    What has no case tells nothing, as a question in Korean.
    """
    rest = _OPERATOR.sub("", text)
    return rest.upper() == rest != rest.lower()


def _read(found: re.Match[str], *, in_capitals: bool) -> _Piece:
    phrase, word = found["phrase"], found["word"] or ""
    is_operator = word in {"AND", "OR", "NOT"} and not in_capitals
    if is_operator and not found["negated"] and not found["field"]:
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
        return _tagged((value,))
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


_MEDIA = {*(medium.value for medium in Media), *MEDIA_ALIASES}
_SHOWN = 10
_CODES = {
    "arabic": "ar",
    "chinese": "zh",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hungarian": "hu",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "norwegian": "no",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
    "ukrainian": "uk",
}
"""ISO 639-1 codes of what people write instead."""

_LONGEST_GLOB = 300
"""Longer patterns make automata that the engine refuses."""


def compile_filters(filters: SearchFilters, snapshot: IndexSnapshot) -> Filter | None:
    """Return the tree for *filters*; raise ``InvalidInput`` for values that mean nothing.

    *snapshot* knows which document the beginning of an id is of.
    """
    return all_of(part for _, part in compile_each(filters, snapshot))


def compile_each(
    filters: SearchFilters, snapshot: IndexSnapshot
) -> Iterator[tuple[FilterSpec, Filter]]:
    """Yield every filter that is given, by itself, with its meaning."""
    for row in FILTERS:
        given = getattr(filters, row.name)
        values = _values(row, given) if row.many else () if given is None else (given,)
        if values:
            yield row, _compiled(row, values, snapshot)


def filter_warnings(filters: SearchFilters, snapshot: IndexSnapshot) -> tuple[str, ...]:
    """Return a warning for every value of a filter that nothing has: it gives no hits."""
    return tuple(
        _unknown(row, value, snapshot)
        for row in FILTERS
        if row.many and row.kind in {"text", "word", "medium"}
        for value in _values(row, getattr(filters, row.name))
        if not _is_known(row, value, snapshot)
    )


def _values(row: FilterSpec, given: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a filter that takes several; but for paths, a comma parts two."""
    if row.kind == "glob":
        return tuple(given)
    for value in given:
        _check_unicode(row.name, value)
        if not value.strip(" ,"):
            raise _bad(row.name, value, "a value")
    return tuple(word for value in given for word in values_of(value))


def _is_known(row: FilterSpec, value: str, snapshot: IndexSnapshot) -> bool:
    if row.kind == "medium":
        return value.lower() in _MEDIA
    if row.field == "source_id":
        return True  # one that there is none of was refused
    return snapshot.count_docs(_compiled(row, (value,), snapshot)) > 0


def _unknown(row: FilterSpec, value: str, snapshot: IndexSnapshot) -> str:
    known = _MEDIA if row.kind == "medium" else _existing(row, snapshot)
    close = nearest_of(_CODES.get(value.lower(), value) if row.field == "lang" else value, known)
    said = f"{row.name} {value!r} is unknown and gives no hits"
    if close:
        return f"{said}; did you mean '{as_value(close)}'?"
    some = sorted(known)[:_SHOWN]
    more = ", …" if len(known) > len(some) else ""
    return f"{said}; known are {', '.join(map(as_value, some))}{more}" if some else said


def nearest_of(word: str, known: Iterable[str]) -> str | None:
    """Return the one of *known* that *word* is most likely meant to be."""
    from difflib import get_close_matches  # only a mistake needs it

    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def _existing(row: FilterSpec, snapshot: IndexSnapshot) -> set[str]:
    """Return the values that documents have; reads all of them, which only a mistake needs."""
    found: set[str] = set()
    docs: Sequence[Mapping[str, Any]] = snapshot.docs(None)
    for doc in docs:
        values = _with_parents(doc["tags"]) if row.field == "tag" else (doc[row.field],)
        found.update(value for value in values if value)
    return found


def _with_parents(tags: Iterable[str]) -> Iterator[str]:
    for tag in tags:
        parts = tag.split("/")
        yield from ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def _compiled(  # noqa: C901, PLR0911 - one per kind
    row: FilterSpec, values: Sequence[str], snapshot: IndexSnapshot
) -> Filter:
    match row.kind:
        case "text":
            if row.field == "source_id":
                _check_sources(row, values, snapshot)
            return _tagged(values) if row.field == "tag" else OneOf(row.field, tuple(values))
        case "word":
            lowered = (value.lower() for value in values)
            # What has no language, code, is counted under "null", and indexed under "".
            return OneOf(row.field, tuple("" if word == "null" else word for word in lowered))
        case "medium":
            return OneOf(row.field, tuple(MEDIA_ALIASES.get(v.lower(), v.lower()) for v in values))
        case "glob":
            return Or(tuple(glob_of(row.name, value) for value in values))
        case "trust":
            return Range(row.field, low=_rank(row, *values))
        case "from":
            return Range(row.field, low=epoch_of(row.name, *values))
        case "until":
            return Range(row.field, high=_last_second(row, *values))
        case "id":
            return OneOf(row.field, tuple(_doc_id(row, value, snapshot) for value in values))


def _tagged(tags: Sequence[str]) -> Tagged:
    """Return tags as they are written anywhere: ``#area/`` is ``area``."""
    return Tagged(tuple(tag.removeprefix("#").rstrip("/") or tag for tag in tags))


def _check_sources(row: FilterSpec, values: Sequence[str], snapshot: IndexSnapshot) -> None:
    """Refuse a source that there is none of: a typing error looks like an empty folder."""
    known = sorted({*snapshot.control.sources, ADDED_SOURCE})
    for value in values:
        if value not in known:
            close = nearest_of(value, known)
            raise InvalidInput(
                f"{row.name} {value!r} is unknown, or was never ingested",
                hint=f"did you mean {close!r}?" if close else f"known are {', '.join(known)}",
                details={"field": row.name, "value": value, "known": known, "nearest": close},
            )


def _check_unicode(name: str, value: str) -> None:
    """Refuse half a surrogate pair: nothing that is stored can hold one."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _bad(name, value.encode("utf-8", "replace").decode(), "valid Unicode") from error


def glob_of(name: str, pattern: str) -> Glob:
    """Return a path pattern as a filter; raise ``InvalidInput`` for what is none.

    What only the engine cannot do is refused by the engine, as ``InvalidInput``, too.
    """
    _check_unicode(name, pattern)
    if not pattern.strip() or pattern.count("[") > pattern.count("]"):
        raise _bad(name, pattern, "a gitignore-like pattern such as 'docs/**/*.md'")
    if len(pattern) > _LONGEST_GLOB:
        shown = f"{pattern[:40]}…"
        raise _bad(name, shown, f"a pattern of at most {_LONGEST_GLOB} characters")
    for inside in _CLASS.findall(pattern):
        for first, last in _RANGE.findall(inside):
            if first > last:
                what = f"a path pattern: in [{inside}], {first!r} comes after {last!r}"
                raise _bad(name, pattern, what)
    return Glob(pattern)


def _rank(row: FilterSpec, level: str) -> int:
    try:
        return TrustLevel(level.lower()).rank
    except ValueError as error:
        raise _bad(row.name, level, "primary, secondary or generated") from error


def _last_second(row: FilterSpec, value: str) -> int:
    whole_day = "T" not in value and ":" not in value
    return epoch_of(row.name, value) + (86_399 if whole_day else 0)


def epoch_of(name: str, value: str) -> int:
    """Return a date or time that was given as *name* in epoch seconds; or ``InvalidInput``."""
    try:
        return to_epoch(parse_rfc3339(value))
    except (ValueError, OverflowError) as error:
        raise _bad(
            name, value, "a date or time such as 2026-05-10 or 2026-05-10T12:00:00Z"
        ) from error


def _doc_id(row: FilterSpec, given: str, snapshot: IndexSnapshot) -> str:
    prefix = parse_id_prefix(given, what=row.name)
    found = snapshot.find_docs(prefix, 2)
    if len(found) > 1:
        raise _bad(row.name, given, "the beginning of one id alone: give more digits")
    return found[0]["doc_id"] if found else prefix


def _bad(name: str, value: str, expected: str) -> InvalidInput:
    return InvalidInput(
        f"{name} {value!r} is not {expected}",
        details={"field": name, "value": value, "expected": expected},
    )
