"""What the system refuses, and what comes and goes while something is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kb_core.disk import remove_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a folder in it."""
    (tmp_path / "lexical/chunks").mkdir(parents=True)
    (tmp_path / "lexical/chunks/meta.json").write_text("{}", "utf-8")
    return tmp_path / "lexical"


def test_a_lock_that_a_reader_makes_meanwhile_is_in_nobodys_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when all that was listed is deleted, and the folder itself is to go."""
    rmdir, made = os.rmdir, list[Path]()

    def make_a_lock_first(path: str, **where: int) -> None:
        if len(made) < 3:
            made.append(folder / "chunks/.tantivy-meta.lock")
            made[-1].touch()
        rmdir(path, **where)

    monkeypatch.setattr("os.rmdir", make_a_lock_first)
    remove_folder(folder)

    assert not folder.exists()
    assert len(made) == 3


def test_a_folder_that_is_not_there_is_not_removed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove_folder(tmp_path / "nothing")


def test_what_may_not_be_deleted_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.unlink", refuse)

    with pytest.raises(PermissionError):
        remove_folder(folder)
    assert (folder / "chunks/meta.json").exists()
