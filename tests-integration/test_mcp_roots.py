"""What a language model can reach over MCP: the files that the person allowed, and no others.

The SDK's client over the real server and a real knowledge base. A hook of the interpreter
records what is opened and listed, so that "is never read" is meant literally.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from mcp_types import CallToolResult, TextContent

from kb_app import KnowledgeBase
from kb_app.config import Chunking, Config, Embedding, Ingest, Mcp, Source
from kb_app.testing.parts import open_here
from kb_core.errors import InvalidInput
from kb_core.ingest import IngestOptions
from kb_core.search import SearchFilters
from kb_mcp.testing import call, client_of
from kb_mcp.tools import TOOLS

pytestmark = pytest.mark.slow

SECRET = "kangaroo-7041"
"""What stands in every file that no answer may be made of."""
UNIQUE = "never-opened"
"""A part of the name of every file and folder outside."""
BODY = base64.b64encode(random.Random(1).randbytes(600)).decode()
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n"
COUNTS = ("new", "updated", "moved", "unchanged", "skipped", "deleted", "errors")

_touched: list[str] | None = None


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if _touched is not None and event in {"open", "os.listdir", "os.scandir"} and args[0]:
        _touched.append(os.fsdecode(args[0]) if isinstance(args[0], (str, bytes)) else "")


sys.addaudithook(_watch)


@contextmanager
def touched() -> Iterator[list[str]]:
    """Record the names of what this process opens and lists."""
    global _touched  # noqa: PLW0603 - an audit hook cannot be taken away again
    found: list[str] = []
    _touched = found
    try:
        yield found
    finally:
        _touched = None


@dataclass(frozen=True)
class World:
    """A home with one source, one more allowed folder, and what is outside both."""

    home: Path

    @property
    def config(self) -> Config:
        """The configuration of the person."""
        source = Source(id="notes", root=self.home / "notes", exclude=("drafts/",))
        return replace(
            Config.inside(self.home / "kb", source),
            embedding=Embedding(model="none"),
            mcp=Mcp(ingest_roots=(self.home / "notes", self.home / "allowed")),
        )

    def write(self, path: str, text: str = f"# Marsupials\n\n{SECRET}\n") -> Path:
        """Write a file below home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def open(self, **changed: Any) -> KnowledgeBase:  # noqa: ANN401 - fields of Config
        """Open the knowledge base."""
        return open_here(replace(self.config, **changed))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a world of which the source is indexed; nothing in this module may change it."""
    world = build(tmp_path_factory.mktemp("roots"))
    index(world)
    return world


@pytest.fixture
def fresh(tmp_path: Path) -> World:
    """Return a world that a test may change, and of which nothing is indexed."""
    return build(tmp_path)


def build(home: Path) -> World:
    world = World(Path(os.path.realpath(home)))
    world.write("notes/tea.md", "# Tea\n\nGreen tea wants gentle water.\n")
    world.write("notes/.kebabignore", ".kebabignore\nprivate.md\nhidden/\n")
    for left in ("private.md", "hidden/deep.md", "drafts/draft.md", ".git/config", ".env"):
        world.write(f"notes/{left}")
    world.write("notes/key.md", f"{SECRET}\n{KEY}")
    world.write("allowed/visitor.md", "# Visitor\n\nA seal dives.\n")
    world.write("allowed/.gitignore", "ignored.md\n")
    for left in ("ignored.md", "id_rsa", "node_modules/x.md", ".aws/credentials"):
        world.write(f"allowed/{left}")
    world.write(f"{UNIQUE}/{UNIQUE}.md")
    world.write(f"notes-{UNIQUE}/{UNIQUE}.md")
    world.write(f"allowed{UNIQUE}.md")
    out = world.home / UNIQUE
    (world.home / "notes/link.md").symlink_to(out / f"{UNIQUE}.md")
    (world.home / "notes/folder").symlink_to(out)
    (world.home / "allowed/link.md").symlink_to("../notes/link.md")
    (world.home / "allowed/key-link.md").symlink_to("id_rsa")
    (world.home / "allowed/loop.md").symlink_to("loop.md")
    (world.home / "other-name").symlink_to("notes")
    os.mkfifo(world.home / "notes/pipe.md")
    return world


def index(world: World) -> None:
    with world.open() as kb:
        list(kb.ingest(IngestOptions()))


def error_of(result: CallToolResult) -> dict[str, Any]:
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert result.is_error, block.text
    body: dict[str, Any] = json.loads(block.text)
    return body


def text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def counts(report: dict[str, Any]) -> dict[str, int]:
    return {name: report[name] for name in COUNTS if report[name]}


def added(kb: KnowledgeBase) -> list[str]:
    items = kb.list_docs(SearchFilters(source=("_added",)))["items"]
    return [item["doc_path"] for item in items]


# -------------------------------------------------------------------- outside

OUTSIDE = [
    "{home}/never-opened/never-opened.md",
    "{home}/never-opened/MISSING.md",
    "{home}/MISSING/MISSING.md",
    "{home}/never-opened",
    "{home}/notes-never-opened/never-opened.md",
    "{home}/allowednever-opened.md",
    "{home}/notes/../never-opened/never-opened.md",
    "{home}/notes/sub/.././../never-opened//never-opened.md",
    "{home}/notes/link.md",
    "{home}/notes/folder/never-opened.md",
    "{home}/notes/folder/MISSING.md",
    "{home}/notes/folder",
    "{home}/other-name/folder/never-opened.md",
    "{home}/allowed/link.md",
    "{home}/NOTES/tea.md",
    "{home}/kb/config.toml",
    "{home}",
    "/etc/passwd",
    "/etc/shadow",
    "/etc",
    "/",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/../etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "//etc/passwd",
    "file:///etc/passwd",
    "file://{home}/notes/tea.md",
    "%2fetc%2fpasswd",
    "never-opened.md",
    "../../../../../../../../etc/passwd",
    "~/.ssh/id_rsa",
    "~root/.bashrc",
    "~nobody-of-that-name/x",
    "$HOME/.bashrc",
    "{home}/notes/tea.md\0",
    "\0",
    "",
    " ",
    "{home}/\ud800.md",
    "/" + "x" * 5000,
    "{home}/never-opened/" + "x/" * 3000,
]


async def test_nothing_outside_is_added_and_the_refusal_names_the_setting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.home / UNIQUE)
    with world.open() as kb:
        for pattern in OUTSIDE:
            path = pattern.replace("{home}", str(world.home))
            with touched() as names:
                error = error_of(await call(kb, "ingest_file", {"path": path}))

            assert error["code"] == "invalid_input", pattern
            assert "mcp.ingest_roots" in error["hint"], pattern
            assert error["details"]["setting"] == "mcp.ingest_roots"
            assert [name for name in names if UNIQUE in name] == [], pattern
        assert added(kb) == []
    assert not (world.home / "kb/data/assets").exists()


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        ("{home}/never-opened/never-opened.md", "{home}/never-opened/x.md"),
        ("{home}/never-opened", "{home}/nothing"),
        ("{home}/notes/folder/never-opened.md", "{home}/notes/folder/x.md"),
        ("/etc/passwd", "/etc/passwd-of-nobody"),
        ("/etc/passwd/x", "/etc/nothing/x"),
        ("~root/x", "~nobody-of-that-name/x"),
    ],
)
async def test_a_refusal_does_not_tell_whether_there_is_such_a_file(
    world: World, there: str, missing: str
) -> None:
    texts = []
    with world.open() as kb:
        for pattern in (there, missing):
            path = pattern.replace("{home}", str(world.home))
            texts.append(text_of(await call(kb, "ingest_file", {"path": path})).replace(path, "P"))

    assert texts[0] == texts[1]


PIECES = st.lists(
    st.sampled_from(
        "..|.||notes|allowed|folder|link.md|tea.md|visitor.md|loop.md|sub|%2e%2e|~|TEA.md|"
        f"{UNIQUE}|{UNIQUE}.md|other-name".split("|")
    ),
    max_size=7,
)


@settings(max_examples=150, deadline=None)
@given(pieces=PIECES)
@example(pieces=["notes", "tea.md", "..", "tea.md"])
def test_whatever_a_path_is_made_of_only_allowed_files_are_opened(
    world: World, pieces: list[str]
) -> None:
    """Opened by the resolved truth of the file system, not by what the path looks like."""
    from kb_app._ingest.seeing.files import open_inside

    path, top = "/".join([str(world.home), *pieces]), world.home / "notes"
    try:
        with open_inside(path, str(top)) as file:
            data = file.read()
    except OSError:
        return

    assert Path(path).resolve(strict=True).is_relative_to(top)
    assert data == Path(path).read_bytes()


# --------------------------------------------------------------------- inside

LEFT = {
    "notes/private.md": "ignored",
    "notes/hidden/deep.md": "ignored",
    "notes/./hidden/../private.md": "ignored",
    "notes/drafts/draft.md": "ignored",
    "notes/.git/config": "ignored",
    "notes/.env": "secret_suspected",
    "notes/key.md": "secret_suspected",
    "other-name/private.md": "ignored",
    "allowed/ignored.md": "ignored",
    "allowed/node_modules/x.md": "ignored",
    "allowed/id_rsa": "secret_suspected",
    "allowed/key-link.md": "secret_suspected",
    "allowed/.aws/credentials": "secret_suspected",
}

NO_FILE = [
    "notes/nothing.md",
    "notes/folder/../tea.md/x",
    "notes/%2e%2e/never-opened/never-opened.md",
    "notes/..%2fnever-opened%2fnever-opened.md",
    "notes/pipe.md",
    "notes/drafts",
    "notes",
    "allowed/loop.md",
]


async def test_ignored_files_and_secrets_stay_so_where_a_model_may_add(world: World) -> None:
    with world.open() as kb:
        for path, reason in LEFT.items():
            given_path = f"{world.home}/{path}"
            result = await call(kb, "ingest_file", {"path": given_path})
            report = result.structured_content

            assert counts(report) == {"skipped": 1}, path
            assert report["skipped_by_reason"] == {reason: 1}, path
            assert report["warnings"], path
        found = kb.status(limit=100)["files"]
        assert [row["doc_path"] for row in found if row["state"] == "indexed"] == ["tea.md"]


async def test_what_is_no_file_inside_is_an_error(world: World) -> None:
    with world.open() as kb:
        for path in NO_FILE:
            with touched() as names:
                error = error_of(await call(kb, "ingest_file", {"path": f"{world.home}/{path}"}))

            assert error["code"] in {"invalid_input", "io_error"}, path
            assert [name for name in names if name.endswith((".md", UNIQUE))] == []


async def test_a_file_of_a_source_is_indexed_in_place(fresh: World) -> None:
    fresh.write("notes/sub/new.md", "# Otter\n\nAn otter swims.\n")
    with fresh.open() as kb:
        for path, expected in (
            ("notes/tea.md", {"new": 1}),
            ("notes/sub/new.md", {"new": 1}),
            ("notes/sub/../sub/new.md", {"unchanged": 1}),
            ("other-name/sub/new.md", {"unchanged": 1}),
        ):
            result = await call(kb, "ingest_file", {"path": f"{fresh.home}/{path}"})
            report = result.structured_content
            assert counts(report) == expected, path
            assert report["scope"]["sources"] == ["notes"]
            assert report["scanned"] == 1
            assert report["warnings"] == []
        hit = (await call(kb, "search", {"query": "otter"})).structured_content["hits"][0]
        *_, last = kb.ingest(IngestOptions())

        assert (hit["source_id"], hit["doc_path"]) == ("notes", "sub/new.md")
        assert added(kb) == []
        assert last.report is not None
        assert last.report.counts["unchanged"] == 2


async def test_a_file_of_another_allowed_folder_is_kept_as_a_copy(fresh: World) -> None:
    fresh.write("allowed/deep/er.md", "---\ntrust_level: secondary\n---\n# Whale\n")
    with fresh.open() as kb:
        for path in ("allowed/visitor.md", "allowed/deep/er.md", "allowed/deep/../visitor.md"):
            await call(kb, "ingest_file", {"path": f"{fresh.home}/{path}"})
        items = kb.list_docs(SearchFilters(source=("_added",)))["items"]

    trust = {item["doc_path"]: item["trust_level"] for item in items}
    assert trust == {
        f"{fresh.home}/allowed/deep/er.md": "secondary",
        f"{fresh.home}/allowed/visitor.md": "primary",
    }


async def test_without_the_setting_the_folders_of_the_sources_are_allowed(fresh: World) -> None:
    with fresh.open(mcp=Mcp()) as kb:
        assert redo(kb) == {"new": 1}
        inside = await call(kb, "ingest_file", {"path": f"{fresh.home}/notes/tea.md"})
        outside = await call(kb, "ingest_file", {"path": f"{fresh.home}/allowed/visitor.md"})
    with fresh.open(mcp=Mcp(), sources=()) as kb:
        nowhere = await call(kb, "ingest_file", {"path": f"{fresh.home}/notes/tea.md"})

    assert counts(inside.structured_content) == {"unchanged": 1}
    assert "mcp.ingest_roots" in error_of(outside)["hint"]
    assert "mcp.ingest_roots" in error_of(nowhere)["hint"]


async def test_folders_that_were_named_are_instead_of_those_of_the_sources(fresh: World) -> None:
    with fresh.open(mcp=Mcp(ingest_roots=(fresh.home / "allowed",))) as kb:
        source = await call(kb, "ingest_file", {"path": f"{fresh.home}/notes/tea.md"})
        named = await call(kb, "ingest_file", {"path": f"{fresh.home}/allowed/visitor.md"})

    assert "mcp.ingest_roots" in error_of(source)["hint"]
    assert counts(named.structured_content) == {"new": 1}


async def test_a_source_s_rules_hold_where_a_larger_folder_is_allowed(fresh: World) -> None:
    with fresh.open(mcp=Mcp(ingest_roots=(fresh.home,))) as kb:
        left = await call(kb, "ingest_file", {"path": f"{fresh.home}/notes/drafts/draft.md"})
        new = await call(kb, "ingest_file", {"path": f"{fresh.home}/allowed/visitor.md"})

    assert left.structured_content["skipped_by_reason"] == {"ignored": 1}
    assert counts(new.structured_content) == {"new": 1}


async def test_secrets_are_indexed_where_the_person_wants_that(fresh: World) -> None:
    with fresh.open(ingest=Ingest(allow_secrets=True)) as kb:
        report = await call(kb, "ingest_file", {"path": f"{fresh.home}/allowed/id_rsa"})

    assert counts(report.structured_content) == {"new": 1}


async def test_a_file_that_became_ignored_is_taken_away_when_a_model_names_it(fresh: World) -> None:
    file = fresh.write("notes/diary.md")
    with fresh.open() as kb:
        await call(kb, "ingest_file", {"path": str(file)})
        fresh.write("notes/.kebabignore", ".kebabignore\ndiary.md\n")
        report = (await call(kb, "ingest_file", {"path": str(file)})).structured_content
        hits = (await call(kb, "search", {"query": SECRET})).structured_content["hits"]

    assert counts(report) == {"deleted": 1}
    assert hits == []


async def test_a_name_that_is_spelled_otherwise_on_disk_is_found(fresh: World) -> None:
    name = unicodedata.normalize("NFD", "café.md")
    fresh.write(f"notes/{name}", "# Café\n\nEspresso.\n")
    with fresh.open() as kb:
        report = await call(kb, "ingest_file", {"path": f"{fresh.home}/notes/{name}"})

    assert [item["doc_path"] for item in report.structured_content["items"]] == ["café.md"]


# ------------------------------------------------------------ every other tool

ELSEWHERE = ["/etc/passwd", "../../etc/passwd", "{out}", "../never-opened/never-opened.md"]
ELSEWHERE += [
    "notes/link.md",
    "link.md",
    "folder/never-opened.md",
    "file://{out}",
    "~root/x",
    "~nobody-of-that-name/x",
]
ELSEWHERE += ["%2e%2e/never-opened/never-opened.md", "private.md", "{notes}/private.md", "key.md"]

NAMING: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "$path"}),
    ("search", {"query": "x", "path_glob": "$path"}),
    ("ask", {"query": "$path"}),
    ("ask", {"query": "x", "path_glob": "$path"}),
    ("bulk_search", {"queries": [{"query": "x", "path_glob": "$path"}, {"query": "$path"}]}),
    ("grep", {"pattern": "$path", "fixed": True}),
    ("grep", {"pattern": "."}),
    ("grep", {"pattern": ".", "path": "$path"}),
    ("codebase_search", {"query": "x", "path": "$path"}),
    ("codebase_search", {"queries": [{"query": "x", "path": "$path"}]}),
    ("similar", {"origin": "$path"}),
    ("explain_miss", {"query": SECRET, "doc": "$path"}),
    ("fetch", {"kind": "doc", "doc_id": "$path"}),
    ("fetch", {"path": "$path", "lines": "1-9"}),
    ("fetch", {"path": "$path", "outline": True}),
    ("fetch", {"places": ["$path", {"citation": "$path#L1"}]}),
    ("fetch", {"kind": "chunk", "chunk_id": "$path"}),
    ("fetch", {"kind": "span", "doc_id": "$path", "line_start": 1, "line_end": 9}),
    ("cite_verify", {"citations": ["$path#L1-L9"]}),
    ("cite_verify", {"citations": ["$path#L1"], "source": "notes"}),
    ("cite_verify", {"citations": [{"uri": "$path#L1-L3", "content_hash": "0" * 16}]}),
    ("cite_verify", {"citations": [{"citation": {"uri": "$path#L1"}, "source_id": "$path"}]}),
    ("list_docs", {"path_glob": "$path"}),
    ("list_docs", {"source": "$path"}),
    ("links", {"doc": "$path"}),
    ("links", {"doc": "$path", "direction": "out"}),
    ("status", {"path_glob": "$path"}),
    ("wait_for_fresh", {"paths": ["$path"], "seconds": 1}),
    ("ingest_file", {"path": "$path"}),
    ("ingest_stdin", {"content": "harmless", "title": "$path", "source_uri": "$path"}),
    ("schema", {}),
    ("doctor", {}),
]
"""Every tool, with whatever of it could be taken for the path of a file."""


def filled(value: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return value.replace("$path", path)
    if isinstance(value, list):
        return [filled(each, path) for each in value]
    return {k: filled(v, path) for k, v in value.items()} if isinstance(value, dict) else value


def test_every_tool_is_asked() -> None:
    assert {tool for tool, _ in NAMING} == TOOLS.keys()


async def test_no_tool_reads_or_shows_what_is_outside(
    fresh: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fresh.home / "notes")
    out = str(fresh.home / UNIQUE / f"{UNIQUE}.md")
    paths = [
        path.replace("{out}", out).replace("{notes}", f"{fresh.home}/notes") for path in ELSEWHERE
    ]
    index(fresh)
    with fresh.open() as kb:
        async with client_of(kb) as client:
            for tool, arguments in NAMING:
                # What writes is slow, and takes any name for what it is: a name.
                for path in paths[:3] if tool == "ingest_stdin" else paths:
                    asked = filled(arguments, path)
                    with touched() as names:
                        result = await client.call_tool(tool, asked)

                    echoed = text_of(result).replace(SECRET, "", json.dumps(asked).count(SECRET))
                    assert SECRET not in echoed, (tool, path)
                    assert not (result.is_error and error_of(result)["code"] == "internal")
                    assert "root:" not in echoed, (tool, path)
                    assert [n for n in names if UNIQUE in n or n.startswith("/etc/pass")] == []
        texts = {kb.fetch_doc(doc["doc_id"])["text"] for doc in _documents(kb)}
    assert texts == {"harmless", (fresh.home / "notes/tea.md").read_text("utf-8")}


def _documents(kb: KnowledgeBase) -> Sequence[Mapping[str, Any]]:
    return kb.list_docs(SearchFilters())["items"]


async def test_a_text_that_is_called_like_a_file_does_not_open_that_file(fresh: World) -> None:
    """Neither for the model nor in the person's editor."""
    file = str(fresh.home / UNIQUE / f"{UNIQUE}.md")
    with fresh.open() as kb:
        asked = {"content": "harmless", "title": "T", "source_uri": file}
        await call(kb, "ingest_stdin", asked)
        cited = await call(kb, "cite_verify", {"citations": [f"{file}#L1"]})
        place = kb.locate(f"{file}#L1")

    assert cited.structured_content["checks"][0]["status"] == "unchanged"
    assert Path(place.path).read_text("utf-8") == "harmless"


