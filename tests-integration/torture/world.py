"""A small knowledge base for cheap trials, and the oracle that says what must be true of it.

Every document says in each of its passages which version of it that is (``mark NAME mNm``),
so whatever is torn, stale or mixed can be told from the text alone. Everything that opens
the store or the index runs in a child (``trials``); the oracle never does.
"""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kb_app import Config, KnowledgeBase
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._keep.safety import ASSETS, records_in
from kb_app._lines import LinesFile
from kb_app._safety import SafetyCopies, SafetyCopy
from kb_app._wiring import open_session, parts_of
from kb_app.config import load_config
from kb_core.errors import IndexCorrupt, NotIndexed
from kb_core.ingest import IngestEvent, IngestOptions, IngestReport, ItemKind
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery
from kb_core.testing.fakes import HashEmbedder
from kb_core.testing.packed import everything_in
from kb_search.sums import verify

__all__ = [
    "EMBEDDER",
    "FORGOTTEN",
    "Operation",
    "Seen",
    "Truth",
    "World",
    "facade",
    "healed",
    "marks_of",
    "perform",
    "warm",
    "whole_texts",
]

FILES, TITLES = 10, 4
FORGOTTEN = "forgotten.md"
"""A file of the source that a person may have had forgotten; no oracle knows it."""
_SETTINGS = "[ingest]\nworkers = 1\nbatch_docs = 3\nbatch_secs = 0.01\n"
_ALL = 1000
_SAID = "journal/talk.jsonl"


class _Embedder(HashEmbedder):
    """Remembers the directions of words: texts here have few."""

    _direction = lru_cache(HashEmbedder._direction)


EMBEDDER = _Embedder(16)


@dataclass
class Truth:
    """What the oracle knows."""

    files: dict[str, str] = field(default_factory=dict)
    """The files of the source, as they are."""
    added: dict[str, set[str | None]] = field(default_factory=dict)
    """What can be, by key, of each document that was added: one text, if it was acknowledged."""
    once: dict[str, set[str]] = field(default_factory=dict)
    """Every text that a path ever had."""
    marks: int = 0
    may_have_no_index: bool = False
    """Whether somebody asked for it to be deleted."""


@dataclass(frozen=True)
class Operation:
    """What a writer is asked to do."""

    kind: str
    title: str = ""
    text: str = ""

    @property
    def key(self) -> str:
        """The path of the added document that it is about."""
        return self.title.replace(" ", "-")


@dataclass(frozen=True)
class Seen:
    """What a reader was told: texts by path; ``None`` where there was no index."""

    texts: dict[str, str] | None
    problems: list[str] = field(default_factory=list)


