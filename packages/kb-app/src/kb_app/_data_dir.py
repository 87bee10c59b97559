"""The data directory: where each part lies, and that nobody else can read it.

Whatever makes a part, a command, a run, a library of an engine, folders are 0700 and files
0600. While something writes here, this process makes private files only; before it lets
go, what is left is looked over, in case an engine knew better.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kb_app.paths import make_private_folder
from kb_core.errors import NotIndexed
from kb_core.values import dataclass, lazy_pattern

__all__ = ["FORGOTTEN", "INDEX_PARTS", "PARTS", "DataDir", "making_private_files"]

INDEX_PARTS = ("lexical", "vectors")
"""What can be built again from the store."""

PARTS = (
    *("kebab.duckdb", "kebab.duckdb.wal", *INDEX_PARTS),
    *("assets", "costly", "evals", "journal", "run", "safety", "forgetting.json"),
)
"""What kebab makes in a data directory, but for the lock and what goes with everything only."""

_PASSING = "run"
"""The part that is of what goes on, and of nothing that is kept."""

FORGOTTEN = "forgotten.json"
"""Marks of files that are not read again."""

_NAMES = {
    "lexical": lazy_pattern(r"chunks|records"),
    "vectors": lazy_pattern(r".+\.(?:i8|scale|keys|dead)(?:\.new)?"),
    "assets": lazy_pattern(r"[0-9a-f]{32}(?:\..+)?"),
    "costly": lazy_pattern(r"[0-9a-f]{32,}"),
    "evals": lazy_pattern(r"\d{8}T\d{6}.*"),
    "journal": lazy_pattern(r".+\.jsonl(?:\.new)?"),
    "run": lazy_pattern(
        r"(?:job|looked|queries|quiet|seal|searched|watch|wishes)(?:\..+)?|letters"
    ),
    "safety": lazy_pattern(r"\d{8}T\d{6}Z|\.new|runs"),
}
"""What kebab calls what it makes in each part that is a folder."""

_FOLDER, _FILE = 0o700, 0o600


@dataclass(frozen=True, slots=True)
class DataDir:
    """The data directory at *root*, there yet or not."""

    root: Path

    @property
    def store(self) -> Path:
        """The truth."""
        return self.root / "kebab.duckdb"

    @property
    def lock(self) -> Path:
        """What the one writer holds."""
        return self.root / "writer.lock"

    @property
    def job(self) -> Path:
        """What the running job is at."""
        return self.root / "run" / "job.json"

    @property
    def wishes(self) -> Path:
        """Passages that searches would like the running job to embed next."""
        return self.root / "run" / "wishes"

    @property
    def seal(self) -> Path:
        """What the store and the index looked like when a run had seen everything."""
        return self.root / "run" / "seal.json"

    @property
    def looked(self) -> Path:
        """How a folder that is no source was at the last look."""
        return self.root / "run" / "looked.json"

    @property
    def watch(self) -> Path:
        """Who follows the sources, and when that one last looked."""
        return self.root / "run" / "watch.json"

    @property
    def watch_lock(self) -> Path:
        """What the one who follows the sources holds."""
        return self.root / "run" / "watch.lock"

    @property
    def quiet_runs(self) -> Path:
        """The newest runs that had nothing to do, and opened no store."""
        return self.root / "run" / "quiet.json"

    @property
    def queries(self) -> Path:
        """What a person searched for in the terminal."""
        return self.root / "run" / "queries.json"

    @property
    def searched(self) -> Path:
        """What each terminal searched for last, with its hits."""
        return self.root / "run" / "searched.json"

    def unfinished(self) -> list[Path]:
        """Return what processes that were killed left of ``queries`` and ``searched``."""
        return [
            path
            for file in (self.queries, self.searched)
            for path in file.parent.glob(f"{file.name}.*")
        ]

    @property
    def journal(self) -> Path:
        """Conversations, a file each, and what was said of hits."""
        return self.root / "journal"

    @property
    def feedback(self) -> Path:
        """What was said of hits; no name of a conversation begins so."""
        return self.journal / "_feedback.jsonl"

    @property
    def token(self) -> Path:
        """What hosts of models send that ask over HTTP; it goes with everything only."""
        return self.root / "mcp-token"

    @property
    def forgotten(self) -> Path:
        """Marks of files that are not read again; it goes with everything only."""
        return self.root / FORGOTTEN

    @property
    def forgetting(self) -> Path:
        """What is being forgotten; there until all of it is gone."""
        return self.root / "forgetting.json"

    @property
    def assets(self) -> Path:
        """Bytes that exist nowhere else."""
        return self.root / "assets"

    @property
    def evals(self) -> Path:
        """Runs over golden questions, a folder each."""
        return self.root / "evals"

    @property
    def safety(self) -> Path:
        """Copies of what could not be read again, a folder each."""
        return self.root / "safety"

    @property
    def costly(self) -> Path:
        """What OCR and speech made, so that it is made once."""
        return self.root / "costly"

    @property
    def letters(self) -> Path:
        """What files say that are no text and wait to be read, a file each."""
        return self.root / "run" / "letters"

    @property
    def imported(self) -> Path:
        """What an import has made whole and was killed before it put it here; seldom there."""
        return self.beside("imported")

    @property
    def awaits_import(self) -> bool:
        """Say whether all that there is to know is what such an import has made."""
        truth = (name for name in PARTS if name != _PASSING)
        return self.imported.is_dir() and not self.parts(*truth)

    def take_imported(self) -> None:
        """Put in place what an import had made whole when it was killed, if one was.

        ``IoError`` where that fails: what would be made here instead would hide it.
        """
        if not self.awaits_import:
            return
        from kb_core.disk import disk_errors, remove_folder

        place = Path(os.path.realpath(self.root))
        with disk_errors(f"put {str(self.imported)!r}, which was imported, in its place"):
            if (place / _PASSING).exists():
                remove_folder(place / _PASSING)
            for path in sorted(place.iterdir()) if place.is_dir() else ():
                path.rename(self.imported / path.name)  # a token, which may come before a run
            self.imported.rename(place)

    def beside(self, what: str) -> Path:
        """Return the folder of this name beside the data directory, links in its name followed."""
        root = Path(os.path.realpath(self.root))
        return root.with_name(f"{root.name}.{what}")

    def lost_index(self) -> NotIndexed | None:
        """Return what to say where there is a store, and no more the index that was made of it.

        Nobody may take that for a knowledge base that is empty.
        """
        if self.awaits_import:
            return NotIndexed(
                "an import was interrupted at its last step, and is not in its place",
                hint="run 'kebab ingest': it puts what was imported there first",
            )
        if not self.store.exists() or not (self.seal.exists() or self.assets.exists()):
            return None
        return NotIndexed(
            "there is no index of what is stored: it was deleted, or is being rebuilt",
            hint="run 'kebab ingest': it rebuilds it, and nothing is parsed or embedded again",
        )

    def logs_set_aside(self) -> list[Path]:
        """Return the logs of stores that were gone: a new store does not read them."""
        return sorted(self.root.glob(f"{self.store.name}.wal.old-*"))

    def copies(self) -> list[Path]:
        """Return what was set aside and stays until a person deletes it: by repairs, imports."""
        damaged = sorted(self.root.glob(f"{self.store.name}.damaged-*"))
        return [*damaged, *sorted(self.root.parent.glob(f"{self.root.name}.replaced-*"))]

    def not_ours(self) -> list[Path]:
        """Return what lies here, or in a part, and was made by nobody that kebab knows."""
        if not self.root.is_dir():
            return []
        copies = {path.name for path in self.copies()}
        there = sorted(self.root.iterdir())
        beside = [path for path in there if path.name not in copies and not self._made(path.name)]
        return [*beside, *(path for part in self.parts(*PARTS) for path in _apart(part)[1])]

    def ours(self, *names: str) -> list[Path]:
        """Return what kebab made of these parts: each whole, or what in it is not a person's."""
        apart = ((part, *_apart(part)) for part in self.parts(*names))
        return [path for part, ours, others in apart for path in (ours if others else [part])]

    def parts(self, *names: str) -> list[Path]:
        """Return the paths of these parts that are there, with what lies beside the store."""
        paths = [self.root / name for name in names]
        paths += sorted(self.root.glob("kebab.duckdb.*")) if self.store.name in names else []
        return [path for path in dict.fromkeys(paths) if path.exists() or path.is_symlink()]

    @contextmanager
    def writing(self) -> Generator[None]:
        """Make the directory if it is not there, and keep all that is written in it private."""
        with making_private_files():
            self.take_imported()
            make_private_folder(self.root)
            if self._is_ours():
                _restrict(self.root, _FOLDER)
            try:
                yield
            finally:
                self._seal()

    def _is_ours(self) -> bool:
        """Say whether nothing lies here but what kebab made: other folders keep their mode."""
        store = f"{self.store.name}."
        names = (path.name for path in self.root.iterdir())
        return all(name.startswith(store) or self._made(name) for name in names)

    def _made(self, name: str) -> bool:
        """Say whether what is called so here is kebab's."""
        single = {self.lock.name, self.token.name, self.forgotten.name}
        log = name.startswith((f"{self.store.name}.wal.old-", f"{self.store.name}.damaged-"))
        return name in single or name in PARTS or log

    def _seal(self) -> None:
        _restrict(self.lock, _FILE)
        _restrict(self.token, _FILE)
        _restrict(self.forgotten, _FILE)
        for path in self.parts(*PARTS):
            for folder, names in _below(path):
                _restrict(folder, _FOLDER)
                for name in names:
                    _restrict(folder / name, _FILE)
            if not path.is_dir():
                _restrict(path, _FILE)


def _apart(part: Path) -> tuple[list[Path], list[Path]]:
    """Return what lies in a part by whether kebab calls what it makes there so; no link's."""
    names = _NAMES.get(part.name)
    if names is None or part.is_symlink() or not part.is_dir():
        return [], []
    there = sorted(part.iterdir())
    ours = [path for path in there if names.fullmatch(path.name)]
    return ours, [path for path in there if path not in ours]


def _below(path: Path) -> Iterator[tuple[Path, list[str]]]:
    for folder, _, names in os.walk(path):
        yield Path(folder), names


def _restrict(path: Path, most: int) -> None:
    """Take from *path* the rights that are not in *most*; a link and what vanished stay."""
    with suppress(OSError):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISLNK(status.st_mode) and mode & ~most:
            path.chmod(mode & most)


_guard = threading.Lock()
_inside: list[int] = []
"""The process's own mask, once for each that is inside."""


@contextmanager
def making_private_files() -> Generator[None]:
    """Give nobody else rights to what this process makes meanwhile, on any thread."""
    with _guard:
        before = os.umask(0o077)
        _inside.append(_inside[0] if _inside else before)
    try:
        yield
    finally:
        with _guard:
            own = _inside.pop()
            if not _inside:
                os.umask(own)
