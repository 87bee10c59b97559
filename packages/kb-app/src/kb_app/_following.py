"""The part of the facade that follows the sources, and says how fresh the index is."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_core.errors import NotIndexed
from kb_core.values import replace

if TYPE_CHECKING:
    from threading import Event

    from kb_app._parts import Parts
    from kb_app._presence import Followed
    from kb_app._watching.following import Look
    from kb_app.config import Config
    from kb_core.ingest import IngestEvent, IngestOptions
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["Following", "answerable"]


def answerable(snapshot: IndexSnapshot) -> IndexSnapshot:
    """Return *snapshot*; ``NotIndexed`` where nothing is in it, and no run has ever finished.

    Nobody may take what is not read yet, or was interrupted, for a knowledge base that is empty.
    """
    stats = snapshot.control.stats
    runs = stats.get("runs")
    has_run = any(run["kind"] != "embed" for run in runs) if runs else stats.get("last_ingest_at")
    if runs is None or has_run or stats.get("doc_count"):  # who sees few sources sees no runs
        return snapshot
    raise NotIndexed(
        "nothing is indexed yet: the first run has not finished",
        hint="run 'kebab ingest'; 'kebab status' says whether it is running",
    )


class Following:
    """Operations of ``KnowledgeBase`` that go on until somebody ends them."""

    _config: Config
    _parts: Parts

    @abstractmethod
    def sources(self) -> list[tuple[str, str]]: ...

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @abstractmethod
    def ingest_apart(
        self, options: IngestOptions, *, stop: Event | None = None
    ) -> Iterator[IngestEvent]: ...

    def watch(
        self, *, stop: Event, embed: bool = True, poll_secs: float | None = None
    ) -> Generator[IngestEvent | str, None, None]:
        """Follow the sources, and index what changes in them, until *stop* is set.

        Yields the events of each run that finds something, its last one with the report, and
        in words whatever else a person should know. What goes wrong is said and tried again.
        With *poll_secs* all is looked at so often, and the system is not asked to tell of
        changes. ``StoreBusy`` where another process follows the same sources already.
        """
        self._refuse_readonly("watch")
        from kb_app._data_dir import DataDir
        from kb_app._presence import Presence
        from kb_app._watching.following import Follower, Sources
        from kb_app._watching.notices import SystemNotices
        from kb_core.ingest import IngestOptions

        options = IngestOptions(embed=embed, summary_only=False)
        sources = Sources(
            roots=self._roots,
            look=lambda: self._look(embed=embed),
            touches=self._touches,
            run=lambda stop: self.ingest_apart(options, stop=stop),
        )
        follower = Follower(
            sources,
            SystemNotices(),
            Presence(DataDir(self._config.storage.data_dir)),
            clock=self._parts.clock,
            monotonic=time.monotonic,
            poll_secs=poll_secs,
        )
        return follower.events(stop)

    def followed(self) -> Followed | None:
        """Return who follows the sources now, this process or another; ``None`` for nobody."""
        from kb_app._data_dir import DataDir
        from kb_app._presence import followed

        return followed(DataDir(self._config.storage.data_dir))

    def _fresh(self, sources: Mapping[str, Mapping[str, Any]]) -> types.FileStatusFreshness:
        """Return how old what is found may be; *sources* are the published ones."""
        from kb_app.jobs import all_seen_at
        from kb_core.clock import from_epoch, to_rfc3339

        follower = self.followed()
        ids = [source.id for source in self._config.sources]
        at = all_seen_at(self._config.storage.data_dir, sources, ids)
        seen = [to_rfc3339(from_epoch(at))] if at is not None else []
        if follower is not None and follower.seen_at is not None:
            seen.append(follower.seen_at)
        fresh: types.FileStatusFreshness = {"followed": follower is not None}
        if follower is not None:
            fresh["pending"] = follower.pending
        if seen:
            fresh["seen_at"] = max(seen)
        return fresh

    def _roots(self) -> Sequence[str]:
        return [root for _, root in self.sources()]

    def _look(self, *, embed: bool) -> Look:
        from kb_app._ingest.run import look
        from kb_app._watching.following import Look

        config = self._config
        wanted = config.ingest.embed and embed
        is_quiet, folders = look(
            replace(config, ingest=replace(config.ingest, embed=wanted)), self._parts
        )
        return Look(is_quiet, folders)

    def _touches(self, paths: Collection[str]) -> bool:
        from kb_app._ingest.settings import source_specs
        from kb_app._watching.touching import touches

        config = self._config
        return touches(source_specs(config, ()), config.storage.data_dir, paths)
