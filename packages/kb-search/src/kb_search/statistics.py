"""The statistics that words are ranked by, kept those of the live passages alone.

tantivy counts a deleted record in BM25 until a merge happens to leave it out: in how many
records a word stands, how many records there are, and how long they are on the mean. A
passage would rank by what used to stand in its index. Two remedies, of which each is exact:

* **Frequencies.** A weight is a factor, so the engine's inverse document frequency is
  replaced by that of the live passages: ``TermStatistics`` gives the quotient of both. A
  word is counted among live passages only where the index holds deleted ones, once per
  published state, and not where a writer has counted it (``CommonWords``). Control
  records, of which each publication deletes one, hold no word.
* **Lengths.** The mean length stands inside BM25's denominator, where no factor reaches it.
  So it is *made* right: the writer adds filler records, which nothing finds, until the mean
  of all records, deleted ones included, is the **pivot** of each field: the mean over the
  live passages, rounded up to a length that BM25 can tell from its neighbours. The control
  record is exactly as long as the pivot, so that it may come and go.

What is live is counted by us (``Control.statistics``), what the engine counts is read off
its explanation of a score. After a merge, which estimates lengths, the writer fills up
again before it lets go; between a merge and that, ``drift`` says by how much scores are off.
``docs/decisions/0015-ranking-forgets.md`` has the alternatives.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import tantivy
from tantivy import Query

from kb_core.search import Sampling
from kb_core.values import dataclass
from kb_search.common_words import CommonWords
from kb_search.narrowing import only, term_of
from kb_search.opening import CONTROL, Segments
from kb_search.weighing import AGAIN, FILLING, idf

__all__ = [
    "PASSAGES",
    "SCORED_FIELDS",
    "Counted",
    "TermStatistics",
    "add_up",
    "balance",
    "dear",
    "drift",
    "measure",
    "pivots",
    "told_length",
]

SCORED_FIELDS = ("stem", "exact", "ident", "cjk", "head", "called", "symbol", "name")
"""Fields that BM25 scores in."""

PASSAGES = "passages"
"""Key of ``Control.statistics``; the others are fields, with the terms of all passages."""

_ALIKE = 2e-7
"""What the engine's single precision leaves unsure."""

_MOST_TERMS = 1 << 16
"""What one filler has of a field, a length that a merge tells exactly: it costs little memory."""
_DEAR = 100_000
"""Terms and records that take as long to add as a hundred passages or two."""

_FREE = 24
_REMEMBERED = 100_000
_COMMON = 100_000
"""So many passages are counted in half a millisecond."""


def _tellable(code: int) -> int:
    """Return the length that a one-byte code stands for, in tantivy as in Lucene.

    Lengths to 40 are told apart; beyond, eight per octave (``SmallFloat.byte4ToInt``).
    """
    if code < _FREE:
        return code
    bits = code - _FREE
    return _FREE + (bits if bits < 8 else (bits & 7 | 8) << ((bits >> 3) - 1))  # noqa: PLR2004


_LENGTHS = [_tellable(code) for code in range(256)]


def told_length(length: int) -> int:
    """Return the length that BM25 takes a field of *length* terms for."""
    return _LENGTHS[bisect_right(_LENGTHS, length) - 1]


def pivots(statistics: Mapping[str, int]) -> dict[str, int]:
    """Return the length of each field that counts as average; at least 1."""
    passages = statistics.get(PASSAGES, 0)
    return {
        field: _LENGTHS[bisect_left(_LENGTHS, max(1, statistics.get(field, 0) / max(1, passages)))]
        for field in SCORED_FIELDS
    }


def add_up(
    statistics: Mapping[str, int], lengths: Iterable[Mapping[str, int]], sign: int = 1
) -> dict[str, int]:
    """Return *statistics* with passages of these *lengths* by field, or without (-1)."""
    total = {name: statistics.get(name, 0) for name in (PASSAGES, *SCORED_FIELDS)}
    for length in lengths:
        total[PASSAGES] += sign
        for field in SCORED_FIELDS:
            total[field] += sign * length[field]
    return total


@dataclass(frozen=True, slots=True)
class Counted:
    """What the engine counts, deleted records included: records, and terms by field."""

    records: int
    terms: Mapping[str, float]

    def plus(self, lengths: Sequence[Mapping[str, int]]) -> Counted:
        """Return the same with further records of these *lengths*."""
        terms = {
            field: self.terms.get(field, 0) + sum(length.get(field, 0) for length in lengths)
            for field in SCORED_FIELDS
        }
        return Counted(self.records + len(lengths), terms)


def measure(index: tantivy.Index, searcher: tantivy.Searcher) -> Counted:
    """Return what the engine counts at the state of *searcher*, which has a control record."""
    schema = index.schema
    address = searcher.search(only(CONTROL, schema), 1, count=False).hits[0][1]
    said = {}
    for field in SCORED_FIELDS:
        score = term_of(schema, field, FILLING).explain(searcher, address)
        said[field] = dict(_leaves(json.loads(score.to_json())))
    records = round(said[SCORED_FIELDS[0]]["N"])
    return Counted(records, {field: records * said[field]["avgdl"] for field in SCORED_FIELDS})


