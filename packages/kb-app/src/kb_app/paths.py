"""Where things are: XDG directories, ``~`` and variables in paths.

The only module that reads the process environment, the home directory or the
current folder; the rest is told. Whatever a person may write as a path goes
through ``resolve``, so ``~``, ``$VAR``, ``${VAR}``, ``${VAR:-default}`` and relative
paths mean the same everywhere. ``$$`` is a dollar sign.

Nothing in here creates, follows or looks at a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kb_core.values import lazy_pattern

__all__ = [
    "cache_dir",
    "config_file",
    "data_dir",
    "environment",
    "expand",
    "from_argument",
    "make_private_folder",
    "path_given",
    "resolve",
    "state_dir",
]

Environ = Mapping[str, str]

_VARIABLE = lazy_pattern(
    r"\$(?:(?P<dollar>\$)"
    r"|(?P<plain>[A-Za-z_]\w*)"
    # A default may hold one more ${…}.
    r"|\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>(?:[^{}]|\{[^{}]*\})*))?\}"
    r"|(?P<broken>\{))",
    re.ASCII,
)


def environment() -> Environ:
    """Return the environment of this process."""
    return os.environ


def config_file(environ: Environ) -> Path:
    """Return where the configuration is when nobody says otherwise."""
    return _xdg(environ, "XDG_CONFIG_HOME", ".config") / "config.toml"


def data_dir(environ: Environ) -> Path:
    """Return where a knowledge base is kept when nobody says otherwise."""
    return _xdg(environ, "XDG_DATA_HOME", ".local/share")


def state_dir(environ: Environ) -> Path:
    """Return where logs go when nobody says otherwise."""
    return _xdg(environ, "XDG_STATE_HOME", ".local/state")


def cache_dir(environ: Environ) -> Path:
    """Return where prepared models are kept; it may be deleted at any time."""
    return _xdg(environ, "XDG_CACHE_HOME", ".cache")


def resolve(text: str, *, base: Path | None, environ: Environ) -> Path:
    """Return the absolute path that *text* means; relative to *base*, or to the current folder.

    Raises ``ValueError`` for what is no path: empty, or naming a variable that is not set, or a
    user that there is none of.
    """
    expanded = expand(text, environ)
    if not expanded or "\0" in expanded:
        raise ValueError(f"{text!r} is not a path")
    # abspath and not Path.resolve: a link stays the way its owner wrote it.
    return Path(os.path.abspath(Path(base or Path.cwd(), expanded)))  # noqa: PTH100


def from_argument(text: str, environ: Environ) -> Path:
    """Return the absolute path that an argument of the command line means.

    A shell has put in its variables before, and homes: a dollar sign that is left is part of a
    name, and so is ``~`` before what is no user.
    """
    here = "./" if _names_nobody(text.partition("/")[0]) else ""
    return resolve(here + text.replace("$", "$$"), base=None, environ=environ)


def path_given(field: str, text: str, environ: Environ) -> Path:
    """As ``from_argument``; raises ``InvalidInput`` that names *field* for what is no path."""
    try:
        return from_argument(text, environ)
    except ValueError as error:
        from kb_core.errors import InvalidInput

        raise InvalidInput(str(error), details={"field": field, "value": text}) from error


def expand(text: str, environ: Environ) -> str:
    """Put in variables, then a leading ``~``; ``ValueError`` for what there is none of."""
    expanded = _variables(text, environ)
    head, slash, rest = expanded.partition("/")
    if head == "~":
        return f"{_home(environ)}{slash}{rest}"
    if _names_nobody(head):
        raise ValueError(f"there is no user {head[1:]!r}, as in {text!r}; './{head}' is a folder")
    return os.path.expanduser(head) + slash + rest  # noqa: PTH111 - a text, not normalized


def _names_nobody(head: str) -> bool:
    """Say whether the first part of a path is ``~`` and a name that no user has."""
    known = os.path.expanduser(head)  # noqa: PTH111 - it leaves an unknown user alone
    return head.startswith("~") and head != "~" and known == head


def _variables(text: str, environ: Environ) -> str:
    def value(match: re.Match[str]) -> str:
        if match["dollar"]:
            return "$"
        if match["broken"]:
            raise ValueError(f"'${{' in {text!r} is not closed, or does not name a variable")
        name = match["plain"] or match["name"]
        if found := environ.get(name):
            return found
        if match["default"] is None:
            # An empty text in its place could turn "$X/data" into "/data".
            raise ValueError(f"the variable {name} in {text!r} is not set")
        return _variables(match["default"], environ)

    return _VARIABLE.sub(value, text) if "$" in text else text


def _xdg(environ: Environ, variable: str, fallback: str) -> Path:
    named = environ.get(variable, "")
    # XDG: a relative path is invalid and to be ignored.
    base = Path(named) if Path(named).is_absolute() else _home(environ) / fallback
    return base / "kebab"


def _home(environ: Environ) -> Path:
    return Path(environ.get("HOME") or Path.home())


def make_private_folder(folder: Path) -> None:
    """Make *folder* and what is missing above it, for the person alone; what is there stays."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
