"""Units of code: functions, methods, heads of classes, out of a syntax tree.

Only top levels are walked: a function is one unit whatever is defined within it. The
comments, decorators and attributes right before a unit belong to it. Rows are all that is
taken from a tree, so units are whole lines, and offsets of bytes never matter.

A unit is called what it calls itself. Most grammars put that into the field ``name``. The
others are here: declarators of C, what an ``impl`` or a receiver belongs to, constants that
hold a function, selectors of CSS, targets of Bazel; what a test, a task or a table is said to
be is in ``kb_app._ingest.making.said``. A name is one line, and its parts are joined by dots
whatever the language writes.

What wraps most of a file is looked through: the function that a module of JavaScript is, and
objects whose members are functions. What such a function keeps for itself is no unit, unless
it is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING

from kb_app._ingest.making.blocks import Region
from kb_app._ingest.making.said import said_of
from kb_core.values import dataclass, lazy_pattern, replace

if TYPE_CHECKING:
    from tree_sitter import Node

    from kb_app._ingest.making.grammars import Language

__all__ = ["find_units"]

_DEEPEST = 40
"""How many levels of namespaces, classes and blocks are looked into."""

_GROUPS = frozenset({"const_declaration", "type_declaration", "var_declaration"})
"""Declarations of Go, of one thing or of several in brackets: the first of these has the line that
opens the bracket, and what is said of all."""
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
    level: int = 0
    """In how many units, some of which may have no name."""
    depth: int = 0
    head: int = -1
    """The row on which the unit around starts; what starts there, too, is part of it."""
    in_function: bool = False
    """Whether a function that wraps units is around."""


def _walk(nodes: Sequence[Node], place: _Place, around: _Lead | None = None) -> Iterator[Region]:
    """Yield the units of *nodes*; comments *around* belong to what comes first."""
    language = place.language
    lead = _Lead() if around is None else around
    bodies = _bodies_of_macros(nodes) if "declaration" in language.constants else {}
    for node in nodes:
        first, last = node.start_point.row, _last_row(node)
        if node.type in language.leading:
            lead.add(first, last)
            continue
        found = _unit_of(node, language)
        if (body := bodies.get(node.id)) is not None:
            found, last = (node, "function"), _last_row(body)
        if found is not None and place.in_function and found[1] == "const" and not _is_long(node):
            found = None
        if found is not None and first > place.head:
            yield from _unit(found, lead.before(first), last, place)
        elif found is None and _is_looked_through(node, language):
            if node.type in _GROUPS:
                lead.add(first, first)
            yield from _deeper(node, place, lead)
        lead.end(last)


def _unit(found: tuple[Node, str], first: int, last: int, place: _Place) -> Iterator[Region]:
    node, kind = found
    name = _name_of(node)
    path = (*place.path, name) if name else place.path
    level = place.level + 1
    symbol = ".".join(path)[: 2 * _LONGEST] or None
    yield Region(first, last + 1, "unit", level, symbol, kind, next(place.numbers))
    if (holder := _holder(node, kind, place.language)) is not None:
        inner = replace(place, path=path, level=level, head=node.start_point.row)
        if kind in place.language.closures:
            inner = replace(inner, in_function=True)
        yield from _deeper(holder, inner)


def _holder(node: Node, kind: str, language: Language) -> Node | None:
    """Return what holds the members of the unit *node*, if they are units of their own."""
    if node.type in language.holders:
        return node
    if kind in language.closures and _is_long(node, _LONG_FUNCTION):
        return node
    if node.type not in language.constants:
        return None
    if (said := said_of(node)) is not None:
        return said.members
    if kind == "class":
        return _value(node)
    return node if kind == "const" and language.opened and _is_long(node) else None


def _deeper(node: Node, place: _Place, around: _Lead | None = None) -> Iterator[Region]:
    if place.depth < _DEEPEST:
        in_function = place.in_function or node.type in _FUNCTIONS
        inner = replace(place, depth=place.depth + 1, in_function=in_function)
        yield from _walk(node.named_children, inner, around)


_LONG_WRAPPER = 30
"""From so many rows on, what wraps units is looked through."""
_LONG_FUNCTION = 100
"""From so many rows on, functions within a function are units: no passage holds all of it."""


def _is_looked_through(node: Node, language: Language) -> bool:
    kind = node.type
    if kind in language.inside:  # a call of Ruby has a block, or is ``private def name``
        return kind != "call" or node.start_point.row < node.end_point.row
    return kind == "ERROR" or (kind in language.opened and _is_long(node))


def _is_long(node: Node, rows: int = _LONG_WRAPPER) -> bool:
    return node.end_point.row - node.start_point.row >= rows


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
    """Return the last row that has something of a node.

    What ends where something is less set in (Scala without braces) reaches up to that.
    """
    (first, margin), (row, column) = node.start_point, node.end_point
    if column == 0 and row > first:
        return row - 1
    if 0 < column <= margin and row > first:
        return first + (node.text or b"").rstrip().count(b"\n")
    return row


def _unit_of(node: Node, language: Language) -> tuple[Node, str] | None:
    """Return the unit that *node* is or wraps, and what kind of one."""
    kind = node.type
    if kind in language.units:
        is_plain = kind != "type_definition" and not kind.endswith(_NEED_A_BODY)
        return (node, language.units[kind]) if is_plain or _is_defined(node) else None
    if kind in language.constants:
        constant = _constant_kind(node)
        return (node, constant) if constant else None
    if kind in language.wrappers:
        found = (_unit_of(child, language) for child in node.named_children)
        return next(filter(None, found), None)
    return None


def _is_defined(node: Node) -> bool:
    """Say whether a unit is more than the name of what is defined elsewhere."""
    if node.type == "type_definition":
        return not _only_declares(node)
    return node.child_by_field_name("body") is not None


_LONGEST = 120
_LONG_LINES = 4
_SPACE = lazy_pattern(r"\s+")
_REQUIRES = lazy_pattern(r"(?:await\s+)?(?:require|import)\s*\([^()]*\)(?:\s*\.\s*[\w$]+)*")
_GENERIC = lazy_pattern(r"<[^<>]*>|\[[^\[\]]*\]")
_FUNCTIONS = frozenset({
    "arrow_function", "function_expression", "function", "generator_function", "class",
    "anonymous_function", "lambda_literal",
})  # fmt: skip
_ONLY_SAY = frozenset({"assignment", "call", "call_expression", "command"})
"""Constants that are units where they say what they are, and else are not."""
_AROUND_NAMES = frozenset({"function_declarator", "parenthesized_declarator", "pointer_declarator"})
_DECLARATORS = frozenset({
    "identifier", "field_identifier", "qualified_identifier", "destructor_name",
    "operator_name", "type_identifier", "operator_cast",
})  # fmt: skip


def _name_of(node: Node) -> str:
    """Return the name of the unit *node*; empty if it has none."""
    finder = _FINDERS.get(node.type, _by_field)
    return _clean(finder(node))


def _constant_kind(node: Node) -> str | None:
    """Return what a constant's declaration counts as, ``None`` if as nothing."""
    if _target(node):
        return "target"
    said = said_of(node)
    if said is not None or node.type in _ONLY_SAY:
        return said.kind if said is not None else None
    value = _value(node)
    if value is not None and value.type in _FUNCTIONS:
        return "class" if value.type == "class" else "function"
    if _takes(node):
        return None
    if node.end_point.row - node.start_point.row + 1 < _LONG_LINES:
        return None
    return "const" if _is_constant(node.type, value) else None


