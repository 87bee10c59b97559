"""A file of a source as it is now, read the way ingest reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from kb_app._ingest.decode import FileContent
from kb_app._ingest.seeing.files import LeadsOut, NotAFile, open_inside, open_regular
from kb_app._ingest.sniff import check_bytes

__all__ = ["Now", "is_reachable", "read_text"]


@dataclass(frozen=True, slots=True)
class Now:
    """A document's text now, and why it is not read from the file where it is not.

    ``None`` means that there is no such file any more, or no text in it.
    """

    text: str | None
    is_file: bool = True
    detail: str | None = None


def read_text(path: str, *, within: str | None, most_bytes: int, instead: str) -> Now:
    """Return the text of a file; *instead* where it is there and cannot be read.

    With *within*, a link must not lead out of that folder: it could have been put there
    since, and what it leads to would be shown.
    """
    try:
        with open_inside(path, within) if within is not None else open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > most_bytes:
                return Now(instead, is_file=False, detail="the file is larger than max_file_mb")
            data = file.read()
    except (LeadsOut, NotAFile) as error:
        return Now(None, detail=f"{error.strerror} now")
    except (FileNotFoundError, NotADirectoryError):
        return Now(None, detail="the file is not there any more")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return Now(instead, is_file=False, detail=f"the file cannot be read: {reason}")
    if check_bytes(data) is not None:
        return Now(None, detail="the file is not text any more")
    return Now(FileContent(data).text)


def is_reachable(root: str) -> bool:
    """Say whether a root is there and holds anything: a mount that is away leaves nothing."""
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is not None
    except OSError:
        return False
