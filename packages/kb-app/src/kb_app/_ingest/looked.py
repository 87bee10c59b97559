"""How all was at the last look at a folder, kept from one process to the next.

A command that asks about a folder looks at it as a process that stays does: where all is as it
was, it asks the index and walks nothing. What is kept says by which settings that was, and is
believed for some minutes, and only beside the seal of a run by the same settings
(``quiet``): what was lost, damaged or made by others since has none.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress

from kb_app._data_dir import DataDir
from kb_app._ingest.quiet import sealed_by
from kb_app._ingest.settings import Settings, SourceSpec, told_apart
from kb_core.ids import text_hash
from kb_core.ingest import Looked

__all__ = ["keep", "looked_by", "recall"]


def looked_by(specs: list[SourceSpec], settings: Settings, without: tuple[str, ...]) -> str:
    """Return what tells by which settings, and with what installed, folders are looked at."""
    installed = []
    for folder in sys.path:
        with suppress(OSError):
            installed.append(os.stat(folder).st_mtime_ns)  # noqa: PTH116 - as they are
    return text_hash(repr((specs, told_apart(settings), sorted(without), installed)))


def keep(data: DataDir, by: str, looked: Looked, secs_ago: float) -> None:
    """Keep how all was *looked* at, where everything was walked *secs_ago*."""
    told = {"by": by, "walked": time.time() - secs_ago, "links": looked.has_links}
    text = json.dumps({**told, "marks": looked.marks})
    new = data.looked.with_name(f"{data.looked.name}.{os.getpid()}")
    with suppress(OSError):  # then the next one walks
        new.write_text(text, "utf-8")
        new.chmod(0o600)
        new.replace(data.looked)


def recall(data: DataDir, by: str, within_secs: float) -> tuple[Looked, float] | None:
    """Return what was kept, and how many seconds ago all was walked; ``None`` is no answer.

    It is of these settings, and what a run by them left is as it was.
    """
    try:
        found = json.loads(data.looked.read_bytes())
        ago = time.time() - found["walked"]
        if found["by"] != by or not 0 <= ago <= within_secs or sealed_by(data) != by:
            return None
        marks = {path: mark and tuple(mark) for path, mark in found["marks"].items()}
        return Looked(marks=marks, has_links=found["links"]), ago
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
