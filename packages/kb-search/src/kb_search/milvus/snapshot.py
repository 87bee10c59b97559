"""One published state of the index on Milvus, and every question that it answers."""

from __future__ import annotations

import json
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isclose
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kb_core.errors import IoError
from kb_core.filters import Filter
from kb_core.search import KnownWords, LexicalQuery, Parent, Relaxation, Sampling, Scored
from kb_core.values import replace
from kb_search.analysis import languages_of
from kb_search.milvus.counts import Counts
from kb_search.milvus.engine import MOST_FOUND, Engine, Found
from kb_search.milvus.expressions import (
    NEVER,
    Expression,
    all_of,
    any_of,
    built,
    holds,
    listed,
    matcher,
    safe,
    visible,
)
from kb_search.milvus.ranking import Ranking, better_of, build_ranking, describe, learn
from kb_search.milvus.rows import Row, name_codes
from kb_search.milvus.state import Names, State, read_state
from kb_search.spelling import read_as
from kb_search.statistics import PASSAGES, pivots
from kb_search.weighing import known_words

if TYPE_CHECKING:
    from kb_core.control import Control
    from kb_core.stored import Ledger, StoredChunk, StoredDoc, StoredFile, TextBatch

__all__ = ["KEPT_SECS", "MOVED", "Snapshot"]

KEPT_SECS = 600
"""How long rows are kept after they were replaced, for who still reads them."""

MOVED = 1.25
"""How much mean lengths may move before all passages are weighed anew."""

_SAME = 1e-5
"""By less than this share of them, products differ by rounding alone."""
_SPARE = 16
_LEAST_DEEP = 100
_FARTHER = 0.2
"""As in ``kb_search.vectors``: how much farther away a signpost counts."""
_REMEMBERED = 50_000
_BATCH = 500
_SHOWN = ("payload", "parts", "pages")
_PARENT = ("chunk_key", *Parent._fields)


