"""Make what is made of the frozen wire schemas: a copy for people, and types for checkers.

The files in ``kb_core/schemas/v1/`` are the contract. ``docs/wire-schema/v1/`` is a copy;
``kb_core/wire/types.pyi`` has a TypedDict for every object in them. With ``check``, say
whether both are what the schemas give, byte for byte, and fail if they are not.

The types are for checkers alone, so there is no module to import while a program runs. They
say which fields there are, which may be absent, and what is in them; of a text they do not
say which values it may have, since that is what validation in tests is for.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["main", "stub"]

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "packages/kb-core/src/kb_core/schemas/v1"
COPY = ROOT / "docs" / "wire-schema" / "v1"
STUB = ROOT / "packages/kb-core/src/kb_core/wire/types.pyi"
SUFFIX = ".schema.json"

HEAD = """\
# What wire objects look like to a type checker; made by tools/schemas.py, not by hand.
# The schemas in kb_core.schemas are the contract, and say what each field means.

from typing import Any, Literal, NotRequired, TypedDict

"""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def _contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.json"))}


def _check() -> int:
    want, have = _contents(CONTRACT), _contents(COPY)
    different = sorted(
        name for name in want.keys() | have.keys() if want.get(name) != have.get(name)
    )
    if different:
        print(f"docs/wire-schema/v1: {', '.join(different)} differ: run `tools/dev schemas`")
        return 1
    if STUB.read_text("utf-8") != stub():
        print("kb_core/wire/types.pyi is not what the schemas give: run `tools/dev schemas`")
        return 1
    print(f"docs/wire-schema/v1: {len(want)} schemas, the same as in kb_core, as are their types")
    return 0


class Types:
    """The classes of one schema, in the order in which they are needed."""

    def __init__(self, name: str, schema: dict[str, Any]) -> None:
        self._name = _class(name)
        self._schema = schema
        self.classes: dict[str, str] = {}
        self._of(schema, self._name)

    def _of(self, node: dict[str, Any], name: str) -> str:
        """Return the type of *node*; an object with fields of its own is called *name*."""
        if "$ref" in node:
            file, _, part = node["$ref"].partition("#/$defs/")
            if file:
                return _class(file.removesuffix(SUFFIX))
            return self._of(self._schema["$defs"][part], self._name + _class(part))
        if "const" in node:
            return f'Literal["{node["const"]}"]'
        if "anyOf" in node:
            return " | ".join(dict.fromkeys(self._of(one, name) for one in node["anyOf"]))
        kinds = node.get("type", "string" if "enum" in node else ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " | ".join(self._kind(kind, node, name) for kind in kinds) or "Any"

    def _kind(self, kind: str, node: dict[str, Any], name: str) -> str:
        if kind == "array":
            return f"list[{self._of(node.get('items', {}), name)}]"
        if kind != "object":
            return PLAIN[kind]
        more = node.get("additionalProperties")
        if isinstance(more, dict):
            return f"dict[str, {self._of(more, name)}]"
        if not node.get("properties"):
            return "dict[str, Any]"
        self.classes[name] = "\n".join(self._fields(node, name))
        return name

    def _fields(self, node: dict[str, Any], name: str) -> Iterator[str]:
        required = node.get("required", ())
        yield f"class {name}(TypedDict):"
        for field, inside in node["properties"].items():
            kind = self._of(inside, name + _class(field))
            yield f"    {field}: {kind if field in required else f'NotRequired[{kind}]'}"


def _class(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def stub() -> str:
    """Return the types of all wire objects."""
    classes: dict[str, str] = {}
    for file in sorted(CONTRACT.glob(f"*{SUFFIX}")):
        schema = json.loads(file.read_text("utf-8"))
        classes |= Types(file.name.removesuffix(SUFFIX), schema).classes
    return HEAD + "\n\n".join(classes.values()) + "\n"


def main(words: list[str]) -> int:
    """Write the copy, or check it."""
    if words == ["check"]:
        return _check()
    COPY.mkdir(parents=True, exist_ok=True)
    for stale in _contents(COPY).keys() - _contents(CONTRACT).keys():
        (COPY / stale).unlink()
    for file in CONTRACT.glob("*.json"):
        shutil.copyfile(file, COPY / file.name)
    STUB.write_text(stub(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
