"""Tools that add, if the person allows it: a file or a text as a document, a word about a hit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.shown import printable
from kb_app.wire_models import Input, OneOrMore, Text, choice, read
from kb_core import wire
from kb_core.ingest import IngestEvent
from kb_core.media import Media
from kb_mcp._tool import ADDS, REPLACES, TEXTS, Answer, Call, Tool, input_schema, outline
from kb_mcp.text.reports import ingest_text

__all__ = ["FEEDBACK", "INGEST_FILE", "INGEST_STDIN", "IngestFileInput", "IngestTextInput"]
__all__ += ["TextKind"]


class IngestFileInput(Input):
    """Which file."""

    synonyms: ClassVar[Mapping[str, str]] = {"file": "path", "file_path": "path", "uri": "path"}

    path: str = Field(description="Absolute path of the file.")


def _ingest_file(call: Call) -> Answer:
    asked = read(IngestFileInput, call.arguments)
    return follow(call, call.kb.ingest_file_by_model(asked.path, stop=call.stop))


INGEST_FILE = Tool(
    definition=types.Tool(
        name="ingest_file",
        title="Add a file",
        description=(
            "Index one file: a source's in place, of another a copy is kept; the same path "
            "replaces. Use it when the person asks to add a file, or has changed one. Only "
            "folders that the person allowed are open, and ignored files and secrets are left "
            "alone. Do not use it for anything that nobody asked "
            "to keep."
        ),
        input_schema=input_schema(IngestFileInput),
        output_schema=outline("ingest_report"),
        annotations=REPLACES,
    ),
    call=_ingest_file,
    tell=lambda call: ingest_text(_ingest_file(call), call.max_tokens),
    brief="Index a file that the person asks to add or has changed, in a folder they allowed.",
    shown={"path": "Absolute."},
    seldom=True,
)


class TextKind(StrEnum):
    """What a text is written in."""

    MARKDOWN = Media.MARKDOWN.value
    TEXT = Media.TEXT.value


class IngestTextInput(Input):
    """The text, and what it is called."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "body": "content",
        "name": "title",
        "text": "content",
        "uri": "source_uri",
        "url": "source_uri",
    }

    content: str = Field(description="The text.")
    title: str = Field(description="Title of the document.")
    source_uri: Text = Field(
        default=None, description="Where it comes from; its name from then on, else the title is."
    )
    media: Annotated[TextKind, choice(TextKind)] = Field(
        default=TextKind.MARKDOWN, description="What it is written in."
    )
    written_by: Text = Field(default=None, description="You: model and program.")
    based_on: Annotated[OneOrMore, TEXTS] = Field(default=(), description="Citations or paths.")


def _ingest_stdin(call: Call) -> Answer:
    asked = read(IngestTextInput, call.arguments)
    events = call.kb.ingest_text_by_model(
        asked.content,
        title=asked.title,
        source_uri=asked.source_uri,
        media=asked.media.value,
        written_by=asked.written_by,
        based_on=asked.based_on,
        stop=call.stop,
    )
    return follow(call, events)


INGEST_STDIN = Tool(
    definition=types.Tool(
        name="ingest_stdin",
        title="Add a text",
        description=(
            "Keep a text as a document of its own; the same source_uri, or title, replaces. Use "
            "it when the person asks to keep what you wrote or were given, and say that you wrote "
            "it, and from what. Do not use it for a file on disk (that is ingest_file), nor for "
            "anything that nobody asked to keep."
        ),
        input_schema=input_schema(IngestTextInput),
        output_schema=outline("ingest_report"),
        annotations=ADDS,
    ),
    call=_ingest_stdin,
    tell=lambda call: ingest_text(_ingest_stdin(call), call.max_tokens),
    brief=(
        "Keep a text as a document when the person asks for that; say that you wrote it, and from "
        "what. The same title replaces."
    ),
    shown={
        "content": "",
        "title": "",
        "written_by": "You: model and program.",
        "based_on": "Citations or paths.",
    },
    seldom=True,
)


class Said(StrEnum):
    """What is said of a hit."""

    GOOD = "good"
    BAD = "bad"


class FeedbackInput(Input):
    """Which passage, and what of it."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "citation": "passage",
        "chunk_id": "passage",
        "text": "query",
    }

    query: str = Field(description="What was searched for.")
    passage: str = Field(description="The hit: its id, citation or path:line.")
    verdict: Annotated[Said, choice(Said)] = Field(description="Whether it answers the query.")
    note: Text = Field(default=None, description="Why.")


def _feedback(call: Call) -> Answer:
    asked = read(FeedbackInput, call.arguments)
    return call.kb.judge_by_model(asked.query, asked.passage, asked.verdict.value, note=asked.note)


def _tell_feedback(call: Call) -> str:
    said = _feedback(call)
    return f"kept: {said['verdict']}, {printable(said['citation'])}"


FEEDBACK = Tool(
    definition=types.Tool(
        name="feedback",
        title="Say whether a hit answers",
        description=(
            "Keep whether a passage answers a query, for the person to look at and make golden "
            "questions of; it changes no ranking. Use it after you have read the passage, of one "
            "that answered, or that was ranked first and did not. Do not use it of what you have "
            "not read."
        ),
        input_schema=input_schema(FeedbackInput),
        output_schema=outline("feedback"),
        annotations=REPLACES,
    ),
    call=_feedback,
    tell=_tell_feedback,
    brief=(
        "Say whether a passage that you have read answers a query: for the person, it changes no "
        "ranking."
    ),
    shown={
        "query": "",
        "passage": "path:line, a citation or an id.",
        "verdict": "good or bad.",
        "note": "Why.",
    },
)


def follow(call: Call, events: Iterator[IngestEvent]) -> Answer:
    """Take all *events*, and return ingest_report.v1 from the last of them."""
    report = None
    for event in events:
        call.progress.message = _message(event) or call.progress.message
        report = event.report or report
    if report is None:
        raise RuntimeError("the last event of an ingest has its report")
    return wire.ingest_report(report)


def _message(event: IngestEvent) -> str:
    data = event.data
    match event.kind:
        case "asset_finished":
            return "read"
        case "committed":
            return "found by its words now"
        case "embed_batch_finished":
            return f"{data['done']} of {data['total']} passages embedded"
        case _:
            return ""
