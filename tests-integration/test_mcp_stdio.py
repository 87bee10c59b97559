"""``kebab mcp`` as hosts start it: the installed command, real pipes, both protocol eras."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters, stdio_client

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab, ended_in_time
from kb_core import __version__
from kb_core.testing import closed_schema

Mode = Literal["legacy", "auto"]
ERAS: list[tuple[Mode, str]] = [("legacy", "2025-11-25"), ("auto", "2026-07-28")]

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return the command over two notes, indexed."""
    kebab = KebabHere(tmp_path_factory.mktemp("mcp"))
    kebab.write("locks.md", "# Locks\n\nA search stays readable while ingest runs.\n")
    kebab.write("노트/검색.md", "# 검색\n\n한국어 형태소와 바이그램을 함께 찾는다.\n")
    kebab.ingest()
    return kebab


def client_of(kebab: InstalledKebab, mode: Mode = "auto") -> Client:
    command, *words = kebab.command("mcp")
    parameters = StdioServerParameters(command=command, args=words, env=dict(os.environ))
    return Client(stdio_client(parameters), mode=mode)


async def search(client: Client, query: str) -> dict[str, Any]:
    result = await client.call_tool("search", {"query": query, "mode": "lexical"})
    body: dict[str, Any] = result.structured_content
    assert result.is_error is False, body
    Draft202012Validator(closed_schema("search_response")).validate(body)
    return body


@pytest.mark.parametrize(("mode", "version"), ERAS)
async def test_both_eras_answer_like_the_command_line(
    kebab: InstalledKebab, mode: Mode, version: str
) -> None:
    async with client_of(kebab, mode) as client:
        assert client.protocol_version == version
        instructions = client.instructions or ""
        answers = {query: await search(client, query) for query in ("형태소", "readable", "zzz")}
        schema = (await client.call_tool("schema", {})).structured_content
        doctor = (await client.call_tool("doctor", {})).structured_content

    for query, answer in answers.items():
        assert answer == kebab.json("search", "--mode", "lexical", query)
    assert [hit["doc_path"] for hit in answers["형태소"]["hits"]] == ["노트/검색.md"]
    assert schema == kebab.json("schema")
    assert f"{schema['stats']['doc_count']} documents in" in instructions
    assert [check["name"] for check in doctor["checks"]]


async def test_the_next_call_sees_what_was_ingested_meanwhile(kebab: InstalledKebab) -> None:
    async with client_of(kebab) as client:
        before = await search(client, "meanwhile")
        kebab.write("later.md", "# Later\n\nWritten meanwhile.\n")
        kebab.ingest()
        after = await search(client, "meanwhile")

    assert before["hits"] == []
    assert [hit["doc_path"] for hit in after["hits"]] == ["later.md"]
    assert after["corpus_revision"] > before["corpus_revision"]


async def test_without_a_knowledge_base_the_server_starts_and_says_so(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    async with client_of(kebab) as client:
        assert "Nothing is indexed yet" in (client.instructions or "")
        schema = (await client.call_tool("schema", {})).structured_content
        refused = await client.call_tool("search", {"query": "x"})

    assert schema["stats"]["doc_count"] == 0
    assert refused.is_error is True
    assert json.loads(getattr(refused.content[0], "text", ""))["code"] == "not_indexed"


@contextmanager
def raw(kebab: InstalledKebab) -> Iterator[subprocess.Popen[str]]:
    """Start the server, shake hands, and make sure that nothing is left of it."""
    with subprocess.Popen(
        kebab.command("--verbose", "mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            with ended_in_time(process):
                answer = ask(process, HELLO)
                assert answer["result"]["serverInfo"] == {"name": "kebab", "version": __version__}
                yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_end_of_input_ends_the_server_and_stdout_was_protocol_only(kebab: InstalledKebab) -> None:
    """Even with a verbose log: one line of JSON for each request, and not a byte more."""
    with raw(kebab) as process:
        call = {"name": "search", "arguments": {"query": "readable"}}
        answer = ask(process, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        assert answer["id"] == 1
        rest, _ = process.communicate(timeout=120)

        assert process.returncode == 0
        assert rest == ""


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_while_it_waits_for_input(
    kebab: InstalledKebab, kind: signal.Signals
) -> None:
    with raw(kebab) as process:
        process.send_signal(kind)

        assert process.wait(timeout=120) == -kind


NESTED = "[" * 5000 + "]" * 5000
DEEP = f'{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"a":{NESTED}}}}}'
TORN = r'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"search\ud800"}}'
UNREADABLE = [
    (TORN, "x", -32700),
    (DEEP, 9, -32700),
    ('{"jsonrpc":"2.0","id":3,', 3, -32700),
    ("nonsense", None, -32700),
    ("[]", None, -32600),
    ('{"jsonrpc":"2.0","id":4}', 4, -32600),
    ('{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[1]}', 5, -32600),
    ("\udcff", None, -32700),
]


def test_a_frame_that_cannot_be_read_is_answered_and_the_next_one_is_read(
    kebab: InstalledKebab,
) -> None:
    ask = {"jsonrpc": "2.0", "id": 77, "method": "ping"}
    frames = [json.dumps(HELLO), *(frame for frame, _, _ in UNREADABLE), "", json.dumps(ask)]

    pipe = subprocess.PIPE
    with (
        subprocess.Popen(kebab.command("mcp"), stdin=pipe, stdout=pipe) as server,
        ended_in_time(server),
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("\n".join(frames).encode("utf-8", "surrogateescape") + b"\n")
        server.stdin.flush()
        said = [json.loads(server.stdout.readline()) for _ in range(len(UNREADABLE) + 2)]
        server.stdin.close()

    answers = [answer for answer in said if "error" in answer]
    assert {answer["id"] for answer in said if "result" in answer} == {0, 77}
    told = [(answer["id"], answer["error"]["code"]) for answer in answers]
    assert told == [(known, code) for _, known, code in UNREADABLE]
    messages = " ".join(answer["error"]["message"] for answer in answers)
    assert messages.count("the frame is ") == len(UNREADABLE)
    assert not any(word in messages for word in ("JSONRPC", "dict", "pydantic", "Input should"))
