"""Install the official tools that look at the MCP server from outside: inspector, conformance.

They are npm packages, named with their versions in ``tools/mcp-tools/package.json``, and go
to ``.cache/mcp-tools``; no script of theirs is run. Without npm nothing happens, and the
tests that need them are skipped. So it is where the registry cannot be reached, unless
``--required`` is given.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
WANTED = ROOT / "tools" / "mcp-tools" / "package.json"
FOLDER = ROOT / ".cache" / "mcp-tools"
OPTIONS = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"),
    *("--fetch-retries=1", "--fetch-timeout=60000"),  # without a network, say so soon
)


def _is_installed() -> bool:
    """Say whether what is wanted is what was installed last."""
    installed = FOLDER / "package.json"
    return (
        (FOLDER / "node_modules" / ".package-lock.json").is_file()
        and installed.is_file()
        and installed.read_bytes() == WANTED.read_bytes()
    )


def main(words: Sequence[str] | None = None) -> int:
    """Install what is missing; say what was done."""
    is_required = "--required" in (sys.argv[1:] if words is None else words)
    if _is_installed():
        print("the MCP tools are there")
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("the MCP tools are left out: there is no npm")
        return int(is_required)
    FOLDER.mkdir(parents=True, exist_ok=True)
    copy = FOLDER / "package.json"
    shutil.copyfile(WANTED, copy)
    done = subprocess.run([npm, "install", *OPTIONS], cwd=FOLDER, check=False)
    if done.returncode:
        copy.unlink()
        print("the MCP tools are left out: npm could not install them")
        return int(is_required)
    print("the MCP tools were installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
