"""What the system refuses: an error, and what can be done about it.

By the number that the system gives, or by the words in which an engine passes it on.
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from kb_core.errors import IoError
from kb_core.values import lazy_pattern

__all__ = ["LOOK_AT_THE_DISK", "disk_errors", "disk_hint", "disk_hint_of", "remove_folder"]

LOOK_AT_THE_DISK = "look whether the disk is there and can be written, and run it again"
"""What can be done about one that went away, and where nothing better is known."""
_FULL = "free some space and run it again; nothing committed is lost"
_READ_ONLY = (
    "searching works; to index, make it writable, or set storage.data_dir to a place that is"
)
_NO_RIGHT = "give yourself the right to read and write there, and run it again"
_TOO_LARGE = (
    "files may not be as large as that there: raise the limit ('ulimit -f'), or keep the data on "
    "another file system, such as one that is not FAT; then run it again"
)
_HINTS = {
    errno.ENOSPC: ("no space left", _FULL),
    errno.EDQUOT: ("quota exceeded", _FULL),
    errno.EFBIG: ("file too large", _TOO_LARGE),
    errno.EMFILE: ("too many open files", "raise the limit ('ulimit -n 4096') and run it again"),
    errno.ENFILE: ("too many open files in", "close other programs and run it again"),
    errno.EROFS: ("read-only file system", _READ_ONLY),
    errno.EACCES: ("permission denied", _NO_RIGHT),
    errno.ESTALE: ("stale file handle", LOOK_AT_THE_DISK),
    errno.ENODEV: ("no such device", LOOK_AT_THE_DISK),
    errno.ENOTCONN: ("endpoint is not connected", LOOK_AT_THE_DISK),
    errno.EIO: ("input/output error", "the disk may be failing: copy the data directory elsewhere"),
}
_NUMBER = lazy_pattern(r"(?:os error|code:|errno) (\d+)")


def disk_hint(number: int | None) -> str | None:
    """Return what can be done about an error number of the system, if anything is known."""
    return _HINTS[number][1] if number in _HINTS else None


def disk_hint_of(message: str) -> str | None:
    """Return the same for what a library says of one, by its number or its words."""
    lowered = message.lower()
    if (found := _NUMBER.search(lowered)) and (hint := disk_hint(int(found[1]))):
        return hint
    return next((hint for words, hint in _HINTS.values() if words in lowered), None)


@contextmanager
def disk_errors(action: str, *, but: tuple[type[OSError], ...] = ()) -> Generator[None]:
    """Raise ``IoError``, with what can be done, for what the system refuses while we *action*.

    *but* is no refusal of a disk, and goes through as it is.
    """
    try:
        yield
    except but:
        raise
    except OSError as error:
        number = errno.errorcode.get(error.errno or 0)
        raise IoError(
            f"could not {action}: {error}", hint=disk_hint(error.errno), details={"errno": number}
        ) from error


_MOST_TRIES = 100


def remove_folder(folder: Path) -> None:
    """Delete *folder* and all that is in it, also what comes and goes there meanwhile.

    Who opens an index makes a lock file in it, and takes it away.
    """
    import shutil  # with what it imports, a fifth of what a search takes to start

    for _ in range(_MOST_TRIES):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            if not folder.exists():
                raise
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
        else:
            return
    shutil.rmtree(folder)
