"""The server as a host sees it: driven in process by the SDK's own client, in both eras.

The facade is a fake, so that what is tested here is the protocol: what is listed, what
comes back for good, bad and unknown arguments, and that a call never holds up another.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError

from kb_core import wire
from kb_core.citations import Citation, CodeSpan, LineSpan
from kb_core.errors import InvalidInput, KbError, NotIndexed
from kb_core.search import Hit, Retrieval, SearchQuery, SearchResponse, Trace
from kb_core.testing import closed_schema
from kb_mcp.server import TOOLS, create_server

if TYPE_CHECKING:
    from kb_app import KnowledgeBase

Mode = Literal["legacy", "auto"]
MODES: tuple[Mode, ...] = ("legacy", "auto")

KOREAN = Hit(
    rank=1,
    score=0.87,
    score_kind="rrf",
    chunk_id="a" * 32,
    doc_id="b" * 32,
    doc_path="노트/검색 기록.md",
    title="검색 기록",
    heading_path=("검색", "하이브리드 😀"),
    section_label="하이브리드 😀",
    snippet="한국어 형태소와 바이그램을 함께 찾는다.",
    snippet_full_text=True,
    citation=Citation("노트/검색 기록.md", LineSpan(3, 7, section="하이브리드 😀"), "0" * 16),
    retrieval=Retrieval(method="hybrid", fusion_score=0.87, lexical_rank=1, lexical_score=7.5),
    index_version="1",
    chunker_version="markdown-1",
    embedding_model="multilingual-e5-small",
    indexed_at=1_770_000_000,
    stale=False,
    source_id="notes",
    source_type="note",
    trust_level="primary",
    lang="ko",
    media="markdown",
)
CODE = replace(
    KOREAN,
    rank=2,
    score=0.5,
    chunk_id="c" * 32,
    doc_path="src/parse.py",
    heading_path=(),
    section_label="parse",
    snippet="def parse(text):\n    return text.split()",
    citation=Citation("src/parse.py", CodeSpan(1, 2, symbol="parse", lang="python")),
    lang=None,
    media="code",
    repo="kebab",
    code_lang="python",
    flags=("instructions",),
)


class FakeKnowledgeBase:
    """Answers from what it was given, and remembers what it was asked and on which threads."""

    readonly = False

    def __init__(self, hits: tuple[Hit, ...] = (KOREAN, CODE)) -> None:
        self.hits = hits
        self.queries: list[SearchQuery] = []
        self.threads: set[int] = set()
        self.before: Callable[[], None] = lambda: None
        self.counts: dict[str, Any] = {
            "doc_count": 1234,
            "chunk_count": 5678,
            "last_ingest_at": 1_770_000_000,
            "media_breakdown": {"markdown": 1000, "code": 234},
            "lang_breakdown": {"ko": 700, "en": 300, None: 234},
            "code_lang_breakdown": {"python": 234},
            "source_breakdown": {f"s{n}": n + 1 for n in range(10)},
        }

    def search(self, query: SearchQuery) -> SearchResponse:
        self._enter()
        self.queries.append(query)
        trace = Trace() if query.trace else None
        return SearchResponse(hits=self.hits[: query.k], corpus_revision=7, trace=trace)

    def schema(self) -> dict[str, Any]:
        self._enter()
        counts = wire.stats(self.counts, index_bytes={"duckdb": 1})
        models = {"index": "1"}
        return wire.schema_report(capabilities={"readonly": True}, models=models, counts=counts)

    def doctor(self, *, deep: bool = False) -> dict[str, Any]:
        self._enter()
        bad = {"name": "model", "ok": False, "detail": "missing", "hint": "run 'kebab models'"}
        return wire.doctor([{"name": "store", "ok": True, "detail": "version 1"}, bad])

    def _enter(self) -> None:
        self.threads.add(threading.get_ident())
        self.before()


def refuse(error: Exception) -> None:
    raise error


def client_of(kb: FakeKnowledgeBase, mode: Mode = "auto") -> Client:
    return Client(create_server(cast("KnowledgeBase", kb)), mode=mode, raise_exceptions=False)


async def call(kb: FakeKnowledgeBase, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    async with client_of(kb) as client:
        return await client.call_tool(tool, arguments)


def payload(result: types.CallToolResult, schema: str) -> dict[str, Any]:
    """Return the wire object of a result, after checking that all its forms agree."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    body: dict[str, Any] = result.structured_content
    assert json.loads(block.text) == body
    Draft202012Validator(closed_schema(schema)).validate(body)
    return body


async def test_the_tools_are_listed_in_the_order_of_their_use() -> None:
    async with client_of(FakeKnowledgeBase()) as client:
        listed = (await client.list_tools()).tools

    assert [(tool.name, tool.title) for tool in listed] == [
        ("search", "Search the knowledge base"),
        ("schema", "What the knowledge base holds"),
        ("doctor", "Check the knowledge base"),
    ]


