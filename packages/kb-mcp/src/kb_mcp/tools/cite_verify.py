"""The ``cite_verify`` tool: do citations still say the same?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import Field, WithJsonSchema

from kb_app.wire_models import Input, Text, read
from kb_core.errors import InvalidInput
from kb_mcp._inputs import input_schema
from kb_mcp._tool import READ_ONLY, Call, Tool, outline

__all__ = ["TOOL", "VerifyInput"]


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


def _call(call: Call) -> Mapping[str, Any]:
    asked = read(VerifyInput, call.arguments)
    if not asked.citations:
        raise InvalidInput(
            "no citation to verify",
            hint="give at least one, such as notes/a.md#L12-L34",
            details={"field": "citations", "value": []},
        )
    return call.kb.verify_citations(asked.citations, source=asked.source)


TOOL = Tool(
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
    call=_call,
)
