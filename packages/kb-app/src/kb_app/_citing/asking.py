"""What a caller hands in to be verified: URIs, citations, hits, whole responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kb_core.citations import Citation, parse_citation
from kb_core.errors import InvalidInput

__all__ = ["Asked", "Item", "asked"]

Item: TypeAlias = "str | Mapping[str, Any]"
"""A URI, or an object of the wire that is, has, or lists citations."""

_HASH = re.compile(r"[0-9a-f]{16}", re.ASCII)
_LISTS = ("hits", "citations")


@dataclass(frozen=True, slots=True)
class Asked:
    """One citation to verify. ``uri`` is as it was given."""

    uri: str
    citation: Citation
    content_hash: str | None = None
    source: str | None = None


def asked(items: Iterable[Item], source: str | None) -> list[Asked]:
    """Return what *items* name, in order; *source* is that of items which name none.

    Raises ``InvalidInput``, with the item's number from 1, for what is no citation.
    """
    found = []
    for number, item in enumerate(items, 1):
        for citation, of in _flat(item, number, source):
            found.append(_one(citation, of, number))
    return found


def _flat(
    item: object, number: int, source: str | None
) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Yield the citations in *item*, each with the source it is from, if that is known."""
    if isinstance(item, str):
        yield {"uri": item}, source
    elif isinstance(item, Mapping) and "uri" in item:
        yield item, source
    elif isinstance(item, Mapping) and "citation" in item:
        own = item.get("source_id")
        yield from _flat(item["citation"], number, own if isinstance(own, str) else source)
    elif isinstance(item, Mapping) and any(isinstance(item.get(name), list) for name in _LISTS):
        for name in _LISTS:
            for part in item.get(name) or ():
                yield from _flat(part, number, source)
    else:
        raise _bad(number, "uri", item, "a URI, a citation, a hit or a search response")


def _one(citation: Mapping[str, Any], source: str | None, number: int) -> Asked:
    uri, digest = citation["uri"], citation.get("content_hash")
    if not isinstance(uri, str):
        raise _bad(number, "uri", uri, "the URI of a citation")
    if digest is not None and not (isinstance(digest, str) and _HASH.fullmatch(digest)):
        raise _bad(number, "content_hash", digest, "16 hex digits")
    try:
        place = parse_citation(uri)
    except InvalidInput as error:
        details = {**error.details, "number": number}
        raise InvalidInput(f"item {number}: {error}", hint=error.hint, details=details) from error
    return Asked(uri, place, digest, source)


def _bad(number: int, field: str, value: object, expected: str) -> InvalidInput:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"  # noqa: PLR2004 - a line of an error
    return InvalidInput(
        f"item {number}: {field} {shown} is not {expected}",
        hint="an item looks like 'notes/a.md#L12-L34' or like \"citation\" of a search hit",
        details={"field": field, "number": number, "expected": expected},
    )
