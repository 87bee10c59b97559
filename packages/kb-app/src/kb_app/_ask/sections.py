"""Sections of a note that tell the same of one each, as of persons: whose a question asks about.

A question names one of them, *Who is Emil's teacher?*, and what another section says, *teacher:
Mrs Achterberg* below *Nora*, comes as near as an answer. It is none. Sections tell the same where
they stand side by side and lines of both begin alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kb_core.text import WORD

__all__ = ["Section", "of_others"]

_WORD = re.compile(WORD)
_LEAST_ALIKE, _LEAST_ALIKE_IN_LISTS = 2, 1
"""So many lines of two sections begin alike that tell the same of one each."""


class Section(NamedTuple):
    """What stands below one heading of a document, as far as it was found."""

    document: str
    depth: int
    name: str
    lines: Mapping[Place, str]
    """What its units say, by where they stand."""
    is_list: bool
    """Whether these are items of a list, all of them."""


Place: TypeAlias = tuple[int, int]
"""The number of a passage, and of a unit in it."""


def of_others(sections: Sequence[Section], question: str, named: frozenset[str]) -> set[Place]:
    """Return the units of sections beside those that *question* names, which tell of others.

    *named* are the names in the question. A unit that has the name itself is not one of them.
    """
    asked = _words(question)
    names = frozenset[str]().union(*map(_words, named))
    meant = [each for each in sections if _words(each.name) and _words(each.name) <= names]
    others = [each for each in sections if asked.isdisjoint(_words(each.name))]
    return {
        place
        for one in meant
        for other in others
        if (one.document, one.depth) == (other.document, other.depth) and _are_alike(one, other)
        for place, said in other.lines.items()
        if _words(said).isdisjoint(_words(one.name))
    }


def _are_alike(one: Section, other: Section) -> bool:
    begun = [
        {next(_each(said), "") for said in each.lines.values()} - {""} for each in (one, other)
    ]
    least = _LEAST_ALIKE_IN_LISTS if one.is_list and other.is_list else _LEAST_ALIKE
    return len(begun[0] & begun[1]) >= least


def _each(text: str) -> Iterator[str]:
    return (match[0].casefold() for match in _WORD.finditer(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(_each(text))
