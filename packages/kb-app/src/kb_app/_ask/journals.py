"""Conversations as they are kept: one journal each, to which a line is added for every turn.

A journal is a file of ``_lines`` below ``journal/``, and each of its lines is a session_turn.v1.
Of a last line that was not finished, readers say so, and the next turn takes its place.
Nothing else of a journal is ever changed; it goes as a whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._lines import Lines, LinesFile
from kb_core.errors import InvalidInput, IoError
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["LAST", "NEW", "Journal", "Journals"]

NEW, LAST = "new", "last"
"""Words in place of a name: a conversation that begins, and the one that was used last."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_SUFFIX = ".jsonl"


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
        with self._errors(name):
            return _journal(name, self._file(name).read())

    def kept(self, name: str) -> Journal:
        """Return what is kept of a conversation that there is."""
        self.check(name)
        return self.read(name)

    def append(self, name: str, turn: Callable[[int], types.SessionTurn]) -> types.SessionTurn:
        """Add the turn that *turn* makes of its number, and return it."""
        with self._errors(name):
            file = self._file(name)
            return file.append(lambda lines: turn(_journal(name, lines).next_number))

    def delete(self, name: str) -> None:
        """Delete a conversation; one that a process is in begins anew with its next turn."""
        with self._errors(name):
            self._file(name).delete()

    def lines(self, name: str) -> list[bytes]:
        """Return the lines of a journal as they are, torn and damaged ones too."""
        with self._errors(name):
            return self._file(name).lines()

    def drop(self, name: str, is_one: Callable[[bytes], bool]) -> None:
        """Take out the lines that *is_one* says; a conversation without any left goes."""
        with self._errors(name):
            self._file(name).drop(is_one)

    def file_name(self, name: str) -> str:
        """Return where a conversation is in the data directory."""
        return f"{self._folder.name}/{self._path(name).name}"

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

    def _file(self, name: str) -> LinesFile[types.SessionTurn]:
        return LinesFile(self._path(name), _turn)

    @contextmanager
    def _errors(self, name: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise IoError(
                f"the journal of conversation '{name}' cannot be used: {error.strerror or error}",
                details={"path": str(self._folder), "session": name},
            ) from error


def _journal(name: str, lines: Lines[types.SessionTurn]) -> Journal:
    return Journal(name, lines.rows, lines.size, lines.damaged, lines.is_torn)


def _turn(turn: Any) -> types.SessionTurn | None:  # noqa: ANN401 - whatever a line holds
    """Return the turn that a line is, or ``None`` for what no version of ours wrote."""
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
