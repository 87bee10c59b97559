"""What narrows a search: the filters beside a question, as people and programs give them.

A value that means nothing is refused; one that nothing has is told, since it gives no hits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from kb_core.clock import parse_rfc3339, to_epoch
from kb_core.control import ADDED_SOURCE
from kb_core.errors import InvalidInput
from kb_core.filters import (
    FILTERS,
    And,
    Filter,
    FilterSpec,
    Glob,
    Not,
    OneOf,
    Or,
    Range,
    Tagged,
    all_of,
    alternatives_of,
    as_value,
    at_or_below,
    literal_glob,
    values_of,
)
from kb_core.ids import enclosed_path, parse_id_prefix
from kb_core.media import MEDIA_ALIASES, Media, TrustLevel
from kb_core.search import SearchFilters
from kb_core.text import nfc, quoted
from kb_core.values import lazy_pattern

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot, StoredFile

__all__ = [
    "compile_each",
    "compile_filters",
    "epoch_of",
    "filter_warnings",
    "glob_of",
    "left_out",
    "nearest_of",
    "tagged",
    "told_of",
]

_CLASS = lazy_pattern(r"\[[!^]?(.[^]]*)\]", re.DOTALL)
"""The members of a bracket in a path pattern; the first may be a bracket itself."""
_RANGE = lazy_pattern(r"(.)-(.)", re.DOTALL)
_ESCAPED = lazy_pattern(r"\\.", re.DOTALL)
_WILD = lazy_pattern(r"[*?\[]")

_MEDIA = {*(medium.value for medium in Media), *MEDIA_ALIASES}
_NAMES, _NOT_GIVEN = tuple(row.name for row in FILTERS), (None, ())
_SHOWN = 10
_CODES = {
    "arabic": "ar",
    "chinese": "zh",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hungarian": "hu",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "norwegian": "no",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
    "ukrainian": "uk",
}
"""ISO 639-1 codes of what people write instead."""

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
    if _is_empty(filters):
        return
    for row in FILTERS:
        given = getattr(filters, row.name)
        values = _values(row, given) if row.many else () if given is None else (given,)
        if values:
            yield row, _compiled(row, values, snapshot)


def filter_warnings(
    filters: SearchFilters, snapshot: IndexSnapshot, *, found: bool
) -> tuple[str, ...]:
    """Return a warning for every value of a filter, or two of them, that nothing has: no hits.

    Path patterns, which take longer to look up, are told where nothing was *found*; of several
    those are told, too, that begin with what no path begins with.
    """
    if _is_empty(filters):
        return ()
    kinds = {"text", "word", "medium"} if found else {"text", "word", "medium", "glob"}
    unknown = [
        _unknown(row, value, snapshot)
        for row in FILTERS
        if row.many and row.kind in kinds
        for value in _values(row, getattr(filters, row.name))
        if not _is_known(row, value, snapshot)
    ]
    return (*_crossed(filters), *unknown, *(_astray(filters, snapshot) if found else ()))


def _crossed(filters: SearchFilters) -> Iterator[str]:
    """Yield a warning for each range that ends before it begins."""
    begins = (row for row in FILTERS if row.kind == "from")
    ends = [row for row in FILTERS if row.kind == "until"]
    for begin, end in (
        (one, other) for one in begins for other in ends if one.field == other.field
    ):
        first, last = getattr(filters, begin.name), getattr(filters, end.name)
        is_range = first not in _NOT_GIVEN and last not in _NOT_GIVEN
        if is_range and epoch_of(begin.name, first) > _last_second(end, last):
            yield f"{begin.name} {first!r} is after {end.name} {last!r}, which gives no hits"


def _astray(filters: SearchFilters, snapshot: IndexSnapshot) -> Iterator[str]:
    """Yield a warning for each of several path patterns that names a place that is not there."""
    row = next(row for row in FILTERS if row.kind == "glob")
    given: Sequence[str] = getattr(filters, row.name)
    count = snapshot.count_docs
    several = [glob for one in given for glob in globs_of(row.name, one, count)]
    for glob in several if len(several) > 1 else ():
        place = _WILD.split(glob.pattern)[0].rstrip("\\")
        if place and not count(Glob(f"{place}**")) and not count(glob):
            yield f"{row.name} {quoted(glob.pattern)} matches no path"


def _is_empty(filters: SearchFilters) -> bool:
    return all(getattr(filters, name) in _NOT_GIVEN for name in _NAMES)


def _values(row: FilterSpec, given: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a filter that takes several; but for paths, a comma parts two."""
    if row.kind == "glob":
        return tuple(given)
    for value in given:
        _check_unicode(row.name, value)
        if not value.strip(" ,"):
            raise _bad(row.name, value, "a value")
    return tuple(word for value in given for word in values_of(value))


