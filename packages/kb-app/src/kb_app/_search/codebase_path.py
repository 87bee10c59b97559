"""A path that limits a search of code, as a filter.

It names a folder or a file as the paths of hits do: relative to the root of its source.
Where a source is one repository, ``name-of-the-repository/src`` is understood, too, since
that is how models name a folder when they see several repositories.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata

from kb_core.errors import InvalidInput
from kb_core.filters import And, Filter, Glob, OneOf, Or

__all__ = ["normal_path", "path_filter"]

_LONGEST = 250
"""Longer patterns make automata that the engine refuses."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")
"""No text that the index holds; JSON can spell it."""


def normal_path(path: str) -> str:
    """Return *path* without ``.``, ``..`` and a final slash; empty where it limits nothing.

    ``InvalidInput`` for a path that is absolute or leads out of the root.
    """
    posix = unicodedata.normalize("NFC", _HALF_PAIR.sub("\ufffd", path)).replace("\\", "/")
    if posix.startswith("/") or posix[1:3] == ":/":
        raise _bad(path, "is absolute")
    normal = posixpath.normpath(posix) if posix else "."
    if normal.partition("/")[0] == "..":
        raise _bad(path, "leads out of the source")
    if len(normal) > _LONGEST:
        raise _bad(f"{path[:40]}…", f"has more than {_LONGEST} characters")
    return "" if normal == "." or not normal.strip() else normal


def path_filter(normal: str) -> Filter | None:
    """Return what passes below *normal*, or is that file; ``None`` where it is empty."""
    if not normal:
        return None
    here = _below(normal)
    repo, _, rest = normal.partition("/")
    inside = OneOf("repo", (repo,))
    there = And((inside, Or(tuple(_below(rest))))) if rest else inside
    return Or((*here, there))


def _below(path: str) -> list[Filter]:
    return [OneOf("path", (path,)), Glob(f"/{_literal(path)}/**")]


def _literal(path: str) -> str:
    """Return *path* as a pattern that matches nothing else: folders may be called ``[id]``."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def _bad(path: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"path {path!r} {why}",
        hint="give a folder relative to the root of its source, as in the paths of hits",
        details={"field": "path", "value": path},
    )
