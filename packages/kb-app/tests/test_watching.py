"""Following sources under a clock of the test's own: whatever happens, nothing is missed.

The world is a dictionary of files, which a look compares with what was indexed; the oracle is
that both are equal when the world has been still for a while.
"""

from __future__ import annotations

import gc
import random
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import rmtree
from threading import Event

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._data_dir import DataDir
from kb_app._presence import Presence, followed
from kb_app._watching.agenda import Agenda
from kb_app._watching.following import Follower, Happening, Look, Sources
from kb_app._watching.notices import NOTHING, Told
from kb_app.testing.facade import event, report
from kb_core.errors import IoError, StoreBusy
from kb_core.ingest import IngestEvent

START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = 86_400.0


@dataclass
class World:
    """Files, what is told of them, and the time, which passes only where somebody waits."""

    root: Path
    now: float = 0.0
    slept: float = 0.0
    files: dict[str, int] = field(default_factory=dict)
    index: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    renewed: set[str] = field(default_factory=set)
    followed: frozenset[str] = frozenset()
    room: int = 16_384
    refuses: str = ""
    run_secs: float = 0.6
    errors: list[Exception] = field(default_factory=list)
    to_come: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    runs: int = 0
    looks: int = 0
    follows: int = 0

    # ---- what the test does

    def at(self, when: float, what: Callable[[], object]) -> None:
        self.to_come.append((when, what))

    def write(self, name: str, *, is_told: bool = True) -> None:
        self.files[name] = self.files.get(name, 0) + 1
        if is_told:
            self.tell(name)

    def delete(self, name: str) -> None:
        if self.files.pop(name, None) is not None:
            self.tell(name)

    def tell(self, name: str) -> None:
        folder = f"{self.root}/{name}".rpartition("/")[0]
        if folder in self.followed and len(self.told) < self.room:
            self.told.add(f"{self.root}/{name}")

    def fail_with(self, error: Exception, times: int) -> None:
        self.errors += [error] * times

    # ---- the time

    def pass_by(self, secs: float) -> None:
        until = self.now + secs
        while self.to_come and self.to_come[0][0] <= until:
            when, what = self.to_come.pop(0)
            self.now = max(self.now, when)
            what()
        self.now = until

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.now + self.slept)

    # ---- what a follower is given

    def follow(self, roots: Collection[str], folders: Collection[str]) -> str:
        self.follows += 1
        self.followed = frozenset() if self.refuses else frozenset(folders)
        self.told.clear()
        self.renewed.clear()
        return self.refuses

    def wait(self, secs: float, stop: Event) -> Told:
        until = self.now + secs
        while not self.told and self.now < until:
            soon = self.to_come[0][0] if self.to_come else until
            self.pass_by(min(max(soon - self.now, 0.0), until - self.now) or 0.001)
        if not self.told:
            return NOTHING
        told, self.told, renewed, self.renewed = self.told, set(), self.renewed, set()
        return Told(frozenset(told), frozenset(renewed))

    def close(self) -> None:
        self.followed = frozenset()

    def look(self) -> Look:
        self.looks += 1
        self.pass_by(0.05)
        folders = {f"{self.root}/{name}".rpartition("/")[0] for name in self.files}
        return Look(self.files == self.index, frozenset({str(self.root), *folders}))

    def run(self, stop: Event) -> Iterator[IngestEvent]:
        self.runs += 1
        yield event("scan_started", source_id="notes", root=str(self.root))
        if self.errors:
            raise self.errors.pop()
        seen = dict(self.files)
        self.pass_by(self.run_secs)
        changed = sum(self.index.get(name) != n for name, n in seen.items())
        changed += len(self.index.keys() - seen.keys())
        self.index = seen
        yield event("completed", report=report(counts={"updated": changed}))

    # ---- the test itself

    def follow_until(self, end: float, *, poll_secs: float | None = None) -> deque[Happening]:
        """Let all happen that is to come, and time go on until *end*."""
        self.to_come.sort(key=lambda pair: pair[0])
        stop, told = Event(), deque[Happening](maxlen=9)
        self.at(end, stop.set)
        sources = Sources(
            roots=lambda: [str(self.root)], look=self.look, touches=self.touches, run=self.run
        )
        follower = Follower(
            sources,
            self,
            Presence(DataDir(self.root.parent / "data")),
            clock=self.clock,
            monotonic=lambda: self.now,
            poll_secs=poll_secs,
        )
        for happening in follower.events(stop):
            told.append(happening)
            if isinstance(happening, str):
                self.said.append(happening)
        return told

    def touches(self, paths: Collection[str]) -> bool:
        return any(not path.endswith(".ignored") for path in paths)


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "notes").mkdir()
    return World(tmp_path / "notes")