async def test_a_citation_is_not_verified_by_what_a_link_was_made_to_lead_to(fresh: World) -> None:
    """The diff of a citation shows the file as it is now."""
    index(fresh)
    with fresh.open() as kb:
        (fresh.home / "notes/tea.md").unlink()
        (fresh.home / "notes/tea.md").symlink_to(f"../{UNIQUE}/{UNIQUE}.md")
        with touched() as names:
            result = await call(kb, "cite_verify", {"citations": ["tea.md#L1-L3"]})

    assert result.structured_content["checks"][0]["status"] == "gone"
    assert SECRET not in text_of(result)
    assert [name for name in names if UNIQUE in name] == []


@pytest.mark.parametrize("now", ["a secret", "ignored"])
async def test_a_citation_is_not_verified_by_what_may_not_be_indexed_now(
    fresh: World, now: str
) -> None:
    index(fresh)
    if now == "ignored":
        fresh.write("notes/.kebabignore", "tea.md\n")
    fresh.write("notes/tea.md", f"# Tea\n\n{SECRET}\n" + (KEY if now == "a secret" else ""))
    with fresh.open() as kb:
        result = await call(kb, "cite_verify", {"citations": ["tea.md#L1-L3"]})

    assert result.structured_content["checks"][0]["status"] == "gone"
    assert SECRET not in text_of(result)


