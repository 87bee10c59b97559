"""One list out of what the channels proposed, and pages of it in a stable order.

The list is that of one channel, or the fusion of two, perhaps with its first rows
reordered. Equal scores stand in the order of source, path and position in the document
(ruling R14), so that the same question at the same state gives the same bytes.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise, starmap
from operator import sub
from typing import NamedTuple, TypeVar

from kb_app._search.channels import Proposals
from kb_core.dates import DateAsked
from kb_core.ids import blake2b
from kb_core.media import SearchMode
from kb_core.search import Hit, Parent, SearchQuery
from kb_core.values import dataclass
from kb_search.fusion import (
    Fused,
    alone,
    corroborated,
    fuse,
    is_lookup,
    score_kind,
)

__all__ = [
    "LeftOut",
    "Place",
    "Row",
    "as_ranked",
    "limited",
    "list_digest",
    "page_of",
    "rank_proposals",
    "with_more",
]

Place = tuple[str, str, int]
"""Source id, path and ordinal of a chunk."""

Places = Callable[[Sequence[int]], dict[int, Place]]
Parents = Callable[[Sequence[int]], Mapping[int, Parent]]

_DIGEST_BYTES = 8
_OF_THE_DATE = 0.3
"""What the date that is asked for counts, beside all that words and meaning say."""
_NO_TIE = 2e-6
"""Scores so far apart are not the same after rounding to 1e-6."""


class Row(NamedTuple):
    """A chunk in the list; *score* is what the list is ordered by."""

    fused: Fused
    score: float
    kind: str
    rerank_score: float | None = None

    @property
    def chunk_key(self) -> int:
        return self.fused.chunk_key


def rank_proposals(
    proposals: Proposals,
    query: SearchQuery,
    *,
    fusion: str,
    rrf_k: int,
    parents: Parents,
    dates: Sequence[DateAsked] = (),
) -> list[Row]:
    """Return the union of the proposals, best first; order among equals is not final yet.

    Passages count with the rest of their documents (``fusion.corroborated``), and for more
    where these are of one of *dates*, but where nothing is to count but ranks, or nearness.
    """
    rows = _ranked(proposals, query, fusion=fusion, rrf_k=rrf_k, parents=parents)
    if not dates or not rows or fusion == "rrf" or query.mode is SearchMode.VECTOR:
        return rows
    return _dated_first(rows, parents([row.chunk_key for row in rows]), dates)


def _dated_first(
    rows: Sequence[Row], parents: Mapping[int, Parent], dates: Sequence[DateAsked]
) -> list[Row]:
    """Return *rows* with those of *dates* farther up, by a share of the best score.

    Fused scores stay within 0..1.
    """
    more, is_fused = _OF_THE_DATE * rows[0].score, rows[0].kind != "bm25"
    told = {row.chunk_key: row.score + more * _is_of(dates, parents, row) for row in rows}
    most = max(1.0, *told.values()) if is_fused else 1.0
    scored = []
    for row in rows:
        score = round(told[row.chunk_key] / most, 6)
        fused = row.fused._replace(score=score) if is_fused else row.fused
        scored.append(row._replace(fused=fused, score=score))
    return sorted(scored, key=lambda row: (-row.score, row.chunk_key))


def _is_of(dates: Sequence[DateAsked], parents: Mapping[int, Parent], row: Row) -> bool:
    parent = parents.get(row.chunk_key)
    dated = None if parent is None else parent.doc_date
    return dated is not None and any(date.since <= dated <= date.until for date in dates)


def _ranked(
    proposals: Proposals, query: SearchQuery, *, fusion: str, rrf_k: int, parents: Parents
) -> list[Row]:
    lexical, vector, mode = proposals.lexical, proposals.vector, query.mode
    if fusion != "rrf" and mode is SearchMode.LEXICAL:
        lexical = corroborated(lexical, parents([row.chunk_key for row in lexical]))
    if mode is SearchMode.LEXICAL and not vector:
        # They are in their order already: by scores that are rounded, then by keys.
        found = alone(fusion, lexical, is_words=True, rrf_k=rrf_k)
        return [Row(row, row.lexical_score or 0.0, "bm25") for row in found]
    basis = replace(proposals.basis, lookup=proposals.basis.lookup or is_lookup(query.text))
    if fusion != "rrf" and mode is SearchMode.HYBRID:
        keys = dict.fromkeys(row.chunk_key for row in chain(lexical, vector))
        basis = replace(basis, parents=parents(list(keys)))
    fused = fuse(fusion, lexical, vector, rrf_k=rrf_k, basis=basis)
    if mode is SearchMode.LEXICAL:
        rows = [Row(row, row.lexical_score or 0.0, "bm25") for row in fused]
    elif mode is SearchMode.VECTOR:
        rows = [Row(row, row.vector_score or 0.0, "cosine") for row in fused]
    else:
        kind = score_kind(fusion)
        return [Row(row, row.score, kind) for row in fused]  # in their order, too
    return sorted(rows, key=lambda row: (-round(row.score, 6), row.chunk_key))


def page_of(rows: Sequence[Row], offset: int, size: int, places: Places) -> list[Row]:
    """Return *size* rows from *offset*, those of equal score by place.

    Rows are looked up only where a score is shared.
    """
    start, end = _whole_ties(rows, offset, min(offset + size, len(rows)))
    part = list(rows[start:end])
    if not _is_apart(part) and any(starmap(_ties, pairwise(part))):
        known = places([row.chunk_key for row in part])
        nowhere = ("", "", 0)
        part.sort(key=lambda row: (-round(row.score, 6), known.get(row.chunk_key, nowhere)))
    return part[offset - start : offset - start + size]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A passage that is not in the list, since its document has enough there."""

    doc_id: str
    after: int
    """How many rows of the list stand before its place."""


