"""The ``status`` tool: what became of every file, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import Input, Text, Whole, choice, read
from kb_core.records import FileState
from kb_mcp._inputs import input_schema
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL", "StatusInput"]

_MOST = 1000


class StatusInput(Input):
    """Which files are listed; the totals always count all."""

    synonyms: ClassVar[Mapping[str, str]] = {"path": "path_glob"}

    path_glob: Text = Field(default=None, description="Only paths like this: notes/**, *.pdf.")
    state: Annotated[FileState | None, choice(FileState)] = Field(
        default=None, description="Only files in this state."
    )
    limit: Whole = Field(default=100, ge=1, le=_MOST, description="How many.")
    offset: Whole = Field(default=0, ge=0, description="How many to leave out before.")


def _call(call: Call) -> Mapping[str, Any]:
    asked = read(StatusInput, call.arguments)
    state = asked.state.value if asked.state else None
    return call.kb.status(asked.path_glob, state, limit=asked.limit, offset=asked.offset)


TOOL = Tool(
    definition=types.Tool(
        name="status",
        title="What became of every file",
        description=(
            "Every file that was ever seen, with its state and the reason: indexed, skipped, "
            "failed, pending, deleted. total counts those that match, coverage all. Use it to "
            "learn why a file that should be there is not found; narrow it by path_glob or "
            "state. Do not use it to find text: that is search."
        ),
        input_schema=input_schema(StatusInput),
        output_schema=outline("file_status"),
        annotations=READ_ONLY,
    ),
    call=_call,
)
