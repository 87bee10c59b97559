"""One list out of what the channels proposed, and pages of it in a stable order.

The list is that of one channel, or the fusion of two, perhaps with its first rows
reordered. Equal scores stand in the order of source, path and position in the document
(ruling R14), so that the same question at the same state gives the same bytes.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, takewhile
from math import inf
from operator import sub
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload

from kb_app._search.channels import Proposals
from kb_core.dates import DateAsked
from kb_core.ids import blake2b
from kb_core.media import SearchMode
from kb_core.search import Hit, Parent, Scored, SearchQuery
from kb_core.values import dataclass, replace, tuples
from kb_search.fusion import (
    Fused,
    alone,
    corroborated,
    fuse,
    is_lookup,
    score_kind,
)

if TYPE_CHECKING:
    from kb_core.ports import StoredChunk

__all__ = [
    "LeftOut",
    "Place",
    "Row",
    "as_ranked",
    "in_order",
    "joined",
    "limited",
    "list_digest",
    "page_of",
    "parted",
    "rank_proposals",
    "reordered",
    "repeats",
    "reweighed",
    "with_more",
]

Place = tuple[str, str, int]
"""Source id, path and ordinal of a chunk."""

Places = Callable[[Sequence[int]], dict[int, Place]]
Parents = Callable[[Sequence[int]], Mapping[int, Parent]]

_DIGEST_BYTES = 8
_OF_THE_DATE = 0.3
"""What the date that is asked for counts, beside all that words and meaning say."""
_LEAST_REPEATED = 40
"""Characters of a text that is a copy of another: fewer may say something else in each place."""
_OF_ITS_OWN = ("bm25", "rerank")
"""Kinds of scores that are not what two channels say together."""
_A_FEW = 40
"""So many rows are looked up at once; of more, those that share a score."""
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


class _ByWords(Sequence[Row]):
    """The rows of a ranking by words alone; each is made when it is first taken, as few are."""

    def __init__(self, found: Sequence[Scored], fusion: str, rrf_k: int) -> None:
        self._found, self._fusion, self._rrf_k = found, fusion, rrf_k
        self._rows: dict[int, Row] = {}
        self.keys = [row.chunk_key for row in found]
        self.scores = [row.score for row in found]

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return list(map(self._made, range(*at.indices(len(self._found)))))
        return self._made(range(len(self._found))[at])

    def _made(self, at: int) -> Row:
        row = self._rows.get(at)
        if row is None:
            fused = alone(self._fusion, self._found, at, rrf_k=self._rrf_k)
            row = self._rows[at] = Row(fused, self.scores[at], "bm25")
        return row


def _keys(rows: Sequence[Row]) -> Sequence[int]:
    return rows.keys if isinstance(rows, _ByWords) else [row.fused.chunk_key for row in rows]


def _scores(rows: Sequence[Row]) -> Sequence[float]:
    return rows.scores if isinstance(rows, _ByWords) else [row.score for row in rows]


def rank_proposals(
    proposals: Proposals,
    query: SearchQuery,
    *,
    fusion: str,
    rrf_k: int,
    parents: Parents,
    dates: Sequence[DateAsked] = (),
) -> Sequence[Row]:
    """Return the union of the proposals, best first; order among equals is not final yet.

    Passages count with the rest of their documents (``fusion.corroborated``), and for more
    where these are of one of *dates*, but where nothing is to count but ranks, or nearness.
    """
    rows = _ranked(proposals, query, fusion=fusion, rrf_k=rrf_k, parents=parents)
    if not dates or not rows or fusion == "rrf" or query.mode is SearchMode.VECTOR:
        return rows
    return _dated_first(rows, parents(_keys(rows)), dates)


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
) -> Sequence[Row]:
    lexical, vector, mode = proposals.lexical, proposals.vector, query.mode
    if fusion != "rrf" and mode is SearchMode.LEXICAL:
        lexical = corroborated(lexical, parents([row.chunk_key for row in lexical]))
    if mode is SearchMode.LEXICAL and not vector:
        # They are in their order already: by scores that are rounded, then by keys.
        return _ByWords(lexical, fusion, rrf_k)
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
        # In their order, too.
        return tuples(Row, ((row, row.score, kind, None) for row in fused))
    return sorted(rows, key=lambda row: (-round(row.score, 6), row.chunk_key))


def page_of(rows: Sequence[Row], offset: int, size: int, places: Places) -> list[Row]:
    """Return *size* rows from *offset*, those of equal score by place.

    Rows are looked up only where a score is shared.
    """
    start, end = _whole_ties(_scores(rows), offset, min(offset + size, len(rows)))
    part = list(rows[start:end])
    if ties := _ties_of(_scores(part)):
        tied = part  # those of a page are read anyway
        if len(part) > _A_FEW:
            tied = [part[at] for at in sorted({at for tie in ties for at in (tie - 1, tie)})]
        known = places([row.chunk_key for row in tied])
        nowhere = ("", "", 0)
        part.sort(key=lambda row: (-round(row.score, 6), known.get(row.chunk_key, nowhere)))
    return part[offset - start : offset - start + size]


def parted(rows: Sequence[Row], size: int, places: Places) -> tuple[list[Row], Sequence[Row]]:
    """Return the first *size* rows, as a page has them, and all others.

    Equal scores may lie on either side of the border: each row is on one side.
    """
    head = page_of(rows, 0, size, places)
    _, end = _whole_ties(_scores(rows), 0, len(head))
    if end == len(head):
        return head, rows[end:]
    taken = set(_keys(head))
    return head, [*(row for row in rows[:end] if row.chunk_key not in taken), *rows[end:]]


def in_order(head: Sequence[Row], order: Iterable[int]) -> list[Row]:
    """Return the first rows of a list in another order, each with the score of its place.

    Where several places have the same, each has less than the one before: the order is final.
    """
    order = list(order)
    if order == list(range(len(head))):
        return list(head)
    rows, last = list[Row](), inf
    for at, row in zip(order, head, strict=True):
        last = min(row.score, last - _NO_TIE)
        rows.append(_scored(head[at], last))
    return rows


def joined(head: Sequence[Row], rest: Sequence[Row]) -> list[Row]:
    """Return a list of its first rows, in their order, and the others, none above the last one."""
    least = head[-1].score - _NO_TIE
    above = sum(1 for _ in takewhile(lambda row: row.score > least, rest))
    return [*head, *(_scored(row, least) for row in rest[:above]), *rest[above:]]


def _scored(row: Row, score: float) -> Row:
    """Return *row* with another score; what words alone say of it, or close reading, stays."""
    fused = row.fused if row.kind in _OF_ITS_OWN else row.fused._replace(score=score)
    return row._replace(fused=fused, score=score)


def reweighed(head: Sequence[Row], weights: Mapping[int, float]) -> Sequence[Row]:
    """Return the first rows of a list in the order of their scores with *weights*, by index."""
    if not weights:
        return head
    scores = [round(row.score * weights.get(at, 1.0), 6) for at, row in enumerate(head)]
    return in_order(head, sorted(range(len(head)), key=lambda at: -scores[at]))


def repeats(
    head: Sequence[Row], chunks: Mapping[int, StoredChunk], but: Collection[int] = ()
) -> set[int]:
    """Return which of the first rows of a list say word for word what one before says elsewhere.

    None of those at *but*, nor what repeats one of them. A document may repeat itself.
    """
    said, again = dict[str, str](), set[int]()
    for at, row in enumerate(head):
        chunk = None if at in but else chunks.get(row.chunk_key)
        if chunk is None or len(text := chunk["text"]) < _LEAST_REPEATED:
            continue
        if said.setdefault(text, chunk["doc_id"]) != chunk["doc_id"]:
            again.add(at)
    return again


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
    keys, scores = _keys(rows), _scores(rows)
    start, end = _whole_ties(scores, offset, offset)
    if start < end:
        cut = page_of(rows, start, end - start, places)
        keys = [*keys[:start], *_keys(cut), *keys[end:]]
    members: Iterable[tuple[int, int]] = enumerate(keys)
    if ties := _ties_of(scores):
        groups = list(range(len(rows)))
        for at in ties:
            groups[at] = at if at == offset else groups[at - 1]
        members = sorted(zip(groups, keys, strict=True))
    packed = struct.pack(f">{2 * len(rows)}q", *chain.from_iterable(members))
    return blake2b(packed, digest_size=_DIGEST_BYTES, person=b"kebab list").digest()


def as_ranked(row: Row, mode: SearchMode, rank: int) -> Row:
    """Return the row with its rank in the one channel that ranks alone."""
    if mode is SearchMode.HYBRID:
        return row
    (key, fused, by_words, lexical, by_meaning, vector), score, kind, read = row
    if mode is SearchMode.LEXICAL:
        return Row(Fused(key, fused, rank, lexical, by_meaning, vector), score, kind, read)
    return Row(Fused(key, fused, by_words, lexical, rank, vector), score, kind, read)


def _whole_ties(scores: Sequence[float], start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a part, moved outwards so that neither goes through a tie."""
    while 0 < start < len(scores) and _ties(scores[start - 1], scores[start]):
        start -= 1
    while 0 < end < len(scores) and _ties(scores[end - 1], scores[end]):
        end += 1
    return start, end


def _ties_of(scores: Sequence[float]) -> list[int]:
    """Return which of *scores*, the best first, are the same as the one before."""
    gaps = enumerate(map(sub, scores, islice(scores, 1, None)), 1)
    # Scores that are far apart, as most are, tell without a call.
    return [at for at, gap in gaps if gap <= _NO_TIE and _ties(scores[at - 1], scores[at])]


def _ties(one: float, other: float) -> bool:
    # Rounding is slow, and hardly ever needed.
    return one == other or (abs(one - other) < _NO_TIE and round(one, 6) == round(other, 6))


def reordered(
    head: Sequence[Row], scores: Sequence[float], rest: Sequence[Row], known: float
) -> list[Row]:
    """Return rows in the order of what their passages say, those that were not read below them.

    *scores* are of the first ones, and *known* is which share of the question the model knows.
    """
    from kb_search.rerank import below, blend

    fused = [row.score for row in head]
    order = [
        row._replace(score=score, kind="rerank", rerank_score=read)
        for row, score, read in zip(head, blend(fused, scores, known), scores, strict=True)
    ]
    under = [row._replace(score=below(row.score), kind="rerank") for row in rest]
    return sorted(order, key=lambda row: (-round(row.score, 6), row.chunk_key)) + under
