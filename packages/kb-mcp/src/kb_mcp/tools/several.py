"""Tools for several queries in one call: side by side, as one list, or code as prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeAlias

import mcp_types as types
from pydantic import Field, WithJsonSchema

from kb_app.wire_models import Flag, Input, MaybeWhole, read, read_queries, sharing, whole
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.search import MAX_K, MAX_QUERIES, FileRole, SearchQuery
from kb_mcp._tool import (
    ONE_OR_SEVERAL,
    READ_ONLY,
    Answer,
    Arguments,
    Call,
    Tool,
    each_of,
    in_passages,
    input_schema,
    outline,
    schema_of,
)
from kb_mcp.text.hits import Told, aggregated_text, bulk_text, codebase_text

__all__ = ["BULK_SEARCH", "CODEBASE_SEARCH", "BulkInput", "tell_searches"]

_Queries: TypeAlias = "Sequence[SearchQuery | KbError]"


_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
"""What is shown of one query; the rest of it is told by the schema of search."""


class BulkInput(Input):
    """The queries, as they come: what is wrong in one is an error of that query alone."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "limit": "k",
        "query": "queries",
        "searches": "queries",
    }

    queries: Annotated[
        list[Any],
        WithJsonSchema({"type": "array", "maxItems": MAX_QUERIES, "items": _QUERY}),
    ] = Field(description="Each an object with parameters of search.")
    aggregate: Flag = Field(
        default=False, description="Make one list of all hits; what several queries find rises."
    )
    k: Annotated[MaybeWhole, whole(1, MAX_K)] = Field(
        default=None, description="aggregate: how many hits in all."
    )
    per_doc: Annotated[MaybeWhole, whole(0, MAX_K)] = Field(
        default=None, description="aggregate: most hits of one document."
    )
    max_tokens: Annotated[MaybeWhole, whole(1, 10_000_000)] = Field(
        default=None, description="Of the whole response; apart, each query has an equal share."
    )


def _bulk_search(call: Call, *, passages: bool = False) -> Answer:
    given = read(BulkInput, call.arguments)
    asked = [_object(call, at, one) for at, one in enumerate(given.queries)]
    usual = call.kb.preferences()
    queries = read_queries(asked, k=usual.default_k, snippet_chars=usual.snippet_chars)
    if passages:
        queries = [_in_passages(query) for query in queries]
    if given.aggregate:
        shape = {"k": given.k, "per_doc": given.per_doc, "max_tokens": given.max_tokens}
        found = call.kb.search_aggregated(queries, asked=asked, stop=call.stop, **shape)
        return wire.aggregated_search_response(asked, found)
    _refuse_shared(given)
    if given.max_tokens is not None:
        queries = sharing(queries, given.max_tokens)
    return _search_each(call, asked, queries)


def _in_passages(query: SearchQuery | InvalidInput) -> SearchQuery | InvalidInput:
    try:
        return query if isinstance(query, InvalidInput) else in_passages(query)
    except InvalidInput as error:
        return error


def _tell_bulk_search(call: Call) -> str:
    found = _bulk_search(call, passages=True)
    for one in found["results"]:
        if (response := one["response"]) and (cursor := response["next_cursor"]):
            response["next_cursor"] = call.memory.short(cursor)
    tell = aggregated_text if "aggregated" in found else bulk_text
    return _told(call, tell(found, call.max_tokens, call.given, is_whole=_is_whole(call)))


def tell_searches(call: Call) -> str:
    """Return the text of a search with ``queries``, each answered apart."""
    return _tell_bulk_search(replace(call, arguments={"queries": each_of(call.arguments)}))


def _is_whole(call: Call) -> bool:
    """Say whether passages are whole: where it was said how much they may be."""
    return call.max_tokens is not None


def _told(call: Call, told: Told) -> str:
    call.shown.extend(told.lines)
    return told.text


def _search_each(call: Call, asked: Sequence[Mapping[str, Any]], queries: _Queries) -> Answer:
    outcomes = []
    with closing(call.kb.search_many(queries, stop=call.stop)) as answers:
        for outcome in answers:
            outcomes.append(outcome)
            call.progress.message = f"{len(outcomes)} of {len(queries)} queries answered"
            if call.stop.is_set():
                break  # nobody waits for the rest
    return wire.bulk_search_response(asked[: len(outcomes)], outcomes)


