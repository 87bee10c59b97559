"""Reading an index that lies where nothing can be written.

tantivy takes a lock file in the index folder even to read. On a read-only file system, or
in a folder of someone else, the folder is mirrored by links in a temporary one, where the
lock can be: the files themselves are mapped from where they are.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

__all__ = ["Mirror"]


class Mirror:
    """Gives folders that tantivy can open; cleans up when it is let go."""

    def __init__(self) -> None:
        self._root: Path | None = None

    def of(self, folder: Path) -> Path:
        """Return *folder*, or an up-to-date mirror of it where it cannot be written."""
        if os.access(folder, os.W_OK) or not folder.is_dir():
            return folder
        if self._root is None:
            import shutil  # these load compressors, which hardly any search needs
            import tempfile

            self._root = Path(tempfile.mkdtemp(prefix="kebab-"))
            weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        mirrored = self._root / folder.name
        mirrored.mkdir(exist_ok=True)
        for file in folder.iterdir():
            link = mirrored / file.name
            if not file.name.endswith(".lock") and not link.is_symlink():
                link.symlink_to(file)
        return mirrored
