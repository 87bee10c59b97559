"""How other programs of the person start us: hosts of models, and the system's own services."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["own_environment", "own_program"]

_PLACES = frozenset({"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"})
_OF_A_SHELL = frozenset({"KEBAB_PROGRESS", "KEBAB_READONLY"})
"""How one command is to behave, not how the server is."""
_SECRET = ("_API_KEY", "_TOKEN")
"""How variables end that hold what no other file is to have."""


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of an environment says where things are, and how they are set; no secrets."""
    return {name: value for name, value in sorted(environ.items()) if value and _is_told(name)}


def _is_told(name: str) -> bool:
    if name in _PLACES:
        return True
    return name.startswith("KEBAB_") and name not in _OF_A_SHELL and not name.endswith(_SECRET)


def own_program(environ: Mapping[str, str], *, in_project: bool = False) -> str:
    """Return how another program starts us: in full, since a desktop's PATH is not a shell's.

    A file that people share names the command alone, if a shell finds it.
    """
    found = shutil.which("kebab", path=environ.get("PATH"))
    if found and in_project:
        return "kebab"
    own = Path(sys.argv[0])
    return str(own.resolve()) if own.name in {"kebab", "kb"} and own.is_file() else found or "kebab"
