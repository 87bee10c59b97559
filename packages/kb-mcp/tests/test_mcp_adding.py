"""Tools that write: what they pass on, how far they are, and how they are stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest

from kb_app.testing.facade import event, report
from kb_core.errors import StoreBusy
from kb_core.ingest import IngestEvent
from kb_mcp._calls import Threads
from kb_mcp.testing import call, client_of, knowledge_base


def error_of(result: types.CallToolResult) -> dict[str, Any]:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.is_error is True
    body: dict[str, Any] = json.loads(block.text)
    return body


async def test_a_file_and_a_text_are_passed_on() -> None:
    kb = knowledge_base()
    await call(kb, "ingest_file", {"path": "/a.md"})
    await call(kb, "ingest_stdin", {"content": "x", "title": "X"})
    whole = {"content": "x", "title": "X", "source_uri": "https://x.org/", "media": "text"}
    told = {"written_by": "model 1", "based_on": ["a.md:3"]}
    await call(kb, "ingest_stdin", {**whole, **told})

    asked = [one for one in kb.asked if one != ("sources",)]  # which both look at themselves
    assert asked == [
        ("ingest_file_by_model", "/a.md"),
        ("ingest_text_by_model", "x", "X", None, "markdown", None, ()),
        ("ingest_text_by_model", "x", "X", "https://x.org/", "text", "model 1", ("a.md:3",)),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "hint"),
    [
        ("ingest_file", {}, "parameter 'path' is missing", None),
        (
            "ingest_file",
            {"file_path": "/a"},
            "parameter 'path' is missing; unknown parameter 'file_path'",
            "did you mean 'path'?",
        ),
        ("ingest_stdin", {"content": "x"}, "parameter 'title' is missing", None),
        (
            "ingest_stdin",
            {"content": "x", "title": "X", "media": "markdwon"},
            "media 'markdwon' is not 'markdown' or 'text'",
            "did you mean 'markdown'?",
        ),
    ],
)
async def test_what_is_missing_or_wrong_is_named(
    tool: str, arguments: dict[str, Any], message: str, hint: str | None
) -> None:
    kb = knowledge_base()
    body = error_of(await call(kb, tool, arguments))

    assert (body["code"], body["message"], body["hint"]) == ("invalid_input", message, hint)
    assert kb.asked == []


async def test_progress_says_what_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb_mcp._calls.BEAT_S", 0.01)
    kb, said, heard = knowledge_base(), list[str](), threading.Event()
    events = [
        event("asset_finished"),
        event("committed", revision=7),
        event("embed_batch_finished", done=32, total=120),
    ]

    def work(_: threading.Event) -> Iterator[IngestEvent]:
        for happened in events:
            yield happened
            heard.wait(120)
            heard.clear()
        yield event("completed", report=report())

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        shown = (message or "").partition(", ")[2]
        if shown and shown not in said:  # the first beat may come before the first event
            said.append(shown)
            heard.set()

    kb.runs = work
    async with client_of(kb, "legacy") as client:
        await client.call_tool("ingest_file", {"path": "/a"}, progress_callback=on_progress)

    assert said == ["read", "found by its words now", "32 of 120 passages embedded"]


def batches(log: list[str]) -> Any:  # noqa: ANN401 - a function that works
    def work(stop: threading.Event) -> Iterator[IngestEvent]:
        log.append("begun")
        yield event("committed")
        stop.wait(120)
        log.append("batch ended")
        yield event("aborted", report=report(aborted=True))
        log.append("closed")

    return work


async def test_a_cancelled_ingest_ends_its_batch_and_lets_the_next_one_in() -> None:
    kb, log = knowledge_base(), list[str]()
    kb.runs = batches(log)
    async with client_of(kb) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "ingest_file", {"path": "/a"})
            with anyio.fail_after(120):
                while not log:
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        with anyio.fail_after(120):
            while log[-1] != "closed":
                await anyio.sleep(0.01)
        kb.runs = lambda _: iter([event("completed", report=report())])
        result = await client.call_tool("ingest_file", {"path": "/b"})

    assert log == ["begun", "batch ended", "closed"]
    assert result.structured_content["aborted"] is False


async def test_another_writer_is_an_error_to_read() -> None:
    kb = knowledge_base()

    def work(stop: threading.Event) -> Iterator[IngestEvent]:
        if not stop.is_set():
            raise StoreBusy("another kebab is writing", hint="wait until it is done, or stop it")
        yield event("aborted", report=report(aborted=True))

    kb.runs = work
    body = error_of(await call(kb, "ingest_file", {"path": "/a"}))

    assert (body["code"], body["hint"]) == ("store_busy", "wait until it is done, or stop it")


async def test_only_what_writes_is_told_to_stop_and_waited_for() -> None:
    threads, reader, log = Threads(), threading.Event(), list[str]()
    stop, begun = threading.Event(), threading.Barrier(3)

    def write() -> None:
        begun.wait(120)
        stop.wait(120)
        log.append("written")

    def read() -> None:
        begun.wait(120)
        reader.wait(120)

    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, read)

        async def run_writer() -> None:
            await threads.run(write, writes_until=stop)

        group.start_soon(run_writer)
        await anyio.to_thread.run_sync(begun.wait, 120)
        await anyio.to_thread.run_sync(threads.finish_writing, 120)
        assert log == ["written"]
        assert not await anyio.to_thread.run_sync(threads.wait, 0.01)
        reader.set()
    assert threads.wait(120)
