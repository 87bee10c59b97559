"""The ``schema`` tool: what this installation speaks, can do and holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from kb_app.wire_models import read
from kb_mcp._inputs import NoInput, input_schema
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL"]


def _call(call: Call) -> Mapping[str, Any]:
    read(NoInput, call.arguments)
    return call.kb.schema()


TOOL = Tool(
    definition=types.Tool(
        name="schema",
        title="What the knowledge base holds",
        description=(
            "Counts of documents by source, kind and language, what this installation can do, "
            "and the versions it works with. Use it to learn which values a filter of search "
            "can have, or how much there is and how fresh. Do not use it to find text; that is "
            "search. Works, with zeros, before anything was ingested."
        ),
        input_schema=input_schema(NoInput),
        output_schema=outline("schema"),
        annotations=READ_ONLY,
    ),
    call=_call,
)
