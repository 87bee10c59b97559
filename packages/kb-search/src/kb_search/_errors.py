"""The one place that knows tantivy's exceptions."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from kb_core.errors import IoError, NotIndexed, StoreBusy

__all__ = ["NO_INDEX_HINT", "translate_errors"]

NO_INDEX_HINT = "run 'kebab add FOLDER' and 'kebab ingest'"


@contextmanager
def translate_errors(action: str) -> Generator[None]:
    """Raise a ``KbError`` for whatever tantivy or the disk raises while we *action*."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if "LockBusy" in text or "Lockfile" in text:
            raise StoreBusy(
                f"could not {action}: another process is writing to the index",
                hint="wait for the other 'kebab ingest' to end",
            ) from error
        if "does not exist" in text or "FileDoesNotExist" in text or "no such file" in text.lower():
            raise NotIndexed(f"could not {action}: {text}", hint=NO_INDEX_HINT) from error
        raise IoError(f"could not {action}: {text}") from error
    except OSError as error:
        raise IoError(f"could not {action}: {error}") from error
