"""The tools, in the order of their use: the order in which hosts show them to a model.

Rooms by subject; none knows another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from kb_app.preferences import Preferences
from kb_core.errors import InvalidInput, ReadonlyMode
from kb_mcp._tool import Form, Tool
from kb_mcp.tools import adding, asking, checking, codebase, grepping, reading, searching

__all__ = ["TOOLS", "allowed", "offered", "refusal", "usual"]

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        searching.SEARCH,
        asking.ASK,
        reading.FETCH,
        grepping.GREP,
        searching.BULK_SEARCH,
        codebase.CODEBASE_SEARCH,
        searching.SIMILAR,
        reading.LIST_DOCS,
        reading.LINKS,
        reading.CITE_VERIFY,
        checking.EXPLAIN_MISS,
        checking.SCHEMA,
        checking.STATUS,
        checking.DOCTOR,
        checking.FRESH,
        adding.INGEST_FILE,
        adding.INGEST_STDIN,
    )
}

_ALL, _READING = "all", "reading"


def allowed(preferences: Preferences) -> Mapping[str, Tool]:
    """Return all tools, with those that are there only where the person allows them."""
    said = adding.FEEDBACK
    return {**TOOLS, said.name: said} if preferences.feedback else TOOLS


def offered(tools: Mapping[str, Tool], names: Collection[str], *, readonly: bool) -> list[Tool]:
    """Return the tools that a host is shown, of those that are named; read-only, none that writes.

    ``all`` names every tool, ``reading`` those that reading mostly takes. ``InvalidInput`` for
    another name.
    """
    for name in names:
        if name not in tools and name not in {_ALL, _READING}:
            nearest = get_close_matches(name, [*tools, _ALL, _READING], n=1)
            raise InvalidInput(
                f"there is no tool {name!r}",
                hint=f"did you mean {nearest[0]!r}?"
                if nearest
                else f"tools are {', '.join(tools)}; {_READING} and {_ALL} name several",
                details={"field": "tools", "value": name},
            )
    return [
        tool
        for tool in tools.values()
        if (_ALL in names or tool.name in names or (_READING in names and not tool.seldom))
        and not (readonly and tool.writes)
    ]


def usual(form: Form) -> tuple[str, ...]:
    """Return the names of what is offered where nobody names any: as text, what reading takes."""
    return (_READING,) if form is Form.TEXT else (_ALL,)


def refusal(tool: Tool, scope: str) -> ReadonlyMode:
    """Return the answer to a call of a tool that was not offered because it writes.

    *scope* is what the server answers from, where that is not the whole knowledge base.
    """
    why, option, setting = "is read-only", "--readonly", "mcp.readonly"
    if scope:
        why, option, setting = f"answers from {scope}", "--workspace", "mcp.workspace_roots"
    return ReadonlyMode(
        f"{tool.name} writes, and this server {why}",
        hint=f"the person can start it without {option} and with {setting} = false",
        details={"tool": tool.name},
    )
