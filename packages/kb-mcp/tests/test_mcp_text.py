"""A server whose tools answer with text: what a model reads, and what that costs."""

from __future__ import annotations

import json

import mcp_types as types
import pytest

from kb_mcp._tool import Form
from kb_mcp.testing import client_of, knowledge_base, told
from kb_mcp.tools import TOOLS


async def test_a_text_server_declares_no_output_schema_and_one_of_json_keeps_its_own() -> None:
    async with client_of(knowledge_base(), form=Form.TEXT) as client:
        text = (await client.list_tools()).tools
    async with client_of(knowledge_base()) as client:
        objects = (await client.list_tools()).tools

    assert [tool.name for tool in text] == list(TOOLS)
    assert all(tool.output_schema is None for tool in text)
    assert all(tool.input_schema["properties"]["format"] for tool in text)
    assert [tool.model_dump() for tool in objects] == [
        tool.definition.model_dump() for tool in TOOLS.values()
    ]


@pytest.mark.parametrize("tool", ["search", "schema"])
async def test_one_call_of_a_text_server_may_ask_for_objects(tool: str) -> None:
    arguments = {"query": "parse"} if tool == "search" else {}
    async with client_of(knowledge_base(), form=Form.TEXT) as client:
        text = await client.call_tool(tool, arguments)
        objects = await client.call_tool(tool, {**arguments, "format": "json"})
    async with client_of(knowledge_base()) as client:
        usual = await client.call_tool(tool, arguments)

    assert text.structured_content is None
    assert objects.structured_content == usual.structured_content
    assert objects.content == usual.content


async def test_a_server_of_objects_knows_no_format() -> None:
    async with client_of(knowledge_base()) as client:
        result = await client.call_tool("search", {"query": "parse", "format": "text"})

    assert result.is_error
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    assert json.loads(content.text)["code"] == "invalid_input"


async def test_errors_are_words_with_the_way_out() -> None:
    kb = knowledge_base()

    assert await told(kb, "search", {"query": "x", "kk": 1}) == (
        "error invalid_input: unknown parameter 'kk'\n→ did you mean 'k'?"
    )
    assert await told(kb, "doctor", {"format": "yaml"}) == (
        "error invalid_input: format 'yaml' is not 'json' or 'text'"
    )
    assert await told(kb, "schema", {"max_tokens": 3}) == (
        "error invalid_input: max_tokens 3 is less than 100"
    )
