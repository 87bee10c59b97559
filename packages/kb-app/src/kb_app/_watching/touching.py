"""Whether what changed can matter: by the rules of the walk itself, and by nothing else."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from kb_app._ingest.seeing.files import inside, path_of
from kb_app._ingest.seeing.walk import walk
from kb_app._ingest.settings import SourceSpec
from kb_core.errors import InvalidInput
from kb_core.ingest import SkipReason

__all__ = ["touches"]

_FEW = 100
"""More paths than that are not looked at one by one: the walk over all does it as well."""


def touches(specs: Sequence[SourceSpec], data_dir: Path, paths: Collection[str]) -> bool:
    """Say whether a walk of *specs* would see any of these real *paths*, or miss it now.

    What lies in *data_dir*, and what is ignored, does not count.
    """
    ours = os.path.realpath(data_dir)
    foreign = [path for path in paths if inside(path, ours) is None]
    if len(foreign) > _FEW:
        return True
    return any(_touches(spec, foreign) for spec in specs) if foreign else False


def _touches(spec: SourceSpec, paths: Sequence[str]) -> bool:
    top = os.path.realpath(spec.root)
    below = [inside(path, top) for path in paths]
    if "" in below:
        return True
    try:
        wanted = [path_of(top, path) for path in below if path]
        if not wanted:
            return False
        walked = walk(
            top,
            source_id=spec.source_id,
            include=spec.include,
            exclude=spec.exclude,
            follow_links=spec.follow_links,
            narrow=wanted,
        )
        ignored = set()
        for seen in walked:
            if seen.reason is not SkipReason.IGNORED:
                return True
            ignored.add(seen.path)
    except (OSError, InvalidInput):  # whatever is wrong with it, a look over all will say
        return True
    return any(walked.fate_of(path) == "gone" for path in wanted if path not in ignored)
