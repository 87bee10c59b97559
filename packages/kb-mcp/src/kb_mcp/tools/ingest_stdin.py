"""The ``ingest_stdin`` tool: a text that the model has becomes a document."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import Input, Text, choice, read
from kb_core.media import Media
from kb_mcp._following import follow
from kb_mcp._inputs import input_schema
from kb_mcp._tool import REPLACES, Call, Tool, outline

__all__ = ["TOOL", "IngestTextInput", "TextKind"]


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


def _call(call: Call) -> Mapping[str, Any]:
    asked = read(IngestTextInput, call.arguments)
    events = call.kb.ingest_text_by_model(
        asked.content,
        title=asked.title,
        source_uri=asked.source_uri,
        media=asked.media.value,
        stop=call.stop,
    )
    return follow(call, events)


TOOL = Tool(
    definition=types.Tool(
        name="ingest_stdin",
        title="Add a text",
        description=(
            "Keep a text in the knowledge base as a document of its own; the same source_uri, or "
            "title, replaces. Use it when the person asks to keep what you wrote or were given. "
            "Do not use it for a file on disk (that is ingest_file), nor for anything that nobody "
            "asked to keep."
        ),
        input_schema=input_schema(IngestTextInput),
        output_schema=outline("ingest_report"),
        annotations=REPLACES,
    ),
    call=_call,
)