def _is_known(row: FilterSpec, value: str, snapshot: IndexSnapshot) -> bool:
    if row.kind == "medium":
        return value.lower() in _MEDIA
    if row.field == "source_id":
        return True  # one that there is none of was refused
    return snapshot.count_docs(_compiled(row, (value,), snapshot)) > 0


def _unknown(row: FilterSpec, value: str, snapshot: IndexSnapshot) -> str:
    if row.kind == "glob":
        return _no_path(row, value, snapshot)
    known = _MEDIA if row.kind == "medium" else _existing(row, snapshot)
    close = nearest_of(_CODES.get(value.lower(), value) if row.field == "lang" else value, known)
    said = f"{row.name} {value!r} is unknown and gives no hits"
    if close:
        return f"{said}; did you mean '{as_value(close)}'?"
    some = sorted(known)[:_SHOWN]
    more = ", …" if len(known) > len(some) else ""
    return f"{said}; known are {', '.join(map(as_value, some))}{more}" if some else said


def _no_path(row: FilterSpec, pattern: str, snapshot: IndexSnapshot) -> str:
    said = f"{row.name} {quoted(pattern)} matches no path"
    for meant in _meant(pattern, snapshot):
        if meant != pattern and _is_known(row, meant, snapshot):
            return f"{said}; did you mean {quoted(meant)}?"
    if file := left_out(snapshot, [_WILD.split(nfc(pattern))[0]]):
        return f"{said} that is indexed: {file['path']} is {told_of(file)}"
    known = sorted(_beginnings(snapshot, _SHOWN + 1))
    more = ", …" if len(known) > _SHOWN else ""
    return f"{said}; paths begin with {', '.join(known[:_SHOWN])}{more}" if known else said


def _meant(pattern: str, snapshot: IndexSnapshot) -> Iterator[str]:
    """Yield what a pattern may mean: deeper, as Windows has it, or absolute."""
    slashed = pattern.replace("\\", "/")
    roots = (str(known.get("root") or "") for known in snapshot.control.sources.values())
    inside = [slashed.removeprefix(f"{root}/") for root in roots if slashed.startswith(f"{root}/")]
    for one in dict.fromkeys((pattern, slashed, *inside)):
        yield one
        if "/" in one:  # a name is looked for at any depth
            yield f"**/{one.lstrip('/')}"


def _beginnings(snapshot: IndexSnapshot, most: int) -> list[str]:
    """Return the first parts of all paths, the first *most* of them."""
    known: list[str] = []
    seen: list[Filter] = []
    while len(known) < most and (docs := snapshot.docs(Not(Or(tuple(seen))) if seen else None)[:1]):
        name, slash, _ = docs[0]["path"].partition("/")
        known.append(f"{name}{slash}")
        seen.append(Glob(f"/{literal_glob(name)}{'/**' if slash else ''}"))
    return known


def nearest_of(word: str, known: Iterable[str]) -> str | None:
    """Return the one of *known* that *word* is most likely meant to be."""
    from difflib import get_close_matches  # only a mistake needs it

    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


_COUNTED = {
    "tag": "tags",
    "lang": "lang_breakdown",
    "code_lang": "code_lang_breakdown",
    "repo": "repo_breakdown",
}
"""Where the control record counts documents by the values of a field."""
_TAGS_COUNTED = 50
"""Of tags so many are counted, those that most documents have."""


