"""What tests of every distribution share: fakes, contracts, builders, closed schemas.

Standard library only; pytest is not imported. Nothing outside tests imports this.

* ``kb_core.testing.fakes``      an index in memory, a hashing embedder, a scripted language model
* ``kb_core.testing.store``      a store in memory
* ``kb_core.testing.documents``  documents, chunks and publications with real ids
* ``kb_core.testing.contracts``  the promises of the ports, run on fakes and real engines
"""

from __future__ import annotations

from typing import Any

from kb_core import schemas

__all__ = ["closed_schema"]

_MAPS = frozenset({"properties", "$defs"})
_CONDITIONS = frozenset({"if", "then", "else", "allOf", "anyOf", "oneOf", "not"})


def closed_schema(name: str) -> schemas.Schema:
    """Return a self-contained schema in which no object may have undescribed fields.

    Objects that are described as maps or as free-form stay so. Where the object may
    carry ``schema_version``, the top-level one must.
    """
    closed: schemas.Schema = _close(schemas.bundle(name))
    if "schema_version" in closed.get("properties", {}):
        required = closed.get("required", [])
        closed["required"] = sorted({*required, "schema_version"})
    return closed


def _close(node: Any) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(node, list):
        return [_close(item) for item in node]
    if not isinstance(node, dict):
        return node
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if key in _MAPS and isinstance(value, dict):
            copy[key] = {name: _close(member) for name, member in value.items()}
        else:
            copy[key] = value if key in _CONDITIONS else _close(value)
    if "properties" in copy:
        copy.setdefault("additionalProperties", False)
    return copy
