"""What is asked: a question as a person types it.

A query is a question, not a formula. Understood are ``"quoted phrases"`` and ``this AND
that``, which are required (quotes in a long question only mark a term: there they rank),
``OR``, ``-word`` and ``NOT word``, ``title:word``, ``path:word`` and ``tag:name``.
Exclusions and fields are filters of both channels (ruling R13); everything else is words,
and anything that is not valid grammar is words too. No text of a query raises.

In a question in capitals, ``AND``, ``OR`` and ``NOT`` are words like the others: what
tells an operator is that it is written otherwise than they are. ``AND`` takes the words or
phrases right beside it. Where ``AND`` and ``OR`` meet, as in
``a AND b OR c``, there are no parentheses to tell what is meant: nothing is required.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from kb_app._search.filtering import tagged
from kb_core.errors import InvalidInput
from kb_core.filters import Filter, Not, Words, all_of
from kb_core.search import MAX_QUERY_TERMS, Clause, LexicalQuery, Missing
from kb_core.text import WordPattern
from kb_core.values import dataclass, lazy_pattern

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = ["ParsedQuery", "check_query", "counted_words", "missing_of", "parse_query", "words_of"]

_PIECE = lazy_pattern(
    r"""
    (?P<negated>(?<!\S)-(?=[\w"]))?
    (?:(?P<field>title|path|tag):(?=[\w"]))?
    (?:"(?P<phrase>[^"]+)"|(?P<word>[^\s"]+)|(?P<quote>"))
    """,
    re.VERBOSE,
)
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_OPERATOR = lazy_pattern(r"(?<!\S)(?:AND|OR|NOT)(?!\S)")
_DEMANDING = 0.25
"""Which share of a query's letters its quotes hold at least where they are demands."""
_LETTER = lazy_pattern(r"[^\W_]")

_WORD = WordPattern(r"<sign>[\w.\-<signs>]*<sign>|<sign>")

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
    if _is_plain(text):
        said = " ".join(text.split())
        return ParsedQuery(LexicalQuery((Clause(said or text),)), None, said or text, said or text)
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
    return list(dict.fromkeys(_WORD.of(text).findall(text)))


def counted_words(text: str) -> Counter[str]:
    """Return how often each word stands in a text, in small letters."""
    return Counter(word.lower() for word in _WORD.of(text).findall(text))


_MOST_WORDS = 6
_SHORTEST = 4
_SEVERAL = lazy_pattern(
    r"(?=[\u30a0-\u30ff]*[\u3040-\u309f\u3400-\u9fff])[\u3040-\u30ff\u3400-\u9fff]{5}"  # Han, kana
    r"|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{13}"  # Thai, Lao, Burmese, Khmer
)
_WITHOUT_SPACES = lazy_pattern(
    "[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
)
_HANGUL = lazy_pattern(r"[\uac00-\ud7a3]")
_TWO_SYLLABLES = lazy_pattern(r"[\uac00-\ud7a3]{2}")
_MANY = 3
"""Beginnings of a word from which on it pays to ask for the shortest first."""
_ASKING = frozenset(("where", "what", "when", "which", "does", "with", "from", "this", "that"))


def missing_of(
    snapshot: IndexSnapshot, typed: str, text: str, where: Filter | None
) -> Missing | None:
    """Return which words keep passages from holding all of a query, if none does.

    *text* is what of the query as it was *typed* is ranked by. Of key words that is worth
    knowing; of a sentence, which no passage repeats, and of what ``OR`` joins only what
    stands nowhere. Short words of lower case and those that ask are taken for grammar; what is
    written without spaces and longer than a word is several, and none of them is known apart.
    A Korean word stands where it begins so: particles and endings are written onto it. Another
    one is in a passage that has a form of it. Of what no passage within *where* holds it is told
    apart what others do.
    """
    from kb_search.asking import asking_words

    asking = _ASKING | asking_words(text)
    words = [word for word in words_of(text) if not _is_grammar(word, asking)]
    words = [word for word in words if not _SEVERAL.search(word)]
    if not words:
        return None

    def count(wanted: Iterable[Words]) -> int:
        return snapshot.count(all_of([where, *wanted]))

    asked = words[: 2 * _MOST_WORDS]
    stands = {word: _standing(word, lambda part: count([part])) for word in asked}
    nowhere = [word for word, part in stands.items() if part is None]
    absent = [word for word in nowhere if not _has_form(snapshot, word, where)]
    outside = tuple(word for word in absent if where is not None and _is_anywhere(snapshot, word))
    unknown = tuple(word for word in absent if word not in outside)
    known = {word: part for word, part in stands.items() if part is not None}
    wants_all = 1 < len(known) <= _MOST_WORDS and "OR" not in typed.split()
    if not wants_all or count(known.values()):
        return Missing(unknown=unknown, outside=outside) if absent else None
    held = {word: count(part for other, part in known.items() if other != word) for word in known}
    without = sorted(((word, n) for word, n in held.items() if n), key=lambda pair: -pair[1])
    return Missing(unknown=unknown, outside=outside, without=tuple(without))


def _is_anywhere(snapshot: IndexSnapshot, word: str) -> bool:
    """Say whether any passage holds *word*, as ``missing_of`` has it."""
    return bool(_standing(word, snapshot.count)) or _has_form(snapshot, word, None)


def _standing(word: str, count: Callable[[Words], int]) -> Words | None:
    """Return what stands of *word*: all of it or, if it is Korean, most of how it begins."""
    parts = [Words("body", word)]
    for size in range(len(word) - 1, 1, -1):
        if not _HANGUL.match(word, size):
            break
        parts.append(Words("body", word[:size]))
    if len(parts) > _MANY and _TWO_SYLLABLES.match(word) and not count(parts[-1]):
        return None  # where two syllables do not stand, no longer beginning does
    return next((part for part in parts if count(part)), None)


def _has_form(snapshot: IndexSnapshot, word: str, where: Filter | None) -> bool:
    """Say whether a passage has a form of *word*, as *notebooks* is one of *notebook*."""
    query = LexicalQuery((Clause(word),))
    return not _WITHOUT_SPACES.search(word) and bool(snapshot.lexical(query, where, 1))


def _is_grammar(word: str, asking: Collection[str]) -> bool:
    is_short = len(word) < _SHORTEST and word.isascii() and word.isalpha() and word.islower()
    return is_short or word.lower() in asking


def _is_plain(text: str) -> bool:
    """Say whether a query is words alone, as almost all are: no sign could mean another thing."""
    if '"' in text or ":" in text:
        return False
    return all(word[0] != "-" and word not in _OPERATORS for word in text.split())


def _is_in_capitals(text: str) -> bool:
    """Say whether the words beside the operators are in capitals, all of them.

    What has no case tells nothing, as a question in Korean.
    """
    rest = _OPERATOR.sub("", text)
    return rest.upper() == rest != rest.lower()


def _read(found: re.Match[str], *, in_capitals: bool) -> _Piece:
    phrase, word = found["phrase"], found["word"] or ""
    is_operator = word in _OPERATORS and not in_capitals
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
        return tagged((value,))
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
