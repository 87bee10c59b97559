"""A search from question to answer, over one snapshot.

Both channels give candidates; the lists are fused; perhaps the first rows are read
again and reordered; a page is cut out of the list, shown, and made to fit its budget.
Every page of a query is cut from the same list: the pool of candidates does not depend
on the page, and a cursor carries what tells whether a list is still the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from kb_app._data_dir import DataDir
from kb_app._search.channels import (
    Channel,
    Deadline,
    Late,
    Proposals,
    Stopwatch,
    dated,
    propose,
)
from kb_app._search.confidence import confidence_of
from kb_app._search.filtering import compile_filters, filter_warnings
from kb_app._search.hits import Renderer
from kb_app._search.page import (
    Cursor,
    Delivery,
    Question,
    State,
    asked_beside,
    deliver,
    with_about,
)
from kb_app._search.query import ParsedQuery, check_query, missing_of, parse_query
from kb_app._search.ranking import (
    LeftOut,
    Row,
    in_order,
    joined,
    limited,
    list_digest,
    page_of,
    parted,
    rank_proposals,
    reordered,
    repeats,
)
from kb_app._search.settings import SearchSettings, search_settings
from kb_app._search.trace import trace_of
from kb_core.clock import to_epoch
from kb_core.errors import KbError
from kb_core.filters import Filter, all_of
from kb_core.media import Media, SearchMode
from kb_core.search import (
    Clause,
    LexicalQuery,
    Missing,
    SearchQuery,
    SearchResponse,
    Trace,
)
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from threading import Event

    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.dates import DateAsked
    from kb_core.ports import IndexSnapshot, Reranker

__all__ = ["Engine", "RankedList", "open_engine", "pool_size"]

_FACETS = (
    ("media", "media"),
    ("lang", "lang"),
    ("code_lang", "code_lang"),
    ("source", "source_id"),
    ("repo", "repo"),
)
"""Filters whose values are counted, and where a chunk has them."""
_SEVERAL, _OFTEN = 2, 0.01
"""Languages from which on texts may be translations of each other, of so many of all documents."""
_NO_LANGUAGE = frozenset({"null", "und"})
_DECIDED = 0.6
"""The confidence from which nothing is read closely: a third of the questions of nineteen
collections, half of those that are easy, and no order gets worse. From .5 to .7 it is the same."""
_HARDLY, _A_SENTENCE = 0.25, 4
"""The share of a query's words below which it may be in a language that no passage is in, and
the words that it has at least: fewer are names that nobody mentions."""
_TELLS_LITTLE, _TELLS_AS_ANY = 0.05, 1.0
"""To close reading: what every passage says, and a sign of Chinese or Korean that stands alone,
which the index knows in pairs; 1 is about what a third of all passages hold."""
_A_PAGE, _READ_FOR_REPEATS = 10, 20
"""First rows of a list of which it is seen whether one says what another does: those that most
pages show, which are read anyway, and where one of these does, twice as many."""
_POOL_FACTOR = 5
_POOL_MIN = 100


def pool_size(k: int) -> int:
    """Return how many candidates each channel gives for pages of *k* hits."""
    return max(_POOL_FACTOR * k, _POOL_MIN)


def open_engine(
    snapshot: IndexSnapshot,
    config: Config,
    parts: Parts,
    stop: Event | None = None,
    *,
    quiet: bool = True,
) -> Engine:
    """Return what answers at the state of *snapshot*, with the models of *parts*.

    Unless *quiet*, the job that is running is asked for the vectors that a query lacks.
    """
    return Engine(
        snapshot,
        search_settings(config, *parts.model_or_absence()),
        embed=lambda text: parts.embedder().embed_query(text),
        reranker=parts.reranker,
        now=to_epoch(parts.clock()),
        stop=stop,
        wish=None if quiet else partial(_leave_wish, config),
    )


def _leave_wish(config: Config, chunk_keys: Sequence[int]) -> None:
    from kb_app.jobs import leave_wish  # only while not all passages have vectors

    leave_wish(DataDir(config.storage.data_dir), chunk_keys)


@dataclass(slots=True)
class _Run:
    """One search on its way."""

    query: SearchQuery
    parsed: ParsedQuery
    where: Filter | None
    wanted: Channel
    offset: int
    pool: int
    per_doc: int
    question: Question
    deadline: Deadline
    watch: Stopwatch
    cursor: Cursor | None = None
    remarks: tuple[str, ...] = ()
    dates: tuple[DateAsked, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedList:
    """The whole list of one query, of which a page can be shown."""

    run: _Run
    proposals: Proposals
    fused: Sequence[Row]
    """Before anything was reranked, as the trace shows it."""
    rows: Sequence[Row]
    """Best first; order among equals is not final yet."""
    left_out: list[LeftOut]
    """What is not among *rows* since its document has enough there."""


class Engine:
    """Answers queries at the state that one snapshot holds.

    *embed* gives a query's vector and *reranker* what reorders the first rows; both load
    a model when first called. When *stop* is set, nobody waits for the answer any more, and
    nothing more is read with a model for it. Chunks are read once for all queries of an
    engine, which lives as long as one call and serves one thread. *wish* is told which chunks
    a query would be answered better with, if they had a vector.
    """

    def __init__(  # noqa: PLR0913 - the parts of a search
        self,
        snapshot: IndexSnapshot,
        settings: SearchSettings,
        *,
        embed: Callable[[str], bytes],
        reranker: Callable[[], Reranker],
        now: int,
        stop: Event | None = None,
        wish: Callable[[Sequence[int]], None] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.settings = settings
        self.embed = embed
        self._stop = stop
        self._reranker = reranker
        self._now = now
        self._wish = wish
        self.renderer = Renderer(
            snapshot,
            now=now,
            stale_days=settings.stale_threshold_days,
            model_key=settings.model_key,
        )

    def search(self, query: SearchQuery) -> SearchResponse:
        """Answer one query; no match is an answer."""
        return self.answer(self.ranking(query))

    def answer(self, ranking: RankedList) -> SearchResponse:
        """Return the page of a ranking that its query asks for."""
        run, rows, left_out = ranking.run, ranking.rows, ranking.left_out
        return self._answer(ranking, self._delivery(run, rows, ranking.proposals, left_out))

    def ranking(
        self,
        query: SearchQuery,
        where: Filter | None = None,
        *,
        by_role: bool = True,
        depth: int = 0,
    ) -> RankedList:
        """Return the whole list of a query, narrowed further by *where*; nothing is shown yet.

        *by_role*, code stands in the order of what it is, too. Its proposals keep what each
        channel has down to *depth*. ``StaleCursor`` if the query has the cursor of another list.
        """
        run = self._begin(query)
        run.where = all_of([run.where, where])
        proposals = propose(
            self.snapshot,
            run.parsed,
            run.where,
            run.pool,
            wanted=run.wanted,
            settings=self.settings,
            embed=self.embed,
            deadline=run.deadline,
            depth=depth,
        )
        if self._wish is not None and proposals.waiting:
            self._wish(proposals.waiting)
        run.watch.lap()
        fused = self.rank(proposals, query, run.dates)
        run.watch.fusion_secs = run.watch.lap()
        placed = self._by_role(run, self._in_its_language(run, fused)) if by_role else fused
        rows = self._repeats_later(run, self._rerank(run, placed, proposals))
        ranking = RankedList(run, proposals, fused, *self.limited(rows, run.per_doc))
        if run.cursor is not None:
            hits = list_digest(ranking.rows, run.offset, self.renderer.places)
            run.cursor.check(hits, self._state(run.wanted), proposals.degraded)
        return ranking

    def facets(self, ranking: RankedList) -> dict[str, dict[str, int]]:
        """Count the values to filter by among all rows of a ranking, by the names of filters."""
        chunks = self.renderer.chunks([row.chunk_key for row in ranking.rows]).values()
        counted = {name: Counter(chunk.get(key) for chunk in chunks) for name, key in _FACETS}
        return {
            name: {str(v): n for v, n in counts.items() if v} for name, counts in counted.items()
        }

    def without_hits(self, ranking: RankedList) -> SearchResponse:
        """Return what there is to say of a list beside its hits, which are shown elsewhere."""
        delivery = self._delivery(ranking.run, (), ranking.proposals)
        return self._answer(ranking, replace(delivery, remarks_at_end=tuple))

    def _answer(self, ranking: RankedList, delivery: Delivery) -> SearchResponse:
        run = ranking.run
        response = deliver(delivery, self.renderer, self.snapshot.control)
        if self.settings.about:
            response = with_about(response, self.settings.about, run.query.max_tokens)
        run.watch.read_secs = run.watch.lap()
        if run.query.trace:
            response = replace(response, trace=self._trace(ranking))
        return replace(response, elapsed_ms=run.watch.total_secs * 1000)

    def _trace(self, ranking: RankedList) -> Trace:
        run, relaxed = ranking.run, None
        story = trace_of(self.renderer, ranking.proposals, ranking.fused, run.query.mode, run.watch)
        if Channel.LEXICAL in ranking.proposals.ran:
            relaxed = self.snapshot.relaxation(run.parsed.lexical)
        return replace(story, relaxation=relaxed, dates=run.dates)

    def rank(
        self, proposals: Proposals, query: SearchQuery, dates: Sequence[DateAsked] = ()
    ) -> Sequence[Row]:
        """Return the union of the proposals, best first, as the settings have it."""
        return rank_proposals(
            proposals,
            query,
            fusion=self.settings.fusion,
            rrf_k=self.settings.rrf_k,
            parents=self.snapshot.parents,
            dates=dates,
        )

    def limited(self, rows: Sequence[Row], per_doc: int) -> tuple[Sequence[Row], list[LeftOut]]:
        """Return the list with at most *per_doc* rows of a document, and what that left out."""
        if not per_doc:
            return rows, []
        known = self.snapshot.parents([row.chunk_key for row in rows])
        there = [row for row in rows if row.chunk_key in known]
        counted = Counter(known[row.chunk_key].doc_key for row in there)
        full = {doc_key for doc_key, count in counted.items() if count > per_doc}
        if not full:
            return there, []  # nothing is left out, and nothing has to be read for it
        ordered = page_of(there, 0, len(there), self.renderer.places)
        docs = [known[row.chunk_key].doc_key for row in ordered]
        one_of = {doc: row.chunk_key for doc, row in zip(docs, ordered, strict=True) if doc in full}
        chunks = self.renderer.chunks(list(one_of.values()))
        ids = {doc: chunks[key]["doc_id"] for doc, key in one_of.items()}
        return limited(ordered, [ids.get(doc) or str(doc) for doc in docs], per_doc)

    def _begin(self, query: SearchQuery) -> _Run:
        watch, deadline = Stopwatch(), Deadline(query.deadline_ms)
        parsed = parse_query(query.text)
        check_query(parsed, query.text)
        where = all_of([parsed.where, compile_filters(query.filters, self.snapshot)])
        wanted = Channel.of(query.mode)
        if self.settings.rerank if query.rerank is None else query.rerank:
            wanted |= Channel.RERANK
        question = self.question(query, wanted)
        pool, most = pool_size(query.k), query.per_doc or 0
        run = _Run(query, parsed, where, wanted, 0, pool, most, question, deadline, watch)
        run.parsed, run.dates = self._dated(query, parsed)
        if query.cursor is not None:
            _go_on(run, Cursor.decode(query.cursor, question, query.per_doc))
        return run

    def _dated(
        self, query: SearchQuery, parsed: ParsedQuery
    ) -> tuple[ParsedQuery, tuple[DateAsked, ...]]:
        if self.settings.fusion == "rrf" or query.mode is SearchMode.VECTOR:
            return parsed, ()
        return dated(parsed, self.snapshot, self._now)

    def meant(self, query: SearchQuery) -> str:
        """Return what of a query is embedded, where it is: its text without filters and dates."""
        return self._dated(query, parse_query(query.text))[0].meant

    def question(self, query: SearchQuery, wanted: Channel, **more: str) -> Question:
        """Return all that decides the order of the list, but for what is indexed."""
        settings = self.settings
        fusion = settings.fusion, settings.rrf_k, settings.model_key
        rest = asked_beside(query.mode.value, query.filters, int(wanted), *fusion)
        return Question.of({"text": query.text, **rest, **more}, self.snapshot.control)

    def _state(self, channels: Channel) -> State:
        return State.of(self.snapshot.control, channels)

    def _in_its_language(self, run: _Run, rows: Sequence[Row]) -> Sequence[Row]:
        """Return *rows*, of texts in several languages that in the question's language first.

        Not where all is in one language, nor where nothing is to count but ranks, or nearness.
        """
        if self._is_by_one(run) or not rows or not self._has_several_languages():
            return rows
        from kb_app._search.roles import STEP
        from kb_app._search.translations import in_its_language  # for several languages

        head, rest = parted(rows, STEP, self.renderer.places)
        chunks = self.renderer.chunks([row.chunk_key for row in head])
        return joined(in_its_language(head, chunks, run.query.text), rest)

    def _has_several_languages(self) -> bool:
        counts: Mapping[str, int] = self.snapshot.control.stats.get("lang_breakdown") or {}
        enough = _OFTEN * sum(counts.values())
        known = (count for lang, count in counts.items() if lang not in _NO_LANGUAGE)
        return sum(count >= enough for count in known) >= _SEVERAL

    def _by_role(self, run: _Run, rows: Sequence[Row]) -> Sequence[Row]:
        """Return *rows*, the first of them that are code in the order of what they are, too.

        Not where nothing is to count but ranks, or nearness.
        """
        if self._is_by_one(run) or not rows:
            return rows
        if not (self.snapshot.control.stats.get("media_breakdown") or {}).get(Media.CODE.value):
            return rows
        from kb_app._search.roles import (  # for code
            DEPTH,
            STEP,
            in_their_places,
            is_enough,
            mostly_code,
        )

        is_mostly_code, depth = mostly_code(self.snapshot), STEP
        while True:
            head, rest = parted(rows, depth, self.renderer.places)
            chunks = self.renderer.chunks([row.chunk_key for row in head])
            if depth >= DEPTH or not rest or is_enough(chunks.values(), is_mostly_code):
                break
            depth += STEP
        return joined(in_their_places(head, chunks, run.query.text, is_mostly_code), rest)

    def _rerank(self, run: _Run, rows: Sequence[Row], proposals: Proposals) -> Sequence[Row]:
        """Return *rows* with the first of them reordered, or as they are if that is too late.

        All first rows are read or none: half a list in a new order is no order at all. Where
        the first one answers nearly for sure, none is read.
        """
        if Channel.RERANK not in run.wanted or not rows or self._is_decided(run, proposals):
            return rows
        from kb_search.rerank import DEPTH  # numpy: not on the lexical path

        started = time.perf_counter()
        head, rest = parted(rows, DEPTH, self.renderer.places)
        chunks = self.renderer.chunks([row.chunk_key for row in head])
        passages = [chunks[row.chunk_key]["text"] for row in head]
        work = run.deadline.start(lambda: self._read(run, passages))
        try:
            scores = work()
        except Late:
            scores = None
        except KbError as error:
            proposals.degraded.append(f"rerank: {error}")
            return rows
        finally:
            proposals.rerank_secs = time.perf_counter() - started
        if scores is None:
            proposals.leave_out(Channel.RERANK, run.deadline)
            return rows
        proposals.ran |= Channel.RERANK
        known = proposals.basis.known
        return reordered(head, scores, rest, 1.0 if known is None else known.share)

    def _repeats_later(self, run: _Run, rows: Sequence[Row]) -> Sequence[Row]:
        """Return *rows*, of those that say the same in several files one before all others.

        Not where nothing is to count but ranks, or nearness.
        """
        if self._is_by_one(run) or not self._repeated(run, rows[:_A_PAGE]):
            return rows
        head, rest = parted(rows, _READ_FOR_REPEATS, self.renderer.places)
        again = self._repeated(run, head)
        order = in_order(head, sorted(range(len(head)), key=again.__contains__))
        return joined(order, rest)

    def _repeated(self, run: _Run, head: Sequence[Row]) -> set[int]:
        """Return which of the first rows of a list say what another one does."""
        chunks = self.renderer.chunks([row.chunk_key for row in head])
        again = set[int]()
        if any(chunk["code_lang"] for chunk in chunks.values()):
            from kb_app._search.translations import of_other_languages  # for messages of programs

            again = of_other_languages(head, chunks, run.query.text)
        return again | repeats(head, chunks, but=again)

    def _is_by_one(self, run: _Run) -> bool:
        return self.settings.fusion == "rrf" or run.query.mode is SearchMode.VECTOR

    def _is_decided(self, run: _Run, proposals: Proposals) -> bool:
        if run.query.mode is not SearchMode.HYBRID:  # what a single channel is sure of is less sure
            return False
        return (confidence_of(proposals, run.wanted, self.settings.model_key) or 0.0) >= _DECIDED

    def _read(self, run: _Run, passages: Sequence[str]) -> Sequence[float] | None:
        def stop() -> bool:
            return run.deadline.is_over() or (self._stop is not None and self._stop.is_set())

        read = self._reranker().rerank
        return read(run.parsed.text, passages, telling=self._telling, stop=stop)

    def _telling(self, word: str) -> float:
        """Return what a word tells: about its BM25 weight in the whole index."""
        known = self.snapshot.known_words(LexicalQuery((Clause(word),))).words
        weights = [one.weight for one in known]
        return max(_TELLS_LITTLE, sum(weights) / len(weights)) if weights else _TELLS_AS_ANY

    def _delivery(
        self,
        run: _Run,
        rows: Sequence[Row],
        proposals: Proposals,
        left_out: Sequence[LeftOut] = (),
    ) -> Delivery:
        channels = run.wanted & ~proposals.late
        known = proposals.basis.known
        read_as = known.read_as if known is not None else ()

        @cache
        def cursor_at(offset: int) -> str:
            return Cursor(
                offset=offset,
                pool=run.pool,
                per_doc=run.per_doc,
                channels=channels,
                hits=list_digest(rows, offset, self.renderer.places),
                question=run.question,
                state=self._state(channels),
            ).encode()

        return Delivery(
            query=run.query,
            rows=rows,
            offset=run.offset,
            left_out=left_out,
            highlight=" ".join([run.query.text, *(word for _, word in read_as)]),
            cursor_at=cursor_at,
            remarks_at_end=lambda: self._beyond_the_pool(run, proposals),
            degraded=(*proposals.degraded, *run.remarks),
            warnings=(
                *filter_warnings(run.query.filters, self.snapshot, found=bool(rows)),
                *(f"no passage holds {word!r}; read as {other!r}" for word, other in read_as),
                *self._unheard(run, proposals),
            ),
            stages=None if run.query.deadline_ms is None else proposals.stages,
            confidence=confidence_of(proposals, run.wanted, self.settings.model_key),
            missing=self._missing(run) if run.query.passages else None,
        )

    def _unheard(self, run: _Run, proposals: Proposals) -> tuple[str, ...]:
        """Say that hardly a word of a query stands anywhere, where it was asked by words alone.

        Of what has no word at all that is said wherever words are looked up.
        """
        if Channel.LEXICAL in proposals.ran and not any(map(str.isalnum, run.query.text)):
            return ("signs alone are not looked up: grep finds them as they stand",)
        if proposals.ran & (Channel.LEXICAL | Channel.VECTOR) is not Channel.LEXICAL:
            return ()
        if not self.snapshot.control.stats.get("chunk_count"):
            return ()
        known = proposals.basis.known or self.snapshot.known_words(run.parsed.lexical)
        if known.share >= _HARDLY or len(known.words) < _A_SENTENCE or known.read_as:
            return ()
        files = self.snapshot.control.vectors.get(self.settings.model_key or "")
        way = "mode hybrid reads" if files and files.rows else "'kebab embed' lets mode hybrid read"
        holds = "hardly a word" if known.share else "no word"
        return (f"passages hold {holds} of this query: if it is in another language, {way} that",)

    def _missing(self, run: _Run) -> Missing | None:
        return missing_of(self.snapshot, run.query.text, run.parsed.text, run.where)

    def _beyond_the_pool(self, run: _Run, proposals: Proposals) -> tuple[str, ...]:
        """Say that more passages match than the channels were asked for (ruling R14)."""
        full = any(len(found) >= run.pool for found in (proposals.lexical, proposals.vector))
        if not full or not self._is_cut(run, proposals):
            return ()
        limit = f"the list ends with the best {run.pool} candidates of each channel"
        return (f"{limit}, and more passages match: ask more precisely, or for more at once",)

    def _is_cut(self, run: _Run, proposals: Proposals) -> bool:
        if len(proposals.vector) >= run.pool:
            return self.snapshot.count(run.where) > run.pool
        return len(self.snapshot.lexical(run.parsed.lexical, run.where, run.pool + 1)) > run.pool


def _go_on(run: _Run, cursor: Cursor) -> None:
    """Make *run* a later page of the list that *cursor* is of.

    What took part in the list was in time for it, and is waited for.
    """
    run.cursor, run.deadline = cursor, Deadline(None)
    run.offset, run.pool, run.per_doc = cursor.offset, cursor.pool, cursor.per_doc
    missing = run.wanted & ~cursor.channels
    run.wanted &= cursor.channels
    run.remarks = tuple(
        f"{channel.label}: took no part in the list that this cursor goes on with"
        for channel in Channel
        if channel in missing
    )
