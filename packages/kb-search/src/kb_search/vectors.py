"""Vectors: appended, and rewritten where a generation is mostly dead; searched exactly.

``kb_search.small_view`` searches few of them without numpy, which this module needs.

Appending writes and syncs. It does not publish: the new lengths become visible with the
control record. Nearest neighbours are those of the published part: every row is scanned in
int8 with the SIMD kernels of simsimd (numpy where that is missing), against a question that
is rounded to int8 as well; the best few hundred are scored again, against all of the question.
An exact scan needs no building, no tuning, and has no recall to lose: measured against an HNSW
graph it is as fast up to hundreds of thousands of vectors, and it can filter.

Scores are cosines: all vectors have length 1. Where passages are in several languages, a
question is asked without what its vector says of its language (``kb_search.blinders``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kb_core.control import VectorFiles
from kb_core.quantization import LARGEST
from kb_core.records import VectorRecord
from kb_core.search import Scored
from kb_core.values import replace, tuples
from kb_search import products
from kb_search.products import FINER
from kb_search.small_view import FARTHER, LARGEST_COSINE, NONE, ExactScan
from kb_search.vector_files import SCALE_BYTES, Layout, Maps, is_mostly_dead, start, write_synced

__all__ = [
    "VectorView",
    "append",
    "rewrite",
]


def append(
    root: Path, files: VectorFiles, vectors: Sequence[VectorRecord], dead_chunks: Iterable[int]
) -> VectorFiles:
    """Append rows and tombstones beyond the published lengths, and return the new lengths.

    A key that has a live row already gets no second one, so a replay changes nothing.
    """
    layout = Layout.of(root, files)
    dead_chunks = list(dict.fromkeys(dead_chunks))
    live = _live_rows(layout, files, [*(v.chunk_key for v in vectors), *dead_chunks])
    fresh = list({v.chunk_key: v for v in vectors if v.chunk_key not in live}.values())
    if fresh:
        _append_rows(layout, fresh)
    dead_rows = [live[key] for key in dead_chunks if key in live]
    if dead_rows:
        write_synced(layout.path("dead"), np.asarray(dead_rows, np.uint32).tobytes())
    return replace(files, rows=files.rows + len(fresh), dead=files.dead + len(dead_rows))


def rewrite(root: Path, files: VectorFiles) -> VectorFiles | None:
    """Copy the live rows into the next generation, or return ``None`` if too few are dead."""
    if not is_mostly_dead(files):
        return None
    old = Layout.of(root, files)
    made = start(root, files.model_key, files.model, files.dimensions)
    new = Layout.of(root, made)
    alive = np.ones(files.rows, bool)
    alive[_map(old, "dead", np.uint32, files.dead)] = False
    rows = np.flatnonzero(alive)
    for part, (kind, width) in _parts(files.dimensions).items():
        source = _map(old, part, kind, files.rows * width).reshape(files.rows, width)
        write_synced(new.path(part), b"".join(source[block].tobytes() for block in _blocks(rows)))
    return replace(made, rows=len(rows))


def _append_rows(layout: Layout, vectors: Sequence[VectorRecord]) -> None:
    kept = np.frombuffer(b"".join(v.vector for v in vectors), np.uint8)
    kept = kept.reshape(len(vectors), SCALE_BYTES + layout.dimensions)
    write_synced(layout.path("i8"), kept[:, SCALE_BYTES:].tobytes())
    write_synced(layout.path("scale"), kept[:, :SCALE_BYTES].tobytes())
    write_synced(layout.path("keys"), np.asarray([v.chunk_key for v in vectors], "<i8").tobytes())


def _live_rows(layout: Layout, files: VectorFiles, wanted: Sequence[int]) -> dict[int, int]:
    """Return the live rows of those of *wanted* that have one, by key."""
    keys = _map(layout, "keys", np.int64, files.rows)
    alive = np.isin(keys, np.asarray(wanted, np.int64))
    alive[_map(layout, "dead", np.uint32, files.dead)] = False
    rows = np.flatnonzero(alive)
    return dict(zip(keys[rows].tolist(), rows.tolist(), strict=True))


def _parts(dimensions: int) -> dict[str, tuple[type[np.generic], int]]:
    return {
        "i8": (np.int8, dimensions),
        "scale": (np.float32, 1),
        "keys": (np.int64, 1),
    }


def _map(layout: Layout, part: str, kind: type[np.generic], count: int) -> npt.NDArray[Any]:
    if count == 0:
        return np.empty(0, kind)
    return np.memmap(layout.path(part), kind, "r", shape=(count,))


def _blocks(rows: npt.NDArray[np.intp]) -> Iterable[npt.NDArray[np.intp]]:
    return np.array_split(rows, max(1, len(rows) // 65536))


Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float32]


_GROUPS_WANTED = 4
_MOST_GROUPED = 64
"""Groups of rows of which the largest is looked for first: some times as many as are wanted, so
that few of these share one, and more where each would have more rows than this."""


class VectorView(ExactScan["_Asked", "Floats", "Rows"]):
    """One model's vectors as a control record published them. Safe to share by threads.

    ``ValueError`` for rows that there are not, and for what is no cosine: damage.
    """

    def __init__(self, maps: Maps, files: VectorFiles) -> None:
        self._rows = files.rows
        shape = (files.rows, files.dimensions)
        self._i8 = np.frombuffer(maps["i8"], np.int8).reshape(shape)
        self._scale = np.frombuffer(maps["scale"], "<f4")
        self.keys = np.frombuffer(maps["keys"], "<i8")
        self._dead = np.frombuffer(maps["dead"], "<u4")
        if len(self._dead) and self._dead.max() >= self._rows:
            raise ValueError("a row is dead that there never was")
        self._farther: tuple[frozenset[int], npt.NDArray[np.int64]] = (NONE, np.empty(0, np.int64))
        """Keys that were said to be farther, the last ones, and the same ascending."""

    def __len__(self) -> int:
        return self._rows - len(self._dead)

    @cached_property
    def _by_key(self) -> tuple[npt.NDArray[np.int64], Rows | None]:
        """The keys of rows, ascending, and which rows these are: for filters.

        ``None`` where they lie so, dead ones among them, and are looked up where they are.
        """
        if (self.keys[1:] > self.keys[:-1]).all():
            return self.keys, None
        alive = np.ones(self._rows, bool)
        alive[self._dead] = False
        order = np.argsort(self.keys, kind="stable")
        rows = order[alive[order]]
        return self.keys[rows], rows

    def rows_of(self, keys: Sequence[int]) -> Rows:
        known, rows = self._by_key
        wanted = np.asarray(keys, np.int64)
        at = np.searchsorted(known, wanted)
        at[at == len(known)] = 0
        found = at[known[at] == wanted] if len(known) else at[:0]
        return np.sort(rows[found] if rows is not None else self._alive(found))

    def _alive(self, rows: Rows) -> Rows:
        return rows[~np.isin(rows, self._dead)] if len(self._dead) else rows

    def known(self, keys: Sequence[int]) -> set[int]:
        """Return those keys that have a live row."""
        return set(self.keys[self.rows_of(keys)].tolist())

    def vectors_of(self, keys: Sequence[int]) -> dict[int, bytes]:
        """Return the vectors of those chunks that have one, as float32, by key."""
        rows = self.rows_of(keys)
        vectors = (self._i8[rows] * self._scale[rows, np.newaxis]).astype("<f4")
        return dict(zip(self.keys[rows].tolist(), map(bytes, vectors), strict=True))

    def spread(self, count: int) -> list[int]:
        """Return the keys of at most *count* live rows, spread over all."""
        keys, rows = self._by_key
        keys = keys if rows is not None else np.delete(keys, self._dead)
        found: list[int] = keys[:: max(1, -(-len(keys) // count))].tolist()
        return found

    def mean(self, keys: Sequence[int]) -> list[float]:
        """Return the mean of the vectors of *keys*, of which one has one at least."""
        rows = self.rows_of(keys)
        return products.mean([row.tobytes() for row in self._i8[rows]], self._scale[rows].tolist())

    def _asked(self, query: bytes) -> _Asked:
        return _Asked.of(query)

    def _rough(self, asked: _Asked, rows: Rows | None, limit: int) -> Floats:
        del limit
        matrix = self._i8 if rows is None else self._i8[rows]
        scores: Floats = _dots(matrix, asked.digits[:1])[:, 0] * (
            self._scale if rows is None else self._scale[rows]
        )
        if rows is None and len(self._dead):
            scores[self._dead] = -np.inf
        return scores

    def _rescored(
        self, asked: _Asked, picked: Rows, limit: int, farther: frozenset[int], above: float
    ) -> list[Scored]:
        # Sums of whole numbers: a score does not depend on which other rows were picked, so no
        # filter can move it by a rounding.
        scores = _dots(self._i8[picked], asked.digits) @ asked.places * self._scale[picked]
        if not (np.abs(scores) <= LARGEST_COSINE).all():
            raise ValueError("a vector is not of length 1")
        scores += above
        keys = self.keys[picked]
        if farther:
            scores -= FARTHER * (1 - scores) * self._are_far(farther, keys)
        scores = np.round(scores, 7)
        order = np.argsort(-scores)
        ordered = scores[order]
        if (ordered[1:] == ordered[:-1]).any():  # which takes four times as long
            order = np.lexsort((keys, -scores))
        if len(self._dead):
            order = order[~np.isin(picked[order], self._dead)]
        order = order[:limit]
        return tuples(Scored, zip(keys[order].tolist(), scores[order].tolist(), strict=True))

    def _count_among(self, farther: frozenset[int], rows: Rows) -> int:
        return int(np.count_nonzero(self._are_far(farther, self.keys[rows])))

    def _are_far(
        self, farther: frozenset[int], keys: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Return of each of *keys* whether it is *farther*, which are some."""
        known, ordered = self._farther
        if known is not farther:
            ordered = np.sort(np.fromiter(farther, np.int64, len(farther)))
            self._farther = (farther, ordered)
        at = np.searchsorted(ordered, keys)
        at[at == len(ordered)] = 0
        found: npt.NDArray[np.bool_] = ordered[at] == keys
        return found

    def _largest(self, rough: Floats, wanted: int, rows: Rows | None) -> Rows:
        picked = _largest(rough, wanted)
        return picked if rows is None else rows[picked]


