"""Results: the wire object as structured content and, the same JSON, as text.

Hosts read one or the other, so both are made from one string. A failed call is a
result too: the model reads error.v1 and tries again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from kb_core import wire

__all__ = ["failure", "success"]


def success(body: Mapping[str, Any]) -> types.CallToolResult:
    """Return what a tool answered."""
    return _result(body, is_error=False)


def failure(error: BaseException) -> types.CallToolResult:
    """Return why a tool did not answer, as error.v1; never a traceback."""
    return _result(wire.error(error), is_error=True)


def _result(body: Mapping[str, Any], *, is_error: bool) -> types.CallToolResult:
    # Read back from the text: what cannot be encoded, such as half a surrogate pair of a
    # file name, is repaired in both, and never reaches the SDK's writer, which would stop.
    text = wire.dumps(dict(body))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=json.loads(text),
        is_error=is_error,
    )
