"""A batch that is published in a thread while the next is committed to the truth."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from kb_app._data_dir import DataDir
from kb_app._wiring import open_session
from kb_app._write import WriteSession
from kb_core.errors import IndexCorrupt
from kb_core.records import Changes, Control, Publication
from kb_core.testing.documents import document
from kb_core.testing.fakes import MemoryIndex
from kb_core.testing.store import MemoryStore


def batch(name: str) -> Changes:
    return Changes(documents=(document(f"{name}.md", f"The {name} swims."),))


class Index(MemoryIndex):
    """One that notes in which thread it is told what, and waits, or breaks, before that."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[int, bool]] = []
        self.begin: Callable[[], object] = nullcontext
        self.closed_at = 0

    def publish(self, publication: Publication, /) -> Control:
        self.begin()
        is_main = threading.current_thread() is threading.main_thread()
        self.told.append((publication.sequence, is_main))
        return super().publish(publication)

    def close(self) -> None:
        self.closed_at = self.control.sequence if self.control else 0


class Store(MemoryStore):
    """One that does something once a batch is committed."""

    after: Callable[[], object] = nullcontext

    def commit(self, changes: Changes) -> int:
        sequence = super().commit(changes)
        self.after()
        return sequence


def session_of(home: Path, store: MemoryStore, index: Index) -> WriteSession:
    return WriteSession(DataDir(home), lock=nullcontext(), store=lambda: store, index=lambda: index)


def test_the_next_batch_is_in_the_truth_before_the_index_knows_the_one_before(
    tmp_path: Path,
) -> None:
    store, index, may_go_on = Store(), Index(), threading.Event()
    with session_of(tmp_path, store, index) as session:
        index.begin = may_go_on.wait
        assert session.commit_ahead(batch("walrus")).sequence == 0
        assert (session.is_ahead, session.is_publishing) == (True, True)
        store.after = may_go_on.set  # else the walrus would wait for ever
        assert session.commit_ahead(batch("otter")).sequence == 1
        session.settle()

        assert (session.is_ahead, session.is_publishing) == (False, False)
        assert session.control.sequence == store.sequence == 2
        assert len(index.snapshot().docs(None)) == 2
        assert index.told == [(1, False), (2, False)]


def test_one_batch_needs_no_thread_and_waits_for_those_before(tmp_path: Path) -> None:
    index = Index()
    with session_of(tmp_path, Store(), index) as session:
        session.commit(batch("walrus"))
        session.commit_ahead(batch("otter"))
        session.commit(batch("seal"))

    assert index.told == [(1, True), (2, False), (3, True)]


def test_a_huge_batch_is_published_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    monkeypatch.setattr(MemoryStore, "let_go_if_large", lambda *_: True)
    with session_of(tmp_path, Store(), index) as session:
        assert session.commit_ahead(batch("walrus")).sequence == 1
        assert not session.is_ahead

    assert index.told[-1] == (1, True)


def test_who_closes_waits_for_what_is_under_way(tmp_path: Path) -> None:
    index, may_go_on = Index(), threading.Event()
    with session_of(tmp_path, Store(), index) as session:
        index.begin = may_go_on.wait
        session.commit_ahead(batch("walrus"))
        threading.Timer(0.01, may_go_on.set).start()

    assert index.closed_at == 1


def test_damage_that_shows_in_the_thread_is_healed_with_all_that_is_committed(
    tmp_path: Path,
) -> None:
    index = Index()

    def breaks() -> None:
        raise IndexCorrupt("the index is damaged: a panic")

    with session_of(tmp_path, Store(), index) as session:
        index.begin = breaks
        session.commit_ahead(batch("walrus"))
        assert session.commit_ahead(batch("otter")).sequence == 2

        assert not session.is_ahead
        assert len(index.snapshot().docs(None)) == 2


def test_what_the_thread_is_refused_is_raised_once_by_what_comes_next(tmp_path: Path) -> None:
    index = Index()

    def refuses() -> None:
        raise OSError("no space left")

    with session_of(tmp_path, Store(), index) as session:
        index.begin = refuses
        session.commit_ahead(batch("walrus"))
        with pytest.raises(OSError, match="no space"):
            session.commit_ahead(batch("otter"))
        index.begin = nullcontext
        session.publish()

        assert (session.control.sequence, len(index.snapshot().docs(None))) == (2, 2)


def test_who_opens_after_a_kill_publishes_both(tmp_path: Path) -> None:
    with open_session(tmp_path, lock_wait_secs=1) as session:
        session.commit(batch("walrus"))
        session.store.commit(batch("otter"))
        session.store.publication(session.control.sequence)
        session.store.commit(batch("seal"))

    with open_session(tmp_path, lock_wait_secs=1) as session:
        assert session.healed == "an interrupted publication was finished"
        assert session.control.sequence == session.store.sequence == 3
        assert session.control.stats["doc_count"] == 3
