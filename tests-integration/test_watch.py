"""Following real folders by what the system tells: every way to save a file is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._ingest.settings import SourceSpec
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._watching.notices import SystemNotices
from kb_app._watching.touching import touches
from kb_app._wiring import parts_of
from kb_app.config import Source
from kb_cli.testing.installed import InstalledKebab, ended_in_time
from kb_core.errors import DocNotFound, StoreBusy
from kb_core.ingest import IngestEvent, IngestOptions
from kb_core.search import SearchFilters

_PATIENCE_SECS = 120.0


class Here(KnowledgeBase):
    """A knowledge base whose runs are made in this process."""

    def ingest_apart(
        self, options: IngestOptions, *, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        return self.ingest(options, stop=stop)


def opened(home: Path) -> Here:
    notes = home / "notes"
    notes.mkdir(exist_ok=True)
    config = Config.inside(home, Source(id="notes", root=notes))
    config = replace(config, embedding=replace(config.embedding, model="none"))
    parts = replace(parts_of(config), executor=lambda task, _: InlineExecutor(task))
    return Here(config, parts)


@contextmanager
def following(kb: Here) -> Iterator[list[IngestEvent | str]]:
    """Follow on a thread; what it raised is raised when it has ended."""
    stop = threading.Event()
    told: list[IngestEvent | str] = []
    raised: list[Exception] = []

    def follow() -> None:
        try:
            told.extend(kb.watch(stop=stop))
        except Exception as error:  # noqa: BLE001 - raised below
            raised.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield told
    finally:
        stop.set()
        thread.join(_PATIENCE_SECS)
    assert not thread.is_alive()
    for error in raised:
        raise error


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_SECS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


def texts(kb: Here) -> dict[str, str]:
    """What is indexed, by path; what goes between the list and its text is no part of it."""
    found = {}
    for row in kb.list_docs(SearchFilters(), limit=1000)["items"]:
        with suppress(DocNotFound):
            found[row["doc_path"]] = kb.fetch(row["doc_path"])["text"]
    return found


def as_they_are(notes: Path) -> dict[str, str]:
    return {
        str(path.relative_to(notes)): path.read_text("utf-8")
        for path in notes.rglob("*.md")
        if path.is_file() and not path.is_symlink()
    }


def vim(file: Path, text: str) -> None:
    """A probe file, the old one renamed, a new one, the old one deleted."""
    probe, backup = file.with_name("4913"), file.with_name(file.name + "~")
    probe.touch()
    probe.unlink()
    if file.exists():
        file.rename(backup)
    file.write_text(text, "utf-8")
    backup.unlink(missing_ok=True)


def emacs(file: Path, text: str) -> None:
    """A lock that is a link to nowhere, an auto-save file, the old one renamed."""
    lock, saved = file.with_name(f".#{file.name}"), file.with_name(f"#{file.name}#")
    lock.symlink_to("someone@somewhere.1:2")
    saved.write_text(text, "utf-8")
    if file.exists():
        file.rename(file.with_name(file.name + "~"))
    file.write_text(text, "utf-8")
    saved.unlink()
    lock.unlink()


def rename(file: Path, text: str) -> None:
    """Written beside it, and put in its place."""
    new = file.with_name(f".{file.name}.tmp-7")
    new.write_text(text, "utf-8")
    new.replace(file)


def in_place(file: Path, text: str) -> None:
    """Cut to nothing, then written in pieces."""
    with file.open("w", encoding="utf-8") as out:
        for start in range(0, len(text), 5):
            out.write(text[start : start + 5])
            out.flush()


def test_every_way_to_save_move_and_delete_is_found(tmp_path: Path) -> None:
    kb = opened(tmp_path)
    notes = tmp_path / "notes"
    (notes / "sub").mkdir()
    for name in ("vim", "emacs", "rename", "in_place", "gone", "sub/moved"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe first walrus.\n", "utf-8")
    with kb, following(kb):
        wait_for(lambda: kb.followed() is not None and texts(kb) == as_they_are(notes))
        for save in (vim, emacs, rename, in_place):
            save(notes / f"{save.__name__}.md", f"# {save.__name__}\n\nThe second walrus.\n")
        (notes / "gone.md").unlink()
        (notes / "sub").rename(notes / "elsewhere")
        (notes / "new" / "deep").mkdir(parents=True)
        rename(notes / "new" / "deep" / "late.md", "# Late\n\nA walrus.\n")
        wait_for(lambda: texts(kb) == as_they_are(notes))
        rename(notes / "elsewhere" / "moved.md", "# Moved\n\nThe third walrus.\n")
        rename(notes / "new" / "deep" / "later.md", "# Later\n\nA walrus.\n")
        wait_for(lambda: texts(kb) == as_they_are(notes))
    assert kb.followed() is None


def test_a_second_one_is_refused_and_a_writer_is_waited_for(tmp_path: Path) -> None:
    kb = opened(tmp_path)
    (tmp_path / "notes" / "a.md").write_text("# A\n\nA walrus.\n", "utf-8")
    with kb, following(kb) as told:
        wait_for(lambda: len(texts(kb)) == 1)
        with pytest.raises(StoreBusy, match="already"):
            list(opened(tmp_path).watch(stop=threading.Event()))
        wait_for(lambda: not kb.status()["freshness"].get("pending", True))
        fresh = kb.status()["freshness"]
        assert fresh["followed"]
        assert fresh["seen_at"]
        list(kb.ingest_text("A bear.", title="Bear", embed=False))
        (tmp_path / "notes" / "b.md").write_text("# B\n\nA cat.\n", "utf-8")
        wait_for(lambda: len(texts(kb)) == 3)
    assert any(isinstance(one, IngestEvent) and one.report for one in told)
    assert not kb.status()["freshness"]["followed"]


def test_only_what_a_walk_would_see_leads_to_a_look(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for folder in ("target/deep", ".git", "kept", "data"):
        (notes / folder).mkdir(parents=True)
    (notes / "Cargo.toml").touch()
    for name in ("target/deep/a.md", ".git/HEAD", "kept/a.md", "a.swp", "data/seal.json", "no.md"):
        (notes / name).touch()
    (notes / ".gitignore").write_text("no.md\n", "utf-8")
    spec = SourceSpec(source_id="notes", root=str(notes))

    def matters(*names: str) -> bool:
        return touches([spec], notes / "data", [str(notes / name) for name in names])

    ignored = ("target/deep/a.md", ".git/HEAD", "a.swp", "data/seal.json", "no.md", "target/x")
    assert [name for name in ignored if matters(name)] == []
    seen = ("kept/a.md", "gone.md", "kept", ".gitignore", "")
    assert [name for name in seen if not matters(*ignored, name)] == []
    assert not touches([spec], notes / "data", ["/somewhere/else.md"])


def test_what_the_system_refuses_to_follow_is_an_answer(tmp_path: Path) -> None:
    notices = SystemNotices()
    many = [tmp_path / str(n) for n in range(3)]
    for folder in many:
        folder.mkdir()

    assert notices.follow([], [str(folder) for folder in [*many, tmp_path / "none"]]) == ""
    (many[0] / "a.md").touch()
    told = notices.wait(10, threading.Event())
    assert str(many[0] / "a.md") in told.paths & told.renewed
    notices.close()
    stop = threading.Event()
    stop.set()
    assert not notices.wait(10, stop).paths


def test_the_command_follows_and_ends_at_sigterm(installed: InstalledKebab) -> None:
    installed.write("a.md", "# A\n\nA walrus.\n")
    line = installed.command("--json", "watch")
    environ = {**os.environ, "KEBAB_INGEST_WORKERS": "1"}
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environ)
    with process, ended_in_time(process):
        assert process.stdout is not None
        for told in map(json.loads, process.stdout):
            if told["schema_version"] == "ingest_report.v1":
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE_SECS) == 0
    assert told["new"] == 1
