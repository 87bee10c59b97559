"""``kebab mcp --http``: the installed command, the SDK's client, and what is kept out."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_mcp._http import Place, create_app, run
from kb_mcp.server import create_server
from kb_mcp.testing import knowledge_base

Mode = Literal["legacy", "auto"]

HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    kebab: InstalledKebab
    process: subprocess.Popen[str]
    url: str
    said: str
    """What it told the person at its start."""

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()

    @property
    def token_file(self) -> Path:
        return self.kebab.data_dir / "mcp-token"

    @asynccontextmanager
    async def client(self, mode: Mode = "auto") -> AsyncGenerator[Client]:
        bearer = {"authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=bearer, timeout=60) as asking,
            Client(streamable_http_client(self.url, http_client=asking), mode=mode) as client,
        ):
            yield client

    def post(self, body: str | bytes, **headers: str) -> httpx2.Response:
        bearer = {"authorization": f"Bearer {self.token}"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.post(
            self.url, content=body, headers={**HEADERS, **bearer, **named}, timeout=60
        )


def start(kebab: InstalledKebab, *words: str, **environ: str) -> Served:
    """Start the server and return it once it says where it is."""
    process = subprocess.Popen(
        kebab.command("mcp", "--http", "127.0.0.1:0", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("serving "):
            return Served(kebab, process, line.split()[1], "".join(said))
    raise AssertionError("".join(said))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a server over two notes that two hosts share."""
    kebab = KebabHere(tmp_path_factory.mktemp("http"))
    kebab.write("locks.md", "# Locks\n\nA search stays readable while ingest runs.\n")
    kebab.write("tea.md", "# Tea\n\nGreen tea wants water of 70 degrees.\n")
    kebab.ingest()
    served = start(kebab)
    try:
        yield served
    finally:
        served.process.kill()
        served.process.communicate()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_two_hosts_at_once_get_what_the_command_line_says(served: Served, mode: Mode) -> None:
    asked = {"query": "readable", "mode": "lexical"}
    async with served.client(mode) as one, served.client(mode) as other:
        assert "2 documents" in (one.instructions or "")
        answers = [await client.call_tool("search", asked) for client in (one, other)]

    wanted = served.kebab.json("search", "--mode", "lexical", "readable")
    assert [answer.structured_content for answer in answers] == [wanted, wanted]


async def test_nothing_can_be_written_unless_the_person_allows_it(served: Served) -> None:
    async with served.client() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("ingest_stdin", {"content": "x", "title": "X"})

    assert "search" in names
    assert "ingest_stdin" not in names
    assert refused.is_error is True
    assert "read-only" in served.said


async def test_the_next_call_sees_what_was_ingested_meanwhile(served: Served) -> None:
    asked = {"query": "meanwhile", "mode": "lexical"}
    async with served.client() as client:
        before = await client.call_tool("search", asked)
        served.kebab.write("later.md", "# Later\n\nWritten meanwhile.\n")
        served.kebab.ingest()
        after = await client.call_tool("search", asked)

    assert (before.structured_content or {})["hits"] == []
    assert [hit["doc_path"] for hit in (after.structured_content or {})["hits"]] == ["later.md"]


def test_the_token_is_made_once_and_is_its_owners_alone(served: Served) -> None:
    assert served.token_file.stat().st_mode & 0o777 == 0o600
    assert len(served.token) >= 32
    assert str(served.token_file) in served.said
    assert served.token not in served.said


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Basic {token}"}, 401),
        ({"authorization": "Bearer {token}x"}, 401),
        ({"authorization": "Bearer \u00e9"}, 401),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"host": "["}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "http://127.0.0.1.evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "http://localhost"}, 403),
        ({"origin": "https://localhost:{port}"}, 403),
        ({"origin": "http://localhost:x"}, 403),
        ({"origin": "http://localhost:{port}"}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:1"}, 200),
        ({"authorization": "bearer  {token}"}, 200),
    ],
)
def test_only_who_has_the_token_and_is_no_page_of_elsewhere_gets_in(
    served: Served, headers: dict[str, str], status: int
) -> None:
    port = served.url.rpartition(":")[2].partition("/")[0]
    encoded = {k: v.format(token=served.token, port=port) for k, v in headers.items()}
    own = {"authorization": f"Bearer {served.token}"}
    raw = [(k.encode(), v.encode("latin-1")) for k, v in (own | HEADERS | encoded).items()]
    answer = httpx2.post(served.url, content=json.dumps(HELLO), headers=raw, timeout=60)

    assert answer.status_code == status
    if status != 200:
        assert answer.json()["error"]["message"]
        assert served.token not in answer.text


