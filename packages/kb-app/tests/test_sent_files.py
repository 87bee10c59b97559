"""Files that travel with their task: what comes of them does not depend on the machine."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_app._ingest.making.record import Made, Task, make
from kb_app._ingest.settings import ingest_settings
from kb_app._ingest.workers.cluster import joining
from kb_app._ingest.workers.cluster.joining import joined
from kb_app._ingest.workers.cluster.versions import installed
from kb_app.config import Config, Embedding, Source
from kb_core.documents import SourceFile
from kb_core.errors import MissingExtra


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = Config.inside(tmp_path / "kb", Source(id="notes", root=tmp_path / "notes"))
    return replace(made, embedding=Embedding(model="none"))


@pytest.fixture
def task(tmp_path: Path, config: Config) -> Task:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Otters\n\nAn otter sleeps.\n", "utf-8")
    file = SourceFile(source_id="notes", path="a.md", media="markdown", size=27, mtime_ns=10**18)
    return Task(
        root=str(notes),
        file=file,
        raw_path=None,
        settings=ingest_settings(config),
        indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def untimed(made: Made) -> Made:
    return replace(made, phases_ms={})


def test_a_file_that_was_sent_is_read_where_it_is_not(task: Task) -> None:
    here = make(task)
    sent = pickle.dumps(task.packed())
    Path(task.root, "a.md").unlink()

    assert untimed(make(pickle.loads(sent))) == untimed(here)
    assert here.documents[0].title == "Otters"


def test_a_file_that_was_sent_is_not_looked_for_here(task: Task) -> None:
    sent = task.packed()
    Path(task.root, "a.md").write_text("# Walrus\n", "utf-8")

    assert make(sent).documents[0].title == "Otters"


def test_a_file_that_cannot_be_read_is_skipped_as_it_would_be_here(task: Task) -> None:
    file = Path(task.root, "a.md")
    file.unlink()
    sent, here = task.packed(), make(task)
    file.write_text("# Walrus\n", "utf-8")

    assert make(sent) == here
    assert here.skipped == "unreadable"


def test_costly_results_are_kept_where_the_data_directory_is_the_same(
    tmp_path: Path, task: Task
) -> None:
    data = tmp_path / "kb"
    data.mkdir(exist_ok=True)
    (data / "kebab.duckdb").touch()
    sent = replace(task, costly=str(data / "costly")).packed()
    elsewhere = replace(sent, costly=str(tmp_path / "other" / "costly"))

    assert sent.sent is not None
    assert len(sent.sent.data_dir) == 2
    assert make(elsewhere).documents == make(sent).documents
    assert not (tmp_path / "other").exists()


def test_what_is_installed_names_kebab_python_parsers_and_the_model(config: Config) -> None:
    found = installed(ingest_settings(config))

    assert {"Python", "kb-app", "tree-sitter", "the parser of pdf"} <= found.keys()
    assert found["the embedding model"] == "none"
    assert all(isinstance(value, str) for value in found.values())


def test_without_the_extra_one_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "find_spec", lambda _: None)

    with pytest.raises(MissingExtra, match="needs the extra 'ray'") as raised, joined("", 1):
        logging.getLogger("ray").error("not reached")

    assert "pip install 'packages/kb-cli[ray]'" in str(raised.value.hint)
