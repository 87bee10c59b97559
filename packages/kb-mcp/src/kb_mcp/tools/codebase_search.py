"""The ``codebase_search`` tool: code as prose, for one or several queries.

The one tool whose text is not its structured content: models read code better unescaped
(ruling R18). What it takes is checked behind the facade, in all the forms that models send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from kb_core import wire
from kb_core.search import MAX_QUERIES
from kb_mcp._inputs import schema_of
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL"]

_TEXT = {"type": "string"}
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
        "maximum": 100,
        "description": "How many results in all.",
    },
}


def _call(call: Call) -> Mapping[str, Any]:
    return call.kb.codebase_search(call.arguments)


TOOL = Tool(
    definition=types.Tool(
        name="codebase_search",
        title="Search code",
        description=(
            "Find code in the indexed repositories by what it does; whole passages with paths "
            "and lines, as text. Use it with several wordings at once: what more of them find "
            "comes first. Do not use it for notes and documents, or where you need filters: "
            "that is search with media code."
        ),
        input_schema=schema_of(_INPUT),
        output_schema=outline("codebase_search_response"),
        annotations=READ_ONLY,
    ),
    call=_call,
    render=wire.codebase_search_text,
)
