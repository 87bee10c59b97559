"""Where kebab keeps what people did: conversations, queries, feedback, runs over questions, logs.

Each is a kind of trace. ``traces_in`` gives those of a data directory; what tells of something
that is to be forgotten is counted by ``find`` and taken away by ``remove``, line by line where
lines stand for themselves, and whole where a part would say what is not so. Golden questions
are the person's own: they are found, and never changed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from kb_app._ask.journals import Journals
from kb_app._data_dir import DataDir, making_private_files
from kb_app._evals.said import Said
from kb_app._forgetting.mentions import Telling, read_line, strings_in
from kb_app._safety import SafetyCopies, SafetyCopy
from kb_core.disk import disk_errors
from kb_core.errors import KbError
from kb_core.values import dataclass

__all__ = [
    "ALWAYS",
    "GOLDEN",
    "KINDS",
    "Trace",
    "all_that_is_said",
    "count",
    "ids_in",
    "traces_in",
]

GOLDEN = "golden_question"
KINDS = ("conversation", "feedback", GOLDEN, "log", "query", "run")
ALWAYS = ("log", "query")
"""What kebab keeps for its own use, and nobody has to name."""

_JOURNAL, _FEEDBACK = "journal/", "_feedback"


class Trace(Protocol):
    """One thing that is kept, and may tell of what is to be forgotten."""

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        ...

    @property
    def name(self) -> str:
        """What a person knows it by."""
        ...

    def said(self) -> Iterator[object]:
        """Yield what is in it, as far as it can be judged apart."""
        ...

    def remove(self, tells: Callable[[object], bool], /) -> None:
        """Take away what *tells*."""
        ...


def traces_in(data: DataDir, log_dir: Path | None, golden: Path | None) -> Iterator[Trace]:
    """Yield all traces that there are."""
    journals = Journals(data.journal)
    for name in journals.names():
        yield _Conversation(journals, name)
    if data.queries.exists():
        yield _Queries(data.queries)
    if data.searched.exists():
        yield _Searched(data.searched)
    if data.feedback.exists():
        yield _Feedback(data.feedback)
    for folder in sorted(data.evals.glob("*/")):
        yield _EvalRun(folder)
    for log in sorted(log_dir.glob("kebab*.log*")) if log_dir is not None else ():
        yield _Log(log)
    if golden is not None and golden.exists():
        yield _Golden(golden)
    yield from _copied(data)


def _copied(data: DataDir) -> Iterator[Trace]:
    for copy in SafetyCopies(data.safety).all():
        journals = (member for member in copy.members() if member.startswith(_JOURNAL))
        yield from (_Copied(copy, member) for member in journals)


def all_that_is_said(traces: Sequence[Trace]) -> Iterator[str]:
    """Yield every text in *traces*."""
    for trace in traces:
        for value in trace.said():
            yield from strings_in(value)


def count(trace: Trace, telling: Telling) -> int:
    """Return how much in *trace* tells."""
    return sum(map(telling.is_told_by, trace.said()))


def ids_in(trace: Trace, telling: Telling) -> Iterator[str]:
    """Yield the ids of golden questions that tell; other traces have none."""
    if trace.kind == GOLDEN:
        told = (case for case in trace.said() if telling.is_told_by(case))
        yield from (str(case["id"]) for case in told if isinstance(case, dict) and "id" in case)


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A journal: a turn goes with its answer, the rest stays."""

    journals: Journals
    name: str
    kind: str = "conversation"

    def said(self) -> Iterator[object]:
        return map(read_line, self.journals.lines(self.name))

    def remove(self, tells: Callable[[object], bool]) -> None:
        self.journals.drop(self.name, lambda line: tells(read_line(line)))


@dataclass(frozen=True, slots=True)
class _Queries:
    """What was typed in the terminal before."""

    path: Path
    kind: str = "query"
    name: str = "terminal"

    def said(self) -> Iterator[object]:
        found = read_line(_read(self.path))
        yield from found if isinstance(found, list) else [found]

    def remove(self, tells: Callable[[object], bool]) -> None:
        kept = [text for text in self.said() if not tells(text)]
        _replace(self.path, json.dumps(kept).encode())


