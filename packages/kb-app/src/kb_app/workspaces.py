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
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_app import _queries, paths
from kb_app._caches import Home, cached_folders, forget, homes_in, sweep, workspace_list
from kb_app._data_dir import DataDir
from kb_app._folders import check_size, real_folder, source_of
from kb_app._meanwhile import Behind, Call, Meanwhile, Waits
from kb_app._media import has_phases, phases_off
from kb_app._narrowed import Narrowed
from kb_app._pinned import refuse_pinned, seen_sources
from kb_app.config import Config, Index, Source
from kb_app.knowledge_base import KnowledgeBase
from kb_app.preferences import Preferences
from kb_core.errors import (
    ChunkNotFound,
    DocNotFound,
    InvalidInput,
    KbError,
    ModelMissing,
    NotIndexed,
    ReadonlyMode,
    StoreBusy,
    StoreCorrupt,
    StoreNewer,
)
from kb_core.filters import Filter, Glob, OneOf, all_of, literal_glob
from kb_core.ids import text_hash
from kb_core.ingest import IngestOptions, Left, Looked
from kb_core.media import SearchMode
from kb_core.records import FileState
from kb_core.search import GrepQuery, SearchQuery
from kb_core.values import dataclass, field, lazy_pattern, replace

if TYPE_CHECKING:
    from kb_app._ask.asking import Asking
    from kb_app._ingest.workers.process import Spare
    from kb_core.answers import Answer, AskQuery
    from kb_core.ingest import IngestEvent
    from kb_core.ports import IndexSnapshot
    from kb_core.search import AggregatedResponse, Constant, SearchResponse
    from kb_core.wire import types

__all__ = ["Place", "cached_folders", "forget", "over_folders", "place_of", "place_of_folders"]
__all__ += ["workspace_list"]

Hear: TypeAlias = "Callable[[IngestEvent | str], object]"
"""Is told what a first index is at, and in words what is waited for."""

_FRESH_SECS = 1.0
"""How long a look at a large folder is good for: calls that come in a burst share one."""
_TRUSTED_SECS = 300.0
"""How long it is enough to ask whether what a walk saw is as it was, and to walk what is not."""
_MOST_CUTS = 2
"""How often a call that wants all stops reading for others that want less."""
_BRIEF_SECS, _LONG_SECS = 2.0, 3600.0
"""Patience with another process that writes: where there is something to answer from, and
where there is nothing yet."""
_GRACE_SECS = 2.0
"""How long the end waits for what is done behind an answer."""
_SPARE_SECS = 300.0
"""How long a process that stays keeps a worker for what changes next."""
_EMBEDDED_AT_ONCE = 16
"""Passages that one search embeds, the best that its words find: about a second."""
_WISHED = 64
"""Passages that words find for a question and that are embedded before others meanwhile."""
_MOST_WISHED = 1024
_OF_ORIGIN = 8
"""Passages of a document that are embedded when others like it are looked for."""
_KB = 1_000
_MORE = 4.0
"""How many times as much a search reads where that fills no list."""
_OF_CODE = 1.5
"""How much more a search for code reads, which shows nothing but what has lines, and that apart."""
_NAMED_BY = ("path", "citation", "chunk")
_AFTER_PATH = lazy_pattern(r"#|:\d")
_ID = lazy_pattern("[0-9a-f]{8,64}")
_LATE = {"ocr": ("picture or scan", "pictures or scans"), "transcribe": ("recording", "recordings")}
"""What waits for a later phase, one and several."""


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
    data_dir: Path = Path()
    """That of the person's knowledge base."""
    environ: Mapping[str, str] = field(default_factory=paths.environment)

    @property
    def told(self) -> str:
        """Say what is searched."""
        shown = ", ".join(f"'{folder}'" for folder in self.folders)
        if self.source is None:
            return f"the folder {shown}" if len(self.folders) == 1 else f"the folders {shown}"
        below = f", below '{self.below}'" if self.below else ""
        return f"source '{self.source.id}' of the knowledge base{below}"

    def open(self, *, readonly: bool = False, hear: Hear | None = None) -> KnowledgeBase:
        """Open what answers; *readonly* lets a workspace answer from what it has, unrefreshed."""
        if self.home is not None:
            workspace = Workspace.open(self.config, readonly=True)
            workspace.settle(self, is_frozen=readonly, hear=hear)
            return workspace
        narrowed = Narrowed.open(self.config, readonly=readonly)
        narrowed.narrow(self.where, self.told)
        return narrowed

    @property
    def where(self) -> Filter | None:
        """What passes of the source: all that is at the folder or below."""
        assert self.source is not None  # noqa: S101 - a workspace is not narrowed
        deep = "/**" if self.folders[0].is_dir() else ""
        below = Glob(f"/{literal_glob(self.below)}{deep}") if self.below else None
        return all_of([OneOf("source_id", (self.source.id,)), below])


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
    there = [path for path in map(Path, folders) if path.exists()] or [Path(folders[0])]
    place = place_of_folders(config, there, environ=paths.environment(), named_by="a root")
    # Who offers no tool that writes may still keep a cache.
    return place.open(readonly=kb.readonly and not config.mcp.readonly)


