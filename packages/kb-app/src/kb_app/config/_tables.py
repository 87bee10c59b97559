"""Edits of a TOML file: keys put into a table, a table taken away.

Comments and layout stay. The result is read back and has to hold the old values and what
was asked for, nothing else; where that cannot be done, the file is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["TomlError", "drop_table", "edited", "put_table"]

_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")
_HIDDEN_COMMENT = re.compile(r"#.*\n")
_REFUSED = "the table cannot be changed without touching others"


class TomlError(ValueError):
    """The text is not TOML, or the table cannot be changed alone."""


def edited(text: str) -> TOMLDocument:
    """Return *text* as a document that remembers comments and layout."""
    import tomlkit  # milliseconds that only an edit needs

    return tomlkit.parse(text)


def put_table(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return *text* with *values* (texts, lists and tables of texts) in the table at *path*."""
    old = _read(text)
    held = _descend(old, path)
    wanted = {name: value for name, value in values.items() if (held or {}).get(name) != value}
    if not wanted:
        return text
    expected = _merged(old, path, values)
    with suppress(TomlError):
        return _checked(_appended(text, path, wanted), expected)
    return _checked(_changed(text, path, wanted), expected)


def drop_table(text: str, path: Sequence[str]) -> str:
    """Return *text* without the table at *path*, and without what held that alone."""
    old = _read(text)
    if _descend(old, path) is None:
        return text
    document = edited(text)
    _drop(document, path)
    _drop(old, path)
    return _checked(document.as_string(), old)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = _PLACE.search(str(error))
        raise TomlError(f"{place[1] if place else 'it'} is not TOML") from error


def _checked(text: str, expected: Mapping[str, Any]) -> str:
    with suppress(TomlError):  # what came out is no fault of the file's
        if _read(text) == expected:
            return text
    raise TomlError(_REFUSED)


def _descend(data: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - a TOML value
    for at, key in enumerate((*path, None)):
        if not isinstance(data, MutableMapping):
            raise TomlError(f"{'.'.join(path[:at])} is not a table")
        if key is None or key not in data:
            return data if key is None else None
        data = data[key]
    return None


def _merged(old: Mapping[str, Any], path: Sequence[str], values: Mapping[str, object]) -> Any:  # noqa: ANN401
    if not path:
        return {**old, **values}
    return {**old, path[0]: _merged(old.get(path[0], {}), path[1:], values)}


def _appended(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    """Put the table behind everything else, where it touches no other, if it has no header yet."""
    import tomlkit

    newline = "\r\n" if "\r\n" in text else "\n"
    lead = "" if not text else newline if text.endswith("\n") else newline * 2
    made: dict[str, Any] = dict(values)
    for key in reversed(path):
        made = {key: made}
    return text + lead + tomlkit.dumps(made).replace("\n", newline)


def _changed(text: str, path: Sequence[str], values: Mapping[str, object]) -> str:
    document = edited(text)
    table = _descend(document, path)
    if table is None:
        raise TomlError(_REFUSED)
    for name, value in values.items():
        if name in table and _HIDDEN_COMMENT.search(table[name].as_string()):
            raise TomlError("a value that would be replaced has comments inside")
        table[name] = value
    return document.as_string()


def _drop(data: MutableMapping[str, Any], path: Sequence[str]) -> None:
    if path[1:]:
        _drop(data[path[0]], path[1:])
    if not path[1:] or not data[path[0]]:
        del data[path[0]]
