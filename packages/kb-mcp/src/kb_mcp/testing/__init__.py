"""Driving the server in a test: the facade over parts in memory, and a client in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import mcp_types as types
from mcp import Client

from kb_app import KnowledgeBase
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core import wire
from kb_core.records import DocumentRecord
from kb_core.testing.documents import NOW, document
from kb_mcp._tool import Form, Tool
from kb_mcp.server import create_server
from kb_mcp.tools import TOOLS

__all__ = ["CODE", "KOREAN", "Mode", "call", "client_of", "knowledge_base", "told"]

KOREAN = document(
    "노트/검색 기록.md",
    "# 검색\n\n한국어 형태소와 바이그램을 함께 찾는다. 😀\n",
    lang="ko",
    updated_at=NOW,
)
CODE = document(
    "src/parse.py", "def parse(text):\n    return text.split()\n", title="parse.py", repo="kebab"
)


def knowledge_base(
    *documents: DocumentRecord,
    answers: Mapping[str, Any] | None = None,
    **options: Any,  # noqa: ANN401 - of the facade
) -> ScriptedKnowledgeBase:
    """Return a facade over *documents*, or over a note in Korean and a piece of code.

    They are in no folder, so there is no file that it could wait for.
    """
    answers = {"wait_for_fresh": wire.file_status([], wire.coverage({})), **(answers or {})}
    return ScriptedKnowledgeBase(*(documents or (KOREAN, CODE)), answers=answers, **options)


Mode: TypeAlias = Literal["legacy", "auto"]
"""The era of the protocol: with a handshake, or without."""


def client_of(
    kb: KnowledgeBase,
    mode: Mode = "auto",
    tools: Mapping[str, Tool] = TOOLS,
    *,
    form: Form = Form.JSON,
    named: Callable[[str], str] = str,
) -> Client:
    """Return a client of a server over *kb*; a context manager."""
    server = create_server(kb, tools, form=form, named=named)
    return Client(server, mode=mode, raise_exceptions=False)


async def call(kb: KnowledgeBase, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Call one tool of a server that lives as long as that."""
    async with client_of(kb) as client:
        return await client.call_tool(tool, arguments)


async def told(kb: KnowledgeBase, tool: str, arguments: dict[str, Any], **options: Any) -> str:  # noqa: ANN401 - of client_of
    """Call one tool of a server that answers with text; return that, but for its name."""
    async with client_of(kb, form=Form.TEXT, **options) as client:
        result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert result.structured_content is None
    return content.text.partition("\nseen: ")[0]