def place_of_folders(
    config: Config, folders: Sequence[Path], *, environ: Mapping[str, str], named_by: str = "--in"
) -> Place:
    """Return where these folders are answered from; several are one workspace."""
    real = tuple(dict.fromkeys(real_folder(folder, named_by) for folder in folders))
    if len(real) == 1:
        for source in seen_sources(config).sources:
            top = Path(os.path.realpath(source.root))
            if real[0].is_relative_to(top):
                below = real[0].relative_to(top).as_posix()
                below = "" if below == "." else below
                return Place(config, real, source=source, below=below, environ=environ)
    refuse_pinned(config, f"reading '{real[0]}', which is in none of its sources,")
    home = homes_in(environ) / text_hash("\0".join(map(str, real)))
    sources: list[Source] = []
    for path in real:
        sources.append(source_of(path, config, environ, {source.id for source in sources}))
    own = replace(
        config,
        sources=tuple(sources),
        storage=replace(
            config.storage, data_dir=home / "data", lock_wait_secs=_BRIEF_SECS, safety_runs=0
        ),
        index=Index(),  # here, and never on the server that holds the person's own
        ingest=replace(config.ingest, embed=False),
        estimates_tokens=True,
    )
    return Place(own, real, home=home, environ=environ, data_dir=config.storage.data_dir)


