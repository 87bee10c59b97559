"""The official tools of the protocol look at the server: inspector and conformance suite.

Both look at both forms of answers: text, as ``kebab integrate`` registers it, and objects.

Both are npm packages; ``tools/dev mcp-tools`` installs them, and without them these tests
are skipped. The inspector starts the server as hosts do, from the registration that
``kebab integrate`` writes. It and a server are started anew for each thing that it is asked,
so it is asked one of each kind; every tool is called by the client that it is made of, the
protocol's own for node, in one process. The conformance suite speaks HTTP alone, so the same
server object is put behind what ``kebab mcp --http`` has before it, on this machine. It
cannot send a token, so that is added on the way; names and origins are checked as they come.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.testing import closed_schema
from kb_core.wire import codebase_search_text

MODULES = Path(__file__).resolve().parents[1] / ".cache" / "mcp-tools" / "node_modules"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
NEEDED_NODE = 22
PATIENCE_SECS = 600
"""For one run of the inspector, whose own patience with a server is half a minute."""


def find_node() -> str | None:
    """Return the node that came with the tools, else one that is new enough."""
    name = f"node-{sys.platform}-{MACHINES.get(platform.machine(), platform.machine())}"
    own = MODULES / name / "bin" / "node"
    if own.is_file():
        return str(own)
    found = shutil.which("node")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    major = said.removeprefix("v").partition(".")[0]
    return found if major.isdigit() and int(major) >= NEEDED_NODE else None


NODE = find_node() if INSPECTOR.is_file() and CONFORMANCE.is_file() else None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None, reason="no MCP tools: run 'tools/dev mcp-tools'"),
]

Inspect: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return the command over two notes, indexed."""
    kebab = InstalledKebab(tmp_path_factory.mktemp("node"))
    kebab.configure(extra=f"[mcp]\ningest_roots = ['{kebab.home}']")
    kebab.write("locks.md", "# Locks\n\nA search stays readable while ingest runs.\n")
    kebab.write("tea.md", "# Tea\n\nGreen tea wants water of 70 degrees.\n")
    KebabHere(kebab.home).ingest()
    return kebab


# ------------------------------------------------------------------ inspector


def registered(kebab: InstalledKebab, form: str) -> str:
    """Return the file of a registration of the server that answers in *form*, made once."""
    file = kebab.home / f"{form}.json"
    if file.exists():
        return str(file)
    kebab.run("integrate", "claude-code", "--project", str(kebab.home), "--no-skill", "--write")
    written = (kebab.home / ".mcp.json").read_text("utf-8")
    assert '"text"' in written
    file.write_text(written.replace('"text"', f'"{form}"'), "utf-8")
    return str(file)


@pytest.fixture(scope="module")
def inspect(kebab: InstalledKebab) -> Inspect:
    """Return a function that runs the inspector's command line on a server of objects."""
    return inspector_of(kebab, "json")


@pytest.fixture(scope="module")
def read(kebab: InstalledKebab) -> Inspect:
    """Return a function that runs the inspector's command line on a server of text."""
    return inspector_of(kebab, "text")


def inspector_of(kebab: InstalledKebab, form: str) -> Inspect:
    registration = registered(kebab, form)
    environ = {**os.environ, "HOME": str(kebab.home), "MCP_INSPECTOR_SECRET_STORE": "memory"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(NODE), str(INSPECTOR), "--cli", "--config", registration]
        command += ["--connect-timeout", str(PATIENCE_SECS * 1000)]
        done = subprocess.run(
            [*command, "--server", "kebab", "--method", *words],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECS,
        )
        assert done.stdout, done.stderr
        return done

    return run


@pytest.mark.parametrize("form", ["inspect", "read"])
def test_the_inspector_finds_no_schema_that_hosts_reject(
    form: str, request: pytest.FixtureRequest
) -> None:
    done = request.getfixturevalue(form)("tools/list", "--strict")

    assert done.returncode == 0, done.stderr
    assert "0 errors" in done.stderr or " errors" not in done.stderr  # silent where all is well
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]][:2] == ["search", "ask"]


Calls: TypeAlias = "list[tuple[str, dict[str, Any]]]"

# What the inspector is made of, and the validator that it holds answers against.
CLIENT = """
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { readFileSync } from "node:fs";

const [file, calls] = JSON.parse(readFileSync(0, "utf-8"));
const { command, args, env } = JSON.parse(readFileSync(file, "utf-8")).mcpServers.kebab;
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env }));
const ajv = new AjvJsonSchemaValidator();
const schemas = {};
for (const tool of (await client.listTools()).tools) {
  schemas[tool.name] = tool.outputSchema && ajv.getValidator(tool.outputSchema);
}
const results = [];
for (const [method, given] of calls) {
  const result = await client[method](given);
  const held = result.structuredContent && schemas[given.name](result.structuredContent);
  results.push({ ...result, isValid: held ? held.valid : null });
}
await client.close();
console.log(JSON.stringify(results));
"""


