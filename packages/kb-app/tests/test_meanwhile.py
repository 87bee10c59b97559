"""What is done while nobody asks: how long a turn is, and what ends it, by clocks of the tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from kb_app import _meanwhile
from kb_app._data_dir import DataDir
from kb_app._ingest import run
from kb_app._looking import BRIEF_SECS
from kb_app._meanwhile import Behind, Meanwhile
from kb_app._parts import Parts
from kb_app._write import WriteSession
from kb_app.config import Config, Source
from kb_app.knowledge_base import KnowledgeBase
from kb_app.testing.parts import writable_parts
from kb_core.errors import IndexCorrupt, StoreBusy
from kb_core.ingest import IngestOptions
from kb_core.testing.fakes import HashEmbedder, MemoryIndex
from kb_core.testing.store import MemoryStore
from kb_core.values import replace
from kb_store import WriterLock, lock

_NOTES = 44


class _Clock(SimpleNamespace):
    """Stands for the module ``time``; only what a test says takes any."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class _Pauses(threading.Event):
    """An end that comes after so many pauses, which take no time of anybody's."""

    def __init__(self, clock: _Clock, meanwhile: Iterator[Callable[[], None]]) -> None:
        super().__init__()
        self.secs: list[float] = []
        self._clock, self._meanwhile = clock, meanwhile

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.secs.append(round(timeout, 6))
        self._clock.now += timeout / 2
        next(self._meanwhile, lambda: None)()
        self._clock.now += timeout / 2
        return False


def test_a_turn_begins_after_a_quiet_second_and_another_writer_is_left_alone_for_fifteen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = _Clock()
    monkeypatch.setattr(_meanwhile, "time", clock)
    turns: list[float] = []

    def work(_: threading.Event) -> bool:
        turns.append(clock.now)
        if len(turns) == 2:
            raise StoreBusy("another kebab is writing")
        return len(turns) < 4

    beside = Meanwhile(work)
    asks = iter([beside.asked])  # half a second after its start
    beside._ended = pauses = _Pauses(clock, asks)

    beside._go_on()

    assert pauses.secs == [1, 0.5, 0.2, 15, 0.2]
    assert turns == pytest.approx([1.5, 1.7, 16.7, 16.9])


@pytest.mark.parametrize("error", [IndexCorrupt("no such file"), OSError("the disk")])
def test_what_goes_wrong_ends_the_turns_and_is_said_in_the_log(
    error: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    monkeypatch.setattr(_meanwhile, "time", clock)

    def work(_: threading.Event) -> bool:
        raise error

    beside = Meanwhile(work)
    beside._ended = pauses = _Pauses(clock, iter(()))

    beside._go_on()

    assert len(pauses.secs) == 1
    assert str(error) in caplog.text
    assert not beside.goes_on


def test_between_two_turns_whoever_waits_for_the_store_looks_for_it_more_than_once() -> None:
    assert _meanwhile._BREATH_SECS > 2 * lock._POLL_SECS


class _Slow(HashEmbedder):
    """Takes a third of a second of the clock for each batch, which is told of."""

    def __init__(self, clock: _Clock) -> None:
        super().__init__(8)
        self.batches: list[int] = []
        self.after_each: Callable[[], None] = lambda: None
        self._clock = clock

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        self.batches.append(len(texts))
        self._clock.now += 1 / 3
        self.after_each()
        return super().embed_passages(texts)


def test_work_is_waited_for_until_it_says_that_it_is_ready() -> None:
    may_end, ended = threading.Event(), threading.Event()

    def work(is_ready: Callable[[], object]) -> None:
        is_ready()
        may_end.wait()
        ended.set()
        raise OSError("for the log")

    behind = Behind(work)
    behind.wait()
    assert behind.is_at_work
    may_end.set()
    behind.end()
    behind.wait()
    assert (behind.is_at_work, ended.is_set()) == (False, True)


def test_what_stands_in_the_way_of_that_is_the_callers() -> None:
    def work(_: Callable[[], object]) -> None:
        raise StoreBusy("somebody writes")

    with pytest.raises(StoreBusy, match="somebody writes"):
        Behind(work).wait()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> _Slow:
    clock = _Clock()
    monkeypatch.setattr(run, "time", clock)
    return _Slow(clock)


@pytest.fixture
def notes(tmp_path: Path, slow: _Slow) -> tuple[Config, Parts]:
    """Return notes without a vector, and the parts that give them some."""
    folder, data = tmp_path / "notes", tmp_path / "data"
    folder.mkdir()
    for number in range(_NOTES):
        (folder / f"{number}.md").write_text(f"The walrus has the number {number}.\n", "utf-8")
    config = Config.inside(data, Source(id="notes", root=folder))
    store, index = MemoryStore(), MemoryIndex()
    made = writable_parts(store, index, slow, data)
    parts = replace(
        made,
        session=lambda: WriteSession(
            DataDir(data),
            lock=WriterLock(DataDir(data).lock),
            store=lambda: store,
            index=lambda: index,
        ),
    )
    with KnowledgeBase(config, parts) as kb:
        list(kb.ingest(IngestOptions(embed=False)))
    return config, parts


def test_a_turn_is_over_before_another_process_that_writes_has_lost_its_patience(
    notes: tuple[Config, Parts], slow: _Slow
) -> None:
    config, parts = notes
    turns: list[int] = []
    goes_on = True
    while goes_on:
        begun, before = slow._clock.now, len(slow.batches)
        goes_on = run.embed_some(config, parts, (), 5000, 0, threading.Event())
        turns.append(len(slow.batches) - before)
        assert slow._clock.now - begun < BRIEF_SECS
        with WriterLock(DataDir(config.storage.data_dir).lock):
            pass  # it is free

    assert turns == [5, 1]
    assert slow.batches == [8] * 5 + [4]


def test_a_turn_ends_with_the_batch_that_somebody_asks_during(
    notes: tuple[Config, Parts], slow: _Slow
) -> None:
    config, parts = notes
    asked = threading.Event()
    slow.after_each = lambda: asked.set() if len(slow.batches) == 2 else None

    assert run.embed_some(config, parts, (), 5000, 0, asked)
    assert run.embed_some(config, parts, (), 5000, 0, asked)

    assert slow.batches == [8, 8]