@pytest.mark.parametrize(
    ("listens_at", "name", "status"),
    [
        ("0.0.0.0", socket.gethostname(), 401),
        ("0.0.0.0", f"{socket.gethostname()}.local".upper(), 401),
        ("0.0.0.0", "192.0.2.7", 401),
        ("0.0.0.0", "localhost", 401),
        ("kebab.example", "kebab.example", 401),
        ("0.0.0.0", "evil.example", 421),
        ("127.0.0.1", "evil.example", 421),
    ],
)
async def test_open_to_others_it_answers_to_the_names_of_this_machine_and_to_no_other(
    listens_at: str, name: str, status: int
) -> None:
    """Whoever gets as far as the token was asked for by a name that is ours."""
    app = create_app(create_server(knowledge_base()), "t" * 40, Place(listens_at, 80))
    transport = httpx2.ASGITransport(app=cast("Any", app))
    async with httpx2.AsyncClient(transport=transport, base_url="http://192.0.2.7") as asking:
        answer = await asking.post("/mcp", json=HELLO, headers={**HEADERS, "host": name})

    assert answer.status_code == status


def test_a_page_in_a_browser_gets_no_preflight(served: Served) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = httpx2.options(served.url, headers=asked, timeout=60)

    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "\\ud800"}}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": [1]}',
        '{"jsonrpc": "2.0", "id": 2, "params": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"jsonrpc": "2.0", "id": 2, "params": ' + "9" * 10_000 + "}",
        "[]",
        "tea?",
        "",
        b"\xff\xfe",
    ],
)
def test_what_cannot_be_read_gets_an_error(served: Served, body: str | bytes) -> None:
    answer = served.post(body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {-32700, -32600, -32602}
    assert served.post(json.dumps(HELLO)).status_code == 200


def test_a_body_without_measure_is_not_read(served: Served) -> None:
    assert served.post("x" * 5_000_000).status_code == 413
    assert served.post(json.dumps(HELLO)).status_code == 200


def test_a_name_without_measure_is_not_said_again(served: Served) -> None:
    session = served.post(json.dumps(HELLO)).headers["mcp-session-id"]
    call: dict[str, Any] = {"method": "tools/call", "params": {"name": "x" * 1_000_000}}
    answer = served.post(json.dumps({"jsonrpc": "2.0", "id": 2, **call}), mcp_session_id=session)

    assert "unknown tool" in answer.text
    assert len(answer.text) < 2_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_token_stays(served: Served, number: signal.Signals) -> None:
    other = start(served.kebab, "--allow-writing")
    assert "read-only" not in other.said
    assert other.token == served.token

    other.process.send_signal(number)
    _, errors = other.process.communicate(timeout=120)

    assert other.process.returncode in {130, 143, -number}
    assert "Traceback" not in errors


def test_a_signal_before_anything_is_served_ends_it_in_order_too() -> None:
    ended = []
    place = Place.parse("127.0.0.1:0")
    server = create_server(knowledge_base())

    def interrupted(url: str) -> None:
        ended.append(url)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(server, "t" * 40, place, told=interrupted, at_end=partial(ended.append, "in order"))

    assert ended[1:] == ["in order"]
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_the_token_goes_with_everything_and_with_nothing_less(kebab: KebabHere) -> None:
    kebab.write("a.md", "# A\n\nText.\n")
    kebab.ingest()
    token = kebab.data_dir / "mcp-token"
    token.write_text("t" * 40)

    kebab.run("reset", "--data-only", "--yes")
    assert token.read_text() == "t" * 40
    kebab.run("reset", "--all", "--yes")
    assert not token.exists()


@pytest.mark.parametrize(
    ("words", "environ", "said"),
    [
        (["--http", "0.0.0.0:0"], {}, "--allow-remote"),
        (["--http", "example.invalid:0", "--allow-remote"], {}, "cannot listen"),
        (["--http", "127.0.0.1:99999"], {}, "HOST:PORT"),
        (["--http", "http://127.0.0.1"], {}, "HOST:PORT"),
        (["--http", "127.0.0.1:0"], {"KEBAB_MCP_TOKEN": "short"}, "32 to 1024"),
        (["--http", "127.0.0.1:0"], {"KEBAB_MCP_TOKEN": "short"}, "unset it, or set a longer one"),
        (["--workspace", "/nonexistent"], {}, "--workspace names a folder"),
        (["--allow-writing"], {}, "--http"),
    ],
)
def test_what_is_not_safe_is_refused_with_the_way_out(
    kebab: KebabHere,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    environ: dict[str, str],
    said: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    done = kebab.run("mcp", *words, code=2, given="")

    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_told(served: Served) -> None:
    taken = served.url.removeprefix("http://").removesuffix("/mcp")
    words = served.kebab.command("mcp", "--http", taken)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 2
    assert "cannot listen" in done.stderr
    assert "--http HOST:PORT" in done.stderr
