"""Install the built wheels into fresh environments, and see that they work there.

* kb-core alone brings nothing else.
* Each interface imports, with the wheels below it, away from this tree: that shows missing
  package data and undeclared dependencies, which the shared development environment hides.
* Every distribution of ours was installed from a file of ``dist/``. Others own two of these
  names on the public index, so ours are always given by path, never by name.
* ``kebab --version`` of the installed command prints this version.

What the development environment has downloaded is used first, so that this check runs
without a network once that environment exists. uv does the work where there is one,
``venv`` and pip elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "tools" / "constraints.txt"
UV = os.environ.get("HATCH_UV") or shutil.which("uv")

BELOW = ["kb_core", "kb_store", "kb_search", "kb_app"]
INTERFACES = {"kb_cli": "kb_cli.main", "kb_mcp": "kb_mcp.server", "kb_tui": "kb_tui.app"}

# Prints, for each installed distribution, its name and the URL it came from, if any.
INVENTORY = """
import json
from importlib.metadata import distributions
for d in distributions():
    origin = json.loads(d.read_text("direct_url.json") or "{}")
    print(d.name, origin.get("url", ""))
"""


class Failed(Exception):
    """Something does not install, import or run; the message says what."""


def _run(*words: str | Path, cwd: Path | None = None) -> str:
    # Compiling eighty packages four times would take longer than all the rest.
    env = {**os.environ, "UV_COMPILE_BYTECODE": "0"}
    run = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=env, check=False)
    if run.returncode:
        command = " ".join(map(str, words))
        raise Failed(f"$ {command}\n{run.stdout}{run.stderr}")
    return run.stdout


def _wheel(module: str) -> Path:
    found = list(DIST.glob(f"{module}-*.whl"))
    if len(found) != 1:
        raise Failed(f"dist/ holds {len(found)} wheels of {module}: run `hatch run build`")
    return found[0]


def _install(where: Path, wheels: list[Path]) -> Path:
    """Make an environment that holds *wheels* and what they need; return its Python."""
    python = where / "bin" / "python"
    if UV is None:
        _run(sys.executable, "-m", "venv", where)
        _run(python, "-m", "pip", "install", "--quiet", "-c", CONSTRAINTS, *wheels)
        _run(python, "-m", "pip", "check")
        return python
    _run(UV, "venv", "--quiet", "--python", sys.executable, where)
    install = (UV, "pip", "install", "--quiet", "--python", python, "-c", CONSTRAINTS)
    try:
        _run(*install, "--offline", *wheels)
    except Failed:
        _run(*install, *wheels)
    _run(UV, "pip", "check", "--quiet", "--python", python)
    return python


def _inventory(python: Path, where: Path) -> dict[str, str]:
    lines = _run(python, "-I", "-c", INVENTORY, cwd=where).splitlines()
    pairs = (line.partition(" ") for line in lines)
    # pip comes with `venv`, and belongs to nobody.
    return {name: url for name, _, url in pairs if name not in {"pip", "setuptools"}}


def _check_origins(installed: dict[str, str]) -> None:
    for name, url in installed.items():
        if name.startswith("kb-") and not url.startswith(DIST.as_uri()):
            raise Failed(f"{name} came from {url or 'the index'}, not from dist/")


def _check(where: Path, modules: list[str], statement: str) -> dict[str, str]:
    """Install wheels, run a statement there, and return what is installed."""
    python = _install(where, [_wheel(module) for module in modules])
    _run(python, "-I", "-c", statement, cwd=where)
    installed = _inventory(python, where)
    _check_origins(installed)
    return installed


def _check_core(where: Path) -> None:
    extra = _check(where, ["kb_core"], "import kb_core").keys() - {"kb-core"}
    if extra:
        raise Failed(f"kb-core alone brings {', '.join(sorted(extra))}")
    print("kb-core alone: nothing else, imports")


def _check_version(where: Path) -> None:
    pyproject = tomllib.loads((ROOT / "packages/kb-cli/pyproject.toml").read_text("utf-8"))
    printed = _run(where / "bin" / "kebab", "--version", cwd=where)
    if pyproject["project"]["version"] not in printed:
        raise Failed(f"kebab --version prints {printed!r}")
    print(f"kebab --version: {printed.strip()}")


def main() -> int:
    """Check everything, and return 1 at the first failure."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            _check_core(Path(folder) / "kb_core")
            for interface, module in INTERFACES.items():
                where = Path(folder) / interface
                installed = _check(where, [*BELOW, interface], f"import {module}")
                print(f"{interface}: {len(installed)} distributions, imports")
            _check_version(Path(folder) / "kb_cli")
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
