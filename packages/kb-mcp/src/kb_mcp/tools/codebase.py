"""The tool for code: one list, or one a query, for one query or several; objects as prose."""

from __future__ import annotations

import mcp_types as types

from kb_core import wire
from kb_core.search import MAX_QUERIES, FileRole
from kb_mcp._tool import (
    READ_ONLY,
    SEVERAL,
    Answer,
    Arguments,
    Call,
    Tool,
    outline,
    schema_of,
)
from kb_mcp._values import Constants, mark_shared
from kb_mcp.text.hits import codebase_text

__all__ = ["CODEBASE_SEARCH"]

_USUAL, _EACH, _MOST = 20, 5, 100
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

    As text ``maxResults`` is what each may have then: the answer ends with its tokens.
    """
    queries, most = arguments.get("queries"), arguments.get("maxResults")
    if arguments.get("group") is not True or not isinstance(queries, list):
        return arguments
    if most is None:
        return {**arguments, "maxResults": min(_MOST, max(_USUAL, _EACH * len(queries)))}
    is_number = isinstance(most, int) and not isinstance(most, bool) and 1 <= most <= _MOST
    # What is wrong is said by the search.
    return {**arguments, "maxResults": min(_MOST, most * len(queries))} if is_number else arguments


def _tell_codebase_search(call: Call) -> str:
    found = call.kb.codebase_search(_with_enough(call.arguments), passages=True)
    mark_shared(call.kb, found["hits"])
    is_whole = call.max_tokens is not None
    look_up = Constants(call.kb)
    told = codebase_text(found, call.max_tokens, call.given, is_whole=is_whole, look_up=look_up)
    call.shown.extend(told.lines)
    return told.text


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
        "Find code by what it does: simple terms, one thing a query; each further wording that "
        "finds a passage adds 5 % to its score; group answers each apart. "
        '{"queries": ["error handling", {"query": "try catch", "path": "src/api"}], '
        '"maxResults": 10}; 20 by default. Exact names: grep.'
    ),
    also={**SEVERAL, "queries": {"type": "array", "items": {"anyOf": [_TEXT, _OBJECT]}}},
    shown={"path": "", "maxResults": "", "include": "", "group": ""},
)
