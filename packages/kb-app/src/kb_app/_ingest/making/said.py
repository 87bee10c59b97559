"""Units that are calls: tests called by a sentence, suites, tasks, tables of a schema.

``it("keeps what it is given", …)`` defines something as a function does, in the words of who
wrote it. Which calls do is told by what they call, and by their first argument being a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kb_core.values import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Said", "said_of"]

_LONGEST = 120


class Said(NamedTuple):
    """What a call defines."""

    kind: str
    name: str
    members: Node | None = None
    """What holds units of their own, of a suite."""


_SUITES = frozenset(
    {"describe", "context", "suite", "feature", "module", "group", "fdescribe", "xdescribe"}
    | {"shared_examples", "shared_examples_for", "shared_context"}
)
_TESTS = frozenset(
    {"it", "test", "specify", "example", "scenario", "property", "should", "bench"}
    | {"fit", "xit", "xtest"}
)
_OF_TESTS = frozenset({"QUnit", "Deno", "RSpec"})
"""What the functions of a framework are members of."""
_TASKS = {"task": "task", "namespace": "namespace", "create_table": "table", "factory": "factory"}
"""Calls of Ruby that define what their first argument names."""
_CALLS = frozenset({"call_expression", "call"})
_TEXTS = frozenset({"string", "template_string", "string_literal"})
_NAMES = frozenset({"simple_symbol", "constant", "scope_resolution", "identifier", "pair"})
_BLOCKS = ("do_block", "block")
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_SPACE = lazy_pattern(r"\s+")


def said_of(node: Node) -> Said | None:
    """Return what the statement or call *node* defines by a text or a name, if it does.

    One on a single line defines nothing that has to be found by itself.
    """
    if node.start_point.row == node.end_point.row:
        return None
    read = _READERS.get(node.type)
    return read(node) if read is not None else None


def _of_statement(node: Node) -> Said | None:
    call = next(iter(node.named_children), None)
    return _of_call(call) if call is not None and call.type in _CALLS else None


def _of_call(call: Node) -> Said | None:
    called = _called(call)
    arguments = _arguments(call) if called is not None else []
    if not arguments or called is None:
        return None
    if called in _TASKS:
        named = _symbol(arguments[0])
        members = _block(call) if called == "namespace" else None
        return Said(_TASKS[called], named, members) if named and _block(call) else None
    is_suite = called in _SUITES
    named = _sentence(arguments, is_suite=is_suite)
    body = _body(call, arguments)
    return Said("test", named, body if is_suite else None) if named and body is not None else None


def _of_shell(node: Node) -> Said | None:
    """Read ``test_expect_success [PREREQUISITES] 'what it does' 'script'``."""
    name = _text(node.child_by_field_name("name"))
    if not name.startswith("test_expect_"):
        return None
    *_, title, _ = ["", "", *map(_text, node.children_by_field_name("argument"))]
    return Said("test", _cleaned(title)) if title else None


def _of_assignment(node: Node) -> Said | None:
    """Read ``Row = Struct.new(:id) do … end``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type != "constant" or right is None or right.type != "call":
        return None
    block = _block(right)
    return Said("class", _text(left), block) if block is not None else None


def _called(call: Node) -> str | None:
    """Return the function of tests or tasks that is called; ``it`` of ``it.only.each(…)(…)``."""
    if (method := call.child_by_field_name("method")) is not None:  # Ruby
        receiver = _text(call.child_by_field_name("receiver"))
        name = _text(method)
        is_known = name in _SUITES or name in _TESTS or name in _TASKS
        return name if is_known and (not receiver or receiver in _OF_TESTS) else None
    function = call.child_by_field_name("function")
    while function is not None and function.type in {"member_expression", "call_expression"}:
        if function.type == "member_expression":
            owner = function.child_by_field_name("object")
            if owner is not None and owner.type == "identifier" and _text(owner) in _OF_TESTS:
                function = function.child_by_field_name("property")
                break
            function = owner
        else:
            function = function.child_by_field_name("function")
    is_name = function is not None and function.type.endswith("identifier")
    name = _text(function) if is_name else ""
    return name if name in _SUITES or name in _TESTS else None


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    if arguments is not None and arguments.type == "block":  # of Scala: test("…") { … }
        function = call.child_by_field_name("function")
        arguments = function.child_by_field_name("arguments") if function is not None else None
    return arguments.named_children if arguments is not None else []


def _sentence(arguments: Iterable[Node], *, is_suite: bool) -> str:
    """Return the text that comes first; of a suite, the name, too, of what it is about."""
    said = []
    for argument in arguments:
        if argument.type in _TEXTS:
            said.append(_cleaned(_text(argument)))
            break
        if not is_suite or argument.type not in _NAMES or said:
            break
        said.append(_cleaned(_text(argument)))
    return " ".join(said)


def _symbol(argument: Node) -> str:
    """Return the name of a task: ``:load``, ``"load"``, or ``load: :environment``."""
    if argument.type == "pair":
        key = argument.child_by_field_name("key")
        return _symbol(key) if key is not None else ""
    is_name = argument.type in _TEXTS or argument.type in {"simple_symbol", "hash_key_symbol"}
    return _cleaned(_text(argument)).lstrip(":") if is_name else ""


def _block(call: Node) -> Node | None:
    return call.child_by_field_name("block")


def _body(call: Node, arguments: list[Node]) -> Node | None:
    """Return the body of what a call is given to do, if it is given anything."""
    if (block := _block(call)) is not None:
        return block
    given = call.child_by_field_name("arguments")
    if given is not None and given.type == "block":
        return given
    function = next((each for each in reversed(arguments) if each.type in _FUNCTIONS), None)
    return function.child_by_field_name("body") if function is not None else None


def _cleaned(text: str) -> str:
    return _SPACE.sub(" ", text).strip(" \"'`")[:_LONGEST]


def _text(node: Node | None) -> str:
    text = node.text if node is not None else None
    return text[: _LONGEST * 4].decode("utf-8", "replace") if text is not None else ""


_READERS: dict[str, Callable[[Node], Said | None]] = {
    "assignment": _of_assignment,
    "call": _of_call,
    "call_expression": _of_call,
    "command": _of_shell,
    "expression_statement": _of_statement,
}
