"""Filters, evaluated in plain Python: slow, and easy to believe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, assert_never

from kb_core.filters import And, Filter, Glob, Not, OneOf, Or, Range, Words
from kb_core.testing._words import words

__all__ = ["Facts", "contains_phrase", "glob_matches", "passes"]

Values: TypeAlias = Mapping[str, tuple[str | int, ...]]


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be asked about a chunk, a document or a file."""

    values: Values
    """Field → its values; a field that has none is in no range and equal to nothing."""
    text_of: Callable[[str], Sequence[str]]
    """Words of ``body``, ``title`` or ``path``."""


def passes(facts: Facts, where: Filter | None) -> bool:  # noqa: C901, PLR0911 - a case per node
    """Say whether *where* lets it pass."""
    match where:
        case None:
            return True
        case OneOf(field, wanted, any_case):
            folded = {str(value).casefold() for value in wanted} if any_case else set()
            return any(
                value in wanted or str(value).casefold() in folded
                for value in facts.values.get(field, ())
            )
        case Range(field, low, high):
            return any(_within(value, low, high) for value in facts.values.get(field, ()))
        case Glob(pattern):
            return any(glob_matches(pattern, str(path)) for path in facts.values["path"])
        case Words(field, text, phrase):
            return _has_words(facts.text_of(field), words(text), phrase=phrase)
        case And(parts):
            return all(passes(facts, part) for part in parts)
        case Or(parts):
            return any(passes(facts, part) for part in parts)
        case Not(part):
            return not passes(facts, part)
        case _:
            assert_never(where)


def contains_phrase(text: Sequence[str], phrase: Sequence[str]) -> bool:
    """Say whether the words of *phrase* stand side by side in *text*."""
    size = len(phrase)
    return any(list(text[at : at + size]) == list(phrase) for at in range(len(text) - size + 1))


def glob_matches(pattern: str, path: str) -> bool:
    """Say whether a gitignore-like *pattern* matches *path*."""
    return _compile(pattern).fullmatch(path) is not None


def _within(value: str | int, low: int | None, high: int | None) -> bool:
    number = int(value)
    return (low is None or low <= number) and (high is None or number <= high)


def _has_words(text: Sequence[str], wanted: Sequence[str], *, phrase: bool) -> bool:
    if not wanted:
        return False
    return contains_phrase(text, wanted) if phrase else set(wanted) <= set(text)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[(?:[!^][^]]+|[^]!^][^]]*)\]|\\.|.", re.DOTALL)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.rstrip("/")
    whole = pattern.removeprefix("/") + ("**" if pattern.endswith("/") else "")
    body = "".join(_translate(piece) for piece in _PIECE.findall(whole))
    return re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL)


def _translate(piece: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in fixed:
        return fixed[piece]
    if piece.startswith("[") and len(piece) > 1:
        inside = re.sub(r"([\\\[&~|])", r"\\\1", piece[1:-1])
        return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
    return re.escape(piece[-1])
