"""What has changed since a walk, told by the marks of what it looked at: a ``stat`` of each.

What comes, goes or is renamed changes the folder that it is in; what is edited or allowed
changes itself. So a walk of what differs alone finds what a walk of everything would:

* A folder that differs is walked with all that is below it, and so is one whose rules differ.
* Whether a link is followed depends on rules and folders anywhere in its source, so where there
  are links, and more than the bytes of files differs, everything is walked.

**Invariant:** a mark is taken over from a narrowed walk only of what it looked at whole. It also
goes through the folders above, whose other entries it does not compare.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import starmap

from kb_app._ingest.seeing.ignore import IGNORE_FILES
from kb_core.ingest import Looked, Mark

__all__ = ["GIT_CONFIG", "INFO_EXCLUDE", "MOST_MARKS", "RULES", "is_as_it_was", "mark_at"]
__all__ += ["mark_of", "renewed", "where_it_differs"]

MOST_MARKS = 10_000
"""Files and folders of which it is asked at each call whether they are as they were: for some
hundredths of a second. One more is marked, which tells that there are too many."""
INFO_EXCLUDE = ".git/info/exclude"
GIT_CONFIG = ".git/config"
RULES = (*IGNORE_FILES, INFO_EXCLUDE, GIT_CONFIG)
"""Files that say something of all that is in their folder or below."""
_TICK_NS = 20_000_000
"""File systems go by a clock that moves some hundred times a second: what changed that short a
time ago has the same times if it changes again."""
_MOST_PATHS = 100
"""Where more than that differs, a walk of everything is as quick."""


def mark_of(found: os.stat_result) -> Mark | None:
    """Return what tells a file or folder from what it was or will be; nothing does just now."""
    return None if time.time_ns() - found.st_ctime_ns < _TICK_NS else _mark(found)


def _mark(found: os.stat_result) -> Mark:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def mark_at(path: str) -> Mark | None:
    """Return ``mark_of`` what is at *path*; ``None``, too, where nothing is, or nobody tells."""
    try:
        return mark_of(os.stat(path))  # noqa: PTH116 - a Path for each takes longer
    except OSError:
        return None


def is_as_it_was(marks: Mapping[str, Mark | None]) -> bool:
    """Say whether all that walks looked at is as it was."""
    return not any(starmap(_differs, marks.items()))


def _differs(path: str, mark: Mark | None) -> bool:
    try:
        return _mark(os.stat(path)) != mark  # noqa: PTH116 - a Path for each takes longer
    except OSError:
        return mark is not None


def where_it_differs(looked: Looked, roots: Collection[str]) -> Sequence[str]:
    """Return the paths below *roots* that differ, folders with a slash; none for everything.

    Whoever walks these and what is below them has seen all that has changed.
    """
    folders, files = dict[str, None](), dict[str, None]()
    for path in (path for path, mark in looked.marks.items() if _differs(path, mark)):
        rules = next((name for name in RULES if path.endswith(f"/{name}")), "")
        where = path[: len(path) - len(rules)]
        (folders if where.endswith("/") else files)[where] = None
    above = tuple(folders)
    found = [*folders, *(path for path in files if not path.startswith(above))]
    is_all = (
        len(found) > _MOST_PATHS
        or (folders and looked.has_links)
        or any(
            path.rstrip("/") in roots or os.path.realpath(path) != path.rstrip("/")
            for path in found
        )
    )
    return () if is_all else found


def renewed(before: Looked, paths: Sequence[str], now: Looked) -> Looked:
    """Return *before* with what a walk of these *paths* saw *now*."""
    files = {path for path in paths if not path.endswith("/")}
    folders = tuple(path for path in paths if path.endswith("/"))

    def is_of(path: str) -> bool:
        return path in files or path.startswith(folders)

    kept = {path: mark for path, mark in before.marks.items() if not is_of(path)}
    new = {path: mark for path, mark in now.marks.items() if is_of(path)}
    return Looked(marks=kept | new, has_links=before.has_links or now.has_links)
