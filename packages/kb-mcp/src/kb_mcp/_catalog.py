"""The tools, in the order of their use: the order in which hosts show them to a model."""

from __future__ import annotations

from collections.abc import Mapping

from kb_core.errors import ReadonlyMode
from kb_mcp._tool import Tool
from kb_mcp.tools import (
    bulk_search,
    cite_verify,
    codebase_search,
    doctor,
    explain_miss,
    fetch,
    ingest_file,
    ingest_stdin,
    list_docs,
    schema,
    search,
    similar,
    status,
)

__all__ = ["TOOLS", "offered", "refusal"]

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        search.TOOL,
        fetch.TOOL,
        bulk_search.TOOL,
        codebase_search.TOOL,
        similar.TOOL,
        list_docs.TOOL,
        cite_verify.TOOL,
        explain_miss.TOOL,
        schema.TOOL,
        status.TOOL,
        doctor.TOOL,
        ingest_file.TOOL,
        ingest_stdin.TOOL,
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