def _existing(row: FilterSpec, snapshot: IndexSnapshot) -> set[str]:
    """Return the values that documents have; reads all of them where they are not counted."""
    counted = snapshot.control.stats.get(_COUNTED.get(row.field, ""))
    if counted and (row.field != "tag" or len(counted) < _TAGS_COUNTED):
        return {*(_with_parents(counted) if row.field == "tag" else counted)}
    found: set[str] = set()
    docs: Sequence[Mapping[str, Any]] = snapshot.docs(None)
    for doc in docs:
        own = doc.get(row.field) or ("null" if row.field == "lang" else "")
        values = _with_parents(doc["tags"]) if row.field == "tag" else (own,)
        found.update(value for value in values if value)
    return found


def _with_parents(tags: Iterable[str]) -> Iterator[str]:
    for tag in tags:
        parts = tag.split("/")
        yield from ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def _compiled(  # noqa: C901, PLR0911 - one per kind
    row: FilterSpec, values: Sequence[str], snapshot: IndexSnapshot
) -> Filter:
    match row.kind:
        case "text":
            if row.field == "source_id":
                _check_sources(row, values, snapshot)
            # A configuration keeps its words as they were typed.
            either = tuple(dict.fromkeys((*values, *map(nfc, values))))
            return tagged(values) if row.field == "tag" else OneOf(row.field, either)
        case "word":
            lowered = (value.lower() for value in values)
            # What has no language, code, is counted under "null", and indexed under "".
            return OneOf(row.field, tuple("" if word == "null" else word for word in lowered))
        case "medium":
            return OneOf(row.field, tuple(MEDIA_ALIASES.get(v.lower(), v.lower()) for v in values))
        case "glob":
            count = snapshot.count_docs
            return Or(tuple(g for value in values for g in globs_of(row.name, value, count)))
        case "trust":
            return Range(row.field, low=_rank(row, *values))
        case "from":
            return Range(row.field, low=epoch_of(row.name, *values))
        case "until":
            return Range(row.field, high=_last_second(row, *values))
        case "id":
            return _of_doc(row, values[0], snapshot)


def tagged(tags: Sequence[str]) -> Tagged:
    """Return tags as they are kept, however they are written: ``#area/`` is ``area``."""
    return Tagged(tuple(tag.removeprefix("#").rstrip("/") or tag for tag in map(nfc, tags)))


def _check_sources(row: FilterSpec, values: Sequence[str], snapshot: IndexSnapshot) -> None:
    """Refuse a source that there is none of: a typing error looks like an empty folder."""
    known = sorted({*snapshot.control.sources, ADDED_SOURCE})
    for value in values:
        if value not in known:
            close = nearest_of(value, known)
            raise InvalidInput(
                f"{row.name} {value!r} is unknown, or was never ingested",
                hint=f"did you mean {close!r}?" if close else f"known are {', '.join(known)}",
                details={"field": row.name, "value": value, "known": known, "nearest": close},
            )


