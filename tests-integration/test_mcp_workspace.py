"""``kebab mcp --workspace`` and the roots of a host: tools that answer from a folder as it is.

The installed command over real pipes, as hosts start it, and the server in this process where
the host has to announce folders.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from pydantic import FileUrl

from kb_app import KnowledgeBase
from kb_app.config import Config, Embedding, Mcp, Source
from kb_app.workspaces import Workspace
from kb_cli.testing.installed import KEBAB
from kb_core.ingest import IngestOptions
from kb_mcp._roots import Roots
from kb_mcp.server import create_server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home with two folders, and an environment that keeps everything in it."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(
            f"# {name}\n\nThe otter that is in {name}.\n", "utf-8"
        )
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / f".{name.lower()}"))
    monkeypatch.setenv("KEBAB_EMBEDDING_MODEL", "none")
    return tmp_path


def started(folder: Path, *words: str) -> Client:
    parameters = StdioServerParameters(
        command=KEBAB, args=["mcp", *words], env=dict(os.environ), cwd=str(folder)
    )
    return Client(stdio_client(parameters))


async def found(client: Client, query: str) -> list[str]:
    result = await client.call_tool("search", {"query": query})
    body: Mapping[str, Any] = result.structured_content or {}
    assert result.is_error is False, body
    return [hit["doc_path"] for hit in body["hits"]]


async def told(client: Client, query: str) -> str:
    result = await client.call_tool("search", {"query": query})
    return "\n".join(part.text for part in result.content if part.type == "text")


async def test_a_server_of_a_workspace_answers_from_the_current_folder_and_follows_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(home / "one", "--workspace") as client:
        instructions = client.instructions or ""
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert await found(client, "otter") == ["one.md"]
        (home / "one/new.md").write_text("The badger digs with you.\n", "utf-8")
        while not (paths := await found(client, "badger")):
            pass  # calls of a burst share one look at the folder

    assert f"kebab searches the folder '{home / 'one'}', as it is now" in instructions
    assert "ingest_stdin" not in tools
    assert "search" in tools
    assert paths == ["new.md"]
    assert sorted(path.name for path in home.iterdir()) == [".cache", "one", "two"]


async def test_a_server_embeds_what_words_did_not_find_while_nobody_asks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEBAB_EMBEDDING_MODEL")
    for number in range(18):
        (home / "one" / f"{number}.md").write_text(f"The otter has {number} stones.\n", "utf-8")
    async with started(home / "one", "--workspace", "--format", "text") as client:
        while "have a vector" in (said := await told(client, "otter")):
            await anyio.sleep(1.1)  # nobody asks

    assert "by words and meaning" in said


async def test_a_workspace_can_be_named_and_a_missing_one_is_told(home: Path) -> None:
    async with started(home, "--workspace", str(home / "two"), "--format", "json") as client:
        assert await found(client, "otter") == ["two.md"]
        refused = await client.call_tool("ingest_stdin", {"title": "x", "content": "y"})
        (home / "two").rename(home / "away")
        while (result := await client.call_tool("search", {"query": "otter"})).is_error is False:
            pass

    told = result.content[0]
    assert isinstance(told, types.TextContent)
    assert f"no folder '{home / 'two'}'" in told.text
    assert "--workspace names a folder, or a file" in told.text
    assert "this server answers from the folder " in str(refused.content[0])
    assert "without --workspace and with mcp.workspace_roots = false" in str(refused.content[0])


@pytest.fixture
def kb(home: Path) -> KnowledgeBase:
    """A knowledge base of one note, whose person allowed the roots of hosts."""
    (home / "notes").mkdir()
    (home / "notes/a.md").write_text("The heron waits for you.\n", "utf-8")
    config = Config.inside(home / "kb", Source(id="notes", root=home / "notes"))
    config = replace(config, embedding=Embedding(model="none"), mcp=Mcp(workspace_roots=True))
    kb = KnowledgeBase.open(config)
    list(kb.ingest(IngestOptions()))
    return kb


class Host:
    """A host that announces folders, and can change its mind."""

    def __init__(self, kb: KnowledgeBase, *folders: Path) -> None:
        self.folders = folders
        self.asked = 0
        self.roots = Roots(kb, is_wanted=kb.preferences().follows_roots)
        server = create_server(kb, roots=self.roots)
        self.client = Client(server, mode="legacy", list_roots_callback=self._named)

    async def _named(self, context: object) -> types.ListRootsResult:
        del context  # as the SDK calls it
        self.asked += 1
        uris = [FileUrl(folder.as_uri()) for folder in self.folders]
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])

    async def change(self, *folders: Path) -> None:
        """Announce others."""
        self.folders = folders
        await self.client.session.send_notification(types.RootsListChangedNotification())


async def test_the_folders_of_a_host_answer_and_are_asked_for_once(
    kb: KnowledgeBase, home: Path
) -> None:
    host = Host(kb, home / "one", home / "two")
    async with host.client as client:
        first = await found(client, "otter")
        second = await found(client, "heron")
        tools = {tool.name for tool in (await client.list_tools()).tools}
        over = host.roots._over
    host.roots.close()

    assert isinstance(over, Workspace)
    assert over._meanwhile is not None, "it stays, and embeds while nobody asks"
    assert sorted(first) == ["one.md", "two.md"]
    assert second == []
    assert host.asked == 1
    assert "ingest_file" not in tools


async def test_a_host_that_changes_its_folders_is_asked_again(
    kb: KnowledgeBase, home: Path
) -> None:
    host = Host(kb, home / "one")
    async with host.client as client:
        assert await found(client, "otter") == ["one.md"]
        await host.change(home / "two")
        while (paths := await found(client, "otter")) == ["one.md"]:
            pass
        await host.change(home / "nowhere")
        while (result := await client.call_tool("search", {"query": "x"})).is_error is False:
            pass
    host.roots.close()

    assert paths == ["two.md"]
    assert "no folder" in str(result.content)


async def test_a_host_without_folders_gets_the_knowledge_base(kb: KnowledgeBase) -> None:
    host = Host(kb)
    async with host.client as client:
        assert await found(client, "heron") == ["a.md"]
        assert "the folders that you work in" in (client.instructions or "")


async def test_folders_of_a_host_do_not_count_unless_the_person_allowed_them(
    kb: KnowledgeBase, home: Path
) -> None:
    config = kb._config
    forbidding = KnowledgeBase.open(replace(config, mcp=Mcp()))
    host = Host(forbidding, home / "one")
    async with host.client as client:
        assert await found(client, "heron") == ["a.md"]
        assert await found(client, "otter") == []
    assert host.asked == 0
