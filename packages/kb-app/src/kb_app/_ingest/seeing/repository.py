"""Which repository a file belongs to: the nearest folder above it that holds ``.git``.

Only files of git are read, never its commands run: a repository can be indexed where git
is not installed, and nothing that a checked-out configuration names is executed.

**Invariant:** what stands in a file is told of a repository only where it is the name of a
branch or of a commit: whoever made a checkout may have had its files of git lead anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kb_app._ingest.seeing.files import open_regular, spell
from kb_core.values import dataclass, lazy_pattern

__all__ = ["Checkouts", "Repository", "RepositoryFinder"]

_COMMIT = lazy_pattern(r"[0-9a-f]{40,64}")
_REFERENCE = lazy_pattern(r"refs/[^\s\0]{1,1000}")
"""What HEAD may name; with .. in it, it would name any file, whose text would be the commit."""
_MOST_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout: the name of its folder, as it is spelled in here, and what is checked out."""

    name: str
    branch: str | None
    commit: str | None


class RepositoryFinder:
    """Finds the repository of folders; remembers what it found."""

    def __init__(self) -> None:
        self._known: dict[Path, Repository | None] = {}

    def of_folder(self, folder: Path) -> Repository | None:
        """Return the repository that *folder*, an absolute path, lies in."""
        if folder not in self._known:
            found = _repository(folder)
            if found is None and folder != folder.parent:
                found = self.of_folder(folder.parent)
            self._known[folder] = found
        return self._known[folder]


class Checkouts:
    """Which repository each folder of a source is in, beside what was known *before*, if it was.

    *found* are the folders with ``.git`` that a walk has seen so far, and where they are on disk.
    """

    def __init__(
        self, root: str, found: Mapping[str, str], before: Mapping[str, str] | None
    ) -> None:
        self._found = found
        self._before = before
        self._finder = RepositoryFinder()
        self._around = self._name_of(root)
        self._is_other: dict[str, bool] = {}
        self._mixed: set[str] = set()

    def is_other(self, path: str) -> bool:
        """Say whether the file at *path*, which the walk has come to, is in another one now."""
        if self._before is None:
            return False
        folder = path.rpartition("/")[0]
        if folder not in self._is_other:
            found, known = _nearest(folder, self._found), _nearest(folder, self._before)
            disk = self._found.get(found)
            name = self._name_of(disk) if disk else self._around
            self._is_other[folder] = self._before.get(known) != name
            if self._is_other[folder]:
                self._mixed.add(max(found, known, key=len))
        return self._is_other[folder]

    @property
    def names(self) -> dict[str, str]:
        """The names of the repositories by their folders; ``""`` is also what is around all."""
        names = {path: self._name_of(disk) for path, disk in self._found.items()}
        return {path: name for path, name in {"": self._around, **names}.items() if name}

    @property
    def names_in_part(self) -> dict[str, str] | None:
        """What is known after a walk of a part.

        Folders of which it saw files in another one have no name: the next whole walk finds
        all of them in another one.
        """
        return None if self._before is None else {**self._before, **dict.fromkeys(self._mixed, "")}

    def _name_of(self, folder: str) -> str | None:
        found = self._finder.of_folder(Path(folder))
        return found.name if found else None


def _nearest(folder: str, known: Mapping[str, str]) -> str:
    """Return the first of *folder* and the folders above it that is *known*, or the root."""
    while folder and folder not in known:
        folder = folder.rpartition("/")[0]
    return folder


def _repository(folder: Path) -> Repository | None:
    git = folder / ".git"
    try:
        if git.is_file():  # a worktree or a submodule: "gitdir: elsewhere"
            git = folder / _text(git).removeprefix("gitdir:").strip()
        head = _text(git / "HEAD").strip()
    except (OSError, ValueError):
        return None
    (name,) = spell([folder.name])
    reference = head.removeprefix("ref: ")
    if reference == head:
        return Repository(name, None, _commit(head))
    if not _REFERENCE.fullmatch(reference) or ".." in reference:
        return Repository(name, None, None)
    branch = reference.removeprefix("refs/heads/")
    return Repository(name, branch, _checked_out(git, reference))


def _checked_out(git: Path, reference: str) -> str | None:
    try:
        common = git / "commondir"
        home = git / _text(common).strip() if common.is_file() else git
        loose = home / reference
        if loose.is_file():
            return _commit(_text(loose).strip())
        for line in _text(home / "packed-refs").splitlines():
            commit, _, name = line.partition(" ")
            if name == reference:
                return _commit(commit)
    except (OSError, ValueError):
        return None
    return None


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _text(path: Path) -> str:
    """Return the beginning of a regular file, all of what git writes; ``OSError``, ``ValueError``.

    A pipe would be waited for, and a file may have any size.
    """
    with open_regular(os.fspath(path)) as file:
        return file.read(_MOST_BYTES).decode("utf-8")
