"""Units of code: functions, methods, heads of classes, out of a syntax tree.

Only top levels are walked: a function is one unit whatever is defined within it. The
comments, decorators and attributes right before a unit belong to it. Rows are all that is
taken from a tree, so units are whole lines, and offsets of bytes never matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from kb_app._ingest.code.names import constant_kind, name_of
from kb_app._ingest.structure import Region

if TYPE_CHECKING:
    from tree_sitter import Node

    from kb_app._ingest.code.languages import Language

__all__ = ["find_units"]

_DEEPEST = 40
"""How many levels of namespaces, classes and blocks are looked into."""

_NEED_A_BODY = ("_specifier", "namespace_definition", "mod_item", "_namespace_declaration")


def find_units(root: Node, language: Language) -> Iterator[Region]:
    """Yield the units below *root* as regions, outer before inner, numbered."""
    numbers = count()
    return _walk(root.named_children, _Place(language, numbers))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a tree a walk is: in which unit, how deep, and after which row."""

    language: Language
    numbers: Iterator[int]
    path: tuple[str, ...] = ()
    depth: int = 0
    head: int = -1
    """The row on which the unit around starts; what starts there, too, is part of it."""


def _walk(nodes: Sequence[Node], place: _Place) -> Iterator[Region]:
    language = place.language
    lead = _Lead()
    for node in nodes:
        first, last = node.start_point.row, _last_row(node)
        if node.type in language.leading:
            lead.add(first, last)
            continue
        found = _unit_of(node, language)
        if found is not None and first > place.head:
            yield from _unit(found, lead.before(first), last, place)
        elif found is None and (node.type in language.inside or node.type == "ERROR"):
            yield from _deeper(node, place, place.path, place.head)
        lead.end(last)


def _unit(found: tuple[Node, str], first: int, last: int, place: _Place) -> Iterator[Region]:
    node, kind = found
    name = name_of(node)
    path = (*place.path, name) if name else place.path
    level = len(place.path) + 1
    yield Region(first, last + 1, "unit", level, ".".join(path) or None, kind, next(place.numbers))
    if node.type in place.language.holders:
        yield from _deeper(node, place, path, node.start_point.row)


def _deeper(node: Node, place: _Place, path: tuple[str, ...], head: int) -> Iterator[Region]:
    if place.depth < _DEEPEST:
        below = replace(place, path=path, depth=place.depth + 1, head=head)
        yield from _walk(node.named_children, below)


class _Lead:
    """The comments and attributes that stand right before the next node."""

    __slots__ = ("_end", "_first", "_taken")

    def __init__(self) -> None:
        self._first: int | None = None
        self._end = self._taken = -1

    def add(self, first: int, last: int) -> None:
        if first <= self._taken:
            return  # a remark at the end of a line is about that line
        if self._first is None or first > self._end + 1:
            self._first = first
        self._end = last

    def before(self, row: int) -> int:
        """Return the row at which the unit at *row* starts, what leads to it included."""
        return self._first if self._first is not None and row <= self._end + 1 else row

    def end(self, row: int) -> None:
        """Forget what was collected: a node that ends at *row* has taken it."""
        self._first, self._taken = None, row


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _unit_of(node: Node, language: Language) -> tuple[Node, str] | None:
    """Return the unit that *node* is or wraps, and what kind of one."""
    kind = node.type
    if kind in language.units:
        needs_body = kind.endswith(_NEED_A_BODY)
        if needs_body and node.child_by_field_name("body") is None:
            return None
        return node, language.units[kind]
    if kind in language.constants:
        constant = constant_kind(node)
        return (node, constant) if constant else None
    if kind in language.wrappers:
        for child in node.named_children:
            if (found := _unit_of(child, language)) is not None:
                return found
    return None
