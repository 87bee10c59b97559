"""Histories: edits, ignores, deletions, stops, crashes, a lost or older store, in any order.

Some of the files hold others, and some wait for a later phase, which a run may leave out.

A model in memory knows what should be searchable after a whole run, and which bytes exist
nowhere else. Whatever happened, the next whole run brings the knowledge base there, nothing
is found before that which the ledger says is hidden, a check changes nothing, and every
hint that is printed can be followed.

``KEBAB_TEST_HISTORIES`` sets how many histories (the suite tries a few).
"""

from __future__ import annotations

import base64
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kb_app import KnowledgeBase
from kb_app._ingest import pipeline
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import parts_of
from kb_app.config import Config, Embedding, Ingest, Source
from kb_app.testing.parcels import parcel, use_parcels
from kb_core.control import ADDED_SOURCE
from kb_core.disk import remove_folder
from kb_core.errors import StoreCorrupt
from kb_core.ids import bytes_hash
from kb_core.ingest import IngestEvent, IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery
from kb_search.writer import Writer

HISTORIES = int(os.environ.get("KEBAB_TEST_HISTORIES", "8"))
PATHS = ("a.md", "b.md", "private.md", "deep/c.md", "deep/d.md", "deep/er/e.md")
PARCELS = ("p.epub", "deep/q.epub")
THINGS = ("one.md", "two.md", "in.epub")
KEYS = ("https://example.org/one", "https://example.org/two")
BODY = base64.b64encode(random.Random(1).randbytes(600)).decode()
SECRET = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n"
Found = set[tuple[str, str]]

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Making a history of runs smaller takes longer than reading it."""


class Died(BaseException):
    """Stands for the end of the process between two steps."""


class Histories(RuleBasedStateMachine):
    """One knowledge base and what should be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.notes = self.home / "notes"
        self.notes.mkdir()
        base = Config.inside(self.home / "kb", Source(id="notes", root=self.notes))
        # Of three files two are published while the third is committed.
        few = Ingest(batch_docs=2, batch_secs=99)
        self.config = replace(base, embedding=Embedding(model="none"), ingest=few)
        self.data = self.config.storage.data_dir
        self.words = count(1)
        self.files: dict[str, str] = {}
        """The word that each file holds; none where it is not to be found."""
        self.sealed: dict[str, str] = {}
        """The word that waits for a later phase, by file."""
        self.ignored: set[str] = set()
        self.added: dict[str, tuple[str, bytes]] = {}
        """The word and the bytes of what was added, by key."""
        self.spoken: dict[str, str] = {}
        self.older: Path | None = None
        self.is_whole = False
        """Whether the last run saw everything as it is now."""

    def teardown(self) -> None:
        remove_folder(self.home)  # an engine whose writer died still ends its merges there

    # -------------------------------------------------------------- what people do

    def _word(self, where: str) -> str:
        """A word that is two letters from all others: it is not read as one of them."""
        word = "".join("bcdfghjklm"[int(digit)] for digit in f"{next(self.words):04}" * 2) + "q"
        self.spoken[word] = where
        self.is_whole = False
        return word

    @initialize()
    def begin(self) -> None:
        self.write("a.md")
        self.write("private.md")
        self.ingest()

    @rule(path=st.sampled_from(PATHS))
    def write(self, path: str) -> None:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        self.files[path] = self._word(path)
        file.write_text(f"# A note\n\nThe {self.files[path]} sleeps.\n", "utf-8")

    @rule(
        path=st.sampled_from(PARCELS),
        things=st.sets(st.sampled_from(THINGS)),
        is_sealed=st.booleans(),
    )
    def pack(self, path: str, things: set[str], is_sealed: bool) -> None:
        """Write a file that holds others; some of what they say waits for a later phase."""
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        self._forget(path)
        self.files[path] = self._word(path)
        packed = []
        for name in sorted(things):
            inner = f"{path}!/{name}"
            self.files[inner] = word = self._word(inner)
            if name.endswith(".epub"):
                packed.append((name, parcel(f"Within, {word}.")))
            else:
                packed.append((name, f"# Thing\n\nIt is a {word}.\n".encode()))
        if is_sealed:
            self.sealed[path] = self._word(path)
        sealed = self.sealed.get(path, "")
        file.write_bytes(parcel(f"A letter to {self.files[path]}.", packed, sealed=sealed))

    @rule(path=st.sampled_from(PATHS), text=st.sampled_from(["", SECRET, "\x00" * 50]))
    def spoil(self, path: str, text: str) -> None:
        """Make a file empty, a secret or binary: it is not to be found any more."""
        if (self.notes / path).exists():
            (self.notes / path).write_text(text, "utf-8")
            self.files.pop(path, None)
            self.is_whole = False

    @rule(path=st.sampled_from(PATHS + PARCELS))
    def delete(self, path: str) -> None:
        (self.notes / path).unlink(missing_ok=True)
        self._forget(path)
        self.is_whole = False

    @rule(paths=st.sampled_from([PATHS, PARCELS]).flatmap(st.permutations))
    def move(self, paths: Sequence[str]) -> None:
        old, new = paths[:2]
        if old in self.files:
            (self.notes / new).parent.mkdir(parents=True, exist_ok=True)
            (self.notes / old).rename(self.notes / new)
            self._forget(new)
            for known in (self.files, self.sealed):
                for path in [path for path in known if path.split("!/")[0] == old]:
                    known[new + path.removeprefix(old)] = known.pop(path)
            self.is_whole = False

    def _forget(self, path: str) -> None:
        for known in (self.files, self.sealed):
            for name in [name for name in known if name.split("!/")[0] == path]:
                del known[name]

    @rule(names=st.sets(st.sampled_from(["private.md", "deep/", "a.md", "er/", "p.epub"])))
    def ignore(self, names: set[str]) -> None:
        (self.notes / ".kebabignore").write_text("\n".join(sorted(names)) + "\n", "utf-8")
        self.ignored = names
        self.is_whole = False

    @rule(key=st.sampled_from(KEYS))
    def add(self, key: str) -> None:
        word = self._word(key)
        text = f"What was added holds the {word}.\n"
        self._run(lambda kb: kb.ingest_text(text, title="Added", source_uri=key))
        self.added[key] = (word, text.encode())

    @rule(key=st.sampled_from(KEYS))
    def take_away(self, key: str) -> None:
        if key in self.added:
            del self.added[key]
            self.is_whole = False
            self._run(lambda kb: kb.remove_added(key))

    # ------------------------------------------------------------------ how runs end

    @rule()
    def ingest(self) -> None:
        # A folder that is empty now may be a disk that is away: who emptied it says so.
        report = self._run(lambda kb: kb.ingest(IngestOptions(allow_empty=True)))
        assert not report["aborted"]
        self.is_whole = True

    @rule()
    def ingest_without_the_later_phase(self) -> None:
        self._run(lambda kb: kb.ingest(IngestOptions(without=("ocr",))))

    @rule(after=st.integers(1, 12))
    def stop(self, after: int) -> None:
        """Press Ctrl-C once, at some event."""
        stop = Event()
        with self._open() as kb:
            for number, _ in enumerate(kb.ingest(IngestOptions(), stop=stop)):
                if number >= after:
                    stop.set()

    @rule(after=st.integers(1, 12))
    def abandon(self, after: int) -> None:
        """Press Ctrl-C twice: the events are not asked for any more."""
        with self._open() as kb:
            events: Any = kb.ingest(IngestOptions())
            for number, _ in enumerate(events):
                if number >= after:
                    break
            events.close()

    @rule(publication=st.integers(1, 4))
    def die(self, publication: int) -> None:
        """Let the process end between the truth and the index, at some publication."""
        publish, left = Writer._publish, [publication]

        def dying(writer: Writer, step: Any, made: Any) -> Any:  # noqa: ANN401 - as it is defined
            left[0] -= 1
            if left[0] <= 0:
                raise Died
            return publish(writer, step, made)

        with pytest.MonkeyPatch.context() as patch, suppress(Died), self._open() as kb:
            patch.setattr(Writer, "_publish", dying)
            for _ in kb.ingest(IngestOptions()):
                pass

    # ------------------------------------------------------- what befalls a directory

    @precondition(lambda self: (self.data / "kebab.duckdb").exists())
    @rule()
    def keep_a_copy(self) -> None:
        self.older = self.home / "older.duckdb"
        shutil.copy(self.data / "kebab.duckdb", self.older)

    @precondition(lambda self: self.older is not None)
    @rule()
    def put_the_copy_back(self) -> None:
        assert self.older is not None
        (self.data / "kebab.duckdb.wal").unlink(missing_ok=True)
        shutil.copy(self.older, self.data / "kebab.duckdb")
        self.is_whole = False

    @rule()
    def lose_the_store(self) -> None:
        self._away()

    @rule()
    def damage_the_store_and_follow_the_hint(self) -> None:
        (self.data / "kebab.duckdb").write_bytes(b"hello, " * 5000)
        with self._open() as kb:
            with pytest.raises(StoreCorrupt) as caught:
                list(kb.ingest(IngestOptions()))
            assert "kebab doctor --repair" in str(caught.value.hint)
            kb.repair(dry_run=False)
        self.is_whole = False
        self.ingest()

    @rule(part=st.sampled_from(["lexical", "vectors"]))
    def lose_the_index(self, part: str) -> None:
        shutil.rmtree(self.data / part, ignore_errors=True)
        self.is_whole = False

    @rule()
    def look(self) -> None:
        """Run every check: none changes a byte, and an unhealthy one says what to do."""
        before = _tree(self.data)
        with self._open() as kb:
            checks = {check["name"]: check for check in kb.doctor(deep=True)["checks"]}
        assert _tree(self.data) == before
        if not (self.data / "kebab.duckdb").exists():
            assert not checks["store"]["ok"]
            assert "kebab ingest" in checks["store"]["hint"]

    # ------------------------------------------------------------------- promises

    @invariant()
    def what_was_added_is_there(self) -> None:
        for _, data in self.added.values():
            asset = self.data / "assets" / f"{bytes_hash(data)}.md"
            assert asset.read_bytes() == data

    @invariant()
    def nothing_is_found_that_the_ledger_hides(self) -> None:
        if not (self.data / "lexical/chunks/meta.json").exists():
            return
        with self._open() as kb:
            rows = kb.status()["files"]
            # What is in a file is hidden with it.
            shown = {(doc["source_id"], doc["doc_path"].split("!/")[0]) for doc in _docs(kb)}
        hiding = [row for row in rows if row["state"] in {"skipped", "deleted"}]
        hidden = {(row["source_id"], row["doc_path"]) for row in hiding}
        assert not shown & hidden

    @invariant()
    def after_a_whole_run_what_is_found_is_what_should_be(self) -> None:
        if not self.is_whole:
            return
        expected = {("notes", path): word for path, word in self.files.items()}
        expected = {place: word for place, word in expected.items() if not self._hides(place[1])}
        expected |= {(ADDED_SOURCE, key): word for key, (word, _) in self.added.items()}
        with self._open() as kb:
            shown = {(doc["source_id"], doc["doc_path"]) for doc in _docs(kb)}
            assert shown - {("notes", ".kebabignore")} == set(expected)
            there = [*expected.items()]
            there += [(("notes", path), word) for path, word in self.sealed.items()]
            for word in self.spoken:
                wanted = {place for place, spoken in there if spoken == word}
                wanted = {place for place in wanted if not self._hides(place[1])}
                assert _search(kb, word) == wanted, word

    # ---------------------------------------------------------------------- helpers

    def _open(self) -> KnowledgeBase:
        # Files are made in this process: worker processes have tests of their own.
        parts = replace(parts_of(self.config), executor=lambda task, _: InlineExecutor(task))
        return KnowledgeBase(self.config, parts)

    def _run(self, start: Callable[[KnowledgeBase], Iterator[IngestEvent]]) -> dict[str, Any]:
        with self._open() as kb:
            *_, last = start(kb)
        assert last.report is not None
        assert last.report.counts["error"] == 0, last.report.items
        return {"aborted": last.report.aborted}

    def _hides(self, path: str) -> bool:
        file = path.split("!/", maxsplit=1)[0]
        parts = [f"{part}/" for part in file.split("/")[:-1]] + [file]
        return any(name in parts for name in self.ignored)

    def _away(self) -> None:
        for name in ("kebab.duckdb", "kebab.duckdb.wal"):
            if (self.data / name).exists():
                (self.data / name).replace(self.home / name)
        self.is_whole = False


def _docs(kb: KnowledgeBase) -> Sequence[Mapping[str, Any]]:
    return kb.list_docs(SearchFilters(), limit=1000)["items"]


def _search(kb: KnowledgeBase, word: str) -> Found:
    found = kb.search(SearchQuery(text=word, mode=SearchMode.LEXICAL))
    return {(hit.source_id, hit.doc_path) for hit in found.hits}


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_after_any_history_what_is_found_is_what_should_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Files are made in this process: worker processes have tests of their own.
    monkeypatch.setattr(
        "kb_app._wiring._executor", lambda _config, task, _wanted, **_: InlineExecutor(task)
    )
    monkeypatch.setattr(pipeline, "_PUBLISHING_SHARE", 0)
    use_parcels(monkeypatch)
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=14,
            deadline=None,
            phases=PHASES,
            suppress_health_check=list(HealthCheck),
        ),
    )
