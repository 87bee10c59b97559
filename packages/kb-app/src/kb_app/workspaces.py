"""Workspaces: folders that are searched where they lie, without being sources.

A folder that is no source is indexed at its first use, into a cache of its own below the
user's cache directory, named by the folder's real path. Every call looks at the folder
again, by names, sizes and times alone, and reads what has changed. What lies in a source is
answered from that source, narrowed to the folder.

Words come first: a run computes no embeddings, and a search of a new folder reads the files
that hold its words, and leaves the rest to later calls. Passages get theirs as they are found: a
search by meaning embeds the best that its words find, and leaves the rest to later ones, or
to ``embed``. Nothing goes on after a call has returned, unless the process said that it
stays: then the others are embedded while nobody asks, what questions found before the rest, a
worker that has read what changed is kept for the next change, and what a run still puts in order
once its changes are published is done behind the answer.

**Invariant:** nothing is written below the folder, and nothing of it comes into the person's
knowledge base. The cache can be deleted at any time, and is made anew where it is damaged; one
that was not used for ``workspaces.keep_days`` goes when another one is used.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app import _queries, paths
from kb_app._caches import cached_folders, forget, homes_in, workspace_list
from kb_app._data_dir import DataDir
from kb_app._folders import real_folder, source_of
from kb_app._ingest.seeing.files import path_of
from kb_app._looking import BRIEF_SECS, LATE, LONG_SECS, Hear, Looking
from kb_app._narrowed import Narrowed
from kb_app._pinned import refuse_pinned, seen_sources
from kb_app.config import Config, Index, Source, holder_of
from kb_app.knowledge_base import KnowledgeBase
from kb_app.preferences import Preferences
from kb_core.errors import (
    ChunkNotFound,
    DocNotFound,
    InvalidInput,
    KbError,
    NotIndexed,
)
from kb_core.filters import Filter, Glob, OneOf, Or, all_of, at_or_below, literal_glob
from kb_core.ids import text_hash
from kb_core.search import GrepQuery, SearchQuery
from kb_core.values import dataclass, field, lazy_pattern, replace

if TYPE_CHECKING:
    from kb_app._ask.asking import Asking
    from kb_core.answers import Answer, AskQuery
    from kb_core.ingest import IngestEvent
    from kb_core.ports import IndexSnapshot
    from kb_core.search import AggregatedResponse, Constant, SearchResponse
    from kb_core.wire import types

__all__ = ["Place", "cached_folders", "forget", "over_folders", "place_of", "place_of_folders"]
__all__ += ["workspace_list"]

_OF_ORIGIN = 8
"""Passages of a document that are embedded when others like it are looked for."""
_MORE = 4.0
"""How many times as much a search reads where that fills no list."""
_OF_CODE = 1.5
"""How much more a search for code reads, which shows nothing but what has lines, and that apart."""
_NAMED_BY = ("path", "citation", "chunk")
_AFTER_PATH = lazy_pattern(r"#|:\d")
_EMBEDS = "'kebab embed'"
_ID = lazy_pattern("[0-9a-f]{8,64}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder is answered from: a source that holds it, else a workspace of its own."""

    config: Config
    """That of the person, or what it says for the workspace."""
    folders: tuple[Path, ...]
    home: Path | None = None
    """The cache of a workspace."""
    source: Source | None = None
    below: str = ""
    """Where in the source the folder is; empty for all of it."""
    within: tuple[str, ...] = ()
    """Other sources whose folders lie in the folder."""
    data_dir: Path = Path()
    """That of the person's knowledge base."""
    environ: Mapping[str, str] = field(default_factory=paths.environment)
    named_by: str = "--in"

    @property
    def told(self) -> str:
        """Say what is searched."""
        shown = ", ".join(f"'{folder}'" for folder in self.folders)
        if self.source is None:
            return f"the folder {shown}" if len(self.folders) == 1 else f"the folders {shown}"
        below = f", below '{self.below}'" if self.below else ""
        others = "".join(f", and source '{source_id}'" for source_id in self.within)
        return f"source '{self.source.id}' of the knowledge base{below}{others}"

    def open(self, *, readonly: bool = False, hear: Hear | None = None) -> KnowledgeBase:
        """Open what answers; *readonly* lets a workspace answer from what it has, unrefreshed."""
        if self.home is not None:
            workspace = Workspace.open(self.config, readonly=True)
            workspace.settle(self, is_frozen=readonly, hear=hear)
            return workspace
        assert self.source is not None  # noqa: S101 - else it has a home
        narrowed = Narrowed.open(self.config, readonly=readonly)
        narrowed.narrow(self.source, self.where, self.told)
        return narrowed

    @property
    def where(self) -> Filter | None:
        """What passes: all that is at the folder or below."""
        assert self.source is not None  # noqa: S101 - a workspace is not narrowed
        is_folder = self.folders[0].is_dir()
        at = Glob(f"/{literal_glob(self.below)}/**") if is_folder else at_or_below(self.below)
        below = at if self.below else None
        where = all_of([OneOf("source_id", (self.source.id,)), below])
        if where is None or not self.within:
            return where
        return Or((where, OneOf("source_id", self.within)))


