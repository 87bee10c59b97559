"""The search for code that is made for language models: several queries, one list.

Tolerant of what is asked, plain in what is answered. Results hold whole passages, not
snippets, and only those that have lines to be shown with: of code, and of the pages, tests
and settings that explain it (``roles``). What a model may send comes
in any of its forms (ruling R18); all of these are one query about one folder::

    {"queries": [{"query": "error handling", "path": "src"}]}
    {"queries": ["error handling"], "path": "src"}
    {"query": "error handling", "path": "src"}

A path names a folder or a file as the paths of hits do: relative to the root of its source, or
absolute in its folder.
Where a source is one repository, ``name-of-the-repository/src`` is understood, too, since
that is how models name a folder when they see several repositories.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from kb_app._search.aggregate import Gathering, Merged, remarks
from kb_app._search.bulk import Asked
from kb_app._search.engine import Engine
from kb_app._search.lookup import did_you_mean, places_of
from kb_app._search.page import about_of
from kb_app._search.roles import role_filter, role_of, weight_of, wish_of
from kb_app.shown import as_given
from kb_core import wire
from kb_core.citations import CodeSpan, LineSpan, citation_of
from kb_core.errors import InvalidInput, KbError
from kb_core.filters import And, Filter, OneOf, Or, all_of, at_or_below
from kb_core.ports import IndexSnapshot, StoredChunk
from kb_core.search import MAX_QUERIES, FileRole, SearchQuery
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = [
    "CodebaseQuery",
    "CodebaseRequest",
    "codebase_search",
    "normal_path",
    "path_filter",
    "read_request",
]

_LONGEST = 250
"""Longer patterns make automata that the engine refuses."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")
"""No text that the index holds; JSON can spell it."""


def normal_path(path: str) -> str:
    """Return *path* without ``.``, ``..`` and a final slash; empty where it limits nothing.

    ``InvalidInput`` for a path that is absolute or leads out of the root.
    """
    posix = unicodedata.normalize("NFC", _HALF_PAIR.sub("\ufffd", path)).replace("\\", "/")
    if posix.startswith("/") or posix[1:3] == ":/":
        raise _bad_path(path, "is absolute")
    normal = posixpath.normpath(posix) if posix else "."
    if normal.partition("/")[0] == "..":
        raise _bad_path(path, "leads out of the source")
    if len(normal) > _LONGEST:
        raise _bad_path(f"{path[:40]}…", f"has more than {_LONGEST} characters")
    return "" if normal == "." or not normal.strip() else normal


def path_filter(normal: str) -> Filter | None:
    """Return what passes below *normal*, or is that file; ``None`` where it is empty."""
    if not normal:
        return None
    here = at_or_below(normal)
    repo, _, rest = normal.partition("/")
    inside = OneOf("repo", (repo,))
    there = And((inside, at_or_below(rest))) if rest else inside
    return Or((here, there))


def _bad_path(path: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"path {path!r} {why}",
        hint="give a folder relative to the root of its source, as in the paths of hits",
        details={"field": "path", "value": path},
    )


_NAMES = ("queries", "query", "path", "maxResults", "include", "group")
_MOST_RESULTS = 100
_MOST_DIGITS = 10


@dataclass(frozen=True, slots=True)
class CodebaseQuery:
    """One query, and the folder or file that it is limited to, as it was given."""

    text: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class CodebaseRequest:
    """A request in its one normal form; no query is given twice."""

    queries: tuple[CodebaseQuery, ...]
    max_results: int
    include: frozenset[FileRole] = frozenset()
    """What is searched; nothing is everything."""
    group: bool = False
    """Each query is answered apart."""
    remarks: tuple[str, ...] = ()
    """What was understood otherwise than it may have been meant."""


