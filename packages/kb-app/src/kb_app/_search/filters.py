"""Filters as people give them, compiled to the tree that engines understand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kb_core.clock import parse_rfc3339, to_epoch
from kb_core.errors import InvalidInput
from kb_core.filters import Filter, Glob, OneOf, Or, Range, all_of
from kb_core.ids import parse_id_prefix
from kb_core.media import MEDIA_ALIASES, Media, TrustLevel
from kb_core.search import SearchFilters

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = ["compile_filters", "media_warnings"]

_LONGEST_GLOB = 300
"""Longer patterns make automata that the engine refuses."""


def compile_filters(filters: SearchFilters, snapshot: IndexSnapshot) -> Filter | None:
    """Return the tree for *filters*; raise ``InvalidInput`` for values that mean nothing.

    *snapshot* knows which document the beginning of an id is of.
    """
    return all_of(
        [
            _one_of("tag", filters.tag),
            _one_of("lang", [lang.lower() for lang in filters.lang]),
            _globs(filters.path_glob),
            _trust(filters.trust_min),
            _one_of("media", [MEDIA_ALIASES.get(m.lower(), m.lower()) for m in filters.media]),
            _after("indexed_at", "ingested_after", filters.ingested_after),
            _after("doc_date", "since", filters.since),
            _until(filters.until),
            _doc(filters.doc_id, snapshot),
            _one_of("repo", filters.repo),
            _one_of("code_lang", [lang.lower() for lang in filters.code_lang]),
            _one_of("source_id", filters.source),
            _one_of("source_type", filters.source_type),
        ]
    )


def media_warnings(media: Iterable[str]) -> list[str]:
    """Return a warning for every medium that does not exist: it gives no hits."""
    known = {*(m.value for m in Media), *MEDIA_ALIASES}
    return [
        f"media {name!r} is unknown and gives no hits; known are {', '.join(sorted(known))}"
        for name in media
        if name.lower() not in known
    ]


def _one_of(name: str, values: Sequence[str]) -> Filter | None:
    for value in values:
        _check_unicode(name, value)
    return OneOf(name, tuple(values)) if values else None


def _check_unicode(name: str, value: str) -> None:
    """Refuse half a surrogate pair: nothing that is stored can hold one."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _bad(name, value.encode("utf-8", "replace").decode(), "valid Unicode") from error


def _globs(patterns: Sequence[str]) -> Filter | None:
    for pattern in patterns:
        _check_unicode("path_glob", pattern)
        if not pattern.strip() or pattern.count("[") > pattern.count("]"):
            raise _bad("path_glob", pattern, "a gitignore-like pattern such as 'docs/**/*.md'")
        if len(pattern) > _LONGEST_GLOB:
            shown = f"{pattern[:40]}…"
            raise _bad("path_glob", shown, f"a pattern of at most {_LONGEST_GLOB} characters")
    return Or(tuple(Glob(pattern) for pattern in patterns)) if patterns else None


def _trust(level: str | None) -> Filter | None:
    if level is None:
        return None
    try:
        return Range("trust", low=TrustLevel(level.lower()).rank)
    except ValueError as error:
        raise _bad("trust_min", level, "primary, secondary or generated") from error


def _after(name: str, asked: str, value: str | None) -> Filter | None:
    return None if value is None else Range(name, low=_epoch(asked, value))


def _until(value: str | None) -> Filter | None:
    if value is None:
        return None
    whole_day = "T" not in value and ":" not in value
    last = _epoch("until", value)
    return Range("doc_date", high=last + (86_399 if whole_day else 0))


def _epoch(name: str, value: str) -> int:
    try:
        return to_epoch(parse_rfc3339(value))
    except (ValueError, OverflowError) as error:
        raise _bad(
            name, value, "a date or time such as 2026-05-10 or 2026-05-10T12:00:00Z"
        ) from error


def _doc(doc_id: str | None, snapshot: IndexSnapshot) -> Filter | None:
    if doc_id is None:
        return None
    prefix = parse_id_prefix(doc_id, what="doc_id")
    found = snapshot.find_docs(prefix, 2)
    if len(found) > 1:
        raise _bad("doc_id", doc_id, "the beginning of one id alone: give more digits")
    return OneOf("doc_id", (found[0]["doc_id"] if found else prefix,))


def _bad(name: str, value: str, expected: str) -> InvalidInput:
    return InvalidInput(
        f"{name} {value!r} is not {expected}",
        details={"field": name, "value": value, "expected": expected},
    )
