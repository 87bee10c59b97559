"""The ``explain_miss`` tool: why a document is not among the hits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import FilteredInput, MaybeWhole, choice, read, whole
from kb_core.media import SearchMode
from kb_core.search import MAX_K, SearchQuery
from kb_mcp._inputs import input_schema
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL", "MissInput"]


class MissInput(FilteredInput):
    """Which document, and the search that did not find it."""

    synonyms: ClassVar[Mapping[str, str]] = {"doc_path": "doc", "document": "doc", "path": "doc"}

    query: str = Field(description="The query that was searched for.")
    doc: str = Field(description="The missed document: its path, or its id.")
    mode: Annotated[SearchMode, choice(SearchMode)] = Field(
        default=SearchMode.HYBRID, description="Of that search."
    )
    k: Annotated[MaybeWhole, whole(1, MAX_K)] = Field(default=None, description="Of that search.")
    max_tokens: Annotated[MaybeWhole, whole(1, 10_000_000)] = Field(
        default=None, description="Of that search."
    )


def _call(call: Call) -> Mapping[str, Any]:
    asked = read(MissInput, call.arguments)
    query = SearchQuery(
        text=asked.query,
        mode=asked.mode,
        k=call.kb.preferences().default_k if asked.k is None else asked.k,
        max_tokens=asked.max_tokens,
        filters=asked.to_filters(),
    )
    return call.kb.explain_miss(asked.doc, query)


TOOL = Tool(
    definition=types.Tool(
        name="explain_miss",
        title="Why a document was not found",
        description=(
            "What kept one document out of the hits of a query: not indexed, a filter, no word in "
            "common, too far down; and a query that finds it. Use it when a document that should "
            "answer is missing from the hits. Do not use it to find documents; that is search. "
            "Filters are those of the search."
        ),
        input_schema=input_schema(MissInput, brief=True),
        output_schema=outline("explain_miss"),
        annotations=READ_ONLY,
    ),
    call=_call,
)
