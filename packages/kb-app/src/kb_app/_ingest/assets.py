"""Assets: the bytes of documents that exist nowhere else, below ``assets/``.

An asset is called by the hash of its bytes, so it never changes; it is written whole before
the store commits what refers to it. What its bytes do not tell, because it was given along
with them, a suffix says: the medium, and the most that the document is trusted. So neither
is lost as long as the asset is there. What no row of the ledger refers to is
garbage: of a killed run, or replaced, or removed. Only the holder of the writer lock
writes or sweeps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

from kb_core.errors import IoError
from kb_core.ids import bytes_hash
from kb_core.media import Media, TrustLevel

__all__ = ["Assets", "asset_name", "given_medium", "given_trust"]

_SUFFIXES = {Media.MARKDOWN: ".md", Media.TEXT: ".txt"}
_MEDIA = {suffix: medium for medium, suffix in _SUFFIXES.items()}
_LIMITS = (TrustLevel.SECONDARY, TrustLevel.GENERATED)
_OURS = re.compile(r"[0-9a-f]{32}(?:\.secondary|\.generated)?(?:\.md|\.txt)?(?:\.new)?")


def asset_name(
    data: bytes, medium: Media | None = None, trust: TrustLevel = TrustLevel.PRIMARY
) -> str:
    """Return the name of the asset that holds *data*; *medium* and *trust* if those were given."""
    limit = f".{trust}" if trust in _LIMITS else ""
    return bytes_hash(data) + limit + (_SUFFIXES[medium] if medium is not None else "")


def given_medium(name: str) -> Media | None:
    """Return the medium that was given with the bytes of an asset, if one was."""
    _, dot, suffix = name.rpartition(".")
    return _MEDIA.get(dot + suffix)


def given_trust(name: str | None) -> TrustLevel:
    """Return the most that the document is trusted; ``None`` names no asset, and sets no limit."""
    parts = (name or "").split(".")
    return next((level for level in _LIMITS if level in parts), TrustLevel.PRIMARY)


class Assets:
    """The folder of assets of a data directory, there yet or not."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "assets"

    def has(self, name: str, size: int) -> bool:
        """Say whether an asset is there, and of the size that it should have."""
        try:
            return (self.folder / name).stat().st_size == size
        except OSError:
            return False

    def keep(self, name: str, data: bytes) -> None:
        """Write an asset, so that it is there whole and durable, or not at all."""
        target = self.folder / name
        try:
            if self.has(name, len(data)) and target.read_bytes() == data:
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            new = target.with_name(f"{name}.new")
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(target)
            _sync_folder(self.folder)
        except OSError as error:
            reason = error.strerror or str(error)
            raise IoError(f"cannot keep an asset in {str(self.folder)!r}: {reason}") from error

    def sweep(self, wanted: Collection[str]) -> int:
        """Delete assets that are not *wanted*; return how many. Other files are not ours."""
        swept = 0
        for path in sorted(self.folder.glob("*")):
            if path.name in wanted or not _OURS.fullmatch(path.name):
                continue
            try:
                path.unlink()
            except OSError:
                continue  # the next run tries again
            swept += 1
        return swept


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
