"""A run that finds nothing to do opens no store; any other opens it. Everything is real."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._data_dir import DataDir
from kb_app._ingest.quiet import is_sealed
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import parts_of
from kb_app._write import WriteSession
from kb_app.config import Source
from kb_core.clock import utc_now
from kb_core.ingest import IngestEvent, IngestOptions, IngestReport
from kb_core.search import SearchQuery


@dataclass
class World:
    """A knowledge base of three notes, and who opened its store."""

    home: Path
    config: Config
    later: timedelta = timedelta()
    opened: int = 0
    kinds: list[str] = field(default_factory=list)
    executor: type[InlineExecutor[Any, Any]] = InlineExecutor
    meanwhile: Callable[[], object] = lambda: None
    """What happens when the store is about to be opened."""

    @property
    def notes(self) -> Path:
        return self.home / "notes"

    @property
    def data(self) -> DataDir:
        return DataDir(self.config.storage.data_dir)

    def kb(self) -> KnowledgeBase:
        parts = parts_of(self.config, clock=lambda: utc_now() + self.later)

        def session() -> WriteSession:
            self.opened += 1
            self.meanwhile()
            return parts.session()

        inline = replace(parts, executor=lambda task, _: self.executor(task), session=session)
        return KnowledgeBase(self.config, inline)

    def ingest(self, *paths: str, **options: Any) -> IngestReport:  # noqa: ANN401 - as they are declared
        with self.kb() as kb:
            events = list(kb.ingest(IngestOptions(embed=False, paths=paths, **options)))
        self.kinds = [event.kind for event in events]
        report = events[-1].report
        assert report is not None
        return report

    def opens(self, **options: bool) -> bool:
        """Ingest; say whether the store was opened for it."""
        before = self.opened
        self.ingest(**options)
        return self.opened > before

    def found(self, words: str) -> list[str]:
        with self.kb() as kb:
            return [hit.doc_path for hit in kb.search(SearchQuery(text=words)).hits]


@pytest.fixture
def world(tmp_path: Path) -> World:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("apple", "pear", "plum"):
        (notes / f"{name}.md").write_text(f"# {name.title()}\n\nA {name} fell down.\n", "utf-8")
    config = Config.inside(tmp_path, Source(id="notes", root=notes))
    made = World(tmp_path, replace(config, embedding=replace(config.embedding, model="none")))
    made.ingest()
    return made


def test_a_run_that_finds_nothing_to_do_opens_no_store_and_tells_the_same(world: World) -> None:
    quiet, kinds = world.ingest(), world.kinds
    assert world.opened == 1
    world.data.seal.unlink()
    loud = world.ingest()

    assert world.opened == 2
    assert kinds == world.kinds == ["scan_started", "scan_completed", "completed"]
    assert (quiet.items, quiet.counts, quiet.scanned) == (loud.items, loud.counts, loud.scanned)
    assert (quiet.scope, quiet.corpus_revision) == (loud.scope, loud.corpus_revision)
    assert quiet.counts["unchanged"] == 3


def test_a_quiet_run_is_told_like_any_other(world: World) -> None:
    world.later = timedelta(minutes=5)
    world.ingest()
    with world.kb() as kb:
        newest, first = kb.jobs().past
        last = kb.stats()["last_ingest_at"]

    assert (newest.kind, newest.state, dict(newest.counts)) == (
        *("ingest", "completed"),
        {"unchanged": 3},
    )
    assert newest.started_at - first.started_at >= 300
    assert datetime.fromisoformat(str(last)).timestamp() == newest.finished_at
    assert world.opened == 1


def test_only_who_sees_all_sources_makes_the_index_as_fresh_as_it_says(world: World) -> None:
    """A run over one file, a text that was handed in and ``embed`` counted, too."""
    pear = str(world.notes / "pear.md")
    first = _seen_at(world)
    _some_time_later(world, lambda kb: kb.ingest(IngestOptions(paths=(pear,))))
    edit(world)
    _some_time_later(world, lambda kb: kb.ingest_file(pear))
    _some_time_later(world, lambda kb: kb.ingest_text("A walrus.", title="Walrus"))
    _some_time_later(world, lambda kb: kb.embed())
    assert first is not None
    assert _seen_at(world) == first

    _some_time_later(world, lambda kb: kb.ingest(IngestOptions()))
    loud, opened = _seen_at(world), world.opened
    _some_time_later(world, lambda kb: kb.ingest(IngestOptions()))
    quiet = _seen_at(world)
    assert world.opened == opened
    assert first < str(loud) < str(quiet)

    other = world.home / "other"
    other.mkdir()
    sources = (*world.config.sources, Source(id="other", root=other))
    world.config = replace(world.config, sources=sources)
    assert _seen_at(world) is None
    _some_time_later(world, lambda kb: kb.ingest(IngestOptions(paths=(str(other),))))
    assert _seen_at(world) == quiet


def _some_time_later(world: World, act: Callable[[KnowledgeBase], Iterable[IngestEvent]]) -> None:
    world.later += timedelta(minutes=1)
    with world.kb() as kb:
        list(act(kb))


def _seen_at(world: World) -> str | None:
    with world.kb() as kb:
        return kb.status()["freshness"].get("seen_at")


def test_a_narrowed_run_may_be_quiet_too(world: World) -> None:
    assert world.ingest(str(world.notes / "pear.md")).counts["unchanged"] == 1
    assert world.opened == 1


def test_what_was_whole_is_so_after_a_narrowed_run_of_what_changed(world: World) -> None:
    edit(world)
    (world.notes / "[a]*.md").write_text("# Odd\n\nA name.\n", "utf-8")
    for name, kind in (("pear.md", "updated"), ("[a]*.md", "new")):
        assert world.ingest(str(world.notes / name)).counts[kind] == 1
    assert world.opened == 3

    assert world.ingest(str(world.notes / "[a]*.md")).counts["unchanged"] == 1
    assert world.ingest().counts["unchanged"] == 4
    assert world.opened == 3

    world.data.seal.unlink()
    edit(world)
    world.ingest(str(world.notes / "pear.md"))
    assert not is_sealed(world.data)  # something else may be missing


def edit(world: World) -> None:
    (world.notes / "pear.md").write_text("# Pear\n\nIt was a melon.\n", "utf-8")


def remove(world: World) -> None:
    (world.notes / "pear.md").unlink()


def ignore(world: World) -> None:
    (world.notes / ".kebabignore").write_text("pear.md\n", "utf-8")


def lose_the_index(world: World) -> None:
    (world.data.root / "lexical" / "chunks" / "meta.json").unlink()


def damage_the_index(world: World) -> None:
    (world.data.root / "lexical" / "records" / "meta.json").write_bytes(b"{")


def lose_the_store(world: World) -> None:
    world.data.store.unlink()


def restore_an_older_store(world: World) -> None:
    data = world.data.store.read_bytes()
    status = world.data.store.stat()
    world.data.store.write_bytes(data)
    os.utime(world.data.store, ns=(status.st_atime_ns, status.st_mtime_ns))


def leave_a_log(world: World) -> None:
    world.data.root.joinpath("kebab.duckdb.wal").touch()


def add_a_document(world: World) -> None:
    with world.kb() as kb:
        list(kb.ingest_text("A quince is no pear.", title="Quince", embed=False))


def add_an_asset_that_nobody_knows(world: World) -> None:
    world.data.assets.mkdir()
    (world.data.assets / f"{'0' * 32}.md").write_text("lost", "utf-8")


def trust_less(world: World) -> None:
    source = replace(world.config.sources[0], trust_level="secondary")
    world.config = replace(world.config, sources=(source,))


def add_a_source(world: World) -> None:
    (world.home / "more").mkdir()
    more = Source(id="more", root=world.home / "more")
    world.config = replace(world.config, sources=(*world.config.sources, more))


def take_the_source_away(world: World) -> None:
    world.notes.rename(world.home / "elsewhere")


def an_hour_passes(world: World) -> None:
    world.later = timedelta(minutes=61)


def the_clock_goes_back(world: World) -> None:
    world.later = -timedelta(minutes=61)


def spoil_the_seal(world: World) -> None:
    world.data.seal.write_text("{", "utf-8")


def seal_of_another_version(world: World) -> None:
    world.data.seal.write_text(json.dumps({"marks": [], "missing": []}), "utf-8")


HAPPENINGS: list[Callable[[World], None]] = [
    *(edit, remove, ignore, lose_the_index, damage_the_index, lose_the_store),
    *(restore_an_older_store, leave_a_log, add_a_document, trust_less, add_a_source),
    *(add_an_asset_that_nobody_knows, take_the_source_away, an_hour_passes),
    *(the_clock_goes_back, spoil_the_seal, seal_of_another_version),
]


@pytest.mark.parametrize("happen", HAPPENINGS, ids=lambda happen: happen.__name__)
def test_whatever_may_be_something_to_do_opens_the_store(
    world: World, happen: Callable[[World], None]
) -> None:
    happen(world)

    assert world.opens()


@pytest.mark.parametrize("option", ["force", "retry_failed"])
def test_who_asks_for_more_gets_it(world: World, option: str) -> None:
    assert world.opens(**{option: True})


def test_a_file_is_walked_once_where_a_walk_finds_something_to_do(world: World) -> None:
    edit(world)

    world.ingest()

    assert world.kinds.count("scan_started") == 1
    assert world.found("melon") == ["pear.md"]


class AtOnce(InlineExecutor[Any, Any]):
    """Does tasks when it is given them, as a worker does beside the run."""

    def follow(self, tasks: Iterable[Any], /) -> Generator[Any]:
        told = [*super().follow(tasks)]
        return (one for one in told)


def test_what_has_changed_is_read_while_the_store_is_opened(world: World) -> None:
    world.executor = AtOnce
    world.meanwhile = (world.notes / "pear.md").unlink
    edit(world)

    assert world.ingest().counts["updated"] == 1
    assert world.found("melon") == ["pear.md"]


def test_what_was_read_is_thrown_away_where_somebody_has_written_meanwhile(world: World) -> None:
    another = replace(world)

    def write() -> None:
        (world.notes / "pear.md").write_text("# Pear\n\nIt was a quince in the end.\n", "utf-8")
        assert another.ingest().counts["updated"] == 1

    world.executor, world.meanwhile = AtOnce, write
    edit(world)

    assert world.ingest().counts["unchanged"] == 3
    assert (world.found("melon"), world.found("quince")) == ([], ["pear.md"])


def test_a_run_that_is_stopped_leaves_no_seal(world: World) -> None:
    edit(world)
    stop = threading.Event()
    stop.set()
    with world.kb() as kb:
        list(kb.ingest(IngestOptions(embed=False), stop=stop))

    assert world.opens()
    assert world.found("melon") == ["pear.md"]


def test_without_a_source_a_lost_store_does_not_empty_what_is_found(world: World) -> None:
    lose_the_store(world)
    world.config = replace(world.config, sources=())

    world.ingest()

    assert world.found("plum") == ["plum.md"]
