"""Folders that somebody asks for: whether they can be read, how much is there, as which source."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from kb_app._caches import homes_in
from kb_app._ingest.seeing.files import is_utf8, path_of
from kb_app.config import Config, Source
from kb_core.errors import InvalidInput

__all__ = ["check_size", "real_folder", "source_of"]

_SEEN_FOR = 3
"""How many times the limit is counted before it is said that there is more."""
_MB = 1_000_000
_MB_A_MINUTE = 40
"""What a run gets through on one core, roughly."""
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


def real_folder(path: Path, named_by: str = "--in", *, root: Path | None = None) -> Path:
    """Return where the folder, or file, *path* really is; ``InvalidInput`` if it cannot be read.

    *named_by* is what the person, or a host, named it by; *root* is the folder that was read for
    it, in whose place something else may be by now.
    """
    real = Path(os.path.realpath(path))
    problem, hint = "", f"{named_by} names a folder, or a file"
    try:
        holder = str(real if real.is_dir() else real.parent)
        if not is_utf8(holder):
            problem, hint = f"the folder {holder!r} has a name that is not Unicode", "rename it"
        elif real.is_dir():
            with os.scandir(real):
                return real
        elif real.is_file() and (root is None or root.is_dir()):
            with real.open("rb"):
                return real
        else:
            problem = f"'{path}' is no folder" if real.exists() else f"no folder '{path}'"
    except PermissionError:
        problem, hint = f"'{path}' cannot be read: permission denied", ""
    except OSError as error:
        problem, hint = f"'{path}' cannot be read: {error.strerror}", ""
    field = named_by.removeprefix("--")
    raise InvalidInput(problem, hint=hint or None, details={"field": field, "value": str(path)})


def source_of(path: Path, config: Config, environ: Mapping[str, str], taken: set[str]) -> Source:
    """Return the folder, or the file alone, as a source of a name that is not among *taken*.

    What kebab itself writes is left out.
    """
    from kb_app.config import free_name

    root = path if path.is_dir() else path.parent
    name = path_of(str(root), path.name)
    only = () if root == path else ("/" + _SPECIAL.sub(r"\\\1", name),)
    ours = (homes_in(environ).parent, config.storage.data_dir)
    inside = [Path(os.path.realpath(own)) for own in ours]
    excluded = [f"/{own.relative_to(root).as_posix()}/" for own in inside if root in own.parents]
    return Source(
        id=free_name(root, taken),
        root=root,
        include=only,
        exclude=tuple(_SPECIAL.sub(r"\\\1", pattern) for pattern in excluded),
    )


def check_size(config: Config, folder: Path, told: str) -> None:
    """Refuse what a person would not wait for unasked."""
    from kb_app._ingest.preview import amount
    from kb_app._ingest.settings import ingest_settings, source_specs

    limits = config.workspaces
    most = (limits.max_files, limits.max_mb * _MB)
    specs = source_specs(config, [])
    settings = ingest_settings(config)
    found = amount(specs, settings, _SEEN_FOR * most[0], _SEEN_FOR * most[1])
    if found.files <= most[0] and found.bytes <= most[1]:
        return
    at_least = "" if found.is_complete else "at least "
    minutes = max(1, round(found.bytes / _MB / _MB_A_MINUTE))
    raise InvalidInput(
        f"{told} holds {at_least}{found.files:,} files to read, {found.bytes / _MB:,.0f} MB: "
        f"{at_least}{minutes:,} min of work; unasked, at most {most[0]:,} files and "
        f"{limits.max_mb:,} MB are read",
        hint=f"name a folder in it; or 'kebab add {shlex.quote(str(folder))}' and 'kebab ingest'; "
        "or set KEBAB_WORKSPACES_MAX_FILES and KEBAB_WORKSPACES_MAX_MB",
        details={
            "field": "in",
            "value": str(folder),
            "files": found.files,
            "bytes": found.bytes,
            "complete": found.is_complete,
            "max_files": limits.max_files,
            "max_mb": limits.max_mb,
        },
    )