@dataclass(frozen=True, slots=True)
class _Searched:
    """What each terminal searched for last, with its hits: it goes as a whole."""

    path: Path
    kind: str = "query"
    name: str = "last searches"

    def said(self) -> Iterator[object]:
        found = read_line(_read(self.path))
        yield from found.values() if isinstance(found, dict) else [found]

    def remove(self, tells: Callable[[object], bool]) -> None:
        if any(map(tells, self.said())):
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Feedback:
    """What was said of hits: a line goes."""

    path: Path
    kind: str = "feedback"
    name: str = "feedback"

    def said(self) -> Iterator[object]:
        return map(read_line, Said(self.path).lines())

    def remove(self, tells: Callable[[object], bool]) -> None:
        Said(self.path).drop(lambda line: tells(read_line(line)))


@dataclass(frozen=True, slots=True)
class _EvalRun:
    """A run over golden questions: without one of them, its figures would be of another run."""

    path: Path
    kind: str = "run"

    @property
    def name(self) -> str:
        return self.path.name

    def said(self) -> Iterator[object]:
        for file in sorted(self.path.iterdir()):
            yield from map(read_line, _read(file).split(b"\n"))

    def remove(self, tells: Callable[[object], bool]) -> None:
        if any(map(tells, self.said())):
            with disk_errors("delete a run over golden questions"):
                shutil.rmtree(self.path)


@dataclass(frozen=True, slots=True)
class _Log:
    """A log file: a line goes."""

    path: Path
    kind: str = "log"

    @property
    def name(self) -> str:
        return self.path.name

    def said(self) -> Iterator[object]:
        return (line.decode("utf-8", "replace") for line in _read(self.path).split(b"\n"))

    def remove(self, tells: Callable[[object], bool]) -> None:
        kept = [line for line in self.said() if not tells(line)]
        _replace(self.path, "\n".join(map(str, kept)).encode())


@dataclass(frozen=True, slots=True)
class _Golden:
    """Golden questions, which only the person changes."""

    path: Path
    kind: str = GOLDEN

    @property
    def name(self) -> str:
        return str(self.path)

    def said(self) -> Iterator[object]:
        from kb_app._evals.cases import read_cases

        try:
            yield from map(_plain, read_cases(self.path))
        except KbError:  # a file that cannot be read as such is looked at as text
            yield from _read(self.path).decode("utf-8", "replace").splitlines()

    def remove(self, tells: Callable[[object], bool]) -> None:
        """Leave them."""


@dataclass(frozen=True, slots=True)
class _Copied:
    """A journal in a safety copy: as the one that it was taken of."""

    copy: SafetyCopy
    member: str

    @property
    def kind(self) -> str:
        return "feedback" if self._stem == _FEEDBACK else "conversation"

    @property
    def name(self) -> str:
        stem = "feedback" if self._stem == _FEEDBACK else self._stem
        return f"{stem} in the safety copy {self.copy.folder.name}"

    @property
    def _stem(self) -> str:
        return self.member.removeprefix(_JOURNAL).removesuffix(".jsonl")

    def said(self) -> Iterator[object]:
        return map(read_line, (self.copy.read(self.member) or b"").split(b"\n"))

    def remove(self, tells: Callable[[object], bool]) -> None:
        self.copy.change(self.member, lambda line: not tells(read_line(line)))


def _plain(case: object) -> object:
    return json.loads(json.dumps(asdict(case), default=str))  # type: ignore[call-overload]


def _read(path: Path) -> bytes:
    with disk_errors(f"read {str(path)!r}"):
        return path.read_bytes() if path.is_file() else b""


def _replace(path: Path, data: bytes) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with disk_errors(f"change {str(path)!r}"), making_private_files():
        try:
            new.write_bytes(data)
            new.replace(path)
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)
