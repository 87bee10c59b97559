"""Results: the wire object as structured content and, the same JSON, as text; or text alone.

Hosts read one or the other, so both are made from one string; one tool's text is prose.
A host that finds both may hand its model the object alone, so what is made for reading
comes without one.
A failed call is a result too: the model reads error.v1 and tries again. That is text
alone, since structured content has to be of the tool's output schema, and many hosts
check it, errors included.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mcp_types as types

from kb_app.drawing import Picture
from kb_core import wire
from kb_mcp._tool import Form
from kb_mcp.text import error_text

__all__ = ["failure", "repaired", "success", "told", "with_pictures"]


def success(
    body: Mapping[str, Any], render: Callable[[Mapping[str, Any]], str] | None = None
) -> types.CallToolResult:
    """Return what a tool answered; *render* makes its text, where that is not JSON."""
    text = wire.dumps(dict(body))
    structured = json.loads(text)
    shown = text if render is None else render(structured)
    return types.CallToolResult(content=[_text(shown)], structured_content=structured)


def told(text: str) -> types.CallToolResult:
    """Return what a tool answered as text for a model to read."""
    return types.CallToolResult(content=[_text(text)])


def with_pictures(
    result: types.CallToolResult, pictures: Iterable[Picture]
) -> types.CallToolResult:
    """Return *result* with *pictures* after its text."""
    for picture in pictures:
        data = b64encode(picture.png).decode("ascii")
        result.content.append(types.ImageContent(type="image", data=data, mime_type="image/png"))
    return result


def failure(
    error: BaseException, form: Form = Form.JSON, named: Callable[[str], str] = str
) -> types.CallToolResult:
    """Return why a tool did not answer, as error.v1 or in words; never a traceback.

    What is said of it is *named*, as ``Call`` has it.
    """
    body = wire.reworded(wire.error(error), named)
    text = wire.dumps(body) if form is Form.JSON else error_text(body)
    return types.CallToolResult(content=[_text(text)], is_error=True)


def _text(text: str) -> types.TextContent:
    """Return *text* as content; half a surrogate pair would stop the SDK's writer."""
    sound = text.encode("utf-8", "replace").decode("utf-8")
    return types.TextContent(type="text", text=sound)


def repaired(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return *body* as it is read back from JSON.

    What cannot be encoded, such as half a surrogate pair of a file name, is repaired, and
    never reaches the SDK's writer, which would stop.
    """
    read: dict[str, Any] = json.loads(wire.dumps(dict(body)))
    return read
