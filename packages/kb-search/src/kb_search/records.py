"""The records of one published state: documents, their texts, the ledger's rows, aliases.

A record carries the sequence it was written at, and the newest at or below that of the state
counts. What does not is left out by the engine: a record that is not published yet, one that
says that there is none any more, and one that the newest batch replaced, which the next one
deletes. Most of the time there is nothing of these, and a query only names its kind.

Lists are by source and path, the ``place`` of a record. The engine sorts by it well where few
come first; it reads the text of each that it keeps, in each segment. Farther down, its
dictionary is walked instead, which is in that order already, as far as it begins like the first
place: a page reads its own rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import tantivy
from tantivy import FieldType, Occur, Query

from kb_search.narrowing import build_filter, one_of, only
from kb_search.opening import Part, payload_of, text_of, translate_errors

if TYPE_CHECKING:
    from kb_core.control import Control
    from kb_core.filters import Filter
    from kb_core.stored import Ledger

__all__ = ["Listing", "Records"]

_NEAR = 500
"""So many of the first rows are sorted by the engine."""
_AHEAD = 2
"""So many times the places that are needed are taken, for the pages that follow."""
_FEW_OF_ALL, _TRIED = 16, 4
"""Where no more than such a part of all places is wanted, as many of them as are another part are
looked at to learn how many begin like the first; it takes half as long as to walk them."""
_SPARE = 16
"""Of few records, so many more are asked for: some of them may have been replaced."""
_AT_ONCE = 2_000
"""Rows that are looked up by one query where all are read."""
_UP = tantivy.Order.Asc
_PLACE = itemgetter("source_id", "path")
_STANDINGS = 10_000
"""More than there are states with their reasons."""


class Records:
    """What a snapshot reads of the record index; safe to share by threads."""

    def __init__(self, part: Part, control: Control) -> None:
        self.schema, self._searcher = part
        self._sequence, self._newest_batch = control.sequence, control.records_sequence
        self._order: tuple[object, Sequence[str]] | None = None

    def newest(self, kind: str, narrow: Query, limit: int | None = None) -> Iterator[Any]:
        """Yield the payloads of a kind's records, in no order; with *limit*, of so many."""
        with translate_errors(f"read {kind} records"):
            for address in self.addresses(kind, narrow, limit):
                yield self.read(kind, address)

    def read(self, kind: str, address: tantivy.DocAddress) -> Any:  # noqa: ANN401 - a row
        """Return the payload of a record of a kind."""
        with translate_errors("read a record"):
            return payload_of(self._searcher.doc(address), kind)

    def text(self, address: tantivy.DocAddress) -> tuple[str, bytes]:
        """Return the form of a text and the text itself, in UTF-8."""
        with translate_errors("read a text"):
            return text_of(self._searcher.doc(address))

    def addresses(
        self, kind: str, narrow: Query | None = None, limit: int | None = None
    ) -> list[tantivy.DocAddress]:
        """Return where a kind's records are, in no order; with *limit*, so many of them."""
        most = max(1, self._searcher.num_docs if limit is None else limit + _SPARE)
        # Where few are asked for, it is quicker to look at each than to keep others out.
        few = narrow is not None
        query = self._of_kind(kind, narrow, self._unseen if few else self._hidden)
        found = [at for _, at in self._searcher.search(query, most, count=False).hits]
        if few and self._replaced:
            rows = zip(found, self.column("key", found), self.column("rev", found), strict=True)
            found = [
                at
                for at, key, rev in rows
                if rev >= self._newest_batch or key not in self._replaced
            ]
        return found[:limit]

    def column(self, field: str, addresses: list[tantivy.DocAddress]) -> Iterator[int]:
        """Yield what is in a fast field of integers, 0 where nothing is."""
        return (int(value or 0) for value in self._searcher.fast_field_values(field, addresses))

    def count(self, kind: str, where: Filter | None) -> int:
        """Return how many records of a kind pass *where*, without reading them."""
        with translate_errors(f"count {kind} records"):
            return self._count(self._of_kind(kind, self._narrow(where)))

    def listed(self, kind: str, where: Filter | None) -> Listing:
        """Return the rows of a kind that pass *where*, by source and path."""
        with translate_errors(f"list {kind} records"):
            return Listing(self, kind, self._of_kind(kind, self._narrow(where)), (kind, where))

    def ledger(self, where: Filter | None) -> Ledger:
        """Return the rows of the ledger that pass *where*, summed up by the engine."""
        from kb_core.stored import Ledger  # a search by words needs none

        wanted = {
            "counts": {"terms": {"field": "standing", "size": _STANDINGS}},
            "changed": {"max": {"field": "changed"}},
        }
        with translate_errors("count file records"):
            query = self._of_kind("file", self._narrow(where))
            found = self._searcher.aggregate(query, wanted)
        parted = {_state_of(each["key"]): each["doc_count"] for each in found["counts"]["buckets"]}
        return Ledger(parted, int(found["changed"]["value"] or 0) if parted else None)

    def first(self, query: Query, start: int, stop: int) -> list[tantivy.DocAddress]:
        """Return where the rows from *start* to *stop* are, as the engine sorts them."""
        hits: Any = self._searcher.search(
            query,
            stop - start,
            offset=start,
            count=False,
            order_by_field="place",
            order=_UP,
        ).hits
        return [address for _, address in hits]

    def order(self, query: Query, name: object, stop: int) -> Sequence[str]:
        """Return the places of *stop* rows at least, in order; those asked for last are kept."""
        kept = self._order
        if kept is None or kept[0] != name or len(kept[1]) < stop:
            kept = self._order = (name, self._places(query, stop))
        return kept[1]

    def _places(self, query: Query, stop: int) -> Sequence[str]:
        """Return the first places in order, *stop* of them where there are so many.

        The first of all is found by the engine. Whatever begins as that one does comes before
        the rest, so only as much of the dictionary is walked as begins with enough of it.
        """
        most, walk = _AHEAD * stop, self._searcher.terms_with_prefix
        begin = self._beginning(query, most)
        found = walk("place", begin, filter_query=query, limit=most)
        if begin and len(found) < stop:
            found = walk("place", "", filter_query=query, limit=most)
        return [term for term, n in found for _ in range(n)]

    def _beginning(self, query: Query, most: int) -> str:
        """Return how the first place begins, and *most* of all; nothing where that is no help."""
        searcher = self._searcher
        if most > searcher.num_docs // _FEW_OF_ALL:
            return ""
        best: Any = searcher.search(query, 1, count=False, order_by_field="place", order=_UP).hits
        prefix, left = best[0][0] if best else "", searcher.num_docs // _TRIED
        while prefix and left > 0:
            tried = len(searcher.terms_with_prefix("place", prefix, limit=most))
            if tried == most:
                return str(prefix)
            prefix, left = prefix[:-1], left - tried
        return ""

    def at(self, kind: str, query: Query, places: Sequence[str]) -> Iterator[Any]:
        """Yield the rows at these places of a list of a kind, in its order."""
        there = one_of(self.schema, "place", places)
        both = Query.boolean_query([(Occur.Must, query), (Occur.Must, there)])
        hits = self._searcher.search(both, max(1, len(places)), count=False).hits
        rows = [payload_of(self._searcher.doc(address), kind) for _, address in hits]
        yield from sorted(rows, key=_PLACE)

    def count_of(self, query: Query) -> int:
        """Return how many rows a list has."""
        return self._count(query)

    def _count(self, query: Query) -> int:
        found: Any = self._searcher.search(query, 1, count=True)
        return int(found.count)

    def _narrow(self, where: Filter | None) -> Query | None:
        return None if where is None else build_filter(self.schema, where)

    def _of_kind(
        self, kind: str, narrow: Query | None, hidden: Sequence[Query] | None = None
    ) -> Query:
        hidden = self._hidden if hidden is None else hidden
        query = only(kind, self.schema)
        if narrow is None and not hidden:
            return query
        parts = [(Occur.Must, part) for part in (query, narrow) if part is not None]
        return Query.boolean_query([*parts, *((Occur.MustNot, part) for part in hidden)])

    @cached_property
    def _hidden(self) -> Sequence[Query]:
        """What the index holds and this state does not."""
        if not self._replaced:
            return self._unseen
        among = one_of(self.schema, "key", list(self._replaced))
        older = Query.boolean_query([(Occur.Must, among), (Occur.Must, self._older)])
        return [*self._unseen, older]

    @cached_property
    def _unseen(self) -> Sequence[Query]:
        """What is not published yet, and what says that there is none any more."""
        later = self._rev(self._sequence + 1, None)
        unseen = [later] if self._count(later) else []
        if self._searcher.doc_freq("dead", 1):
            unseen.append(Query.term_query(self.schema, "dead", 1))
        return unseen

    @cached_property
    def _older(self) -> Query:
        """What was published before the newest batch."""
        return self._rev(None, self._newest_batch - 1)

    @cached_property
    def _replaced(self) -> frozenset[int]:
        """The keys of records in the newest batch that have an older one, too."""
        if not self._count(self._older):
            return frozenset()
        newest = self._keys(self._rev(self._newest_batch, self._sequence))
        if not newest:
            return frozenset()
        among = one_of(self.schema, "key", list(newest))
        both = [(Occur.Must, among), (Occur.Must, self._older)]
        return self._keys(Query.boolean_query(both))

    def _keys(self, query: Query) -> frozenset[int]:
        hits = self._searcher.search(query, max(1, self._searcher.num_docs), count=False).hits
        return frozenset(self.column("key", [address for _, address in hits]))

    def _rev(self, low: int | None, high: int | None) -> Query:
        return Query.range_query(self.schema, "rev", FieldType.Integer, low, high)


