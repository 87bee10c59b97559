"""The server as a host sees it: driven in process by the SDK's own client, in both eras.

The facade has its parts in memory, so that what is tested here is the protocol: what is
listed, what comes back for good, bad and unknown arguments, and that a call never holds up
another.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError

from kb_app.config import Config, Source
from kb_app.config._settings import MCP_TOOLS
from kb_app.drawing import Picture
from kb_app.preferences import Preferences
from kb_app.testing.facade import ScriptedKnowledgeBase, hit, response
from kb_core import wire
from kb_core.errors import InvalidInput, KbError, NotIndexed
from kb_core.search import GrepQuery, SearchFilters, SearchQuery, Trace
from kb_core.testing import closed_schema
from kb_mcp._tool import Call, Form, Tool
from kb_mcp.server import create_server
from kb_mcp.testing import KOREAN, Mode, call, client_of, knowledge_base
from kb_mcp.tools import TOOLS, allowed, offered

MODES: tuple[Mode, ...] = ("legacy", "auto")

CHUNK = KOREAN.chunks[0].chunk_id

GOOD: dict[str, dict[str, Any]] = {
    "search": {"query": "q"},
    "ask": {"query": "q"},
    "grep": {"pattern": "q"},
    "fetch": {"kind": "doc", "doc_id": KOREAN.doc_id},
    "bulk_search": {"queries": [{"query": "q"}]},
    "codebase_search": {"query": "q"},
    "similar": {"origin": KOREAN.path},
    "list_docs": {},
    "links": {"doc": KOREAN.path},
    "cite_verify": {"citations": ["a.md#L1"]},
    "explain_miss": {"query": "q", "doc": KOREAN.path},
    "schema": {},
    "status": {},
    "doctor": {},
    "wait_for_fresh": {"paths": ["a.md"]},
    "ingest_file": {"path": "/a.md"},
    "ingest_stdin": {"content": "x", "title": "X"},
}
"""Arguments that each tool takes."""

_LINE_1 = {"path": KOREAN.path, "lines": [1, 1]}
WRITING = {"ingest_file", "ingest_stdin", "wait_for_fresh"}
EXPLAINED_BY_SEARCH = {field.name for field in fields(SearchFilters)}

WIRE = {
    "search": "search_response",
    "ask": "answer",
    "grep": "grep_response",
    "fetch": "fetch_result",
    "bulk_search": "bulk_search_response",
    "codebase_search": "codebase_search_response",
    "similar": "search_response",
    "list_docs": "doc_summary_list",
    "links": "link_list",
    "cite_verify": "citation_check",
    "explain_miss": "explain_miss",
    "schema": "schema",
    "status": "file_status",
    "doctor": "doctor",
    "wait_for_fresh": "file_status",
    "ingest_file": "ingest_report",
    "ingest_stdin": "ingest_report",
}
"""The wire object that each tool returns."""


def refuse(error: Exception, _: str = "") -> None:
    raise error


def payload(result: types.CallToolResult, schema: str) -> dict[str, Any]:
    """Return the wire object of a result, after checking that all its forms agree.

    An error has one form: clients hold structured content against the tool's output schema.
    """
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    if schema == "codebase_search_response":  # the one whose text is prose
        body: dict[str, Any] = result.structured_content
        assert block.text == wire.codebase_search_text(body)
    else:
        body = json.loads(block.text)
        assert result.structured_content == (None if result.is_error else body)
    Draft202012Validator(closed_schema(schema)).validate(body)
    return body


async def test_the_tools_are_listed_in_the_order_of_their_use() -> None:
    async with client_of(knowledge_base()) as client:
        listed = (await client.list_tools()).tools

    assert [(tool.name, tool.title) for tool in listed] == [
        ("search", "Search the knowledge base"),
        ("ask", "Answer from the knowledge base"),
        ("fetch", "Read a passage or a document"),
        ("grep", "Find exact text"),
        ("bulk_search", "Search for several things at once"),
        ("codebase_search", "Search code"),
        ("similar", "Find what is like a passage"),
        ("list_docs", "List documents"),
        ("links", "Links between documents"),
        ("cite_verify", "Verify citations"),
        ("explain_miss", "Why a document was not found"),
        ("schema", "What the knowledge base holds"),
        ("status", "What became of every file"),
        ("doctor", "Check the knowledge base"),
        ("wait_for_fresh", "Wait for files"),
        ("ingest_file", "Add a file"),
        ("ingest_stdin", "Add a text"),
    ]


async def test_the_list_of_tools_is_small() -> None:
    """Hosts read it before every conversation, and models pay for it by the token."""
    async with client_of(knowledge_base()) as client:
        listed = await client.list_tools()

    dumped = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert len(dumped.encode()) < 34_200


def test_the_configuration_takes_the_tools_that_there_are() -> None:
    found = offered(
        allowed(Preferences(feedback=True, token_file=Path("token"))), MCP_TOOLS, readonly=False
    )

    assert [tool.name for tool in found] == [*MCP_TOOLS[:-2]]
    assert MCP_TOOLS[-2:] == ("all", "reading")


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_when_to_use_it_and_when_not(name: str) -> None:
    description = TOOLS[name].definition.description or ""

    assert "Use it" in description
    assert "Do not use it" in description


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("readonly", [False, True])
async def test_annotations_are_true_to_the_tool(form: Form, *, readonly: bool) -> None:
    """What writes may replace what was there, and nothing leaves the machine.

    A conversation is kept where that may be, and a text may be a new file each time.
    """
    server = create_server(knowledge_base(readonly=readonly), form=form, offer=["all"])
    async with Client(server) as client:
        listed = (await client.list_tools()).tools

    assert listed
    for tool in listed:
        hints, writes = tool.annotations, tool.name in WRITING
        keeps = tool.name == "ask" and not readonly
        assert hints is not None
        assert hints.read_only_hint is not (writes or keeps)
        if hints.read_only_hint and form is Form.TEXT:
            continue  # the rest follows from it
        assert hints.idempotent_hint is not (keeps or tool.name == "ingest_stdin")
        assert (hints.destructive_hint, hints.open_world_hint) == (writes, False)


def inputs_of(name: str) -> dict[str, Any]:
    inputs: dict[str, Any] = TOOLS[name].definition.input_schema["properties"]
    return inputs


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_avoid_what_hosts_reject(name: str) -> None:
    """No union, condition or foreign reference at the top; every input is described."""
    definition = TOOLS[name].definition
    for schema in (definition.input_schema, definition.output_schema or {}):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert {"oneOf", "anyOf", "allOf", "if"}.isdisjoint(schema)
        assert "kb.local" not in json.dumps(schema)

    assert definition.input_schema["additionalProperties"] is False
    unexplained = {
        field for field, schema in inputs_of(name).items() if not schema.get("description")
    }
    assert unexplained <= (set() if name == "search" else EXPLAINED_BY_SEARCH)
    assert not unexplained or "ilters" in (definition.description or "")


def test_search_takes_every_input_of_the_command_line_under_its_name() -> None:
    assert list(TOOLS["search"].definition.input_schema["properties"]) == [
        "query",
        "mode",
        "k",
        "snippet_chars",
        "max_tokens",
        "cursor",
        "per_doc",
        "rerank",
        "deadline_ms",
        "trace",
        "tag",
        "lang",
        "path_glob",
        "trust_min",
        "media",
        "ingested_after",
        "since",
        "until",
        "doc_id",
        "repo",
        "code_lang",
        "source",
        "source_type",
    ]


@pytest.mark.parametrize("mode", MODES)
async def test_instructions_describe_the_live_knowledge_base(mode: Mode) -> None:
    counts: dict[str, Any] = {
        "doc_count": 1234,
        "chunk_count": 5678,
        "last_ingest_at": 1_770_000_000,
        "media_breakdown": {"markdown": 1000, "code": 234},
        "lang_breakdown": {"ko": 700, "en": 300, None: 234},
        "code_lang_breakdown": {"python": 234},
        "source_breakdown": {f"s{n}": n + 1 for n in range(10)},
    }
    kb = knowledge_base(
        answers={"stats": lambda: wire.stats_report(wire.stats(counts, index_bytes={}))}
    )
    async with client_of(kb, mode) as client:
        first = client.instructions or ""
    counts["doc_count"] = 99
    async with client_of(kb, mode) as client:
        second = client.instructions or ""

    assert "1,234 documents in 5,678 passages" in first
    assert "languages: ko (700), en (300); programming languages: python (234)" in first
    assert "sources: s9 (10), s8 (9)" in first
    assert "2 more" in first
    assert "2026-02-02" in first
    assert "citation.uri" in first
    assert "99 documents" in second


async def test_instructions_say_that_nothing_is_indexed() -> None:
    kb = ScriptedKnowledgeBase()
    async with client_of(kb) as client:
        assert "Nothing is indexed yet" in (client.instructions or "")


@pytest.mark.parametrize("error", [NotIndexed("no index", hint="run 'kebab ingest'"), OSError("x")])
async def test_the_handshake_survives_a_broken_knowledge_base(error: Exception) -> None:
    kb = knowledge_base()
    kb.before = partial(refuse, error)
    async with client_of(kb, "legacy") as client:
        assert "Cite every claim" in (client.instructions or "")
        assert len((await client.list_tools()).tools) == len(TOOLS)


async def test_the_handshake_does_not_wait_for_a_slow_knowledge_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kb_mcp.server._HANDSHAKE_WAIT_S", 0.01)
    release = threading.Event()
    kb = knowledge_base()
    kb.before = lambda name: None if name == "preferences" else cast("None", release.wait(120))
    async with client_of(kb, "legacy") as client:
        try:
            assert (client.instructions or "").startswith("Call search")
        finally:
            release.set()  # before the server ends, which waits for what it began


@pytest.mark.parametrize("mode", MODES)
async def test_search_answers_with_hits_as_the_wire_has_them(mode: Mode) -> None:
    kb = knowledge_base()
    async with client_of(kb, mode) as client:
        result = await client.call_tool("search", {"query": "검색은 어떻게"})

    body = payload(result, "search_response")
    assert result.is_error is False
    found = wire.search_response(kb.search(SearchQuery(text="검색은 어떻게")))
    assert body["hits"] == found["hits"]
    assert body["hits"][0]["citation"]["uri"] == "노트/검색%20기록.md#L1"


async def test_search_passes_everything_on() -> None:
    kb = knowledge_base(answers={"search": response(hit(), trace=Trace())})
    filters: dict[str, Any] = {
        "tag": ["a", "b"],
        "lang": "ko",
        "path_glob": "notes/**",
        "trust_min": "secondary",
        "media": "markdown",
        "ingested_after": "2026-01-01T00:00:00Z",
        "since": "2025-01-01",
        "until": "2025-12-31",
        "doc_id": "b" * 32,
        "repo": "kebab",
        "code_lang": ["python", "go"],
        "source": "notes",
        "source_type": "note",
    }
    asked = {
        "query": "q",
        "mode": "lexical",
        "k": 1.0,
        "snippet_chars": 60,
        "max_tokens": 900,
        "cursor": "c",
        "rerank": False,
        "deadline_ms": 50,
        "trace": True,
    }

    body = payload(await call(kb, "search", {**asked, **filters}), "search_response")

    (query,) = kb.queries
    passed = {name: getattr(query, name) for name in asked if name != "query"}
    assert passed == {name: value for name, value in asked.items() if name != "query"}
    assert query.text == "q"
    single = {"trust_min", "ingested_after", "since", "until", "doc_id"}
    for name, value in filters.items():
        expected = value if name in single else tuple([value] if isinstance(value, str) else value)
        assert getattr(query.filters, name) == expected
    assert len(body["hits"]) == 1
    assert "trace" in body


async def test_defaults_are_those_that_the_person_has_configured() -> None:
    config = Config.inside(Path("/nonexistent"))
    search = replace(config.search, default_k=3, snippet_chars=90)
    kb = knowledge_base(config=replace(config, search=search))

    await call(kb, "search", {"query": "q", "tag": [], "since": None})
    await call(kb, "bulk_search", {"queries": [{"query": "q"}]})
    await call(kb, "similar", {"origin": KOREAN.path})
    await call(kb, "explain_miss", {"query": "q", "doc": KOREAN.path})

    usual = SearchQuery(text="q", k=3, snippet_chars=90)
    assert kb.asked == [
        ("search", usual),
        ("search_many", [usual]),
        ("similar", KOREAN.path, replace(usual, text=KOREAN.path)),
        ("explain_miss", KOREAN.path, replace(usual, snippet_chars=220)),
    ]


async def test_no_hits_is_a_result() -> None:
    body = payload(await call(ScriptedKnowledgeBase(), "search", {"query": "q"}), "search_response")

    assert body["hits"] == []


def test_every_tool_is_tested() -> None:
    assert GOOD.keys() == WIRE.keys() == TOOLS.keys()


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_answers_with_its_wire_object(tool: str, mode: Mode) -> None:
    """The client has checked it against the schema that the tool declares."""
    async with client_of(knowledge_base(), mode) as client:
        await client.list_tools()
        result = await client.call_tool(tool, GOOD[tool])

    assert result.is_error is False
    payload(result, WIRE[tool])


@pytest.mark.parametrize("tool", TOOLS)
async def test_every_tool_refuses_what_it_does_not_know(tool: str) -> None:
    kb = knowledge_base()
    result = await call(kb, tool, {**GOOD[tool], "zzz": 1})

    assert result.is_error is True
    assert "unknown parameter 'zzz'" in payload(result, "error")["message"]
    # What code is asked for is checked by the facade itself, for every interface.
    assert kb.asked == [] or tool == "codebase_search"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({"kind": "chunk", "chunk_id": CHUNK}, ("fetch_chunk", CHUNK, 0)),
        ({"kind": "chunk", "chunk_id": CHUNK, "context": 2**70}, ("fetch_chunk", CHUNK, 2**70)),
        ({"kind": "chunk", "chunk_id": CHUNK, "max_tokens": None}, ("fetch_chunk", CHUNK, 0)),
        ({"kind": "chunk", "chunk_id": CHUNK, "context": 0}, ("fetch_chunk", CHUNK, 0)),
        (
            {"kind": "doc", "doc_id": KOREAN.doc_id, "context": 0},
            ("fetch_doc", KOREAN.doc_id, None),
        ),
        ({"kind": "doc", "doc_id": KOREAN.doc_id}, ("fetch_doc", KOREAN.doc_id, None)),
        (
            {"kind": "doc", "doc_id": KOREAN.doc_id, "max_tokens": 9.0},
            ("fetch_doc", KOREAN.doc_id, 9),
        ),
        (
            {
                "kind": "span",
                "doc_id": KOREAN.doc_id,
                "line_start": 3,
                "line_end": 9,
                "max_tokens": 5,
            },
            ("fetch_span", KOREAN.doc_id, 3, 9, 5),
        ),
        (
            {"kind": "span", "doc_id": KOREAN.doc_id, "line_start": 1, "line_end": 2**70},
            ("fetch_span", KOREAN.doc_id, 1, 2**70, None),
        ),
        (
            {"path": KOREAN.path, "lines": "1-2", "max_tokens": 5},
            ("fetch", {"path": KOREAN.path, "lines": "1-2"}, 5),
        ),
        ({"doc_id": KOREAN.path, "line_start": 1}, ("fetch", _LINE_1, None)),
        ({"citation": f"{KOREAN.path}:1"}, ("fetch", {"citation": f"{KOREAN.path}:1"}, None)),
        (
            {"chunk_id": CHUNK, "context": 1},
            ("fetch", {"chunk": CHUNK, "context": 1}, None),
        ),
        ({"places": [KOREAN.path], "max_tokens": 9}, ("fetch_many", [KOREAN.path], 9)),
        ({"path": KOREAN.path, "outline": True}, ("outline", KOREAN.path)),
    ],
)
async def test_fetch_passes_on_what_its_kind_takes(
    arguments: dict[str, Any], asked: tuple[Any, ...]
) -> None:
    kb = knowledge_base()
    result = await call(kb, "fetch", arguments)

    assert result.is_error is False
    assert kb.asked == [asked]


@pytest.mark.parametrize("place", [{"citation": f"{KOREAN.path}:1"}, {"chunk": CHUNK}])
async def test_a_picture_stands_beside_the_text_where_it_is_asked_for(
    place: dict[str, Any],
) -> None:
    picture = Picture(b"PNG", 1, 1, "a.pdf#page=1", marks=1, is_as_indexed=True)
    kb = knowledge_base(answers={"draw": picture})
    plain = await call(kb, "fetch", place)
    shown = await call(kb, "fetch", {**place, "image": True})

    text, image = shown.content
    assert [text] == plain.content
    assert isinstance(image, types.ImageContent)
    assert (image.mime_type, b64decode(image.data)) == ("image/png", b"PNG")
    assert [asked[1] for asked in kb.asked if asked[0] == "draw"] == list(place.values())
    several = await call(kb, "fetch", {"places": [KOREAN.path], "image": True})
    assert payload(several, "error")["message"] == "image and places do not go together"


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            {},
            "there is nothing to fetch",
            (
                'give path (and lines), citation, chunk or places, as {"path": "a.md", '
                '"lines": "40-80"}'
            ),
        ),
        (
            {"places": ["a.md:3"], "path": "b.md"},
            "path and places do not go together",
            "places takes max_tokens alone beside it",
        ),
        (
            {"path": "b.md", "lines": "3", "outline": True},
            "lines and outline do not go together",
            "outline takes path alone beside it",
        ),
        ({"kind": 7}, "kind 7 is not 'chunk', 'doc' or 'span'", None),
        ({"kind": "dok"}, "kind 'dok' is not 'chunk', 'doc' or 'span'", "did you mean 'doc'?"),
        (
            {"kind": "chunk"},
            "parameter 'chunk_id' is missing",
            "kind 'chunk' takes chunk_id, context",
        ),
        (
            {"kind": "doc", "doc_id": "d", "context": 1},
            "parameter 'context' is not for kind 'doc'",
            "kind 'doc' takes doc_id, max_tokens",
        ),
        (
            {"kind": "chunk", "chunk_id": "c", "max_tokens": 9},
            "parameter 'max_tokens' is not for kind 'chunk'",
            "kind 'chunk' takes chunk_id, context",
        ),
        (
            {"kind": "span", "chunk_id": "c", "line_start": 1},
            (
                "parameter 'doc_id' is missing; parameter 'line_end' is missing; "
                "parameter 'chunk_id' is not for kind 'span'"
            ),
            "kind 'span' takes doc_id, line_start, line_end, max_tokens",
        ),
        (
            {"kind": "chunk", "chunk_id": "c", "context": -1},
            "context -1 is less than 0",
            None,
        ),
        (
            {"kind": "doc", "doc_id": "d", "max_tokens": 0},
            "max_tokens 0 is less than 1",
            None,
        ),
        ({"kind": "doc", "id": "d"}, "unknown parameter 'id'", "did you mean 'chunk_id'?"),
    ],
)
async def test_fetch_tells_what_its_kind_takes(
    arguments: dict[str, Any], message: str, hint: str | None
) -> None:
    kb = knowledge_base()
    body = payload(await call(kb, "fetch", arguments), "error")

    assert (body["code"], body["message"], body["hint"]) == ("invalid_input", message, hint)
    assert kb.asked == []


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"kind": "span", "doc_id": KOREAN.doc_id, "line_start": 0, "line_end": 1}, "0 to 1"),
        ({"kind": "span", "doc_id": KOREAN.doc_id, "line_start": 1, "line_end": 0}, "1 to 0"),
        ({"path": KOREAN.path, "line_start": 0}, "0 to 0"),
        ({"path": KOREAN.path, "line_start": 1, "line_end": 0}, "1 to 0"),
        ({"path": KOREAN.path, "line_end": 0}, "1 to 0"),
    ],
)
async def test_a_line_0_is_given_and_is_no_line(arguments: dict[str, Any], lines: str) -> None:
    body = payload(await call(knowledge_base(), "fetch", arguments), "error")

    assert (body["code"], body["message"]) == ("invalid_input", f"lines {lines} are not a span")
    assert "lines count from 1" in body["hint"]


async def test_grep_passes_on_what_is_looked_for_and_where() -> None:
    kb = knowledge_base()
    arguments = {"pattern": "X", "path": [".", "notes"], "word": True, "context": 2, "tag": "x"}
    body = payload(await call(kb, "grep", arguments), "grep_response")

    filters = SearchFilters(tag=("x",))
    query = GrepQuery(pattern="X", paths=("notes",), word=True, context=2, filters=filters)
    assert kb.asked == [("grep", query)]
    assert (body["total_lines"], body["case"]) == (0, "exact")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "parameter 'pattern' is missing"),
        ({"query": "x"}, "unknown parameter 'query'"),
        ({"pattern": "("}, "pattern '(' has a ( that nothing closes"),
        ({"pattern": "x", "case": "upper"}, "case 'upper' is not 'smart', 'exact' or 'ignore'"),
        ({"pattern": "x", "context": 51}, "context 51 is more than 50"),
    ],
)
async def test_grep_refuses_what_cannot_be_looked_for(
    arguments: dict[str, Any], message: str
) -> None:
    body = payload(await call(knowledge_base(), "grep", arguments), "error")

    assert body["code"] == "invalid_input"
    assert message in body["message"]


async def test_list_docs_takes_the_filters_of_search_and_a_page() -> None:
    kb = knowledge_base()
    asked = {"limit": 7, "offset": 14, "tag": "x", "path_glob": ["a/**", "b/**"]}
    payload(await call(kb, "list_docs", asked), "doc_summary_list")

    filters = SearchFilters(tag=("x",), path_glob=("a/**", "b/**"))
    assert kb.asked == [("list_docs", filters, 7, 14)]


def test_inputs_declare_their_limits() -> None:
    search, fetch = inputs_of("search"), inputs_of("fetch")

    assert (search["k"]["minimum"], search["k"]["maximum"]) == (1, 100)
    assert inputs_of("bulk_search")["queries"]["maxItems"] == 100
    assert (inputs_of("status")["limit"]["default"], inputs_of("status")["limit"]["maximum"]) == (
        100,
        1000,
    )
    assert (fetch["context"]["type"], fetch["context"]["minimum"]) == ("integer", 0)
    assert fetch["max_tokens"]["minimum"] == 1


def test_the_filters_are_the_same_everywhere() -> None:
    names = {field.name for field in fields(SearchFilters)}

    for tool in ("search", "grep", "list_docs", "similar", "explain_miss"):
        assert names <= inputs_of(tool).keys()


async def test_status_can_be_narrowed() -> None:
    kb = knowledge_base()
    asked = {"path_glob": "*.pdf", "state": "failed", "limit": 7, "offset": 14}
    asked["changed_since"] = "2026-05-10"
    payload(await call(kb, "status", asked), "file_status")
    bad = payload(await call(kb, "status", {"state": "faild"}), "error")

    assert kb.asked == [("status", "*.pdf", "failed", "2026-05-10", 7, 14), ("followed",)]
    assert bad["hint"] == "did you mean 'failed'?"


async def test_an_unhealthy_doctor_is_a_result(tmp_path: Path) -> None:
    config = Config.inside(tmp_path, Source(id="gone", root=tmp_path / "gone"))
    result = await call(knowledge_base(config=config), "doctor", {})

    assert payload(result, "doctor")["ok"] is False
    assert result.is_error is False


async def test_a_name_that_is_not_utf8_cannot_stop_the_server() -> None:
    kb = knowledge_base(replace(KOREAN, path="odd-\udcff.md"))
    async with client_of(kb, "legacy") as client:
        body = payload(await client.call_tool("search", {"query": "q"}), "search_response")

        assert body["hits"][0]["doc_path"] == "odd-\ufffd.md"
        assert len((await client.list_tools()).tools) == len(TOOLS)


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("search", {"query": "q", "include": "docs"}, "'include' is for codebase_search; "),
        ("search", {"query": "q", "outline": True}, "'outline' is for fetch; "),
        ("fetch", {"path": "a", "since": "2026"}, "'since' is for search, ask, "),
        ("search", {"query": "q", "outlandish": 1}, "parameters are tag, "),
    ],
)
async def test_a_parameter_of_another_tool_is_told_to_be_that(
    tool: str, arguments: dict[str, Any], hint: str
) -> None:
    bad = payload(await call(knowledge_base(), tool, arguments), "error")

    assert bad["hint"].startswith(hint)
    assert "parameters are " in bad["hint"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({}, "parameter 'query' is missing", None),
        ({"query": ""}, "query '' is blank", "give at least one word"),
        ({"query": "  "}, "query '  ' is blank", "give at least one word"),
        ({"query": 7}, "query 7 is not a text", None),
        ({"query": "q", "tags": "x"}, "unknown parameter 'tags'", "did you mean 'tag'?"),
        ({"query": "q", "limit": 3}, "unknown parameter 'limit'", "did you mean 'k'?"),
        ({"query": "q", "docId": "x"}, "unknown parameter 'docId'", "did you mean 'doc_id'?"),
        ({"query": "q", "glob": "x"}, "unknown parameter 'glob'", "did you mean 'path_glob'?"),
        (
            {"query": "q", "mode": "hybird"},
            "mode 'hybird' is not 'hybrid', 'lexical' or 'vector'",
            "did you mean 'hybrid'?",
        ),
        ({"query": "q", "k": 0}, "k 0 is not between 1 and 100", None),
        ({"query": "q", "k": 101}, "k 101 is not between 1 and 100", None),
        ({"query": "q", "max_tokens": 0}, "max_tokens 0 is not between 1 and 10000000", None),
        ({"query": "q", "rerank": 1}, "rerank 1 is not true or false", None),
        ({"query": "q", "k": "10"}, "k '10' is not a whole number", None),
        ({"query": "q", "k": 1.5}, "k 1.5 is not a whole number", None),
        ({"query": "q", "k": True}, "k true is not a whole number", None),
        ({"query": "q", "trace": "yes"}, "trace 'yes' is not true or false", None),
        ({"query": "q", "tag": [1]}, "tag.0 1 is not a text", None),
        (
            {"query": "q", "trust_min": "primry"},
            "trust_min 'primry' is not 'primary', 'secondary' or 'generated'",
            "did you mean 'primary'?",
        ),
    ],
)
async def test_bad_arguments_are_told_apart(
    arguments: dict[str, Any], message: str, hint: str | None
) -> None:
    kb = knowledge_base()
    result = await call(kb, "search", arguments)

    body = payload(result, "error")
    assert result.is_error is True
    assert (body["code"], body["message"], body["hint"]) == ("invalid_input", message, hint)
    assert kb.queries == []


async def test_all_faults_are_told_at_once() -> None:
    result = await call(knowledge_base(), "search", {"qeury": "q", "k": "0", "zzz": 1})

    body = payload(result, "error")
    assert [problem["field"] for problem in body["details"]["problems"]] == [
        "query",
        "k",
        "qeury",
        "zzz",
    ]
    assert body["hint"] == "did you mean 'query'?"


async def test_a_strange_name_is_answered_with_the_names_there_are() -> None:
    found = payload(await call(knowledge_base(), "search", {"query": "q", "zzz": 1}), "error")
    none = payload(await call(knowledge_base(), "doctor", {"deep": True}), "error")

    assert re.fullmatch(r"parameters are (\w+, )+trace", found["hint"])
    assert none["message"] == "unknown parameter 'deep'"


@pytest.mark.parametrize("tool", TOOLS)
async def test_an_expected_failure_is_a_result_the_model_can_read(tool: str) -> None:
    kb = knowledge_base()
    error = NotIndexed("there is no knowledge base yet", hint="run 'kebab ingest'")
    kb.before = partial(refuse, error)

    result = await call(kb, tool, GOOD[tool])

    assert result.is_error is True
    assert payload(result, "error") == {
        "schema_version": "error.v1",
        "code": "not_indexed",
        "message": "there is no knowledge base yet",
        "hint": "run 'kebab ingest'",
        "details": {},
    }


@pytest.mark.parametrize("error", [RuntimeError("boom"), KbError("odd"), InvalidInput("bad date")])
@pytest.mark.parametrize("mode", MODES)
async def test_whatever_is_raised_is_shown_without_a_traceback(
    error: Exception, mode: Mode
) -> None:
    kb = knowledge_base()
    async with client_of(kb, mode) as client:
        kb.before = partial(refuse, error)
        result = await client.call_tool("search", {"query": "q"})
        kb.before = lambda _: None
        alive = await client.call_tool("schema", {})

    body = payload(result, "error")
    assert body["code"] == getattr(error, "code", "internal")
    assert str(error) in body["message"]
    assert "Traceback" not in json.dumps(body)
    assert alive.is_error is False


@pytest.mark.parametrize("mode", MODES)
async def test_an_unknown_tool_is_a_fault_of_the_protocol(mode: Mode) -> None:
    async with client_of(knowledge_base(), mode) as client:
        with pytest.raises(MCPError, match="unknown tool 'find'; tools are search") as caught:
            await client.call_tool("find", {})

    assert caught.value.code == types.INVALID_PARAMS


@pytest.mark.parametrize("mode", MODES)
async def test_a_slow_call_delays_no_other_and_can_be_cancelled(mode: Mode) -> None:
    release, started = threading.Event(), threading.Event()
    kb = knowledge_base()

    def wait(_: str) -> None:
        started.set()
        release.wait(120)

    try:
        async with client_of(kb, mode) as client:
            kb.before = wait
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "search", {"query": "slow"})
                await anyio.to_thread.run_sync(started.wait, 120)
                kb.before = lambda _: None
                with anyio.fail_after(120):
                    quick = await client.call_tool("search", {"query": "quick"})
                group.cancel_scope.cancel()
            with anyio.fail_after(120):
                after = await client.call_tool("search", {"query": "after"})
    finally:
        release.set()

    assert quick.is_error is False
    assert after.is_error is False


async def test_the_facade_is_never_called_on_the_thread_of_the_protocol() -> None:
    kb = knowledge_base()
    async with client_of(kb, "legacy") as client:
        for tool in TOOLS:
            await client.call_tool(tool, GOOD[tool])

    assert kb.threads
    assert threading.get_ident() not in kb.threads


# ------------------------------------------------------------- long calls


def planted(tool: str, call: Callable[[Call], Mapping[str, Any]]) -> dict[str, Tool]:
    return {**TOOLS, tool: replace(TOOLS[tool], call=call)}


async def test_a_long_call_reports_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts give up on a call that is silent for long."""
    monkeypatch.setattr("kb_mcp._calls.BEAT_S", 0.01)
    kb, seen, heard = knowledge_base(), list[tuple[float, str]](), threading.Event()

    def slow(call: Call) -> Mapping[str, Any]:
        heard.wait(120)
        return call.kb.schema()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, message or ""))
        if len(seen) == 3:
            heard.set()

    async with client_of(kb, "legacy", planted("schema", slow)) as client:
        result = await client.call_tool("schema", {}, progress_callback=on_progress)

    assert result.is_error is False
    assert seen[0][1] == "schema: 0 s"
    assert [progress for progress, _ in seen] == sorted(progress for progress, _ in seen)


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_tells_its_tool(mode: Mode) -> None:
    started, told = threading.Event(), threading.Event()

    def slow(call: Call) -> Mapping[str, Any]:
        started.set()
        if call.stop.wait(120):
            told.set()
        return call.kb.schema()

    async with client_of(knowledge_base(), mode, planted("schema", slow)) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "schema", {})
            await anyio.to_thread.run_sync(started.wait, 120)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(told.wait, 120)