def tool(name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "callTool", {"name": name, "arguments": given}


def called(kebab: InstalledKebab, form: str, calls: Calls) -> list[dict[str, Any]]:
    """Return what the client's methods answer, and of tools whether their schema allows it."""
    done = subprocess.run(
        [str(NODE), "--input-type=module", "--eval", CLIENT],
        cwd=MODULES,
        env={**os.environ, "HOME": str(kebab.home)},
        input=json.dumps([registered(kebab, form), calls]),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECS,
    )
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(results) == len(calls)
    return results


def arguments_of(doc_id: str, file: str) -> dict[str, tuple[dict[str, Any], str]]:
    """Return good arguments for every tool, and the wire object that comes back."""
    return {
        "search": ({"query": "readable", "mode": "lexical", "k": 1}, "search_response"),
        "fetch": ({"kind": "doc", "doc_id": doc_id}, "fetch_result"),
        "ask": ({"query": "readable"}, "answer"),
        "grep": ({"pattern": "tea"}, "grep_response"),
        "bulk_search": ({"queries": [{"query": "tea"}, {"kk": 1}]}, "bulk_search_response"),
        "codebase_search": ({"queries": ["tea", "locks"]}, "codebase_search_response"),
        "similar": ({"origin": "tea.md", "k": 1}, "search_response"),
        "list_docs": ({"limit": 1}, "doc_summary_list"),
        "links": ({"doc": "tea.md"}, "link_list"),
        "cite_verify": ({"citations": ["tea.md#L3"]}, "citation_check"),
        "explain_miss": ({"query": "readable", "doc": "tea.md"}, "explain_miss"),
        "schema": ({}, "schema"),
        "status": ({"state": "indexed", "limit": 1}, "file_status"),
        "doctor": ({}, "doctor"),
        "ingest_file": ({"path": file}, "ingest_report"),
        "ingest_stdin": ({"content": "loose words", "title": "Loose"}, "ingest_report"),
        "wait_for_fresh": ({"paths": ["tea.md"]}, "file_status"),
    }


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "x", "kk": 1}, "invalid_input"),
    ("fetch", {"kind": "chunk", "chunk_id": "0" * 32}, "chunk_not_found"),
    ("explain_miss", {"query": "x"}, "invalid_input"),
    ("ingest_file", {"path": "/no/such/file"}, "invalid_input"),
]


def test_the_client_of_the_inspector_calls_every_tool(kebab: InstalledKebab) -> None:
    """Every answer is held against the output schema of the tool, and errors are none."""
    from kb_mcp.tools import TOOLS

    doc_id = KebabHere(kebab.home).json("list", "docs")["items"][0]["doc_id"]
    outside = kebab.home / "outside.md"
    outside.write_text("# Outside\n", "utf-8")
    asked = arguments_of(doc_id, str(outside))
    assert asked.keys() == TOOLS.keys()

    good = [tool(name, given) for name, (given, _) in asked.items()]
    results = called(kebab, "json", [*good, *(tool(name, given) for name, given, _ in WRONG)])

    for (name, (_, wire)), result in zip(asked.items(), results, strict=False):
        assert result.get("isError", False) is False, result
        assert result["isValid"] is True, result
        body = result["structuredContent"]
        Draft202012Validator(closed_schema(wire)).validate(body)
        text = result["content"][0]["text"]
        is_prose = name == "codebase_search"
        assert codebase_search_text(body) == text if is_prose else json.loads(text) == body
    for (_, _, code), result in zip(WRONG, results[len(asked) :], strict=True):
        assert result["isError"] is True
        assert json.loads(result["content"][0]["text"])["code"] == code


def test_the_client_of_the_inspector_is_told_text_alone(kebab: InstalledKebab) -> None:
    asked: Calls = [
        tool("search", {"query": "readable", "mode": "lexical", "k": 1}),
        tool("fetch", {"path": "tea.md", "lines": "3"}),
        tool("codebase_search", {"queries": ["tea", "locks"]}),
        tool("list_docs", {"path_glob": "*.md", "limit": 1}),
        tool("grep", {"pattern": "water"}),
        tool("search", {"query": "x", "kk": 1}),
    ]
    *results, wrong = called(kebab, "text", asked)

    for result in results:
        assert result.get("isError", False) is False, result
        assert "structuredContent" not in result
        assert not result["content"][0]["text"].startswith("{")
    assert wrong["isError"] is True
    assert wrong["content"][0]["text"].startswith("error invalid_input: ")