def test_what_is_there_is_indexed_at_once_and_then_nothing_is_done(world: World) -> None:
    world.write("a.md")
    told = world.follow_until(500)

    assert world.index == world.files
    assert (world.runs, world.looks) == (1, 2)
    assert [getattr(one, "kind", one) for one in told] == ["scan_started", "completed"]


def test_changes_that_come_together_are_one_run(world: World) -> None:
    for n in range(10):
        world.at(20 + n * 0.1, partial(world.write, f"{n}.md"))
    world.follow_until(60)

    assert world.index == world.files
    assert world.runs == 1


def test_changes_that_do_not_end_are_not_waited_for(world: World) -> None:
    for n in range(600):
        world.at(20 + n * 0.1, partial(world.write, f"{n}.md"))
    world.follow_until(40)

    assert len(world.index) > 100


def test_what_changes_while_a_run_goes_on_leads_to_one_more(world: World) -> None:
    world.run_secs = 10.0
    world.at(20, lambda: world.write("a.md"))
    for n in range(5):
        world.at(22 + n, lambda: world.write("a.md"))
    world.follow_until(60)

    assert world.index == world.files
    assert world.runs == 2


def test_what_is_ignored_leads_to_no_look(world: World) -> None:
    world.follow_until(10)
    looks = world.looks
    for n in range(100):
        world.at(20 + n, partial(world.write, f"{n}.ignored"))
    world.index = {f"{n}.ignored": 1 for n in range(100)}
    world.now = 0
    world.follow_until(130)

    assert world.looks <= looks + 2


def test_files_in_folders_that_came_unseen_are_found(world: World) -> None:
    """Nothing is told of a new folder's files before it is followed."""
    world.at(20, lambda: world.write("new/deep/a.md"))
    world.at(20, lambda: world.tell("new"))
    world.at(21.2, lambda: world.write("new/deep/b.md"))
    world.at(40, lambda: world.write("new/deep/c.md"))
    world.follow_until(80)

    assert world.index == world.files


def test_a_folder_that_was_made_anew_is_followed_anew(world: World) -> None:
    world.write("sub/a.md")

    def renew() -> None:
        world.followed -= {f"{world.root}/sub"}
        world.told |= {f"{world.root}/sub"}
        world.renewed |= {f"{world.root}/sub"}

    world.at(20, renew)
    world.at(30, lambda: world.write("sub/a.md"))
    world.follow_until(60)

    assert world.index == world.files


def test_a_queue_that_overflows_is_said_and_nothing_is_missed(world: World) -> None:
    world.room = 5000
    for n in range(10_000):
        world.at(20, partial(world.write, f"{n}.md"))
    world.follow_until(60)

    assert world.index == world.files
    assert world.said == ["5,000 changes at once: all is looked at again"]


def test_what_nothing_is_told_of_is_found_by_the_look_now_and_then(world: World) -> None:
    world.at(20, lambda: world.write("a.md", is_told=False))
    world.follow_until(700)

    assert world.index == world.files


def test_where_watches_run_out_it_is_said_once_and_all_is_looked_at(world: World) -> None:
    world.refuses = "the limit is reached"
    for n in range(20, 1000, 7):
        world.at(n, partial(world.write, f"{n}.md"))
    world.follow_until(1100)

    assert world.index == world.files
    assert world.said == [
        "changes are not told here (the limit is reached): all is looked at every 5 s"
    ]
    assert world.follows <= 3


