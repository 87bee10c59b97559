"""What a tool is: how a host sees it, and what it asks of the facade."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types

from kb_app import KnowledgeBase
from kb_core import schemas

__all__ = ["READ_ONLY", "Arguments", "Tool", "output_schema"]

Arguments: TypeAlias = Mapping[str, Any]
"""What a model sent, not checked yet."""

READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

_PROSE = frozenset({"title", "description"})
_NAMED = frozenset({"properties", "$defs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the server.

    ``call`` blocks, may run on any thread, returns a wire object of the definition's
    output schema, and raises ``KbError`` for whatever a model or a person can repair.
    """

    definition: types.Tool
    call: Callable[[KnowledgeBase, Arguments], Mapping[str, Any]]


def output_schema(name: str) -> dict[str, Any]:
    """Return the schema of one wire object as hosts take it.

    Self-contained, without conditions, and without prose: a host reads all schemas of
    all tools before the first call, and the prose is in ``docs/wire-schema``.
    """
    schema: dict[str, Any] = _terse(schemas.bundle(name, portable=True))
    return schema


def _terse(node: Any) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(node, list):
        return [_terse(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _terse(inner) for name, inner in value.items()}
        if key in _NAMED and isinstance(value, dict)
        else _terse(value)
        for key, value in node.items()
        if not (key in _PROSE and isinstance(value, str))
    }
