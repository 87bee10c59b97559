"""Trained data: which languages and scripts text can be recognised in, and where they lie.

Folders in their order: those of ``ocr.tessdata``, ``TESSDATA_PREFIX``, what packages installed
beside this program, and where systems keep it. The first that has a language gives it. Only
names and sizes are looked at; what reads them is ``_ingest.making.ocr``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kb_core.values import dataclass

__all__ = ["ENGLISH", "SCRIPTS", "Trained", "find_trained"]

ENGLISH = "eng"
SCRIPTS = "osd"
"""The data that tells scripts and which way is up; no language."""

_SUFFIX = ".traineddata"
_NO_LANGUAGES = frozenset({SCRIPTS, "equ", "snum"})
_SYSTEM = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
    "/opt/local/share/tessdata",
)


@dataclass(frozen=True, slots=True)
class Trained:
    """The data of one language, in a file of *size* bytes in *folder*."""

    lang: str
    folder: str
    size: int

    @property
    def version(self) -> str:
        """What tells it apart from other data of this language."""
        return f"{self.lang}-{self.size}"

    @property
    def is_language(self) -> bool:
        return self.lang not in _NO_LANGUAGES


def find_trained(folders: Iterable[Path], environ: Mapping[str, str]) -> tuple[Trained, ...]:
    """Return what is found, by language; *folders* are the configured ones."""
    found: dict[str, Trained] = {}
    for folder in _folders(folders, environ):
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            try:
                size = path.stat().st_size
            except OSError:  # a link that leads nowhere
                continue
            lang = path.name.removesuffix(_SUFFIX)
            if "+" not in f"{folder}{lang}":  # tesseract takes it for a list
                found.setdefault(lang, Trained(lang, str(folder), size))
    return tuple(found[lang] for lang in sorted(found))


def _folders(folders: Iterable[Path], environ: Mapping[str, str]) -> Iterator[Path]:
    yield from folders
    if prefix := environ.get("TESSDATA_PREFIX"):
        yield from (Path(prefix), Path(prefix, "tessdata"))
    for beside in (*sys.path, sys.prefix):
        yield Path(beside, "share", "tessdata")
    yield from map(Path, _SYSTEM)