def test_where_there_are_watches_again_that_is_said_too(world: World) -> None:
    world.refuses = "the limit is reached"
    world.write("a.md")
    world.at(100, lambda: setattr(world, "refuses", ""))
    world.follow_until(1300)

    assert world.said[1:] == ["changes are told again"]


def test_polling_asks_nobody_to_tell(world: World) -> None:
    for n in range(20, 100, 7):
        world.at(n, partial(world.write, f"{n}.md"))
    world.follow_until(130, poll_secs=10)

    assert world.index == world.files
    assert world.follows == 0
    assert world.looks < 30


def test_looks_that_nobody_asked_for_take_a_fiftieth_of_the_time() -> None:
    agenda = Agenda(0, 0, scan_secs=5)
    agenda.done(100, 1)

    assert not agenda.is_due(149)
    assert agenda.is_due(151)


def test_after_sleep_all_is_looked_at_again(world: World) -> None:
    def sleep() -> None:
        world.slept += 8 * 3600
        world.write("a.md", is_told=False)

    world.at(20, sleep)
    world.follow_until(60)

    assert world.index == world.files
    assert world.said == [
        "the clock went 28,800 s ahead, or the machine slept: all is looked at again"
    ]


def test_a_clock_that_goes_back_harms_nothing(world: World) -> None:
    world.at(20, lambda: setattr(world, "slept", -90_000.0))
    world.at(30, lambda: world.write("a.md"))
    world.follow_until(60)

    assert world.index == world.files
    assert "back" in world.said[0]


def test_a_root_that_goes_and_comes_is_followed_again(world: World) -> None:
    def go() -> None:
        world.root.rmdir()
        world.followed = frozenset()

    world.at(20, go)
    world.at(40, world.root.mkdir)
    world.at(60, lambda: world.write("a.md"))
    world.follow_until(100)

    assert world.index == world.files
    assert world.said == [f"{world.root} is gone", f"{world.root} is another folder now"]


def test_another_writer_is_waited_for_and_said_once(world: World) -> None:
    world.fail_with(StoreBusy("another kebab is writing: process 7"), 10)
    world.at(20, lambda: world.write("a.md"))
    world.follow_until(90)

    assert world.index == world.files
    assert world.said == ["another kebab is writing: process 7; waiting for it"]


@pytest.mark.parametrize("error", [IoError("no space left", hint="free some"), OSError("odd")])
def test_what_goes_wrong_is_said_once_and_tried_less_and_less_often(
    world: World, error: Exception
) -> None:
    world.write("a.md")
    world.fail_with(error, 9)
    world.follow_until(1500)

    assert world.index == world.files
    assert len(world.said) == 1
    assert world.runs == 10


def test_others_see_who_follows_and_since_when_all_is_fresh(world: World) -> None:
    data, seen = DataDir(world.root.parent / "data"), []
    world.at(20, lambda: world.write("a.md"))
    world.at(10, lambda: seen.append(followed(data)))
    world.at(20.2, lambda: seen.append(followed(data)))
    world.at(50, lambda: seen.append(followed(data)))
    world.follow_until(60)

    before, meanwhile, after = seen
    assert before is not None
    assert meanwhile is not None
    assert after is not None
    assert (before.pending, meanwhile.pending, after.pending) == (False, True, False)
    assert before.seen_at == "2026-03-01T00:00:00Z"
    assert (after.seen_at or "") >= "2026-03-01T00:00:20Z"
    assert followed(data) is None


def test_only_one_follows(world: World) -> None:
    first, second = (Presence(DataDir(world.root.parent / "data")) for _ in range(2))
    first.begin(START)
    with pytest.raises(StoreBusy, match="follows these sources already: process"):
        second.begin(START)
    first.end()
    second.begin(START)
    second.end()


