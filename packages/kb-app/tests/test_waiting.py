"""After an edit: files are found as they are on disk, and what changed since a moment is told."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app.config import Config, Embedding, Source
from kb_app.knowledge_base import KnowledgeBase
from kb_app.testing.parts import open_here
from kb_app.workspaces import over_folders, place_of
from kb_core.errors import DocNotFound, InvalidInput, ReadonlyMode
from kb_core.ingest import IngestOptions
from kb_core.search import GrepQuery
from kb_store import WriterLock


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return a source with two notes, indexed, and one that is ignored."""
    root = tmp_path / "notes"
    root.mkdir()
    (root / "a.md").write_text("An otter dives.\n", "utf-8")
    (root / "b.md").write_text("A heron waits.\n", "utf-8")
    (root / ".kebabignore").write_text("left.md\n.kebabignore\n", "utf-8")
    made = Config.inside(tmp_path / "kb", Source(id="notes", root=root))
    made = replace(made, embedding=Embedding(model="none"))
    with open_here(made) as kb:
        list(kb.ingest(IngestOptions()))
    return made


def found(kb: KnowledgeBase, word: str) -> list[str]:
    return [file["doc_path"] for file in kb.grep(GrepQuery(pattern=word))["files"]]


def test_what_was_written_moved_and_deleted_is_known_when_the_call_returns(
    config: Config, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    (notes / "a.md").write_text("A walrus sleeps.\n", "utf-8")
    (notes / "new.md").write_text("A walrus wakes.\n", "utf-8")
    (notes / "b.md").unlink()
    (notes / "left.md").write_text("A walrus is left alone.\n", "utf-8")

    with open_here(config) as kb:
        before = kb.status()["as_of"]
        paths = ["a.md", str(notes / "new.md"), "b.md", "left.md"]
        rows = kb.wait_for_fresh(paths)["files"]
        walruses, herons = found(kb, "walrus"), found(kb, "heron")
        changed = kb.status(changed_since=before)
        again = kb.wait_for_fresh(paths[:3])

    states = {row["doc_path"]: row["state"] for row in rows}
    assert states == {
        "a.md": "indexed",
        "new.md": "indexed",
        "b.md": "deleted",
        "left.md": "skipped",
    }
    assert (sorted(walruses), herons) == (["a.md", "new.md"], [])
    assert {row["doc_path"] for row in changed["files"]} >= {"a.md", "new.md", "b.md"}
    assert changed["as_of"] >= before
    assert [row["state"] for row in again["files"]] == ["indexed", "indexed", "deleted"]


def test_a_move_that_is_named_by_both_ends_is_a_move_and_all_that_is_named_is_one_run(
    config: Config, tmp_path: Path
) -> None:
    """Each file was a run of its own: none saw both ends, and a hundred took minutes."""
    notes = tmp_path / "notes"
    with open_here(config) as kb:
        before, runs = kb.inspect_doc("b.md")["doc_id"], len(kb.jobs().past)
        (notes / "b.md").rename(notes / "c.md")
        (notes / "a.md").write_text("A walrus sleeps.\n", "utf-8")

        rows = kb.wait_for_fresh(["b.md", "a.md", "c.md"])["files"]
        moved = [kb.fetch(place) for place in (before, "b.md")]
        more = len(kb.jobs().past) - runs

    states = [(row["state"], row.get("reason")) for row in rows]
    assert states == [("deleted", "moved"), ("indexed", None), ("indexed", None)]
    assert [(got["doc_path"], got["text"]) for got in moved] == [("c.md", "A heron waits.\n")] * 2
    assert more == 1


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.md", "a.md:1"),
        ("a.md", "a.md#L1"),
        ("a.md", "file://{root}/a.md:1-2"),
        ("m.eml", "m.eml!/plan.md"),
        ("m.eml", "m.eml!/plan.md:1"),
    ],
)
def test_a_file_is_waited_for_by_a_place_in_it_as_hits_print_it(
    config: Config, tmp_path: Path, name: str, path: str
) -> None:
    """It was told as deleted, since no file is called so."""
    (tmp_path / "notes" / name).write_text("Subject: Otters\n\nA walrus wakes.\n", "utf-8")

    with open_here(config) as kb:
        there, unknown = kb.wait_for_fresh([path.format(root=tmp_path / "notes"), "z.md"])["files"]
        walruses = found(kb, "walrus")
        (tmp_path / "notes" / name).unlink()
        (gone,) = kb.wait_for_fresh([path.format(root=tmp_path / "notes")])["files"]

    assert (there["doc_path"], there["state"], walruses) == (name, "indexed", [name])
    assert (gone["doc_path"], gone["state"]) == (name, "deleted")
    assert unknown["detail"] == "there is no such file, and the index knows of none"


@pytest.mark.parametrize("path", ["a" * 300, f"{'a' * 300}/b.md", "b/" * 2_500 + "c.md"])
def test_what_is_too_long_for_the_system_is_not_there(config: Config, path: str) -> None:
    folder = next(iter(config.sources)).root
    with open_here(config) as kb:
        (row,) = kb.wait_for_fresh([path])["files"]
    with place_of(config, str(folder.parent), environ={"HOME": str(folder.parent)}).open() as kb:
        for place in (path, f"{path}:3", f"{path}#otter"):
            with pytest.raises(DocNotFound, match="no document"):
                kb.fetch(place)
    with over_folders(kb, [f"/{path}", str(folder)]) as both:
        assert both.fetch("b.md")["text"] == "A heron waits.\n"

    assert row["state"] == "deleted"