class _Asked(NamedTuple):
    """A question: each component as a sum of whole numbers, each finer than the one before."""

    digits: npt.NDArray[np.int8]
    """(digits, dimensions); the first are the question as rows are scanned with it."""
    places: npt.NDArray[np.float64]
    """What a one in each of them is worth."""

    @classmethod
    def of(cls, query: bytes) -> _Asked:
        rest = np.frombuffer(query, "<f4").astype(np.float64)
        step = float(np.abs(rest).max(initial=0)) / LARGEST or 1.0
        places = step / np.array(FINER)
        digits = np.empty((len(FINER), len(rest)), np.int8)
        for digit, place in zip(digits, places, strict=True):
            digit[:] = np.rint(rest / place)
            rest -= digit * place
        return cls(digits, places)


def _dots(matrix: npt.NDArray[np.int8], asked: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return the products of each row of *matrix* and each of *asked*: (rows, asked)."""
    rows = np.ascontiguousarray(matrix).reshape(-1).view(np.uint8).data
    found = products.dots(rows, asked.tobytes(), asked.shape[1])
    return np.frombuffer(found.cast("B"), np.float32).reshape(len(matrix), len(asked))


def _largest(scores: Floats, wanted: int) -> Rows:
    """Return the rows of the *wanted* largest scores, in no order.

    The largest of each of some groups bound the threshold from below, so only few rows are
    partitioned: eight times quicker than ``argpartition`` over a million.
    """
    if wanted >= len(scores):
        return np.arange(len(scores))
    groups = max(_GROUPS_WANTED * wanted, len(scores) // _MOST_GROUPED)
    whole = len(scores) // groups * groups
    if not whole:
        return np.argpartition(scores, len(scores) - wanted)[len(scores) - wanted :]
    tops = scores[:whole].reshape(-1, groups).max(axis=0)
    threshold = np.partition(tops, len(tops) - wanted)[len(tops) - wanted]
    above = np.flatnonzero(scores >= threshold)
    if len(above) <= wanted:
        return above
    return above[np.argpartition(scores[above], len(above) - wanted)[len(above) - wanted :]]
