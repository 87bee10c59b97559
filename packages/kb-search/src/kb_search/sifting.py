"""Filters that many passages pass, asked of the best ones alone.

Beside a filter the engine scores every passage that has a word of the question, since it can
skip only where nothing but words is asked for (block-max WAND). What a passage scores does
not depend on a filter (ruling R13). So where many pass, more of the best are asked for without
it, and those that pass are the list: the same one to the byte, at a price that hardly grows.

How many pass is estimated: by what the dictionary counts, and by a sample of a column. The
estimate decides how a list is found, and never what is in it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tantivy
from tantivy import DocAddress, Query

from kb_core.filters import FIELDS, And, Filter, Not, OneOf, Or, Range, Tagged, Words, all_of
from kb_search.narrowing import all_of as all_of_queries, build_filter, one_of, terms_of
from kb_search.opening import Segments
from kb_search.statistics import TermStatistics

__all__ = ["Sieve"]

_SAMPLED = 512
"""So many records tell how the values of a column are spread."""
_SINGLE = {"code_lang", "lang", "media", "repo", "source_id", "source_type"}
"""Fields of which every passage has one value at most."""


class Sieve:
    """What filters let pass, at one published state; safe to share by threads."""

    def __init__(
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        segments: Segments,
        statistics: TermStatistics,
    ) -> None:
        self._schema = schema
        self._searcher = searcher
        self._segments = segments
        self._statistics = statistics
        self._passages = statistics.total - 1
        self._samples: Mapping[str, _Sample] = {}

    def needed(self, where: Filter) -> Filter | None:
        """Return *where* without those of its parts that every passage passes."""
        parts = where.parts if isinstance(where, And) else (where,)
        return all_of(part for part in parts if not self._lets_all_pass(part))

    def _lets_all_pass(self, part: Filter) -> bool:
        if not isinstance(part, OneOf) or part.field not in _SINGLE:
            return False
        # Deleted ones count in the dictionary: what it says is never too little.
        if self._share_of(part.field, part.values) < 1:
            return False
        counted = (self._statistics.frequency(part.field, str(v)) for v in set(part.values))
        return sum(counted) == self._passages

    def count(self, where: Filter) -> int | None:
        """Return how many pass where a single term tells, which the dictionary counts."""
        match where:
            case Words(field, text, False) if len(terms := terms_of(field, text)) == 1:
                return self._statistics.frequency(*terms[0])
            case OneOf(field, [value]) if FIELDS[field] is str:
                return self._statistics.frequency(field, str(value))
            case _:
                return None

    def share(self, where: Filter) -> float:  # noqa: PLR0911 - one per node
        """Return about which share of all passages pass; 0 where nothing cheap tells."""
        match where:
            case OneOf(field, values) if FIELDS[field] is str:
                return self._share_of(field, values)
            case Tagged(tags):
                return self._share_of("tag", tags)
            case Range(field, low, high):
                return self._share_between(field, low, high)
            case And(parts):
                return math.prod(map(self.share, parts))
            case Or(parts):
                return max(map(self.share, parts), default=0.0)
            case Not(Words() | OneOf() | Tagged() | Range() as part):
                return 1 - self.share(part)
            case _:
                return 0.0

    def reads_columns(self, where: Filter) -> bool:
        """Say whether nothing but columns has to be read to tell what passes."""
        parts = where.parts if isinstance(where, And) else (where,)
        return all(isinstance(part, Range) for part in parts)

    def passing(
        self, where: Filter, keys: Sequence[int], addresses: Sequence[DocAddress]
    ) -> Sequence[bool]:
        """Return for each of some passages whether it passes."""
        parts = where.parts if isinstance(where, And) else (where,)
        passes = [True] * len(keys)
        for part in (part for part in parts if isinstance(part, Range)):
            values: Any = self._searcher.fast_field_values(part.field, list(addresses))
            passes = [ok and _within(part, value) for ok, value in zip(passes, values, strict=True)]
        rest = all_of(part for part in parts if not isinstance(part, Range))
        if rest is None or not any(passes):
            return passes
        left = [key for key, ok in zip(keys, passes, strict=True) if ok]
        found = self._found(rest, left)
        return [key in found for key in keys]

    def _found(self, where: Filter, keys: Sequence[int]) -> set[int]:
        among = one_of(self._schema, "chunk_key", keys)
        both = all_of_queries([among, build_filter(self._schema, where)])
        query = Query.const_score_query(both, 1.0)
        hits = self._searcher.search(query, len(keys), count=False).hits
        values: Any = self._searcher.fast_field_values("chunk_key", [at for _, at in hits])
        return set(values)

    def _share_of(self, field: str, values: Sequence[str | int]) -> float:
        counted = sum(self._searcher.doc_freq(field, value) for value in set(values))
        return min(1.0, counted / max(1, self._passages))

    def _share_between(self, field: str, low: int | None, high: int | None) -> float:
        sample = self._samples.get(field)
        if sample is None:
            sample = self._sampled(field)
            # Replaced, never changed: several threads may ask at once.
            self._samples = {**self._samples, field: sample}
        start = 0 if low is None else bisect_left(sample.values, low)
        stop = len(sample.values) if high is None else bisect_right(sample.values, high)
        return max(0, stop - start) / max(1, sample.records)

    def _sampled(self, field: str) -> _Sample:
        step = max(1, self._segments.records // _SAMPLED)
        spread = (range(step // 2, size, step) for size in self._segments.sizes)
        addresses = [DocAddress(n, at) for n, part in enumerate(spread) for at in part]
        values: Any = self._searcher.fast_field_values(field, addresses)
        return _Sample(sorted(v for v in values if v is not None), len(addresses))


class _Sample(NamedTuple):
    """What some records, spread over all segments, have in a column."""

    values: Sequence[int]
    """Ascending; not all records have one."""
    records: int


def _within(part: Range, value: int | None) -> bool:
    if value is None:
        return False
    return (part.low is None or value >= part.low) and (part.high is None or value <= part.high)
