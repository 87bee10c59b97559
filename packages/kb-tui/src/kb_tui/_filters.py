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
from kb_core.search import SearchFilters

__all__ = ["Facet", "Filtered", "facets_of", "parse_filter", "toggled"]

_LISTS = {
    "media": "media",
    "lang": "lang",
    "tag": "tag",
    "source": "source",
    "type": "source_type",
    "repo": "repo",
    "code": "code_lang",
    "path": "path_glob",
}
_SINGLE = {"trust": "trust_min", "since": "since", "until": "until", "after": "ingested_after"}
_STATE = "state"
_TOKEN = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')
_BREAKDOWNS = (
    ("media", "media_breakdown"),
    ("lang", "lang_breakdown"),
    ("code", "code_lang_breakdown"),
    ("source", "source_breakdown"),
    ("repo", "repo_breakdown"),
)


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
    lists: dict[str, tuple[str, ...]] = {}
    single: dict[str, str] = {}
    words: list[str] = []
    states: list[str] = []
    for key, value in _tokens(text):
        if not key:
            words.append(value)
        elif key in _LISTS:
            lists[_LISTS[key]] = (*lists.get(_LISTS[key], ()), value)
        elif key in _SINGLE:
            single[_SINGLE[key]] = value
        elif key == _STATE:
            states.append(value)
        else:
            known = ", ".join([*_LISTS, *_SINGLE, _STATE])
            raise InvalidInput(
                f"filter key {key!r} is unknown",
                hint=f"keys are {known}",
                details={"field": "filter", "value": key},
            )
    given: dict[str, Any] = {**lists, **single}
    return Filtered(text.strip(), SearchFilters(**given), tuple(words), tuple(states))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        key, quoted, plain = match.groups()
        yield key or "", quoted if quoted is not None else plain


def facets_of(stats: Mapping[str, Any]) -> list[Facet]:
    """Return the facets of stats.v1, the most frequent value of each first."""
    found = []
    for key, name in _BREAKDOWNS:
        counts = stats.get(name) or {}
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
