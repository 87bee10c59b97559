"""The write protocol: the truth first, then the index; and what heals after a crash.

Store and index do not know each other; this is where they meet. A change is committed to
the store (durable), then published to the index (visible) in one atomic step. When a
session opens and the index is behind the truth, the outbox is replayed; when the index is
missing, unreadable, of another version or ahead of the truth, it is rebuilt from the truth,
without parsing or embedding anything. Nobody is asked. The same is done where the index turns
out to be damaged, when it is opened or in the middle of a run.

Where the truth itself is gone, it is made anew from the files, and until that has been done
once, whole, readers keep the index of the one before: an empty store is no reason to find
nothing.

While the index is told of one batch, in a thread, the next may be committed to the store
(``commit_ahead``). At any moment, then, the index lacks one batch or two, and whoever opens a
session after a kill publishes both.

One session at a time per data directory; the writer lock says who.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Self

from kb_app._allocator import give_back
from kb_app._data_dir import DataDir
from kb_core import logs
from kb_core.errors import IndexCorrupt, NotIndexed
from kb_core.ports import IndexWriter, Store
from kb_core.records import Changes, Control, DocumentRecord, Publication

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["WriteSession"]

_CHECKPOINT_BYTES = 128 * 1024 * 1024
_LARGE_COMMIT_BYTES = 16 * 1024 * 1024
"""What one commit may add to the log; four thousand usual passages add a third of it."""
_WORTH_GIVING_BACK = 4000
"""Passages that leave several megabytes of freed memory in areas of threads that ended."""
_WORTH_FOLDING_BYTES = 32 * 1024 * 1024
"""A store from this size on is looked at again once its log is folded in."""
_WORTH_REWRITING_BYTES = 1_750_000
_WORTH_REWRITING_SHARE = 0.3
"""Of a store, what has to be of no use so that it is rewritten, and how large that has to be."""
_MOST_NAMED = 3
_MADE_ANEW = "made_anew"
"""The setting that says that a store is not whole yet, and an older index is shown."""


class WriteSession:
    """The one writer of a data directory. ``healed`` says what recovery did, if anything.

    *store* and *index* are opened once *lock* is held, and closed before it is let go. *restore*
    commits to a store that is older than its index what only that still has, and returns how
    many documents those are; *finish* goes on with what a command began that was killed, and
    says so; *hear* is told how many passages a rebuild has taken so far.
    """

    def __init__(  # noqa: PLR0913 - each is a part, or what it is told by
        self,
        data: DataDir,
        *,
        lock: AbstractContextManager[object],
        store: Callable[[], Store],
        index: Callable[[], IndexWriter],
        restore: Callable[[Store], int] = lambda _: 0,
        finish: Callable[[WriteSession], str | None] = lambda _: None,
        hear: Callable[[int], object] = lambda _: None,
    ) -> None:
        with ExitStack() as resources:
            self.data = data
            resources.enter_context(data.writing())
            resources.enter_context(lock)
            self.store = resources.enter_context(closing(store()))
            self._index = resources.enter_context(closing(index()))
            self.shows_another = False
            """Whether readers still see the index of a store that is gone."""
            self._under_way: tuple[Publication, Future[float]] | None = None
            """What the index is told in a thread, and how many seconds that takes."""
            self.beside_secs = 0.0
            """Of the last publication in a thread, that is settled: how long it took."""
            self._restore, self._hear = restore, hear
            self._taken = 0
            """Passages that were published since memory was given back."""
            said = (self._recover(), finish(self))
            self.healed = "; ".join(filter(None, said)) or None
            self._resources = resources.pop_all()

    @property
    def control(self) -> Control:
        """The control record as it is published; an empty one while another store's is."""
        control = self._index.control
        if control is None or self.shows_another:
            return Control(store_id=self.store.store_id)
        return control

    def commit(self, changes: Changes, and_then: Callable[[], object] | None = None) -> Control:
        """Commit *changes* to the truth and publish them; return what readers now see.

        What *and_then* commits to the truth is published with them.
        """
        self.store.commit(changes)
        # The engine has a huge document in memory, while the index is yet to be told of it.
        self.store.let_go_if_large(_LARGE_COMMIT_BYTES)
        if and_then is not None:
            and_then()
        self.publish()
        self.store.checkpoint_if_large(_CHECKPOINT_BYTES)
        self._give_back_if_many(changes.documents)
        return self.control

    def commit_ahead(self, changes: Changes) -> Control:
        """Commit *changes* to the truth, and publish them beside what the caller does next.

        Return what readers see when all that was committed before is published. What *changes*
        are refused with is raised by whatever is called next, or by ``settle``.
        """
        self.store.commit(changes)
        is_large = self.store.let_go_if_large(_LARGE_COMMIT_BYTES)
        if is_large or self.shows_another or self._index.control is None:
            self.publish()  # huge documents are in memory one at a time
            self._give_back_if_many(changes.documents)
            return self.control
        since = self._under_way[0].sequence if self._under_way else self.control.sequence
        publication = self.store.publication(since)
        rest = self._index.prepare(publication) if publication else None
        self.settle()
        control = self.control
        if publication and rest and control.sequence == since:  # else a rebuild shows it already
            self._under_way = publication, self._beside.submit(_timed, rest)
        self.store.checkpoint_if_large(_CHECKPOINT_BYTES)
        self._give_back_if_many(changes.documents)
        return control

    @property
    def is_ahead(self) -> bool:
        """Whether something that was committed ahead is yet to be settled."""
        return self._under_way is not None

    @property
    def is_publishing(self) -> bool:
        """Whether the index is still told of what was committed last."""
        return self._under_way is not None and not self._under_way[1].done()

    def settle(self) -> None:
        """Wait until what was committed ahead is published; raise what it is refused with."""
        self.beside_secs = 0.0
        if self._under_way is None:
            return
        publication, telling = self._under_way
        telling.exception()  # waits; what is interrupted here goes on
        self._under_way = None
        try:
            self.beside_secs = telling.result()
        except IndexCorrupt as error:
            self._rebuild_for(error)
        self._prune(publication)

    @cached_property
    def _beside(self) -> ThreadPoolExecutor:
        """The thread; it ends before anything is closed."""
        from concurrent.futures import ThreadPoolExecutor  # who commits once needs none

        return self._resources.enter_context(ThreadPoolExecutor(1))

    def take_back(self, *undoing: Changes) -> None:
        """Commit *undoing*, of what the truth took and the index refused, if it did."""
        if not self.shows_another and self.store.sequence != self.control.sequence:
            for changes in undoing:
                self.store.commit(changes)
            self.publish()

    def tidy(self) -> None:
        """Give back the space of what was replaced, where that is worth a rewrite; make sums.

        A rewrite of the truth also forgets embeddings that no chunk needs, so it is not made
        lightly: until then, text that comes back is not embedded again.
        """
        self.store.complete_sums()
        if self._index.is_mostly_dead and not self.shows_another:
            self.rebuild()
        sizes = self.store.sizes()
        if sizes["database"] > _WORTH_FOLDING_BYTES:  # else closing does it, soon enough
            self.store.checkpoint()
            sizes = self.store.sizes()
        share = _WORTH_REWRITING_SHARE * sizes["database"]
        if sizes["free"] + sizes["unused"] > max(_WORTH_REWRITING_BYTES, share):
            self.store.compact(0.0)

    def rebuild(self) -> Control:
        """Rebuild the index from the truth, whatever is wrong with the index."""
        try:
            return self._index.rebuild(self._publications())
        except IndexCorrupt:
            self._index.wipe()
            return self._index.rebuild(self._publications())

    def _publications(self) -> Iterator[Publication]:
        taken = 0
        for publication in self.store.rebuild_publications():
            yield publication
            taken += self._give_back_if_many(publication.documents)
            self._hear(taken)

    def _give_back_if_many(self, published: Sequence[DocumentRecord]) -> int:
        """Give memory back once in a while; return how many passages these are."""
        passages = sum(len(doc.chunks) for doc in published)
        self._taken += passages
        if self._taken >= _WORTH_GIVING_BACK:
            give_back()
            self._taken = 0
        return passages

    def whole(self) -> None:
        """Note that every source has been seen: a store that was made anew is shown from now."""
        if self.shows_another:
            self.rebuild()
            self.shows_another = False
            self.store.put_setting(_MADE_ANEW, value=False)

    def close(self) -> None:
        """Finish merges, checkpoint, let go of the lock; closing twice is harmless."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recover(self) -> str | None:
        control = self._index.control
        if control is None:
            return self._rebuild_and_say()
        if control.store_id != self.store.store_id:
            return self._another_store(control)
        try:
            waiting = self.store.publication(control.sequence)
        except NotIndexed:  # the index is ahead of the truth, or too far behind it
            return self._follow_older_store(control) or self._rebuild_and_say()
        if waiting is None:
            return None
        try:
            self._index.publish(waiting)
        except IndexCorrupt:
            return self._rebuild_and_say()
        return self._say("an interrupted publication was finished")

    def _follow_older_store(self, control: Control) -> str | None:
        """Rebuild an index that is ahead of the store, and keep what only the index has."""
        if control.sequence <= self.store.sequence:
            return None
        restored = self._restore(self.store)
        self.rebuild()
        return self._say(
            "the store is an older copy than the one that was indexed, and the index was rebuilt "
            f"from it; documents that only the index still had, and that are kept: {restored:,}"
        )

    def _another_store(self, control: Control) -> str | None:
        is_new = self.store.sequence == 0 or self.store.get_setting(_MADE_ANEW)
        if not is_new or not control.stats.get("doc_count"):
            return self._rebuild_and_say()
        self.store.put_setting(_MADE_ANEW, value=True)
        self.shows_another = True
        return self._say(
            "the store is made anew from your files and from what was added; until "
            "'kebab ingest' has seen every source, searches are answered from the old index"
        )

    def _rebuild_and_say(self) -> str | None:
        self.rebuild()
        if self.store.sequence == 0:
            return None
        damage = "; ".join(self._index.damage[:_MOST_NAMED])
        why = f", since it was damaged: {damage}" if damage else ""
        return self._say(f"the index was rebuilt from the store{why}")

    def publish(self) -> None:
        """Publish whatever the index lacks; nothing, if it lacks nothing."""
        self.settle()
        if self.shows_another:
            return
        if self._index.control is None:  # dropped, and the disk refused what was to replace it
            self.rebuild()
            return
        published = self.control.sequence
        publication = self.store.publication(published)
        if publication is not None:
            try:
                self._index.publish(publication)
            except IndexCorrupt as error:
                self._rebuild_for(error)
            self._prune(publication)

    def _rebuild_for(self, error: IndexCorrupt) -> None:
        logs.logger(__name__).warning("%s; it is rebuilt from the store", error)
        self.rebuild()

    def _prune(self, publication: Publication) -> None:
        if not publication.is_of_counts_alone:
            self.store.prune_outbox(publication.sequence)

    @staticmethod
    def _say(what: str) -> str:
        logs.logger(__name__).info(what)
        return what


def _timed(work: Callable[[], object]) -> float:
    """Do *work*; return how many seconds it took."""
    started = perf_counter()
    work()
    return perf_counter() - started
