"""A knowledge base of folders that are no source: it looks at them before it answers.

A look takes the marks of the last one, else walks, and reads what has changed; what questions
ask for is read and embedded first, and the rest while nobody asks, where the process stays.
What is answered is a matter of ``workspaces``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kb_app._caches import Home, sweep
from kb_app._data_dir import DataDir
from kb_app._folders import check_size, real_folder
from kb_app._meanwhile import Behind, Call, Meanwhile, Waits
from kb_app._media import has_phases, phases_off
from kb_app.config import Config
from kb_app.knowledge_base import KnowledgeBase
from kb_core.errors import (
    IndexCorrupt,
    KbError,
    ModelMissing,
    NotIndexed,
    ReadonlyMode,
    StoreBusy,
    StoreCorrupt,
    StoreNewer,
)
from kb_core.filters import OneOf
from kb_core.ingest import IngestOptions, Left, Looked
from kb_core.media import SearchMode
from kb_core.records import FileState
from kb_core.search import GrepQuery, SearchQuery
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_app._ingest.workers.process import Spare
    from kb_core.ingest import IngestEvent
    from kb_core.ports import IndexSnapshot

__all__ = ["BRIEF_SECS", "LATE", "LONG_SECS", "Folders", "Hear", "Looking"]

Hear: TypeAlias = "Callable[[IngestEvent | str], object]"
"""Is told what a first index is at, and in words what is waited for."""

_FRESH_SECS = 1.0
"""How long a look at a large folder is good for: calls that come in a burst share one."""
_TRUSTED_SECS = 300.0
"""How long it is enough to ask whether what a walk saw is as it was, and to walk what is not."""
_MOST_CUTS = 2
"""How often a call that wants all stops reading for others that want less."""
BRIEF_SECS, LONG_SECS = 2.0, 3600.0
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
_KB = 1_000
_BY_MEANING = {SearchMode.HYBRID, SearchMode.VECTOR}
LATE = {"ocr": ("picture or scan", "pictures or scans"), "transcribe": ("recording", "recordings")}
"""What waits for a later phase, one and several."""


class Folders(Protocol):
    """Which folders are looked at, and whose they are."""

    @property
    def config(self) -> Config: ...
    @property
    def folders(self) -> tuple[Path, ...]: ...
    @property
    def data_dir(self) -> Path:
        """That of the person's knowledge base."""

    @property
    def environ(self) -> Mapping[str, str]: ...
    @property
    def told(self) -> str:
        """Say what is searched."""

    @property
    def named_by(self) -> str:
        """Say what they were named by, such as an option."""


