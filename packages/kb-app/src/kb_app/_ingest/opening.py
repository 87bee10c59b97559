"""Opening a file so that what is read is what was allowed.

Between looking at a path and opening it, somebody may put a link in the way. So links are
resolved once, the place that they lead to is held against the folder, and the way to it is
then walked from that folder without following any link: whatever was swapped meanwhile, no
byte comes from outside.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

__all__ = ["LeadsOut", "NotAFile", "inside", "open_below", "open_inside", "open_regular"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe would wait for somebody to write.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class LeadsOut(OSError):
    """A path that leads out of the folder it has to be in."""


class NotAFile(OSError):
    """A folder, a pipe, a device: nothing that has an end to read to."""


def inside(path: str, folder: str) -> str | None:
    """Return *path* relative to *folder*, ``""`` for the folder itself; ``None`` if outside.

    Both are real paths: there is no link and no ``..`` in them.
    """
    if path == folder:
        return ""
    prefix = folder.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def open_inside(path: str, folder: str) -> BinaryIO:
    """Open the regular file at *path*, which has to be inside *folder*, links resolved.

    Raises ``LeadsOut`` if it is not, and ``OSError`` for whatever cannot be read.
    """
    real, top = os.path.realpath(path, strict=True), os.path.realpath(folder)
    below = inside(real, top)
    if below is None:
        raise LeadsOut(errno.EXDEV, "it is a link out of its source")
    if not below:
        raise NotAFile(errno.EISDIR, "it is a folder")
    return open_below(below, top)


def open_below(path: str, folder: str) -> BinaryIO:
    """Open the regular file at *path*, relative to *folder*; no link on the way is followed."""
    *folders, name = path.split("/")
    holder = os.open(folder, _FOLDER)
    try:
        for each in folders:
            deeper = os.open(each, _FOLDER, dir_fd=holder)
            os.close(holder)
            holder = deeper
        return _regular(os.open(name, _FILE | os.O_NOFOLLOW, dir_fd=holder))
    finally:
        os.close(holder)


def open_regular(path: str) -> BinaryIO:
    """Open the regular file at *path*, wherever links lead; raise ``OSError``."""
    return _regular(os.open(path, _FILE))


def _regular(descriptor: int) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFile(errno.EINVAL, "it is not a regular file")
    return os.fdopen(descriptor, "rb")