class World:
    """The folder of a knowledge base, and the truth about it."""

    def __init__(self, home: Path) -> None:
        self.home, self.notes, self.data = home, home / "now/notes", home / "now/data"
        self.draw = random.Random(0)
        self.truth = Truth()
        self._saved: dict[str, Truth] = {}
        self.notes.mkdir(parents=True)
        self.config_file = home / "config.toml"
        self.config_file.write_text(
            f'[storage]\ndata_dir = "{self.data}"\nlock_wait_secs = 30\n'
            f'[embedding]\nmodel = "none"\n{_SETTINGS}'
            f'[[sources]]\nid = "notes"\nroot = "{self.notes}"\n',
            "utf-8",
        )
        self.config = load_config(self.config_file)

    def save(self, name: str = "template") -> None:
        """Take what is there as what rounds begin with, under *name*."""
        shutil.rmtree(self.home / name, ignore_errors=True)
        shutil.copytree(self.home / "now", self.home / name, symlinks=True)
        self._saved[name] = copy.deepcopy(self.truth)

    def begin(self, seed: int, name: str = "template") -> None:
        """Go back to what was saved; everything that is drawn from here on follows from *seed*."""
        shutil.rmtree(self.home / "now")
        shutil.copytree(self.home / name, self.home / "now", symlinks=True)
        self.truth, self.draw = copy.deepcopy(self._saved[name]), random.Random(seed)

    # ---------------------------------------------------------------- the person

    def text(self, name: str) -> str:
        self.truth.marks += 1
        mark = f"mark {name} m{self.truth.marks}m"
        body = "\n\n".join(
            f"{mark}\n" + "the walrus that fell is down with you " * self.draw.randrange(2, 40)
            for _ in range(self.draw.randrange(1, 4))
        )
        return f"# {name}\n\n{body}\n"

    def edit(self) -> None:
        """Write, delete or move one file."""
        name = f"{self.draw.randrange(3)}/{self.draw.randrange(FILES)}.md"
        kind, there = self.draw.random(), sorted(self.truth.files)
        if kind < 0.3 and len(there) > FILES // 2:
            gone = self.draw.choice(there)
            text = self.truth.files.pop(gone)
            (self.notes / gone).unlink()
            if kind < 0.15:
                self._put(name, text)
            return
        self._put(name, self.text(name))

    def edit_some(self, most: int = 5) -> None:
        for _ in range(self.draw.randint(1, most)):
            self.edit()

    def _put(self, name: str, text: str) -> None:
        self.truth.files[name] = text
        self.truth.once.setdefault(name, set()).add(text)
        file = self.notes / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")

    def operation(self, kind: str, title: str = "") -> Operation:
        """Return an operation of this *kind*; what it may do is known from here on."""
        if kind not in {"add", "remove", "forget"}:
            self.truth.may_have_no_index |= kind == "rebuild"
            return Operation(kind)
        there = [key for key, texts in sorted(self.truth.added.items()) if None not in texts]
        title = title or f"added {self.draw.randrange(TITLES)}"
        if kind == "add" or not there:
            key = title.replace(" ", "-")
            text = self.text(key)
            self.truth.once.setdefault(key, set()).add(text)
            self.truth.added.setdefault(key, {None}).add(text)
            return Operation("add", title, text)
        key = self.draw.choice(there)
        self.truth.added[key].add(None)
        return Operation(kind, key.replace("-", " "))

    def acknowledge(self, done: Operation) -> None:
        """Note that *done* was said to be done."""
        if done.kind == "add":
            self.truth.added[done.key] = {done.text}
        if done.kind in {"remove", "forget"}:
            self.truth.added[done.key] = {None}
        if done.kind == "rebuild":
            self.truth.may_have_no_index = False

    # ---------------------------------------------------------------- the oracle

    def judge(self, seen: Seen) -> Iterator[str]:
        """Yield what is wrong with what readers see, whatever has happened so far."""
        yield from seen.problems
        if seen.texts is None:
            if not self.truth.may_have_no_index:
                yield "there is no index any more"
            return
        for path, text in seen.texts.items():
            if text not in self.truth.once.get(path, ()):
                yield f"{path}: a text that never was: {text[:80]!r}"
        for key, texts in self.truth.added.items():
            if seen.texts.get(key) not in texts:
                yield f"{key}: what was acknowledged is not what is there"

    def judge_healed(self, seen: Seen) -> Iterator[str]:
        """Yield what differs from the truth after a run that ended well; go on from there."""
        yield from seen.problems
        texts = dict(seen.texts or {})
        for key, possible in self.truth.added.items():
            text = texts.pop(key, None)
            if text not in possible:
                yield f"{key}: {text!r} is none of {possible!r}"
            self.truth.added[key] = {text}
        for path in sorted(texts.keys() | self.truth.files.keys()):
            if texts.get(path) != self.truth.files.get(path):
                yield f"{path}: {texts.get(path)!r} is not {self.truth.files.get(path)!r}"
        self.truth.may_have_no_index = False

    def judge_forgotten(self, key: str) -> Iterator[str]:
        """Yield the files that still hold a text of *key*, which nobody has any more."""
        marks = {mark.encode() for text in self.truth.once[key] for mark in marks_of(text)}
        for file in (file for file in sorted(self.data.rglob("*")) if file.is_file()):
            held = [*everything_in(file.read_bytes())]
            if any(mark in one for one in held for mark in marks):
                yield f"{key} was forgotten, and is in {file.name}"

    def judge_copies(self, *, is_newest_whole: bool) -> Iterator[str]:
        """Yield what is wrong with safety copies: files cut off, texts that never were.

        One that *is_newest_whole* was said to be made, and has what was acknowledged before.
        """
        copies = SafetyCopies(self.data / "safety").all()
        for made in copies:
            yield from (f"{made.folder.name}: {name} is cut off" for name in made.damaged())
            for key, text in self._texts_in(made).items():
                if text is not None and text not in self.truth.once.get(key, ()):
                    yield f"{key}: a text that never was, in a safety copy: {text[:80]!r}"
        if is_newest_whole:
            there = self._texts_in(copies[0]) if copies else {}
            for key, texts in self.truth.added.items():
                if there.get(key) not in texts:
                    yield f"{key}: what was acknowledged is not what the safety copy has"

    def _texts_in(self, made: SafetyCopy) -> dict[str, str | None]:
        records = [record for record in records_in(made).values() if not record.is_removed]
        read = ((one.key, (made.read(f"{ASSETS}{name}") for name in one.assets)) for one in records)
        found = {key: next(filter(None, contents), None) for key, contents in read}
        return {key: None if data is None else data.decode() for key, data in found.items()}


