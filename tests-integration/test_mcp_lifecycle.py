"""How the server ends: its input does, a signal says so, or its host vanishes in mid-call.

The server is a real process with one slow tool planted, which listens: it waits until it
is told to stop; or is deaf, or writes: both go on until the test lets go of them.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from kb_cli.testing.installed import ended_in_time

SERVER = """
import sys, time
from dataclasses import replace
from pathlib import Path
from kb_app import KnowledgeBase
from kb_app.config import Config
from kb_mcp.server import serve
from kb_mcp._tool import REPLACES
from kb_mcp.tools import TOOLS

home, manner = Path(sys.argv[1]), sys.argv[2]

def slow(call):
    (home / "started").touch()
    if manner != "deaf":
        call.stop.wait(120)
        (home / "told").touch()
    while manner != "listens" and not (home / "released").exists():
        time.sleep(0.01)  # where it writes, that is the batch at hand
    (home / "ended").touch()
    return call.kb.schema()

hints = {"annotations": REPLACES} if manner == "writes" else {}
definition = TOOLS["schema"].definition.model_copy(update=hints)
with KnowledgeBase.open(Config.inside(home)) as kb:
    serve(kb, {"schema": replace(TOOLS["schema"], definition=definition, call=slow)})
"""

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def send(process: subprocess.Popen[str], method: str, **message: Any) -> None:  # noqa: ANN401
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **message}) + "\n")
    process.stdin.flush()


def receive(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    message: dict[str, Any] = json.loads(process.stdout.readline())
    return message


def wait_for(file: Path) -> None:
    end = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} never came"
        time.sleep(0.02)


@contextmanager
def in_mid_call(home: Path, manner: str = "listens") -> Iterator[subprocess.Popen[str]]:
    """Start the server, call the slow tool, and make sure that nothing is left of it."""
    words = [sys.executable, "-c", SERVER, str(home), manner]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(words, **pipes, text=True)  # type: ignore[call-overload]
    try:
        with ended_in_time(process):
            send(process, "initialize", id=0, params=HELLO)
            assert receive(process)["result"]["serverInfo"]["name"] == "kebab"
            send(process, "notifications/initialized")
            params = {"name": "schema", "arguments": {}, "_meta": {"progressToken": "p"}}
            send(process, "tools/call", id=1, params=params)
            wait_for(home / "started")
            yield process
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if not stream.closed:
                stream.close()
        process.wait()


@pytest.mark.parametrize(
    ("closed", "manner"),
    [
        *((["stdin"], manner) for manner in ("listens", "deaf", "writes")),
        *((["stdin", "stdout"], manner) for manner in ("deaf", "writes")),
        (["stdout"], "listens"),
    ],
)
def test_a_host_that_vanishes_in_mid_call_takes_the_server_with_it(
    tmp_path: Path, closed: list[str], manner: str
) -> None:
    """Whatever end of the pipes it lets go of; the call ends in order, and nothing is said."""
    with in_mid_call(tmp_path, manner) as process:
        for name in closed:
            getattr(process, name).close()
        (tmp_path / "released").touch()

        assert process.wait(timeout=120) == 0
        assert (tmp_path / "ended").exists()
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.parametrize("manner", ["listens", "deaf", "writes"])
def test_a_signal_ends_the_server_in_mid_call(tmp_path: Path, manner: str) -> None:
    """After the batch at hand, where one is written; at once, where something is read."""
    with in_mid_call(tmp_path, manner) as process:
        process.send_signal(signal.SIGTERM)
        if manner == "writes":
            wait_for(tmp_path / "told")
            (tmp_path / "released").touch()

        assert process.wait(timeout=120) == -signal.SIGTERM
        assert (tmp_path / "ended").exists() == (manner == "writes")


def test_a_second_signal_does_not_wait_for_the_batch(tmp_path: Path) -> None:
    with in_mid_call(tmp_path, "writes") as process:
        process.send_signal(signal.SIGTERM)
        wait_for(tmp_path / "told")
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=120) == -signal.SIGTERM
        assert not (tmp_path / "ended").exists()


def test_a_cancelled_call_is_not_answered_and_the_next_one_is(tmp_path: Path) -> None:
    with in_mid_call(tmp_path) as process:
        send(process, "notifications/cancelled", params={"requestId": 1})
        send(process, "ping", id=2)
        messages: list[dict[str, Any]] = []
        while not messages or messages[-1].get("id") != 2:
            messages.append(receive(process))
        wait_for(tmp_path / "ended")

    assert {message.get("method", "answer") for message in messages[:-1]} <= {
        "notifications/progress"
    }


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_eras_hear_how_long_a_call_takes(
    tmp_path: Path, mode: Literal["legacy", "auto"]
) -> None:
    beats: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        beats.append((progress, message))
        (tmp_path / "released").touch()

    words = ["-c", SERVER, str(tmp_path), "deaf"]
    server = stdio_client(StdioServerParameters(command=sys.executable, args=words))
    async with Client(server, mode=mode) as client:
        await client.call_tool("schema", {}, progress_callback=on_progress)

    assert beats[0] == (1, "schema: 1 s")


def test_a_long_call_is_not_silent(tmp_path: Path) -> None:
    with in_mid_call(tmp_path) as process:
        beats = [receive(process) for _ in range(2)]

    assert [beat["method"] for beat in beats] == ["notifications/progress"] * 2
    assert [beat["params"]["progress"] for beat in beats] == [1, 2]
    assert beats[0]["params"]["message"] == "schema: 1 s"
