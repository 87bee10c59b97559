"""Conversations as they are kept: one journal each, to which a line is added for every turn.

A journal is a private file below ``journal/``, and each of its lines is a session_turn.v1. A line
is written while the file is locked, so that processes in one conversation lose nothing of each
other, and synced before anybody hears of it. Whatever ends a process in the middle leaves an
unfinished last line: readers leave it out and say so, and the next turn takes its place.
Nothing else of a journal is ever changed; it goes as a whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app.paths import make_private_folder
from kb_core import wire
from kb_core.errors import InvalidInput, IoError
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["LAST", "NEW", "Journal", "Journals"]

NEW, LAST = "new", "last"
"""Words in place of a name: a conversation that begins, and the one that was used last."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_SUFFIX = ".jsonl"
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Journal:
    """What a journal says: whole turns in order, and what of it is no turn."""

    name: str
    turns: tuple[types.SessionTurn, ...] = ()
    size: int = 0
    """In bytes."""
    damaged: int = 0
    """Lines that say nothing."""
    is_torn: bool = False
    """Whether its last line was not finished, and says nothing."""

    @property
    def next_number(self) -> int:
        """The number that the next turn has, from 1."""
        return max((turn["turn_index"] for turn in self.turns), default=0) + 1

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person has to know of it."""
        torn = f"conversation '{self.name}': its last turn was not written to the end"
        lines = f"conversation '{self.name}': lines of its journal that cannot be read"
        return (
            *([f"{lines}: {self.damaged}"] if self.damaged else []),
            *([f"{torn}, and is left out"] if self.is_torn else []),
        )


class Journals:
    """The conversations in a folder, there yet or not.

    A name is of lower-case letters, digits, dots, hyphens and underscores; ``InvalidInput`` for
    any other, and for one that is not there where one has to be. ``IoError`` for the rest.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of all, the one that was used last first."""
        used = []
        with suppress(FileNotFoundError):
            for entry in os.scandir(self._folder):
                name = entry.name.removesuffix(_SUFFIX)
                if name != entry.name and _NAME.fullmatch(name) and entry.is_file():
                    used.append((entry.stat().st_mtime_ns, name))
        return [name for _, name in sorted(used, reverse=True)]

    def last(self) -> str:
        """Return the name of the one that was used last."""
        for name in self.names():
            return name
        raise InvalidInput(
            "there is no conversation yet",
            hint="kebab ask --session new QUESTION",
            details={"field": "session", "value": LAST},
        )

    def read(self, name: str) -> Journal:
        """Return what is kept of a conversation; nothing, where it has not begun."""
        with self._errors(name), self._opened(name, os.O_RDONLY) as descriptor:
            return Journal(name) if descriptor is None else _parsed(name, _content(descriptor))

    def kept(self, name: str) -> Journal:
        """Return what is kept of a conversation that there is."""
        self.check(name)
        return self.read(name)

    def append(self, name: str, turn: Callable[[int], types.SessionTurn]) -> types.SessionTurn:
        """Add the turn that *turn* makes of its number, and return it."""
        with self._errors(name):
            make_private_folder(self._folder)
            with self._opened(name, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                assert descriptor is not None  # noqa: S101 - it is made
                content = _content(descriptor)
                journal = _parsed(name, content)
                made = turn(journal.next_number)
                _write(descriptor, _mended(descriptor, journal, content) + _line(made))
                os.fsync(descriptor)
                return made

    def delete(self, name: str) -> None:
        """Delete a conversation; one that a process is in begins anew with its next turn."""
        with self._errors(name), self._opened(name, os.O_RDWR):
            self._path(name).unlink(missing_ok=True)

    def lines(self, name: str) -> list[bytes]:
        """Return the lines of a journal as they are, torn and damaged ones too."""
        with self._errors(name), self._opened(name, os.O_RDONLY) as descriptor:
            content = b"" if descriptor is None else _content(descriptor)
        return [line for line in content.split(b"\n") if line]

    def drop(self, name: str, is_one: Callable[[bytes], bool]) -> None:
        """Take out the lines that *is_one* says; a conversation without any left goes."""
        with self._errors(name), self._opened(name, os.O_RDWR) as descriptor:
            lines = [] if descriptor is None else _content(descriptor).split(b"\n")
            kept = [line for line in lines if line and not is_one(line)]
            if len(kept) == sum(map(bool, lines)):
                return
            path = self._path(name)
            if not kept:
                path.unlink(missing_ok=True)
                return
            _put_in_place(path, b"".join(line + b"\n" for line in kept))

    def check(self, name: str) -> None:
        """Raise ``InvalidInput`` unless there is a conversation of this name."""
        if not self._path(name).is_file():
            raise InvalidInput(
                f"there is no conversation '{name}'",
                hint="kebab list sessions",
                details={"field": "session", "value": name},
            )

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name!r} is no name of a conversation: lower-case letters, digits, and . _ - "
                "between them, 64 at most",
                hint=f"kebab ask --session {NEW} QUESTION, which makes up a name",
                details={"field": "session", "value": name},
            )
        return self._folder / f"{name}{_SUFFIX}"

    @contextmanager
    def _opened(self, name: str, flags: int) -> Generator[int | None]:
        """Open and lock a journal, for all others that write if *flags* say that it is written.

        ``None`` where there is none.
        """
        path, is_read = self._path(name), flags == os.O_RDONLY
        while True:
            try:
                descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                yield None
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH if is_read else fcntl.LOCK_EX)
                if _is_still(path, descriptor):  # else it was deleted while we waited
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    @contextmanager
    def _errors(self, name: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise IoError(
                f"the journal of conversation '{name}' cannot be used: {error.strerror or error}",
                details={"path": str(self._folder), "session": name},
            ) from error


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(descriptor, _READ_BYTES), b""))


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _put_in_place(path: Path, content: bytes) -> None:
    """Replace a locked journal; who waits for its lock looks again for its name."""
    used, new = path.stat(), path.with_name(f".{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        _write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.utime(new, ns=(used.st_atime_ns, used.st_mtime_ns))  # nobody has used it now
    new.replace(path)


def _line(turn: types.SessionTurn) -> bytes:
    return wire.dumps(turn).encode() + b"\n"


def _mended(descriptor: int, journal: Journal, content: bytes) -> bytes:
    """Make the journal end with a whole line; return what has to come before the next one."""
    tail = content.rpartition(b"\n")[2]
    if not journal.is_torn:
        return b"\n" if tail else b""
    os.ftruncate(descriptor, len(content) - len(tail))
    return b""


def _parsed(name: str, content: bytes) -> Journal:
    *lines, tail = content.split(b"\n")
    read = [_turn(line) for line in lines if line]
    last = _turn(tail) if tail else None
    turns = [turn for turn in (*read, last) if turn is not None]
    return Journal(
        name,
        tuple(turns),
        size=len(content),
        damaged=read.count(None),
        is_torn=bool(tail) and last is None,
    )


def _turn(line: bytes) -> types.SessionTurn | None:
    """Return the turn that a line is, or ``None`` for what no version of ours wrote."""
    try:
        turn: Any = json.loads(line)
    except ValueError:
        return None
    is_turn = isinstance(turn, dict) and turn.get("schema_version") == "session_turn.v1"
    return turn if is_turn and _has_all(turn) else None


def _has_all(turn: dict[str, Any]) -> bool:
    answer = turn.get("answer")
    return (
        isinstance(turn.get("turn_index"), int)
        and isinstance(answer, dict)
        and all(isinstance(answer.get(key), str) for key in ("question", "answer", "created_at"))
        and isinstance(answer.get("citations"), list)
    )