def _leaves(told: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    """Yield the quantities that an explanation names, ``N`` and ``avgdl`` among them."""
    yield str(told["description"]).partition(",")[0], float(told["value"])
    for part in told.get("details", ()):
        yield from _leaves(part)


def balance(counted: Counted, aims: Mapping[str, int]) -> list[dict[str, int]]:
    """Return the lengths of fillers that bring every mean to its aim; none where all are there.

    Records without a term lower all means; what some fields then lack, the first ones hold.
    """
    if drift(counted, aims) <= _ALIKE:
        return []
    over = max(counted.terms[f] / aims[f] - counted.records - _ALIKE for f in aims)
    # Each filler has to hold its own share, too.
    most = max(_MOST_TERMS, 2 * max(aims.values()))
    under = max(_short(counted, f, aims[f]) / (most - aims[f] - 1) for f in aims)
    fillers = max(1, math.ceil(over), math.ceil(under))
    more = Counted(counted.records + fillers, counted.terms)
    lacking = {f: max(0, round(_short(more, f, aims[f]))) for f in aims}
    made: list[dict[str, int]] = []
    while any(lacking.values()):
        made.append({f: min(lack, most) for f, lack in lacking.items()})
        lacking = {f: lack - made[-1][f] for f, lack in lacking.items()}
    return made + [{}] * (fillers - len(made))


def _short(counted: Counted, field: str, aim: int) -> float:
    """Return how many terms of *field* there are too few for that mean; too many are negative."""
    return aim * counted.records - counted.terms[field]


def dear(fillers: Sequence[Mapping[str, int]]) -> bool:
    """Say whether adding *fillers* takes longer than the rest of a small publication."""
    return len(fillers) + sum(sum(lengths.values()) for lengths in fillers) > _DEAR


def drift(counted: Counted, aims: Mapping[str, int]) -> float:
    """Return the largest relative distance of a mean length from its aim."""
    return max(abs(counted.terms[f] / (counted.records * aims[f]) - 1) for f in aims)


class TermStatistics:
    """In how many live passages words stand, at one published state; shared by threads."""

    def __init__(  # noqa: PLR0913 - the parts of one published state
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        *,
        segments: Segments,
        passages: int,
        common: CommonWords,
        sampling: Sampling | None = None,
        is_rough: bool = False,
    ) -> None:
        self._sampling = sampling
        """Where these passages are a part, what all are to them: then it is all that is counted."""
        self.total = round((passages + 1) * (sampling.passages if sampling else 1))
        """How many live passages there are, and one that holds no word: even among three, a
        word that two of them hold tells something."""
        self._schema = schema
        self._searcher = searcher
        self._segments = segments
        self._passages = passages
        self._common = common
        self._is_rough = is_rough
        """Where it will do to know about how many passages hold a common word."""
        self._live: dict[tuple[str, str], int] = {}

    @cached_property
    def _has_deleted(self) -> bool:
        """Whether the engine counts passages that are deleted, which is dear to count without."""
        counted = self._searcher.doc_freq
        return self._segments.has_deleted and counted("kind", "chunk") != self._passages

    @property
    def documents(self) -> int:
        """How many live documents have a passage, and one that holds no word."""
        return self.total - self.frequency(AGAIN, FILLING)

    def frequency(self, field: str, term: str) -> int:
        """Return how many live passages hold *term* in *field*."""
        known = self._live.get((field, term))
        if known is None:
            if len(self._live) >= _REMEMBERED:
                self._live.clear()
            known = self._counted(field, term)
            if self._sampling is not None:
                known = min(self._sampling.held(term, known), self.total)
            self._live[field, term] = known
        return known

    def _counted(self, field: str, term: str) -> int:
        counted = self._searcher.doc_freq(field, term)
        if not counted or not self._has_deleted:
            return counted
        if self._is_rough and counted > _COMMON:
            return round(counted * self._passages / self._searcher.doc_freq("kind", "chunk"))
        told = self._common.get(field, term)
        if told is not None:
            return told
        query = Query.term_query(self._schema, field, term, "basic")
        found: Any = self._searcher.search(query, 1, count=True)
        return int(found.count)

    def held(self, places: Iterable[tuple[str, str]], /) -> dict[tuple[str, str], int]:
        """Return those pairs of a field and a term that passages hold, with how many do."""
        counted = self._searcher.doc_freq
        found = {place: self.frequency(*place) for place in places if counted(*place)}
        return {place: count for place, count in found.items() if count}

    def factor(self, field: str, terms: Sequence[str]) -> float:
        """Return what to multiply the engine's score of *terms* by; 0 where nothing holds them.

        Several terms are a phrase, whose weight is the sum of theirs.
        """
        live = [self.frequency(field, term) for term in terms]
        if not all(live):
            return 0.0
        counted, records = live, self._segments.records
        if self._has_deleted or self._sampling is not None:
            counted = [self._searcher.doc_freq(field, term) for term in terms]
        if len(live) == 1:
            return idf(self.total, live[0]) / idf(records, counted[0])
        said = math.fsum(idf(records, frequency) for frequency in counted)
        return math.fsum(idf(self.total, frequency) for frequency in live) / said
