"""What a person searched for in the terminal, from one session to the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kb_app.config import Config
from kb_app.knowledge_base import KnowledgeBase
from kb_app.testing.parts import memory_parts
from kb_core.testing.fakes import HashEmbedder, MemoryIndex


def opened(folder: Path, *, readonly: bool = False, kept: int = 5) -> KnowledgeBase:
    config = Config.inside(folder)
    config = replace(config, ui=replace(config.ui, query_history=kept))
    return KnowledgeBase(config, memory_parts(MemoryIndex(), HashEmbedder()), readonly=readonly)


def file_in(folder: Path) -> Path:
    return folder / "data" / "run" / "queries.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path


def test_the_newest_come_first_once_each_and_the_oldest_go(folder: Path) -> None:
    opened(folder).keep_queries(["a", "b", "c"])
    opened(folder).keep_queries(["a", "검색", "d", "e" * 1001])

    assert opened(folder).recent_queries() == ("d", "검색", "a", "c", "b")
    opened(folder).keep_queries(["f"])
    assert opened(folder).recent_queries() == ("f", "d", "검색", "a", "c")


def test_nobody_else_can_read_them(folder: Path) -> None:
    opened(folder).keep_queries(["a"])

    assert file_in(folder).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file_in(folder).parent.iterdir()] == ["queries.json"]


def test_what_the_disk_refuses_leaves_nothing_beside_it(folder: Path) -> None:
    file_in(folder).mkdir(parents=True)

    opened(folder).keep_queries(["a"])

    assert [path.name for path in file_in(folder).parent.iterdir()] == ["queries.json"]


def test_read_only_they_are_read_and_not_kept(folder: Path) -> None:
    opened(folder).keep_queries(["a"])
    opened(folder, readonly=True).keep_queries(["b"])

    assert opened(folder, readonly=True).recent_queries() == ("a",)


def test_who_wants_none_kept_has_none_kept(folder: Path) -> None:
    opened(folder).keep_queries(["a"])

    assert opened(folder, kept=0).recent_queries() == ()
    opened(folder, kept=0).keep_queries(["b"])
    assert not file_in(folder).exists()


def test_where_nothing_was_indexed_no_folder_is_made_for_them(tmp_path: Path) -> None:
    opened(tmp_path).keep_queries(["a"])

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "{}", "[1, null", '[1, "a"]'])
def test_a_damaged_file_is_begun_anew(folder: Path, content: str) -> None:
    opened(folder).keep_queries(["x"])
    file_in(folder).write_text(content)

    opened(folder).keep_queries(["b"])

    assert opened(folder).recent_queries()[0] == "b"


@pytest.mark.parametrize("scope", ["all", "data-only"])
def test_a_reset_deletes_them(folder: Path, scope: str) -> None:
    opened(folder).keep_queries(["a"])

    with KnowledgeBase.open(Config.inside(folder)) as kb:
        kb.reset(scope, dry_run=False)

    assert not file_in(folder).exists()