class Looking(KnowledgeBase):
    """A knowledge base that looks at folders before it answers.

    At what it saw the last time, and once that is not as it was, at all.
    """

    _place: Folders
    _is_frozen = False
    _hear: Hear

    def settle(self, place: Folders, *, is_frozen: bool, hear: Hear | None) -> None:
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
        self._has_recalled = False
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

    def _read_if_asked(self, queries: Sequence[SearchQuery | GrepQuery | KbError]) -> None:
        """Have pictures, scans and recordings read where a filter asks for their media."""
        for one in queries:
            if not isinstance(one, KbError) and any(map(has_phases, one.filters.media)):
                self._read_late()

    def _read_late(self) -> None:
        if not self._reads_late:
            self._reads_late = True
            self._distrust()

    def _distrust(self) -> None:
        """Have the next look compare everything with what is in the cache."""
        self._looked_at, self._looked = float("-inf"), Looked()
        self._waits.own.has_looked = False

    def _published(self) -> IndexSnapshot:
        """Return what is in the cache; one that was taken away or damaged meanwhile is mended."""
        self._refresh()
        with suppress(IndexCorrupt, NotIndexed):
            return super()._snapshot()
        self._distrust()
        self._refresh()
        return super()._snapshot()

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
            self._recall(home)
            if self._is_known(own, home):
                return True
            if gives_way and self._waits.cut.is_set():
                return False
            self._looked_at = float("-inf")  # until this look is over
            if not self._is_frozen:
                if not self._follow(home):
                    return False
                self._go_on()
            else:
                _refuse_unless(self._there() is not None, self._place.told)
                if not home.read().is_whole:
                    self._remark = "this folder was read in part, and nothing may be written"
            self._looked_at = time.monotonic()
            own.has_looked = own.sought is not None
            return True

    def _there(self) -> IndexSnapshot | None:
        """Return what there is to answer from, if it can be opened."""
        with suppress(IndexCorrupt, NotIndexed):
            return super()._snapshot_or_none()
        return None

    def _recall(self, home: Home) -> None:
        """Take over how all was at the last look of another process, once."""
        if self._has_recalled:
            return
        from kb_app._ingest.looked import recall

        self._has_recalled = True
        self._reads_late |= home.read().reads_late
        found = None
        with suppress(KbError):  # of settings that cannot be met, such as a model that is away
            data = DataDir(self._config.storage.data_dir)
            found = recall(data, self._looks_by(), _TRUSTED_SECS)
        there = self._there() if found is not None else None
        if found is not None and there is not None and not there.damage:
            self._looked, ago = found
            self._walked_at = self._looked_at = time.monotonic() - ago

    def _keep_looked(self) -> None:
        """Leave how all was to the next process, where this one does not stay."""
        if self._meanwhile is not None or self._left.files or not _may_tell(self._looked):
            return
        from kb_app._ingest.looked import keep

        data, ago = DataDir(self._config.storage.data_dir), time.monotonic() - self._walked_at
        keep(data, self._looks_by(), self._looked, ago)

    def _looks_by(self) -> str:
        from kb_app._ingest.looked import looked_by
        from kb_app._ingest.settings import ingest_settings, source_specs

        specs, settings = source_specs(self._config, ()), ingest_settings(self._config)
        late = () if self._reads_late else tuple(LATE)
        return looked_by(specs, settings, tuple({*late, *phases_off(self._config)}))

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
        for folder, source in zip(self._place.folders, self._config.sources, strict=True):
            real_folder(folder, self._place.named_by, root=source.root)
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
                self._read(BRIEF_SECS, is_first=not known.is_whole, looked=looked)
            except StoreBusy:
                if known.is_whole:
                    self._remark = "another process is reading what changed; this is from before"
                    return True
                self._hear(f"another process indexes {self._place.told}; waiting for it")
                self._read(LONG_SECS, is_first=True)
            except (StoreCorrupt, StoreNewer, NotIndexed):
                self._make_anew()
            is_whole = known.is_whole or not (self._left.files or self._is_cut)
            home.use(self._place.folders, is_whole=is_whole, reads_late=self._reads_late)
            self._keep_looked()
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
            without=() if self._reads_late else tuple(LATE),
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
        with KnowledgeBase.open(self._patient(LONG_SECS)) as writer:
            writer.reset("data-only", dry_run=False)
        self._read(LONG_SECS, is_first=True)

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
                self._ingest(BRIEF_SECS, is_first=True, stop=stop)
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

    def _late_rows(self, snapshot: IndexSnapshot) -> dict[str, int]:
        """Return how many files wait for each of the later phases that are switched on."""
        counts = snapshot.ledger(OneOf("state", (FileState.PENDING.value,))).counts
        off = phases_off(self._config)
        return {
            phase: sum(n for (_, reason), n in counts.items() if reason == phase)
            for phase in LATE
            if phase not in off
        }


def _may_tell(looked: Looked) -> bool:
    """Say whether looking at the same again is quick and tells what has changed."""
    from kb_app._ingest.seeing.again import MOST_MARKS

    return 0 < len(looked.marks) <= MOST_MARKS


def _without_vector(snapshot: IndexSnapshot, model_key: str) -> int:
    control = snapshot.control
    return int(control.stats.get("chunk_count", 0)) - control.embedded(model_key)


def _refuse_unless(is_there: bool, folder: str) -> None:  # noqa: FBT001 - one fact
    if not is_there:
        raise ReadonlyMode(
            f"{folder} is not indexed yet, and nothing may be written",
            hint="leave out --readonly, and unset KEBAB_READONLY: it goes into a cache",
            details={"operation": "ingest"},
        )
