"""Fetching by place: what a path, lines, a citation or a chunk says, one or several at once.

A place is a text as it is printed anywhere (``notes/a.md:12-30``, a citation, an id), or an
object that says one of these and perhaps which lines, or how many neighbours. ``path#name`` is
what has that name in the file, a symbol or a heading with all that is inside it, and a name
alone what code defines by it, if that is one thing::

    {"path": "src/app.py", "lines": "40-80"}
    {"path": "src/app.py#Server.start"}
    {"citation": "notes/a.md#L12-L34"}
    {"chunk": "5669ef18", "context": 1}

What has lines is a span, neighbours included, so it is one text that stands in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_app import _reading
from kb_app._by_name import part_named
from kb_app._citing.resolving import cite
from kb_app._media import has_lines, medium_of
from kb_app._outlines import outline_of
from kb_app._search.filtering import nearest_of
from kb_app._search.hits import Freshness
from kb_app._search.lookup import chunk_named, document_named, unpacked
from kb_app.shown import as_given
from kb_core import wire
from kb_core.citations import Citation, LineSpan, UnknownFragment
from kb_core.errors import DocNotFound, InvalidInput, KbError
from kb_core.ports import IndexSnapshot, StoredDoc
from kb_core.search import CHARS_PER_TOKEN
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["MAX_PLACES", "Place", "fetch_many", "fetch_place", "outline", "read_place"]

MAX_PLACES = 100
"""How many places one call may have."""

_NAMES = ("path", "lines", "citation", "chunk", "context", "source")
_MAIN = ("path", "citation", "chunk")
_LINES = re.compile(r"L?(?P<first>\d{1,9})(?P<open>\s*(?:-|–|:|,|to)\s*(?:L?(?P<last>\d{1,9}))?)?")
_END = 10**9 - 1
"""Beyond the last line of anything."""

_MUCH_LONGER = 2
"""Times the length of a chunk from which on the lines around it are not what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which text is wanted: what names it, as what, and which part of it."""

    name: str
    kind: str = "path"
    """``path``, ``citation`` or ``chunk``."""
    lines: tuple[int, int | None] | None = None
    """Of a path: the first and the last, ``None`` for the end."""
    context: int | None = None
    """Of a chunk: so many neighbours on either side."""
    source: str | None = None


def read_place(given: str | Mapping[str, Any] | Place) -> Place:
    """Return the place that *given* says, or raise ``InvalidInput`` that names the field."""
    if isinstance(given, Place):
        return given
    if isinstance(given, str):
        return Place(name=given)
    if not isinstance(given, Mapping):
        raise _bad("place", given, "a text such as 'notes/a.md:12-30', or an object")
    fields = {name: value for name, value in given.items() if value is not None}
    _refuse_unknown(fields)
    named = [name for name in _MAIN if name in fields]
    if len(named) != 1:
        raise InvalidInput(
            f"a place is one of path, citation and chunk, not {' and '.join(named) or 'none'}",
            hint='{"path": "src/app.py", "lines": "40-80"}, or {"citation": "a.md#L3-L9"}',
            details={"field": named[1] if named else "path", "given": named},
        )
    (kind,) = named
    _refuse_foreign(kind, fields)
    for name in (kind, "source"):
        if not isinstance(fields.get(name, ""), str):
            raise _bad(name, fields[name], "a text")
    return Place(
        name=fields[kind],
        kind=kind,
        lines=_read_lines(fields["lines"]) if "lines" in fields else None,
        context=_read_context(fields["context"]) if "context" in fields else None,
        source=fields.get("source"),
    )


def _refuse_unknown(fields: Mapping[str, Any]) -> None:
    for name in fields:
        if name not in _NAMES:
            close = nearest_of(str(name), _NAMES)
            raise InvalidInput(
                f"unknown parameter {str(name)!r} of a place",
                hint=f"did you mean {close!r}?" if close else f"there are {', '.join(_NAMES)}",
                details={"field": str(name), "known": list(_NAMES)},
            )


def _refuse_foreign(kind: str, fields: Mapping[str, Any]) -> None:
    for name, owner in (("lines", "path"), ("context", "chunk")):
        if name in fields and kind != owner:
            raise InvalidInput(
                f"{name!r} goes with {owner!r}, not with {kind!r}",
                hint='{"path": "a.md", "lines": "40-80"}, {"chunk": "5669ef18", "context": 1}',
                details={"field": name, "value": fields[name]},
            )


def _read_lines(given: object) -> tuple[int, int | None]:
    """Read ``40-80``, ``40``, ``40-`` (to the end), 40 and [40, 80]."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given, given
    if isinstance(given, list | tuple) and [type(each) for each in given] == [int, int]:
        return given[0], given[1]
    found = _LINES.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None:
        several = 'give several as places: ["a.md:40-80", "a.md:120-130"]'
        raise _bad("lines", given, "lines such as '40-80', '40' or '40-'", hint=several)
    first = int(found["first"])
    if found["open"] is None:
        return first, first
    return first, int(found["last"]) if found["last"] else None