def place_of(
    config: Config, folder: str, *, environ: Mapping[str, str] | None = None, named_by: str = "--in"
) -> Place:
    """Return where *folder*, as a person wrote it, is answered from; a file stands for itself."""
    environ = paths.environment() if environ is None else environ
    try:
        path = paths.from_argument(folder, environ)
    except ValueError as error:
        named = {"field": named_by.removeprefix("--"), "value": folder}
        raise InvalidInput(str(error), details=named) from error
    return place_of_folders(config, [path], environ=environ, named_by=named_by)


def over_folders(kb: KnowledgeBase, folders: Sequence[str]) -> KnowledgeBase:
    """Return what answers for these absolute folders instead of *kb*; they need not be there."""
    config = kb._config  # noqa: SLF001 - the one that it was opened with
    are_there = filter(os.path.exists, folders)  # what is too long for the system is not there
    there = [*map(Path, are_there)] or [Path(folders[0])]
    place = place_of_folders(config, there, environ=paths.environment(), named_by="a root")
    # Who offers no tool that writes may still keep a cache.
    return place.open(readonly=kb.readonly and not config.mcp.readonly)


def place_of_folders(
    config: Config, folders: Sequence[Path], *, environ: Mapping[str, str], named_by: str = "--in"
) -> Place:
    """Return where these folders are answered from; several are one workspace."""
    real = tuple(dict.fromkeys(real_folder(folder, named_by) for folder in folders))
    if len(real) == 1:
        seen, holder = seen_sources(config).sources, holder_of(config.sources, real[0])
        if holder and holder[0] in seen:
            source, inside = holder
            below = path_of(os.path.realpath(source.root), inside)
            tops = {each.id: Path(os.path.realpath(each.root)) for each in seen if each != source}
            within = tuple(id_ for id_, top in tops.items() if top.is_relative_to(real[0]))
            return Place(config, real, source=source, below=below, within=within, environ=environ)
    refuse_pinned(config, f"reading '{real[0]}', which is in none of its sources,")
    home = homes_in(environ) / text_hash("\0".join(map(str, real)))
    sources: list[Source] = []
    for path in real:
        sources.append(source_of(path, config, environ, {source.id for source in sources}))
    own = replace(
        config,
        sources=tuple(sources),
        storage=replace(
            config.storage, data_dir=home / "data", lock_wait_secs=BRIEF_SECS, safety_runs=0
        ),
        index=Index(),  # here, and never on the server that holds the person's own
        ingest=replace(config.ingest, embed=False),
        estimates_tokens=True,
    )
    data_dir = config.storage.data_dir
    return Place(own, real, home=home, environ=environ, data_dir=data_dir, named_by=named_by)


