"""What is an archive that may be opened: zip and tar, by name and by first bytes.

Others that are zip inside, such as programs and packages of libraries, have names of their own
and stay closed.
"""

from __future__ import annotations

import re

from kb_core.values import lazy_pattern

__all__ = ["is_archive", "is_archive_name"]

_NAMES = (".zip", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
_BEGINS = lazy_pattern(
    rb"PK(?:\x03\x04|\x05\x06)|.{257}ustar|\x1f\x8b\x08|BZh[1-9]|\xfd7zXZ\x00", re.DOTALL
)


def is_archive_name(path: str) -> bool:
    """Say whether a file of this name may be an archive that can be opened."""
    return path.lower().endswith(_NAMES)


def is_archive(path: str, data: bytes) -> bool:
    """Say whether a file is an archive that can be opened."""
    return is_archive_name(path) and _BEGINS.match(data) is not None
