"""The writer lock: one writer per data directory, told apart by flock.

The lock is the kernel's, so it is free the moment its holder ends, however it ends.
The file's content (pid, host, start) only serves the message that another process
prints; it may be stale, and it is never used to decide. The file is never deleted:
two processes could otherwise each hold a lock of the same name.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kb_core.clock import to_rfc3339, utc_now
from kb_core.disk import disk_hint
from kb_core.errors import IoError, StoreBusy
from kb_core.ports import Clock

__all__ = ["WriterLock"]

_POLL_SECS = 0.05
_MODE = 0o600
_NO_LOCKS = "searching works; to write, set storage.data_dir to a disk of this machine"


class WriterLock:
    """Holds the writer lock at *path* between ``acquire`` and ``release``."""

    def __init__(self, path: Path, wait_secs: float = 0.0, clock: Clock = utc_now) -> None:
        self._path = path
        self._wait_secs = wait_secs
        self._clock = clock
        self._descriptor: int | None = None

    def acquire(self) -> Self:
        """Take the lock, waiting at most ``wait_secs``; raise ``StoreBusy`` naming the holder.

        A data directory may be set aside while somebody waits for its lock: then it is the lock
        of the one that took its place.
        """
        descriptor = self._open()
        while not _is_still(self._path, descriptor):
            os.close(descriptor)
            descriptor = self._open()
        self._descriptor = descriptor
        _held.add(self)
        _write_holder(descriptor, self._clock)
        return self

    def _open(self) -> int:
        """Return the file, locked."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, _MODE)
        except OSError as error:
            raise IoError(
                f"could not open the writer lock {str(self._path)!r}: {error.strerror or error}",
                hint=disk_hint(error.errno),
            ) from error
        try:
            is_ours = _lock_within(descriptor, self._wait_secs)
            holder = {} if is_ours else _read_holder(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        if not is_ours:
            os.close(descriptor)
            raise _busy(holder)
        return descriptor

    @contextmanager
    def shared(self) -> Generator[None]:
        """Keep writers out, and write nothing: for who looks at the store, as others may.

        Where no writer ever was, there is nobody to keep out, and nothing is made.
        """
        try:
            descriptor = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            yield
            return
        except OSError as error:
            raise IoError(
                f"could not open the writer lock {str(self._path)!r}: {error}",
                hint=disk_hint(error.errno),
            ) from error
        try:
            if not _lock_within(descriptor, self._wait_secs, fcntl.LOCK_SH):
                raise _busy(_read_holder(descriptor))
            yield
        finally:
            os.close(descriptor)

    def release(self) -> None:
        """Give the lock back; releasing twice is harmless."""
        if self._descriptor is None:
            return
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._forget()

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _forget(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        _held.discard(self)


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked worker shares the descriptor, and with it the lock: it would keep the
    # lock of a parent that was killed. Closing its copy leaves the parent's untouched.
    for lock in list(_held):
        lock._forget()  # noqa: SLF001 (the same module)


os.register_at_fork(after_in_child=_forget_in_child)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _lock_within(descriptor: int, wait_secs: float, kind: int = fcntl.LOCK_EX) -> bool:
    deadline = time.monotonic() + wait_secs
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECS)
        except OSError as error:
            raise IoError(
                f"the file system gives no lock: {error}",
                hint=disk_hint(error.errno) or _NO_LOCKS,
            ) from error
        else:
            return True


def _write_holder(descriptor: int, clock: Clock) -> None:
    holder = {"pid": os.getpid(), "host": os.uname().nodename, "started": to_rfc3339(clock())}
    with suppress(OSError):  # it is only told, and the disk may be full
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _read_holder(descriptor: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:  # taken a moment ago and not signed yet
        return {}
    return holder if isinstance(holder, dict) else {}


def _busy(holder: dict[str, Any]) -> StoreBusy:
    who = f"process {holder['pid']} on {holder.get('host')}" if "pid" in holder else "a process"
    since = f", since {holder['started']}" if "started" in holder else ""
    if (holder.get("pid"), holder.get("host")) == (os.getpid(), os.uname().nodename):
        return StoreBusy(
            f"this process is writing already{since}",
            hint="wait until it is done",
            details=holder,
        )
    return StoreBusy(
        f"another kebab is writing: {who}{since}",
        hint="wait until it is done, or stop it",
        details=holder,
    )
