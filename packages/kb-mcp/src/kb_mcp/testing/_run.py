"""The SDK's own client, connected to a server in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import mcp_types as types
from mcp import Client

from kb_app import KnowledgeBase
from kb_mcp._catalog import TOOLS
from kb_mcp._tool import Tool
from kb_mcp.server import create_server

__all__ = ["Mode", "call", "client_of"]

Mode: TypeAlias = Literal["legacy", "auto"]
"""The era of the protocol: with a handshake, or without."""


def client_of(kb: KnowledgeBase, mode: Mode = "auto", tools: Mapping[str, Tool] = TOOLS) -> Client:
    """Return a client of a server over *kb*; a context manager."""
    return Client(create_server(kb, tools), mode=mode, raise_exceptions=False)


async def call(kb: KnowledgeBase, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Call one tool of a server that lives as long as that."""
    async with client_of(kb) as client:
        return await client.call_tool(tool, arguments)
