"""Vectors: appended, and rewritten where a generation is mostly dead; searched exactly.

Appending quantises, writes, and syncs. It does not publish: the new lengths become visible
with the control record. Nearest neighbours are those of the published part: every row is
scanned in int8 with the SIMD kernels of simsimd (numpy where that is missing); the best few
hundred are scored again in float16 against the float32 query. An exact scan needs no
building, no tuning, and has no recall to lose: measured against an HNSW graph it is as fast
up to hundreds of thousands of vectors, and it can filter.

Scores are cosines: all vectors have length 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kb_core.control import VectorFiles
from kb_core.records import VectorRecord
from kb_core.search import Scored
from kb_search.vector_files import Layout, Maps, start

__all__ = [
    "VectorView",
    "append",
    "quantize",
    "rewrite",
]

_COMPACT_SHARE = 0.25
_COMPACT_MIN_DEAD = 256


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


Rows = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]
"""For each row whether something is so."""

_FARTHER = 0.2
"""How much farther away a passage counts that only names what stands elsewhere, as a share of
its distance ``1 - cosine``, so that the scale of a model's cosines does not matter."""

_LARGEST_COSINE = 1.05
"""Rounding to half precision adds a thousandth; what is above is no vector of ours."""

_RESCORE_FACTOR = 2
_RESCORE_MIN = 256
_BLOCK = 64
_NUMPY_ROWS = 65536


