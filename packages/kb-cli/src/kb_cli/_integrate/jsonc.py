"""JSON with comments, as people keep their settings: read it, set one value, take one out.

``put`` and ``drop`` change nothing else: comments, order, indentation, trailing commas
stay. They read their own result back, and refuse to give one that holds anything but what
was there and what was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["JsoncError", "drop", "put", "read"]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|(?:/\*(?:[^*\n]|\*(?!/))*\*/[ \t]*)*)(?=\r?\n)")


class JsoncError(ValueError):
    """The text is not JSON, or not of the expected shape; says where."""


@dataclass(slots=True)
class _Node:
    """A value and where it stands; of an object, its members as well."""

    value: Any
    start: int
    end: int
    members: dict[str, _Node] = field(default_factory=dict)
    comma: int | None = None
    """Where the comma after it is, if there is one."""
    key_start: int = 0
    """Of a member: where its key begins."""


def read(text: str) -> Any:  # noqa: ANN401 - a JSON value
    """Return what *text* holds; nothing at all is an empty object."""
    return _parse(text).value


def put(text: str, path: Sequence[str], value: object) -> str:
    """Return *text* with *value* at *path*; objects on the way there are made."""
    if _skip(text, 0) == len(text):
        lead = f"{text.rstrip()}\n" if text.strip() else ""
        text = f"{lead}{{}}\n"
    root = _parse(text)
    edited = _edit(text, root, path, value)
    if read(edited) != _merged(root.value, path, value):
        raise JsoncError("the value cannot be put in without touching others")
    return edited


def drop(text: str, path: Sequence[str]) -> str:
    """Return *text* without the member at *path*; its line goes with it."""
    root = _parse(text)
    holder = root
    for key in path[:-1]:
        if key not in holder.members:
            return text
        holder = holder.members[key]
    if path[-1] not in holder.members:
        return text
    dropped = _cut(text, holder, path[-1])
    if read(dropped) != _without(root.value, path):
        raise JsoncError("the value cannot be taken out without touching others")
    return dropped


def _without(old: Any, path: Sequence[str]) -> Any:  # noqa: ANN401
    if path[1:]:
        return {**old, path[0]: _without(old[path[0]], path[1:])}
    return {key: value for key, value in old.items() if key != path[0]}


def _cut(text: str, holder: _Node, key: str) -> str:
    members = list(holder.members.values())
    member = holder.members[key]
    at = members.index(member)
    start, end = member.key_start, member.end if member.comma is None else member.comma + 1
    line = text.rfind("\n", 0, start) + 1
    rest = _REST_OF_LINE.match(text, end)
    if rest is not None and not text[line:start].strip():
        start, end = line, text.index("\n", rest.end()) + 1
    elif at + 1 < len(members):
        end = members[at + 1].key_start
    before = text[:start]
    if at and at + 1 == len(members) and member.comma is None:
        comma = members[at - 1].comma
        assert comma is not None, "between two members there is a comma"  # noqa: S101
        before = text[:comma] + text[comma + 1 : start]
    return before + text[end:]


def _merged(old: Any, path: Sequence[str], value: object) -> Any:  # noqa: ANN401
    if not path:
        return value
    inner = old.get(path[0], {} if path[1:] else None)
    return {**old, path[0]: _merged(inner, path[1:], value)}


def _edit(text: str, root: _Node, path: Sequence[str], value: object) -> str:
    node, keys = root, list(path)
    while keys:
        if not isinstance(node.value, dict):
            raise JsoncError(f"what should hold {keys[0]!r} is not an object")
        if keys[0] not in node.members:
            break
        node = node.members[keys.pop(0)]
    if not keys:
        _refuse_comments(text[node.start : node.end])
        return text[: node.start] + _dump(text, value, node.start) + text[node.end :]
    for key in reversed(keys[1:]):
        value = {key: value}
    return _insert(text, node, keys[0], value)


def _insert(text: str, node: _Node, key: str, value: object) -> str:
    """Put a member at the end of an object, in the manner of its others."""
    newline = _newline(text)
    outer = _indent(text, node.start)
    members = list(node.members.values())
    inner = _indent(text, members[-1].start) if members else outer
    if inner == outer:
        inner = outer + ("\t" if "\n\t" in text else "  ")
    member = f"{newline}{inner}{json.dumps(key)}: {_lines(value, inner, newline)}"
    end, comma, rest = node.start + 1, "", ""
    if members:
        last = members[-1]
        end = last.end if last.comma is None else last.comma + 1
        comma, rest = ("," if last.comma is None else ""), ("," if last.comma is not None else "")
    # A comment behind the last member, or behind the brace, stays on its line.
    match = _REST_OF_LINE.match(text, end)
    line_end = match.end() if match else end
    closing = "" if "\n" in text[line_end : node.end] else newline + outer
    return text[:end] + comma + text[end:line_end] + member + rest + closing + text[line_end:]


def _refuse_comments(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise JsoncError("a value that would be replaced has comments inside") from error


def _dump(text: str, value: object, at: int) -> str:
    return _lines(value, _indent(text, at), _newline(text))


def _lines(value: object, indent: str, newline: str) -> str:
    unit = "\t" if indent.startswith("\t") else 2
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{newline}{indent}".join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, position: int) -> str:
    """Return the white space at the beginning of the line that *position* is on."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _parse(text: str) -> _Node:
    start = _skip(text, 0)
    if start == len(text):
        return _Node({}, start, start)
    try:
        node = _value(text, start)
    except RecursionError as error:
        raise JsoncError("it is nested too deeply") from error
    end = _skip(text, node.end)
    if end != len(text):
        raise _error(text, end)
    return node


def _value(text: str, at: int) -> _Node:
    if text.startswith("{", at):
        return _object(text, at)
    if text.startswith("[", at):
        return _array(text, at)
    match = _STRING.match(text, at) or _SCALAR.match(text, at)
    if match is None:
        raise _error(text, at)
    try:
        return _Node(json.loads(match[0]), at, match.end())
    except ValueError as error:
        raise _error(text, at) from error


def _object(text: str, start: int) -> _Node:
    members: dict[str, _Node] = {}
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        match = _STRING.match(text, at)
        colon = _skip(text, match.end()) if match else at
        if match is None or not text.startswith(":", colon):
            raise _error(text, at)
        member = _value(text, _skip(text, colon + 1))
        member.key_start = at
        at = _separator(text, member, "}")
        members[json.loads(match[0])] = member
    return _Node({key: node.value for key, node in members.items()}, start, at + 1, members)


def _array(text: str, start: int) -> _Node:
    items: list[Any] = []
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        item = _value(text, at)
        at = _separator(text, item, "]")
        items.append(item.value)
    return _Node(items, start, at + 1)


def _separator(text: str, node: _Node, closing: str) -> int:
    """Return where the next value or *closing* is; remember the comma behind *node*."""
    at = _skip(text, node.end)
    if text.startswith(",", at):
        node.comma = at
        return _skip(text, at + 1)
    if not text.startswith(closing, at):
        raise _error(text, at)
    return at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _error(text: str, at: int) -> JsoncError:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return JsoncError(f"line {line}, column {column} is not JSON")
