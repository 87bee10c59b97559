"""The facade: everything a user interface may do, and nothing else.

Opening a knowledge base is cheap: it reads and loads nothing. A search by words loads
neither numpy nor a model; nothing but writing opens the store.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from kb_app._answering import Answering
from kb_app._by_models import ByModels
from kb_app._following import Following, answerable
from kb_app._keeping import Keeping
from kb_app._measuring import Measuring
from kb_app._pinned import is_pinned, refuse_pinned, seen_sources
from kb_app._texts import Texts
from kb_core.clock import to_epoch
from kb_core.errors import IndexCorrupt, KbError, NotIndexed, ReadonlyMode
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery, SearchResponse
from kb_core.values import replace

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kb_app._ask.asking import Asking
    from kb_app._ingest.pipeline import Run
    from kb_app._parts import Parts
    from kb_app._search.engine import Engine
    from kb_app._search.hits import Freshness
    from kb_app.config import Config
    from kb_app.editors import FilePlace
    from kb_app.jobs import Jobs
    from kb_app.preferences import Preferences
    from kb_core.ingest import IngestEvent, IngestOptions
    from kb_core.ports import IndexReader, IndexSnapshot
    from kb_core.search import AggregatedResponse, Outcome
    from kb_core.wire import types

__all__ = ["KnowledgeBase"]

Json = dict[str, Any]
Stop = threading.Event


class KnowledgeBase(Texts, Answering, ByModels, Measuring, Keeping, Following):
    """An open knowledge base.

    Get one with ``KnowledgeBase.open(config)``. Methods block, may be called from any
    thread, and raise only ``KbError``; what they return is plain values, safe to keep
    after ``close()``. Operations that are their wire object return it as a dictionary.
    Every answer is of one published revision, the newest when it was asked for.
    """

    def __init__(self, config: Config, parts: Parts, *, readonly: bool = False) -> None:
        self._config = seen_sources(config)
        self._parts = parts
        self._readonly = readonly or is_pinned(config)

    @classmethod
    def open(cls, config: Config, *, readonly: bool = False) -> Self:
        """Open the knowledge base that *config* describes, there yet or not."""
        from kb_app._wiring import parts_of

        return cls(config, parts_of(config), readonly=readonly)

    @property
    def readonly(self) -> bool:
        """Whether writing is refused."""
        return self._readonly

    @property
    def is_working(self) -> bool:
        """Whether work that nobody waits for still runs on a thread."""
        from kb_app._search.channels import is_working

        return is_working()

    def stay(self) -> None:
        """Say that this process stays when a call has ended, and others will come.

        What is worth doing meanwhile may be done then; a knowledge base has nothing to do.
        """

    def leave(self) -> None:
        """Say that no call will come: what is done meanwhile ends, and ``is_working`` if not."""

    def preferences(self) -> Preferences:
        """Return what an interface needs of the configuration; reads nothing."""
        from kb_app.preferences import preferences_of

        return preferences_of(self._config)

    def recent_queries(self) -> tuple[str, ...]:
        """Return what was searched for in the terminal before, the newest first."""
        from kb_app import _queries

        return () if is_pinned(self._config) else _queries.recent(self._config)

    def keep_queries(self, queries: Sequence[str]) -> None:
        """Keep *queries*, the newest last, as far as the settings wish; read-only, none."""
        from kb_app import _queries

        if not self._readonly:
            _queries.keep(self._config, queries)

    # ---------------------------------------------------------------- reading

    def search(self, query: SearchQuery, *, stop: Stop | None = None) -> SearchResponse:
        """Return the best passages for *query*, best first; *stop* says that nobody waits."""
        self.expect(query)
        return self._engine(stop).search(query)

    def expect(self, query: SearchQuery) -> None:
        """Let the model open and read *query* beside what is done before it is searched for.

        Once in the life of a knowledge base, and not where an answer may come without it.
        """
        if query.mode is not SearchMode.LEXICAL and query.deadline_ms is None:
            self._parts.embed_ahead(" ".join(query.text.split()))

    def facets(self, query: SearchQuery) -> dict[str, dict[str, int]]:
        """Return how often each value to filter by occurs among all candidates of *query*.

        By ``media``, ``lang``, ``code_lang``, ``source`` and ``repo``, the names of filters.
        """
        return (engine := self._engine()).facets(engine.ranking(query))

    def search_many(
        self, queries: Sequence[SearchQuery | KbError], *, stop: Stop | None = None
    ) -> Generator[Outcome, None, None]:
        """Yield what becomes of each query, in order: what ``search`` returns, or its error.

        All are answered at one revision. A query that is an error already stays one, so
        that a list of inputs keeps its order. Closing the generator ends the work.
        ``InvalidInput`` for more than ``kb_core.search.MAX_QUERIES``.
        """
        from kb_app._search import bulk

        asked = bulk.checked(queries)  # before there has to be an index
        return bulk.search_many(self._engine(stop), asked)

    def search_aggregated(
        self,
        queries: Sequence[SearchQuery | KbError],
        *,
        k: int | None = None,
        per_doc: int | None = None,
        max_tokens: int | None = None,
        asked: Sequence[Mapping[str, Any]] | None = None,
        stop: Stop | None = None,
    ) -> AggregatedResponse:
        """Return one list for all queries: the best *k*, by default the most that one asks for.

        *per_doc* bounds the hits of one document, *max_tokens* the bulk_search_response.v1 that
        ``wire`` makes with *asked*, the queries as they came; its traces do not count.
        """
        from kb_app._search.aggregate import search_aggregated

        shape = {"k": k, "per_doc": per_doc, "max_tokens": max_tokens}
        return search_aggregated(self._engine(stop), queries, asked=asked, **shape)

    def codebase_search(
        self, request: Mapping[str, Any], *, passages: bool = False
    ) -> types.CodebaseSearchResponse:
        """Return codebase_search_response.v1: one list of code for one or several queries.

        *request* has ``query`` or ``queries`` (texts, or objects of ``query`` and
        ``path``), and perhaps ``path`` and ``maxResults``.
        """
        from kb_app._search.codebase import codebase_search

        most = self._config.codebase_search.max_results
        return codebase_search(self._engine(), request, max_results=most, passages=passages)

    def cite(self, uri: str, *, source: str | None = None) -> types.FetchResult:
        """Return fetch_result.v1 of what the URI of a citation points at, as it was indexed.

        *source* says which is meant of several sources that have its path.
        """
        from kb_app._citing.resolving import cite

        snapshot = self._snapshot()
        return cite(snapshot, uri, source, self._freshness(snapshot))

    def verify_citations(
        self, items: Iterable[str | Mapping[str, Any]], *, source: str | None = None
    ) -> types.CitationCheck:
        """Return citation_check.v1: whether citations still say the same, as files are now.

        An item is a URI, a citation with its ``content_hash``, a search hit, or a search
        response. *source* is that of items which name none.
        """
        from kb_app._citing.verifying import verify

        return verify(self._snapshot(), self._config, items, source)

    def locate(self, uri: str, *, source: str | None = None) -> FilePlace:
        """Return the file that a citation points into, and the line or page to open it at.

        The line is where the text stands now. ``IoError`` if the file is not there.
        """
        from kb_app._citing.files import Files
        from kb_app._citing.resolving import locate

        snapshot = self._snapshot()
        return locate(snapshot, uri, source, Files(snapshot, self._config))

    def similar(self, origin: str, query: SearchQuery | None = None) -> SearchResponse:
        """Return neighbours of a chunk or document (an id, or a path) in other documents.

        Of *query* the page counts: ``k``, filters, budget, cursor, snippets.
        """
        from kb_app._search.lookup import origin_of
        from kb_app._search.similar import similar

        engine = self._engine()
        asked = query or SearchQuery(text=origin or " ")
        return similar(engine, origin_of(engine.snapshot, origin), asked)

    def shared_paths(self, paths: Iterable[str]) -> frozenset[str]:
        """Return those of *paths* that several sources have: they need their source beside them."""
        with suppress(NotIndexed, IndexCorrupt):
            snapshot = self._reader.snapshot()
            if len(snapshot.control.sources) > 1:
                from kb_app._search.lookup import shared_paths

                return shared_paths(snapshot, paths)
        return frozenset()

    def explain_miss(self, doc: str, query: SearchQuery) -> types.ExplainMiss:
        """Return explain_miss.v1: why a document (an id, or a path) is not among the hits."""
        self.expect(query)
        from kb_app._search.explaining import explain_miss

        return explain_miss(self._engine(), query, doc)

    def list_docs(
        self, filters: SearchFilters, *, limit: int = 100, offset: int = 0
    ) -> types.DocSummaryList:
        """Return doc_summary_list.v1: documents by source and path; empty where there are none."""
        from kb_app import _reading

        return _reading.list_docs(self._snapshot_or_none(), filters, limit, offset)

    def links(
        self, doc: str, *, backlinks: bool = False, limit: int = 100, offset: int = 0
    ) -> types.LinkList:
        """Return link_list.v1: where links of a document lead, or which of others lead to it."""
        from kb_app._search import linking

        listed = linking.links_in if backlinks else linking.links_out
        return listed(self._snapshot(), doc, limit, offset)

    def inspect_doc(self, doc_id: str) -> types.DocInspection:
        """Return doc_inspection.v1."""
        from kb_app import _reading

        return _reading.inspect_doc(self._snapshot(), doc_id)

    def inspect_chunk(self, chunk_id: str) -> types.ChunkInspection:
        """Return chunk_inspection.v1."""
        from kb_app import _reading

        return _reading.inspect_chunk(self._snapshot(), chunk_id)

    def status(
        self,
        path_glob: str | None = None,
        state: str | None = None,
        *,
        changed_since: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> types.FileStatus:
        """Return file_status.v1: what became of every file, and why; with *limit*, a page.

        *changed_since*, a date or an RFC 3339 time, leaves what has changed from then on.
        """
        from kb_app import _reading
        from kb_core import wire

        snapshot = self._snapshot_or_none()
        if snapshot is None:
            return wire.file_status([], _reading.coverage_of(None, self._parts))
        where = (snapshot, path_glob, state, changed_since, self._parts)
        found = _reading.status(*where, limit=limit, offset=offset)
        return {**found, "freshness": self._fresh(snapshot.control.sources)}

    def chunks_of(self, doc_id: str) -> list[types.ChunkInspection]:
        """Return a document's chunks in order, each as in chunk_inspection.v1."""
        from kb_app import _reading

        return _reading.chunks_of(self._snapshot(), doc_id)

    def jobs(self) -> Jobs:
        """Return the run that some process is at, and past runs, newest first."""
        from kb_app.jobs import Jobs, jobs

        found = jobs(self._config.storage.data_dir, self._snapshot_or_none())
        return Jobs(None, ()) if is_pinned(self._config) else found  # it names files of all

    def schema(self) -> types.Schema:
        """Return schema.v1: what this installation can do, and what it holds."""
        from kb_app import _operations

        return _operations.schema(self._config, self._parts, self._snapshot_or_none())

    def stats(self) -> types.Stats:
        """Return stats.v1."""
        from kb_app import _operations

        return _operations.stats(self._config, self._snapshot_or_none(), self._now())

    def models(self) -> types.ModelList:
        """Return model_list.v1."""
        from kb_app import _operations

        return _operations.models(self._config, self._snapshot_or_none())

    def doctor(self, *, deep: bool = False) -> types.Doctor:
        """Return doctor.v1; *deep* opens the store, waiting for a writer for a bounded time."""
        from kb_app import _operations
        from kb_app._examining import check_deep
        from kb_app._keep.bringing_back import checks

        if deep:
            refuse_pinned(self._config, "doctor --deep")
        self.sources()  # one that was added since this process began is not left over
        kept = checks(self._config, self._parts.clock, deep=deep)
        read = check_deep(self._config, self._parts) if deep else ()
        return _operations.doctor(self._config, self._parts, self._snapshot, kept, read)

    def sources(self) -> list[tuple[str, str]]:
        """Return the sources, id and folder, as the configuration has them now.

        What runs from here on knows one that another program has added meanwhile.
        """
        from kb_app.config import with_sources_of_now

        self._config = seen_sources(with_sources_of_now(self._config))
        return [(source.id, str(source.root)) for source in self._config.sources]

    def preview_source(
        self,
        root: str,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        follow_links: bool = False,
    ) -> Json:
        """Return what the folder *root* holds, before anything of it is read.

        ``kinds`` counts what would be read, ``left_alone`` what would not, by reason; of a
        tree too large to be seen at once, ``complete`` is false. ``InvalidInput`` for no folder.
        """
        from kb_app import _operations

        refuse_pinned(self._config, "looking at a folder")
        return _operations.preview_source(self._config, root, include, exclude, follow_links)

    # ---------------------------------------------------------------- writing

    def ingest(self, options: IngestOptions, *, stop: Stop | None = None) -> Iterator[IngestEvent]:
        """Index what is new or changed; yield what happens.

        The last event, ``completed`` or ``aborted``, carries the report. Setting *stop*
        ends the run after the current batch; closing the iterator ends it at once. Either
        way whole documents stay behind, and the next run goes on.
        """
        self._refuse_readonly("ingest")
        from kb_app._ingest.run import ingest

        return ingest(self._config, options, self._parts, stop or threading.Event())

    def ingest_file(
        self, path: str, *, embed: bool = True, stop: Stop | None = None
    ) -> Iterator[IngestEvent]:
        """Add one file, or what has changed of it; events as of ``ingest``.

        A file that a source takes is indexed there, in place. Of any other the bytes are
        kept, so it can be indexed again and is never swept: it belongs to the source
        ``_added``, under its absolute path.
        """
        self._refuse_readonly("ingest-file")
        from kb_app._ingest.single import add_file

        run = self._run_for_one(embed=embed, stop=stop)
        return add_file(self._config, path, self._parts, run)

    def ingest_text(
        self,
        text: str,
        *,
        title: str,
        source_uri: str | None = None,
        media: str = "markdown",
        embed: bool = True,
        stop: Stop | None = None,
    ) -> Iterator[IngestEvent]:
        """Add a text as a document of its own, or replace it; events as of ``ingest``.

        It is kept like a file of ``ingest_file``, under *source_uri*, else under a slug of
        *title*. *media* is ``markdown`` or ``text``.
        """
        given = {"text": text, "title": title, "source_uri": source_uri, "media": media}
        return self._add_text(given, embed=embed, stop=stop)

    def remove_added(self, key: str, *, stop: Stop | None = None) -> Iterator[IngestEvent]:
        """Remove a document that was added by itself; events as of ``ingest``.

        *key* is its path in the source ``_added``, the path of its file, or its id.
        """
        self._refuse_readonly("ingest-file --remove")
        from kb_app._ingest.single import remove

        return remove(key, self._run_for_one(embed=False, stop=stop))

    def add_source(self, root: str) -> str:
        """Make the folder *root* a source, in the configuration too; return its id."""
        self._refuse_readonly("add")
        from kb_app.config import add_source

        edit = add_source(root, path=self._config.file)
        self._config = replace(self._config, sources=edit.config.sources)
        return edit.source.id

    def ingest_apart(
        self, options: IngestOptions, *, stop: Stop | None = None
    ) -> Iterator[IngestEvent]:
        """As ``ingest``, in a process of its own and behind everything else on the machine.

        For an interface that draws meanwhile: no library of the run can hold it up.
        """
        self._refuse_readonly("ingest")
        from kb_app._ingest.apart import ingest_apart

        self.sources()
        return ingest_apart(self._config, options, stop or threading.Event())

    def embed(self, *, stop: Stop | None = None) -> Iterator[IngestEvent]:
        """Compute the embeddings that are missing; events as of ``ingest``."""
        self._refuse_readonly("embed")
        from kb_app._ingest.run import embed

        return embed(self._config, self._parts, stop or threading.Event())

    def close(self) -> None:
        """Let go of every file and model; closing twice is harmless."""
        reader = self.__dict__.pop("_reader", None)  # one that was never asked for is not made
        if reader is not None:
            reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------- private

    @cached_property
    def _reader(self) -> IndexReader:
        return self._parts.reader()

    def _engine(self, stop: Stop | None = None) -> Engine:
        from kb_app._search.engine import open_engine

        return open_engine(self._snapshot(), self._config, self._parts, stop, quiet=self._readonly)

    def _asking(self, stop: Stop | None) -> Asking:
        from kb_app._ask.asking import Asking

        return Asking(self._engine(stop), self._config, self._parts, stop)

    def _snapshot(self) -> IndexSnapshot:
        try:
            return answerable(self._reader.snapshot())
        except NotIndexed as error:
            raise self._lost(error) or error from None

    def _snapshot_or_none(self) -> IndexSnapshot | None:
        try:
            return self._reader.snapshot()
        except NotIndexed as error:
            if lost := self._lost(error):
                raise lost from None
            return None

    def _lost(self, error: NotIndexed) -> NotIndexed | None:
        """Return what to say where something was indexed, and there is no index of it to read."""
        from kb_app._data_dir import DataDir

        own = DataDir(self._config.storage.data_dir)
        return error if "index_version" in error.details else own.lost_index()

    def _freshness(self, snapshot: IndexSnapshot) -> Freshness:
        from kb_app._search.hits import Freshness

        days = self._config.search.stale_threshold_days
        return Freshness(snapshot, now=self._now(), threshold_days=days)

    @property
    def _data_dir(self) -> Path:
        return self._config.storage.data_dir

    @property
    def _keeps(self) -> bool:
        return not self._readonly

    def _now(self) -> int:
        return to_epoch(self._parts.clock())

    def _refuse_readonly(self, what: str) -> None:
        refuse_pinned(self._config, what)
        if self._readonly:
            raise ReadonlyMode(
                f"{what} writes, and this knowledge base is open for reading only",
                hint="run without --readonly",
                details={"operation": what},
            )

    def _add_text(
        self, given: Mapping[str, Any], *, embed: bool = True, stop: Stop | None
    ) -> Iterator[IngestEvent]:
        self._refuse_readonly("ingest-stdin")
        from kb_app._ingest.added.offer import HandedText
        from kb_app._ingest.single import add_text

        run = self._run_for_one(embed=embed, stop=stop)
        return add_text(self._config, HandedText(**given), self._now() * 1_000_000_000, run)

    def _run_for_one(self, *, embed: bool, stop: Stop | None) -> AbstractContextManager[Run]:
        from kb_app._ingest.run import open_run_for_one

        return open_run_for_one(self._config, self._parts, embed=embed, stop=stop)
