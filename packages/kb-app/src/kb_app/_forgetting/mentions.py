"""What tells of something that is to be forgotten: turns, runs over questions, queries, logs.

A text tells of a document if it names it, by its path, as a citation or its id, or if it quotes
it: eight words of it in a row, whatever stands between them, or as many letters of a script
that is written without spaces. It tells of a query if it holds its words in a row.

What is looked through is small, and what is forgotten may be large: so the runs of words of the
former are kept, and the latter streams past.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from kb_core.text import in_word, read_json

__all__ = ["Telling", "read_line", "strings_in"]

_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_NO_SPACES}]|[^\W{_NO_SPACES}]+")
_ID = re.compile(r"[0-9a-f]{32}")
_BETWEEN = re.compile(r"[\s'\"`:,;()\[\]{}<>]+")
_RUN = 8
_MOST_NAMES = 1000
"""So many paths are looked for as they stand, with spaces in them; more, piece by piece."""


class Telling:
    """Knows whether texts tell of what is to be forgotten.

    *ids* are those of documents, *paths* their paths, relative to their sources.
    """

    def __init__(
        self, ids: Iterable[str] = (), paths: Iterable[str] = (), queries: Iterable[str] = ()
    ) -> None:
        self._ids, self._paths = frozenset(ids), frozenset(paths)
        self._few = [path for path in self._paths if len(path) > 1]
        self._few = self._few if len(self._few) <= _MOST_NAMES else []
        self._queries = [words for query in queries if (words := _words(query))]
        self._quoted: frozenset[int] = frozenset()

    def look_for_quotes(self, texts: Iterable[str], said: Iterable[str]) -> None:
        """Note which runs of words in what is *said* stand in *texts*, those of documents."""
        runs = {run for text in said for run in _runs(text)}
        if runs:
            self._quoted = frozenset(run for text in texts for run in _runs(text) if run in runs)

    def is_told_by(self, value: object) -> bool:
        """Say whether a text, or a text in *value*, which JSON holds, tells of it."""
        return any(map(self._is_in, strings_in(value)))

    def _is_in(self, text: str) -> bool:
        return (
            not self._ids.isdisjoint(_ID.findall(text))
            or self._names(text)
            or (bool(self._quoted) and any(run in self._quoted for run in _runs(text)))
            or any(_holds(_words(text), query) for query in self._queries)
        )

    def _names(self, text: str) -> bool:
        if not self._paths:
            return False
        whole = unquote(text.partition("#")[0])
        if text in self._paths or whole in self._paths:
            return True
        if any(_stands_in(path, text) for path in self._few):
            return True
        return any(end in self._paths for piece in _BETWEEN.split(text) for end in _ends(piece))


def read_line(line: bytes) -> object:
    """Return the value of a line of JSON; of what is none, its text."""
    try:
        value: object = read_json(line)
    except ValueError:
        return line.decode("utf-8", "replace")
    return value


def strings_in(value: object) -> Iterator[str]:
    """Yield every text in a value that JSON holds, names of members included."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case list(items):
                waiting += items
            case dict(members):
                waiting += [*members, *members.values()]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(text: str) -> Iterator[int]:
    words = _words(text)
    return (hash(tuple(words[at : at + _RUN])) for at in range(len(words) - _RUN + 1))


def _holds(words: Sequence[str], run: Sequence[str]) -> bool:
    width = len(run)
    return any(words[at : at + width] == run for at in range(len(words) - width + 1))


def _stands_in(path: str, text: str) -> bool:
    at = text.find(path)
    while at != -1:
        before, after = text[at - 1 : at], text[at + len(path) : at + len(path) + 1]
        if not (_is_of_a_name(before) or _is_of_a_name(after)):
            return True
        at = text.find(path, at + 1)
    return False


def _is_of_a_name(character: str) -> bool:
    return in_word(character) or character in {"_", "-"}


def _ends(piece: str) -> Iterator[str]:
    """Yield a path without its first folders, one after the other."""
    piece = piece.rstrip(".")
    yield piece
    for at, character in enumerate(piece):
        if character == "/":
            yield piece[at + 1 :]
