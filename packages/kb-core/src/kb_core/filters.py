"""Filters: what can be asked for, and the small expression tree that every engine compiles.

``FILTERS`` is the one table of what people and agents filter by: command options, the
inputs of bulk and MCP, the keys of the terminal's filter line and the compilation are made
from its rows. They fill in ``kb_core.search.SearchFilters``; ``kb_app`` turns that
into a tree of the nodes below; an engine turns the tree into its own query. A filter
narrows before ranking, in both channels, and never touches a score.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeAlias

from kb_core.ids import enclosed_path
from kb_core.media import Media, TrustLevel
from kb_core.values import dataclass, lazy_pattern

__all__ = [
    "FIELDS",
    "FILTERS",
    "And",
    "Filter",
    "FilterKind",
    "FilterSpec",
    "Glob",
    "Not",
    "OneOf",
    "Or",
    "Range",
    "Tagged",
    "Words",
    "all_of",
    "alternatives_of",
    "as_value",
    "at_or_below",
    "literal_glob",
    "values_of",
]

FIELDS = {
    "chunk_id": str,
    "code_lang": str,
    "doc_date": int,
    "doc_id": str,
    "doc_key": int,
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

FilterKind: TypeAlias = Literal["text", "word", "medium", "glob", "trust", "from", "until", "id"]
"""What a value is: a text as it is, a word in any case, a medium or its short name, a path
pattern, the least trust, the first or the last moment, or the beginning of a document's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSpec:
    """A filter that can be asked for: a row of ``FILTERS``."""

    name: str
    """As in ``SearchFilters``, on the wire and, with dashes, on the command line."""
    kind: FilterKind
    field: str
    """What of ``FIELDS`` it narrows."""
    many: bool = False
    """Takes several values, any of which will do."""
    choices: type[StrEnum] | None = None
    """The closed set that its one value is from."""
    key: str | None
    """Its key in the filter line of the terminal; ``None`` if it has none."""
    place: int = 99
    """Where the terminal names its key among the others, from 1; left out, after them."""
    metavar: str | None = None
    """What stands for a value in the help of a command."""
    help: str
    """For a person who reads the help of a command."""
    description: str
    """For a model that reads the input of a tool."""

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return f"--{self.name.replace('_', '-')}"


FILTERS = (
    FilterSpec(
        name="tag",
        kind="text",
        field="tag",
        many=True,
        key="tag",
        place=3,
        metavar="T",
        help="Only documents with this tag, or one nested below it.",
        description="Only documents with one of these tags; area also finds area/work.",
    ),
    FilterSpec(
        name="lang",
        kind="word",
        field="lang",
        many=True,
        key="lang",
        place=2,
        metavar="L",
        help="Only documents in this language, such as en or ko.",
        description="Language of the document, such as en or ko.",
    ),
    FilterSpec(
        name="path_glob",
        kind="glob",
        field="path",
        many=True,
        key="path",
        place=8,
        metavar="GLOB",
        help="Only paths like this: 'notes/**/*.md'.",
        description="Path patterns as in .gitignore: notes/**, *.md, src/*.{ts,tsx}.",
    ),
    FilterSpec(
        name="trust_min",
        kind="trust",
        field="trust",
        choices=TrustLevel,
        key="trust",
        place=9,
        help="Only documents trusted at least this far.",
        description="Least trusted source that counts; primary is the strictest.",
    ),
    FilterSpec(
        name="media",
        kind="medium",
        field="media",
        many=True,
        key="media",
        place=1,
        metavar="A,B",
        help="Only these media: markdown, code, pdf, ...",
        description=f"Kind of file: {', '.join(Media)}.",
    ),
    FilterSpec(
        name="ingested_after",
        kind="from",
        field="indexed_at",
        key="after",
        place=12,
        metavar="TIME",
        help="Only documents indexed after this time or date.",
        description="Indexed after this moment: a date or an RFC 3339 time.",
    ),
    FilterSpec(
        name="since",
        kind="from",
        field="doc_date",
        key="since",
        place=10,
        metavar="DATE",
        help="Only documents dated on or after this.",
        description="Document dated on or after this day.",
    ),
    FilterSpec(
        name="until",
        kind="until",
        field="doc_date",
        key="until",
        place=11,
        metavar="DATE",
        help="Only documents dated on or before this.",
        description="Document dated on or before this day.",
    ),
    FilterSpec(
        name="doc_id",
        kind="id",
        field="doc_id",
        key=None,
        metavar="ID",
        help="Only this document.",
        description="Only this document, by doc_id of a hit.",
    ),
    FilterSpec(
        name="repo",
        kind="text",
        field="repo",
        many=True,
        key="repo",
        place=6,
        metavar="NAME",
        help="Only code of this repository.",
        description="Name of a code repository.",
    ),
    FilterSpec(
        name="code_lang",
        kind="word",
        field="code_lang",
        many=True,
        key="code",
        place=7,
        metavar="L",
        help="Only code in this programming language.",
        description="Programming language, such as python.",
    ),
    FilterSpec(
        name="source",
        kind="text",
        field="source_id",
        many=True,
        key="source",
        place=4,
        metavar="ID",
        help="Only this source.",
        description="Id of a source; schema lists them.",
    ),
    FilterSpec(
        name="source_type",
        kind="text",
        field="source_type",
        many=True,
        key="type",
        place=5,
        metavar="WORD",
        help="Only sources of this type.",
        description="Type of a source, such as note.",
    ),
)
"""Every filter, in the order of ``SearchFilters``, in which inputs show them."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field has one of these values."""

    field: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Tagged:
    """The document has one of these tags, or one nested below it: ``area/work`` below ``area``.

    Upper and lower case are the same.
    """

    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """A number between both ends, included; ``None`` is open."""

    field: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Glob:
    r"""The path matches a gitignore-like pattern: ``**`` crosses directories.

    A pattern without a slash matches a name at any depth. ``\*`` is a star of the path.
    """

    pattern: str


