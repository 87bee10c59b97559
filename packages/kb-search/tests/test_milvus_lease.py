"""One publisher at a time; whoever lost its turn, and whenever, changes nothing that is read."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any

import pytest

from kb_core.errors import ConfigInvalid, KbError, StoreBusy
from kb_core.records import Publication
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_search.milvus import Place

pytestmark = [
    pytest.mark.skipif(find_spec("pymilvus") is None, reason="the extra 'milvus' is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

PAUSES = 5
"""At how many of its some fifty steps a publisher is stopped, chosen anew each time."""
_STEPS = ("has", "make", "drop", "upsert", "delete", "get", "rows", "names")


class Clock:
    """A clock that is put forward."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    uri = str(tmp_path_factory.mktemp("milvus") / "milvus.db")
    numbers = iter(range(1000))
    return lambda: Place(uri=uri, collection=f"t{next(numbers)}")


def writer(place: Place, owner: str, clock: Clock, **how: Any) -> Any:  # noqa: ANN401 - imported late
    from kb_search.milvus.lease import Publisher
    from kb_search.milvus.writer import Writer

    return Writer(place, clock, who=Publisher(owner, f"the machine {owner}", **how))


def seen(place: Place) -> tuple[dict[str, str | None], list[str], int]:
    """Return what a reader sees: texts, what words find, and the sequence."""
    from kb_search.milvus.reader import Reader

    snapshot = Reader(place).snapshot()
    texts = {doc["path"]: snapshot.doc_text(doc["doc_id"]) for doc in snapshot.docs(None)}
    found = snapshot.lexical(LexicalQuery((Clause("walrus"),)), None, 100)
    chunks = snapshot.chunks([hit.chunk_key for hit in found])
    return texts, sorted(chunk["text"] for chunk in chunks.values()), snapshot.control.sequence


def publications(said: str, *, ahead: int = 0) -> tuple[Publication, Publication]:
    """Return two states of a store: four documents, then one other and one gone."""
    corpus = Corpus()
    for _ in range(ahead):
        corpus.publication()
    first = corpus.publication(
        *(corpus.document(f"{n}.md", f"walrus {n} of {said}") for n in range(4))
    )
    second = corpus.publication(
        corpus.document("0.md", f"another walrus of {said}"), removed=["1.md"]
    )
    return first, second


def test_while_one_publishes_another_is_refused_and_has_its_turn_then(
    places: Callable[[], Place],
) -> None:
    from kb_search.milvus.dropping import drop
    from kb_search.milvus.lease import Publisher

    place, clock = places(), Clock()
    (first, second), (mine, _) = publications("a"), publications("a")
    with writer(place, "a", clock) as one:
        one.publish(first)
        with pytest.raises(StoreBusy, match="the machine a publishes to the index"):
            writer(place, "b", clock)
        with pytest.raises(StoreBusy, match="the machine a publishes"):
            drop(place, "fake", who=Publisher("b"), clock=clock, dry_run=False)
        with writer(place, "a", clock) as again:  # its own lock keeps these apart
            assert again.control.sequence == first.sequence

        clock.now += timedelta(seconds=100)
        one.publish(second)
    with writer(place, "b", clock) as other:
        assert other.control is None, "another's rows are not gone on with"
        with pytest.raises(ConfigInvalid, match="is ahead of this copy of the store"):
            other.rebuild([mine])
    assert seen(place)[2] == second.sequence


def test_who_waits_has_its_turn_when_the_other_is_done(places: Callable[[], Place]) -> None:
    place, clock = places(), Clock()
    one = writer(place, "a", clock)
    threading.Timer(0.3, one.close).start()

    with writer(place, "b", clock, wait_secs=60.0) as other:
        other.rebuild([publications("b")[0]])

    assert seen(place)[0]["0.md"] == "walrus 0 of b"


def test_a_turn_that_ended_without_a_word_ends_by_time(places: Callable[[], Place]) -> None:
    place, clock = places(), Clock()
    gone = writer(place, "a", clock)
    gone.publish(publications("a")[0])

    clock.now += timedelta(seconds=121)
    with writer(place, "b", clock) as other:
        other.rebuild([publications("b")[0]])

    assert seen(place)[0]["0.md"] == "walrus 0 of b"
    with pytest.raises(StoreBusy, match="another machine has taken over"):
        gone.publish(publications("a")[1])


@pytest.mark.parametrize("begins", ["publishes", "takes over"])
def test_whoever_sleeps_at_any_step_and_wakes_after_another_took_over_changes_nothing(
    begins: str, places: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.randrange(10**6)
    whole = _steps_of(begins, places(), monkeypatch)
    for at in sorted(random.Random(seed).sample(range(whole), min(PAUSES, whole))):
        place, clock = places(), Clock()
        asleep = _asleep(begins, place, clock, at, monkeypatch)

        clock.now += timedelta(seconds=121)
        first, second = publications("b", ahead=2)
        try:
            other = writer(place, "b", clock)
            other.rebuild([first])
            before = seen(place)
        finally:
            asleep.wake()
        assert seen(place) == before, (seed, at)
        other.publish(second)
        other.close()
        texts, found, sequence = seen(place)

        assert texts["0.md"] == "another walrus of b", (seed, at)
        assert sorted(texts) == ["0.md", "2.md", "3.md"], (seed, at)
        assert all(text.endswith(" of b") for text in found), (seed, at)
        assert (len(found), sequence) == (3, second.sequence), (seed, at)


class _Sleeper:
    """A publisher in a thread of its own that stops before its step *at*, until it is woken."""

    def __init__(self, work: Callable[[], object], at: int, patch: pytest.MonkeyPatch) -> None:
        from kb_search.milvus.engine import Engine

        self.steps, self._at, self._work = 0, at, work
        self._asleep, self._awake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        with patch.context() as patched:
            for name in _STEPS:
                patched.setattr(Engine, name, self._stopping(getattr(Engine, name)))
            self._thread.start()
            while not self._asleep.wait(0.01) and self._thread.is_alive():
                pass

    def wake(self) -> None:
        """Let it go on to its end."""
        self._awake.set()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(KbError):  # it notices, or not
            self._work()

    def _stopping(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any, **how: Any) -> Any:  # noqa: ANN401 - as the step itself
            if threading.current_thread() is self._thread:
                if self.steps == self._at:
                    self._asleep.set()
                    self._awake.wait()
                self.steps += 1
            return step(*args, **how)

        return stepped


def _asleep(
    begins: str, place: Place, clock: Clock, at: int, patch: pytest.MonkeyPatch
) -> _Sleeper:
    first, second = publications("a")
    with writer(place, "a" if begins == "publishes" else "c", clock) as before:
        before.publish(first)

    def work() -> None:
        with writer(place, "a", clock) as made:
            if begins == "publishes":
                made.publish(second)
            else:
                made.rebuild([publications("a")[0]])

    return _Sleeper(work, at, patch)


def _steps_of(begins: str, place: Place, patch: pytest.MonkeyPatch) -> int:
    whole = _asleep(begins, place, Clock(), 10**6, patch)
    whole.wake()
    return whole.steps
