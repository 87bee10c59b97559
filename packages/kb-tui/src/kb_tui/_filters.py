"""The filter line: ``media:code lang:ko tag:x parser``, read into filters and words.

One syntax for both panes that filter. A word without a key belongs to the pane: the
library looks for it in titles and paths, the search in names of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS
from kb_core.search import SearchFilters

__all__ = ["Facet", "Filtered", "facets_of", "parse_filter", "toggled"]

_KEYS = {row.key: row for row in sorted(FILTERS, key=lambda row: row.place) if row.key}
_STATE = "state"
_TOKEN = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')
_COUNTED = ("media", "lang", "code", "source", "repo")
"""Keys of what stats.v1 counts by value, in the order of the popup."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """What a filter line says."""

    text: str = ""
    filters: SearchFilters = field(default_factory=SearchFilters)
    words: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    """States of files, for the ledger."""

    def as_search(self) -> SearchFilters:
        """Return the filters of a search, where words are parts of file names."""
        names = tuple(word if set(word) & set("*?/[") else f"*{word}*" for word in self.words)
        return replace(self.filters, path_glob=(*self.filters.path_glob, *names))

    def admits(self, *texts: str) -> bool:
        """Say whether every word occurs in one of *texts*, whatever its case."""
        folded = [text.casefold() for text in texts]
        return all(any(word.casefold() in text for text in folded) for word in self.words)


@dataclass(frozen=True, slots=True)
class Facet:
    """A value that can be filtered by, and how many documents have it."""

    key: str
    value: str
    count: int

    @property
    def token(self) -> str:
        """How it stands in a filter line."""
        quoted = f'"{self.value}"' if re.search(r"\s", self.value) else self.value
        return f"{self.key}:{quoted}"


def parse_filter(text: str) -> Filtered:
    """Read a filter line, or raise ``InvalidInput`` naming the key that is none."""
    given: dict[str, Any] = {}
    words: list[str] = []
    states: list[str] = []
    for key, value in _tokens(text):
        if not key:
            words.append(value)
        elif row := _KEYS.get(key):
            given[row.name] = (*given.get(row.name, ()), value) if row.many else value
        elif key == _STATE:
            states.append(value)
        else:
            known = ", ".join([*_KEYS, _STATE])
            raise InvalidInput(
                f"filter key {key!r} is unknown",
                hint=f"keys are {known}",
                details={"field": "filter", "value": key},
            )
    return Filtered(text.strip(), SearchFilters(**given), tuple(words), tuple(states))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        key, quoted, plain = match.groups()
        yield key or "", quoted if quoted is not None else plain


def facets_of(stats: Mapping[str, Any]) -> list[Facet]:
    """Return the facets of stats.v1, the most frequent value of each first."""
    found = []
    for key in _COUNTED:
        counts = stats.get(f"{_KEYS[key].name}_breakdown") or {}
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        found += [Facet(key, value, count) for value, count in rows if count and value != "null"]
    return found


def toggled(text: str, facet: Facet) -> str:
    """Return the filter line with the facet put in, or taken out if it is there."""
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    if facet.token in tokens:
        tokens.remove(facet.token)
    else:
        tokens.append(facet.token)
    return " ".join(tokens)
