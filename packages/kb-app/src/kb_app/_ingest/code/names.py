"""What a unit is called: its own name, out of a node of any grammar.

Most grammars put it into the field ``name``. The others are here: declarators of C, what an
``impl`` or a receiver belongs to, constants that hold a function, selectors of CSS. A name
is one line, and its parts are joined by dots whatever the language writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["constant_kind", "name_of"]

_LONGEST = 120
_LONG_LINES = 4
_SPACE = re.compile(r"\s+")
_GENERIC = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_FUNCTIONS = frozenset({
    "arrow_function", "function_expression", "function", "generator_function", "class",
    "anonymous_function", "lambda_literal",
})  # fmt: skip
_DECLARATORS = frozenset({
    "identifier", "field_identifier", "qualified_identifier", "destructor_name",
    "operator_name", "type_identifier", "operator_cast",
})  # fmt: skip


def name_of(node: Node) -> str:
    """Return the name of the unit *node*; empty if it has none."""
    finder = _FINDERS.get(node.type, _by_field)
    return _clean(finder(node))


def constant_kind(node: Node) -> str | None:
    """Return what a constant's declaration counts as, ``None`` if as nothing."""
    value = _value(node)
    if value is not None and value.type in _FUNCTIONS:
        return "class" if value.type == "class" else "function"
    if node.end_point.row - node.start_point.row + 1 < _LONG_LINES:
        return None
    # A statement with an effect is no constant, an assignment is.
    return None if node.type == "expression_statement" and value is None else "const"


def _clean(name: str) -> str:
    name = _SPACE.sub(" ", name).strip().replace("::", ".").replace("\\", ".")
    return name[:_LONGEST].strip(". \"'")


def _text(node: Node | None) -> str:
    if node is None or node.text is None:
        return ""
    return node.text[: _LONGEST * 4].decode("utf-8", "replace")


def _by_field(node: Node) -> str:
    return _text(node.child_by_field_name("name"))


def _declarator(node: Node) -> str:
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type not in _DECLARATORS:
        inner = inner.child_by_field_name("declarator") or next(
            (child for child in inner.children if child.type in _DECLARATORS), None
        )
    return _text(inner)


def _impl(node: Node) -> str:
    return _ungeneric(_text(node.child_by_field_name("type")))


def _ungeneric(name: str) -> str:
    before = None
    while before != name:
        before, name = name, _GENERIC.sub("", name)
    return name


def _method(node: Node) -> str:
    """Return the name of a method; of one with a receiver (Go), after that's type."""
    receiver = _ungeneric(_text(node.child_by_field_name("receiver")))
    owner = receiver.strip("() ").split(" ")[-1].lstrip("*")
    return f"{owner}.{_by_field(node)}" if owner else _by_field(node)


def _first_spec(node: Node) -> str:
    for child in node.children:
        if child.type.endswith(("_spec", "_alias")):
            return _by_field(child)
        if child.type.endswith("_spec_list"):
            return _first_spec(child)
    return ""


def _value(node: Node) -> Node | None:
    """Return what the first declarator or the assignment of *node* sets its name to."""
    if (direct := node.child_by_field_name("value")) is not None:
        return direct
    for child in node.children:
        if child.type == "variable_declarator":
            return child.child_by_field_name("value")
        if child.type == "assignment_expression":
            return child.child_by_field_name("right")
    return None


def _constant(node: Node) -> str:
    for field in ("name", "property", "pattern"):
        if (named := node.child_by_field_name(field)) is not None:
            return _text(named)
    for child in node.children:
        if child.type == "variable_declarator":
            return _by_field(child)
        if child.type == "assignment_expression":
            return _text(child.child_by_field_name("left"))
        if child.type == "variable_declaration":
            return _text(next((part for part in child.children if part.is_named), None))
    return ""


def _child(kind: str, otherwise: str = "") -> Callable[[Node], str]:
    def find(node: Node) -> str:
        found = next((child for child in node.children if child.type == kind), None)
        return _text(found) or otherwise

    return find


def _own(word: str) -> Callable[[Node], str]:
    def find(node: Node) -> str:
        return _by_field(node) or word

    return find


def _head(node: Node) -> str:
    """Return what stands before the block of an at-rule."""
    return _text(node).partition("{")[0]


_FINDERS: dict[str, Callable[[Node], str]] = {
    "at_rule": _head,
    "companion_object": _own("Companion"),
    "const_declaration": _first_spec,
    "deinit_declaration": _own("deinit"),
    "expression_statement": _constant,
    "extension_definition": _own("extension"),
    "field_definition": _constant,
    "function_definition": lambda node: _by_field(node) or _declarator(node),
    "impl_item": _impl,
    "indexer_declaration": _own("this"),
    "init_declaration": _own("init"),
    "keyframes_statement": _child("keyframes_name"),
    "lexical_declaration": _constant,
    "media_statement": _head,
    "method_declaration": _method,
    "property_declaration": _constant,
    "public_field_definition": _constant,
    "rule_set": _child("selectors"),
    "secondary_constructor": _own("constructor"),
    "singleton_class": _own("self"),
    "subscript_declaration": _own("subscript"),
    "supports_statement": _head,
    "type_alias": lambda node: _text(node.child_by_field_name("type")) or _by_field(node),
    "type_alias_statement": lambda node: _text(node.child_by_field_name("left")),
    "type_declaration": _first_spec,
    "type_definition": lambda node: _by_field(node) or _declarator(node),
    "val_definition": _constant,
    "var_declaration": _first_spec,
    "variable_declaration": _constant,
}
