"""One list out of the lists of several queries.

Results that are the same place are one result. It keeps its best score as base, and gets
5 % of that for each further query that found it. Neither the order of the queries nor
asking one of them twice changes the list. Pure functions over rows and stored chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kb_app._search.ranking import Row
from kb_core.ports import StoredChunk

__all__ = ["BONUS", "Merged", "QueryList", "aggregate"]

BONUS = 0.05
"""Share of the base score that each further query adds."""

_NEAR = 0.5
"""Share of the shorter of two passages that both must hold to be one result."""


@dataclass(frozen=True, slots=True)
class QueryList:
    """What one query found, best first.

    Queries with the same *identity* are one query asked twice; it also decides which
    query a result is shown for when several gave it the same score.
    """

    identity: tuple[str, ...]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Merged:
    """One result of the aggregated list."""

    row: Row
    """Of the list in which it stands best."""
    shown_for: int
    """The position of that list."""
    base: float
    found_by: frozenset[int]
    """Positions of the lists that it stands in."""
    matches: int
    """How many different queries these are."""
    count: int
    """How many results were merged into it."""

    @property
    def score(self) -> float:
        """What the list is ordered by."""
        return self.base + abs(self.base) * BONUS * (self.matches - 1)


@dataclass(slots=True)
class _Place:
    """A chunk, and where it was found; grows while others are merged into it."""

    chunk: StoredChunk
    best: tuple[float, tuple[str, ...], int, Row]
    """Base score, identity and position of the list, and the row in it."""
    found_by: set[int]
    count: int = 1


def aggregate(lists: Sequence[QueryList], chunks: Mapping[int, StoredChunk]) -> list[Merged]:
    """Return one list, best first, equal scores by source, path and place in the document.

    Scores of one kind are compared as they are. BM25 has no common scale, nor have scores
    of different kinds: they are divided by the best score of their own list first.
    *chunks* are the chunks of all rows; rows of others are left out.
    """
    by_document: dict[str, list[_Place]] = {}
    for place in _places(lists, chunks):
        by_document.setdefault(place.chunk["doc_id"], []).append(place)
    merged = [place for places in by_document.values() for place in _merge(places)]
    finished = [(_finish(place, lists), place.chunk) for place in merged]
    finished.sort(key=lambda pair: (-round(pair[0].score, 6), _position(pair[1])))
    return [one for one, _ in finished]


def _places(lists: Sequence[QueryList], chunks: Mapping[int, StoredChunk]) -> Iterator[_Place]:
    """Yield each chunk once, with the best that any list says of it."""
    found: dict[int, _Place] = {}
    for position, scores in enumerate(_comparable(lists)):
        identity = lists[position].identity
        for score, row in zip(scores, lists[position].rows, strict=True):
            key = row.chunk_key
            seen = (score, identity, position, row)
            if key not in chunks:
                continue
            if key not in found:
                found[key] = _Place(chunks[key], seen, {position})
                continue
            found[key].found_by.add(position)
            if _order(seen) < _order(found[key].best):
                found[key].best = seen
    yield from found.values()


def _order(best: tuple[float, tuple[str, ...], int, Row]) -> tuple[float, tuple[str, ...], int]:
    score, identity, position, _ = best
    return (-score, identity, position)


def _comparable(lists: Sequence[QueryList]) -> list[list[float]]:
    kinds = {row.kind for one in lists for row in one.rows}
    if len(kinds) <= 1 and "bm25" not in kinds:
        return [[row.score for row in one.rows] for one in lists]
    return [_share_of_best([row.score for row in one.rows]) for one in lists]


def _share_of_best(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    return [score / best for score in scores] if best > 0 else list(scores)


def _merge(places: Sequence[_Place]) -> list[_Place]:
    """Return the places of one document with those that are the same as a better one in it."""
    kept: list[_Place] = []
    for place in sorted(places, key=lambda place: (-place.best[0], _position(place.chunk))):
        same = next((other for other in kept if _is_same(place.chunk, other.chunk)), None)
        if same is None:
            kept.append(place)
        else:
            same.found_by |= place.found_by
            same.count += place.count
    return kept


def _is_same(one: StoredChunk, other: StoredChunk) -> bool:
    """Say whether two passages of a document share characters, and lines or most of the text."""
    shared = min(one["end"], other["end"]) - max(one["start"], other["start"])
    if shared <= 0:
        return False
    shorter = min(one["end"] - one["start"], other["end"] - other["start"])
    return _lines(one) == _lines(other) or shared >= _NEAR * shorter


def _lines(chunk: StoredChunk) -> tuple[int, int]:
    return (chunk["line_start"], chunk["line_end"])


def _position(chunk: StoredChunk) -> tuple[str, str, int]:
    return (chunk["source_id"], chunk["path"], chunk["ordinal"])


def _finish(place: _Place, lists: Sequence[QueryList]) -> Merged:
    base, _, position, row = place.best
    return Merged(
        row=row,
        shown_for=position,
        base=base,
        found_by=frozenset(place.found_by),
        matches=len({lists[at].identity for at in place.found_by}),
        count=place.count,
    )
