"""Front matter: a YAML block between ``---`` lines, or a TOML block between ``+++`` lines.

It stands at the very start of a text. One wrong value costs that value and a warning,
never the block (lesson 36): where the block as a whole cannot be read, its top-level keys
are read one by one. A block of YAML that is no mapping is not front matter but text.
Size and nesting are bounded, and no tag can construct anything but plain data.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import yaml

__all__ = ["FrontMatter", "read_front_matter"]

_MOST_CHARACTERS = 65_536
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE),
}
_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
_TOP_LEVEL_KEY = re.compile(r"^[^\s#\-\[\]{}&*!|>%@`][^\n:=]{0,200}[:=]", re.MULTILINE)
_UNREADABLE = (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError)
_UNQUOTED = re.compile(r"[^\n:]+:[ \t]+(\w[^\n]*)\n?")
_NESTING = re.compile(r"[\[{]|(?:[-?][ \t]+){20}")
_MOST_NESTING = 200


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values of a block, where the block ends, and what was wrong with it."""

    end: int
    values: dict[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter that *text* starts with, if it does."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING[opening[1]].search(text, opening.end())
    if closing is None:
        return None
    end = min(closing.end() + 1, len(text))
    inner = text[opening.end() : closing.start()]
    if len(inner) > _MOST_CHARACTERS or len(_NESTING.findall(inner)) > _MOST_NESTING:
        return FrontMatter(end, {}, ("front matter: too large, its values were not read",))
    read = _read_yaml if opening[1] == "---" else _read_toml
    return _read(inner, read, end)


class _NotAMapping(ValueError):
    """The block is well formed, and is not front matter."""


def _read(inner: str, read: Callable[[str], dict[str, object]], end: int) -> FrontMatter | None:
    try:
        return FrontMatter(end, read(inner))
    except _NotAMapping:
        return None
    except _UNREADABLE as error:
        values, warnings = _salvage(inner, read)
        return FrontMatter(end, values, tuple(warnings) or (f"front matter: {_brief(error)}",))


def _salvage(
    inner: str, read: Callable[[str], dict[str, object]]
) -> tuple[dict[str, object], list[str]]:
    """Read each top-level key by itself; those that cannot be read become warnings."""
    values: dict[str, object] = {}
    warnings = []
    for name, part in _top_level_parts(inner):
        try:
            values |= read(part)
        except _UNREADABLE as error:
            warnings.append(f"front matter: {name}: {_brief(error)}")
            # What people write most: a title with a colon in it, and no quotes.
            if read is _read_yaml and (line := _UNQUOTED.fullmatch(part)):
                values[name] = line[1].strip()
    return values, warnings


def _top_level_parts(inner: str) -> Iterator[tuple[str, str]]:
    starts = [match.start() for match in _TOP_LEVEL_KEY.finditer(inner)]
    for start, end in pairwise([*starts, len(inner)]):
        part = inner[start:end]
        yield re.split("[:=]", part, maxsplit=1)[0].strip(), part


class _Loader(yaml.CSafeLoader):
    """YAML in which a date is a string: a wrong one must not fail the block."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class declares it
        first: [(tag, pattern) for tag, pattern in rules if not tag.endswith(":timestamp")]
        for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def _read_yaml(inner: str) -> dict[str, object]:
    value: Any = yaml.load(inner, _Loader)  # noqa: S506 - a subclass of the safe loader
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _NotAMapping
    return {str(key): item for key, item in value.items()}


def _read_toml(inner: str) -> dict[str, object]:
    return tomllib.loads(inner)


def _brief(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    return " ".join(str(problem).split())[:200]