def _read_context(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise _bad("context", given, "a whole number from 0")
    return given


def _bad(field: str, value: object, expected: str, hint: str | None = None) -> InvalidInput:
    return InvalidInput(
        f"{field} {as_given(value)} is not {expected}",
        hint=hint,
        details={"field": field, "value": value, "expected": expected},
    )


def fetch_place(
    snapshot: IndexSnapshot, place: Place, max_tokens: int | None, fresh: Freshness
) -> types.FetchResult:
    """Return fetch_result.v1 of *place*, cut to ``4 * max_tokens`` characters."""
    if place.kind == "chunk":
        return _chunk(snapshot, place, max_tokens, fresh)
    if place.lines is None:
        return _cited(snapshot, place, max_tokens, fresh)
    doc = _document(snapshot, place)
    first, last = place.lines
    if not has_lines(doc) and 0 < first <= (last or _END):  # those of the file may be cited
        lines = Citation(doc["path"], LineSpan(first, last or _END)).uri
        return cite(snapshot, lines, doc["source_id"], fresh, max_tokens=max_tokens, field="lines")
    if last is not None:
        return _reading.fetch_span(snapshot, doc["doc_id"], (first, last), max_tokens, fresh)
    found = _reading.fetch_span(snapshot, doc["doc_id"], (first, _END), max_tokens, fresh)
    return {**found, "line_end": max(first, found["effective_end"])}


def _document(snapshot: IndexSnapshot, place: Place) -> StoredDoc:
    named = document_named(snapshot, place.name, source=place.source, field="path")
    return unpacked(snapshot, named)


def _cited(
    snapshot: IndexSnapshot, place: Place, max_tokens: int | None, fresh: Freshness
) -> types.FetchResult:
    field = place.kind if place.kind == "citation" else "path"
    try:
        return cite(snapshot, place.name, place.source, fresh, max_tokens=max_tokens, field=field)
    except (DocNotFound, UnknownFragment):
        is_path = place.kind == "path"
        named = part_named(snapshot, place.name, place.source, fresh) if is_path else None
        if named is None:
            raise
    at, source = named
    return cite(snapshot, at, source, fresh, max_tokens=max_tokens, field=field)


def _chunk(
    snapshot: IndexSnapshot, place: Place, max_tokens: int | None, fresh: Freshness
) -> types.FetchResult:
    """Return the lines of a chunk and its neighbours; as one text, too, what has no lines.

    And what is but a part of a long line: who asks for it by its id wants that part.
    """
    chunk = chunk_named(snapshot, place.name, field="chunk", source=place.source)
    reach = place.context or 0
    siblings = snapshot.doc_chunks(chunk["doc_id"]) if reach else [chunk]
    at = next(i for i, c in enumerate(siblings) if c["chunk_id"] == chunk["chunk_id"])
    first, last = siblings[max(0, at - reach)], siblings[min(len(siblings) - 1, at + reach)]
    text = snapshot.doc_text(chunk["doc_id"]) or chunk["text"]
    start, end = first["start"], last["end"]
    is_by_lines = medium_of(chunk["media"]).has_lines and not chunk["span"]
    if is_by_lines and _of_lines_around(text, start, end) < _MUCH_LONGER * (end - start):
        lines = (first["line_start"], max(c["line_end"] for c in (first, chunk, last)))
        return _reading.fetch_span(snapshot, chunk["doc_id"], lines, max_tokens, fresh)
    found = _reading.fetch_chunk(snapshot, chunk["chunk_id"], 0, fresh)
    return _reading.with_text(found, text[start:end], max_tokens)


def _of_lines_around(text: str, start: int, end: int) -> int:
    """Return how long the lines are that hold a part of *text*."""
    after = text.find("\n", end)
    return (after if after >= 0 else len(text)) - (text.rfind("\n", 0, start) + 1)


def fetch_many(
    snapshot: IndexSnapshot,
    places: Sequence[str | Mapping[str, Any] | Place],
    max_tokens: int | None,
    fresh: Freshness,
) -> types.FetchResults:
    """Return fetch_results.v1: each place with its text, or with why it has none.

    The budget is shared: what needs less than its part is whole, and leaves the rest to others.
    """
    if not places or len(places) > MAX_PLACES:
        raise InvalidInput(
            f"places: max {MAX_PLACES} items" if places else "there is no place to fetch",
            hint="ask in several calls" if places else "give at least one, as 'notes/a.md:12-30'",
            details={"field": "places", "value": len(places), "max": MAX_PLACES},
        )
    outcomes = [_outcome(snapshot, place, fresh) for place in places]
    if max_tokens is not None:
        sizes = {at: _size(one) for at, one in enumerate(outcomes) if not isinstance(one, KbError)}
        for at, share in _shares(sizes, max_tokens * CHARS_PER_TOKEN).items():
            if sizes[at] > share:
                asked, tokens = read_place(places[at]), max(1, share // CHARS_PER_TOKEN)
                outcomes[at] = fetch_place(snapshot, asked, tokens, fresh)
    return wire.fetch_results(
        [_echo(place) for place in places],
        outcomes,
        corpus_revision=snapshot.control.corpus_revision,
    )


def _echo(given: object) -> str | Mapping[str, Any]:
    """Return a place as it was given, or what is no place as it is told."""
    if isinstance(given, str | Mapping):
        return given
    return given.name if isinstance(given, Place) else as_given(given)


def _outcome(
    snapshot: IndexSnapshot, given: str | Mapping[str, Any] | Place, fresh: Freshness
) -> types.FetchResult | KbError:
    try:
        return fetch_place(snapshot, read_place(given), None, fresh)
    except KbError as error:
        return error


def _size(found: types.FetchResult) -> int:
    text = found["text"] if "text" in found else found["chunk"]["text"]
    return len(text)


def _shares(sizes: Mapping[int, int], budget: int) -> dict[int, int]:
    """Return what each may have of the budget: the smallest first, equal parts of what is left."""
    shares = {}
    left = budget
    for done, at in enumerate(sorted(sizes, key=lambda at: sizes[at])):
        shares[at] = left // (len(sizes) - done)
        left -= min(sizes[at], shares[at])
    return shares


def outline(
    snapshot: IndexSnapshot, given: str | Mapping[str, Any], fresh: Freshness
) -> types.Outline:
    """Return outline.v1: the headings or symbols of a document, with the lines of each.

    Of lines, or of what has a name, those that begin or end there.
    """
    doc, lines = _outlined(snapshot, read_place(given), fresh)
    return outline_of(snapshot, doc, lines, stale=fresh.is_stale(doc))


def _outlined(
    snapshot: IndexSnapshot, place: Place, fresh: Freshness
) -> tuple[StoredDoc, range | None]:
    """Return the document of a place, and its lines where it is a part of that."""
    try:
        found = fetch_place(snapshot, place, None, fresh)
    except DocNotFound:
        return _document(snapshot, place), None
    doc = document_named(snapshot, found["doc_id"])
    if "line_start" not in found:
        return doc, None
    return doc, range(found["line_start"], found["effective_end"] + 1)
