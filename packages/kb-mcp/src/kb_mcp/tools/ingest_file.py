"""The ``ingest_file`` tool: one file becomes a document, if the person allowed its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import Input, read
from kb_mcp._following import follow
from kb_mcp._inputs import input_schema
from kb_mcp._tool import REPLACES, Call, Tool, outline

__all__ = ["TOOL", "IngestFileInput"]


class IngestFileInput(Input):
    """Which file."""

    synonyms: ClassVar[Mapping[str, str]] = {"file": "path", "file_path": "path", "uri": "path"}

    path: str = Field(description="Absolute path of the file.")


def _call(call: Call) -> Mapping[str, Any]:
    asked = read(IngestFileInput, call.arguments)
    return follow(call, call.kb.ingest_file_by_model(asked.path, stop=call.stop))


TOOL = Tool(
    definition=types.Tool(
        name="ingest_file",
        title="Add a file",
        description=(
            "Index one file: a source's in place, of another a copy is kept; the same path "
            "replaces. Use it when the person asks to add a file, or has changed one. Only "
            "folders that the person allowed are open, and ignored files and secrets are left "
            "alone: skipped: 1 says why in items. Do not use it for anything that nobody asked "
            "to keep."
        ),
        input_schema=input_schema(IngestFileInput),
        output_schema=outline("ingest_report"),
        annotations=REPLACES,
    ),
    call=_call,
)
