"""Runs as folders of plain files: ``run.json``, ``cases.jsonl`` and ``queries.jsonl``.

``run.json`` is eval_run.v1, written when a run ends or stops. ``queries.jsonl`` has a line
for every question and variant as it is asked, so that what was asked before a crash stays,
and a run can go on. A run that ended has the sum of each of them in ``sums.json``. Folders and
files are private, as questions may be.
"""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from kb_app._data_dir import DataDir, making_private_files
from kb_app._evals.cases import read_cases, write_cases
from kb_app._sealed import sealed, unsealed
from kb_app.paths import make_private_folder
from kb_core import wire
from kb_core.errors import InvalidInput, IoError
from kb_core.text import read_json

if TYPE_CHECKING:
    from datetime import datetime

    from kb_core.evals import EvalCase
    from kb_core.wire import types

__all__ = ["Asked", "Kept", "RunFolder", "find_run", "fresh_run_id", "runs_in"]


_FILES = ("cases.jsonl", "queries.jsonl", "run.json")
_SUMS = "sums.json"


class Kept(TypedDict):
    """One hit of a question: enough to see why it stands where it does."""

    rank: int
    uri: str
    chunk_id: str
    doc_id: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    rerank_score: float | None
    met: list[str]
    """The targets that it is, or is in."""


class Asked(TypedDict, total=False):
    """What came of one question under one variant: a line of ``queries.jsonl``."""

    case: str
    variant: str
    query: str
    ms: float
    figures: dict[str, float]
    ranks: dict[str, int | None]
    """Of each target, its place among what was found."""
    hits: list[Kept]
    degraded: list[str]
    error: str
    answer: dict[str, Any]


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, cases: Sequence[EvalCase]) -> None:
        """Make the folder with the cases as they are asked."""
        with making_private_files():
            make_private_folder(self.path)
            write_cases(self._cases, cases)

    def examine(self) -> None:
        """Read all of it; raise ``IoError`` or ``InvalidInput`` where it is not what was written.

        A run that has not ended has no ``run.json``, and goes on; of one that was killed as it
        began there is a folder and nothing to be whole.
        """
        if not any((self.path / name).exists() for name in (*_FILES, _SUMS)):
            return
        for name, known in self._sums().items():
            try:
                found = zlib.crc32((self.path / name).read_bytes())
            except OSError as error:
                raise self._unreadable(error) from error
            if found != known:
                raise self._unreadable(ValueError(f"{name} is not what was written"))
        self.cases()
        self.asked()
        if (self.path / "run.json").exists():
            self.run()

    def add(self, asked: Asked) -> None:
        """Write what came of one question."""
        with making_private_files(), self._lines.open("a", encoding="utf-8") as stream:
            stream.write(f"{wire.dumps(asked)}\n")

    def finish(self, run: types.EvalRun) -> None:
        """Write what came of all of them, in one step."""
        new = self.path / f"run.json.{os.getpid()}"
        with making_private_files():
            new.write_text(f"{wire.dumps(run)}\n", "utf-8")
        new.replace(self.path / "run.json")
        names = [name for name in _FILES if (self.path / name).exists()]
        sums = {name: zlib.crc32((self.path / name).read_bytes()) for name in names}
        with making_private_files():
            new.write_bytes(sealed(wire.dumps(sums).encode()))
        new.replace(self.path / _SUMS)

    def asked(self) -> list[Asked]:
        """Return every question that was asked; a line that a crash cut off counts as none."""
        found = []
        lines = self._lines.read_text("utf-8").splitlines() if self._lines.exists() else []
        for number, line in enumerate(lines, start=1):
            try:
                found.append(read_json(line))
            except ValueError as error:
                if number < len(lines):
                    raise self._unreadable(error) from error
        return found

    def asked_whole(self) -> list[Asked]:
        """Return every question that was asked, and leave the file without a line cut off."""
        asked = self.asked()
        new = self._lines.with_name(f"queries.jsonl.{os.getpid()}")
        with making_private_files():
            new.write_text("".join(f"{wire.dumps(one)}\n" for one in asked), "utf-8")
        new.replace(self._lines)
        return asked

    def cases(self) -> list[EvalCase]:
        """Return the cases as they were asked."""
        return read_cases(self._cases)

    def run(self) -> types.EvalRun:
        """Return what ``finish`` wrote."""
        try:
            told: types.EvalRun = read_json((self.path / "run.json").read_bytes())
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        return told

    def _sums(self) -> dict[str, int]:
        try:
            return dict(unsealed((self.path / _SUMS).read_bytes()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            raise self._unreadable(error) from error

    @property
    def _cases(self) -> Path:
        return self.path / "cases.jsonl"

    @property
    def _lines(self) -> Path:
        return self.path / "queries.jsonl"

    def _unreadable(self, error: Exception) -> IoError:
        return IoError(
            f"{str(self.path)!r} is not a run that can be read: {error}",
            details={"path": str(self.path)},
        )


def fresh_run_id(started: datetime) -> str:
    """Return an id that no run has, and that sorts by its time."""
    millis = started.microsecond // 1000
    return f"{started:%Y%m%dT%H%M%S}{millis:03}-{secrets.token_hex(2)}"


def runs_in(data_dir: Path) -> Iterator[RunFolder]:
    """Yield the runs that are kept in a data directory, the newest first."""
    folder = DataDir(data_dir).evals
    names = (
        sorted((path.name for path in folder.iterdir()), reverse=True) if folder.is_dir() else []
    )
    for name in names:
        if (folder / name / "run.json").is_file():
            yield RunFolder(folder / name)


def find_run(data_dir: Path, text: str) -> RunFolder:
    """Return the run that *text* names: an id or its beginning, a name, ``last~1``, a folder."""
    if (Path(text) / "run.json").is_file():
        return RunFolder(Path(text))
    runs = list(runs_in(data_dir))
    if text == "last" or text.startswith("last~"):
        back = text.removeprefix("last").removeprefix("~") or "0"
        found = runs[int(back) : int(back) + 1] if back.isdecimal() else []
    else:
        found = [run for run in runs if run.run().get("name") == text][:1]
        found = found or [run for run in runs if run.path.name.startswith(text)]
    if len(found) != 1:
        known = ", ".join(_called(run.run()) for run in runs[:5]) or "none yet"
        raise InvalidInput(
            f"{text!r} names {'several runs' if found else 'no run'}; the newest are {known}",
            hint="kebab eval list",
            details={"field": "run", "value": text},
        )
    return found[0]


def _called(run: Mapping[str, Any]) -> str:
    return str(run.get("name") or run["run_id"])
