"""Appending vectors: quantise, write, fsync; and rewriting a generation that is mostly dead.

Nothing here publishes: the new lengths become visible with the control record.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kb_core.control import VectorFiles
from kb_core.records import VectorRecord
from kb_search.vectors.layout import Layout, generations

__all__ = ["append", "cut_tails", "quantize", "remove_other_generations", "rewrite", "start"]

_COMPACT_SHARE = 0.25
_COMPACT_MIN_DEAD = 256


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


def append(
    root: Path, files: VectorFiles, vectors: Sequence[VectorRecord], dead_chunks: Iterable[int]
) -> VectorFiles:
    """Append rows and tombstones beyond the published lengths, and return the new lengths.

    A key that has a live row already gets no second one, so a replay changes nothing.
    """
    layout = Layout.of(root, files)
    live = _live_keys(layout, files)
    fresh = list({v.chunk_key: v for v in vectors if v.chunk_key not in live}.values())
    if fresh:
        _append_rows(layout, fresh)
    dead_rows = [live[key] for key in dict.fromkeys(dead_chunks) if key in live]
    if dead_rows:
        _write(layout.path("dead"), np.asarray(dead_rows, np.uint32).tobytes())
    return replace(files, rows=files.rows + len(fresh), dead=files.dead + len(dead_rows))


def quantize(
    vectors: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return int8 rows and one scale per row: ``row * scale`` is near the vector."""
    scale = (np.abs(vectors).max(axis=1) / 127.0).astype(np.float32)
    scale[scale == 0] = 1.0
    rows = np.clip(np.rint(vectors / scale[:, None]), -127, 127).astype(np.int8)
    return rows, scale


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


def rewrite(root: Path, files: VectorFiles) -> VectorFiles | None:
    """Copy the live rows into the next generation, or return ``None`` if too few are dead."""
    if files.dead < _COMPACT_MIN_DEAD or files.dead <= _COMPACT_SHARE * files.rows:
        return None
    old = Layout.of(root, files)
    made = start(root, files.model_key, files.model, files.dimensions)
    new = Layout.of(root, made)
    alive = np.ones(files.rows, bool)
    alive[_map(old, "dead", np.uint32, files.dead)] = False
    rows = np.flatnonzero(alive)
    for part, (kind, width) in _parts(files.dimensions).items():
        source = _map(old, part, kind, files.rows * width).reshape(files.rows, width)
        _write(new.path(part), b"".join(source[block].tobytes() for block in _blocks(rows)))
    return replace(made, rows=len(rows))


def remove_other_generations(root: Path, files: VectorFiles) -> None:
    """Unlink the files of every other generation; maps that are open stay valid."""
    for generation, paths in generations(root, files.model_key).items():
        if generation != files.generation:
            for path in paths:
                path.unlink(missing_ok=True)


def _append_rows(layout: Layout, vectors: Sequence[VectorRecord]) -> None:
    half = np.frombuffer(b"".join(v.vector for v in vectors), "<f2")
    half = half.reshape(len(vectors), layout.dimensions)
    rows, scale = quantize(half.astype(np.float32))
    _write(layout.path("i8"), rows.tobytes())
    _write(layout.path("scale"), scale.astype("<f4").tobytes())
    _write(layout.path("f16"), half.tobytes())
    _write(layout.path("keys"), np.asarray([v.chunk_key for v in vectors], "<i8").tobytes())


def _live_keys(layout: Layout, files: VectorFiles) -> dict[int, int]:
    keys = _map(layout, "keys", np.int64, files.rows)
    alive = np.ones(files.rows, bool)
    alive[_map(layout, "dead", np.uint32, files.dead)] = False
    rows = np.flatnonzero(alive)
    return dict(zip(keys[rows].tolist(), rows.tolist(), strict=True))


def _parts(dimensions: int) -> dict[str, tuple[type[np.generic], int]]:
    return {
        "i8": (np.int8, dimensions),
        "scale": (np.float32, 1),
        "f16": (np.float16, dimensions),
        "keys": (np.int64, 1),
    }


def _map(layout: Layout, part: str, kind: type[np.generic], count: int) -> npt.NDArray[Any]:
    if count == 0:
        return np.empty(0, kind)
    return np.memmap(layout.path(part), kind, "r", shape=(count,))


def _blocks(rows: npt.NDArray[np.intp]) -> Iterable[npt.NDArray[np.intp]]:
    return np.array_split(rows, max(1, len(rows) // 65536))


def _write(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