class VectorView:
    """One model's vectors as a control record published them. Safe to share by threads.

    ``ValueError`` for rows that there are not, and for what is no cosine: damage.
    """

    def __init__(self, maps: Maps, files: VectorFiles) -> None:
        self._rows = files.rows
        shape = (files.rows, files.dimensions)
        self._i8 = np.frombuffer(maps["i8"], np.int8).reshape(shape)
        self._f16 = np.frombuffer(maps["f16"], "<f2").reshape(shape)
        self._scale = np.frombuffer(maps["scale"], "<f4")
        self.keys = np.frombuffer(maps["keys"], "<i8")
        self._dead = np.frombuffer(maps["dead"], "<u4")
        if len(self._dead) and self._dead.max() >= self._rows:
            raise ValueError("a row is dead that there never was")

    def __len__(self) -> int:
        return self._rows - len(self._dead)

    @cached_property
    def _by_key(self) -> tuple[npt.NDArray[np.int64], Rows]:
        """The keys of live rows, sorted, and their rows: for filters."""
        alive = np.ones(self._rows, bool)
        alive[self._dead] = False
        rows = np.flatnonzero(alive)
        keys = self.keys[rows]
        order = np.argsort(keys, kind="stable")
        return keys[order], rows[order]

    def rows_of(self, keys: Sequence[int]) -> Rows:
        """Return the live rows of those keys that have one, ascending."""
        known, rows = self._by_key
        wanted = np.asarray(keys, np.int64)
        at = np.searchsorted(known, wanted)
        at[at == len(known)] = 0
        found = at[known[at] == wanted] if len(known) else at[:0]
        return np.sort(rows[found])

    def known(self, keys: Sequence[int]) -> set[int]:
        """Return those keys that have a live row."""
        return set(self.keys[self.rows_of(keys)].tolist())

    def marks(self, keys: Sequence[int]) -> Marks | None:
        """Return the rows of those keys as marks; ``None`` where there are none."""
        rows = self.rows_of(keys) if keys else ()
        if not len(rows):
            return None
        marks = np.zeros(self._rows, bool)
        marks[rows] = True
        return marks

    def vector(self, key: int) -> bytes | None:
        """Return a chunk's vector as float32, or ``None``."""
        rows = self.rows_of([key])
        return self._f16[rows[0]].astype("<f4").tobytes() if len(rows) else None

    def nearest(
        self,
        query: bytes,
        limit: int,
        among: Sequence[int] | None = None,
        farther: Marks | None = None,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks, best first, ties by key; *among* are chunk keys.

        Rows that are *farther* count as such.
        """
        rows = None if among is None else self.rows_of(among)
        total = self._rows if rows is None else len(rows)
        if total == 0 or limit < 1:
            return []
        asked = np.frombuffer(query, "<f4")
        rough = self._rough(asked, rows, farther)
        wanted = min(total, max(_RESCORE_FACTOR * limit, _RESCORE_MIN))
        picked = _largest(rough, wanted)
        picked = picked if rows is None else rows[picked]
        return self._rescored(asked, picked, farther)[:limit]

    def deepening(
        self,
        query: bytes,
        limit: int,
        passes: Callable[[Sequence[int]], set[int]],
        depth: int,
        farther: Marks | None = None,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks that pass, by looking ever deeper.

        For a filter that most rows pass: asking about the best few hundred is cheaper
        than listing every row that passes. The result is the same.
        """
        asked = np.frombuffer(query, "<f4")
        rough = self._rough(asked, None, farther)
        while True:
            wanted = min(self._rows, max(_RESCORE_FACTOR * depth, _RESCORE_MIN))
            best = self._rescored(asked, _largest(rough, wanted), farther)[:depth]
            good = passes([scored.chunk_key for scored in best])
            kept = [scored for scored in best if scored.chunk_key in good]
            if len(kept) >= limit or depth >= self._rows:
                return kept[:limit]
            depth *= 4

    def _rough(
        self, asked: npt.NDArray[np.float32], rows: Rows | None, farther: Marks | None
    ) -> npt.NDArray[np.float32]:
        matrix = self._i8 if rows is None else self._i8[rows]
        scale = self._scale if rows is None else self._scale[rows]
        row, _ = quantize(asked[None, :])
        scores: npt.NDArray[np.float32] = _dots(matrix, row) * scale
        if farther is not None:
            marked = farther if rows is None else farther[rows]
            scores[marked] -= _FARTHER * (1 - scores[marked])
        if rows is None and len(self._dead):
            scores[self._dead] = -np.inf
        return scores

    def _rescored(
        self, asked: npt.NDArray[np.float32], picked: Rows, farther: Marks | None
    ) -> list[Scored]:
        # Row by row and not one matrix product: a score must not depend on which other
        # rows were picked, or a filter could move it by a rounding.
        half = self._f16[picked].astype(np.float32)
        scores = (half * asked).sum(axis=1, dtype=np.float64)
        if not (np.abs(scores) <= _LARGEST_COSINE).all():
            raise ValueError("a vector is not of length 1")
        if farther is not None:
            scores -= _FARTHER * (1 - scores) * farther[picked]
        scores = np.round(scores, 7)
        keys = self.keys[picked]
        order = np.lexsort((keys, -scores))
        if len(self._dead):
            order = order[~np.isin(picked[order], self._dead)]
        pairs = zip(keys[order].tolist(), scores[order].tolist(), strict=True)
        return [Scored(key, score) for key, score in pairs]


def _dots(matrix: npt.NDArray[np.int8], row: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    try:
        import simsimd
    except ImportError:  # no wheel for this platform
        return _numpy_dots(matrix, row)
    # Of whole numbers: a float32 holds the sums of a thousand dimensions exactly.
    products: Any = simsimd.cdist(np.ascontiguousarray(matrix), row, "dot", out_dtype="float32")
    scores: npt.NDArray[np.float32] = np.asarray(products).reshape(-1)
    return scores


def _numpy_dots(matrix: npt.NDArray[np.int8], row: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    asked = row[0].astype(np.float32)
    scores = np.empty(len(matrix), np.float32)
    for first in range(0, len(matrix), _NUMPY_ROWS):
        block = matrix[first : first + _NUMPY_ROWS]
        scores[first : first + len(block)] = block.astype(np.float32) @ asked
    return scores


def _largest(scores: npt.NDArray[np.float32], wanted: int) -> Rows:
    """Return the rows of the *wanted* largest scores, in no order.

    The largest of each block bound the threshold from below, so only few rows are
    partitioned: eight times quicker than ``argpartition`` over a million.
    """
    if wanted >= len(scores):
        return np.arange(len(scores))
    whole = len(scores) // _BLOCK * _BLOCK
    tops = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
    if len(tops) <= wanted:
        return np.argpartition(scores, len(scores) - wanted)[len(scores) - wanted :]
    threshold = np.partition(tops, len(tops) - wanted)[len(tops) - wanted]
    above = np.flatnonzero(scores >= threshold)
    if len(above) <= wanted:
        return above
    return above[np.argpartition(scores[above], len(above) - wanted)[len(above) - wanted :]]