# -------------------------------------------------------------------- in a child


def facade(config: Config, *, readonly: bool = False) -> KnowledgeBase:
    """Open the knowledge base with real parts, all in this process, and a model of hashes."""
    parts = replace(
        parts_of(config),
        executor=lambda task, _: InlineExecutor(task),
        model=lambda: EMBEDDER.model,
        embedder=lambda: EMBEDDER,
    )
    return KnowledgeBase(config, parts, readonly=readonly)


def warm() -> None:
    """Load here what every child would load: what tells languages apart."""
    from py3langid import rank

    rank("a walrus fell down")


def perform(config: Config, operation: Operation) -> dict[str, Any]:
    """Do it; return what it said of itself."""
    with facade(config) as kb:
        match operation.kind:
            case "ingest" | "force":
                events = kb.ingest(IngestOptions(force=operation.kind == "force"))
            case "add":
                events = kb.ingest_text(operation.text, title=operation.title)
            case "remove":
                events = kb.remove_added(operation.key)
            case "forget":
                kb.forget("doc", [operation.key], dry_run=False)
                return {"clean": True}
            case "safe":
                said = LinesFile[dict[str, int]](config.storage.data_dir / _SAID, dict)
                said.append(lambda lines: {"line": len(lines.rows)})  # what a copy has to take
                kb.make_safety_copy()
                return {"clean": True}
            case "rebuild":
                kb.reset("index-only", dry_run=False)
                events = kb.ingest(IngestOptions())
            case other:
                raise AssertionError(other)
        return _told(_last(events))


def _last(events: Iterable[IngestEvent]) -> IngestReport:
    *_, last = events
    assert last.report is not None
    return last.report


def _told(report: IngestReport) -> dict[str, Any]:
    errors = report.counts.get(ItemKind.ERROR, 0)
    clean = not (errors or report.warnings or report.embeddings_missing or report.aborted)
    return {"clean": clean, "errors": errors, "warnings": report.warnings}


def marks_of(text: str) -> set[str]:
    """Return the marks of *text*: one, if it is whole."""
    return {line.split()[-1] for line in text.splitlines() if line.startswith("mark ")}


def whole_texts(config: Config, *, closely: bool) -> Seen:
    """Return what readers see; *closely*, each document is searched for in both ways."""
    problems: list[str] = []
    with facade(config, readonly=True) as kb:
        try:
            rows = kb.list_docs(SearchFilters(), limit=_ALL)["items"]
            if not rows:
                kb.search(SearchQuery(text="walrus"))  # says so where there is no index
            texts = {}
            for row in rows:
                path = row["doc_path"]
                texts[path] = kb.fetch(row["doc_id"])["text"]
            for path in texts if closely else list(texts)[:1]:
                problems += _missed(kb, path, texts[path])
        except NotIndexed:
            return Seen(None)
        except IndexCorrupt as error:
            return Seen({}, [f"readers are told of damage: {error}"])
    problems += [f"{path} is torn" for path, text in texts.items() if len(marks_of(text)) != 1]
    return Seen(texts, problems)


def _missed(kb: KnowledgeBase, path: str, text: str) -> Iterator[str]:
    query = " ".join(sorted(marks_of(text)))
    for mode in (SearchMode.LEXICAL, SearchMode.HYBRID):
        found = kb.search(SearchQuery(text=query, k=50, mode=mode))
        if path not in {hit.doc_path for hit in found.hits}:
            yield f"{path} is not found ({mode}) by its own words {query!r}"


def healed(config: Config) -> Seen:
    """Do one run more, and return what readers see then, and what is wrong with the files."""
    told = perform(config, Operation("ingest"))
    problems = [f"the next run had errors: {told}"] if told["errors"] else []
    seen = whole_texts(config, closely=True)
    data = config.storage.data_dir
    problems += [f"{path} {what}" for path, what in verify(data).items()]
    with open_session(data, lock_wait_secs=30) as session:
        if session.healed:
            problems.append(f"there was still something to heal: {session.healed}")
        if session.control.sequence != session.store.sequence:
            problems.append("store and index are not at the same sequence")
        missing = session.store.count_missing(EMBEDDER.model.key)
        problems += [f"{missing} vectors are missing"] if missing else []
        problems += session.store.deep_check()
    return Seen(seen.texts, seen.problems + problems)
