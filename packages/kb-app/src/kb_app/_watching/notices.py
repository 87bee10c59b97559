"""What the system tells of changes in folders: the home of watchfiles, of which the part in Rust.

On Linux each folder is told of by itself, so that nothing is paid for ignored ones, which
may hold a hundred times as many; on a Mac the system tells of whole trees.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from threading import Event
from typing import TYPE_CHECKING, Protocol

from kb_core.values import dataclass

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

__all__ = ["NOTHING", "Notices", "SystemNotices", "Told"]

_STEP_MS, _GROUP_MS = 100, 1000
_MODIFIED = 2
_IS_BY_TREE = sys.platform == "darwin"


@dataclass(frozen=True, slots=True)
class Told:
    """Paths of which a change was told."""

    paths: frozenset[str] = frozenset()
    renewed: frozenset[str] = frozenset()
    """Those of them that came, or went."""


NOTHING = Told()


class Notices(Protocol):
    """Where changes come from."""

    def follow(self, roots: Collection[str], folders: Collection[str]) -> str:
        """Follow these *folders* from now on, which are in *roots*; return why not, or ``""``.

        What changed before is not told any more.
        """

    def wait(self, secs: float, stop: Event) -> Told:
        """Return what changed, after *secs* at most, and soon after *stop* is set."""

    def close(self) -> None:
        """Follow nothing any more."""


class SystemNotices:
    """``Notices`` of the system that this runs on."""

    def __init__(self) -> None:
        self._watcher: RustNotify | None = None

    def follow(self, roots: Collection[str], folders: Collection[str]) -> str:
        self.close()
        wanted = [*filter(os.path.isdir, sorted(roots if _IS_BY_TREE else folders))]
        try:
            # The one before is gone by now: two would need twice as many watches.
            self._watcher = _watcher(wanted) if wanted else None
        except (OSError, RuntimeError) as error:  # the latter is what the library makes of its own
            return str(error)
        return ""

    def wait(self, secs: float, stop: Event) -> Told:
        if self._watcher is None:
            stop.wait(secs)
            return NOTHING
        found = self._watcher.watch(_GROUP_MS, _STEP_MS, round(secs * 1000), stop)
        if isinstance(found, str):  # the time is up, or somebody said so
            return NOTHING
        renewed = frozenset(path for kind, path in found if kind != _MODIFIED)
        return Told(frozenset(path for _, path in found), renewed)

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None


def _watcher(paths: list[str]) -> RustNotify:
    from watchfiles._rust_notify import RustNotify

    polls, poll_ms, skips_forbidden = False, 0, True
    return RustNotify(paths, False, polls, poll_ms, _IS_BY_TREE, skips_forbidden)  # noqa: FBT003
