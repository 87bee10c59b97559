"""Results: the wire object as structured content and, the same JSON, as text.

Hosts read one or the other, so both are made from one string; one tool's text is prose.
A failed call is a result too: the model reads error.v1 and tries again. That is text
alone, since structured content has to be of the tool's output schema, and many hosts
check it, errors included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types

from kb_core import wire

__all__ = ["failure", "repaired", "success"]


def success(
    body: Mapping[str, Any], render: Callable[[Mapping[str, Any]], str] | None = None
) -> types.CallToolResult:
    """Return what a tool answered; *render* makes its text, where that is not JSON."""
    text = wire.dumps(dict(body))
    structured = json.loads(text)
    shown = text if render is None else render(structured)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=shown)], structured_content=structured
    )


def failure(error: BaseException) -> types.CallToolResult:
    """Return why a tool did not answer, as error.v1; never a traceback."""
    text = wire.dumps(wire.error(error))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def repaired(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return *body* as it is read back from JSON.

    What cannot be encoded, such as half a surrogate pair of a file name, is repaired, and
    never reaches the SDK's writer, which would stop.
    """
    read: dict[str, Any] = json.loads(wire.dumps(dict(body)))
    return read
