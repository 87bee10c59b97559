"""What a folder holds, told before anything in it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._ingest import preview as previews
from kb_app._media import MEDIA, Medium
from kb_core.errors import InvalidInput
from kb_core.media import Media


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.open(Config.inside(tmp_path / "data"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(MEDIA, Media.VIDEO, Medium())  # one that nothing reads
    root = tmp_path / "folder"
    sizes = {
        "a.md": 30, "b.md": 70, "deep/c.md": 10, "tool.py": 50, "noname": 5, "film.mkv": 400,
        "talk.mkv": 100, ".env": 20, "empty.md": 0, "node_modules/x/y.js": 60,
        "deep/node_modules/z.js": 60, "old.log": 8,
    }  # fmt: skip
    for path, size in sizes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x" * size)
    return root


def test_kinds_and_sizes_of_what_would_be_read(kb: KnowledgeBase, folder: Path) -> None:
    seen = kb.preview_source(str(folder), exclude=["*.log"])

    assert (seen["files"], seen["bytes"], seen["complete"]) == (5, 165, True)
    assert seen["kinds"] == [
        {"media": "markdown", "code_lang": None, "files": 3, "bytes": 110},
        {"media": "unknown", "code_lang": None, "files": 1, "bytes": 5},
        {"media": "code", "code_lang": "python", "files": 1, "bytes": 50},
    ]
    assert [each["path"] for each in seen["largest"]] == [
        "b.md", "tool.py", "a.md", "deep/c.md", "noname",
    ]  # fmt: skip


def test_what_is_left_alone_and_why(kb: KnowledgeBase, folder: Path) -> None:
    seen = kb.preview_source(str(folder), exclude=["*.log"])
    told = [
        (each["reason"], each["detail"], each["files"], each["folders"], each["example"])
        for each in seen["left_alone"]
    ]

    assert sorted(told, key=str) == [
        ("empty", None, 1, 0, "empty.md"),
        ("ignored", "built-in: node_modules/", 0, 2, "deep/node_modules"),
        ("ignored", "exclude:1: *.log", 1, 0, "old.log"),
        ("secret_suspected", "files called .env may hold credentials", 1, 0, ".env"),
        ("unsupported", "video is not indexed yet", 2, 0, "film.mkv"),
    ]


def test_no_file_is_opened_but_those_of_rules(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.open

    def refused(path: str, *others: object) -> int:
        assert not str(path).startswith(str(folder)), path
        return whole(path, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a file was opened"))

    assert kb.preview_source(str(folder))["files"] == 6


def test_of_a_tree_that_is_too_large_the_beginning_is_told(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "_MOST", 4)
    seen = kb.preview_source(str(folder))

    assert not seen["complete"]
    assert seen["files"] + sum(each["files"] + each["folders"] for each in seen["left_alone"]) == 4


def test_what_is_no_folder_is_refused(kb: KnowledgeBase, folder: Path) -> None:
    for wrong in (folder / "a.md", folder / "nowhere"):
        with pytest.raises(InvalidInput, match="folder"):
            kb.preview_source(str(wrong))