class Snapshot:
    """An ``IndexSnapshot``; shared by threads, good for ten minutes after it was replaced."""

    damage: Mapping[str, str] = {}

    def __init__(self, engine: Engine, base: str, state: State) -> None:
        self._engine = engine
        self._base = base
        self._state = state
        self._names = Names(base, state.generation)
        self._visible = visible(state.control.sequence)
        self._rows_of: dict[int, str] = {}
        self._parents: dict[int, Parent] = {}
        self._good_until = time.monotonic() + KEPT_SECS / 2
        self.statistics = self._counting(None)

    @property
    def control(self) -> Control:
        """Which state of the truth it shows."""
        return self._state.control

    # ---------------------------------------------------------------- ranking

    def lexical(self, query: LexicalQuery, where: Filter | None, limit: int, /) -> list[Scored]:
        """Return the best *limit* chunks by BM25, best first, ties by chunk key."""
        learn(self.statistics, query, self.languages)
        ranking = build_ranking(self.statistics, query, self.languages, self._exists)
        narrow = self._narrowed(where)
        if ranking is None or limit < 1 or narrow is False:
            return []
        lists = [
            self._ranked(ranking, words, all_of([asked, narrow]), limit)
            for words, asked in ranking.searches()
        ]
        return better_of(lists, limit)

    def known_words(self, query: LexicalQuery, /) -> KnownWords:
        """Return what the index knows of the words of *query*."""
        learn(self.statistics, query, self.languages)
        known = known_words(self.statistics, query, self.languages)
        return replace(known, read_as=read_as(query, self.statistics, self.languages))

    def relaxation(self, query: LexicalQuery, /) -> Relaxation | None:
        """Return what of *query* counts less than it says, or ``None`` if nothing does."""
        learn(self.statistics, query, self.languages)
        return describe(self.statistics, query, self.languages, self._exists)

    def roughly(self) -> Snapshot:
        """Return the same state: what it counts, it has counted."""
        return self

    def sampled(self, sampling: Sampling, /) -> Snapshot:
        """Return the same state, in which words are as rare as in all that it is a part of."""
        from copy import copy  # a search of what was read whole makes none

        same = copy(self)
        same.statistics = self._counting(sampling)
        return same

    def _counting(self, sampling: Sampling | None) -> Counts:
        passages = self._state.control.statistics.get(PASSAGES, 0)
        return Counts(self._state.segments, passages, self._payloads, sampling)

    def drift(self) -> float:
        """Return by how much mean lengths differ from what they should be, if by too much."""
        should, kept = pivots(self.control.statistics), self._state.pivots
        off = max((abs(kept.get(f, n) / n - 1) for f, n in should.items()), default=0.0)
        return off if off > MOVED - 1 else 0.0

    def vector(
        self,
        query: bytes,
        model_key: str,
        where: Filter | None,
        limit: int,
        /,
        *,
        above: float = 0.0,
    ) -> list[Scored]:
        """Return the nearest *limit* chunks by cosine, best first, ties by chunk key."""
        narrow = self._narrowed(where)
        if model_key not in self.control.vectors or limit < 1 or narrow is False:
            return []
        name = self._names.vectors(model_key)
        asked = _floats(query)
        expression = str(all_of([self._visible, narrow]))

        def found(depth: int) -> list[Found]:
            fields = ["chunk_key", "signpost"]
            return self._engine.search(name, "vector", asked, expression, depth, fields)

        hits = self._deep(found, limit)
        scored = ((_farther(near + above, row), int(row["chunk_key"])) for near, row in hits)
        order = sorted(((round(s, 6), k) for s, k in scored), key=lambda pair: (-pair[0], pair[1]))
        return [Scored(key, score) for score, key in order[:limit]]

    def vectors_of(self, keys: Sequence[int], model_key: str, /) -> dict[int, bytes]:
        """Return the vectors of those chunks that have one, as float32, by key."""
        found = self._vectors(keys, model_key, ["chunk_key", "vector"])
        rows = ((int(row["chunk_key"]), row["vector"]) for row in found)
        return {key: struct.pack(f"<{len(vector)}f", *vector) for key, vector in rows}

    def with_vector(self, keys: Sequence[int], model_key: str, /) -> set[int]:
        """Return those chunks that have a vector."""
        return {int(row["chunk_key"]) for row in self._vectors(keys, model_key, ["chunk_key"])}

    def elsewhere(self, keys: Sequence[int], than: int, model_key: str, /) -> None:
        """Return nothing: the server compares questions as they are."""

    def count(self, where: Filter | None, /) -> int:
        """Return how many chunks pass *where*."""
        return self._count(self._names.chunks, self._narrowed(where))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that documents here are stemmed by; English is always among them."""
        return languages_of(self.control.stats.get("lang_breakdown", {}))

    # ----------------------------------------------------------------- chunks

    def chunks(self, keys: Sequence[int], /) -> dict[int, StoredChunk]:
        """Return those chunks that exist, by key."""
        found: dict[int, StoredChunk] = {}
        known = [self._rows_of[key] for key in keys if key in self._rows_of]
        rows = self._engine.get(self._names.chunks, known, [*_SHOWN, "chunk_key"])
        missing = [key for key in keys if key not in self._rows_of]
        rows += self._rows("chunks", listed("chunk_key", missing), [*_SHOWN, "chunk_key"])
        for row, payload in self._read(rows):
            found[int(row["chunk_key"])] = payload
        return {key: found[key] for key in keys if key in found}

    def parents(self, keys: Sequence[int], /) -> dict[int, Parent]:
        """Return the documents of those chunks that exist."""
        known = {key: self._parents[key] for key in keys if key in self._parents}
        missing = [key for key in keys if key not in known]
        rows = self._rows("chunks", listed("chunk_key", missing), _PARENT) if missing else []
        return known | dict(map(_parent_of, rows))

    def find_chunks(self, id_prefix: str, limit: int, /) -> list[StoredChunk]:
        """Return chunks whose id starts with *id_prefix*."""
        self._look()
        where = f'{self._visible} and chunk_id like "{safe(id_prefix)}%"'
        rows = self._engine.some(self._names.chunks, where, _SHOWN, limit)
        return [payload for _, payload in self._read(rows)]

    def doc_chunks(self, doc_id: str, /) -> list[StoredChunk]:
        """Return a document's chunks by ordinal."""
        rows = self._rows("chunks", listed("doc_id", [doc_id]), _SHOWN)
        found: list[StoredChunk] = [payload for _, payload in self._read(rows)]
        return sorted(found, key=lambda chunk: chunk["ordinal"])

    # ---------------------------------------------------------------- records

    def find_docs(self, id_prefix: str, limit: int, /) -> list[StoredDoc]:
        """Return documents whose id starts with *id_prefix*; aliases of moved files count."""
        pattern = f'doc_id like "{safe(id_prefix)}%"'
        found: list[StoredDoc] = [doc for _, doc in self._records("doc", pattern)]
        if not found:
            # An alias that leads to itself says that there is none any more.
            aliases = [alias for _, alias in self._records("alias", pattern)]
            for alias in [alias for alias in aliases if alias["new"] != alias["old"]]:
                found += self.find_docs(alias["new"], limit)
        return found[:limit]

    def doc_text(self, doc_id: str, /) -> str | None:
        """Return a document's text."""
        for _, text in self._records("text", listed("doc_id", [doc_id])):
            return str(text["text"])
        return None

    def texts(self, where: Filter | None, needs: Sequence[Sequence[str]], /) -> Iterator[TextBatch]:
        """Yield the texts of documents that pass *where*, by key; none is left out."""
        from kb_core.stored import StoredText
        from kb_search.patterns import form_of
        from kb_search.texts import batch_of

        del needs  # an inverted file of words is not at hand, and nothing has to be left out
        rows = self._rows("records", self._of_kind("text", self._narrowed(where, "text")), ["key"])
        keys = sorted(int(row["key"]) for row in rows)
        for at in range(0, len(keys), _BATCH):
            found = self._records("text", listed("key", keys[at : at + _BATCH]))
            for row, text in sorted(found, key=lambda pair: int(pair[0]["key"])):
                data = str(text["text"]).encode("utf-8", "replace")
                one = StoredText(int(row["key"]), data, form_of(str(text["text"])))
                yield batch_of([one])

    def count_docs(self, where: Filter | None, /) -> int:
        """Return how many documents pass *where*, without reading them."""
        narrow = self._narrowed(where, "doc")
        return self._count(self._names.records, self._of_kind("doc", narrow))

    def docs(self, where: Filter | None, /) -> Sequence[StoredDoc]:
        """Return documents that pass *where*, by source and path; read when taken."""
        return self._listed("doc", where)

    def docs_of(self, keys: Sequence[int], /) -> dict[int, StoredDoc]:
        """Return those documents that exist, by key."""
        found: dict[int, StoredDoc] = {}
        for at in range(0, len(keys), _BATCH):
            part = self._records("doc", listed("key", keys[at : at + _BATCH]))
            found.update({doc["doc_key"]: doc for _, doc in part})
        return {key: found[key] for key in keys if key in found}

    def docs_called(self, names: Sequence[str], /) -> list[StoredDoc]:
        """Return documents that have one of these names, by source and path."""
        return self._docs_by("called", names)

    def docs_linking(self, names: Sequence[str], /) -> list[StoredDoc]:
        """Return documents with a link to something of one of these names."""
        return self._docs_by("links_to", names)

    def _docs_by(self, field: str, names: Sequence[str]) -> list[StoredDoc]:
        wanted = any_of(holds(field, code) for code in name_codes(names))
        found = {doc["doc_id"]: doc for _, doc in self._records("doc", wanted)} if names else {}
        return sorted(found.values(), key=itemgetter("source_id", "path"))

    def files(self, where: Filter | None, /) -> Sequence[StoredFile]:
        """Return rows of the ledger, by source and path; read when taken."""
        return self._listed("file", where)

    def ledger(self, where: Filter | None, /) -> Ledger:
        """Return the rows of the ledger that pass *where*, summed up."""
        from kb_core.stored import Ledger

        narrow = self._of_kind("file", self._narrowed(where, "file"))
        rows = self._rows("records", narrow, ["standing", "changed"])
        counts = Counter(_state_of(str(row["standing"])) for row in rows)
        return Ledger(counts, max((int(row["changed"]) for row in rows), default=None))

    # ---------------------------------------------------------------- private

    def _ranked(
        self, ranking: Ranking, words: Mapping[int, float], where: Expression, limit: int
    ) -> list[tuple[float, int]]:
        """Return scores and keys of the best, deep enough that no tie is cut arbitrarily."""
        fields = [*_PARENT, *(("exact", "cjk", "called") if ranking.needs_terms else ())]
        if where is False:
            return []
        expression = str(all_of([self._visible, where]))

        def found(depth: int) -> list[Found]:
            name = self._names.chunks
            return self._engine.search(name, "words", words, expression, depth, fields)

        deep = max(2 * limit, _LEAST_DEEP) if ranking.needs_terms else limit
        hits = self._deep(found, deep)
        if len(self._rows_of) > _REMEMBERED:
            self._rows_of, self._parents = {}, {}
        self._rows_of.update((int(row["chunk_key"]), str(row["pk"])) for _, row in hits)
        self._parents.update(_parent_of(row) for _, row in hits)
        kept = self._state.pivots
        return [(ranking.score(p, row, kept), int(row["chunk_key"])) for p, row in hits]

    def _deep(self, find: Any, limit: int) -> list[Found]:  # noqa: ANN401 - a function of a depth
        self._look()
        depth = limit + _SPARE
        while True:
            hits: list[Found] = find(depth)
            if len(hits) < min(depth, MOST_FOUND) or depth >= MOST_FOUND:
                return hits
            if not isclose(hits[limit - 1][0], hits[-1][0], rel_tol=_SAME):
                return hits
            depth *= 4

    def _exists(self, where: Expression) -> bool:
        self._look()
        if where is False:
            return False
        asked = str(all_of([self._visible, where]))
        return bool(self._engine.some(self._names.chunks, asked, ["chunk_key"], 1))

    def _narrowed(self, where: Filter | None, kind: str = "") -> Expression:
        """Return *where* as a condition on passages and vectors, or on records of a kind."""
        if where is None:
            return True
        return built(where, lambda like, pattern: self._resolved(like, pattern, kind))

    def _resolved(self, like: Expression, pattern: str, kind: str) -> Expression:
        """Return the condition for records whose path matches, looked up one by one."""
        matches = matcher(pattern)
        asked = self._of_kind("file" if kind == "file" else "doc", like)
        rows = self._rows("records", asked, ["key", "place"])
        keys = [int(r["key"]) for r in rows if matches(str(r["place"]).partition("\0")[2])]
        return listed("key" if kind else "doc_key", keys)

    def _of_kind(self, kind: str, where: Expression) -> Expression:
        return all_of([f'kind == "{kind}"', where])

    def _count(self, name: str, where: Expression) -> int:
        self._look()
        if where is False:
            return 0
        return self._engine.count(name, str(all_of([self._visible, where])))

    def _rows(self, part: str, where: Expression, fields: Sequence[str]) -> list[Row]:
        self._look()
        name = self._names.chunks if part == "chunks" else self._names.records
        return self._engine.rows(name, all_of([self._visible, where]), fields)

    def _vectors(self, keys: Sequence[int], model_key: str, fields: Sequence[str]) -> list[Row]:
        self._look()
        if model_key not in self.control.vectors:
            return []
        where = all_of([self._visible, listed("chunk_key", keys)])
        return self._engine.rows(self._names.vectors(model_key), where, fields)

    def _records(self, kind: str, where: Expression) -> list[tuple[Row, Any]]:
        rows = self._rows("records", self._of_kind(kind, where), [*_SHOWN, "key"])
        return list(self._read(rows))

    def _listed(self, kind: str, where: Filter | None) -> Records:
        asked = self._of_kind(kind, self._narrowed(where, kind))
        rows = self._rows("records", asked, ["place"])
        places = sorted((str(row["place"]), str(row["pk"])) for row in rows)
        return Records(self, [pk for _, pk in places])

    def read_records(self, keys: Sequence[str]) -> list[Any]:
        """Return what is shown of records, by primary key, in that order."""
        rows = self._engine.get(self._names.records, keys, _SHOWN)
        found = {row["pk"]: payload for row, payload in self._read(rows)}
        return [found[key] for key in keys]

    def read_chunks(self, where: Expression, fields: Sequence[str]) -> list[tuple[Row, Any]]:
        """Return rows of passages, and what is shown of each."""
        rows = self._rows("chunks", where, [*_SHOWN, "chunk_key", *fields])
        return list(self._read(rows))

    def counts_of(self, segments: Sequence[int]) -> list[Mapping[str, int]]:
        """Return all counts of these segments."""
        return [counts for _, counts in self._records("count", listed("key", segments))]

    def _payloads(self, keys: Sequence[str]) -> dict[str, str]:
        rows = self._engine.get(self._names.records, keys, _SHOWN)
        return {str(row["pk"]): text for row, text in self._whole(rows)}

    def _read(self, rows: Iterable[Row]) -> Iterator[tuple[Row, Any]]:
        for row, text in self._whole(rows):
            yield row, json.loads(text)

    def _whole(self, rows: Iterable[Row]) -> Iterator[tuple[Row, str]]:
        """Yield rows with their payloads, those that go on in further rows put together."""
        for row in rows:
            pages = [f"{row['pages']}#{n}" for n in range(1, int(row["parts"]))]
            if not pages:
                yield row, str(row["payload"])
                continue
            found = self._engine.get(self._names.records, pages, ["payload"])
            texts = {more["pk"]: str(more["payload"]) for more in found}
            if len(texts) < len(pages):
                raise self._too_old()
            yield row, "".join([str(row["payload"]), *(texts[page] for page in pages)])

    def _look(self) -> None:
        """See that what this shows has not been removed meanwhile; asked now and then."""
        if time.monotonic() < self._good_until:
            return
        newest = read_state(self._engine, self._base)
        is_gone = newest.generation != self._state.generation and not newest.history
        if is_gone or newest.purged >= self.control.sequence:
            raise self._too_old()
        self._good_until = time.monotonic() + KEPT_SECS / 2

    def _too_old(self) -> IoError:
        return IoError("what was being read has been replaced", hint="ask again")


class Records(Sequence[Any]):
    """Records in their order, each read when it is taken; a slice is a list."""

    def __init__(self, snapshot: Snapshot, keys: Sequence[str]) -> None:
        self._snapshot = snapshot
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, at: int | slice) -> Any:  # noqa: ANN401 - a row, or rows
        if isinstance(at, slice):
            return self._snapshot.read_records(self._keys[at])
        return self._snapshot.read_records([self._keys[at]])[0]

    def __iter__(self) -> Iterator[Any]:
        for at in range(0, len(self._keys), _BATCH):
            yield from self._snapshot.read_records(self._keys[at : at + _BATCH])


def _state_of(standing: str) -> tuple[str, str | None]:
    state, _, reason = standing.partition("\0")
    return state, reason or None


def _parent_of(row: Row) -> tuple[int, Parent]:
    dated = int(row["doc_date"])
    known = int(row["doc_key"]), int(row["chunk_count"]), None if dated == NEVER else dated
    return int(row["chunk_key"]), Parent(*known)


def _floats(query: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(query) // 4}f", query))


def _farther(product: float, row: Row) -> float:
    return product - _FARTHER * (1 - product) if row["signpost"] else product