class Listing(Sequence[Any]):
    """Rows in the order of their places, each read when it is taken; a slice is a list."""

    def __init__(self, records: Records, kind: str, query: Query, name: object) -> None:
        self._records, self._kind, self._query, self._name = records, kind, query, name

    @cached_property
    def _length(self) -> int:
        with translate_errors("count records"):
            return self._records.count_of(self._query)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: int | slice) -> Any:  # noqa: ANN401 - a row, or rows
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            if step < 0:
                return list(self)[at]
            return list(self._between(start, stop))[::step]
        wanted = at if at >= 0 else len(self) + at
        if not 0 <= wanted < len(self):
            raise IndexError(at)
        return next(self._between(wanted, wanted + 1))

    def __iter__(self) -> Iterator[Any]:
        return self._between(0, len(self))

    def _between(self, start: int, stop: int) -> Iterator[Any]:
        if start >= stop:
            return
        with translate_errors("read records"):
            if stop <= _NEAR:
                for address in self._records.first(self._query, start, stop):
                    yield self._records.read(self._kind, address)
                return
            places = self._records.order(self._query, self._name, stop)
            for begin in range(start, stop, _AT_ONCE):
                part = places[begin : min(begin + _AT_ONCE, stop)]
                yield from self._records.at(self._kind, self._query, part)


def _state_of(standing: str) -> tuple[str, str | None]:
    state, _, reason = standing.partition("\0")
    return state, reason or None