_Item = TypeVar("_Item")


def limited(
    items: Sequence[_Item], doc_ids: Sequence[str], most: int
) -> tuple[list[_Item], list[LeftOut]]:
    """Return the first *most* items of each document, in their order, and what is left out."""
    kept: list[_Item] = []
    left_out: list[LeftOut] = []
    seen: Counter[str] = Counter()
    for item, doc_id in zip(items, doc_ids, strict=True):
        seen[doc_id] += 1
        if seen[doc_id] <= most:
            kept.append(item)
        else:
            left_out.append(LeftOut(doc_id, len(kept)))
    return kept, left_out


def with_more(hits: Sequence[Hit], left_out: Sequence[LeftOut], end: int | None) -> list[Hit]:
    """Return *hits*; the last of each document says how many more were left out up to *end*.

    *end* is how many rows of the list are delivered with these, ``None`` where that is all.
    """
    more = Counter(one.doc_id for one in left_out if end is None or one.after < end)
    return list(_last_first(hits, more))[::-1] if more else list(hits)


def _last_first(hits: Sequence[Hit], more: Counter[str]) -> Iterator[Hit]:
    for hit in reversed(hits):
        count = more.pop(hit.doc_id, None)
        yield hit if count is None else replace(hit, more_in_doc=count)


def list_digest(rows: Sequence[Row], offset: int, places: Places) -> bytes:
    """Return a digest of the list of *rows*, cut at *offset*: of keys in their order.

    Rows of equal score count as a set, so that none has to be looked up, except where the
    cut goes through them: there it depends on their places which of them come after it.
    So two lists of one digest have the same hits before the cut, and the same after it,
    in an order that differs among equals at most. What the scores are does not matter.
    """
    start, end = _whole_ties(rows, offset, offset)
    cut = page_of(rows, start, end - start, places) if start < end else []
    if _is_apart(rows):
        members = list(enumerate([row.fused.chunk_key for row in rows]))
    else:
        members = _grouped(rows, offset, [*rows[:start], *cut, *rows[end:]])
    packed = struct.pack(f">{2 * len(members)}q", *chain.from_iterable(members))
    return blake2b(packed, digest_size=_DIGEST_BYTES, person=b"kebab list").digest()


def _grouped(rows: Sequence[Row], offset: int, ordered: Sequence[Row]) -> list[tuple[int, int]]:
    """Return where the tie begins that each of *rows* is in, with the keys of *ordered*."""
    groups: list[int] = []
    before = math.inf
    for at, row in enumerate(rows):
        # Scores that are far apart, as almost all are, tell without a call.
        is_apart = before - row.score > _NO_TIE or not _ties(rows[at - 1], row)
        is_new = is_apart or at == offset
        groups.append(at if is_new else groups[-1])
        before = row.score
    return sorted(zip(groups, [row.fused.chunk_key for row in ordered], strict=True))


def as_ranked(row: Row, mode: SearchMode, rank: int) -> Row:
    """Return the row with its rank in the one channel that ranks alone."""
    if mode is SearchMode.HYBRID:
        return row
    (key, fused, by_words, lexical, by_meaning, vector), score, kind, read = row
    if mode is SearchMode.LEXICAL:
        return Row(Fused(key, fused, rank, lexical, by_meaning, vector), score, kind, read)
    return Row(Fused(key, fused, by_words, lexical, rank, vector), score, kind, read)


def _whole_ties(rows: Sequence[Row], start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a part, moved outwards so that neither goes through a tie."""
    while 0 < start < len(rows) and _ties(rows[start - 1], rows[start]):
        start -= 1
    while 0 < end < len(rows) and _ties(rows[end - 1], rows[end]):
        end += 1
    return start, end


def _is_apart(rows: Sequence[Row]) -> bool:
    """Say whether no two rows, which stand best first, are even near to a tie."""
    scores = [row.score for row in rows]
    return all(map(_NO_TIE.__lt__, map(sub, scores, islice(scores, 1, None))))


def _ties(first: Row, second: Row) -> bool:
    one, other = first.score, second.score
    # Rounding is slow, and hardly ever needed.
    return one == other or (abs(one - other) < _NO_TIE and round(one, 6) == round(other, 6))