def read_request(given: Mapping[str, Any], *, max_results: int) -> CodebaseRequest:
    """Return the normal form of a request, or raise ``InvalidInput``.

    ``queries`` win over ``query``, and an empty list counts as missing. What is null or
    blank is ignored. A query's own ``path`` wins over the common one. *max_results* is for
    those that name no ``maxResults``.
    """
    _check_names(given, _NAMES, "")
    common = _path(given.get("path"), "path")
    found = dict.fromkeys(_queries(given, common))
    if not found:
        raise InvalidInput(
            'must provide "query" or "queries"',
            hint='{"query": "authentication validation", "path": "src/auth"}',
            details={"field": "query"},
        )
    if len(found) > MAX_QUERIES:
        raise InvalidInput(
            f"queries: max {MAX_QUERIES} items",
            hint="ask in several calls",
            details={"field": "queries", "value": len(found), "max": MAX_QUERIES},
        )
    return CodebaseRequest(
        tuple(found),
        _whole(given.get("maxResults"), max_results),
        include=_roles(given.get("include")),
        group=_flag(given.get("group")),
        remarks=tuple(_taken(given)),
    )


def _roles(value: object) -> frozenset[FileRole]:
    """Read one role, several in a text, or a list of them."""
    names = re.split(r"[\s,|]+", value.strip()) if isinstance(value, str) else value
    if names is None or names == [""]:
        return frozenset()
    if not isinstance(names, list | tuple):
        raise _bad("include", value, f"a list of {', '.join(FileRole)}")
    for name in names:
        if not isinstance(name, str) or name not in set(FileRole):
            near = get_close_matches(str(name), [*map(str, FileRole)], n=1, cutoff=0.5)
            raise InvalidInput(
                f"include {as_given(name)} is none of {', '.join(FileRole)}",
                hint=f"did you mean {near[0]!r}?" if near else None,
                details={"field": "include", "value": name, "known": [*map(str, FileRole)]},
            )
    return frozenset(FileRole(name) for name in names)


def _flag(value: object) -> bool:
    words = {"true": True, "false": False, "": False}
    read = words.get(value.strip().lower()) if isinstance(value, str) else value
    if (read is None and value is not None) or not isinstance(read, bool | None):
        raise _bad("group", value, "true or false")
    return bool(read)


def _taken(given: Mapping[str, Any]) -> Iterator[str]:
    query, queries = given.get("query"), given.get("queries")
    is_given = query is not None and query != ""
    if is_given and any(True for _ in _queries({"queries": queries}, None)):
        yield '"queries" was taken, and "query" was not: a request has one of them'


def _queries(given: Mapping[str, Any], common: str | None) -> Iterator[CodebaseQuery]:
    queries = given.get("queries")
    if queries is not None and not isinstance(queries, list | tuple | str | Mapping):
        raise _bad("queries", queries, "a list of queries")
    several = queries if isinstance(queries, list | tuple) else [queries]
    if any(one is not None for one in several):
        for at, one in enumerate(several):
            yield from _query(one, common, f"queries.{at}")
        return
    yield from _query(given.get("query"), common, "query")


def _query(one: object, common: str | None, field: str) -> Iterator[CodebaseQuery]:
    text, path = one, common
    if isinstance(one, Mapping):
        _check_names(one, ("query", "path"), f"{field}.")
        text = one.get("query")
        own = _path(one.get("path"), f"{field}.path")
        path = common if own is None else own
    if text is not None and not isinstance(text, str):
        raise _bad(field, text, 'a text or {"query": …, "path": …}')
    if text and text.strip():
        yield CodebaseQuery(" ".join(text.split()), path)


