"""C and C++ as a grammar can read them: without what only a preprocessor understands.

What is left out is blank, so that rows stay rows, and columns columns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kb_core.values import lazy_pattern

if TYPE_CHECKING:
    import tree_sitter

__all__ = ["blank", "first_branches", "is_broken", "is_statement", "unannotated"]
__all__ += ["unmacroed"]

_BETWEEN_FUNCTIONS = frozenset(
    ("translation_unit", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")
) | {"linkage_specification", "declaration_list", "namespace_definition"}
_BETWEEN_FUNCTIONS |= {"compilation_unit", "namespace_declaration", "class_declaration"}
"""The last ones are of C#."""
_STATEMENTS = frozenset(("if", "for", "while", "switch"))
"""What a grammar that lost its way takes for functions."""

_MACRO = rb"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_UNREAD_MACROS = (
    # Between the parameters of a function and its body: ``void f() LOCKS_EXCLUDED(mu) {``.
    lazy_pattern(
        rb"(?:\)|\b(?:const|override|final|noexcept))"
        rb"(?P<said>(?:\s+" + _MACRO + rb"[ \t]*\([^(){};]*\)){1,8})"
        rb"(?=\s*(?:\{|:[^:]|override\b|final\b))"
    ),
    # Before the name of a class: ``class CORE_EXPORT Widget : public Object {``.
    lazy_pattern(
        rb"\b(?:class|struct|union)"
        rb"(?P<said>(?:\s+(?:" + _MACRO + rb"|[A-Z]{2,})(?:\([^(){};]*\))?){1,8})"
        rb"(?=\s+[A-Za-z_]\w*(?:\s+final)?\s*[:{])"
    ),
    # What Qt says of members: ``public slots:``, ``signals:``.
    lazy_pattern(rb"\b(?:public|private|protected)(?P<said>[ \t]+(?:slots|Q_SLOTS))(?=[ \t]*:)"),
    lazy_pattern(rb"\n[ \t]*(?P<said>(?:signals|Q_SIGNALS)[ \t]*:)(?=[ \t]*\n)"),
)
"""Macros that the grammar takes for a function or its name, and then the class for a function."""
_LONE_MACRO = lazy_pattern(
    rb"^[ \t]*_{0,2}" + _MACRO + rb"(?:[ \t]?\((?:[^(){};]|\([^(){};]*\))*\))?"
    rb"(?=[ \t]*(?://[^\n]*|/\*[^\n]*)?\n\s*(?!\w*[a-z]\w*\s*\()(?:[A-Za-z_#/}]|\Z))",
    re.MULTILINE,
)
"""A macro on a line of its own, without a semicolon: ``KHASH_SET_INIT_STR(names)``, ``Q_OBJECT``.
What takes it for a call or a type reads on to the next semicolon, however far that is. Before the
name of a function it is a type: ``FT_LOCAL_DEF( FT_Error )``."""
_ENDS = (b";", b"}", b")", b"{", b":", b"*/", b"\\")


_ANNOTATED = lazy_pattern(
    rb"\n(?P<said>(?:[ \t]*@[\w.:]+(?:\([^()\n]*\))?[ \t]*\n?){1,8})"
    rb"(?=[ \t]*(?:public|internal|private|protected)\s+constructor\b)"
)


def unannotated(source: bytes) -> bytes:
    """Return *source* of Kotlin without annotations of constructors that are not public.

    On a line of their own they end the class for the grammar: ``class A``, ``@Inject``, ``internal
    constructor(…) {``.
    """
    return _ANNOTATED.sub(_blanked, source)


def blank(source: bytes) -> bytes:
    """Return as many spaces as *source* has bytes; rows stay rows."""
    return re.sub(rb"[^\n]", b" ", source)


def unmacroed(source: bytes) -> bytes:
    """Return *source* without such macros."""
    for macros in _UNREAD_MACROS:
        source = macros.sub(_blanked, source)
    return _LONE_MACRO.sub(_blanked_if_lone, source)


def _blanked_if_lone(match: re.Match[bytes]) -> bytes:
    """Return what was found as spaces, where nothing before it goes on with it."""
    before = match.string[: match.start()].rstrip()
    above = before[before.rfind(b"\n") + 1 :]
    is_lone = not before or above.lstrip().startswith((b"#", b"//")) or before.endswith(_ENDS)
    return blank(match[0]) if is_lone else match[0]


def _blanked(match: re.Match[bytes]) -> bytes:
    """Return what was found with spaces for the macros."""
    (start, end), first = match.span("said"), match.start()
    return match[0][: start - first] + blank(match["said"]) + match[0][end - first :]


_OF_C = lazy_pattern(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    rb"|^[ \t]*extern[ \t]+\"C\"\s*\{|(?P<brace>[{}])"
    rb"|^[ \t]*\#[ \t]*(?P<directive>if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b"
    rb"(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
"""What opens and closes in C, and what may look like it."""


class _Condition:
    """An ``#if`` that is open: where it stands, and how deep in braces."""

    def __init__(self, found: re.Match[bytes], depth: int) -> None:
        self.span, self.depth = found.span(), depth
        self.is_within = depth > 0
        self.rest: int | None = None
        """Where the branches begin that are not read, if there are any."""


def first_branches(source: bytes) -> bytes:
    """Return *source* with the first branch alone of each condition that stands within braces.

    As universal-ctags reads it. The branches of a condition may open a brace each, of which one is
    closed, or be part of a statement; a grammar then loses the function, and those after it.
    """
    return _FirstBranches(source).made()


class _FirstBranches:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._made = bytearray(source)
        self._depth = 0
        self._open: list[_Condition] = []

    def made(self) -> bytes:
        for found in _OF_C.finditer(self._source):
            is_read = all(one.rest is None for one in self._open)
            if found["brace"] and is_read:
                self._depth = max(0, self._depth + (1 if found["brace"] == b"{" else -1))
            elif found["directive"]:
                self._take(found, is_read=is_read)
        return bytes(self._made)

    def _take(self, found: re.Match[bytes], *, is_read: bool) -> None:
        if found["directive"].startswith(b"if"):
            self._open.append(_Condition(found, self._depth if is_read else 0))
        elif self._open and found["directive"] == b"endif":
            condition = self._open.pop()
            if condition.is_within:
                self._blank(*condition.span)
                self._blank(condition.rest or found.start(), found.end())
        elif self._open:
            condition = self._open[-1]
            # The head of a function in each branch: what follows is the body of one of them.
            condition.is_within |= self._depth != condition.depth
            if is_read and condition.is_within:
                condition.rest = found.start()

    def _blank(self, start: int, end: int) -> None:
        self._made[start:end] = blank(self._source[start:end])


def is_broken(node: tree_sitter.Node) -> bool:
    """Say whether a grammar of C lost a function: lines between functions, or one in another."""
    if not node.has_error:
        return False
    if node.type in {"ERROR", "function_definition"}:
        inner = node.children if node.type == "function_definition" else ()
        return _is_long(node) if node.type == "ERROR" else any(map(_holds_function, inner))
    return node.type in _BETWEEN_FUNCTIONS and any(map(is_broken, node.children))


def _is_long(node: tree_sitter.Node) -> bool:
    return node.end_point.row > node.start_point.row


def _holds_function(node: tree_sitter.Node) -> bool:
    if node.type == "function_definition":
        return True
    return node.has_error and any(map(_holds_function, node.children))


def is_statement(symbol: str | None) -> bool:
    """Say whether what a unit is called is the word of a statement."""
    return symbol in _STATEMENTS