def test_what_is_ignored_by_now_or_no_file_is_taken_away(config: Config, tmp_path: Path) -> None:
    """It was told as indexed, since its size and time were as before, and was still found."""
    notes = tmp_path / "notes"
    (notes / ".kebabignore").write_text("a.md\n.kebabignore\n", "utf-8")
    (notes / "b.md").unlink()
    os.mkfifo(notes / "b.md")

    with open_here(config) as kb:
        rows = kb.wait_for_fresh(["a.md", "b.md"])["files"]

        assert [(row["doc_path"], row["state"]) for row in rows] == [
            ("a.md", "skipped"),
            ("b.md", "skipped"),
        ]
        assert found(kb, "otter|heron") == []


@pytest.mark.parametrize("is_absolute", [True, False])
def test_of_a_folder_that_is_away_nothing_is_told_as_deleted_that_is_still_found(
    config: Config, tmp_path: Path, *, is_absolute: bool
) -> None:
    (tmp_path / "notes").rename(tmp_path / "away")
    names = [str(tmp_path / "notes" / name) if is_absolute else name for name in ("b.md", "c.md")]

    with open_here(config) as kb:
        known, unknown = kb.wait_for_fresh(names)["files"]

        assert (known["state"], known["reason"]) == ("pending", "missing")
        assert "its folder may be away" in str(known["detail"])
        assert unknown["state"] == "deleted"
        assert found(kb, "heron") == ["b.md"]


@pytest.mark.parametrize("path", ["notes/b.md", "b.md"])
def test_what_is_gone_is_the_file_that_the_index_knows(
    config: Config, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path may mean a file of any source, and one of the folder one stands in."""
    (tmp_path / "first").mkdir()
    first = Source(id="first", root=tmp_path / "first")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes/b.md").unlink()

    with open_here(replace(config, sources=(first, *config.sources))) as kb:
        (row,) = kb.wait_for_fresh([path])["files"]
        herons = found(kb, "heron")

    assert (row["source_id"], row["doc_path"], row["state"]) == ("notes", "b.md", "deleted")
    assert herons == []


def test_what_changed_since_a_moment_is_told_the_last_first_and_nothing_of_before(
    config: Config, tmp_path: Path
) -> None:
    with open_here(config) as kb:
        none = kb.status(changed_since="2999-01-01")
        every = kb.status(changed_since="1999-01-01T00:00:00Z", limit=1)
        with pytest.raises(InvalidInput, match="changed_since 'soon' is not"):
            kb.status(changed_since="soon")

    assert (none["files"], none["total"], none["coverage"]["files"]) == ([], 0, 3)
    assert (len(every["files"]), every["total"]) == (1, 3)


def test_while_another_process_writes_the_wait_is_bounded_and_says_what_is_late(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "notes/a.md").write_text("A walrus sleeps.\n", "utf-8")
    hurried = replace(config, storage=replace(config.storage, lock_wait_secs=0))

    lock = WriterLock(config.storage.data_dir / "writer.lock")
    with lock, open_here(hurried) as kb:
        (late,) = kb.wait_for_fresh(["a.md"], seconds=0.2)["files"]
    with open_here(hurried) as kb:
        told = threading.Event()
        told.set()
        (let_go,) = kb.wait_for_fresh(["a.md"], stop=told)["files"]

    assert (late["state"], late["reason"]) == ("pending", "changed")
    assert (let_go["state"], let_go["reason"]) == ("pending", "changed")


def test_nothing_is_told_of_what_lies_where_the_server_was_started(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside.md").write_text("A secret.\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    with open_here(config) as kb:
        there, not_there = (
            kb.wait_for_fresh([path])["files"][0] for path in ("outside.md", "nowhere.md")
        )

    assert {**there, "doc_path": ""} == {**not_there, "doc_path": ""}


def test_what_a_model_may_not_add_is_refused_in_the_same_words_there_or_not(
    config: Config, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("A secret.\n", "utf-8")
    (tmp_path / "notes/link.md").symlink_to(outside)

    with open_here(config) as kb:
        said = []
        for path in (str(outside), str(tmp_path / "nowhere.md"), "link.md", "../outside.md"):
            with pytest.raises(InvalidInput) as caught:
                kb.wait_for_fresh([path])
            said.append(str(caught.value).replace(path, "PATH"))
        with pytest.raises(InvalidInput, match="no file to wait for"):
            kb.wait_for_fresh([])
    with open_here(config, readonly=True) as kb, pytest.raises(ReadonlyMode):
        kb.wait_for_fresh(["a.md"])

    assert len(set(said)) == 1
    assert os.fspath(outside.name) not in said[0]


def test_a_folder_is_no_file_to_wait_for_and_the_way_out_is_its_files(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "notes/sub").mkdir()

    with open_here(config) as kb:
        for path in ("sub", "sub/", str(tmp_path / "notes/sub")):
            with pytest.raises(InvalidInput, match="is a folder") as caught:
                kb.wait_for_fresh([path])
            assert (caught.value.details["field"], caught.value.details["value"]) == ("paths", path)
            assert "name the files in it" in str(caught.value.hint)