def _takes(node: Node) -> bool:
    """Say whether a statement only gives names what other files define."""
    declared = [child for child in node.named_children if child.type == "variable_declarator"]
    values = [child.child_by_field_name("value") for child in declared]
    return bool(values) and all(
        value is not None and _REQUIRES.fullmatch(_text(value)) for value in values
    )


def _is_constant(kind: str, value: Node | None) -> bool:
    """Say whether a statement gives a name a value; one with an effect does not."""
    if kind == "declaration":
        return value is not None and value.type == "initializer_list"
    return kind != "pair" and (kind != "expression_statement" or value is not None)


def _clean(name: str) -> str:
    name = _SPACE.sub(" ", name).strip().replace("::", ".").replace("\\", ".")
    return name[:_LONGEST].strip(". \"'")


def _text(node: Node | None) -> str:
    text = node.text if node is not None else None  # a copy, each time that it is asked for
    return text[: _LONGEST * 4].decode("utf-8", "replace") if text is not None else ""


def _by_field(node: Node) -> str:
    return _text(node.child_by_field_name("name"))


def _declarator(node: Node) -> str:
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type not in _DECLARATORS:
        # What returns a reference, ``T& f()``, holds its declarator without saying so.
        inner = inner.child_by_field_name("declarator") or next(
            (child for child in inner.children if _declares(child.type)), None
        )
    return _text(inner)


def _declares(kind: str) -> bool:
    return kind in _DECLARATORS or kind in _AROUND_NAMES


_OF_TESTS = lazy_pattern(r"(?:TYPED_)?TEST(?:_[FP])?")


def _function(node: Node) -> str:
    """Return the name of a function; ``TEST(Suite, Name)`` of GoogleTest is ``Suite.Name``."""
    name = _by_field(node) or _declarator(node)
    declarator = node.child_by_field_name("declarator")
    if called := _after_macro(declarator):
        return called
    if not _OF_TESTS.fullmatch(name):
        return name
    said = _text(declarator.child_by_field_name("parameters") if declarator else None)
    return ".".join(part.strip() for part in said.strip("()").split(",")) or name


def _after_macro(declarator: Node | None) -> str:
    """Return the name that stands after a macro, ``void noreturn() name(void) {``, if one does."""
    last = declarator.named_children[-1:] if declarator is not None else []
    if not last or last[0].type != "call_expression" or declarator is None:
        return ""
    if _text(declarator.child_by_field_name("parameters")) != "()":
        return ""
    return _text(last[0].child_by_field_name("function"))


_MACRO = lazy_pattern(r"[A-Z][A-Z0-9_]{2,}")


