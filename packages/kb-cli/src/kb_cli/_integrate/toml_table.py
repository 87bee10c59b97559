"""One table of a TOML file that people keep by hand: put keys into it, leave the rest alone.

Comments and order stay. The result is read back and has to hold the old values and the
new ones, nothing else; a file in which that cannot be done by lines (an inline table, say)
is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["TomlError", "put_table"]

_HEADER = re.compile(r"\s*\[")
_REFUSED = "the table cannot be changed without touching others"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlError(ValueError):
    """The text is not TOML, or the table cannot be changed by lines."""


def put_table(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return *text* with *values* (texts and lists of texts) in the table at *path*."""
    old = _read(text)
    table, expected = _descend(old, path), _merged(old, path, values)
    wanted = {name: value for name, value in values.items() if (table or {}).get(name) != value}
    if not wanted:
        return text
    for edited in _edits(text, path, wanted, exists=table is not None):
        with suppress(TomlError):
            if _read(edited) == expected:
                return edited
    raise TomlError(_REFUSED)


def _edits(
    text: str, path: Sequence[str], values: Mapping[str, object], *, exists: bool
) -> Iterator[str]:
    """Yield what may be the text: a line that looks like the header may be part of a string."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for header, line in enumerate(lines):
        if exists and _is_header_of(line, path):
            yield _changed(lines, header, values, newline)
    yield _appended(text, path, values, newline)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from error


def _descend(data: Any, path: Sequence[str]) -> dict[str, Any] | None:  # noqa: ANN401
    for key in path:
        if not isinstance(data, dict):
            raise TomlError(f"what should hold {key!r} is not a table")
        if key not in data:
            return None
        data = data[key]
    if not isinstance(data, dict):
        raise TomlError(f"{'.'.join(path)} is not a table")
    return data


def _merged(old: Mapping[str, Any], path: Sequence[str], values: Mapping[str, object]) -> Any:  # noqa: ANN401
    if not path:
        return {**old, **values}
    return {**old, path[0]: _merged(old.get(path[0], {}), path[1:], values)}


def _appended(text: str, path: Sequence[str], values: Mapping[str, object], newline: str) -> str:
    lead = "" if not text else newline if text.endswith("\n") else newline * 2
    head = f"{lead}[{'.'.join(map(_key, path))}]{newline}"
    body = "".join(f"{_key(name)} = {_dump(value)}{newline}" for name, value in values.items())
    return text + head + body


def _changed(old: Sequence[str], header: int, values: Mapping[str, object], newline: str) -> str:
    """Return the lines with keys set below a header."""
    lines = list(old)
    if not lines[header].endswith("\n"):
        lines[header] += newline
    for name, value in reversed(list(values.items())):
        below = range(header + 1, len(lines))
        stop = next((i for i in below if _HEADER.match(lines[i])), len(lines))
        first, last = _lines_of(lines, range(header + 1, stop), name) or (header + 1, header + 1)
        comment = _comment_of("".join(lines[first:last]))
        lines[first:last] = [f"{_key(name)} = {_dump(value)}{comment}{newline}"]
    return "".join(lines)


def _comment_of(assignment: str) -> str:
    """Return the comment behind ``name = value``; refuse one inside the value."""
    code, mark, comment = assignment.partition("#")
    if not mark:
        return ""
    try:
        tomllib.loads(code)
    except tomllib.TOMLDecodeError as error:
        raise TomlError("a value that would be replaced has a # inside") from error
    if "\n" in comment.rstrip():
        raise TomlError("a value that would be replaced has comments inside")
    return f"  #{comment.rstrip()}"


def _is_header_of(line: str, path: Sequence[str]) -> bool:
    if not _HEADER.match(line):
        return False
    try:
        data: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return False
    for key in path:
        if not isinstance(data, dict) or list(data) != [key]:
            return False
        data = data[key]
    return bool(data == {})


def _lines_of(lines: Sequence[str], within: range, name: str) -> tuple[int, int] | None:
    """Return where ``name = …`` begins and ends, over several lines perhaps."""
    begins = re.compile(rf"\s*(?:{re.escape(name)}|\"{re.escape(name)}\")\s*=")
    for first in within:
        if begins.match(lines[first]):
            for last in range(first + 1, within.stop + 1):
                try:
                    tomllib.loads("".join(lines[first:last]))
                except tomllib.TOMLDecodeError:
                    continue
                return first, last
    return None


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _dump(name)


def _dump(value: object) -> str:
    """Return a text or a list of texts: what JSON writes for them is TOML as well."""
    return json.dumps(value, ensure_ascii=False)
