"""How vectors are searched, and without numpy: for the first questions of a process.

Importing numpy takes longer than to look through two million vectors without it. The answer is
the same as that of ``kb_search.vectors``, to the last digit: every row is scanned, and the best
few hundred are scored again.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from heapq import nlargest
from itertools import compress
from math import inf
from typing import TYPE_CHECKING, Generic, TypeVar

from kb_core.search import Scored
from kb_search.fusion import from_negated
from kb_search.products import Digits, digits_of, dots, mean, products, scaled

if TYPE_CHECKING:
    from kb_core.control import VectorFiles
    from kb_search.vector_files import Maps

__all__ = ["FARTHER", "LARGEST_COSINE", "ExactScan", "SmallView"]

Asked = TypeVar("Asked")
Scores = TypeVar("Scores")
Rows = TypeVar("Rows", bound=Sized)

FARTHER = 0.2
"""How much farther away a passage counts that only names what stands elsewhere, as a share of
its distance ``1 - cosine``, so that the scale of a model's cosines does not matter."""
LARGEST_COSINE = 1.05
"""Rounding adds a thousandth; what is above is no vector of ours."""
_RESCORE_FACTOR = 2
_RESCORE_MIN = 256
_ROUNDED = 1e7
_FEW_KEYS = 32
"""So many are found sooner one by one, in the bytes of all."""
_GROUPS_WANTED, _MOST_GROUPED = 4, 256
"""Groups of rows of which the largest is looked for first, as in ``kb_search.vectors``; it is no
dearer to look for that of many rows than of few."""


class ExactScan(ABC, Generic[Asked, Scores, Rows]):
    """How one model's vectors are searched, in whichever form questions, scores and rows are."""

    _rows: int

    @abstractmethod
    def rows_of(self, keys: Sequence[int]) -> Rows:
        """Return the live rows of those keys that have one, ascending."""

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
        rows = None if among is None else self.rows_of(among)
        if limit < 1 or not (self._rows if rows is None else len(rows)):
            return []
        asked = self._asked(query)
        rough = self._rough(asked, rows, farther, above)
        picked = self._largest(rough, max(_RESCORE_FACTOR * limit, _RESCORE_MIN), rows)
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
        """Return the nearest *limit* chunks that pass, by looking ever deeper.

        For a filter that most rows pass: asking about the best few hundred is cheaper
        than listing every row that passes. The result is the same.
        """
        asked = self._asked(query)
        rough = self._rough(asked, None, farther, above)
        while True:
            picked = self._largest(rough, max(_RESCORE_FACTOR * depth, _RESCORE_MIN), None)
            best = self._rescored(asked, picked, depth, farther, above)
            good = passes([scored.chunk_key for scored in best])
            kept = [scored for scored in best if scored.chunk_key in good]
            if len(kept) >= limit or depth >= self._rows:
                return kept[:limit]
            depth *= 4

    @abstractmethod
    def _asked(self, query: bytes) -> Asked:
        """Return the question as what rows are multiplied with."""

    @abstractmethod
    def _rough(
        self, asked: Asked, rows: Rows | None, farther: bytes | None, above: float
    ) -> Scores:
        """Return what orders *rows*, or all, nearly as their scores do."""

    @abstractmethod
    def _largest(self, rough: Scores, wanted: int, rows: Rows | None) -> Rows:
        """Return, in no order, at least the *wanted* of *rows*, or of all, that score most."""

    @abstractmethod
    def _rescored(
        self, asked: Asked, picked: Rows, limit: int, farther: bytes | None, above: float
    ) -> list[Scored]:
        """Return the nearest *limit* of the rows *picked*, exactly, best first, ties by key."""


_KEY_BYTES = 8


def _place(listed: bytes, key: bytes, start: int, end: int) -> int:
    """Return where *key* stands as one of those *listed*, between *start* and *end*, or -1."""
    at = listed.find(key, start, end)
    while at % _KEY_BYTES and at >= 0:  # the end of one and the beginning of the next
        at = listed.find(key, at + 1, end)
    return at


class SmallView(ExactScan[Digits, "memoryview[float]", list[int]]):
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
        wanted = set(keys)
        if len(wanted) <= _FEW_KEYS:
            return sorted(self._found(wanted))
        rows = compress(range(self._rows), map(wanted.__contains__, self.keys))
        return [row for row in rows if row not in self._dead]

    def _found(self, wanted: Iterable[int]) -> Iterator[int]:
        """Yield the live rows of *wanted*: those of one document mostly follow each other."""
        listed, last = self.keys.tobytes(), 0
        for key in sorted(wanted):
            for start, end in ((last, len(listed)), (0, last)):
                at = _place(listed, struct.pack("<q", key), start, end)
                while at >= 0 and at // _KEY_BYTES in self._dead:
                    at = _place(listed, struct.pack("<q", key), at + _KEY_BYTES, end)
                if at >= 0:
                    last = at
                    yield at // _KEY_BYTES
                    break

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
        keys: Iterable[int] = self.keys
        if self._dead:
            keys = [key for row, key in enumerate(keys) if row not in self._dead]
        keys = sorted(keys)
        return keys[:: max(1, -(-len(keys) // count))]

    def mean(self, keys: Sequence[int]) -> list[float]:
        """Return the mean of the vectors of *keys*, of which one has one at least."""
        rows = self.rows_of(keys)
        return mean([self._numbers(row) for row in rows], [self._scale[row] for row in rows])

    def _asked(self, query: bytes) -> Digits:
        if len(query) != 4 * self._width:
            raise ValueError(f"a question has {len(query) // 4} components, not {self._width}")
        self.looked_at += self._rows
        return digits_of(struct.unpack(f"<{self._width}f", query))

    def _rough(
        self, asked: Digits, rows: list[int] | None, farther: bytes | None, above: float
    ) -> memoryview[float]:
        step, first = asked.places[0], asked.numbers[: self._width]
        matrix = self._i8 if rows is None else self._gathered(rows)
        scale = self._scale if rows is None else array("f", [self._scale[row] for row in rows])
        scores = scaled(dots(matrix, first, self._width), scale)
        if farther is not None:
            marks = farther if rows is None else bytes(farther[row] for row in rows)
            at = marks.find(1)
            while at >= 0:
                score = scores[at] * step + above
                scores[at] = (score - FARTHER * (1 - score) - above) / step
                at = marks.find(1, at + 1)
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
        return from_negated(sorted(best)[:limit])

    def _largest(self, rough: memoryview[float], wanted: int, rows: list[int] | None) -> list[int]:
        if wanted >= len(rough):
            return list(range(len(rough))) if rows is None else rows
        size = min(_MOST_GROUPED, max(1, len(rough) // (_GROUPS_WANTED * wanted)))
        groups = range(0, len(rough), size)
        tops = [max(rough[at : at + size]) for at in groups]
        bound = nlargest(wanted, tops)[-1] if wanted <= len(tops) else -inf
        high = (at for at, top in zip(groups, tops, strict=True) if top >= bound)
        near = [(score, at + n) for at in high for n, score in enumerate(rough[at : at + size])]
        # With those that are as large as the last of them.
        least = nlargest(wanted, [score for score, _ in near])[-1]
        found = [at for score, at in near if score >= least]
        return found if rows is None else [rows[at] for at in found]

    def _gathered(self, rows: list[int]) -> bytes:
        return b"".join(map(self._numbers, rows))

    def _numbers(self, row: int) -> memoryview:
        return self._i8[row * self._width : (row + 1) * self._width]
