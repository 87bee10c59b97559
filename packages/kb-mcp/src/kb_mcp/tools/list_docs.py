"""The ``list_docs`` tool: what is indexed, document by document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import FilteredInput, Whole, read
from kb_mcp._inputs import input_schema
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL", "ListInput"]

_MOST = 1000


class ListInput(FilteredInput):
    """Which documents, and which page of them."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "folder": "path_glob",
        "k": "limit",
        "path": "path_glob",
        "skip": "offset",
    }

    limit: Whole = Field(default=100, ge=1, le=_MOST, description="How many.")
    offset: Whole = Field(default=0, ge=0, description="How many to leave out before.")


def _call(call: Call) -> Mapping[str, Any]:
    asked = read(ListInput, call.arguments)
    return call.kb.list_docs(asked.to_filters(), limit=asked.limit, offset=asked.offset)


TOOL = Tool(
    definition=types.Tool(
        name="list_docs",
        title="List documents",
        description=(
            "Documents by source and path, with title, tags, dates and size; total counts all "
            "that match. Use it to see what there is under a path, tag or date, or to count. Do "
            "not use it to find text, since it looks at no text: that is search. Narrow it with "
            "filters; a page of 100 is long."
        ),
        input_schema=input_schema(ListInput, brief=True),
        output_schema=outline("doc_summary_list"),
        annotations=READ_ONLY,
    ),
    call=_call,
)
