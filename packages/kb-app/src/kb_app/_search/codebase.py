"""The search for code that is made for language models: several queries, one list.

Tolerant of what is asked, plain in what is answered. Results hold whole passages of code,
not snippets, and only those that have lines to be shown with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kb_app._search.aggregated import Pool, remarks
from kb_app._search.bulk import Asked
from kb_app._search.codebase_input import CodebaseQuery, read_request
from kb_app._search.codebase_path import normal_path, path_filter
from kb_app._search.service import Engine
from kb_core import wire
from kb_core.citations import CodeSpan, citation_of
from kb_core.errors import InvalidInput, KbError
from kb_core.filters import And, Filter, OneOf
from kb_core.media import Media
from kb_core.ports import StoredChunk
from kb_core.search import SearchFilters, SearchQuery

__all__ = ["codebase_search"]

_WHOLE_CHUNK = 10_000
_CODE = SearchFilters(media=(Media.CODE.value,))


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

    def asked(self, k: int) -> Asked:
        if self.error is not None:
            return self.error
        text = self.query.text
        return SearchQuery(text=text, k=k, filters=_CODE, snippet_chars=_WHOLE_CHUNK, rerank=False)


def codebase_search(
    engine: Engine, given: Mapping[str, Any], *, max_results: int
) -> dict[str, Any]:
    """Return codebase_search_response.v1; raise ``InvalidInput`` where nothing can be asked.

    A query that fails does not fail the others; if all of them do, the first failure is
    raised. *max_results* is for requests that name no ``maxResults``.
    """
    request = read_request(given, max_results=max_results)
    questions = list(dict.fromkeys(_question(query) for query in request.queries))
    asked = [question.asked(request.max_results) for question in questions]
    pool = Pool(engine, asked, [question.where for question in questions])
    outcomes = pool.outcomes()
    errors = {at: one for at, one in enumerate(outcomes) if isinstance(one, KbError)}
    if len(errors) == len(questions):
        raise errors[0]
    merged = pool.merge(request.max_results, usable=_has_lines)
    return wire.codebase_search_response(
        [question.echo for question in questions],
        pool.hits(merged[: request.max_results], _WHOLE_CHUNK),
        truncated=len(merged) > request.max_results,
        errors=errors,
        degraded=remarks(outcomes, "degraded"),
        warnings=[*remarks(outcomes, "warnings"), *_empty_paths(engine, questions)],
    )


def _question(query: CodebaseQuery) -> _Question:
    try:
        path = normal_path(query.path or "")
    except InvalidInput as error:
        return _Question(query, error=error)
    return _Question(CodebaseQuery(query.text, path or None), where=path_filter(path))


def _has_lines(chunk: StoredChunk) -> bool:
    return bool(chunk["path"]) and isinstance(citation_of(chunk).span, CodeSpan)


def _empty_paths(engine: Engine, questions: Sequence[_Question]) -> list[str]:
    """Say which paths hold no code: the usual reason is that the path is not spelled so."""
    code = OneOf("media", (Media.CODE.value,))
    limits = {one.query.path: one.where for one in questions if one.where is not None}
    return [
        f"path {path!r} holds no indexed code"
        for path, where in limits.items()
        if not engine.snapshot.count(And((code, where)))
    ]
