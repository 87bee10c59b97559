"""The frozen wire schemas: what every ``--json`` line and every MCP result looks like.

Files ``v1/<name>.schema.json``, JSON Schema draft 2020-12, written by hand; they are
the contract, and ``kb_core.wire`` is what keeps it. They refer to each other by file
name and are open: a reader ignores fields it does not know.

Nothing is fetched: ``https://kb.local`` is a name, not a place. A program that
cannot resolve references takes ``bundle``. What these functions return is shared:
read it, do not change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

__all__ = ["BASE", "Schema", "bundle", "load", "names"]

Schema: TypeAlias = dict[str, Any]

BASE = "https://kb.local/wire/v1/"
"""What the ``$id`` of every schema starts with."""

_SUFFIX = ".schema.json"
_LOCAL = "#/$defs/"
_CONDITIONS = frozenset({"if", "then", "else", "allOf"})
_MAPS = frozenset({"properties", "$defs"})


@cache
def names() -> tuple[str, ...]:
    """Return the names of all wire objects, sorted, such as ``search_response``."""
    entries = (entry.name for entry in files(__name__).joinpath("v1").iterdir())
    return tuple(sorted(n.removesuffix(_SUFFIX) for n in entries if n.endswith(_SUFFIX)))


@cache
def load(name: str) -> Schema:
    """Return one schema as it stands in its file."""
    text = files(__name__).joinpath("v1", f"{name}{_SUFFIX}").read_text("utf-8")
    schema: Schema = json.loads(text)
    return schema


@cache
def bundle(name: str, *, portable: bool = False) -> Schema:
    """Return one schema with all that it refers to inside its ``$defs``.

    *portable* leaves out the conditions (``if``/``then``), which hosts of MCP servers
    reject: such a schema admits more, never less.
    """
    pending, definitions = [name], dict[str, Schema]()
    while pending:
        current = pending.pop()
        schema = _rewrite(load(current), current if current != name else "", portable=portable)
        inner: dict[str, Schema] = schema.pop("$defs", {})
        prefix = "" if current == name else f"{current}."
        definitions |= {f"{prefix}{key}": value for key, value in inner.items()}
        definitions[current] = {k: v for k, v in schema.items() if k not in {"$id", "$schema"}}
        pending += [other for other in _neighbours(load(current)) if other not in definitions]
    top = definitions.pop(name)
    return {**top, "$defs": dict(sorted(definitions.items()))} if definitions else top


def _rewrite(node: Any, home: str, *, portable: bool) -> Any:  # noqa: ANN401 - a JSON value
    """Return a copy whose references point into ``$defs``; *home* prefixes local ones."""
    if isinstance(node, list):
        return [_rewrite(item, home, portable=portable) for item in node]
    if not isinstance(node, dict):
        return node
    copy: Schema = {}
    for key, value in node.items():
        if key == "$ref":
            copy[key] = _target(value, home)
        elif key in _MAPS and isinstance(value, dict):
            copy[key] = {k: _rewrite(v, home, portable=portable) for k, v in value.items()}
        elif not (portable and key in _CONDITIONS):
            copy[key] = _rewrite(value, home, portable=portable)
    return copy


def _target(reference: str, home: str) -> str:
    if not reference.startswith(_LOCAL):
        return _LOCAL + reference.removesuffix(_SUFFIX)
    return f"{_LOCAL}{home}.{reference.removeprefix(_LOCAL)}" if home else reference


def _neighbours(node: object) -> Iterator[str]:
    """Yield the names of the schemas that *node* refers to."""
    if isinstance(node, list):
        for item in node:
            yield from _neighbours(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str) and value.endswith(_SUFFIX):
                yield value.removesuffix(_SUFFIX)
            else:
                yield from _neighbours(value)
