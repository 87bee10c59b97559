"""One published state of the index, and every question that it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from itertools import compress
from operator import itemgetter, neg
from typing import TYPE_CHECKING, Any

import tantivy
from tantivy import Occur, Query

from kb_core.control import Control
from kb_core.filters import Filter, OneOf
from kb_core.search import KnownWords, LexicalQuery, Parent, Relaxation, Sampling, Scored
from kb_core.values import replace, tuples
from kb_search.analysis import languages_of
from kb_search.fusion import from_negated, rounded
from kb_search.lexical import better_of, build_ranking, describe
from kb_search.narrowing import all_of, beginning, build_filter, inside, one_of, only
from kb_search.opening import SIGNPOST, Part, Segments, damaged, payload_of, translate_errors
from kb_search.spelling import read_as
from kb_search.statistics import PASSAGES, TermStatistics, drift, measure, pivots
from kb_search.texts import WHOLE, Shelf, TextId, Word, batch_of, words_of
from kb_search.vector_files import VectorSet
from kb_search.weighing import known_words

if TYPE_CHECKING:
    from kb_core.stored import Ledger, StoredChunk, StoredDoc, StoredFile, StoredText, TextBatch
    from kb_search.blinders import Blinders
    from kb_search.common_words import CommonWords
    from kb_search.records import Records
    from kb_search.sifting import Sieve

__all__ = ["Snapshot"]

_SPARE = 16
_GATHER_SHARE = 0.15
_GATHER_ROWS = 20_000
_MOST, _SOME = 0.5, 0.05
"""From this share on, what passes a filter is not counted before it is looked for; and where its
columns tell at once of any passage whether it passes."""
_SIFTED = 0.2
"""From this share on, a filter is asked of the best by words alone."""
_WORTH = 200
"""To ask a filter of so many passages costs what one more candidate does."""
_MARGIN = 2.0
"""Of these, so many times as many as would do where those that pass are spread evenly."""
_REMEMBERED = 50_000
_MOST_WORDS = 3
"""Of a literal, so many of its words leave texts out: the longest."""
_FEW_DOCS = 200
"""So many are looked through sooner than an index is asked which of them have another word."""
_OF_DOCS = 6
"""To look for letters within all words of an index takes longer than to read one text of twelve,
and leaves out half of those at best."""
_SOME_DOCS = 1_000
"""So many take the place of others in memory, since they are few enough to stay there."""
_BATCH = 500
_CHUNKS_KEPT = 1000
_BLOCKS_KEPT = 100_000
"""Blocks of documents that are kept, of some 200 bytes each."""


class Snapshot:
    """An ``IndexSnapshot``. Immutable, safe to share by threads, good for as long as held."""

    def __init__(  # noqa: PLR0913 - the parts of one published state
        self,
        *,
        control: Control,
        chunks: tuple[tantivy.Index, tantivy.Searcher],
        segments: Segments,
        common: CommonWords,
        records: Part | None,
        vectors: Mapping[str, VectorSet],
        shelf: Shelf | None = None,
        damage: Mapping[str, str] | None = None,
    ) -> None:
        self.control = control
        self.damage = damage or {}
        self._index, self._chunks = chunks
        self._schema = self._index.schema
        self._record_part = records
        self._segments, self._common = segments, common
        self._counted = self.statistics = self._counting(None)
        """Of what is there, and of all that it may be a part of (``sampled``), for ranking."""
        self._vectors = vectors
        self._shelf = shelf or Shelf()
        self._found: dict[int, tantivy.DocAddress] = {}
        """Where the chunks are that the last search by words found; they are asked for next."""
        self._addresses: dict[int, tantivy.DocAddress] = {}
        """Where others are that were looked up, which is dear in many ways."""
        self._chunks_kept: dict[int, StoredChunk] = {}
        """Those that were read last: who asks again, in other words, mostly finds some of them."""
        self._docs_kept: dict[int, StoredDoc] = {}
        self._blinders: dict[str, Blinders | None] = {}

    # ---------------------------------------------------------------- ranking

    def lexical(self, query: LexicalQuery, where: Filter | None, limit: int, /) -> list[Scored]:
        """Return the best *limit* chunks by BM25, best first, ties by chunk key."""
        with translate_errors("search by words"):
            self._refuse_damage("words")
            langs = self.languages
            ranking = build_ranking(self._schema, self._chunks, self.statistics, query, langs)
            if ranking is None or limit < 1:
                return []
            found: dict[int, tantivy.DocAddress] = {}
            where = None if where is None else self._sieve.needed(where)
            sifted = None if where is None else self._sifted(ranking.free, where, limit, found)
            if sifted is not None:
                ranking = replace(ranking, near_only=True)
            narrow = None if where is None else build_filter(self._schema, where)
            lists = [self._ranked(wanted, limit, found) for wanted in ranking.searches(narrow)]
            lists += [] if sifted is None else [sifted]
            self._found = found  # replaced, never changed: several threads may ask at once
        return from_negated(better_of(lists, limit))

    def known_words(self, query: LexicalQuery, /) -> KnownWords:
        """Return what the index knows of the words of *query*."""
        with translate_errors("look for the words of a query"):
            known = known_words(self.statistics, query, self.languages)
            meant = read_as(query, self.statistics, self.languages)
            return replace(known, read_as=meant) if meant else known

    def relaxation(self, query: LexicalQuery, /) -> Relaxation | None:
        """Return what of *query* counts less than it says, or ``None`` if nothing does."""
        with translate_errors("explain a search by words"):
            langs = self.languages
            return describe(self._schema, self._chunks, self.statistics, query, langs)

    def roughly(self) -> Snapshot:
        """Return the same state, for which it will do to know about how common a word is."""
        from copy import copy  # a search makes none

        same, counted = copy(self), self._counting(None, is_rough=True)
        vars(same).pop("_sieve", None)
        vars(same).update(_counted=counted, statistics=counted)
        return same

    def sampled(self, sampling: Sampling, /) -> Snapshot:
        """Return the same state, in which words are as rare as in all that it is a part of."""
        from copy import copy  # a search of what was read whole makes none

        same = copy(self)
        same.statistics = self._counting(sampling)
        return same

    def _counting(self, sampling: Sampling | None, *, is_rough: bool = False) -> TermStatistics:
        return TermStatistics(
            self._schema,
            self._chunks,
            segments=self._segments,
            passages=self.control.statistics.get(PASSAGES, 0),
            common=self._common,
            sampling=sampling,
            is_rough=is_rough,
        )

    def drift(self) -> float:
        """Return by how much mean lengths differ from those that a fresh index would have."""
        with translate_errors("measure the index"):
            counted = measure(self._index, self._chunks)
        return drift(counted, pivots(self.control.statistics))

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
        vectors = self._vectors.get(model_key)
        if vectors is None or limit < 1:
            return []
        with translate_errors("search by meaning"):
            view, farther = vectors.view, self._signposts
            blinders = self._blinders_of(model_key)
            if blinders is not None:
                query, taken = blinders.of(query)
                above += taken
            where = None if where is None else self._sieve.needed(where)
            if where is None:
                return view.nearest(query, limit, farther=farther, above=above)
            share = self._sieve.share(where)
            if share < (_SOME if self._sieve.reads_columns(where) else _MOST):
                passing, total = self.count(where), max(1, len(view))
                if passing <= max(_GATHER_ROWS, _GATHER_SHARE * total):
                    return view.nearest(query, limit, self._keys(where), farther, above=above)
                share = min(passing, total) / total
            depth = int(limit / share * 1.5) + _SPARE
            passes = lambda keys: self._passing(where, keys)  # noqa: E731
            return view.deepening(query, limit, passes, depth, farther, above=above)

    def vectors_of(self, keys: Sequence[int], model_key: str, /) -> dict[int, bytes]:
        """Return the vectors of those chunks that have one, as float32, by key."""
        vectors = self._vectors.get(model_key)
        with translate_errors("read a vector"):
            return {} if vectors is None else vectors.view.vectors_of(keys)

    def with_vector(self, keys: Sequence[int], model_key: str, /) -> set[int]:
        """Return those chunks that have a vector."""
        vectors = self._vectors.get(model_key)
        with translate_errors("look for vectors"):
            return set() if vectors is None else vectors.view.known(keys)

    def elsewhere(self, keys: Sequence[int], than: int, model_key: str, /) -> set[int] | None:
        """Return those of *keys* that are in another language than the chunk *than*.

        ``None`` where ``vector`` does not compare several languages alike, as there is one.
        """
        blinders = self._blinders_of(model_key) if model_key in self._vectors else None
        if blinders is None:
            return None
        language = self.chunks([than])[than]["lang"]
        others = tuple(name for name in blinders.languages if name != language)
        if len(others) == len(blinders.languages):  # it is in none that is told apart
            return set()
        with translate_errors("look for languages"):
            return self._passing(OneOf("lang", others), keys)

    def count(self, where: Filter | None, /) -> int:
        """Return how many chunks pass *where*."""
        with translate_errors("count"):
            told = None if where is None else self._sieve.count(where)
            if told is not None:
                return told
            found: Any = self._chunks.search(self._narrow(where), 1, count=True)
        return int(found.count)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that documents here are stemmed by; English is always among them."""
        return languages_of(self.control.stats.get("lang_breakdown", {}))

    # ----------------------------------------------------------------- chunks

    def chunks(self, keys: Sequence[int], /) -> dict[int, StoredChunk]:
        """Return those chunks that exist, by key; the last ones read are kept."""
        kept = self._chunks_kept
        if missing := [key for key in keys if key not in kept]:
            with translate_errors("read chunks"):
                read, known = self._chunks.doc, self._places(missing)
                found = {key: payload_of(read(known[key]), "chunk") for key in known}
            if len(kept) + len(found) > _CHUNKS_KEPT:
                kept = {key: kept[key] for key in keys if key in kept}
                self._chunks_kept = kept if len(keys) <= _CHUNKS_KEPT else {}
            kept.update(found)
        return {key: kept[key] for key in keys if key in kept}

    def parents(self, keys: Sequence[int], /) -> dict[int, Parent]:
        """Return the documents of those chunks that exist, without reading the chunks."""
        with translate_errors("look for documents"):
            known = self._places(keys)
            places = list(known.values())
            docs, counts = (self._numbers(name, places) for name in ("doc_key", "chunk_count"))
            dates: Any = self._chunks.fast_field_values("doc_date", places)
            return dict(
                zip(known, tuples(Parent, zip(docs, counts, dates, strict=True)), strict=True)
            )

    def find_chunks(self, id_prefix: str, limit: int, /) -> list[StoredChunk]:
        """Return chunks whose id starts with *id_prefix*."""
        with translate_errors("find a chunk"):
            query = Query.regex_query(self._schema, "chunk_id", f"{id_prefix}.*")
            hits = self._chunks.search(query, limit, count=False).hits
            return [payload_of(self._chunks.doc(address), "chunk") for _, address in hits]

    def doc_chunks(self, doc_id: str, /) -> list[StoredChunk]:
        """Return a document's chunks by ordinal."""
        with translate_errors("read a document's chunks"):
            query = Query.term_query(self._schema, "doc_id", doc_id, "basic")
            hits = self._chunks.search(query, _most(self._chunks), count=False).hits
            found = [payload_of(self._chunks.doc(address), "chunk") for _, address in hits]
        return sorted(found, key=lambda chunk: chunk["ordinal"])

    # ---------------------------------------------------------------- records

    def find_docs(self, id_prefix: str, limit: int, /) -> list[StoredDoc]:
        """Return documents whose id starts with *id_prefix*; aliases of moved files count."""
        pattern = Query.regex_query(self._records.schema, "doc_id", f"{id_prefix}.*")
        found: list[StoredDoc] = list(self._records.newest("doc", pattern, limit))
        if not found:
            # An alias that leads to itself says that there is none any more.
            aliases = self._records.newest("alias", pattern, limit)
            for alias in [alias for alias in aliases if alias["new"] != alias["old"]]:
                found += self.find_docs(alias["new"], limit)
        return found[:limit]

    def doc_text(self, doc_id: str, /) -> str | None:
        """Return a document's text."""
        query = Query.term_query(self._records.schema, "doc_id", doc_id, "basic")
        with translate_errors("read a text"):
            for address in self._records.addresses("text", query, 1):
                return self._records.text(address)[1].decode("utf-8", "surrogatepass")
        return None

    def texts(self, where: Filter | None, needs: Sequence[Sequence[str]], /) -> Iterator[TextBatch]:
        """Yield the texts of documents that pass *where*, but for some that lack a need."""
        places, shelf = self._texts, self._shelf
        keys = places.keys() if where is None else self._doc_keys(where) & places.keys()
        wanted = self._ids if where is None else {(key, places[key][0]) for key in keys}
        if missing := shelf.lacks(wanted):
            # Who asks again asks for other words: then it is cheaper to have read them all.
            for one in shelf.worth_reading(missing, self._mean_text):
                shelf.put(one, self._read_text(one[0]))
            if needs:
                wanted = {(key, places[key][0]) for key in self._holding(keys, needs)}
        batches = shelf.batches(wanted)
        yield from batches
        here = {key for batch in batches for key, _, _ in batch.spans}
        rest = sorted(one for one in wanted if one[0] not in here)
        are_few = 0 < len(rest) <= _SOME_DOCS
        size = sum(e - s for batch in batches for _, s, e in batch.spans) if are_few else 0
        for one in rest:
            text = self._read_text(one[0])
            size += len(text.data)
            # More than there is room for would leave nothing of what is there for the next one.
            shelf.put(one, text, instead=are_few and size <= shelf.room)
            yield batch_of([text])

    def count_docs(self, where: Filter | None, /) -> int:
        """Return how many documents pass *where*, without reading them."""
        return self._records.count("doc", where)

    def docs(self, where: Filter | None, /) -> Sequence[StoredDoc]:
        """Return documents that pass *where*, by source and path; read when taken."""
        return self._records.listed("doc", where)

    def docs_of(self, keys: Sequence[int], /) -> dict[int, StoredDoc]:
        """Return those documents that exist, by key; the last ones asked for are kept."""
        kept = self._docs_kept
        if missing := [key for key in keys if key not in kept]:
            for at in range(0, len(missing), _BATCH):
                part = OneOf("doc_key", tuple(missing[at : at + _BATCH]))
                rows = self._records.newest("doc", build_filter(self._records.schema, part))
                kept = {**kept, **{doc["doc_key"]: doc for doc in rows}}
        found = {key: kept[key] for key in keys if key in kept}
        blocks = sum(len(doc["blocks"]) for doc in kept.values())
        # Replaced, never changed: several threads may ask at once.
        self._docs_kept = kept if blocks <= _BLOCKS_KEPT else found
        return found

    def docs_called(self, names: Sequence[str], /) -> list[StoredDoc]:
        """Return documents that have one of these names, by source and path."""
        return self._docs_by("called", names)

    def docs_linking(self, names: Sequence[str], /) -> list[StoredDoc]:
        """Return documents with a link to something of one of these names."""
        return self._docs_by("links_to", names)

    def _docs_by(self, field: str, names: Sequence[str]) -> list[StoredDoc]:
        if not names:
            return []
        rows = self._records.newest("doc", one_of(self._records.schema, field, names))
        return sorted(rows, key=itemgetter("source_id", "path"))

    def files(self, where: Filter | None, /) -> Sequence[StoredFile]:
        """Return rows of the ledger, by source and path; read when taken."""
        return self._records.listed("file", where)

    def ledger(self, where: Filter | None, /) -> Ledger:
        """Return the rows of the ledger that pass *where*, summed up."""
        return self._records.ledger(where)

    # ---------------------------------------------------------------- private

    def _refuse_damage(self, what: str) -> None:
        if what in self.damage:
            raise damaged(self.damage[what])

    @cached_property
    def _sieve(self) -> Sieve:
        from kb_search.sifting import Sieve  # a search without a filter needs none

        return Sieve(self._schema, self._chunks, self._segments, self._counted)

    @cached_property
    def _records(self) -> Records:
        if self._record_part is None:
            raise damaged(self.damage["records"])
        from kb_search.records import Records  # a search by words reads passages alone

        return Records(self._record_part, self.control)

    def _ranked(
        self, query: Query, limit: int, found: dict[int, tantivy.DocAddress]
    ) -> list[tuple[float, int]]:
        """Return the best as negative scores and chunk keys, in the order of these.

        Where they are is noted in *found*.

        The search is deep enough that the cut at *limit* never splits a tie arbitrarily.
        """
        asked = limit + _SPARE
        while True:
            hits = self._chunks.search(query, asked, count=False).hits
            if not hits:
                return []
            given, addresses = zip(*hits, strict=True)
            scores = rounded(given)
            if len(hits) < asked or scores[limit - 1] > scores[-1]:
                break
            asked *= 4
        keys = self._numbers("chunk_key", list(addresses))
        found.update(zip(keys, addresses, strict=True))
        return sorted(zip(map(neg, scores), keys, strict=True))[:limit]

    def _sifted(
        self, query: Query | None, where: Filter, limit: int, found: dict[int, tantivy.DocAddress]
    ) -> list[tuple[float, int]] | None:
        """Return what ``_ranked`` does of those that pass *where*, where so many do.

        ``None`` where they are not known to be among those that are looked at.
        """
        share = 0.0 if query is None else self._sieve.share(where)
        if query is None or share < _SIFTED:
            return None
        asked = int((limit + _SPARE) / share * _MARGIN)
        if asked * _WORTH > self._counted.total:
            return None
        hits = self._chunks.search(query, asked, count=False).hits
        if not hits:
            return []
        given, at = zip(*hits, strict=True)
        scores, addresses = rounded(given), list(at)
        keys = self._numbers("chunk_key", addresses)
        passes = self._sieve.passing(where, keys, addresses)
        rows = list(compress(zip(map(neg, scores), keys, addresses, strict=True), passes))
        is_whole = len(hits) < asked or (len(rows) >= limit and rows[limit - 1][0] < -scores[-1])
        if not is_whole:
            return None
        found.update((key, address) for _, key, address in rows)
        return sorted((below, key) for below, key, _ in rows)[:limit]

    def _places(self, keys: Sequence[int]) -> dict[int, tantivy.DocAddress]:
        """Return where those chunks are that exist, by key, in the order of *keys*."""
        found, others = self._found, self._addresses
        told = list(map(found.get, keys))
        if all(told):  # a place is true, and comparing each with None asks the engine
            return dict(zip(keys, told, strict=True))  # type: ignore[arg-type] # none of them None
        if missing := [key for key in keys if key not in found and key not in others]:
            among = one_of(self._schema, "chunk_key", missing)
            hits = self._chunks.search(among, len(missing), count=False).hits
            addresses = [address for _, address in hits]
            if len(others) > _REMEMBERED:
                others = self._addresses = {}
            others.update(zip(self._numbers("chunk_key", addresses), addresses, strict=True))
        places = ((key, found.get(key) or others.get(key)) for key in keys)
        return {key: address for key, address in places if address is not None}

    def _numbers(self, field: str, addresses: list[tantivy.DocAddress]) -> list[int]:
        values: Any = self._chunks.fast_field_values(field, addresses)
        return [value or 0 for value in values]

    @cached_property
    def _signposts(self) -> frozenset[int]:
        """The keys of chunks that only name what stands elsewhere."""
        with translate_errors("find signposts"):
            return frozenset(self._keys_of(only(SIGNPOST, self._schema), _most(self._chunks)))

    def _blinders_of(self, model_key: str) -> Blinders | None:
        """Return what takes languages out of questions; ``None`` where one is all there is."""
        if model_key not in self._blinders:
            from kb_search.blinders import blinders_of  # not on the lexical path

            named, vectors = self.control.stats.get("lang_breakdown", {}), self._vectors[model_key]
            self._blinders[model_key] = blinders_of(
                vectors.view,
                vectors.files.model,
                named,
                lambda name: self._counted.frequency("lang", name),
                self._in_language,
            )
        return self._blinders[model_key]

    def _in_language(self, language: str, keys: Sequence[int] | int) -> list[int]:
        where = OneOf("lang", (language,))
        if not isinstance(keys, int):
            return list(compress(keys, self._sieve.passing(where, keys, ())))
        return self._keys_of(self._narrow(where), keys)

    def _narrow(self, where: Filter | None) -> Query:
        chunks = only("chunk", self._schema)
        if where is None:
            return chunks
        narrow = build_filter(self._schema, where)
        return Query.boolean_query([(Occur.Must, chunks), (Occur.Must, narrow)])

    def _keys(self, where: Filter) -> list[int]:
        return self._keys_of(self._narrow(where), _most(self._chunks))

    def _passing(self, where: Filter, keys: Sequence[int]) -> set[int]:
        known = self._places(keys)
        passes = self._sieve.passing(where, list(known), list(known.values()))
        return set(compress(known, passes))

    def _keys_of(self, query: Query, limit: int) -> list[int]:
        hits = self._chunks.search(Query.const_score_query(query, 1.0), limit, count=False).hits
        return self._numbers("chunk_key", [address for _, address in hits])

    @cached_property
    def _texts(self) -> Mapping[int, tuple[int, tantivy.DocAddress]]:
        """Where the text of each document is, by its key, and the sequence it is of."""
        with translate_errors("find texts"):
            addresses = self._records.addresses("text")
            keys = self._records.column("key", addresses)
            revs = self._records.column("rev", addresses)
        rows = zip(keys, revs, addresses, strict=True)
        found = {key: (rev, address) for key, rev, address in rows}
        self._shelf.keep_only((key, rev) for key, (rev, _) in found.items())
        return found

    @cached_property
    def _ids(self) -> frozenset[TextId]:
        """Which texts there are, as a shelf knows them."""
        return frozenset((key, sequence) for key, (sequence, _) in self._texts.items())

    @cached_property
    def _mean_text(self) -> float:
        """How long a text is, in characters: what was asked for is longer, and tells nothing."""
        stats: Mapping[str, Any] = self.control.stats
        return float(stats.get("text_chars", 0) / max(1, stats.get("doc_count", 0)))

    def _read_text(self, key: int) -> StoredText:
        from kb_core.stored import StoredText  # a search by words does not need it

        form, data = self._records.text(self._texts[key][1])
        return StoredText(key, data, form)

    def _doc_keys(self, where: Filter) -> set[int]:
        narrow = build_filter(self._records.schema, where)
        with translate_errors("filter documents"):
            return set(self._records.column("key", self._records.addresses("doc", narrow)))

    def _holding(self, keys: AbstractSet[int], needs: Sequence[Sequence[str]]) -> set[int]:
        """Return those of *keys* of which the index does not say that they lack a need."""
        with translate_errors("look for the words of a pattern"):
            known = self._told & keys
            for one in needs:
                known &= self._holding_any(one, len(known))
                if len(known) <= _FEW_DOCS:
                    break
            return known | (keys - self._told)

    @cached_property
    def _told(self) -> set[int]:
        """Which documents have all their words in the index."""
        whole = Query.term_query(self._records.schema, "state", WHOLE, "basic")
        return set(self._records.column("key", self._records.addresses("text", whole)))

    def _holding_any(self, literals: Sequence[str], among: int) -> set[int]:
        """Return what may hold one of *literals*, which is asked of so many documents."""
        found: set[int] = set()
        few = max(_FEW_DOCS, len(self._texts) // _OF_DOCS)
        for literal in literals:
            names, pairs = words_of(literal)
            quick = [query for words in names if (query := self._begun(words)) is not None]
            quick += [Query.term_query(self._schema, "cjk", pair) for pair in pairs[:_MOST_WORDS]]
            inner = {word.text for words in names for word in words if not word.is_begun}
            longest = sorted(inner, key=len, reverse=True)[: max(0, _MOST_WORDS - len(quick))]
            longest = longest if among > few else []
            if not (quick or longest):
                return set(self._texts)  # nothing that the index knows, or that is worth asking
            held: set[int] | None = None
            asked: list[Query | str] = [*quick, *longest]
            for number, part in enumerate(asked):
                if held is not None and len(held) <= (_FEW_DOCS if number < len(quick) else few):
                    break  # it takes less to look through them
                query = inside(self._schema, part) if isinstance(part, str) else part
                with_it = self._docs_with(query)
                held = with_it if held is None else held & with_it
            found |= held or set()
        return found

    def _begun(self, words: Sequence[Word]) -> Query | None:
        """Return the query for chunks with a name that has these words: those known to begin."""
        queries = [
            Query.term_query(self._schema, "exact", word.text, "basic")
            if word.is_ended
            else beginning(self._schema, word.text)
            for word in words
            if word.is_begun
        ]
        return all_of(queries) if queries else None

    def _docs_with(self, query: Query) -> set[int]:
        hits = self._chunks.search(
            Query.const_score_query(query, 1.0), _most(self._chunks), count=False
        ).hits
        return set(self._numbers("doc_key", [address for _, address in hits]))


def _most(searcher: tantivy.Searcher) -> int:
    return max(1, searcher.num_docs)
