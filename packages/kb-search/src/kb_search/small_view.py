"""Few vectors, searched without numpy: for the first questions of a process.

Importing numpy takes longer than to look through three hundred thousand vectors without it. The
answer is the same as that of ``kb_search.vectors``, to the last digit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from itertools import compress
from math import inf
from operator import mul
from typing import TYPE_CHECKING

from kb_core.search import Scored
from kb_core.values import tuples
from kb_search.products import Digits, digits_of, dots, mean, products

if TYPE_CHECKING:
    from kb_core.control import VectorFiles
    from kb_search.vector_files import Maps

__all__ = ["SmallView"]

FARTHER = 0.2
"""How much farther away a passage counts that only names what stands elsewhere, as a share of
its distance ``1 - cosine``, so that the scale of a model's cosines does not matter."""
LARGEST_COSINE = 1.05
"""Rounding adds a thousandth; what is above is no vector of ours."""
RESCORE_FACTOR = 2
RESCORE_MIN = 256
_ROUNDED = 1e7


class SmallView:
    """A ``VectorView`` without numpy; for little-endian machines."""

    def __init__(self, maps: Maps, files: VectorFiles) -> None:
        self._rows, self._width = files.rows, files.dimensions
        self._i8 = memoryview(maps["i8"])
        self._scale = memoryview(maps["scale"]).cast("B").cast("f")
        self.keys = memoryview(maps["keys"]).cast("B").cast("q")
        self._dead = frozenset(memoryview(maps["dead"]).cast("B").cast("I"))
        if self._dead and max(self._dead) >= self._rows:
            raise ValueError("a row is dead that there never was")
        self.looked_at = 0
        """Rows that questions were compared with."""

    def __len__(self) -> int:
        return self._rows - len(self._dead)

    def rows_of(self, keys: Iterable[int]) -> list[int]:
        """Return the live rows of those keys that have one, ascending."""
        wanted = set(keys)
        rows = compress(range(self._rows), map(wanted.__contains__, self.keys))
        return [row for row in rows if row not in self._dead]

    def known(self, keys: Sequence[int]) -> set[int]:
        """Return those keys that have a live row."""
        return {self.keys[row] for row in self.rows_of(keys)}

    def marks(self, keys: Sequence[int]) -> bytes | None:
        """Return a byte a row, 1 for those of *keys*; ``None`` where there are none."""
        rows = self.rows_of(keys) if keys else []
        marks = bytearray(self._rows)
        for row in rows:
            marks[row] = 1
        return bytes(marks) if rows else None

    def vector(self, key: int) -> bytes | None:
        """Return a chunk's vector as float32, or ``None``."""
        rows = self.rows_of([key])
        if not rows:
            return None
        (row,) = rows
        numbers, scale = self._numbers(row).cast("b"), self._scale[row]
        return struct.pack(f"<{self._width}f", *[number * scale for number in numbers])

    def spread(self, count: int) -> list[int]:
        """Return the keys of at most *count* live rows, spread over all."""
        keys = sorted(key for row, key in enumerate(self.keys) if row not in self._dead)
        return keys[:: max(1, -(-len(keys) // count))]

    def mean(self, keys: Sequence[int]) -> list[float]:
        """Return the mean of the vectors of *keys*, of which one has one at least."""
        rows = self.rows_of(keys)
        return mean([self._numbers(row) for row in rows], [self._scale[row] for row in rows])

    def nearest(
        self,
        query: bytes,
        limit: int,
        among: Sequence[int] | None = None,
        farther: bytes | None = None,
        *,
        above: float = 0.0,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks, best first, ties by key; *among* are chunk keys.

        Rows that are *farther* count as such; *above* is added to each cosine.
        """
        self.looked_at += self._rows
        rows = None if among is None else self.rows_of(among)
        total = self._rows if rows is None else len(rows)
        if total == 0 or limit < 1:
            return []
        asked = self._asked(query)
        rough = self._rough(asked, rows, farther, above)
        picked = _largest(rough, max(RESCORE_FACTOR * limit, RESCORE_MIN))
        picked = picked if rows is None else [rows[at] for at in picked]
        return self._rescored(asked, picked, limit, farther, above)

    def deepening(
        self,
        query: bytes,
        limit: int,
        passes: Callable[[Sequence[int]], set[int]],
        depth: int,
        farther: bytes | None = None,
        *,
        above: float = 0.0,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks that pass, by looking ever deeper."""
        self.looked_at += self._rows
        asked = self._asked(query)
        rough = self._rough(asked, None, farther, above)
        while True:
            picked = _largest(rough, max(RESCORE_FACTOR * depth, RESCORE_MIN))
            best = self._rescored(asked, picked, depth, farther, above)
            good = passes([scored.chunk_key for scored in best])
            kept = [scored for scored in best if scored.chunk_key in good]
            if len(kept) >= limit or depth >= self._rows:
                return kept[:limit]
            depth *= 4

    def _asked(self, query: bytes) -> Digits:
        if len(query) != 4 * self._width:
            raise ValueError(f"a question has {len(query) // 4} components, not {self._width}")
        return digits_of(struct.unpack(f"<{self._width}f", query))

    def _rough(
        self, asked: Digits, rows: list[int] | None, farther: bytes | None, above: float
    ) -> list[float]:
        """Return what orders rows nearly as their scores do."""
        step, first = asked.places[0], asked.numbers[: self._width]
        matrix = self._i8 if rows is None else self._gathered(rows)
        scale = self._scale if rows is None else [self._scale[row] for row in rows]
        scores = list(map(mul, dots(matrix, first, self._width), scale))
        if farther is not None:
            marks = farther if rows is None else bytes(farther[row] for row in rows)
            for at in compress(range(len(scores)), marks):
                score = scores[at] * step + above
                scores[at] = (score - FARTHER * (1 - score) - above) / step
        if rows is None:
            for row in self._dead:
                scores[row] = -inf
        return scores

    def _rescored(
        self, asked: Digits, picked: list[int], limit: int, farther: bytes | None, above: float
    ) -> list[Scored]:
        best: list[tuple[float, int]] = []
        for row, product in zip(picked, products(self._gathered(picked), asked), strict=True):
            score = product * self._scale[row]
            if not abs(score) <= LARGEST_COSINE:
                raise ValueError("a vector is not of length 1")
            score += above
            if farther is not None and farther[row]:
                score -= FARTHER * (1 - score)
            if row not in self._dead:
                best.append((-round(score * _ROUNDED) / _ROUNDED, self.keys[row]))
        return tuples(Scored, [(key, -below) for below, key in sorted(best)[:limit]])

    def _gathered(self, rows: list[int]) -> bytes:
        return b"".join(map(self._numbers, rows))

    def _numbers(self, row: int) -> memoryview:
        return self._i8[row * self._width : (row + 1) * self._width]


def _largest(scores: list[float], wanted: int) -> list[int]:
    """Return where the *wanted* largest are, and those that are as large as the last of them."""
    if wanted >= len(scores):
        return list(range(len(scores)))
    least = nlargest(wanted, scores)[-1]
    return [at for at, score in enumerate(scores) if score >= least]
