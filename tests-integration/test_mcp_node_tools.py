"""The official tools of the protocol look at the server: inspector and conformance suite.

Both look at both forms of answers: text, as ``kebab integrate`` registers it, and objects.

Both are npm packages; ``tools/dev mcp-tools`` installs them, and without them these tests
are skipped. The inspector starts the server as hosts do, from the registration that
``kebab integrate`` writes. The conformance suite speaks HTTP alone, so the same server
object is put behind what ``kebab mcp --http`` has before it, on this machine. It cannot send
a token, so that is added on the way; names and origins are checked as they come.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from jsonschema import Draft202012Validator

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
    kebab.ingest()
    return kebab


# ------------------------------------------------------------------ inspector


def registered(kebab: InstalledKebab, form: str) -> str:
    """Return the file of a registration of the server that answers in *form*."""
    kebab.run("integrate", "claude-code", "--project", str(kebab.home), "--no-skill", "--write")
    written = (kebab.home / ".mcp.json").read_text("utf-8")
    assert '"text"' in written
    file = kebab.home / f"{form}.json"
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


def arguments_of(doc_id: str, file: str) -> dict[str, tuple[list[str], str]]:
    """Return good arguments for every tool, and the wire object that comes back."""
    return {
        "search": (["query=readable", "mode=lexical", "k=1"], "search_response"),
        "fetch": (["kind=doc", f"doc_id={doc_id}"], "fetch_result"),
        "ask": (["query=readable"], "answer"),
        "grep": (["pattern=tea"], "grep_response"),
        "bulk_search": (['queries=[{"query": "tea"}, {"kk": 1}]'], "bulk_search_response"),
        "codebase_search": (['queries=["tea", "locks"]'], "codebase_search_response"),
        "similar": (["origin=tea.md", "k=1"], "search_response"),
        "list_docs": (["limit=1"], "doc_summary_list"),
        "cite_verify": (['citations=["tea.md#L3"]'], "citation_check"),
        "explain_miss": (["query=readable", "doc=tea.md"], "explain_miss"),
        "schema": ([], "schema"),
        "status": (["state=indexed", "limit=1"], "file_status"),
        "doctor": ([], "doctor"),
        "ingest_file": ([f"path={file}"], "ingest_report"),
        "ingest_stdin": (["content=loose words", "title=Loose"], "ingest_report"),
        "wait_for_fresh": (['paths=["tea.md"]'], "file_status"),
    }


def test_the_inspector_calls_every_tool(inspect: Inspect, kebab: InstalledKebab) -> None:
    """It holds every answer against the output schema of the tool, errors included."""
    from kb_mcp.tools import TOOLS

    doc_id = kebab.json("list", "docs")["items"][0]["doc_id"]
    outside = kebab.home / "outside.md"
    outside.write_text("# Outside\n", "utf-8")
    asked = arguments_of(doc_id, str(outside))
    assert asked.keys() == TOOLS.keys()

    for tool, (pairs, wire) in asked.items():
        good = inspect(
            "tools/call", "--tool-name", tool, *(["--tool-arg", *pairs] if pairs else [])
        )
        result = json.loads(good.stdout)
        assert result["isError"] is False, good.stdout
        body = result["structuredContent"]
        Draft202012Validator(closed_schema(wire)).validate(body)
        text = result["content"][0]["text"]
        is_prose = tool == "codebase_search"
        assert codebase_search_text(body) == text if is_prose else json.loads(text) == body


@pytest.mark.parametrize(
    ("tool", "pairs", "code"),
    [
        ("search", ["query=x", "kk=1"], "invalid_input"),
        ("fetch", ["kind=chunk", f"chunk_id={'0' * 32}"], "chunk_not_found"),
        ("explain_miss", ["query=x"], "invalid_input"),
        ("ingest_file", ["path=/no/such/file"], "invalid_input"),
    ],
)
def test_the_inspector_is_told_what_is_wrong(
    inspect: Inspect, tool: str, pairs: list[str], code: str
) -> None:
    done = inspect("tools/call", "--tool-name", tool, "--tool-arg", *pairs)
    result = json.loads(done.stdout)

    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["code"] == code


def test_the_inspector_is_told_text_alone(read: Inspect) -> None:
    asked = {
        "search": ["query=readable", "mode=lexical", "k=1"],
        "fetch": ["path=tea.md", "lines=3"],
        "codebase_search": ['queries=["tea", "locks"]'],
        "list_docs": ["path_glob=*.md", "limit=1"],
        "grep": ["pattern=water"],
    }
    for tool, pairs in asked.items():
        done = read("tools/call", "--tool-name", tool, "--tool-arg", *pairs)
        result = json.loads(done.stdout)
        assert result.get("isError", False) is False, done.stdout
        assert "structuredContent" not in result
        assert not result["content"][0]["text"].startswith("{")

    wrong = read("tools/call", "--tool-name", "search", "--tool-arg", "query=x", "kk=1")
    assert json.loads(wrong.stdout)["content"][0]["text"].startswith("error invalid_input: ")


def test_the_inspector_reads_resources_and_prompts(inspect: Inspect) -> None:
    listed = json.loads(inspect("resources/list").stdout)["resources"]
    uri = next(found["uri"] for found in listed if found["name"] == "tea.md")
    (contents,) = json.loads(inspect("resources/read", "--uri", uri).stdout)["contents"]
    templates = json.loads(inspect("resources/templates/list").stdout)["resourceTemplates"]
    words = ("--prompt-name", "answer-with-sources", "--prompt-args", "question=why")
    prompt = json.loads(inspect("prompts/get", *words).stdout)

    assert contents["text"] == "# Tea\n\nGreen tea wants water of 70 degrees.\n"
    assert {found["uriTemplate"] for found in templates} == {
        "kebab://doc/{doc_id}",
        "kebab://chunk/{chunk_id}",
    }
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
def address(kebab: InstalledKebab, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return where the server is for as long as these tests run."""
    words = [sys.executable, "-c", SERVER, str(kebab.config), request.param]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.terminate()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_passes(scenario: str, address: str, tmp_path: Path) -> None:
    words = ["server", "--url", address, "--scenario", scenario, "-o", str(tmp_path)]
    done = subprocess.run(
        [str(NODE), str(CONFORMANCE), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    files = list(tmp_path.rglob("checks.json"))
    checks: list[dict[str, Any]] = [c for file in files for c in json.loads(file.read_text())]

    assert done.returncode == 0, done.stdout + done.stderr
    assert checks
    assert {check["status"] for check in checks} <= {"SUCCESS", "INFO"}
    assert "SUCCESS" in {check["status"] for check in checks}
