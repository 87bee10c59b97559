"""Checking tools: what the knowledge base holds, whether it is well, why a document is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import (
    FilteredInput,
    Input,
    MaybeWhole,
    OneOrMore,
    Text,
    Whole,
    choice,
    read,
    whole,
)
from kb_core.media import SearchMode
from kb_core.records import FileState
from kb_core.search import MAX_K, SearchQuery
from kb_mcp._tool import (
    READ_ONLY,
    REPLACES,
    TEXTS,
    Answer,
    Call,
    NoInput,
    Tool,
    input_schema,
    outline,
)
from kb_mcp.text.reports import doctor_text, files_text, miss_text, schema_text

__all__ = ["DOCTOR", "EXPLAIN_MISS", "FRESH", "SCHEMA", "STATUS", "MissInput", "StatusInput"]


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


def _explain_miss(call: Call) -> Answer:
    asked = read(MissInput, call.arguments)
    query = SearchQuery(
        text=asked.query,
        mode=asked.mode,
        k=call.kb.preferences().default_k if asked.k is None else asked.k,
        max_tokens=asked.max_tokens,
        filters=asked.to_filters(),
    )
    return call.kb.explain_miss(asked.doc, query)


EXPLAIN_MISS = Tool(
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
    call=_explain_miss,
    tell=lambda call: miss_text(call.worded(_explain_miss(call)), call.max_tokens),
    brief="Why a document is not among the hits of a query, and a query that finds it.",
    shown={"query": "", "doc": "Its path."},
    seldom=True,
)


def _schema(call: Call) -> Answer:
    read(NoInput, call.arguments)
    return call.kb.schema()


SCHEMA = Tool(
    definition=types.Tool(
        name="schema",
        title="What the knowledge base holds",
        description=(
            "Counts of documents by source, kind and language, and what this installation "
            "can do. Use it to learn which values a filter of search "
            "can have, or how much there is. Do not use it to find text; that is "
            "search."
        ),
        input_schema=input_schema(NoInput),
        output_schema=outline("schema"),
        annotations=READ_ONLY,
    ),
    call=_schema,
    tell=lambda call: schema_text(_schema(call), call.max_tokens),
    brief="How much there is, by source, medium and language: the values that filters take.",
    seldom=True,
)


_MOST = 1000


class StatusInput(Input):
    """Which files are listed; the totals always count all."""

    synonyms: ClassVar[Mapping[str, str]] = {"path": "path_glob"}

    path_glob: Text = Field(default=None, description="Only paths like this: notes/**, *.pdf.")
    state: Annotated[FileState | None, choice(FileState)] = Field(
        default=None, description="Only files in this state."
    )
    changed_since: Text = Field(default=None, description="A time, or as_of of before.")
    limit: Whole = Field(default=100, ge=1, le=_MOST, description="How many.")
    offset: Whole = Field(default=0, ge=0, description="How many to leave out before.")


def _status(call: Call) -> Answer:
    asked = read(StatusInput, call.arguments)
    state = asked.state.value if asked.state else None
    page = {"limit": asked.limit, "offset": asked.offset}
    return call.kb.status(asked.path_glob, state, changed_since=asked.changed_since, **page)


def _tell_status(call: Call) -> str:
    offset = read(StatusInput, call.arguments).offset
    return files_text(call.worded(_status(call)), offset, call.max_tokens)


STATUS = Tool(
    definition=types.Tool(
        name="status",
        title="What became of every file",
        description=(
            "Every file that was ever seen, with its state and the reason: indexed, skipped, "
            "failed, pending, deleted. total counts those that match. Use it to learn why a file "
            "is not found, or what changed. Do not use it to find text: that is search."
        ),
        input_schema=input_schema(StatusInput),
        output_schema=outline("file_status"),
        annotations=READ_ONLY,
    ),
    call=_status,
    tell=_tell_status,
    brief="What became of every file, and why: for one that should be found and is not.",
    shown={"path_glob": "", "state": "", "changed_since": "A time, or as_of of before."},
    seldom=True,
)


def _doctor(call: Call) -> Answer:
    read(NoInput, call.arguments)
    return call.kb.doctor()


DOCTOR = Tool(
    definition=types.Tool(
        name="doctor",
        title="Check the knowledge base",
        description=(
            "Health checks of the installation, each with what was found and what the person "
            "can do. Use it when another tool failed, answered degraded, or found nothing where "
            "something should be. Do not use it before every search: it is slower, and healthy "
            "is the normal case. An unhealthy check is a normal result; it repairs nothing."
        ),
        input_schema=input_schema(NoInput),
        output_schema=outline("doctor"),
        annotations=READ_ONLY,
    ),
    call=_doctor,
    tell=lambda call: call.named(doctor_text(_doctor(call), call.max_tokens)),
    brief="Health checks, each with what the person can do: when something fails.",
    seldom=True,
)


_PATIENCE_S = 120


class FreshInput(Input):
    """Which files, and how long a model may wait for them."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "files": "paths",
        "path": "paths",
        "timeout": "seconds",
    }

    paths: Annotated[OneOrMore, TEXTS] = Field(description="As hits print them, or absolute.")
    seconds: Whole = Field(default=10, ge=1, le=_PATIENCE_S, description="How long at most.")


def _wait_for_fresh(call: Call) -> Answer:
    asked = read(FreshInput, call.arguments)
    return call.kb.wait_for_fresh(asked.paths, seconds=asked.seconds, stop=call.stop)


FRESH = Tool(
    definition=types.Tool(
        name="wait_for_fresh",
        title="Wait for files",
        description=(
            "Index files of sources that you wrote, moved or deleted, and return when searches "
            "know them. Use it after your own edits. Do not use it for other files: ingest_file."
        ),
        input_schema=input_schema(FreshInput),
        output_schema=outline("file_status", only=("schema_version",)),
        annotations=REPLACES,
    ),
    call=_wait_for_fresh,
    tell=lambda call: files_text(call.worded(_wait_for_fresh(call)), 0, call.max_tokens),
    brief=(
        "After your own edits: index these files of the sources, and return when searches know "
        "them as they are on disk."
    ),
    shown={"paths": "", "seconds": ""},
    seldom=True,
)