@dataclass(frozen=True, slots=True)
class Words:
    """All analysed words of the text occur in the field: ``body``, ``title`` or ``path``.

    Or ``name``: the text is the last part of a symbol of the passage, in whichever case.
    """

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


Filter: TypeAlias = OneOf | Tagged | Range | Glob | Words | And | Or | Not


def all_of(parts: Iterable[Filter | None]) -> Filter | None:
    """Return the conjunction of the parts that are given; ``None`` lets everything pass."""
    given = tuple(part for part in parts if part is not None)
    return And(given) if len(given) > 1 else next(iter(given), None)


def literal_glob(path: str) -> str:
    """Return *path* as a pattern that matches nothing else: folders may be called ``[id]``."""
    return "".join(f"\\{c}" if c in "*?[\\" else c for c in path)


def at_or_below(path: str) -> Or:
    """Return what *path* stands for: a file with all that is in it, or what is in a folder."""
    here = literal_glob(path)
    return Or(
        (OneOf("path", (path,)), *map(Glob, (f"/{here}/**", f"/{enclosed_path(here, '**')}")))
    )


_MOST_ALTERNATIVES = 64
_BRACES = lazy_pattern(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}")


def alternatives_of(pattern: str) -> list[str]:
    r"""Return the path patterns that *pattern* gives: ``docs/**,src/*.{ts,tsx}`` is three.

    Commas part them, also in braces; ``\,`` and ``\{`` are of a path. *pattern* alone where
    there would be too many, or none.
    """
    left, made = [pattern], list[str]()
    while left and len(left) + len(made) <= _MOST_ALTERNATIVES:
        one = left.pop(0)
        if braces := _BRACES.search(one):
            before, after = one[: braces.start()], one[braces.end() :]
            parts = _BETWEEN_VALUES.split(braces[1])
            left = [f"{before}{part}{after}" for part in parts] + left
        else:
            made += values_of(one)
    return [pattern] if left or not made else list(dict.fromkeys(made))


_BETWEEN_VALUES = lazy_pattern(r"(?<!\\),")


def values_of(text: str) -> list[str]:
    r"""Return the values that *text* gives: commas part them, ``\,`` is a comma in a value."""
    parts = (part.replace("\\,", ",").strip() for part in _BETWEEN_VALUES.split(text))
    return [part for part in parts if part]


def as_value(value: str) -> str:
    """Return *value* as ``values_of`` reads it."""
    return value.replace(",", "\\,")
