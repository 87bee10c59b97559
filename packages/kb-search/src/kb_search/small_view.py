"""How vectors are searched, and without numpy: for the first questions of a process.

Importing numpy takes longer than to look through a million vectors without it. The answer is
the same as that of ``kb_search.vectors``, to the last digit: every row is scanned, and the best
few hundred are scored again.
"""

from __future__ import annotations

import mmap
import struct
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence, Sized
from itertools import compress, pairwise
from math import inf, isqrt
from typing import TYPE_CHECKING, Generic, TypeVar

from kb_core.search import Scored
from kb_search.fusion import from_negated
from kb_search.products import Digits, digits_of, mean, products, scaled_dots

if TYPE_CHECKING:
    from kb_core.control import VectorFiles
    from kb_search.vector_files import Maps

__all__ = ["FARTHER", "LARGEST_COSINE", "NONE", "ExactScan", "SmallView"]

Asked = TypeVar("Asked")
Scores = TypeVar("Scores", bound=Sized)
Rows = TypeVar("Rows", bound=Sized)

FARTHER = 0.2
"""How much farther away a passage counts that only names what stands elsewhere, as a share of
its distance ``1 - cosine``, so that the scale of a model's cosines does not matter."""
LARGEST_COSINE = 1.05
"""Rounding adds a thousandth; what is above is no vector of ours."""
_RESCORE_FACTOR = 2
_RESCORE_MIN = 256
_SPARED = 4
"""Where some are farther, of so many rows one more is looked at: fewer of the best ones are."""
_ROUNDED = 1e7
NONE: frozenset[int] = frozenset()
_KEY = struct.Struct("<q")
_A_ROW, _A_BEST, _A_KEY = 0.006, 3.0, 0.03
"""Microseconds that this takes beyond what numpy would: for each row that is scanned, each of the
best that is scored again, and each key that is looked at where a few are looked for."""
_FEW_KEYS = 256
"""So many are looked for as if keys ascended, which they mostly do."""
_FEWER, _MOST_TURNS = 80, 16
"""To find a key takes as long as to look at so many rows; and where so many keys do not follow
the one before, all rows are looked at instead."""
_TRIED = 16
"""Of what it takes to look at all rows, such a part tells whether finding keys takes longer."""
_ASKS_AGAIN = 1_000
"""Who wants more than so many of the nearest looks for something among them, and then again."""
_SAMPLED = 4096
"""Scores of which the largest are looked for first, to tell how large those wanted are."""
_LOOKED_AT = 16_384
"""Of so many the bytes are looked through at once: of more, each copy is of pages that the system
has yet to give, which takes longer than the look."""
_BOUND = struct.Struct("<f")
_BYTES, _BELOW_ZERO, _MORE = range(256), 0x80, 2
_MARKED = bytes(map(bool, _BYTES))


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
        farther: frozenset[int] = NONE,
        *,
        above: float = 0.0,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks, best first, ties by key; *among* are chunk keys.

        Chunks that are *farther*, keys, count as such; *above* is added to each cosine.
        """
        rows = None if among is None else self.rows_of(among)
        if limit < 1 or not (self._rows if rows is None else len(rows)):
            return []
        asked = self._asked(query)
        return self._best(asked, self._rough(asked, rows, limit), limit, rows, farther, above)

    def deepening(
        self,
        query: bytes,
        limit: int,
        passes: Callable[[Sequence[int]], set[int]],
        depth: int,
        farther: frozenset[int] = NONE,
        *,
        above: float = 0.0,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks that pass, by looking ever deeper.

        For a filter that most rows pass: asking about the best few hundred is cheaper
        than listing every row that passes. The result is the same.
        """
        asked = self._asked(query)
        rough = self._rough(asked, None, depth)
        while True:
            best = self._best(asked, rough, depth, None, farther, above)
            good = passes([scored.chunk_key for scored in best])
            kept = [scored for scored in best if scored.chunk_key in good]
            if len(kept) >= limit or depth >= self._rows:
                return kept[:limit]
            depth *= 4

    def _best(
        self,
        asked: Asked,
        rough: Scores,
        limit: int,
        rows: Rows | None,
        farther: frozenset[int],
        above: float,
    ) -> list[Scored]:
        """Return the nearest *limit* of *rows*, or of all, whose scores are *rough*.

        What is farther only falls: among so many, of which enough do not, are the best of all.
        """
        wanted = max(_RESCORE_FACTOR * limit, _RESCORE_MIN)
        most = wanted + (wanted // _SPARED if farther else 0)
        while True:
            picked = self._largest(rough, most, rows)
            fall = self._count_among(farther, picked) if farther else 0
            if len(picked) - fall >= wanted or most >= len(rough):
                return self._rescored(asked, picked, limit, farther if fall else NONE, above)
            most *= 2

    @abstractmethod
    def _asked(self, query: bytes) -> Asked:
        """Return the question as what rows are multiplied with."""

    @abstractmethod
    def _rough(self, asked: Asked, rows: Rows | None, limit: int) -> Scores:
        """Return what orders *rows*, or all, nearly as their cosines do; *limit* are wanted."""

    @abstractmethod
    def _largest(self, rough: Scores, wanted: int, rows: Rows | None) -> Rows:
        """Return, in no order, at least the *wanted* of *rows*, or of all, that score most."""

    @abstractmethod
    def _count_among(self, farther: frozenset[int], rows: Rows) -> int:
        """Return how many of *rows* have keys that are *farther*; dead ones may count or not."""

    @abstractmethod
    def _rescored(
        self, asked: Asked, picked: Rows, limit: int, farther: frozenset[int], above: float
    ) -> list[Scored]:
        """Return the nearest *limit* of the rows *picked*, exactly, best first, ties by key."""


class SmallView(ExactScan[Digits, "memoryview[float]", list[int]]):
    """A ``VectorView`` without numpy; for little-endian machines."""

    def __init__(self, maps: Maps, files: VectorFiles) -> None:
        self._rows, self._width = files.rows, files.dimensions
        self._i8 = memoryview(maps["i8"])
        self._mapped = maps["i8"]
        self._is_asked = False
        self._scale = memoryview(maps["scale"]).cast("B").cast("f")
        self.keys = memoryview(maps["keys"]).cast("B").cast("q")
        self._dead = frozenset(memoryview(maps["dead"]).cast("B").cast("I"))
        if self._dead and max(self._dead) >= self._rows:
            raise ValueError("a row is dead that there never was")
        self.spent = 0.0
        """Microseconds that it took so far beyond what numpy would, about."""

    def __len__(self) -> int:
        return self._rows - len(self._dead)

    def rows_of(self, keys: Iterable[int]) -> list[int]:
        wanted = set(keys)
        ordered = array("q", sorted(wanted))
        if len(ordered) <= _FEW_KEYS and (found := self._ascending(ordered)) is not None:
            return found
        self.spent += self._rows * _A_KEY / _TRIED
        if (found := self._followed(ordered)) is not None:
            return sorted(found)
        self.spent += self._rows * _A_KEY
        rows = compress(range(self._rows), map(wanted.__contains__, self.keys))
        return [row for row in rows if row not in self._dead]

    def _ascending(self, wanted: array[int]) -> list[int] | None:
        """Return the live rows of *wanted*, which ascend; ``None`` where keys do not, there."""
        found, row = list[int](), 0
        for key in wanted:
            row = bisect_left(self.keys, key, row)
            if row == self._rows or self.keys[row] != key or row in self._dead:
                return None
            found.append(row)
        return found

    def _followed(self, keys: array[int]) -> list[int] | None:
        """Return the live rows of *keys*, which ascend, where most follow each other.

        Mostly keys do, and those of a document nearly always. ``None`` where too few do.
        """
        listed, wanted, found = self.keys.tobytes(), keys.tobytes(), list[int]()
        start = last = turns = looked = 0
        while start < len(wanted):
            key, looked = wanted[start : start + _KEY.size], looked + _FEWER
            at = self._place(listed, key, last, len(listed))
            if at < 0:
                turns += 1
                at = self._place(listed, key, 0, last)
            is_dear = looked * len(wanted) > self._rows * start  # if it goes on like that
            if turns > _MOST_TURNS or (is_dear and looked > self._rows // _TRIED):
                return None
            size = _KEY.size
            if at >= 0:
                size = self._alike(listed, at, wanted, start)
                found += range(at // _KEY.size, (at + size) // _KEY.size)
                last = at + size - _KEY.size
            start += size
        return found

    def _alike(self, listed: bytes, at: int, wanted: bytes, start: int) -> int:
        """Return of how many bytes the live rows are that follow in both alike; of one or more."""
        size = _KEY.size
        while (
            start + 2 * size <= len(wanted)
            and listed[at : at + 2 * size] == wanted[start : start + 2 * size]
        ):
            size *= 2
        rows = range(at // _KEY.size, (at + size) // _KEY.size)
        return size if self._dead.isdisjoint(rows) else _KEY.size

    def _place(self, listed: bytes, key: bytes, start: int, end: int) -> int:
        """Return where a live row of *key* stands, or -1; not the end of one key and the next."""
        at = listed.find(key, start, end)
        while at >= 0 and (at % _KEY.size or at // _KEY.size in self._dead):
            at = listed.find(key, at + 1, end)
        return at

    def known(self, keys: Sequence[int]) -> set[int]:
        """Return those keys that have a live row."""
        return {self.keys[row] for row in self.rows_of(keys)}

    def vectors_of(self, keys: Sequence[int]) -> dict[int, bytes]:
        """Return the vectors of those chunks that have one, as float32, by key."""
        return {self.keys[row]: self._vector(row) for row in self.rows_of(keys)}

    def _vector(self, row: int) -> bytes:
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
        return digits_of(struct.unpack(f"<{self._width}f", query))

    def _rough(self, asked: Digits, rows: list[int] | None, limit: int) -> memoryview[float]:
        matrix = self._i8 if rows is None else self._gathered(rows)
        scale = self._scale if rows is None else array("f", [self._scale[row] for row in rows])
        self.spent += len(scale) * _A_ROW
        let_go = self._letting_go(limit) if rows is None else None
        scores = scaled_dots(matrix, asked.numbers[: self._width], scale, let_go)
        if rows is None:
            for row in self._dead:
                scores[row] = -inf
        return scores

    def _letting_go(self, limit: int) -> Callable[[int, int], object] | None:
        """Return what lets go of pages from a byte on that were read; ``None`` to keep them.

        Most processes ask one question, and one thread takes a third of a scan to unmap all pages
        when a process ends; those that scan do it together. Who asks again finds them mapped from
        the second question on, and who wants very many of the nearest asks again.
        """
        was_asked, self._is_asked = self._is_asked, True
        mapped = self._mapped
        if was_asked or limit > _ASKS_AGAIN or isinstance(mapped, bytes):
            return None
        if not hasattr(mmap, "MADV_DONTNEED"):
            return None
        return lambda start, size: mapped.madvise(mmap.MADV_DONTNEED, start, size)

    def _rescored(
        self,
        asked: Digits,
        picked: list[int],
        limit: int,
        farther: frozenset[int],
        above: float,
    ) -> list[Scored]:
        self.spent += len(picked) * _A_BEST
        best: list[tuple[float, int]] = []
        for row, product in zip(picked, products(self._gathered(picked), asked), strict=True):
            score = product * self._scale[row]
            if not abs(score) <= LARGEST_COSINE:
                raise ValueError("a vector is not of length 1")
            score += above
            if (key := self.keys[row]) in farther:
                score -= FARTHER * (1 - score)
            if row not in self._dead:
                best.append((-round(score * _ROUNDED) / _ROUNDED, key))
        return from_negated(sorted(best)[:limit])

    def _largest(self, rough: memoryview[float], wanted: int, rows: list[int] | None) -> list[int]:
        if wanted >= len(rough):
            return list(range(len(rough))) if rows is None else rows
        # With those that are as large as the last of them.
        near = _near_the_largest(rough, wanted)
        least = sorted(map(rough.__getitem__, near))[-wanted]
        found = [at for at in near if rough[at] >= least]
        return found if rows is None else [rows[at] for at in found]

    def _count_among(self, farther: frozenset[int], rows: list[int]) -> int:
        return sum(self.keys[row] in farther for row in rows)

    def _gathered(self, rows: list[int]) -> bytes | memoryview:
        """Return the numbers of *rows*; of those that follow each other at once."""
        parts = [at for at, (one, other) in enumerate(pairwise(rows), 1) if other != one + 1]
        spans = zip([0, *parts], [*parts, len(rows)], strict=True)
        found = [self._numbers(rows[begin], end - begin) for begin, end in spans if rows]
        return found[0] if len(found) == 1 else b"".join(found)

    def _numbers(self, row: int, count: int = 1) -> memoryview:
        return self._i8[row * self._width : (row + count) * self._width]


def _near_the_largest(scores: memoryview[float], wanted: int) -> Sequence[int]:
    """Return where the *wanted* largest of *scores* are, ascending, and some that are smaller.

    How large they are is told by a sample, and said again where that was too much.
    """
    step = max(1, len(scores) // _SAMPLED)
    sample = sorted(scores[::step], reverse=True)
    rank = wanted // step
    rank += 3 * isqrt(rank) + 3
    while rank < len(sample):
        near = _from(sample[rank], scores)
        if len(near) >= wanted:
            return near
        rank *= 2
    return range(len(scores))


def _from(bound: float, scores: memoryview[float]) -> Sequence[int]:
    """Return where *scores* are that are not less than *bound*, ascending, and a few others.

    The first two bytes of a number above 0 are in its order, and a million of them are looked
    through in the time in which Python looks at a tenth of as many numbers.
    """
    if not bound > 0:
        return range(len(scores))
    *_, second, first = _BOUND.pack(bound)
    firsts = bytes(_MORE if first < one < _BELOW_ZERO else one == first for one in _BYTES)
    seconds = bytes(_MORE | (one >= second) for one in _BYTES)
    found = list[int]()
    for start in range(0, len(scores), _LOOKED_AT):
        told = scores[start : start + _LOOKED_AT].tobytes()
        large = int.from_bytes(told[3::4].translate(firsts), "little")
        large &= int.from_bytes(told[2::4].translate(seconds), "little")
        marks = large.to_bytes(len(told) // 4, "little").translate(_MARKED)
        at = marks.find(1)
        while at >= 0:
            found.append(start + at)
            at = marks.find(1, at + 1)
    return found
