"""What a conversation was given already: so that no passage is paid for twice.

Every answer as text that holds passages ends with a short name, ``seen``; whoever gives the
name back is not given the same lines again, but one line for each passage. A server that is
told to remember does that by itself, for the one conversation that it serves.

What was given is known by the lines themselves, not by their place: a text that has changed
is new. Names are of this process. Both what is kept and how far back a name reaches is
bounded; a name that is not known any more leaves nothing out. Cursors get short names here,
too, since a model has to write them.

**Invariant:** what is left out was given under that name, line by line.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeVar

from kb_core.values import dataclass

__all__ = ["Given", "Memory"]

_Value = TypeVar("_Value")

_KEPT = 500
"""Names of each kind; a conversation has a few dozen."""
_REACH = 100
"""Answers before the last one that a name stands for."""


@dataclass(frozen=True, slots=True)
class Given:
    """The lines of answers, the last one first."""

    answers: tuple[frozenset[int], ...] = ()

    def __contains__(self, line: object) -> bool:
        return any(line in lines for lines in self.answers)

    def with_lines(self, lines: Iterable[int]) -> Given:
        """Return this and what was given after it; what lies too far back is let go."""
        return Given((frozenset(lines), *self.answers[: _REACH - 1]))


class Memory:
    """The names that one server gave; used by many threads."""

    def __init__(self, *, remembers: bool = False) -> None:
        self._remembers = remembers
        self._last = Given()
        self._lock = threading.Lock()
        # Of another process a name means nothing, and must not mean something else here.
        self._mark = secrets.token_hex(2)
        self._count = 0
        self._given: OrderedDict[str, Given] = OrderedDict()
        self._cursors: OrderedDict[str, str] = OrderedDict()

    def given(self, name: str | None) -> Given | None:
        """Return what was given under *name*, or ``None`` where that is not known."""
        with self._lock:
            if name is None:
                return self._last if self._remembers else Given()
            return self._given.get(name)

    def keep(self, given: Given, lines: Iterable[int]) -> str | None:
        """Return the name of *given* and these lines; none where the server remembers itself."""
        more = given.with_lines(lines)
        with self._lock:
            if self._remembers:
                self._last = self._last.with_lines(lines)
                return None
            return self._named(self._given, more, "s")

    def short(self, cursor: str) -> str:
        """Return a short name for a cursor."""
        with self._lock:
            return self._named(self._cursors, cursor, "c")

    def cursor(self, name: str) -> str:
        """Return the cursor that *name* stands for; a cursor itself is one, too."""
        with self._lock:
            return self._cursors.get(name, name)

    def _named(self, names: OrderedDict[str, _Value], value: _Value, kind: str) -> str:
        self._count += 1
        name = f"{self._mark}{kind}{self._count}"
        names[name] = value
        while len(names) > _KEPT:
            names.popitem(last=False)
        return name
