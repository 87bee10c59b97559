"""Inputs: how a host sees what a tool takes.

A tool's input is a pydantic model; its JSON Schema is what the host shows and its
validation (``kb_app.wire_models.read``) is what the server does, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import WithJsonSchema

from kb_app.wire_models import Input

__all__ = ["NoInput", "at_least", "input_schema", "schema_of"]


class NoInput(Input):
    """The input of a tool that needs none."""


def at_least(low: int) -> WithJsonSchema:
    """Show the lower bound of a whole number."""
    return WithJsonSchema({"type": "integer", "minimum": low})


def input_schema(
    model: type[Input], *, notes: Mapping[str, str] | None = None, brief: bool = False
) -> dict[str, Any]:
    """Return the JSON Schema of an input, without what says nothing to a model.

    *notes* are added to descriptions. With *brief*, fields that the model inherits have
    none, since another tool has explained them, and one value or a list is shown as a list.
    """
    made = model.model_json_schema()
    properties = {name: _shown_field(made["properties"][name]) for name in _names(model)}
    if brief:
        for name in properties.keys() - model.__annotations__.keys():
            properties[name] = _brief(properties[name])
    for name, note in (notes or {}).items():
        properties[name]["description"] += f" {note}"
    return schema_of(properties, required=made.get("required", ()))


def schema_of(properties: Mapping[str, Any], *, required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an object that is closed to other names."""
    needed = {"required": list(required)} if required else {}
    return {
        "type": "object",
        "properties": dict(properties),
        **needed,
        "additionalProperties": False,
    }


def _shown_field(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field without titles, empty defaults, and the null that means left out."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        field = {**{key: value for key, value in field.items() if key != "anyOf"}, **kinds[0]}
    return {
        key: value
        for key, value in field.items()
        if key != "title" and not (key == "default" and value in (None, [], ()))
    }


def _brief(field: Mapping[str, Any]) -> dict[str, Any]:
    *_, widest = field.get("anyOf", (field,))
    return {key: value for key, value in widest.items() if key != "description"}


def _names(model: type[Input]) -> list[str]:
    """Return the parameters: what a tool has of its own, then what it shares with others."""
    return sorted(model.model_fields, key=lambda name: name not in model.__annotations__)