class Workspace(KnowledgeBase):
    """A knowledge base of one folder, or several, which follows them.

    Whatever reads looks at the folder first: at what it saw the last time, and once that is
    not as it was, at all.
    """

    _place: Place
    _is_frozen = False
    _hear: Hear

    def settle(self, place: Place, *, is_frozen: bool, hear: Hear | None) -> None:
        """Say where this is, and who is told of what it does."""
        self._place, self._is_frozen = place, is_frozen
        self._hear = hear or (lambda _: None)
        self._turn = threading.RLock()
        self._waits = Waits()
        self._looked_at = float("-inf")
        self._looked = Looked()
        """How all was at the last look, if it is enough to look at that again."""
        self._walked_at = float("-inf")
        """When everything was walked for that."""
        self._left = Left()
        """What no call has read yet, as far as this process knows."""
        self._is_cut = False
        """Who read all of a new folder has stopped for a call that waited for less."""
        self._remark = ""
        self._reads_late = False
        self._meanwhile: Meanwhile | None = None
        self._spare: Spare | None = None
        self._behind: Behind | None = None
        """What puts in order what the last run changed; whoever writes next lets it end first."""
        self._wished: dict[int, None] = {}
        self._has_told: list[str] = []
        """How many files wait, as it was said last."""

    def stay(self) -> None:
        if self._meanwhile is None:
            from kb_app._ingest.workers.process import Spare

            self._meanwhile = Meanwhile(self._rest)
            self._spare = Spare(_SPARE_SECS)

    def leave(self) -> None:
        if self._meanwhile is not None:
            self._meanwhile.end()
        if self._behind is not None:
            self._behind.end(_GRACE_SECS)
        if self._spare is not None:
            self._spare.close()

    @property
    def is_working(self) -> bool:
        others = (self._meanwhile, self._behind)
        return super().is_working or any(one is not None and one.is_at_work for one in others)

    def close(self) -> None:
        self.leave()
        super().close()

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
        is_there = any((folder / path).is_file() for folder in self._place.folders if path)
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
        with KnowledgeBase.open(self._patient(_LONG_SECS)) as writer:
            yield from writer.embed(stop=stop)

    def _snapshot(self) -> IndexSnapshot:
        self._refresh()
        snapshot, sampling = super()._snapshot(), self._left.sampling
        return snapshot if sampling is None else snapshot.sampled(sampling)

    def _snapshot_or_none(self) -> IndexSnapshot | None:
        self._refresh()
        return super()._snapshot_or_none()

    def _told(self, response: SearchResponse) -> SearchResponse:
        """Name the command that embeds the rest, and what the answer is of."""
        command = f"'kebab embed --in {_quoted(self._place)}'"
        goes_on = self._meanwhile is not None and self._meanwhile.goes_on
        rest = "more while nobody asks" if goes_on else f"{command} does the rest"
        degraded = tuple(
            text.replace("'kebab embed'", command)
            if "'kebab embed'" in text
            else f"{text}, the first that words find ({rest})"
            if text.endswith("chunks embedded")
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
        told = [f"{n:,} {_LATE[phase][n > 1]}" for phase, n in counts.items() if n]
        if not told or (self._meanwhile is not None and told == self._has_told):
            return ""
        self._has_told = told
        wait, them = ("waits", "it") if sum(counts.values()) == 1 else ("wait", "them")
        return f"{' and '.join(told)} {wait}: a filter by medium reads {them}, or {command}"

    def _late_rows(self, snapshot: IndexSnapshot) -> dict[str, int]:
        """Return how many files wait for each of the later phases that are switched on."""
        counts = snapshot.ledger(OneOf("state", (FileState.PENDING.value,))).counts
        off = phases_off(self._config)
        return {
            phase: sum(n for (_, reason), n in counts.items() if reason == phase)
            for phase in _LATE
            if phase not in off
        }

    # ---------------------------------------------------------------- following the folder

    def _read_if_asked(self, queries: Sequence[SearchQuery | GrepQuery | KbError]) -> None:
        """Have pictures, scans and recordings read where a filter asks for their media."""
        for one in queries:
            if not isinstance(one, KbError) and any(map(has_phases, one.filters.media)):
                self._read_late()

    def _read_late(self) -> None:
        if not self._reads_late:
            self._reads_late, self._looked_at, self._looked = True, float("-inf"), Looked()

    def _refresh(self) -> None:
        if self._meanwhile is not None:
            self._meanwhile.asked()
        own = self._waits.own
        for tries in count():  # calls that wait for less may come between
            own.yields = tries < _MOST_CUTS
            if self._look_at_folder(own):
                return

    def _look_at_folder(self, own: Call) -> bool:
        """Look at the folder, and read what the call waits for; say whether that is all there."""
        home = Home(self._config.storage.data_dir.parent)
        if self._is_known(own, home):
            return True
        gives_way = own.sought is None and own.yields
        if gives_way:
            self._waits.let_others_go_first()
        with self._turn:
            if self._is_known(own, home):
                return True
            if gives_way and self._waits.cut.is_set():
                return False
            self._looked_at = float("-inf")  # until this look is over
            if not self._is_frozen:
                if not self._follow(home):
                    return False
                self._go_on()
            elif not home.read().is_whole:
                _refuse_unless(super()._snapshot_or_none() is not None, self._place.told)
                self._remark = "this folder was read in part, and nothing may be written"
            self._looked_at = time.monotonic()
            own.has_looked = own.sought is not None
            return True

    def _is_known(self, own: Call, home: Home) -> bool:
        """Say whether what a call waits for is read, as far as that is quick to tell."""
        from kb_app._ingest.seeing.again import is_as_it_was

        ago = time.monotonic() - self._looked_at
        if own.has_looked:
            return True
        if self._left.files or ago > _TRUSTED_SECS:
            return False
        if _may_tell(looked := self._looked):
            trusted = time.monotonic() - self._walked_at <= _TRUSTED_SECS
            is_known = trusted and home.read().is_whole and is_as_it_was(looked.marks)
        else:
            is_known = ago < _FRESH_SECS
        own.has_looked = is_known and own.sought is not None
        return is_known

    def _follow(self, home: Home) -> bool:
        """Bring the cache in line; where another process does, what is there is good enough.

        Say whether that was not cut short.
        """
        for folder in self._place.folders:
            real_folder(folder)
        try:
            known = home.read()
            self._reads_late |= known.reads_late
            is_question = isinstance(self._waits.own.sought, str)  # which reads so much, no more
            if not known.is_whole and not (is_question and known.folders):
                check_size(self._place.config, self._place.folders[0], self._place.told)
            home.use(self._place.folders, is_whole=known.is_whole, reads_late=known.reads_late)
            sweep(self._config, self._place.environ, spare=home.path)
            try:
                self._remark, self._is_cut = "", False
                looked, self._looked = self._looked, Looked()
                self._read(_BRIEF_SECS, is_first=not known.is_whole, looked=looked)
            except StoreBusy:
                if known.is_whole:
                    self._remark = "another process is reading what changed; this is from before"
                    return True
                self._hear(f"another process indexes {self._place.told}; waiting for it")
                self._read(_LONG_SECS, is_first=True)
            except (StoreCorrupt, StoreNewer, NotIndexed):
                self._make_anew()
            is_whole = known.is_whole or not (self._left.files or self._is_cut)
            home.use(self._place.folders, is_whole=is_whole, reads_late=self._reads_late)
        except OSError as error:
            raise home.unusable(error) from error
        return not self._is_cut

    def _read(self, patience: float, *, is_first: bool, looked: Looked | None = None) -> None:
        """Read what changed; of pictures and the like no more than their names, unless wanted.

        Only what is not as it was *looked* at is walked, as long as that is to be trusted.
        """
        try:
            self._ingest(patience, is_first=is_first, looked=looked or Looked())
        except ModelMissing as error:  # which counts how long a passage is
            if is_first:
                raise
            self._remark = f"what changed is not read, this is from before: {error}"
            return
        is_part = self._left.files or self._is_cut
        if not (self._reads_late or is_part) and self._is_mostly_late():
            self._reads_late = True
            self._ingest(patience, is_first=False)

    def _is_mostly_late(self) -> bool:
        snapshot = super()._snapshot()
        waiting = sum(self._late_rows(snapshot).values())
        return 2 * waiting > snapshot.count_docs(None)

    def _ingest(
        self,
        patience: float,
        *,
        is_first: bool,
        stop: threading.Event | None = None,
        looked: Looked = Looked(),  # noqa: B008 - it cannot be changed
    ) -> None:
        self._end_behind()
        most, own = self._config.workspaces.search_kb * _KB, self._waits.own
        seeks = is_first and most and own.sought is not None and not self._reads_late
        # Questions that wait for their turn are read for at once: a run each takes longer.
        asking = self._waits.asking() if isinstance(own.sought, str) else []
        words = " ".join(dict.fromkeys(str(call.sought) for call in asking))
        options = IngestOptions(
            paths=() if is_first else self._where_it_differs(looked),
            embed=False,
            allow_empty=True,
            summary_only=True,
            is_first_look=is_first and self._meanwhile is None,  # else it may be cut short
            sought=(words if asking else own.sought) if seeks else None,
            sought_bytes=int(most * sum(call.share for call in asking or [own])),
            without=() if self._reads_late else tuple(_LATE),
        )
        if stop is None and is_first and own.sought is None and own.yields:
            stop = self._waits.cut
        run = partial(self._run, options, patience, stop, looked)
        if self._meanwhile is None or is_first:
            run(lambda: None)
        else:
            self._behind = Behind(run)
            self._behind.wait()
        for call in asking:
            call.has_looked = True

    def _run(
        self,
        options: IngestOptions,
        patience: float,
        stop: threading.Event | None,
        looked: Looked,
        is_published: Callable[[], object],
    ) -> None:
        from kb_app._ingest.seeing.again import renewed

        paths, began, all_told = options.paths, time.monotonic(), False
        with self._writer(patience) as writer:
            for event in writer.ingest(options, stop=stop):
                self._hear(event)
                now = event.looked
                if event.report is not None and not all_told:
                    self._is_cut = event.report.aborted
                    self._left = self._left if self._is_cut else event.report.left
                    now = None if self._is_cut or self._left.files else event.report.looked
                if now is not None:
                    self._left = self._left if event.report else Left()
                    self._looked = renewed(looked, paths, now) if paths else now
                    self._walked_at = self._walked_at if paths else began
                    all_told = True
                    is_published()  # from here on, what is known is the next run's to say

    def _where_it_differs(self, looked: Looked) -> tuple[str, ...]:
        """Return what to walk of the folder, everything for none."""
        from kb_app._ingest.quiet import is_sealed
        from kb_app._ingest.seeing.again import where_it_differs

        is_trusted = time.monotonic() - self._walked_at <= _TRUSTED_SECS
        data = DataDir(self._config.storage.data_dir)
        if not (is_trusted and _may_tell(looked) and is_sealed(data)):  # else more may be missing
            return ()
        return tuple(where_it_differs(looked, {str(folder) for folder in self._place.folders}))

    def _end_behind(self) -> None:
        """Let what is done behind the last answer end, which holds the lock of who writes."""
        if self._behind is not None:
            self._behind.end()

    def _make_anew(self) -> None:
        self._hear(f"the cache of {self._place.told} is damaged, and is made anew")
        self._end_behind()
        super().close()
        with KnowledgeBase.open(self._patient(_LONG_SECS)) as writer:
            writer.reset("data-only", dry_run=False)
        self._read(_LONG_SECS, is_first=True)

    def _writer(self, patience: float) -> KnowledgeBase:
        from kb_app._wiring import parts_of

        config = self._patient(patience)
        return KnowledgeBase(config, parts_of(config, spare=self._spare))

    def _patient(self, secs: float) -> Config:
        return replace(self._config, storage=replace(self._config.storage, lock_wait_secs=secs))

    # ---------------------------------------------------------------- meaning as it comes

    def _embed_found(
        self,
        queries: Sequence[SearchQuery | KbError],
        stop: threading.Event | None,
        besides: Collection[int] = (),
    ) -> None:
        """Embed the best passages that words find for *queries*, a few at once, and *besides*.

        Where no more than a few are left at all, those are.
        """
        asked = [
            one
            for one in queries
            if not isinstance(one, KbError) and one.mode in _BY_MEANING and one.cursor is None
        ]
        model, _ = self._parts.model_or_absence()
        if model is None or not asked or self._is_frozen:
            return
        snapshot, engine = self._snapshot(), self._engine(stop)
        keys, share = [*besides], max(len(asked), self._waits.many)
        for query in asked:
            words = replace(query, mode=SearchMode.LEXICAL, rerank=False, trace=False)
            with suppress(KbError):  # whatever is wrong with it, its search says
                best = [row.chunk_key for row in engine.ranking(words).rows[:_WISHED]]
                keys += best[: max(1, _EMBEDDED_AT_ONCE // share)]
                self._wish(best)
        done = snapshot.with_vector(keys, model.key)
        missing = [key for key in dict.fromkeys(keys) if key not in done]
        left = _without_vector(snapshot, model.key)
        if missing or 0 < left <= _EMBEDDED_AT_ONCE:
            self._embed(missing, snapshot.control.sequence, left)

    def _embed(self, keys: Sequence[int], sequence: int, left: int) -> None:
        from kb_app._ingest.run import embed_some, embed_these

        config, parts = self._config, self._parts
        # Without a vector, or the lock, the answer is degraded, and says so.
        with self._turn, suppress(KbError, OSError):
            self._end_behind()
            if left <= _EMBEDDED_AT_ONCE:
                embed_some(config, parts, keys, left, sequence, threading.Event())
            else:
                embed_these(config, parts, keys, sequence)

    def _go_on(self) -> None:
        """Read what is left, and embed what has no vector, meanwhile, if this process stays."""
        if self._meanwhile is None:
            return
        model, _ = self._parts.model_or_absence()
        embeds = model is not None and self._room(super()._snapshot(), model.key) > 0
        if self._left.files or embeds:
            self._meanwhile.begin()

    def _rest(self, stop: threading.Event) -> bool:
        """Read what is left of the folder, or else embed, until *stop*; say whether more may be."""
        with self._turn:
            if self._left.files and not stop.is_set():
                home = Home(self._config.storage.data_dir.parent)
                self._ingest(_BRIEF_SECS, is_first=True, stop=stop)
                if not self._is_cut:
                    home.use(self._place.folders, is_whole=True, reads_late=self._reads_late)
                return True
        return self._embed_rest(stop)

    def _embed_rest(self, stop: threading.Event) -> bool:
        """Embed some of what has no vector, until *stop*; say whether any is left.

        What questions found comes first, the newest question's before those of others.
        """
        from kb_app._ingest.run import embed_some

        model, _ = self._parts.model_or_absence()
        with self._turn:
            if model is None or stop.is_set():
                return model is not None
            self._end_behind()
            snapshot = super()._snapshot()  # nothing is looked at for this
            room, sequence = self._room(snapshot, model.key), snapshot.control.sequence
            wished = list(self._wished)
            left = embed_some(self._config, self._parts, wished, room, sequence, stop)
            if not stop.is_set():
                self._wished = {key: None for key in self._wished if key not in wished}
            return left

    def _room(self, snapshot: IndexSnapshot, model_key: str) -> int:
        """Return how many passages more may be embedded unasked, and have no vector."""
        files = snapshot.control.vectors.get(model_key)
        room = self._config.workspaces.embed_passages - (files.rows if files else 0)
        return min(room, _without_vector(snapshot, model_key))

    def _wish(self, keys: Sequence[int]) -> None:
        """Have these embedded before others meanwhile, and before what was wished earlier."""
        if self._meanwhile is not None:
            wished = dict.fromkeys(keys) | self._wished
            self._wished = dict(islice(wished.items(), _MOST_WISHED))


def _may_tell(looked: Looked) -> bool:
    """Say whether looking at the same again is quick and tells what has changed."""
    from kb_app._ingest.seeing.again import MOST_MARKS

    return 0 < len(looked.marks) <= MOST_MARKS


def _without_vector(snapshot: IndexSnapshot, model_key: str) -> int:
    control = snapshot.control
    return int(control.stats.get("chunk_count", 0)) - control.embedded(model_key)


def _words_of(query: SearchQuery) -> str | None:
    """Return the words of *query*, unless it narrows or requires: that is decided by all texts."""
    from kb_app._search.query import parse_query

    parsed = parse_query(query.text)
    requires = any(each.kind == "must" for each in parsed.lexical.clauses)
    return None if query.filters.given() or parsed.where or requires else query.text


_BY_MEANING = {SearchMode.HYBRID, SearchMode.VECTOR}


def _refuse_unless(is_there: bool, folder: str) -> None:  # noqa: FBT001 - one fact
    if not is_there:
        raise ReadonlyMode(
            f"{folder} is not indexed yet, and nothing may be written",
            hint="leave out --readonly, and unset KEBAB_READONLY: it goes into a cache",
            details={"operation": "ingest"},
        )


def _quoted(place: Place) -> str:
    return shlex.quote(str(place.folders[0]))
