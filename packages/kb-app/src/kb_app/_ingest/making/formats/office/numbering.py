"""Numbers that word processors put before paragraphs: of lists, clauses and headings.

A list has levels, each with its own way to count; what is before a paragraph may name the counts
of several, as in ``4.2 (a)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kb_app._ingest.making.containers import Element
from kb_app._ingest.making.counting import counted, whole

__all__ = ["Counts", "Level", "Numbering"]

_PLACE = re.compile(r"%([1-9])")
_KINDS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_NO_NUMBERS = frozenset({"bullet", "none"})
_LONGEST_TEXT = 60
_LEVELS = 9


class Level(NamedTuple):
    """How a level counts: from where, as what, and what stands around that.

    ``text`` has ``%1`` for the count of the first level; a bullet is no text.
    """

    start: int = 1
    kind: str = "1"
    text: str = ""


@dataclass(slots=True)
class Counts:
    """The counts of one list as its paragraphs come."""

    levels: Mapping[int, Level]
    at: dict[int, int] = field(default_factory=dict)

    def label(self, level: int, *, restart: int | None = None) -> str:
        """Count a paragraph, and return what stands before it; *restart* is a new beginning."""
        told = self.levels.get(level, Level())
        self.at = {each: count for each, count in self.at.items() if each <= level}
        self.at[level] = self.at.get(level, told.start - 1) + 1 if restart is None else restart
        return _PLACE.sub(self._count, told.text[:_LONGEST_TEXT]).strip()

    def _count(self, place: re.Match[str]) -> str:
        level = int(place[1]) - 1
        told = self.levels.get(level, Level())
        return counted(self.at.get(level, told.start), told.kind)


class Numbering:
    """The lists of a docx, by their numbers."""

    def __init__(self, root: Element | None) -> None:
        self._kinds: dict[str, Counts] = {}
        self._lists: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        """Where a list begins anew that goes on with another one otherwise."""
        self._of_styles: dict[tuple[str, str], int] = {}
        """Levels that a style stands for, by kind of list and style."""
        for each in root if root is not None else ():
            if each.tag == "abstractNum":
                self._take_kind(each)
            elif each.tag == "num":
                self._take_list(each)

    def _take_kind(self, element: Element) -> None:
        name = element.get("abstractNumId", "")
        levels: dict[int, Level] = {}
        for each in element.findall("lvl"):
            level = whole(each.get("ilvl", ""), 0)
            levels[level] = _level(each)
            if style := _said(each, "pStyle"):
                self._of_styles[name, style] = level
        self._kinds[name] = Counts(levels)

    def _take_list(self, element: Element) -> None:
        name = element.get("numId", "")
        self._lists[name] = _said(element, "abstractNumId")
        for each in element.findall("lvlOverride"):
            if start := _said(each, "startOverride"):
                self._starts[name, whole(each.get("ilvl", ""), 0)] = whole(start, 1)

    def level_of(self, name: str, style: str) -> int:
        """Return the level of a list that a style stands for."""
        return self._of_styles.get((self._lists.get(name, ""), style), 0)

    def label(self, name: str, level: int) -> str:
        """Count a paragraph of a list, and return what stands before it; nothing of a bullet."""
        counts = self._kinds.get(self._lists.get(name, ""))
        if counts is None:
            return ""
        return counts.label(level, restart=self._starts.pop((name, level), None))


def _level(element: Element) -> Level:
    kind = _said(element, "numFmt") or "decimal"
    if kind in _NO_NUMBERS:
        return Level()
    as_ = "1" if element.find("isLgl") is not None else _KINDS.get(kind, "1")
    return Level(whole(_said(element, "start"), 1), as_, _said(element, "lvlText"))


def _said(element: Element, name: str) -> str:
    found = element.find(name)
    return "" if found is None else found.get("val", "")