@pytest.mark.parametrize(
    ("name", "pairs", "wire"),
    [
        ("doctor", [], "doctor"),
        ("search", ["query=readable", "mode=lexical", "k=1"], "search_response"),
        ("bulk_search", ['queries=[{"query": "tea"}, {"kk": 1}]'], "bulk_search_response"),
        ("search", ["query=x", "kk=1"], None),
    ],
)
def test_the_inspector_calls_a_tool_with_every_kind_of_argument(
    inspect: Inspect, name: str, pairs: list[str], wire: str | None
) -> None:
    """None, plain ones, nested ones and a wrong one; it makes them of words, by the schema."""
    done = inspect("tools/call", "--tool-name", name, *(["--tool-arg", *pairs] if pairs else []))
    result = json.loads(done.stdout)

    assert result["isError"] is (wire is None), done.stdout
    told = json.loads(result["content"][0]["text"])
    if wire is None:
        assert told["code"] == "invalid_input"
    else:
        assert told == result["structuredContent"]
        Draft202012Validator(closed_schema(wire)).validate(told)


def test_the_inspector_reads_an_answer_of_text_alone(read: Inspect) -> None:
    done = read("tools/call", "--tool-name", "fetch", "--tool-arg", "path=tea.md", "lines=3")
    result = json.loads(done.stdout)

    assert result.get("isError", False) is False, done.stdout
    assert "structuredContent" not in result
    assert not result["content"][0]["text"].startswith("{")


def test_the_inspector_reads_resources_and_prompts(inspect: Inspect, kebab: InstalledKebab) -> None:
    """What there is, its client lists; the inspector itself is asked what it makes of words."""
    lists: Calls = [("listResources", {}), ("listResourceTemplates", {}), ("listPrompts", {})]
    resources, templates, prompts = called(kebab, "json", lists)
    uri = next(found["uri"] for found in resources["resources"] if found["name"] == "tea.md")
    (contents,) = json.loads(inspect("resources/read", "--uri", uri).stdout)["contents"]
    words = ("--prompt-name", "answer-with-sources", "--prompt-args", "question=why")
    prompt = json.loads(inspect("prompts/get", *words).stdout)

    assert contents["text"] == "# Tea\n\nGreen tea wants water of 70 degrees.\n"
    assert {found["uriTemplate"] for found in templates["resourceTemplates"]} == {
        "kebab://doc/{doc_id}",
        "kebab://chunk/{chunk_id}",
    }
    assert "answer-with-sources" in {found["name"] for found in prompts["prompts"]}
    assert "\nwhy\n" in prompt["messages"][0]["content"]["text"]


# ---------------------------------------------------------------- conformance

# The suite's tool scenarios call tools by names of their own. Three of them are planted, so
# that answers, errors and progress go the way that ours go.
SERVER = """
import socket, sys
from dataclasses import replace
from pathlib import Path
import uvicorn
from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.errors import InvalidInput
import kb_mcp._calls
from kb_mcp._http import Place, create_app
from kb_mcp._tool import Form
from kb_mcp.tools import TOOLS
from kb_mcp.server import create_server

TOKEN = "x" * 40

kb_mcp._calls.BEAT_S = 0.05

def wrong(call):
    raise InvalidInput("this is an error")

def slow(call):
    call.stop.wait(1)
    return call.kb.doctor()

def planted(name, call):
    definition = TOOLS["doctor"].definition.model_copy(update={"name": name})
    return replace(TOOLS["doctor"], definition=definition, call=call, tell=None)

tools = dict(TOOLS)
for name, call in {
    "test_simple_text": TOOLS["doctor"].call,
    "test_error_handling": wrong,
    "test_tool_with_progress": slow,
}.items():
    tools[name] = planted(name, call)

kb = KnowledgeBase.open(load_config(Path(sys.argv[1])), readonly=True)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
place = Place(*listener.getsockname())
print(place.port, flush=True)
guarded = create_app(create_server(kb, tools, form=Form(sys.argv[2])), TOKEN, place)

async def app(scope, receive, send):
    if scope["type"] == "http":
        token = (b"authorization", b"Bearer " + TOKEN.encode())
        scope = {**scope, "headers": [*scope["headers"], token]}
    await guarded(scope, receive, send)

uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
"""

SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]
"""Those that can apply: the others want completion, logging, sampling, elicitation or
subscriptions, which the server does not offer, or fixtures with fixed names and contents."""


@pytest.fixture(scope="module", params=["json", "text"])
def suite(
    kebab: InstalledKebab, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """Run the suite once, over one server; return the folder of its checks and what it said."""
    words = [sys.executable, "-c", SERVER, str(kebab.config), request.param]
    folder = tmp_path_factory.mktemp("suite")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
            done = subprocess.run(
                [str(NODE), str(CONFORMANCE), "server", "--url", address, "-o", str(folder)],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,  # those that cannot apply fail
                timeout=PATIENCE_SECS,
            )
        finally:
            process.terminate()
    return folder, done.stdout + done.stderr


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_passes(scenario: str, suite: tuple[Path, str]) -> None:
    folder, said = suite
    files = list(folder.glob(f"server-{scenario}-[0-9]*/checks.json"))
    checks: list[dict[str, Any]] = [c for file in files for c in json.loads(file.read_text())]

    assert f"\N{CHECK MARK} {scenario}: " in said, said
    assert checks
    assert {check["status"] for check in checks} <= {"SUCCESS", "INFO"}
    assert "SUCCESS" in {check["status"] for check in checks}
