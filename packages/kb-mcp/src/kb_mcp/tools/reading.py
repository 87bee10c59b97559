"""Reading tools: text as it stands in a source, what there is, what citations still say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import Field, WithJsonSchema

from kb_app.wire_models import FilteredInput, Input, MaybeWhole, Text, Whole, choice, read
from kb_core.errors import InvalidInput
from kb_mcp._tool import READ_ONLY, Answer, Call, Tool, at_least, input_schema, outline
from kb_mcp.text import BUDGET
from kb_mcp.text.reports import documents_text, fetched_text, verified_text

__all__ = [
    "CITE_VERIFY",
    "FETCH",
    "LIST_DOCS",
    "FetchInput",
    "FetchKind",
    "ListInput",
    "VerifyInput",
]


class FetchKind(StrEnum):
    """What is fetched."""

    CHUNK = "chunk"
    DOC = "doc"
    SPAN = "span"


_NEEDED = {
    FetchKind.CHUNK: ("chunk_id",),
    FetchKind.DOC: ("doc_id",),
    FetchKind.SPAN: ("doc_id", "line_start", "line_end"),
}
_OPTIONAL = {
    FetchKind.CHUNK: ("context",),
    FetchKind.DOC: ("max_tokens",),
    FetchKind.SPAN: ("max_tokens",),
}


class FetchInput(Input):
    """Which text; each kind has parameters of its own, and refuses the others'."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "document_id": "doc_id",
        "end": "line_end",
        "id": "chunk_id",
        "start": "line_start",
        "type": "kind",
    }

    kind: Annotated[FetchKind, choice(FetchKind)] = Field(
        description="chunk needs chunk_id; doc needs doc_id; span needs doc_id, line_start and "
        "line_end."
    )
    chunk_id: Text = Field(default=None, description="Of a hit, or path:line.")
    doc_id: Text = Field(default=None, description="Of a hit or list_docs, or a path.")
    line_start: MaybeWhole = Field(
        default=None, description="First line, from 1: the L of a citation."
    )
    line_end: MaybeWhole = Field(default=None, description="Last line, included.")
    context: Annotated[MaybeWhole, at_least(0)] = Field(
        default=None, ge=0, description="chunk: this many chunks before and after it, too."
    )
    max_tokens: Annotated[MaybeWhole, at_least(1)] = Field(
        default=None, ge=1, description="doc and span: cut the text at about this length."
    )


def _check(asked: FetchInput) -> None:
    """Raise ``InvalidInput`` unless *asked* has what its kind needs, and nothing else."""
    needed, optional = _NEEDED[asked.kind], _OPTIONAL[asked.kind]
    given = {name for name in asked.model_fields_set if getattr(asked, name) is not None}
    missing = [name for name in needed if name not in given]
    foreign = sorted(given - {"kind", *needed, *optional})
    if missing or foreign:
        problems = [f"parameter {name!r} is missing" for name in missing]
        problems += [f"parameter {name!r} is not for kind {asked.kind.value!r}" for name in foreign]
        raise InvalidInput(
            "; ".join(problems),
            hint=f"kind {asked.kind.value!r} takes {', '.join((*needed, *optional))}",
            details={"kind": asked.kind.value, "missing": missing, "foreign": foreign},
        )


def _fetch(call: Call) -> Answer:
    asked = read(FetchInput, call.arguments)
    _check(asked)
    match asked.kind:
        case FetchKind.CHUNK:
            return call.kb.fetch_chunk(asked.chunk_id or "", context=asked.context or 0)
        case FetchKind.DOC:
            return call.kb.fetch_doc(asked.doc_id or "", max_tokens=asked.max_tokens)
        case FetchKind.SPAN:
            lines = (asked.line_start or 0, asked.line_end or 0)
            return call.kb.fetch_span(asked.doc_id or "", *lines, max_tokens=asked.max_tokens)


def _tell_fetch(call: Call) -> str:
    most = call.max_tokens or BUDGET
    has_budget = call.arguments.get("kind") in {FetchKind.DOC.value, FetchKind.SPAN.value}
    asked = {**call.arguments, **({"max_tokens": most} if has_budget else {})}
    return fetched_text(_fetch(replace(call, arguments=asked)), most)


FETCH = Tool(
    definition=types.Tool(
        name="fetch",
        title="Read a passage or a document",
        description=(
            "Text exactly as it stands in a source: a chunk with its neighbours, lines of a "
            "document, or all of it. Use it when a hit's snippet is not enough to answer or to "
            "quote, and to check a citation: #L12-L34 is span 12 to 34. Do not use it to look for "
            "something; that is search. Long documents cost: prefer chunk with context, or "
            "max_tokens. stale: true says that the file has changed since."
        ),
        input_schema=input_schema(FetchInput),
        output_schema=outline("fetch_result"),
        annotations=READ_ONLY,
    ),
    call=_fetch,
    tell=_tell_fetch,
)


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


def _list_docs(call: Call) -> Answer:
    asked = read(ListInput, call.arguments)
    return call.kb.list_docs(asked.to_filters(), limit=asked.limit, offset=asked.offset)


def _tell_list_docs(call: Call) -> str:
    offset = read(ListInput, call.arguments).offset
    return documents_text(_list_docs(call), offset, call.max_tokens)


LIST_DOCS = Tool(
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
    call=_list_docs,
    tell=_tell_list_docs,
)


class VerifyInput(Input):
    """The citations; what one of them can be is said behind the facade."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "citation": "citations",
        "items": "citations",
        "uri": "citations",
        "uris": "citations",
    }

    citations: Annotated[
        list[Any],
        WithJsonSchema(
            {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            }
        ),
    ] = Field(description="Each a URI such as notes/a.md#L12-L34, or the citation of a hit.")
    source: Text = Field(default=None, description="Source of URIs whose path several have.")


def _cite_verify(call: Call) -> Answer:
    asked = read(VerifyInput, call.arguments)
    if not asked.citations:
        raise InvalidInput(
            "no citation to verify",
            hint="give at least one, such as notes/a.md#L12-L34",
            details={"field": "citations", "value": []},
        )
    return call.kb.verify_citations(asked.citations, source=asked.source)


CITE_VERIFY = Tool(
    definition=types.Tool(
        name="cite_verify",
        title="Verify citations",
        description=(
            "Whether citations still say the same, compared with the files as they are now: "
            "unchanged, moved (with the new place), changed (with a diff) or gone. Use it before "
            "relying on citations that you did not get just now, and on hits that are stale. Do "
            "not use it to read what a citation says; that is fetch."
        ),
        input_schema=input_schema(VerifyInput),
        output_schema=outline("citation_check"),
        annotations=READ_ONLY,
    ),
    call=_cite_verify,
    tell=lambda call: verified_text(_cite_verify(call), call.max_tokens),
)
