"""Filters: a small expression tree that every engine compiles.

People and agents fill in ``kb_core.search.SearchFilters``; ``kb_app`` turns that
into a tree of these nodes; an engine turns the tree into its own query. A filter
narrows before ranking, in both channels, and never touches a score.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["FIELDS", "And", "Filter", "Glob", "Not", "OneOf", "Or", "Range", "Words", "all_of"]

FIELDS = {
    "chunk_id": str,
    "code_lang": str,
    "doc_date": int,
    "doc_id": str,
    "indexed_at": int,
    "lang": str,
    "media": str,
    "path": str,
    "repo": str,
    "source_id": str,
    "source_type": str,
    "tag": str,
    "trust": int,
}
"""Fields that can be filtered by, and the type of their values. Times are epoch seconds;
``trust`` is ``TrustLevel.rank``; ``lang`` of code is the empty string."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field has one of these values."""

    field: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """A number between both ends, included; ``None`` is open."""

    field: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Glob:
    """The path matches a gitignore-like pattern: ``**`` crosses directories.

    A pattern without a slash matches a name at any depth.
    """

    pattern: str


@dataclass(frozen=True, slots=True)
class Words:
    """All analysed words of the text occur in the field: ``body``, ``title`` or ``path``."""

    field: str
    text: str
    phrase: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """Every part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds; no parts, never."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = OneOf | Range | Glob | Words | And | Or | Not


def all_of(parts: Iterable[Filter | None]) -> Filter | None:
    """Return the conjunction of the parts that are given; ``None`` lets everything pass."""
    given = tuple(part for part in parts if part is not None)
    return And(given) if len(given) > 1 else next(iter(given), None)
