"""Which repository a file belongs to: the nearest folder above it that holds ``.git``.

Only files of git are read, never its commands run: a repository can be indexed where git
is not installed, and nothing that a checked-out configuration names is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kb_app._ingest.seeing.files import spell
from kb_core.values import dataclass, lazy_pattern

__all__ = ["Checkouts", "Repository", "RepositoryFinder"]

_COMMIT = lazy_pattern(r"[0-9a-f]{40,64}")


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
            git = folder / git.read_text("utf-8").removeprefix("gitdir:").strip()
        if not (git / "HEAD").is_file():
            return None
        head = (git / "HEAD").read_text("utf-8").strip()
    except (OSError, ValueError):
        return None
    (name,) = spell([folder.name])
    if not head.startswith("ref: "):
        return Repository(name, None, head if _COMMIT.fullmatch(head) else None)
    reference = head.removeprefix("ref: ")
    branch = reference.removeprefix("refs/heads/")
    return Repository(name, branch, _commit(git, reference))


def _commit(git: Path, reference: str) -> str | None:
    try:
        common = git / "commondir"
        home = git / common.read_text("utf-8").strip() if common.is_file() else git
        loose = home / reference
        if loose.is_file():
            return loose.read_text("utf-8").strip()
        for line in (home / "packed-refs").read_text("utf-8").splitlines():
            commit, _, name = line.partition(" ")
            if name == reference:
                return commit
    except (OSError, ValueError):
        return None
    return None
