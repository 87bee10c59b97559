"""Where one model's vectors lie, and how long the published part of each file is.

Per model and generation there are four append-only files; row *i* of each belongs
together:

    <model>.<generation>.i8      dimensions x int8      as ``kb_core.quantization`` has it
    <model>.<generation>.scale   float32                int8 x scale = component
    <model>.<generation>.keys    int64                  the chunk key of the row
    <model>.<generation>.dead    uint32                 rows whose chunk is gone

A reader never looks beyond the lengths that the control record publishes, so a torn
tail is invisible; the next writer cuts it off.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_core.control import VectorFiles
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_search.small_view import SmallView
    from kb_search.vectors import VectorView

    View: TypeAlias = VectorView | SmallView

__all__ = [
    "FEW",
    "SCALE_BYTES",
    "Layout",
    "Maps",
    "VectorSet",
    "cut_tails",
    "generations",
    "is_mostly_dead",
    "map_files",
    "remove_other_generations",
    "start",
    "write_synced",
]

SCALE_BYTES = 4
"""Of a vector, the first ones: its scale."""
_COMPACT_SHARE = 0.25
_COMPACT_MIN_DEAD = 256
_PARTS = {"i8", "scale", "f16", "keys", "dead"}
"""An index of another version may have had vectors in float16, which go with it."""
_SAFE = frozenset(f"{ascii_letters}{digits}._-")

Maps = Mapping[str, mmap.mmap | bytes]
"""The published part of each file, mapped read-only; empty where nothing is published."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one model and generation below *root*."""

    root: Path
    model_key: str
    generation: int
    dimensions: int

    @classmethod
    def of(cls, root: Path, files: VectorFiles) -> Layout:
        """Return the layout that a control record names."""
        return cls(root, files.model_key, files.generation, files.dimensions)

    def path(self, part: str) -> Path:
        """Return the file of one part: ``i8``, ``scale``, ``keys`` or ``dead``."""
        return self.root / f"{_safe(self.model_key)}.{self.generation}.{part}"

    def widths(self) -> dict[str, int]:
        """Return the bytes per row of each part that grows with the rows."""
        return {"i8": self.dimensions, "scale": 4, "keys": 8}


def start(
    root: Path, model_key: str, description: Mapping[str, Any], dimensions: int
) -> VectorFiles:
    """Return an empty generation for a model, newer than any that lies in *root*."""
    root.mkdir(parents=True, exist_ok=True)
    generation = max(generations(root, model_key), default=0) + 1
    return VectorFiles(
        model_key=model_key,
        dimensions=dimensions,
        generation=generation,
        rows=0,
        dead=0,
        model=dict(description),
    )


def map_files(root: Path, files: VectorFiles) -> Maps:
    """Map the published part of every file, without numpy.

    Maps are made when a control record is read and not when they are needed: a later
    generation may unlink the files, which open maps survive.
    """
    layout = Layout.of(root, files)
    lengths = {part: width * files.rows for part, width in layout.widths().items()}
    lengths["dead"] = 4 * files.dead
    return {part: _map(layout.path(part), length) for part, length in lengths.items()}


def _map(path: Path, length: int) -> mmap.mmap | bytes:
    if length == 0:
        return b""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, length, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


FEW = 1_500_000
"""So many rows are looked through without numpy in less time than it takes to import."""
IMPORT = 45_000
"""Microseconds that its import takes."""


class VectorSet:
    """One model's published vectors: mapped at once, and looked at when first asked."""

    def __init__(self, maps: Maps, files: VectorFiles) -> None:
        self._maps = maps
        self.files = files
        self._small: SmallView | None = None

    @classmethod
    def open(cls, root: Path, files: VectorFiles) -> VectorSet:
        """Map the published files below *root*."""
        return cls(map_files(root, files), files)

    @property
    def view(self) -> View:
        """The vectors; without numpy until that has taken as long as its import takes."""
        small = self._small
        is_worth_it = self.files.rows > FEW if small is None else small.spent > IMPORT
        if is_worth_it or "numpy" in sys.modules or sys.byteorder != "little":
            return self._whole
        if small is None:
            from kb_search.small_view import SmallView  # nor is this on the lexical path

            small = self._small = SmallView(self._maps, self.files)
        return small

    @cached_property
    def _whole(self) -> VectorView:
        from kb_search.vectors import VectorView

        return VectorView(self._maps, self.files)


def cut_tails(root: Path, files: VectorFiles) -> None:
    """Cut every file to its published length: what lies beyond was never seen by anyone."""
    layout = Layout.of(root, files)
    lengths = {part: width * files.rows for part, width in layout.widths().items()}
    lengths["dead"] = 4 * files.dead
    for part, length in lengths.items():
        path = layout.path(part)
        if not path.exists():
            if length:
                raise FileNotFoundError(path)
            continue
        size = path.stat().st_size
        if size < length:
            raise OSError(f"{path.name} has {size} bytes, {length} were published")
        if size > length:
            os.truncate(path, length)


def is_mostly_dead(files: VectorFiles) -> bool:
    """Say whether a generation is worth another one without its dead rows."""
    return files.dead >= _COMPACT_MIN_DEAD and files.dead > _COMPACT_SHARE * files.rows


def write_synced(path: Path, data: bytes) -> None:
    """Append *data* to a file, and have it on the disk."""
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def generations(root: Path, model_key: str) -> dict[int, list[Path]]:
    """Return the files that lie in *root* for a model, by generation."""
    found: dict[int, list[Path]] = {}
    stem = f"{_safe(model_key)}."
    for path in root.iterdir() if root.is_dir() else ():
        generation, _, part = path.name.removeprefix(stem).partition(".")
        if path.name.startswith(stem) and generation.isdecimal() and part in _PARTS:
            found.setdefault(int(generation), []).append(path)
    return found


def remove_other_generations(root: Path, files: VectorFiles) -> None:
    """Unlink the files of every other generation; maps that are open stay valid."""
    for generation, paths in generations(root, files.model_key).items():
        if generation != files.generation:
            for path in paths:
                path.unlink(missing_ok=True)


def _safe(model_key: str) -> str:
    return "".join(sign if sign in _SAFE else "_" for sign in model_key)
