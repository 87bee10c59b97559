"""Files on disk: what they are called in here, and how one is opened.

In here a path is valid Unicode in normal form C, unique within its folder; on disk a
name is bytes. Where the two differ, the raw path (``os.fsencode``, in hex) is kept beside
the path, and ``location`` finds the file again.

* A name in another normal form is shown in form C, unless another file has that name:
  then, of several in the order of their bytes, the later ones keep their raw spelling.
* A name that is not UTF-8 shows each byte that is not as ``%XX``, and ``%`` as ``%25``;
  should another file be called just that, ``%`` is added until nothing is.

What is read is what was allowed. Between looking at a path and opening it, somebody may put
a link in the way. So links are resolved once, the place that they lead to is held against
the folder, and the way to it is then walked from that folder without following any link:
whatever was swapped meanwhile, no byte comes from outside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from kb_core.errors import InvalidInput
from kb_core.text import nfc
from kb_core.values import lazy_pattern

__all__ = [
    "LeadsOut",
    "NotAFile",
    "inside",
    "is_utf8",
    "location",
    "meant_inside",
    "open_below",
    "open_inside",
    "open_regular",
    "path_of",
    "relative_parts",
    "spell",
]

_ESCAPED = lazy_pattern("[%\udc80-\udcff]")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe would wait for somebody to write.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def spell(names: Sequence[str]) -> list[str]:
    """Return what each of the *names* of one folder, as ``os`` gives them, is called in here."""
    if all(map(str.isascii, names)):
        return list(names)
    # A name that needs no change has the first right to it.
    given = {name: name for name in names if is_utf8(name) and nfc(name) == name}
    taken = set(given)
    for name in sorted((name for name in names if name not in given), key=os.fsencode):
        shown = _shown(name)
        if shown in taken and is_utf8(name):
            shown = name
        while shown in taken:
            shown += "%"
        given[name] = shown
        taken.add(shown)
    return [given[name] for name in names]


def is_utf8(name: str) -> bool:
    """Say whether *name*, as ``os`` gives it, is UTF-8 on disk."""
    return name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name)


def location(root: str, path: str, raw_path: str | None) -> str:
    """Return where the file is on disk, for ``open``; *path* and *raw_path* as a walk saw them.

    Raises ``InvalidInput`` for a path that would leave *root*.
    """
    relative = path if raw_path is None else os.fsdecode(bytes.fromhex(raw_path))
    relative_parts(relative)
    return os.path.join(root, relative)  # noqa: PTH118 - a Path loses speed here, and wins nothing


def path_of(root: str, disk: str) -> str:
    """Return what the file at *disk*, relative to *root*, is called in here; there or not."""
    if disk.isascii():
        return disk
    here, path = root, []
    for name in disk.split("/"):
        try:
            names = os.listdir(here)  # noqa: PTH208 - strings, as ``spell`` takes them
        except OSError:
            names = []
        called = dict(zip(names, spell(names), strict=True))
        path.append(called.get(name) or _shown(name))
        here = os.path.join(here, name)  # noqa: PTH118 - as in ``location``
    return "/".join(path)


def relative_parts(path: str) -> list[str]:
    """Return the names that *path* consists of; raise ``InvalidInput`` if it leads outside."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise InvalidInput(
            f"path {path!r} leads out of its source",
            hint="name a file or folder inside the source, relative to its root",
        )
    return parts


def _shown(name: str) -> str:
    if is_utf8(name):
        return nfc(name)
    return nfc(_ESCAPED.sub(lambda match: f"%{os.fsencode(match[0]).hex().upper()}", name))


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


def meant_inside(folder: str, name: str) -> Iterator[str]:
    """Yield what in *folder* may be called *name*: by its path in there, or by the end of it.

    Nothing is looked at: whoever stands in a folder above this one calls it so.
    """
    top = Path(folder).absolute()
    for above in (top, *top.parents):
        if below := inside(os.path.normpath(above / name), str(top)):
            yield below


def open_inside(path: str, folder: str) -> BinaryIO:
    """Open the regular file at *path*, which has to be inside *folder*, links resolved.

    Raises ``LeadsOut`` if it is not, and ``OSError`` for whatever cannot be read.
    """
    straight = inside(path, folder)
    if straight and ".." not in straight:
        with suppress(OSError):  # most ways hold no link; where one does, it is looked at
            return open_below(straight, folder)
    os.stat(path)  # noqa: PTH116 - ``a.md/../b.md`` leads nowhere, whatever ``realpath`` says
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