def _check_unicode(name: str, value: str) -> None:
    """Refuse half a surrogate pair: nothing that is stored can hold one."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _bad(name, value.encode("utf-8", "replace").decode(), "valid Unicode") from error


def glob_of(name: str, pattern: str) -> Glob:
    """Return a path pattern as a filter; raise ``InvalidInput`` for what is none.

    What only the engine cannot do is refused by the engine, as ``InvalidInput``, too.
    """
    _check_unicode(name, pattern)
    bare = _ESCAPED.sub("", pattern)
    if not pattern.strip() or bare.count("[") > bare.count("]"):
        raise _bad(name, pattern, "a gitignore-like pattern such as 'docs/**/*.md'")
    if len(pattern) > _LONGEST_GLOB:
        shown = f"{pattern[:40]}…"
        raise _bad(name, shown, f"a pattern of at most {_LONGEST_GLOB} characters")
    for inside in _CLASS.findall(bare):
        for first, last in _RANGE.findall(inside):
            if first > last:
                what = f"a path pattern: in [{inside}], {first!r} comes after {last!r}"
                raise _bad(name, pattern, what)
    return Glob(nfc(pattern))


def globs_of(name: str, pattern: str, count: Callable[[Filter], int]) -> tuple[Glob, ...]:
    """Return what *pattern* means: a path that is called so, before what commas part.

    *count* says how many paths a filter passes. ``InvalidInput`` for what is no pattern.
    """
    _check_unicode(name, pattern)
    called = nfc(pattern)
    if called != pattern and count(OneOf("path", (pattern,))):
        # Another file has its accents together.
        return _with_place(Glob(f"/{literal_glob(pattern)}"), count)
    if "[" in pattern and count(OneOf("path", (called,))):
        is_glob = pattern.count("[") <= pattern.count("]")
        itself = _with_place(Glob(f"/{literal_glob(called)}"), count)
        return (*itself, *([glob_of(name, pattern)] if is_glob else ()))
    several = alternatives_of(pattern)
    is_one = several == [pattern] or (
        len(pattern) <= _LONGEST_GLOB and count(glob_of(name, pattern))
    )
    globs = (glob_of(name, one) for one in ([pattern] if is_one else several))
    return tuple(chain.from_iterable(_with_place(glob, count) for glob in globs))


def _with_place(glob: Glob, count: Callable[[Filter], int]) -> tuple[Glob, ...]:
    """Return a pattern, with what is in the files that it names, and in folders of such a name.

    What is below a file is that file: ``{src,setup.py}/**`` names it.
    """
    name = _ESCAPED.sub("x", glob.pattern).rpartition("/")[2]
    if name not in {"", "**"}:
        held = Glob(enclosed_path(glob.pattern, ""))
        inside = (held,) if _WILD.search(name) else (Glob(f"{glob.pattern}/"), held)
        return (glob, *filter(count, inside))
    place = glob.pattern.removesuffix("**").removeprefix("./").removeprefix("/")
    if not place.endswith("/") or _WILD.search(_ESCAPED.sub("", place)):
        return (glob,)
    file = Glob(f"/{place[:-1]}")
    return _with_place(file, count) if count(file) else (glob,)


def _rank(row: FilterSpec, level: str) -> int:
    try:
        return TrustLevel(level.lower()).rank
    except ValueError as error:
        raise _bad(row.name, level, "primary, secondary or generated") from error


def _last_second(row: FilterSpec, value: str) -> int:
    whole_day = "T" not in value and ":" not in value
    return epoch_of(row.name, value) + (86_399 if whole_day else 0)


def epoch_of(name: str, value: str) -> int:
    """Return a date or time that was given as *name* in epoch seconds; or ``InvalidInput``."""
    try:
        return to_epoch(parse_rfc3339(value))
    except (ValueError, OverflowError) as error:
        raise _bad(
            name, value, "a date or time such as 2026-05-10 or 2026-05-10T12:00:00Z"
        ) from error


def _of_doc(row: FilterSpec, given: str, snapshot: IndexSnapshot) -> Filter:
    """Return what passes as a document: it, and of one without a passage what is in its file."""
    prefix = parse_id_prefix(given, what=row.name)
    found = snapshot.find_docs(prefix, 2)
    if len(found) > 1:
        raise _bad(row.name, given, "the beginning of one id alone: give more digits")
    itself = OneOf(row.field, (found[0]["doc_id"] if found else prefix,))
    if not found or found[0]["chunk_count"]:
        return itself
    own = OneOf("source_id", (found[0]["source_id"],))
    return Or((itself, And((own, at_or_below(found[0]["path"])))))


def _bad(name: str, value: str, expected: str) -> InvalidInput:
    return InvalidInput(
        f"{name} {quoted(value)} is not {expected}",
        details={"field": name, "value": value, "expected": expected},
    )


def left_out(snapshot: IndexSnapshot, paths: Iterable[str]) -> StoredFile | None:
    """Return which of *paths*, or of the folders that they are in, became no document.

    The innermost one: of a folder that is left out, the ledger has nothing that is in it.
    """
    from kb_core.records import FileState  # no search needs what records look like

    parts = (path.strip("/").split("/") for path in paths)
    places = {"/".join(each[:depth]) for each in parts for depth in range(1, len(each) + 1)}
    files = snapshot.files(OneOf("path", tuple(sorted(places)))) if places else []
    known = [file for file in files if file["state"] != FileState.INDEXED]
    return max(known, key=lambda file: len(file["path"]), default=None)


def told_of(file: StoredFile) -> str:
    """Return what became of a file, and why."""
    from kb_core.records import FileState  # no search needs what records look like

    why = ": ".join(str(file[name]) for name in ("reason", "detail") if file.get(name))
    return f"{FileState(file['state']).value}{f': {why}' if why else ''}"
