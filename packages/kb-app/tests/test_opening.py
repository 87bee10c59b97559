"""What is read is what was allowed, whatever is put in the way meanwhile."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_app._ingest.judging.kinds import Caps
from kb_app._ingest.making.record import Task, make
from kb_app._ingest.seeing.files import LeadsOut, NotAFile, inside, open_below, open_inside
from kb_app._ingest.settings import Settings
from kb_core.documents import ChunkLimits, SourceFile

SETTINGS = Settings(
    model="none",
    cache_dir="",
    limits=ChunkLimits(target_tokens=256, overlap_tokens=32, max_tokens=400),
    window=500,
    caps=Caps(),
    allow_secrets=False,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with a file in it, and one beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_text("a secret", "utf-8")
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/sub/a.md").write_text("a walrus", "utf-8")
    return tmp_path / "root"


def swap(root: Path, name: str, target: str) -> None:
    """Put a link in the place of something."""
    (root / name).rename(root / f"{name}.old")
    (root / name).symlink_to(target)


def test_a_file_is_opened_by_its_place_in_the_folder(root: Path) -> None:
    with open_below("sub/a.md", str(root)) as file:
        assert file.read() == b"a walrus"


@pytest.mark.parametrize(("name", "target"), [("sub", "../outside"), ("sub", "sub.old")])
def test_no_link_that_was_put_in_the_way_is_followed(root: Path, name: str, target: str) -> None:
    swap(root, name, target)

    with pytest.raises(OSError, match=r"directory|links"):
        open_below("sub/a.md", str(root))


def test_no_link_that_took_the_file_s_place_is_followed(root: Path) -> None:
    swap(root, "sub/a.md", "../../outside/a.md")

    with pytest.raises(OSError, match="links"):
        open_below("sub/a.md", str(root))


def test_links_that_stay_inside_are_resolved_and_no_others(root: Path) -> None:
    (root / "in.md").symlink_to("sub/a.md")
    (root / "out.md").symlink_to("../outside/a.md")

    with open_inside(f"{root}/in.md", str(root)) as file:
        assert file.read() == b"a walrus"
    for path in ("out.md", "../outside/a.md", "sub/../../outside/a.md"):
        with pytest.raises(LeadsOut):
            open_inside(f"{root}/{path}", str(root))


def test_a_folder_that_is_reached_through_a_link_is_the_folder(root: Path) -> None:
    (root.parent / "other").symlink_to(root)

    with open_inside(f"{root.parent}/other/sub/a.md", f"{root.parent}/other") as file:
        assert file.read() == b"a walrus"


def test_what_is_no_file_is_not_opened_and_nobody_waits_for_a_pipe(root: Path) -> None:
    os.mkfifo(root / "pipe")

    for path in ("pipe", "sub", ""):
        with pytest.raises(NotAFile):
            open_inside(f"{root}/{path}", str(root))


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [
        ("/a/b", "/a", "b"),
        ("/a", "/a", ""),
        ("/a/b", "/", "a/b"),
        ("/", "/", ""),
        ("/ab", "/a", None),
        ("/", "/a", None),
    ],
)
def test_a_folder_is_not_a_prefix_of_letters(path: str, folder: str, below: str | None) -> None:
    assert inside(path, folder) == below


def test_a_worker_reads_nothing_outside_its_source_whatever_was_seen_before(root: Path) -> None:
    """Between the walk and the worker, a file of the source became a link out of it."""
    task = Task(
        root=str(root),
        file=SourceFile(source_id="s", path="sub/a.md", media="markdown"),
        raw_path=None,
        settings=SETTINGS,
        indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    swap(root, "sub/a.md", "../../outside/a.md")

    made = make(task)

    assert (made.documents, made.skipped) == ((), "unreadable")
    assert made.detail == "it is a link out of its source"
