"""Every tool of ``kebab mcp`` from outside: the SDK's client, real pipes, a real index.

Good, bad and unknown arguments; structured content that is its text, the schema that the
tool declares and the published one; and the same object that the command line prints.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from kb_app.config import load_config
from kb_app.testing.parts import open_here
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.testing import closed_schema
from kb_core.wire import codebase_search_text
from kb_mcp.testing import client_of as client_of_server

NOTE = """\
---
title: Locks
tags: [storage, search]
date: 2026-03-04
---
# Locks

A search stays readable while ingest runs.

## Writers

One writer at a time; the second is told who holds the lock.
"""


@dataclass(frozen=True)
class Same:
    """A question that the command line and a tool answer alike; what ``$doc`` is, ``ids`` says."""

    words: str
    tool: str
    arguments: dict[str, Any]
    wire: str
    stdin: str = ""

    def __str__(self) -> str:
        return self.words


_PARSE = {"pattern": "parse", "word": True, "path": "code", "files_only": True}
_PLACES = {"places": ["locks.md:3", "parse.py"]}
QUERIES: list[dict[str, Any]] = [
    {"query": "readable"},
    {"query": "lock", "mode": "lexical", "tag": "storage", "k": 3},
    {"query": "x", "limit": 3},
    {"k": 3},
]

SAME = [
    Same("search readable", "search", {"query": "readable"}, "search_response"),
    Same(
        "search lock -k 1 --mode lexical --snippet-chars 60 --tag storage --since 2026-01-01",
        "search",
        {
            "query": "lock",
            "k": 1,
            "mode": "lexical",
            "snippet_chars": 60,
            "tag": "storage",
            "since": "2026-01-01",
        },
        "search_response",
    ),
    Same(
        "search 형태소 --path-glob 노트/** --lang ko --media markdown --source notes",
        "search",
        {
            "query": "형태소",
            "path_glob": ["노트/**"],
            "lang": "ko",
            "media": ["markdown"],
            "source": "notes",
        },
        "search_response",
    ),
    Same("search zzz", "search", {"query": "zzz"}, "search_response"),
    Same(
        "search lock --max-tokens 400 --no-rerank -k 2",
        "search",
        {"query": "lock", "max_tokens": 400, "rerank": False, "k": 2},
        "search_response",
    ),
    Same(
        "search --bulk --aggregate -k 3 --max-tokens 2000",
        "bulk_search",
        {"queries": QUERIES, "aggregate": True, "k": 3, "max_tokens": 2000},
        "bulk_search_response",
        stdin="\n".join(map(json.dumps, QUERIES)),
    ),
    Same(
        "codebase-search",
        "codebase_search",
        {"query": "how is text parsed"},
        "codebase_search_response",
        stdin='{"query": "how is text parsed"}',
    ),
    Same(
        "codebase-search parse split --path code --max-results 3",
        "codebase_search",
        {"queries": ["parse", {"query": "split"}], "path": "code", "maxResults": 3},
        "codebase_search_response",
    ),
    Same(
        "codebase-search xyzzy", "codebase_search", {"query": "xyzzy"}, "codebase_search_response"
    ),
    Same(
        "similar locks.md -k 2 --snippet-chars 60 --max-tokens 900 --source notes",
        "similar",
        {
            "origin": "locks.md",
            "k": 2,
            "snippet_chars": 60,
            "max_tokens": 900,
            "source": ["notes"],
        },
        "search_response",
    ),
    Same("similar $chunk", "similar", {"origin": "$chunk"}, "search_response"),
    Same(
        "explain-miss --doc code/parse.py lock --mode lexical -k 1 --media markdown",
        "explain_miss",
        {
            "query": "lock",
            "doc": "code/parse.py",
            "mode": "lexical",
            "k": 1,
            "media": ["markdown"],
        },
        "explain_miss",
    ),
    Same(
        "explain-miss --doc never.md lock",
        "explain_miss",
        {"query": "lock", "doc": "never.md"},
        "explain_miss",
    ),
    Same(
        "cite verify locks.md#L6-L9 code/parse.py#L1-L2 --source notes",
        "cite_verify",
        {"citations": ["locks.md#L6-L9", {"uri": "code/parse.py#L1-L2"}], "source": "notes"},
        "citation_check",
    ),
    Same("ingest-file $file", "ingest_file", {"path": "$file"}, "ingest_report"),
    Same(
        "ingest-stdin --title Loose --source-uri https://example.org/loose --media text",
        "ingest_stdin",
        {
            "content": "loose words",
            "title": "Loose",
            "source_uri": "https://example.org/loose",
            "media": "text",
        },
        "ingest_report",
        stdin="loose words",
    ),
    Same("ask readable", "ask", {"query": "readable"}, "answer"),
    Same("grep readable -C 1", "grep", {"pattern": "readable", "context": 1}, "grep_response"),
    Same("grep -l -w parse code", "grep", _PARSE, "grep_response"),
    Same("grep xyzzy", "grep", {"pattern": "xyzzy"}, "grep_response"),
    Same("fetch locks.md:2-4", "fetch", {"path": "locks.md", "lines": "2-4"}, "fetch_result"),
    Same("fetch locks.md:3 parse.py", "fetch", _PLACES, "fetch_results"),
    Same("fetch outline locks.md", "fetch", {"path": "locks.md", "outline": True}, "outline"),
    Same(
        "fetch chunk $chunk --context 2",
        "fetch",
        {"kind": "chunk", "chunk_id": "$chunk", "context": 2},
        "fetch_result",
    ),
    Same(
        "fetch doc $doc --max-tokens 9",
        "fetch",
        {"kind": "doc", "doc_id": "$doc", "max_tokens": 9},
        "fetch_result",
    ),
    Same(
        "fetch span $doc 6 9",
        "fetch",
        {"kind": "span", "doc_id": "$doc", "line_start": 6, "line_end": 9},
        "fetch_result",
    ),
    Same("list docs", "list_docs", {}, "doc_summary_list"),
    Same(
        "list docs --limit 1 --offset 1 --trust-min primary",
        "list_docs",
        {"limit": 1, "offset": 1, "trust_min": "primary"},
        "doc_summary_list",
    ),
    Same("list backlinks locks.md", "links", {"doc": "locks.md"}, "link_list"),
    Same(
        "list links locks.md --limit 1 --offset 1",
        "links",
        {"doc": "locks.md", "direction": "out", "limit": 1, "offset": 1},
        "link_list",
    ),
    Same("schema", "schema", {}, "schema"),
    Same("status", "status", {}, "file_status"),
    Same(
        "status *.md --state indexed --changed-since 2020-01-01",
        "status",
        {"path_glob": "*.md", "state": "indexed", "changed_since": "2020-01-01"},
        "file_status",
    ),
    Same("doctor", "doctor", {}, "doctor"),
]

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("search", {}, "invalid_input"),
    ("search", {"query": "x", "limit": 3}, "invalid_input"),
    ("search", {"query": "x", "since": "yesterday-ish"}, "invalid_input"),
    ("search", {"query": "x", "k": 0}, "invalid_input"),
    ("search", {"query": "readable", "max_tokens": 20}, "invalid_input"),
    ("search", {"query": "readable", "cursor": "none of ours"}, "stale_cursor"),
    ("search", {"query": "x", "deadline_ms": 0}, "invalid_input"),
    ("bulk_search", {"queries": [{"query": "x"}] * 101}, "invalid_input"),
    ("bulk_search", {"queries": [{"query": "x"}], "k": 9}, "invalid_input"),
    ("bulk_search", {"queries": ["x"]}, "invalid_input"),
    ("bulk_search", {"query": "x"}, "invalid_input"),
    ("codebase_search", {}, "invalid_input"),
    ("codebase_search", {"query": "x", "path": "../etc"}, "invalid_input"),
    ("codebase_search", {"query": "x", "path": "/etc"}, "invalid_input"),
    ("codebase_search", {"query": "x", "max_results": 3}, "invalid_input"),
    ("codebase_search", {"queries": [str(n) for n in range(101)]}, "invalid_input"),
    ("similar", {"origin": "never.md"}, "doc_not_found"),
    ("similar", {"origin": ""}, "invalid_input"),
    ("similar", {"doc_id": "$doc"}, "invalid_input"),
    ("explain_miss", {"query": "x"}, "invalid_input"),
    ("explain_miss", {"query": "x", "doc": " "}, "invalid_input"),
    ("explain_miss", {"query": "x", "doc": "a.md", "tags": "x"}, "invalid_input"),
    ("cite_verify", {"citations": []}, "invalid_input"),
    ("cite_verify", {"citations": [7]}, "invalid_input"),
    ("cite_verify", {"citations": ["no citation"], "uri": "x"}, "invalid_input"),
    ("ingest_file", {"path": "/no/such/file.md"}, "invalid_input"),
    ("ingest_file", {"path": "/"}, "invalid_input"),
    ("ingest_file", {"path": "/etc/passwd"}, "invalid_input"),
    ("ingest_file", {"file": "$file"}, "invalid_input"),
    ("ingest_stdin", {"content": " ", "title": "X"}, "invalid_input"),
    ("ingest_stdin", {"content": "x", "title": ""}, "invalid_input"),
    ("ingest_stdin", {"content": "x", "title": "X", "media": "pdf"}, "invalid_input"),
    ("ask", {"query": " "}, "invalid_input"),
    ("ask", {"query": "x", "k": 0}, "invalid_input"),
    ("fetch", {"kind": "chunk"}, "invalid_input"),
    ("fetch", {"kind": "chunk", "chunk_id": "0" * 32}, "chunk_not_found"),
    ("fetch", {"kind": "doc", "doc_id": "0" * 32}, "doc_not_found"),
    ("fetch", {"kind": "doc", "doc_id": "no id"}, "doc_not_found"),
    (
        "fetch",
        {"kind": "span", "doc_id": "$doc", "line_start": 5, "line_end": 2},
        "invalid_input",
    ),
    ("fetch", {"path": "locks.md", "lines": "x"}, "invalid_input"),
    ("fetch", {"path": "nowhere.md", "outline": True}, "doc_not_found"),
    ("fetch", {"places": []}, "invalid_input"),
    ("grep", {"pattern": "("}, "invalid_input"),
    ("grep", {"pattern": "x", "source": "nope"}, "invalid_input"),
    ("list_docs", {"limit": 0}, "invalid_input"),
    ("list_docs", {"tags": ["x"]}, "invalid_input"),
    ("links", {"doc": "never.md"}, "doc_not_found"),
    ("links", {"doc": "locks.md", "direction": "up"}, "invalid_input"),
    ("schema", {"x": 1}, "invalid_input"),
    ("status", {"state": "lost"}, "invalid_input"),
    ("status", {"limit": 0}, "invalid_input"),
    ("doctor", {"deep": True}, "invalid_input"),
    ("wait_for_fresh", {"paths": []}, "invalid_input"),
    ("wait_for_fresh", {"paths": ["/nowhere.md"]}, "invalid_input"),
]
"""Each tool with what it cannot take, and the code it answers with."""


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return the command over a few files, indexed; one of them skipped."""
    kebab = KebabHere(tmp_path_factory.mktemp("outside"))
    kebab.configure(extra=f"[mcp]\ningest_roots = ['{kebab.home}']\ntrust_level = 'primary'")
    kebab.write("locks.md", NOTE)
    kebab.write("노트/검색 #1.md", "# 검색\n\n한국어 형태소와 바이그램을 함께 찾는다.\n")
    kebab.write("code/parse.py", "def parse(text):\n    return text.split()\n")
    (kebab.notes / "blob.bin").write_bytes(bytes(range(256)) * 8)
    kebab.ingest()
    (kebab.home / "outside.md").write_text("# Outside\n\nNo source has this.\n", "utf-8")
    for same in SAME:
        if same.tool.startswith("ingest"):  # so that asking again is the same question
            printed(kebab, same, {"$file": str(kebab.home / "outside.md")})
    return kebab


