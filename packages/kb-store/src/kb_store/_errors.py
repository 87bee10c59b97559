"""The one place that knows DuckDB's exceptions.

Whatever DuckDB or the file system raises leaves this package as a
``KbError`` whose ``__cause__`` is the original. DuckDB tells most of its failures
apart by message only, so the words it uses are listed here, once.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import _duckdb as duckdb  # without the package around it, which takes as long again

from kb_core.disk import LOOK_AT_THE_DISK, disk_hint, disk_hint_of
from kb_core.errors import InvalidInput, IoError, KbError, StoreBusy, StoreCorrupt, StoreNewer
from kb_core.values import lazy_pattern

__all__ = ["CORRUPT_HINT", "is_damage", "translate_errors"]

_LOCKED = "could not set lock"
_DAMAGED = (
    "not a valid duckdb database",
    "corrupt",
    "checksum",
    "could not read enough bytes",
    "wal does not match",
    "failed to replay wal",
    "failure while replaying wal",
)
_REFUSED = ("could not write", "could not read from file", "could not truncate", "fsync failed")
"""Of a file, whatever the reason: the error of a commit is that of its transaction."""
_NEWER = lazy_pattern(r"version number \d+.*can (only )?read", re.DOTALL)
_SURROGATE = lazy_pattern(r"surrogate ('[^']*') at position (\d+)")
_HOLDER = lazy_pattern(r"\(PID (\d+)\)")
_UNUSABLE_CLASSES = (duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)

CORRUPT_HINT = (
    "'kebab doctor --repair' shows what it would do: it keeps a copy of the store and makes it "
    "again of what can be read and of the index; or put a copy of the whole data directory back"
)


@contextmanager
def translate_errors(action: str) -> Generator[None]:
    """Raise a ``KbError`` for whatever fails while we *action*."""
    try:
        yield
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise _not_text(action, f"{character!a}", error.start) from error
    except duckdb.Error as error:
        found = _SURROGATE.search(str(error))
        if found:
            raise _not_text(action, found[1], int(found[2])) from error
        raise _translated(action, error) from error
    except OSError as error:
        raise IoError(f"could not {action}: {error}", hint=disk_hint(error.errno)) from error


def is_damage(error: duckdb.Error) -> bool:
    """Say whether *error* is that of a file that is not what was written."""
    lowered = str(error).lower()
    return any(words in lowered for words in _DAMAGED)


def _not_text(action: str, character: str, position: int) -> KbError:
    return InvalidInput(
        f"could not {action}: character {position} of a text is a lone surrogate "
        f"({character}), which is not Unicode text",
        details={"position": position},
    )


def _translated(action: str, error: duckdb.Error) -> KbError:
    message = str(error)
    lowered = message.lower()
    if _LOCKED in lowered:
        return _busy(action, message)
    if _NEWER.search(lowered):
        return StoreNewer(
            f"could not {action}: the file was written by a newer DuckDB: {message}",
            hint="upgrade kebab",
        )
    if is_damage(error):
        return StoreCorrupt(f"could not {action}: {message}", hint=CORRUPT_HINT)
    hint = disk_hint_of(message)
    is_refused = any(words in lowered for words in _REFUSED)
    if isinstance(error, duckdb.IOException) or hint or is_refused:
        return IoError(
            f"could not {action}: {message}",
            hint=hint or (LOOK_AT_THE_DISK if is_refused else None),
        )
    if isinstance(error, _UNUSABLE_CLASSES):
        return IoError(
            f"could not {action}: the database gave up: {message}",
            hint="run the command again; 'kebab doctor --deep' checks the store",
        )
    return KbError(f"could not {action}: {message}")


def _busy(action: str, message: str) -> KbError:
    holder = _HOLDER.search(message)
    pid = int(holder[1]) if holder else None
    by = f"process {pid}" if pid else "another process"
    return StoreBusy(
        f"could not {action}: {by} has the store open",
        hint="wait until it is done, or stop it",
        details={"pid": pid},
    )
