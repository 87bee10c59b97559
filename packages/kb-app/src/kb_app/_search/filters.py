"""Filters as people give them, compiled to the tree that engines understand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb_core.clock import parse_rfc3339, to_epoch
from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS, Filter, FilterSpec, Glob, OneOf, Or, Range, all_of
from kb_core.ids import parse_id_prefix
from kb_core.media import MEDIA_ALIASES, Media, TrustLevel
from kb_core.search import SearchFilters

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = ["compile_each", "compile_filters", "media_warnings"]

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
        values = given if row.many else () if given is None else (given,)
        if values:
            yield row, _compiled(row, values, snapshot)


def media_warnings(media: Iterable[str]) -> list[str]:
    """Return a warning for every medium that does not exist: it gives no hits."""
    known = {*(m.value for m in Media), *MEDIA_ALIASES}
    return [
        f"media {name!r} is unknown and gives no hits; known are {', '.join(sorted(known))}"
        for name in media
        if name.lower() not in known
    ]


def _compiled(  # noqa: C901, PLR0911 - one per kind
    row: FilterSpec, values: Sequence[str], snapshot: IndexSnapshot
) -> Filter:
    match row.kind:
        case "text":
            return _one_of(row, values)
        case "word":
            return _one_of(row, [value.lower() for value in values])
        case "medium":
            return _one_of(row, [MEDIA_ALIASES.get(v.lower(), v.lower()) for v in values])
        case "glob":
            return Or(tuple(_glob(row, value) for value in values))
        case "trust":
            return Range(row.field, low=_rank(row, *values))
        case "from":
            return Range(row.field, low=_epoch(row, *values))
        case "until":
            return Range(row.field, high=_last_second(row, *values))
        case "id":
            return OneOf(row.field, tuple(_doc_id(row, value, snapshot) for value in values))


def _one_of(row: FilterSpec, values: Sequence[str]) -> Filter:
    for value in values:
        _check_unicode(row.field, value)
    return OneOf(row.field, tuple(values))


def _check_unicode(name: str, value: str) -> None:
    """Refuse half a surrogate pair: nothing that is stored can hold one."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _bad(name, value.encode("utf-8", "replace").decode(), "valid Unicode") from error


def _glob(row: FilterSpec, pattern: str) -> Glob:
    _check_unicode(row.name, pattern)
    if not pattern.strip() or pattern.count("[") > pattern.count("]"):
        raise _bad(row.name, pattern, "a gitignore-like pattern such as 'docs/**/*.md'")
    if len(pattern) > _LONGEST_GLOB:
        shown = f"{pattern[:40]}…"
        raise _bad(row.name, shown, f"a pattern of at most {_LONGEST_GLOB} characters")
    return Glob(pattern)


def _rank(row: FilterSpec, level: str) -> int:
    try:
        return TrustLevel(level.lower()).rank
    except ValueError as error:
        raise _bad(row.name, level, "primary, secondary or generated") from error


def _last_second(row: FilterSpec, value: str) -> int:
    whole_day = "T" not in value and ":" not in value
    return _epoch(row, value) + (86_399 if whole_day else 0)


def _epoch(row: FilterSpec, value: str) -> int:
    try:
        return to_epoch(parse_rfc3339(value))
    except (ValueError, OverflowError) as error:
        raise _bad(
            row.name, value, "a date or time such as 2026-05-10 or 2026-05-10T12:00:00Z"
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
