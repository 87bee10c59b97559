"""Who follows the sources: one process per data directory, for others to see.

``run/watch.lock`` is held, by the kernel, for as long as somebody follows; ``run/watch.json``
tells who, and when the sources were last seen to be as the index has them. Reading it never
waits, and a file that nobody stands behind says nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kb_core.clock import to_rfc3339
from kb_core.disk import disk_errors
from kb_core.errors import IoError, StoreBusy
from kb_core.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from kb_app._data_dir import DataDir

__all__ = ["Followed", "Presence", "followed"]

_MODE = 0o600
_ASKED_SECS = 0.3
"""Others hold the lock for a moment when they ask whether somebody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """That a living process follows the sources. Times are RFC 3339."""

    pid: int
    since: str
    seen_at: str | None = None
    """When all was last seen to be as it is found; ``None`` where that was not yet."""
    pending: bool = False
    """Whether it knows of changes that it has not taken in yet."""


def followed(data: DataDir) -> Followed | None:
    """Return who follows the sources of this data directory, if anybody does."""
    try:
        descriptor = os.open(data.watch_lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _told(data)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _told(data: DataDir) -> Followed | None:
    try:
        told: dict[str, Any] = json.loads(data.watch.read_bytes())
        return Followed(**told)
    except (OSError, ValueError, TypeError):
        return None


class Presence:
    """Holds the place of the one who follows, between ``begin`` and ``end``."""

    def __init__(self, data: DataDir) -> None:
        self._data = data
        self._descriptor = -1
        self._state: dict[str, Any] = {}

    def begin(self, now: datetime) -> None:
        """Take the place; raise ``StoreBusy`` where somebody has it."""
        self._descriptor = self._take()
        self._state = {"pid": os.getpid(), "since": to_rfc3339(now)}
        self._write()

    def keep(self) -> bool:
        """Take the place again where another data directory stands; say whether one does.

        An import sets aside the folder that the lock is in, and a reset deletes it: then nobody
        else sees it held. Where there is no store, there is nothing to follow for yet.
        ``StoreBusy`` where another process has the place by now.
        """
        if self._is_held() or not self._data.store.is_file():
            return False
        try:
            descriptor = self._take()
        except IoError:  # where the disk refuses that, following goes on without
            return False
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._state.pop("seen_at", None)
        self._state["pending"] = True
        self._write()
        return True

    def pending(self) -> None:
        """Say that there are changes to take in."""
        if not self._state.get("pending"):
            self._state["pending"] = True
            self._write()

    def seen(self, at: datetime) -> None:
        """Say that all was as it is found when it was looked at, *at* that time."""
        self._state |= {"seen_at": to_rfc3339(at), "pending": False}
        self._write()

    def end(self) -> None:
        """Give the place back; twice is harmless."""
        if self._descriptor >= 0:
            if self._is_held():  # else what tells is another's
                with suppress(OSError):
                    self._data.watch.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1

    def _take(self) -> int:
        """Return the descriptor of the lock, which is held now."""
        with disk_errors("follow the sources"):
            self._data.watch_lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(
                self._data.watch_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE
            )
        if _lock(descriptor):
            return descriptor
        os.close(descriptor)
        other = _told(self._data)
        who = f": process {other.pid}, since {other.since}" if other else ""
        raise StoreBusy(
            f"another kebab follows these sources already{who}",
            hint="let it, or stop it first; 'kebab status' tells how fresh the index is",
            details={"pid": other.pid, "since": other.since} if other else {},
        )

    def _is_held(self) -> bool:
        """Say whether the lock that others see is the one that is held here."""
        try:
            there = self._data.watch_lock.stat()
        except OSError:
            return False
        return os.path.samestat(os.fstat(self._descriptor), there)

    def _write(self) -> None:
        """Write the file; where the disk refuses that, following goes on without."""
        new = self._data.watch.with_name(f"watch.{os.getpid()}.new")
        with suppress(OSError):
            new.write_text(json.dumps(self._state), "utf-8")
            new.chmod(_MODE)
            new.replace(self._data.watch)


def _lock(descriptor: int) -> bool:
    until = time.monotonic() + _ASKED_SECS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_ASKED_SECS / 10)
        else:
            return True
