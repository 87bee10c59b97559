"""What a tool is: how a host sees it, and what it asks of the facade."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mcp_types as types

from kb_app import KnowledgeBase
from kb_core import schemas

__all__ = [
    "READ_ONLY",
    "REPLACES",
    "Arguments",
    "Call",
    "Progress",
    "Tool",
    "outline",
    "output_schema",
]

Arguments: TypeAlias = Mapping[str, Any]
"""What a model sent, not checked yet."""

READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

REPLACES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
"""It writes, in place of what was there under the same name; twice is once."""

_PROSE = frozenset({"title", "description"})
_BOUNDS = frozenset({"pattern", "format", "minimum", "maximum", "minItems", "maxItems"})
_NAMED = frozenset({"properties", "$defs"})


@dataclass(slots=True)
class Progress:
    """How far a call is: the tool writes it, the protocol reads it."""

    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool.

    ``stop`` is set when the host cancels the call or goes away, or the server is to end; a
    tool that takes long looks at it, the others are let go.
    """

    kb: KnowledgeBase
    arguments: Arguments
    stop: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the server.

    ``call`` blocks, may run on any thread, returns a wire object of the definition's
    output schema, and raises ``KbError`` for whatever a model or a person can repair.
    ``render`` makes its text, where that is not the object's JSON.
    """

    definition: types.Tool
    call: Callable[[Call], Mapping[str, Any]]
    render: Callable[[Mapping[str, Any]], str] | None = None

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        return self.definition.name

    @property
    def writes(self) -> bool:
        """Whether it changes the knowledge base; such a tool is not offered read-only."""
        hints = self.definition.annotations
        return hints is None or not hints.read_only_hint


def outline(name: str) -> dict[str, Any]:
    """Return the schema of one wire object as hosts take it, without what is in its fields.

    For the tools that are called less: with all of them in full, the list of tools would
    cost a model twice as much as it does. It admits whatever the published schema admits.
    """
    fields = schemas.load(name)["properties"]
    shown = {field: _face(schema) for field, schema in fields.items()}
    return {"type": "object", "required": ["schema_version"], "properties": shown}


def output_schema(name: str, *, brief: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of one wire object as hosts take it.

    A host reads the schemas of all tools before the first call, and models pay for them
    by the token. So it is self-contained, and without conditions, bounds and prose, which
    are in ``docs/wire-schema``; of what *brief* names, properties and definitions, only the
    type is shown. It admits whatever the published schema admits.
    """
    schema: dict[str, Any] = _terse(schemas.bundle(name, portable=True), frozenset(brief))
    definitions = schema.pop("$defs", {})
    kept = _reachable(schema, definitions)
    return {**schema, "$defs": kept} if kept else schema


def _terse(node: Any, brief: frozenset[str]) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(node, list):
        return [_terse(item, brief) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {}
    for key, value in node.items():
        if key in _BOUNDS or (key in _PROSE and isinstance(value, str)):
            continue
        if key in _NAMED and isinstance(value, dict):
            copy[key] = {
                inner: _face(schema) if inner in brief else _terse(schema, brief)
                for inner, schema in value.items()
            }
        else:
            copy[key] = _terse(value, brief)
    return _without_repetition(copy)


def _face(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a value is, without what is in it."""
    for key in ("const", "enum", "type"):
        if key in schema:
            return {key: schema[key]}
    return {"type": "object"} if schema.get("$ref", "").endswith(".json") else {}


def _without_repetition(node: dict[str, Any]) -> dict[str, Any]:
    """Leave out the properties that are like all others of a map: they say nothing."""
    others = node.get("additionalProperties")
    if not isinstance(others, dict) or not isinstance(node.get("properties"), dict):
        return node
    own = {name: inner for name, inner in node["properties"].items() if inner != others}
    rest = {key: value for key, value in node.items() if key != "properties"}
    return {**rest, "properties": own} if own else rest


def _reachable(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """Return the definitions that *schema* still refers to, in alphabetical order."""
    found: dict[str, Any] = {}
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            target = str(node.get("$ref", "")).removeprefix("#/$defs/")
            if target in definitions and target not in found:
                found[target] = definitions[target]
                pending.append(definitions[target])
            pending += node.values()
        elif isinstance(node, list):
            pending += node
    return dict(sorted(found.items()))