# -------------------------------------------------------------- read-only


@pytest.mark.parametrize("mode", MODES)
async def test_read_only_hides_and_refuses_what_writes(mode: Mode) -> None:
    kb = knowledge_base(readonly=True)
    async with client_of(kb, mode) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        refused = [await client.call_tool(name, GOOD[name]) for name in sorted(WRITING)]

    assert listed == [name for name in TOOLS if name not in WRITING]
    assert [payload(result, "error")["code"] for result in refused] == ["readonly_mode"] * 3
    assert (
        "without --readonly and with mcp.readonly = false" in payload(refused[0], "error")["hint"]
    )
    assert kb.asked == []


def test_a_tool_that_says_nothing_of_writing_counts_as_writing() -> None:
    doctor = TOOLS["doctor"]
    silent = doctor.definition.model_copy(update={"annotations": None})

    assert not doctor.writes
    assert replace(doctor, definition=silent).writes


# ------------------------------------------------------------- what is logged


async def test_the_log_names_tools_and_outcomes_and_nothing_that_was_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "kb_mcp"):
        await call(knowledge_base(), "search", {"query": "secret plans"})
        await call(knowledge_base(), "search", {"query": "secret plans", "kk": 1})

    said = [record.getMessage() for record in caplog.records if record.name == "kb_mcp._calls"]
    assert [line.rpartition(" in ")[0] for line in said] == [
        "search: answered",
        "search: invalid_input",
    ]
