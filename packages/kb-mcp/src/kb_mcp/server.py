"""The MCP server over standard input and output: ``kebab mcp``.

One process serves one host for hours over one open knowledge base, which answers from
the newest published revision. Every call runs on a thread of its own, so that a slow
one never delays another, or the protocol; a cancelled call is let go at once.

Standard output is the protocol and nothing else; the log goes to standard error. End
of input ends the server.

**Invariant:** whatever a tool raises, the host gets a result that its model can read.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from kb_app import KnowledgeBase
from kb_core import __version__
from kb_core.errors import KbError
from kb_mcp._instructions import GUIDE, describe, describe_failure
from kb_mcp._log import start_log
from kb_mcp._results import failure, success
from kb_mcp._tool import Tool
from kb_mcp.tools import doctor, schema, search

__all__ = ["TOOLS", "create_server", "serve"]

logger = logging.getLogger(__name__)

TOOLS: Mapping[str, Tool] = {
    tool.definition.name: tool for tool in (search.TOOL, schema.TOOL, doctor.TOOL)
}

_HANDSHAKES = frozenset({"initialize", "server/discover"})
_HANDSHAKE_WAIT_S = 3.0
"""A host gives up on a server that does not shake hands soon; better a plain greeting."""

_Context: TypeAlias = ServerRequestContext[Any]


def create_server(kb: KnowledgeBase) -> Server[Any]:
    """Return a server over an open knowledge base, connected to nothing yet."""

    async def list_tools(
        _ctx: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.definition for tool in TOOLS.values()])

    async def call_tool(
        _ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}; tools are {known}")
        return await anyio.to_thread.run_sync(
            _answer, tool, kb, params.arguments or {}, abandon_on_cancel=True
        )

    async def greet(ctx: _Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method in _HANDSHAKES and isinstance(result, dict):
            result["instructions"] = await _instructions(kb)
        return result

    server: Server[Any] = Server(
        "kebab", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(greet)
    return server


def _answer(tool: Tool, kb: KnowledgeBase, arguments: Mapping[str, Any]) -> types.CallToolResult:
    try:
        return success(tool.call(kb, arguments))
    except KbError as error:
        return failure(error)
    except Exception as error:
        logger.exception("tool %s failed", tool.definition.name)
        return failure(error)


async def _instructions(kb: KnowledgeBase) -> str:
    """Describe the knowledge base as it is now, or in general if that takes too long."""
    with anyio.move_on_after(_HANDSHAKE_WAIT_S):
        return await anyio.to_thread.run_sync(_describe, kb, abandon_on_cancel=True)
    return GUIDE


def _describe(kb: KnowledgeBase) -> str:
    try:
        return describe(kb.schema())
    except KbError as error:
        return describe_failure(error)
    except Exception:
        logger.exception("the knowledge base could not be described")
        return GUIDE


def serve(kb: KnowledgeBase) -> None:
    """Serve *kb* over standard input and output until the input ends."""
    start_log(logging.getLogger(), sys.stderr)
    # The thread that waits for input cannot be interrupted, so that Python's own handling of
    # Ctrl-C would wait for the next line. Nothing here needs to be put in order: let go.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, create_server(kb))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())