async def test_the_list_of_tools_is_small() -> None:
    """Hosts read it before every conversation, and models pay for it by the token."""
    async with client_of(FakeKnowledgeBase()) as client:
        listed = await client.list_tools()

    dumped = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert len(dumped.encode()) < 25_000


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_when_to_use_it_and_when_not(name: str) -> None:
    description = TOOLS[name].definition.description or ""

    assert "Use it" in description
    assert "Do not use it" in description


@pytest.mark.parametrize("name", TOOLS)
def test_annotations_are_true_to_the_tool(name: str) -> None:
    hints = TOOLS[name].definition.annotations

    assert hints is not None
    assert (hints.read_only_hint, hints.idempotent_hint) == (True, True)
    assert (hints.destructive_hint, hints.open_world_hint) == (False, False)


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
    inputs = definition.input_schema["properties"].values()
    assert all(field["description"] for field in inputs)


def test_search_takes_every_input_of_the_command_line_under_its_name() -> None:
    assert list(TOOLS["search"].definition.input_schema["properties"]) == [
        "query",
        "mode",
        "k",
        "snippet_chars",
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
    kb = FakeKnowledgeBase()
    async with client_of(kb, mode) as client:
        first = client.instructions or ""
    kb.counts["doc_count"] = 99
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
    kb = FakeKnowledgeBase()
    kb.counts = {}
    async with client_of(kb) as client:
        assert "Nothing is indexed yet" in (client.instructions or "")


@pytest.mark.parametrize("error", [NotIndexed("no index", hint="run 'kebab ingest'"), OSError("x")])
async def test_the_handshake_survives_a_broken_knowledge_base(error: Exception) -> None:
    kb = FakeKnowledgeBase()
    kb.before = partial(refuse, error)
    async with client_of(kb, "legacy") as client:
        assert "Cite every claim" in (client.instructions or "")
        assert len((await client.list_tools()).tools) == len(TOOLS)


async def test_the_handshake_does_not_wait_for_a_slow_knowledge_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kb_mcp.server._HANDSHAKE_WAIT_S", 0.01)
    release = threading.Event()
    kb = FakeKnowledgeBase()
    kb.before = lambda: cast("None", release.wait(30))
    try:
        async with client_of(kb, "legacy") as client:
            assert (client.instructions or "").startswith("Call search")
    finally:
        release.set()


@pytest.mark.parametrize("mode", MODES)
async def test_search_answers_with_hits_as_the_wire_has_them(mode: Mode) -> None:
    kb = FakeKnowledgeBase()
    async with client_of(kb, mode) as client:
        result = await client.call_tool("search", {"query": "검색은 어떻게"})

    body = payload(result, "search_response")
    assert result.is_error is False
    assert body == wire.search_response(SearchResponse(hits=kb.hits, corpus_revision=7))
    assert body["hits"][0]["citation"]["uri"] == "노트/검색%20기록.md#L3-L7"


async def test_search_passes_everything_on() -> None:
    kb = FakeKnowledgeBase()
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
    asked = {"query": "q", "mode": "lexical", "k": 1.0, "snippet_chars": 60, "trace": True}

    body = payload(await call(kb, "search", {**asked, **filters}), "search_response")

    (query,) = kb.queries
    assert (query.text, query.mode, query.k, query.snippet_chars, query.trace) == (
        "q",
        "lexical",
        1,
        60,
        True,
    )
    single = {"trust_min", "ingested_after", "since", "until", "doc_id"}
    for name, value in filters.items():
        expected = value if name in single else tuple([value] if isinstance(value, str) else value)
        assert getattr(query.filters, name) == expected
    assert len(body["hits"]) == 1
    assert "trace" in body


async def test_defaults_are_those_of_the_query() -> None:
    kb = FakeKnowledgeBase()

    await call(kb, "search", {"query": "q", "tag": [], "since": None})

    assert kb.queries == [SearchQuery(text="q")]


async def test_no_hits_is_a_result() -> None:
    body = payload(await call(FakeKnowledgeBase(()), "search", {"query": "q"}), "search_response")

    assert body["hits"] == []


async def test_schema_answers() -> None:
    body = payload(await call(FakeKnowledgeBase(), "schema", {}), "schema")

    assert body["stats"]["doc_count"] == 1234


async def test_an_unhealthy_doctor_is_a_result() -> None:
    result = await call(FakeKnowledgeBase(), "doctor", {})

    assert payload(result, "doctor")["ok"] is False
    assert result.is_error is False


async def test_a_name_that_is_not_utf8_cannot_stop_the_server() -> None:
    lone = Citation("odd-\udcff.md", LineSpan(1, 1))
    kb = FakeKnowledgeBase((replace(KOREAN, doc_path="odd-\udcff.md", citation=lone),))
    async with client_of(kb, "legacy") as client:
        body = payload(await client.call_tool("search", {"query": "q"}), "search_response")

        assert body["hits"][0]["doc_path"] == "odd-\ufffd.md"
        assert len((await client.list_tools()).tools) == len(TOOLS)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({}, "parameter 'query' is missing", None),
        ({"query": ""}, "query '': string should have at least 1 character", None),
        ({"query": "  "}, "query '  ' is blank", "give at least one word"),
        ({"query": 7}, "query 7: input should be a valid string", None),
        ({"query": "q", "tags": "x"}, "unknown parameter 'tags'", "did you mean 'tag'?"),
        ({"query": "q", "limit": 3}, "unknown parameter 'limit'", "did you mean 'k'?"),
        ({"query": "q", "docId": "x"}, "unknown parameter 'docId'", "did you mean 'doc_id'?"),
        (
            {"query": "q", "mode": "hybird"},
            "mode 'hybird' is not 'hybrid', 'lexical' or 'vector'",
            "did you mean 'hybrid'?",
        ),
        ({"query": "q", "k": 0}, "k 0: input should be greater than or equal to 1", None),
        ({"query": "q", "k": 101}, "k 101: input should be less than or equal to 100", None),
        ({"query": "q", "k": "10"}, "k '10': input should be a valid integer", None),
        ({"query": "q", "k": 1.5}, "k 1.5: input should be a valid integer", None),
        ({"query": "q", "k": True}, "k True: input should be a valid integer", None),
        ({"query": "q", "trace": "yes"}, "trace 'yes': input should be a valid boolean", None),
        ({"query": "q", "tag": [1]}, "tag.0 1: input should be a valid string", None),
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
    kb = FakeKnowledgeBase()
    result = await call(kb, "search", arguments)

    body = payload(result, "error")
    assert result.is_error is True
    assert (body["code"], body["message"], body["hint"]) == ("invalid_input", message, hint)
    assert kb.queries == []


async def test_all_faults_are_told_at_once() -> None:
    result = await call(FakeKnowledgeBase(), "search", {"qeury": "q", "k": 0, "zzz": 1})

    body = payload(result, "error")
    assert [problem["field"] for problem in body["details"]["problems"]] == [
        "query",
        "k",
        "qeury",
        "zzz",
    ]
    assert body["hint"] == "did you mean 'query'?"


async def test_a_strange_name_is_answered_with_the_names_there_are() -> None:
    found = payload(await call(FakeKnowledgeBase(), "search", {"query": "q", "zzz": 1}), "error")
    none = payload(await call(FakeKnowledgeBase(), "doctor", {"deep": True}), "error")

    assert found["hint"].startswith("parameters are query, mode, k,")
    assert none["hint"] == "parameters are none"


@pytest.mark.parametrize("tool", TOOLS)
async def test_an_expected_failure_is_a_result_the_model_can_read(tool: str) -> None:
    kb = FakeKnowledgeBase()
    error = NotIndexed("there is no knowledge base yet", hint="run 'kebab ingest'")
    kb.before = partial(refuse, error)

    result = await call(kb, tool, {"query": "q"} if tool == "search" else {})

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
    kb = FakeKnowledgeBase()
    async with client_of(kb, mode) as client:
        kb.before = partial(refuse, error)
        result = await client.call_tool("search", {"query": "q"})
        kb.before = lambda: None
        alive = await client.call_tool("schema", {})

    body = payload(result, "error")
    assert body["code"] == getattr(error, "code", "internal")
    assert str(error) in body["message"]
    assert "Traceback" not in json.dumps(body)
    assert alive.is_error is False


@pytest.mark.parametrize("mode", MODES)
async def test_an_unknown_tool_is_a_fault_of_the_protocol(mode: Mode) -> None:
    async with client_of(FakeKnowledgeBase(), mode) as client:
        with pytest.raises(MCPError, match="unknown tool 'find'; tools are search") as caught:
            await client.call_tool("find", {})

    assert caught.value.code == types.INVALID_PARAMS


@pytest.mark.parametrize("mode", MODES)
async def test_a_slow_call_delays_no_other_and_can_be_cancelled(mode: Mode) -> None:
    release, started = threading.Event(), threading.Event()
    kb = FakeKnowledgeBase()

    def wait() -> None:
        started.set()
        release.wait(30)

    try:
        async with client_of(kb, mode) as client:
            kb.before = wait
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "search", {"query": "slow"})
                await anyio.to_thread.run_sync(started.wait, 20)
                kb.before = lambda: None
                with anyio.fail_after(20):
                    quick = await client.call_tool("search", {"query": "quick"})
                group.cancel_scope.cancel()
            with anyio.fail_after(20):
                after = await client.call_tool("search", {"query": "after"})
    finally:
        release.set()

    assert quick.is_error is False
    assert after.is_error is False


async def test_the_facade_is_never_called_on_the_thread_of_the_protocol() -> None:
    kb = FakeKnowledgeBase()
    async with client_of(kb, "legacy") as client:
        for tool in TOOLS:
            await client.call_tool(tool, {"query": "q"} if tool == "search" else {})

    assert kb.threads
    assert threading.get_ident() not in kb.threads