def _bodies_of_macros(nodes: Iterable[Node]) -> dict[int, Node]:
    """Return the bodies that follow ``DEFUN (…)``, by the calls: functions by macros of C."""
    pairs = pairwise(node for node in nodes if node.type != "comment")
    return {
        call.id: body
        for call, body in pairs
        if body.type == "compound_statement" and _macro_call(call) is not None
    }


def _macro_call(node: Node) -> Node | None:
    """Return the call of a macro that a statement is, ``DEFUN (name)`` of ``DEFUN (name) (x)``."""
    call = next(iter(node.named_children), None) if node.type == "expression_statement" else None
    function = call
    while function is not None and function.type == "call_expression":
        call, function = function, function.child_by_field_name("function")
    if call is None or function is None or function.type != "identifier":
        return None
    return call if call != function and _MACRO.fullmatch(_text(function)) else None


def _defined_by_macro(node: Node) -> str:
    """Return the first name that a macro is given by which a function is defined."""
    call = _macro_call(node)
    arguments = call.child_by_field_name("arguments") if call is not None else None
    names = arguments.named_children if arguments is not None else []
    return _text(next((child for child in names if child.type == "identifier"), None))


def _only_declares(node: Node) -> bool:
    """Say whether a ``typedef`` of C gives a struct its own name, which is defined elsewhere."""
    named = node.child_by_field_name("type")
    if named is None or not named.type.endswith("_specifier"):
        return False
    return named.child_by_field_name("body") is None and _by_field(named) == _declarator(node)


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


def _given(node: Node) -> str:
    """Return what a line of Go declares, with commas between several names.

    That is nothing of ``var _ io.Writer = …``, which only checks.
    """
    names = [_text(one) for one in node.children_by_field_name("name") if one.is_named]
    return ", ".join(name for name in names if name != "_")


def _value(node: Node) -> Node | None:
    """Return what the first declarator or the assignment of *node* sets its name to."""
    if (direct := node.child_by_field_name("value")) is not None:
        return direct
    for child in node.children:
        if child.type in {"variable_declarator", "init_declarator"}:
            return child.child_by_field_name("value")
        if child.type == "assignment_expression":
            return child.child_by_field_name("right")
    return None


def _constant(node: Node) -> str:
    for field in ("name", "property", "pattern", "key"):
        if (named := node.child_by_field_name(field)) is not None:
            return _text(named)
    for child in node.children:
        if child.type == "variable_declarator":
            return _text(_single(child.child_by_field_name("name")))
        if child.type == "assignment_expression":
            name = _text(_single(child.child_by_field_name("left")))
            return (_own_name(child) if name in _EXPORTS else "") or name
        if child.type == "variable_declaration":
            return _text(next((part for part in child.children if part.is_named), None))
    return ""


_EXPORTS = frozenset({"exports", "module.exports"})


def _own_name(assignment: Node) -> str:
    """Return what a class or function calls itself that is all that a module of Node gives."""
    value = assignment.child_by_field_name("right")
    return _by_field(value) if value is not None and value.type in _FUNCTIONS else ""


def _single(named: Node | None) -> Node | None:
    """Return what is given a value, where that is one name and no pattern of several."""
    return None if named is None or named.type.endswith("_pattern") else named


def _target(node: Node) -> str:
    """Return the ``name`` that a statement gives in a call, as rules of Bazel do, if it does."""
    if node.type != "expression_statement":
        return ""
    call = next(iter(node.named_children), None)
    if call is None or call.type != "call":
        return ""
    arguments = call.child_by_field_name("arguments")
    for child in arguments.named_children if arguments else ():
        if child.type == "keyword_argument" and _by_field(child) == "name":
            return _text(child.child_by_field_name("value")).strip("\"'")
    return ""


def _said(node: Node) -> str:
    said = said_of(node)
    return said.name if said is not None else ""


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
    "deinit_declaration": _own("deinit"),
    "assignment": _said,
    "call": _said,
    "call_expression": _said,
    "command": _said,
    "declaration": _declarator,
    "expression_statement": lambda node: (
        _target(node) or _said(node) or _constant(node) or _defined_by_macro(node)
    ),
    "extension_definition": _own("extension"),
    "field_definition": _constant,
    "function_definition": _function,
    "impl_item": _impl,
    "indexer_declaration": _own("this"),
    "init_declaration": _own("init"),
    "keyframes_statement": _child("keyframes_name"),
    "lexical_declaration": _constant,
    "media_statement": _head,
    "method_declaration": _method,
    "pair": _constant,
    "property_declaration": _constant,
    "public_field_definition": _constant,
    "rule_set": _child("selectors"),
    "secondary_constructor": _own("constructor"),
    "singleton_class": _own("self"),
    "subscript_declaration": _own("subscript"),
    "supports_statement": _head,
    "const_spec": _given,
    "var_spec": _given,
    "type_alias": lambda node: _by_field(node) or _text(node.child_by_field_name("type")),
    "type_alias_statement": lambda node: _text(node.child_by_field_name("left")),
    "type_definition": lambda node: _by_field(node) or _declarator(node),
    "val_definition": _constant,
    "variable_declaration": _constant,
}