def _path(value: object, field: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _bad(field, value, "a folder, relative to the root of its source")
    return value


def _whole(value: object, otherwise: int) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < _MOST_DIGITS:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_RESULTS:
        raise _bad("maxResults", value, f"a whole number from 1 to {_MOST_RESULTS}")
    return value


def _check_names(given: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.5)
            raise InvalidInput(
                f"unknown parameter {prefix + str(name)!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}",
                details={"field": f"{prefix}{name}", "known": list(known)},
            )


def _bad(field: str, value: object, expected: str) -> InvalidInput:
    return InvalidInput(
        f"{field} {as_given(value)} is not {expected}",
        details={"field": field, "value": value, "expected": expected},
    )


_WHOLE_CHUNK = 10_000
_WIDE = 100
"""Results of each query that are looked at before any is shown: a file that says much is
known by its other passages."""

_SUPPORT, _FADING, _SUPPORTERS = 0.3, 0.5, 3
"""What the next passages of a file add to its best one: this share of the second, and half as
much of each further one. By words alone, where a passage counts with its document already, those
of pages do, unless code is asked for: of 293 questions about sixteen repositories the mean
reciprocal rank is .52 so, .50 without any and .48 where .4 was added in every file. By meaning,
too, of 148 questions about eight, it is .66 with all, and .64 so."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A query with its path in normal form, or why that is none."""

    query: CodebaseQuery
    where: Filter | None = None
    error: InvalidInput | None = None

    @property
    def echo(self) -> dict[str, str]:
        path = {} if self.query.path is None else {"path": self.query.path}
        return {"query": self.query.text, **path}

    def asked(self, k: int, *, passages: bool) -> Asked:
        if self.error is not None:
            return self.error
        text = self.query.text
        return SearchQuery(
            text=text,
            k=k,
            snippet_chars=_WHOLE_CHUNK,
            rerank=False,
            passages=passages,
        )


def codebase_search(
    engine: Engine, given: Mapping[str, Any], *, max_results: int, passages: bool = False
) -> types.CodebaseSearchResponse:
    """Return codebase_search_response.v1; raise ``InvalidInput`` where nothing can be asked.

    A query that fails does not fail the others; if all of them do, the first failure is
    raised. *max_results* is for requests that name no ``maxResults``.
    """
    request = read_request(given, max_results=max_results)
    among = role_filter(request.include)
    snapshot = engine.snapshot
    questions = list(dict.fromkeys(_question(snapshot, one, among) for one in request.queries))
    asked = [question.asked(_WIDE, passages=passages) for question in questions]
    # What these files are is weighed here, over longer lists and beside their pages.
    pool = Gathering(engine, asked, [question.where for question in questions], by_role=False)
    outcomes = pool.outcomes()
    errors = {at: one for at, one in enumerate(outcomes) if isinstance(one, KbError)}
    if len(errors) == len(questions):
        raise errors[0]
    answered = [at for at in range(len(questions)) if at not in errors]
    # Apart, each query has a result at least: none would say that there is nothing.
    most = max(request.max_results, len(answered)) if request.group else request.max_results
    shown = _Shown(pool, most)
    if request.group:
        for done, at in enumerate(answered):
            # Of what is left: where parts are rounded up, the last would have nothing.
            shown.group(at, -(-(most - len(shown.merged)) // (len(answered) - done)))
    else:
        shown.all()
    hits = pool.hits(shown.merged, _WHOLE_CHUNK)
    response = wire.codebase_search_response(
        [question.echo for question in questions],
        hits,
        truncated=shown.truncated,
        errors=errors,
        degraded=remarks(outcomes, "degraded"),
        warnings=[
            *request.remarks,
            *remarks(outcomes, "warnings"),
            *_empty_paths(engine, questions, request.include),
        ],
        about=about_of(hits, engine.settings.about),
    )
    if request.group:
        response["groups"] = [{"query": at, "ranks": ranks} for at, ranks in shown.groups.items()]
    return response


class _Shown:
    """What of the results is shown, in one list or in a group for each query."""

    def __init__(self, pool: Gathering, most: int) -> None:
        self._pool, self._most = pool, most
        self.merged: list[Merged] = []
        self.groups: dict[int, list[int]] = {}
        """By the position of a query, the ranks of its hits."""
        self.truncated = False

    def all(self) -> None:
        """Show one list for all queries."""
        self._add(self._ordered(None), self._most)

    def group(self, query: int, most: int) -> None:
        """Show what *query* found; what an earlier one showed already stands in both groups."""
        ranks = {one.row.chunk_key: rank for rank, one in enumerate(self.merged, start=1)}
        found = self._ordered(query)
        old = [ranks[one.row.chunk_key] for one in found[:most] if one.row.chunk_key in ranks]
        new = [one for one in found if one.row.chunk_key not in ranks]
        before = len(self.merged)
        self._add(new, max(0, min(most - len(old), self._most - before)))
        self.groups[query] = [*old, *range(before + 1, len(self.merged) + 1)]

    def _add(self, found: Sequence[Merged], most: int) -> None:
        self.merged += found[:most]
        self.truncated = self.truncated or len(found) > most

    def _ordered(self, only: int | None) -> list[Merged]:
        merged = self._pool.merge(_WIDE + 1, usable=_has_lines, only=only)
        asked = {at: query.text for at, query in enumerate(self._pool.queries)}
        return _weighed(merged, self._pool.chunks(merged), asked)


def _question(snapshot: IndexSnapshot, query: CodebaseQuery, among: Filter) -> _Question:
    given = query.path or ""
    try:
        source, path = _in_a_source(snapshot, given) or (None, normal_path(given))
    except InvalidInput as error:
        return _Question(query, error=error)
    within = OneOf("source_id", (source,)) if source else None
    where = all_of([among, within, path_filter(path)])
    return _Question(CodebaseQuery(query.text, path or None), where=where)


def _in_a_source(snapshot: IndexSnapshot, path: str) -> tuple[str, str] | None:
    """Return the source whose folder holds an absolute *path*, and the path in it."""
    places = places_of(snapshot, path, None) if posixpath.isabs(path) else ()
    inside = ((source, normal_path(at)) for source, at in places if source is not None)
    return next(inside, None)


def _has_lines(chunk: StoredChunk) -> bool:
    return bool(chunk["path"]) and isinstance(citation_of(chunk).span, CodeSpan | LineSpan)


def _empty_paths(
    engine: Engine, questions: Sequence[_Question], include: Collection[FileRole]
) -> list[str]:
    """Say which paths hold nothing: the usual reason is that the path is not spelled so."""
    among = f" of {', '.join(sorted(include))}" if include else ""
    limits = {one.query.path: one.where for one in questions if one.query.path and one.where}
    return [
        f"path {path!r} holds nothing{among} that is indexed{did_you_mean(engine.snapshot, path)}"
        for path, where in limits.items()
        if not engine.snapshot.count(where)
    ]


def _weighed(
    merged: Sequence[Merged], chunks: Mapping[int, StoredChunk], asked: Mapping[int, str]
) -> list[Merged]:
    """Return the results in the order of what they are, too; *asked* has the query of each list.

    A file with several good passages is what was looked for more often than one with a single
    lucky one. ``base`` is what changes. The best one stays as good as the best one was.
    """
    wishes = {at: wish_of(asked[at]) for at in {one.shown_for for one in merged}}
    bases = [
        one.base - abs(one.base) * (1 - weight_of(chunks[one.row.chunk_key], wishes[one.shown_for]))
        for one in merged
    ]
    order = sorted(range(len(merged)), key=lambda at: -bases[at])
    by_meaning = {one.shown_for for one in merged if one.row.fused.vector_rank is not None}
    files: dict[str, list[int]] = {}
    for at in order:
        files.setdefault(chunks[merged[at].row.chunk_key]["doc_id"], []).append(at)
    for first, *others in files.values():
        one = merged[first]
        is_told = role_of(chunks[one.row.chunk_key]) is FileRole.DOCS
        if one.shown_for not in by_meaning and (wishes[one.shown_for].is_of_code or not is_told):
            continue
        more = [bases[at] * _FADING**n for n, at in enumerate(others[:_SUPPORTERS])]
        bases[first] += _SUPPORT * sum(more)
    best = max(bases, default=0.0)
    scale = max((one.base for one in merged), default=0.0) / best if best > 0 else 1.0
    scaled = [replace(one, base=base * scale) for one, base in zip(merged, bases, strict=True)]
    return sorted(scaled, key=lambda one: -round(one.score, 6))