class Workspace(Looking):
    """A knowledge base of one folder, or several, which follows them.

    Whatever reads looks at the folder first.
    """

    _place: Place

    def preferences(self) -> Preferences:
        token = DataDir(self._place.data_dir).token  # of the person, and not of a cache
        return replace(
            super().preferences(), scope=self._place.told, follows_roots=False, token_file=token
        )

    def recent_queries(self) -> tuple[str, ...]:
        return _queries.recent(self._own)

    def keep_queries(self, queries: Sequence[str]) -> None:
        if not self._is_frozen:
            _queries.keep(self._own, queries)

    @property
    def _data_dir(self) -> Path:
        return self._place.data_dir

    @property
    def _keeps(self) -> bool:
        return not self._is_frozen

    @property
    def _own(self) -> Config:
        """The settings of the person, whose data a reset deletes: not those of a cache."""
        storage = replace(self._config.storage, data_dir=self._place.data_dir)
        return replace(self._config, storage=storage)

    # ---------------------------------------------------------------- reading

    def search(self, query: SearchQuery, *, stop: threading.Event | None = None) -> SearchResponse:
        self._read_if_asked([query])
        response = self._search_part(query, 1.0 if query.cursor is None else 0.0, stop)
        if self._may_find_more(response, query):
            response = self._search_part(query, _MORE, stop)
        if response.hits or not self._left.files:
            return response
        self._embed_found([query], stop)  # which reads the rest: a word may be misspelt
        return self._told(super().search(query, stop=stop))

    def _search_part(
        self, query: SearchQuery, share: float, stop: threading.Event | None
    ) -> SearchResponse:
        with self._waits.for_part(_words_of(query), share):
            self._embed_found([query], stop)
            return self._told(super().search(query, stop=stop))

    def _may_find_more(self, response: SearchResponse, query: SearchQuery) -> bool:
        """Say whether what is not read may fill a list that is too short."""
        if not response.hits:
            return self._left.files > 0
        of_each = Counter(hit.doc_id for hit in response.hits)
        is_full = query.per_doc is not None and query.per_doc in of_each.values()
        is_short = len(response.hits) < query.k and not (response.truncated or is_full)
        return is_short and self._left.promising > 0 and query.cursor is None

    def search_many(
        self, queries: Sequence[SearchQuery | KbError], *, stop: threading.Event | None = None
    ) -> Any:  # noqa: ANN401 - as the facade
        self._read_if_asked(queries)
        self._embed_found(queries, stop)
        outcomes = super().search_many(queries, stop=stop)
        return (one if isinstance(one, KbError) else self._told(one) for one in outcomes)

    def search_aggregated(
        self,
        queries: Sequence[SearchQuery | KbError],
        *,
        stop: threading.Event | None = None,
        **shape: Any,  # noqa: ANN401 - as the facade
    ) -> AggregatedResponse:
        self._read_if_asked(queries)
        self._embed_found(queries, stop)
        found = super().search_aggregated(queries, stop=stop, **shape)
        told = (one if isinstance(one, KbError) else self._told(one) for one in found.outcomes)
        return replace(found, outcomes=tuple(told))

    def codebase_search(
        self, request: Mapping[str, Any], *, passages: bool = False
    ) -> types.CodebaseSearchResponse:
        from kb_app._search.codebase import read_request

        asked, read = [], read_request(request, max_results=1)
        for query in read.queries:
            with suppress(KbError):  # whatever is wrong with it, its search says
                asked.append(SearchQuery(text=query.text))
        is_narrow = read.include or any(query.path for query in read.queries)
        words = [_words_of(query) for query in asked]
        sought = None if is_narrow or None in words else " ".join(filter(None, words))
        with self._waits.for_part(sought, _OF_CODE):
            self._embed_found(asked, None)
            found = super().codebase_search(request, passages=passages)
        if self._left.files and not found["hits"]:
            return super().codebase_search(request, passages=passages)  # which reads the rest
        if more := self._unread():
            found["warnings"] = [*found.get("warnings", ()), more]
        return found

    def fetch(
        self, place: str | Mapping[str, Any], *, max_tokens: int | None = None
    ) -> types.FetchResult:
        fetch = partial(super().fetch, place, max_tokens=max_tokens)
        return self._of_what_is_read(fetch) if self._is_printed(place) else fetch()

    def _is_printed(self, place: str | Mapping[str, Any]) -> bool:
        """Say whether *place* names what it means whatever else there is, as a hit's does."""
        given = {"chunk": place} if isinstance(place, str) else place
        name = next((str(given[kind]) for kind in _NAMED_BY if given.get(kind)), "")
        path = _AFTER_PATH.split(name, maxsplit=1)[0]
        below = (folder / path for folder in self._place.folders if path)
        is_there = any(map(os.path.isfile, below))  # what is too long for the system is not there
        return is_there or bool(_ID.fullmatch(name))

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> types.FetchResult:
        return self._of_what_is_read(partial(super().fetch_chunk, chunk_id, context=context))

    def fetch_doc(self, doc_id: str, *, max_tokens: int | None = None) -> types.FetchResult:
        return self._of_what_is_read(partial(super().fetch_doc, doc_id, max_tokens=max_tokens))

    def _of_what_is_read(self, fetch: Callable[[], types.FetchResult]) -> types.FetchResult:
        """Read nothing new for what *fetch* gives, unless it is not among what is read.

        What is not there is said with where it is, which another file may say.
        """
        with self._waits.for_part("", 0.0), suppress(ChunkNotFound, DocNotFound, InvalidInput):
            return fetch()
        return fetch()

    def explain_miss(self, doc: str, query: SearchQuery) -> types.ExplainMiss:
        found = super().explain_miss(doc, query)
        return {**found, "summary": found["summary"].replace(_EMBEDS, self._embeds)}

    def similar(self, origin: str, query: SearchQuery | None = None) -> SearchResponse:
        from kb_app._search.lookup import origin_of
        from kb_app._search.similar import telling_words

        snapshot = self._snapshot()
        chunks = origin_of(snapshot, origin).chunks[:_OF_ORIGIN]
        words = SearchQuery(text=" OR ".join(telling_words(snapshot, chunks)) or origin)
        self._embed_found([words], None, {chunk["chunk_key"] for chunk in chunks})
        return self._told(super().similar(origin, query))

    def ask(
        self, question: AskQuery, *, stop: threading.Event | None = None
    ) -> Iterator[types.AnswerEvent]:
        self._find_for(question, stop)
        return super().ask(question, stop=stop)

    def answer(
        self,
        question: AskQuery,
        *,
        stop: threading.Event | None = None,
        told: Callable[[str], object] | None = None,
    ) -> Answer:
        self._find_for(question, stop)
        return super().answer(question, stop=stop, told=told)

    def _find_for(self, question: AskQuery, stop: threading.Event | None) -> None:
        self._read_if_asked([question.search()])
        self._embed_found([question.search()], stop)

    def _asking(self, stop: threading.Event | None) -> Asking:
        from kb_app._ask.asking import Asking

        return Asking(self._engine(stop), self._config, self._parts, stop, self._told)

    def grep(self, query: GrepQuery, *, stop: threading.Event | None = None) -> types.GrepResponse:
        from kb_app._search.grep import needs_of

        self._read_if_asked([query])
        is_narrow = bool(query.paths or query.filters.given())
        with self._waits.for_part(None if is_narrow else needs_of(query) or None, 1.0):
            found = super().grep(query, stop=stop)
        found["searched"] += self._left.files if found["complete"] else 0
        return found

    def constants(self, path: str, names: Collection[str]) -> Mapping[str, Constant]:
        # For an answer, which has looked at the folder.
        return self._constants(super()._snapshot(), path, names)

    def sources(self) -> list[tuple[str, str]]:
        return [(source.id, str(source.root)) for source in self._config.sources]

    def embed(self, *, stop: threading.Event | None = None) -> Iterator[IngestEvent]:
        """Read all that waits, and compute all embeddings that are missing.

        The next look at the folder opens the store.
        """
        self._read_late()
        self._refresh()
        self._end_behind()
        with KnowledgeBase.open(self._patient(LONG_SECS)) as writer:
            yield from writer.embed(stop=stop)

    def _snapshot(self) -> IndexSnapshot:
        snapshot, sampling = self._published(), self._left.sampling
        return snapshot if sampling is None else snapshot.sampled(sampling)

    def _snapshot_or_none(self) -> IndexSnapshot | None:
        with suppress(NotIndexed):
            return self._published()
        return None

    @property
    def _embeds(self) -> str:
        """The command that embeds what is in the folder."""
        return f"'kebab embed --in {_quoted(self._place)}'"

    def _told(self, response: SearchResponse) -> SearchResponse:
        """Name the command that embeds the rest, and what the answer is of."""
        command = self._embeds
        goes_on = self._meanwhile is not None and self._meanwhile.goes_on
        rest = "more have one soon, while nobody asks" if goes_on else f"{command} does the rest"
        degraded = tuple(
            text.replace(_EMBEDS, command)
            if _EMBEDS in text
            else f"{text} ({rest})"
            if text.endswith("found by words")
            else text
            for text in response.degraded
        )
        said = (self._remark, self._unread(), self._waiting(command))
        remarks = (*response.warnings, *filter(None, said))
        return replace(response, degraded=degraded, warnings=remarks)

    def _unread(self) -> str:
        """Say how many files no search has read yet, and what reads them."""
        if not (left := self._left.files):
            return ""
        files = "1 file has" if left == 1 else f"{left:,} files have"
        reads = f": each search reads more, 'kebab status --in {_quoted(self._place)}' all"
        later = " while nobody asks" if self._meanwhile is not None else reads
        return f"{files} less of these words, and wait to be read{later}"

    def _waiting(self, command: str) -> str:
        """Say how many files are not read yet, and what reads them; a process that stays, once."""
        counts = self._late_rows(super()._snapshot())
        told = [f"{n:,} {LATE[phase][n > 1]}" for phase, n in counts.items() if n]
        if not told or (self._meanwhile is not None and told == self._has_told):
            return ""
        self._has_told = told
        wait, them = ("waits", "it") if sum(counts.values()) == 1 else ("wait", "them")
        return f"{' and '.join(told)} {wait}: a filter by medium reads {them}, or {command}"


def _words_of(query: SearchQuery) -> str | None:
    """Return the words of *query*, unless it narrows or requires: that is decided by all texts."""
    from kb_app._search.query import parse_query

    parsed = parse_query(query.text)
    requires = any(each.kind == "must" for each in parsed.lexical.clauses)
    return None if query.filters.given() or parsed.where or requires else query.text


def _quoted(place: Place) -> str:
    return shlex.quote(str(place.folders[0]))
