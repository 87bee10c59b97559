"""A process beside this one: what it does comes in order, and what it loses is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any

import pytest

from kb_app import _wiring
from kb_app._ingest.workers.companion import Companion
from kb_app._wiring import open_session
from kb_app.config import Config, Source, _rules
from kb_app.testing.executors import CHORES
from kb_core.clock import utc_now
from kb_core.records import Changes
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import document
from kb_core.values import replace
from kb_search.reader import Reader


@contextmanager
def companion(task: str = "do", timeout_secs: float = 0) -> Generator[Companion[Any, Any]]:
    with closing(Companion[Any, Any](f"{CHORES}:{task}", timeout_secs=timeout_secs)) as made:
        yield made


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_was_handed_over_comes_in_order_whenever_it_is_taken() -> None:
    with companion("double") as made:
        first = made([1, 2])
        second = made([3])

        assert [*first, *second, *made(range(4, 7))] == [2, 4, 6, 8, 10, 12]


def test_what_nobody_took_is_not_taken_for_what_came_later() -> None:
    with companion("double") as made:
        given_up = made([1, 2, 3])
        assert next(given_up) == 2

        assert list(made([4])) == [8]


def test_a_task_that_fails_or_ends_the_process_is_lost_and_no_other() -> None:
    with companion() as made:
        assert list(made(["a", "raise", "b", "exit", "c"])) == ["a", None, "b", None, "c"]


def test_a_task_that_does_not_end_is_lost() -> None:
    with companion(timeout_secs=2) as made:
        assert list(made(["hang", "a"])) == [None, "a"]


def test_nothing_starts_before_the_first_task_and_closing_ends_it(tmp_path: Path) -> None:
    with companion() as made:
        assert (list(made([])), made.pid) == ([], 0)
        assert list(made(["a"])) == ["a"]
        pid = made.pid
        made([f"wait {tmp_path / 'for ever'}"])

    assert pid
    assert not is_alive(pid)
    assert list(made(["a"])) == [None]


class _Noted(SimpleQueue[Any]):
    """A queue that tells how often somebody began to wait for it."""

    def __init__(self) -> None:
        self.begun = Semaphore(0)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ANN401
        self.begun.release()
        return super().get(block, timeout)


def test_whoever_waits_for_it_in_another_thread_hears_of_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with companion() as made:
        made._queues.done = noted = _Noted()
        waiting, taken = [made([f"wait {tmp_path / 'for ever'}"]), made(["a"])], list[object]()
        threads = [Thread(target=lambda one=one: taken.extend(one), daemon=True) for one in waiting]
        for thread in threads:
            thread.start()
        for _ in (*threads, "it begins", "it waits"):  # what comes of it last is that it waits
            assert noted.begun.acquire(timeout=60)

    for thread in threads:
        thread.join(timeout=20)
    assert taken == [None, None]
    assert not caplog.records


def test_where_no_process_can_be_had_everything_is_told_as_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with companion() as made:
        assert list(made(["a", "b"])) == [None, None]
        assert list(made(["c"])) == [None]


MANY = Changes(
    documents=tuple(
        document(f"{n}.md", "\n\n".join(f"The walrus {n} of bay {m} swims." for m in range(101)))
        for n in range(20)
    )
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Companion[Any, Any]]:
    """Every companion that a session finds."""
    found: list[Companion[Any, Any]] = []
    find = _wiring._companion

    def noted(cores: int) -> Any:  # noqa: ANN401
        one = find(cores)
        found.extend(filter(None, [one]))
        return one

    monkeypatch.setattr(_wiring, "_companion", noted)
    return found


def published(home: Path, *batches: Changes, cores: int = 0) -> list[float]:
    """Publish *batches* ahead, and return the scores of what is found."""
    with open_session(home, lock_wait_secs=0, clock=utc_now, cores=cores) as session:
        for changes in batches:
            session.commit_ahead(changes)
        session.settle()
    snapshot = Reader(home).snapshot()
    found = snapshot.lexical(LexicalQuery((Clause("walrus of bay 7"),)), None, 50)
    assert len(found) == 50 or len(batches) == 1
    return [row.score for row in found]


def test_a_large_batch_has_its_terms_made_beside_and_ranks_as_any_other(
    tmp_path: Path, made: list[Companion[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    little = Changes(documents=(document("little.md", "A walrus."),))
    beside = published(tmp_path / "beside", little, MANY)
    (one,) = made
    assert one._count > 1
    assert one._is_gone

    assert published(tmp_path / "one core", little, MANY, cores=1) == beside
    monkeypatch.setattr(_rules, "available_cores", lambda: 1)
    assert published(tmp_path / "one there", little, MANY) == beside
    assert len(made) == 1


def test_one_worker_that_was_asked_for_has_no_companion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()
    monkeypatch.setattr(_wiring, "_companion", asked.append)
    for at, workers in enumerate((1, 3)):
        config = Config.inside(tmp_path / f"{at}", Source(id="notes", root=tmp_path / "notes"))
        config = replace(config, ingest=replace(config.ingest, workers=workers))
        with _wiring.parts_of(config).session() as session:
            session.commit_ahead(MANY)
            session.commit_ahead(Changes(deleted_docs=(MANY.documents[0].doc_id,)))

    assert asked == [1, 3]


def test_a_small_batch_starts_no_process(tmp_path: Path, made: list[Companion[Any, Any]]) -> None:
    published(tmp_path, Changes(documents=(document("little.md", "A walrus."),)))

    assert made == []