# ---------------------------------------------------------------------- trust

BOASTING = "---\ntrust_level: primary\n---\n# Boast\n\nA puffin flies.\n"
MODEST = "---\ntrust_level: generated\n---\n# Modest\n\nA puffin flies.\n"


def trusts(kb: KnowledgeBase) -> dict[str, str]:
    """Return the trust of every added document, as listed; of hits it is the same."""
    items = kb.list_docs(SearchFilters(source=("_added",)))["items"]
    return {item["doc_path"]: item["trust_level"] for item in items}


async def hand_in(kb: KnowledgeBase, title: str, content: str) -> dict[str, Any]:
    result = await call(kb, "ingest_stdin", {"title": title, "content": content})
    report: dict[str, Any] = result.structured_content
    return report


def redo(kb: KnowledgeBase, *, force: bool = False) -> dict[str, int]:
    *_, last = kb.ingest(IngestOptions(force=force))
    assert last.report is not None
    return {kind: n for kind, n in last.report.counts.items() if n and kind != "skipped"}


async def test_what_a_model_wrote_is_generated_whatever_it_says(fresh: World) -> None:
    with fresh.open() as kb:
        await hand_in(kb, "boast", BOASTING)
        await hand_in(kb, "plain", "# Plain\n\nA puffin flies.\n")
        list(kb.ingest_text(BOASTING, title="mine"))
        found = (await call(kb, "search", {"query": "puffin"})).structured_content["hits"]
        strict = {"query": "puffin", "trust_min": "secondary"}
        trusted = (await call(kb, "search", strict)).structured_content["hits"]

        assert trusts(kb) == {"boast": "generated", "plain": "generated", "mine": "primary"}
    levels = {hit["doc_path"]: hit["trust_level"] for hit in found}
    assert levels == {"boast": "generated", "plain": "generated", "mine": "primary"}
    assert [hit["doc_path"] for hit in trusted] == ["mine"]


