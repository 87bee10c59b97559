"""The ``doctor`` tool: is the knowledge base healthy, and what to do if not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from kb_app.wire_models import read
from kb_mcp._inputs import NoInput, input_schema
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL"]


def _call(call: Call) -> Mapping[str, Any]:
    read(NoInput, call.arguments)
    return call.kb.doctor()


TOOL = Tool(
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
    call=_call,
)
