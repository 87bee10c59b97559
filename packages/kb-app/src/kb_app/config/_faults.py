"""Complaints about a configuration: which file, which line, which key, what instead."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_core.errors import ConfigInvalid

__all__ = ["ConfigText", "nearest", "wrong_option", "wrong_variable"]

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ConfigText:
    """A configuration file's text; knows on which line a key stands."""

    file: Path
    text: str

    def parse(self) -> dict[str, Any]:
        """Return the tables, or complain about the syntax."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            line = _line_in(str(error), default=self.text.count("\n") + 1)
            raise ConfigInvalid(
                f"{self.file}:{line}: this is not TOML: {error}",
                hint='a value is a number, true, false, a "text" or a [list]',
                details={"file": str(self.file), "line": line},
            ) from error

    def wrong(
        self, path: KeyPath, complaint: str, *, hint: str | None = None, **details: object
    ) -> ConfigInvalid:
        """Return the error for the value at *path*, which "is not …"."""
        line, value = self._line_of(path), _at(self._tables(), path)
        details = {"file": str(self.file), "line": line, "key": _dotted(path)} | details
        if isinstance(value, (str, int, float, list)):
            details["value"] = value
            complaint = f"= {value!r} {complaint}"
        message = f"{self.file}:{line}: {_shown(path)} {complaint}"
        return ConfigInvalid(message, hint=hint, details=details)

    def unknown(self, path: KeyPath, known: Iterable[str], kind: str = "key") -> ConfigInvalid:
        """Return the error for a section or key that does not exist."""
        line, word = self._line_of(path), str(path[-1])
        close = nearest(word, known)
        inside = f" in [{path[0]}]" if len(path) > 1 else ""
        return ConfigInvalid(
            f"{self.file}:{line}: unknown {kind} {word!r}{inside}",
            hint=f"did you mean {close!r}?" if close else "`kebab config show` lists every key",
            details={
                "file": str(self.file),
                "line": line,
                "key": _dotted(path),
                "nearest": close,
            },
        )

    def _line_of(self, path: KeyPath) -> int:
        """Find the statement that first makes *path* exist.

        ``tomllib`` does not say where things stand. A prefix of the text that parses
        ends between two statements, so the first such prefix that has the key ends
        with its statement. Runs only when there is something to complain about.
        """
        lines = self.text.split("\n")
        whole = 0
        for count in range(1, len(lines) + 1):
            try:
                tables = tomllib.loads("\n".join(lines[:count]) + "\n")
            except tomllib.TOMLDecodeError:
                continue
            if _exists(tables, path):
                return whole + 1
            whole = count
        return 1

    def _tables(self) -> dict[str, Any]:
        return tomllib.loads(self.text)


def wrong_variable(name: str, text: str, complaint: str) -> ConfigInvalid:
    """Return the error for an environment variable that "is not …"."""
    return ConfigInvalid(f"{name}={text!r} {complaint}", details={"variable": name, "value": text})


def wrong_option(key: str, value: object, complaint: str) -> ConfigInvalid:
    """Return the error for a value of the command line that "is not …"."""
    return ConfigInvalid(f"{key} = {value!r} {complaint}", details={"key": key, "value": value})


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that *word* is most likely meant to be."""
    from difflib import get_close_matches  # only a mistake needs it

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def _exists(tables: object, path: KeyPath) -> bool:
    missing = object()
    return _at(tables, path, missing) is not missing


def _at(node: Any, path: KeyPath, default: object = None) -> Any:  # noqa: ANN401 - any TOML value
    for step in path:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return default
    return node


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _shown(path: KeyPath) -> str:
    if path[0] == "sources" and len(path) > 1:
        return " ".join([f"[[sources]] {int(path[1]) + 1}", *map(str, path[2:])])
    return f"[{path[0]}] {_dotted(path[1:])}" if len(path) > 1 else str(path[0])


def _line_in(message: str, default: int) -> int:
    _, found, rest = message.partition("(at line ")
    digits = rest.partition(",")[0]
    return int(digits) if found and digits.isdigit() else default