async def test_it_stays_so_when_it_is_made_anew(fresh: World) -> None:
    small = Chunking(target_tokens=64, overlap_tokens=8, max_tokens=128)
    with fresh.open() as kb:
        await hand_in(kb, "boast", BOASTING)
        list(kb.ingest_text(BOASTING, title="mine"))
        assert redo(kb) == {"unchanged": 2, "new": 1}
        assert redo(kb, force=True) == {"updated": 3}
        before = trusts(kb)
    trusting = Mcp(trust_level="primary")
    with fresh.open(chunking=small, mcp=trusting) as kb:
        assert redo(kb) == {"updated": 3}
        assert redo(kb) == {"unchanged": 3}
        after = trusts(kb)

    assert before == after == {"boast": "generated", "mine": "primary"}


async def test_the_person_may_trust_a_model_more_and_its_text_may_ask_for_less(
    fresh: World,
) -> None:
    with fresh.open(mcp=Mcp(trust_level="secondary")) as kb:
        await hand_in(kb, "boast", BOASTING)
        await hand_in(kb, "modest", MODEST)
        assert trusts(kb) == {"boast": "secondary", "modest": "generated"}
    with fresh.open(mcp=Mcp(trust_level="primary")) as kb:
        assert counts(await hand_in(kb, "boast", BOASTING)) == {"updated": 1}
        assert counts(await hand_in(kb, "boast", BOASTING)) == {"unchanged": 1}
        assert trusts(kb) == {"boast": "primary", "modest": "generated"}


async def test_the_same_text_is_somebody_else_s_when_somebody_else_hands_it_in(
    fresh: World,
) -> None:
    with fresh.open() as kb:
        await hand_in(kb, "boast", BOASTING)
        theirs = trusts(kb)
        list(kb.ingest_text(BOASTING, title="boast"))
        mine = trusts(kb)
        with pytest.raises(InvalidInput, match="does not replace"):
            list(kb.ingest_text_by_model("another boast", title="boast"))

        assert (theirs, mine) == ({"boast": "generated"}, {"boast": "primary"})
        assert trusts(kb) == mine
    kept = (fresh.home / "kb/data/assets").glob("*[!n]")  # not the records: *.json
    assert [asset.read_text("utf-8") for asset in kept] == [BOASTING]
