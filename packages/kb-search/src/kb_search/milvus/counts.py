"""In how many passages each term stands: what an engine of vectors does not tell.

Counts are kept in segments, each a publication's differences, parted by a hash of the term
into rows of some hundred terms. A lookup reads the one row of each segment that a term falls
into, by primary key. Small segments are added up into larger ones as they come, so that there
are about as many as the logarithm of the index's size. Which segments are good is said by the
control row, so counts are of the published state, like everything else.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from kb_core.search import Sampling
from kb_search.milvus.rows import Row, paged, record
from kb_search.weighing import AGAIN, FILLING

__all__ = ["Counts", "Segment", "merged", "segment_rows", "to_merge"]

_TERMS_A_ROW = 150
_GROWTH = 4


class Segment(NamedTuple):
    """A published segment of counts."""

    key: int
    buckets: int
    terms: int


Read = Callable[[Sequence[str]], Mapping[str, str]]
"""Payloads of records by primary key."""


def segment_rows(key: int, counts: Mapping[str, int], rev: int) -> tuple[Segment, list[Row]]:
    """Return a segment of *counts*, by field and term, and its rows."""
    known = {term: count for term, count in counts.items() if count}
    buckets = max(1, len(known) // _TERMS_A_ROW)
    parted: dict[int, dict[str, int]] = defaultdict(dict)
    for term, count in known.items():
        parted[_bucket(term, buckets)][term] = count
    rows = [
        row
        for bucket, part in parted.items()
        for row in paged(
            record("count", key, rev) | {"pk": _row_of(key, bucket), "key": key},
            json.dumps(part, ensure_ascii=True, separators=(",", ":")),
        )
    ]
    return Segment(key, buckets, len(known)), rows


def to_merge(segments: Sequence[Segment]) -> int:
    """Return how many of the last segments are better added up into one."""
    size, many = segments[-1].terms, 1
    for segment in reversed(segments[:-1]):
        if segment.terms > _GROWTH * size:
            break
        size += segment.terms
        many += 1
    return many


def merged(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return counts that are the sum of several."""
    total: Counter[str] = Counter()
    for part in parts:
        for term, count in part.items():
            total[term] += count
    return total


def named(field: str, term: str) -> str:
    """Return how a term of a field is called in a segment."""
    return f"{field} {term}"


class Counts:
    """``Frequencies`` of one published state; what was looked up once is kept."""

    def __init__(
        self,
        segments: Sequence[Segment],
        passages: int,
        read: Read,
        sampling: Sampling | None = None,
    ) -> None:
        self._sampling = sampling
        self.total = round((passages + 1) * (sampling.passages if sampling else 1))
        """How many passages there are, and one that holds no word."""
        self._segments = segments
        self._read = read
        self._known: dict[str, int] = {}

    @property
    def documents(self) -> int:
        """How many documents have a passage, and one that holds no word."""
        return self.total - self.frequency(AGAIN, FILLING)

    def frequency(self, field: str, term: str, /) -> int:
        """Return how many passages hold *term* in *field*."""
        name = named(field, term)
        if name not in self._known:
            self.learn([(field, term)])
        known = self._known[name]
        if self._sampling is None:
            return known
        return min(self._sampling.held(term, known), self.total)

    def held(self, places: Iterable[tuple[str, str]], /) -> dict[tuple[str, str], int]:
        """Return those pairs of a field and a term that passages hold, with how many do."""
        wanted = [*places]
        self.learn(wanted)
        found = {place: self.frequency(*place) for place in wanted}
        return {place: count for place, count in found.items() if count}

    def learn(self, terms: Iterable[tuple[str, str]]) -> None:
        """Look up several at once: a question is asked once, not once for each of its words."""
        names = {named(field, term) for field, term in terms} - self._known.keys()
        if not names:
            return
        places = {
            (name, _row_of(segment.key, _bucket(name, segment.buckets)))
            for name in names
            for segment in self._segments
        }
        payloads = self._read(sorted({place for _, place in places}))
        parts = {place: json.loads(payload) for place, payload in payloads.items()}
        found: Counter[str] = Counter()
        for name, place in places:
            found[name] += int(parts.get(place, {}).get(name, 0))
        self._known.update({name: max(0, found[name]) for name in names})


def _bucket(term: str, buckets: int) -> int:
    return crc32(term.encode("utf-8", "surrogatepass")) % buckets


def _row_of(key: int, bucket: int) -> str:
    return f"count:{key}:{bucket}"
