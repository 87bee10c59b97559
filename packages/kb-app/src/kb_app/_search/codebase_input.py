"""What a language model may send to search code, in any of its forms (ruling R18).

All of these are one query about one folder::

    {"queries": [{"query": "error handling", "path": "src"}]}
    {"queries": ["error handling"], "path": "src"}
    {"query": "error handling", "path": "src"}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kb_core.errors import InvalidInput
from kb_core.search import MAX_QUERIES

__all__ = ["CodebaseQuery", "CodebaseRequest", "read_request"]

_NAMES = ("queries", "query", "path", "maxResults")
_MOST_RESULTS = 100


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
    return CodebaseRequest(tuple(found), _whole(given.get("maxResults"), max_results))


def _queries(given: Mapping[str, Any], common: str | None) -> Iterator[CodebaseQuery]:
    queries = given.get("queries")
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
    if value is None:
        return otherwise
    if isinstance(value, float) and value.is_integer():
        value = int(value)
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
        f"{field} {value!r} is not {expected}",
        details={"field": field, "value": value, "expected": expected},
    )
