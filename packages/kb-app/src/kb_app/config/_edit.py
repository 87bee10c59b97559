"""Writing a configuration file: all of it or nothing, and never one that does not load."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.paths import make_private_folder
from kb_core.errors import IoError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["back_up", "edited", "write_text"]


def edited(text: str) -> TOMLDocument:
    """Return *text* as a document that remembers comments and layout."""
    import tomlkit  # milliseconds that only an edit needs

    return tomlkit.parse(text)


def write_text(file: Path, text: str) -> None:
    """Replace *file* in one step; a link is followed, so that it stays one."""
    target = Path(os.path.realpath(file))
    try:
        make_private_folder(target.parent)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".config-", suffix=".toml")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as new:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
            Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o600)
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise IoError(
            f"cannot write {file}: {error.strerror}", details={"file": str(file)}
        ) from error


def back_up(file: Path) -> Path:
    """Copy *file* beside itself under a name that is free, and return that."""
    for number in range(1, 10_000):
        copy = file.with_name(f"{file.name}.bak-{number}")
        if not copy.exists():
            write_text(copy, file.read_text("utf-8"))
            return copy
    raise IoError(f"there are thousands of backups of {file}", hint="delete some")