@pytest.fixture(scope="module")
def ids(kebab: InstalledKebab) -> dict[str, str]:
    """Return what ``$doc``, ``$chunk`` and ``$file`` stand for."""
    hit = kebab.json("search", "readable")["hits"][0]
    file = str(kebab.home / "outside.md")
    return {"$doc": hit["doc_id"], "$chunk": hit["chunk_id"], "$file": file}


def printed(kebab: InstalledKebab, same: Same, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return what the command line prints for the question."""
    words = [ids.get(word, word) for word in same.words.split()]
    body: dict[str, Any] = kebab.json(*words, given=same.stdin)
    return body


def client_of(kebab: InstalledKebab) -> Client:
    command, *words = kebab.command("mcp")
    parameters = StdioServerParameters(command=command, args=words, env=dict(os.environ))
    return Client(stdio_client(parameters))


@asynccontextmanager
async def client_here(kebab: InstalledKebab) -> AsyncGenerator[Client]:
    """Give the client of a server in this process: pipes are what others show."""
    with open_here(load_config(kebab.config)) as kb:
        async with client_of_server(kb) as client:
            yield client


def body_of(result: CallToolResult, wire: str) -> dict[str, Any]:
    """Return the wire object, after checking that its forms are the same and that it is valid."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    if wire == "codebase_search_response":
        body: dict[str, Any] = result.structured_content
        assert block.text == codebase_search_text(body)
    else:
        body = json.loads(block.text)
        assert result.structured_content == (None if result.is_error else body)
    Draft202012Validator(closed_schema(wire)).validate(body)
    return body


def put_ids(arguments: dict[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: ids.get(value, value) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def without_chance(body: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Leave out what differs between two moments: free bytes of a disk, and time."""
    text = re.sub(r"[\d,]+ MB free", "MB free", json.dumps(body))
    text = re.sub(r'("created_at"): "[^"]+"', r"\1: null", text) if '"usage"' in text else text
    return json.loads(re.sub(r'(_ms"): \d+', r"\1: 0", text))


def test_every_tool_is_asked_something_good_and_something_bad() -> None:
    from kb_mcp.tools import TOOLS

    assert {tool for tool, _, _ in BAD} == TOOLS.keys()
    # A person who waits for a file ingests it.
    assert {same.tool for same in SAME} == TOOLS.keys() - {"wait_for_fresh"}


async def test_the_command_line_and_every_tool_say_the_same(
    kebab: InstalledKebab, ids: dict[str, str]
) -> None:
    async with client_of(kebab) as client:
        declared = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for same in SAME:
            result = await client.call_tool(same.tool, put_ids(same.arguments, ids))
            body = body_of(result, same.wire)

            assert result.is_error is False, same
            Draft202012Validator(declared[same.tool] or {}).validate(body)
            assert without_chance(body) == without_chance(printed(kebab, same, ids)), same


async def test_every_tool_tells_what_it_cannot_take(
    kebab: InstalledKebab, ids: dict[str, str]
) -> None:
    async with client_of(kebab) as client:
        for tool, arguments, code in BAD:
            result = await client.call_tool(tool, put_ids(arguments, ids))

            assert result.is_error is True, (tool, arguments)
            assert body_of(result, "error")["code"] == code, (tool, arguments)


async def test_resources_are_the_documents_and_verbatim(kebab: InstalledKebab) -> None:
    async with client_here(kebab) as client:
        listed = (await client.list_resources()).resources
        read = {found.name: (await client.read_resource(found.uri)).contents for found in listed}

    texts = {name: getattr(contents, "text", None) for name, (contents,) in read.items()}
    files = [str(kebab.home / "outside.md"), "code/parse.py", "locks.md", "노트/검색 #1.md"]
    assert texts.pop("https://example.org/loose") == "loose words"
    assert texts == {name: (kebab.notes / name).read_text("utf-8") for name in files}
    assert list(texts) == files


async def test_code_reads_the_same_on_the_command_line(kebab: InstalledKebab) -> None:
    async with client_here(kebab) as client:
        result = await client.call_tool("codebase_search", {"queries": ["parse", "split"]})

    (block,) = result.content
    assert kebab.run("codebase-search", "parse", "split").stdout == f"{block.text}\n"  # type: ignore[union-attr]


async def test_what_a_tool_adds_is_found_by_the_next_call(tmp_path: Path) -> None:
    """Also by the first tool of a knowledge base that nobody has made yet."""
    kebab = KebabHere(tmp_path)
    async with client_here(kebab) as client:
        added = await client.call_tool(
            "ingest_stdin", {"content": "# Tea\n\nGentle water.\n", "title": "Tea"}
        )
        again = await client.call_tool(
            "ingest_stdin", {"content": "# Tea\n\nBoiling water.\n", "title": "Tea"}
        )
        found = await client.call_tool("search", {"query": "water"})

    assert (added.structured_content["new"], again.structured_content["updated"]) == (1, 1)
    assert [hit["snippet"] for hit in found.structured_content["hits"]] == [
        "# Tea\n\nBoiling water."
    ]


async def test_a_cursor_goes_on_until_its_list_changes(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    for number in range(6):
        kebab.write(f"{number}.md", f"Water{' and tea' * number}.\n")
    kebab.ingest()
    async with client_here(kebab) as client:
        whole = await client.call_tool("search", {"query": "water"})
        asked: dict[str, Any] = {"query": "water", "k": 2}
        pages = [await client.call_tool("search", asked)]
        kebab.ingest()
        asked["cursor"] = pages[-1].structured_content["next_cursor"]
        pages.append(await client.call_tool("search", asked))
        await client.call_tool("ingest_stdin", {"content": "Water.", "title": "Water"})
        asked["cursor"] = pages[-1].structured_content["next_cursor"]
        refused = await client.call_tool("search", asked)

    found = [hit for page in pages for hit in page.structured_content["hits"]]
    assert found == whole.structured_content["hits"][:4]
    error = body_of(refused, "error")
    assert (error["code"], error["details"]["reason"]) == ("stale_cursor", "revision")
    assert "before documents changed" in error["message"]


async def test_two_tools_that_write_at_once_wait_for_each_other(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    config = kebab.config.read_text("utf-8")
    patient = config.replace("[storage]", "[storage]\nlock_wait_secs = 600")
    kebab.config.write_text(patient, "utf-8")
    results: list[CallToolResult] = []
    async with client_here(kebab) as client:

        async def add(number: int) -> None:
            asked = {"content": f"# Note {number}", "title": str(number)}
            results.append(await client.call_tool("ingest_stdin", asked))

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(add, number)
        listed = await client.call_tool("list_docs", {})

    assert [result.is_error for result in results] == [False] * 3
    assert listed.structured_content["total"] == 3


async def test_the_ledger_comes_in_pages(kebab: InstalledKebab) -> None:
    whole = kebab.json("status")
    pages = []
    async with client_here(kebab) as client:
        for offset in range(0, whole["total"] + 2, 2):
            page = await client.call_tool("status", {"limit": 2, "offset": offset})
            pages.append(page.structured_content)

    assert [file for page in pages for file in page["files"]] == whole["files"]
    assert {page["total"] for page in pages} == {whole["total"]} == {len(whole["files"])}
    assert all(page["coverage"] == whole["coverage"] for page in pages)


# ------------------------------------------------------------------ read-only


@pytest.fixture(params=["--readonly", "mcp.readonly"])
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> InstalledKebab:
    """Return a command whose server is read-only, by option or by configuration."""
    kebab = KebabHere(tmp_path)
    kebab.write("locks.md", NOTE)
    kebab.ingest()
    if request.param == "mcp.readonly":
        kebab.configure(extra="[mcp]\nreadonly = true")
    else:
        kebab.command = lambda *words: [*InstalledKebab.command(kebab, "--readonly"), *words]  # type: ignore[method-assign]
    return kebab


def states(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return size, time and bytes of every file, and that of every folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder).as_posix()] = (status.st_mode, status.st_mtime_ns, content)
    return found


def attempts() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((same.tool, same.arguments) for same in SAME)
    yield from ((tool, arguments) for tool, arguments, _ in BAD)


async def test_read_only_changes_no_byte_of_the_data_directory(guarded: InstalledKebab) -> None:
    hit = guarded.json("search", "readable")["hits"][0]
    ids = {"$doc": hit["doc_id"], "$chunk": hit["chunk_id"]}
    before = states(guarded.data_dir)

    async with client_of(guarded) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
        for tool_name, arguments in attempts():
            with suppress(MCPError):  # a tool that is not there
                await client.call_tool(tool_name, put_ids(arguments, ids))
        for found in (await client.list_resources()).resources:
            await client.read_resource(found.uri)
        await client.read_resource(f"kebab://chunk/{ids['$chunk']}")
        await client.get_prompt("answer-with-sources", {"question": "x"})

    assert states(guarded.data_dir) == before


async def test_a_configured_log_gets_names_and_times_and_no_question(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    other = KebabHere(tmp_path)
    other.configure(extra=f'[log]\nlevel = "info"\ndir = "{tmp_path / "log"}"')
    other.write("a.md", "# A\n\nsecret\n")
    other.ingest()
    async with client_of(other) as client:
        await client.call_tool("search", {"query": "secret"})

    written = "".join(file.read_text("utf-8") for file in (tmp_path / "log").iterdir())
    assert re.search(r"INFO kb_mcp\._calls: search: answered in \d+ ms\n", written)
    assert "secret" not in written
