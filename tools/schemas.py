"""Copy the frozen wire schemas to ``docs/wire-schema/v1/``, where people look for them.

The files in ``kb_core/schemas/v1/`` are the contract. With ``check``, say whether the copy
is the same, byte for byte, and fail if it is not.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "packages/kb-core/src/kb_core/schemas/v1"
COPY = ROOT / "docs" / "wire-schema" / "v1"


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
    print(f"docs/wire-schema/v1: {len(want)} schemas, the same as in kb_core")
    return 0


def main(words: list[str]) -> int:
    """Write the copy, or check it."""
    if words == ["check"]:
        return _check()
    COPY.mkdir(parents=True, exist_ok=True)
    for stale in _contents(COPY).keys() - _contents(CONTRACT).keys():
        (COPY / stale).unlink()
    for file in CONTRACT.glob("*.json"):
        shutil.copyfile(file, COPY / file.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
