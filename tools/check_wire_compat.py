"""Say whether the wire schemas still keep what the last release promised.

Compares ``kb_core/schemas/v1`` with ``docs/wire-schema/released``, the schemas as they
were released; where that folder is missing, nothing has been promised yet. Within v1 only
optional fields are added. A field that is gone, has another type, became optional, or is
newly required, an object or a value of an enumeration that is gone: each is a break, and
wants a v2. A value that is new is none: readers are told that more may come.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["breaks", "main"]

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "packages/kb-core/src/kb_core/schemas/v1"
RELEASED = ROOT / "docs" / "wire-schema" / "released"

Schema: TypeAlias = dict[str, Any]

_TYPING = ("type", "const", "$ref", "pattern", "format")
_MAPS = ("properties", "$defs")
_INNER = ("items", "additionalProperties")


def breaks(released: Schema, now: Schema, where: str = "") -> Iterator[str]:
    """Yield what *now* no longer promises, or newly demands."""
    for key in _TYPING:
        if released.get(key) != now.get(key):
            was, became = (json.dumps(schema.get(key)) for schema in (released, now))
            yield f"{where or 'the object'}: {key} was {was} and is {became}"
    for value in released.get("enum", []):
        if value not in now.get("enum", []):
            yield f"{where}: the value {value!r} is gone"
    old, new = set(released.get("required", [])), set(now.get("required", []))
    yield from (f"{where}.{name} is required now" for name in sorted(new - old))
    yield from (f"{where}.{name} is no longer required" for name in sorted(old - new))
    yield from _inner_breaks(released, now, where)


def _inner_breaks(released: Schema, now: Schema, where: str) -> Iterator[str]:
    for group in _MAPS:
        for name, schema in released.get(group, {}).items():
            if name in now.get(group, {}):
                yield from breaks(schema, now[group][name], f"{where}.{name}")
            else:
                yield f"{where}.{name} is gone"
    for key in _INNER:
        yield from _member_breaks(released.get(key), now.get(key), f"{where}[]")
    kept = now.get("allOf", [])
    for number, condition in enumerate(released.get("allOf", [])):
        if condition not in kept:
            yield f"{where}: condition {number} is gone or says something else"


def _member_breaks(released: Schema | None, now: Schema | None, where: str) -> Iterator[str]:
    if released is not None and now is not None:
        yield from breaks(released, now, where)
    elif released is not now:
        yield f"{where}: members were {json.dumps(released)} and are {json.dumps(now)}"


def main(contract: Path = CONTRACT, released: Path = RELEASED) -> int:
    """Print every break and return 1 if there is one."""
    if not released.is_dir():
        print("docs/wire-schema/released: nothing has been released yet")
        return 0
    found = []
    for file in sorted(released.glob("*.schema.json")):
        name = file.name.removesuffix(".schema.json")
        current = contract / file.name
        if not current.is_file():
            found.append(f"{name}: the object is gone")
            continue
        pair = (json.loads(path.read_text("utf-8")) for path in (file, current))
        found += [f"{name}{complaint}" for complaint in breaks(*pair)]
    print("\n".join(found) or "the wire schemas keep what was released")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
