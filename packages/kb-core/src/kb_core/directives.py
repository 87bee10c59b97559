"""Directives of reStructuredText: which describe a thing, and which show code.

``.. function:: name(…)`` and its like, of Sphinx's domains, describe a thing in the indented
lines below them: most reference documentation has no other headings.

https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html and
https://www.sphinx-doc.org/en/master/usage/domains/
"""

from __future__ import annotations

import re

from kb_core.values import lazy_pattern

__all__ = ["DIRECTIVE", "TARGET", "describes", "name_of", "shows_code"]

DIRECTIVE = lazy_pattern(
    r"(?P<indent>[ \t]*)(?:[*+-][ \t]+)?\.\.[ \t]+(?:(?P<domain>[a-z]+):)?(?P<name>[\w-]+)::"
    r"(?:[ \t]+(?P<said>\S[^\n]*))?[ \t]*\n?"
)
"""A whole line that is a directive, perhaps an item of a list."""
TARGET = lazy_pattern(r"[ \t]*\.\.[ \t]+_[^\n]*:(?:[ \t][^\n]*)?\n?")
"""A whole line that names a place, or what a link leads to."""

_SIGNATURE = lazy_pattern(r"(?:[\w:*&<>,\[\] \t]*[ \t*&])?(?P<name>[\w.:~$-]+)[ \t]*\(")
_LONGEST, _LOOKED_AT = 80, 1000

_DESCRIBING = frozenset({
    "attribute", "class", "classmethod", "cmdoption", "confval", "coroutinefunction",
    "coroutinemethod", "data", "decorator", "decoratormethod", "describe", "django-admin",
    "django-admin-option", "enum", "enumerator", "envvar", "event", "exception", "fieldlookup",
    "function", "macro", "member", "method", "monitoring-event", "object", "opcode", "option",
    "pdbcommand", "property", "setting", "signal", "staticmethod", "struct", "templatefilter",
    "templatetag", "type", "union", "var",
})  # fmt: skip
_DOMAINS = frozenset({"c", "cpp", "http", "js", "py", "rst", "std"})
_NOT_DESCRIBING = frozenset({"currentmodule", "module", "namespace", "namespace-push", "import"})
_SHOWING = frozenset({
    "code", "code-block", "doctest", "graphviz", "highlight", "ipython", "literalinclude", "math",
    "mermaid", "parsed-literal", "plot", "productionlist", "prompt", "raw", "sourcecode",
    "testcode", "testoutput", "testsetup",
})  # fmt: skip


def describes(directive: re.Match[str]) -> bool:
    """Say whether a match of ``DIRECTIVE`` describes what it names."""
    name, domain = directive["name"], directive["domain"]
    if not directive["said"]:
        return False
    if domain is not None:
        return domain in _DOMAINS and name not in _NOT_DESCRIBING
    return name in _DESCRIBING


def shows_code(directive: re.Match[str]) -> bool:
    """Say whether what a match of ``DIRECTIVE`` has below it is code, or drawn."""
    return directive["name"] in _SHOWING


def name_of(directive: re.Match[str]) -> str:
    """Return what a match of ``DIRECTIVE`` describes: of a function, without its parameters."""
    said: str = directive["said"] or ""
    if match := _SIGNATURE.match(said[:_LOOKED_AT]):
        return f"{match['name']}()"
    return " ".join(said.split())[:_LONGEST]