def _object(call: Call, at: int, value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        cursor = value.get("cursor")
        return {**value, "cursor": call.memory.cursor(cursor)} if isinstance(cursor, str) else value
    raise InvalidInput(
        f"queries.{at} is not an object",
        hint='a query looks like {"query": "how are chunks cut", "k": 5}',
        details={"field": f"queries.{at}", "value": value},
    )


def _refuse_shared(given: BulkInput) -> None:
    """Raise ``InvalidInput`` for what only one list for all can have."""
    for name in ("k", "per_doc"):
        if getattr(given, name) is not None:
            raise InvalidInput(
                f"{name} of all queries goes with aggregate: true",
                hint=f"or give each query a {name} of its own",
                details={"field": name, "value": getattr(given, name)},
            )


BULK_SEARCH = Tool(
    definition=types.Tool(
        name="bulk_search",
        title="Search for several things at once",
        description=(
            "Up to 100 searches in one call, over one state of the index. Use it for questions "
            "that have several parts, or, with aggregate, for one question in several wordings: "
            "one list. Do not use it for a single "
            "query; that is search. A query that fails has its own error, and the others go on."
        ),
        input_schema=input_schema(BulkInput),
        output_schema=outline("bulk_search_response"),
        annotations=READ_ONLY,
    ),
    call=_bulk_search,
    tell=_tell_bulk_search,
    brief=(
        "Several searches in one call, each with parameters of its own, or, with aggregate, one "
        "list for several wordings of a question."
    ),
    shown={"queries": "", "aggregate": "", "k": "", "per_doc": "", "max_tokens": ""},
    seldom=True,
)


_USUAL, _EACH, _MOST = 20, 3, 100
"""Results of a code search that says no number, for each query that is apart, and at most."""
_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}
_INPUT = {
    "query": {**_TEXT, "description": "What the code does, or how it is called."},
    "queries": {
        "type": "array",
        "maxItems": MAX_QUERIES,
        "items": {"anyOf": [_TEXT, schema_of({"query": _TEXT, "path": _TEXT}, required=["query"])]},
        "description": "Several, instead of query; each may have a path of its own.",
    },
    "path": {**_TEXT, "description": "Only below this folder: src/auth, or repository/src/auth."},
    "maxResults": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST,
        "description": "How many results in all.",
    },
    "include": {
        "type": "array",
        "items": {"type": "string", "enum": [*map(str, FileRole)]},
        "description": "Only these; all but code stand below it unless asked for.",
    },
    "group": {"type": "boolean", "description": "Answer each query apart: unrelated queries."},
}


def _codebase_search(call: Call) -> Answer:
    return call.kb.codebase_search(call.arguments)


def _with_enough(arguments: Arguments) -> Arguments:
    """Return a code search that has results for each of its queries, where they are apart.

    The usual number is for all of them, and those that come last would have none.
    """
    queries = arguments.get("queries")
    is_open = arguments.get("group") is True and arguments.get("maxResults") is None
    if not is_open or not isinstance(queries, list):
        return arguments
    return {**arguments, "maxResults": min(_MOST, max(_USUAL, _EACH * len(queries)))}


def _tell_codebase_search(call: Call) -> str:
    found = call.kb.codebase_search(_with_enough(call.arguments), passages=True)
    told = codebase_text(found, call.max_tokens, call.given, is_whole=_is_whole(call))
    return _told(call, told)


_EXAMPLES = (
    '{"query": "authentication validation", "path": "src/auth"}; '
    '{"queries": ["error handling", "exception handling", "try catch"]}; '
    '{"queries": [{"query": "error handling", "path": "src/utils"}, '
    '{"query": "exception handling", "path": "src/api"}]}; '
    '{"queries": ["database connection", "connection pool"], "maxResults": 10}'
)

CODEBASE_SEARCH = Tool(
    definition=types.Tool(
        name="codebase_search",
        title="Search code",
        description=(
            "Find code in the indexed repositories by what it does, and the pages, tests and "
            "settings that explain it. Use it with simple terms, one thing a query, "
            "and several wordings in one call: doubles are merged, and each further query that "
            "finds a passage adds 5 % to its score. path is a folder, of all queries or of one. Do "
            "not use it for notes and documents, for exact names or where you need filters: that "
            "is search with media code. Examples: "
            f"{_EXAMPLES}"
        ),
        input_schema=schema_of(_INPUT),
        output_schema=outline("codebase_search_response"),
        annotations=READ_ONLY,
    ),
    call=_codebase_search,
    render=wire.codebase_search_text,
    tell=_tell_codebase_search,
    brief=(
        "Find code by what it does: simple terms, one thing a query, several wordings at once, of "
        "which each further one that finds a passage adds 5 % to its score; with group, several "
        'questions, each answered apart. {"queries": ["error handling", {"query": "try catch", '
        '"path": "src/api"}], "maxResults": 10}; 20 results by default. Exact names: grep.'
    ),
    also={**ONE_OR_SEVERAL, "queries": {"type": "array", "items": {"anyOf": [_TEXT, _OBJECT]}}},
    shown={"path": "", "maxResults": "", "include": "", "group": "", "max_tokens": ""},
)
