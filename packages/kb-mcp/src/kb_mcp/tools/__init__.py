"""The tools, in the order of their use: the order in which hosts show them to a model.

Rooms by subject; none knows another.
"""

from __future__ import annotations

from collections.abc import Mapping

from kb_core.errors import ReadonlyMode
from kb_mcp._tool import Tool
from kb_mcp.tools import adding, asking, checking, grepping, reading, searching, several

__all__ = ["TOOLS", "offered", "refusal"]

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        searching.SEARCH,
        asking.ASK,
        reading.FETCH,
        grepping.GREP,
        several.BULK_SEARCH,
        several.CODEBASE_SEARCH,
        searching.SIMILAR,
        reading.LIST_DOCS,
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


def offered(tools: Mapping[str, Tool], *, readonly: bool) -> list[Tool]:
    """Return the tools that a host is shown: read-only, none that writes."""
    return [tool for tool in tools.values() if not (readonly and tool.writes)]


def refusal(tool: Tool) -> ReadonlyMode:
    """Return the answer to a call of a tool that was not offered because it writes."""
    return ReadonlyMode(
        f"{tool.name} writes, and this server is read-only",
        hint="the person can start it without --readonly and with mcp.readonly = false",
        details={"tool": tool.name},
    )
