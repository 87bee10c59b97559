"""Deleting what kebab made, and nothing else.

Only what lies in the configured directories is ever touched: the named parts of the data
directory, and the configuration file. A directory is removed when it is empty afterwards.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kb_app._data_dir import INDEX_PARTS, PARTS, DataDir
from kb_app.config import Config
from kb_core.errors import InvalidInput

__all__ = ["SCOPES", "delete", "paths_of", "size_of"]

SCOPES = ("all", "data-only", "index-only", "vector-only", "config-only", "orphans-only")


def paths_of(config: Config, scope: str) -> list[Path]:
    """Return what a reset of *scope* deletes and what of it exists."""
    if scope not in SCOPES:
        raise InvalidInput(
            f"scope {scope!r} is not one of {', '.join(SCOPES)}",
            details={"field": "scope", "value": scope},
        )
    names = {
        "all": PARTS,
        "data-only": PARTS,
        "index-only": INDEX_PARTS,
        "vector-only": ("vectors",),
    }.get(scope, ())
    paths = DataDir(config.storage.data_dir).parts(*names)
    with_file = scope in {"all", "config-only"} and _is_there(config.file)
    return [*paths, config.file] if with_file else paths


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of everything below a folder."""
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    return sum(p.lstat().st_size for p in path.rglob("*") if p.is_symlink() or p.is_file())


def delete(config: Config, paths: list[Path]) -> None:
    """Delete *paths*, then the data directory if nothing is left in it but the lock."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    data = DataDir(config.storage.data_dir)
    if data.root.is_dir() and {p.name for p in data.root.iterdir()} <= {data.lock.name}:
        data.lock.unlink(missing_ok=True)
        data.root.rmdir()