def test_who_follows_has_the_place_in_another_knowledge_base_too(world: World) -> None:
    """An import sets the data directory aside, and with it the lock."""
    data = DataDir(world.root.parent / "data")
    seen: list[bool] = []

    def replaced() -> None:
        data.root.rename(data.beside("replaced-1"))
        data.root.mkdir()
        data.store.touch()
        world.index.clear()

    world.write("a.md")
    world.at(20, replaced)
    world.at(40, lambda: seen.append(followed(data) is not None))
    world.follow_until(60)

    assert world.index == world.files
    assert world.said == ["the knowledge base was replaced: all is looked at again"]
    assert seen == [True]
    assert followed(data) is None


def test_a_place_that_another_took_meanwhile_is_his(world: World) -> None:
    data = DataDir(world.root.parent / "data")
    first, second = Presence(data), Presence(data)
    first.begin(START)
    rmtree(data.root)
    assert not first.keep()  # nothing is there to follow for
    second.begin(START)
    data.store.touch()

    with pytest.raises(StoreBusy, match="follows these sources already: process"):
        first.keep()
    first.end()
    assert followed(data) is not None
    second.end()


def test_a_thousand_atomic_saves_a_minute_are_all_found(world: World) -> None:
    draw = random.Random(3)
    for n in range(3000):
        name = f"{draw.randrange(40)}.md"
        world.at(20 + n * 0.06, partial(world.tell, f".{name}.tmp"))
        world.at(20 + n * 0.06, partial(world.write, name))
    world.follow_until(260)

    assert world.index == world.files
    assert world.runs < 80


def test_three_days_are_followed_with_flat_memory(world: World) -> None:
    draw = random.Random(5)
    sizes = []

    def work() -> None:
        name = f"{draw.randrange(9)}/{draw.randrange(200)}.md"
        kind = draw.random()
        if kind < 0.2:
            world.delete(name)
        else:
            world.write(name, is_told=kind < 0.97)
        if kind > 0.99:
            world.slept += 3600
        world.told.update(f"{world.root}/{n}.ignored" for n in range(5))
        if world.now < 3 * DAY - 700:
            world.at(world.now + draw.expovariate(1 / 300), work)
            world.to_come.sort(key=lambda pair: pair[0])
        if len(world.said) > 50:
            world.said.clear()

    def measure() -> None:
        gc.collect()
        sizes.append(len(gc.get_objects()) - len(world.files) - len(world.index))

    world.at(10, work)
    for hour in (12, 36, 60):
        world.at(hour * 3600, measure)
    world.follow_until(3 * DAY)

    assert world.index == world.files
    assert world.runs > 500
    assert max(sizes) - min(sizes) < 3000, sizes


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.floats(0.01, 30),
            st.sampled_from(["write", "quiet write", "delete", "sleep", "busy", "fail", "refuse"]),
            st.integers(0, 5),
        ),
        max_size=25,
    ),
    st.floats(0.01, 20),
)
def test_whatever_happens_in_whatever_order_nothing_is_missed(
    tmp_path_factory: pytest.TempPathFactory, happenings: list[tuple[float, str, int]], secs: float
) -> None:
    world = World(tmp_path_factory.mktemp("world") / "notes", run_secs=secs)
    world.root.mkdir()
    when = 0.0
    for pause, what, n in happenings:
        when += pause
        name = f"{n % 2}/{n}.md"
        acts: dict[str, Callable[[], object]] = {
            "write": partial(world.write, name),
            "quiet write": partial(world.write, name, is_told=False),
            "delete": partial(world.delete, name),
            "sleep": lambda: setattr(world, "slept", world.slept + 5000),
            "busy": lambda: world.fail_with(StoreBusy("busy"), 3),
            "fail": lambda: world.fail_with(IoError("full"), 2),
            "refuse": partial(setattr, world, "refuses", "no" * (n % 2)),
        }
        world.at(when, acts[what])
    failures = sum(what == "fail" for _, what, _ in happenings)
    world.follow_until(when + 2000 + 600 * failures)  # each is tried again twice, in 300 s

    assert world.index == world.files
