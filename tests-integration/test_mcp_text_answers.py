"""Answers as text over a real index of this repository's own pages and code.

What is claimed are properties of any answer: what it costs, that every line it shows of a
file is that line of the file, and that reading on by the places it names works.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_app.shown import printable
from kb_cli.testing import KebabHere
from kb_mcp._tool import Form
from kb_mcp.server import create_server
from kb_mcp.text import tokens_of

ROOT = Path(__file__).resolve().parents[1]
TAKEN = ("docs/guide", "packages/kb-mcp/src/kb_mcp")
QUESTIONS = (
    "how does a host register the server",
    "cursor of a later page",
    "progress cancelled call",
    "token file permissions",
    "instructions flag",
    "def answer",
    "what is written to standard output",
)
HEAD = re.compile(
    r"(?P<path>\S[^:]*)?:(?P<first>\d+)(?:-(?P<last>\d+))?(?: of (?P<of>\d+))?(?: · .*)?"
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    kebab = KebabHere(tmp_path_factory.mktemp("answers"))
    for folder in TAKEN:
        shutil.copytree(ROOT / folder, kebab.home / "notes" / folder, dirs_exist_ok=True)
    kebab.ingest()
    with KnowledgeBase.open(load_config(kebab.config), readonly=True) as opened:
        yield opened


async def ask(kb: KnowledgeBase, tool: str, arguments: dict[str, Any]) -> str:
    async with Client(create_server(kb, form=Form.TEXT)) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return getattr(result.content[0], "text", "")


def blocks(text: str) -> Iterator[tuple[str, int, int, list[str]]]:
    """Yield path, first and last line, and the lines of each passage that is shown."""
    path = ""
    found: tuple[str, int, int, list[str]] | None = None
    for line in text.partition("\nalso:\n")[0].splitlines():
        head = HEAD.fullmatch(line)
        if head is not None and not re.match(r" |\d+ ", line):
            if found is not None:
                yield found
            path = head["path"] or path
            found = (path, int(head["first"]), int(head["last"] or head["first"]), [])
        elif found is not None and re.match(r"  |\d+( |$)|$", line):
            found[3].append(line)
    if found is not None:
        yield found


@pytest.mark.parametrize("tool", ["search", "codebase_search"])
@pytest.mark.parametrize("question", QUESTIONS)
async def test_what_is_shown_of_a_file_is_what_stands_there(
    kb: KnowledgeBase, question: str, tool: str
) -> None:
    for max_tokens in (None, 200, 700, 6000):
        text = await ask(kb, tool, {"query": question, "max_tokens": max_tokens})
        assert tokens_of(text) <= (max_tokens or 2000)
        shown = list(blocks(text))
        assert shown or max_tokens is not None
        for path, first, last, lines in shown:
            file = (ROOT / path).read_text("utf-8").split("\n")
            assert 1 <= first <= last <= len(file)
            every = [printable(line.rstrip(), keep="\t") for line in file]
            if max_tokens is None:  # lines that tell, or parts of long ones, and values
                assert_are_of(lines, every, range(first, last + 1))
                continue
            whole = [f"{n} {every[n - 1]}" if every[n - 1] else "" for n in range(first, last + 1)]
            if path.endswith(".py"):
                assert lines == whole
            else:  # may begin and end within a line
                assert len(lines) == len(whole)
                assert lines[1:-1] == whole[1:-1]
                assert_are_of(lines, every, range(first, last + 1))


def assert_are_of(shown: list[str], stands: list[str], numbers: range) -> None:
    """Hold each line that is shown against that of its number.

    A line that is not of the passage gives a constant its value.
    """
    for line in filter(None, shown):
        number, _, text = line.partition(" ")
        where = stands[int(number) - 1]
        assert all(part.strip() in where for part in text.split("…")), line
        assert int(number) in numbers or re.match(r"_?[A-Z][A-Z0-9_]+\b.*=", text)


async def test_what_has_no_room_can_be_read_by_the_place_that_is_named(kb: KnowledgeBase) -> None:
    places: list[str] = []
    for tokens in range(200, 1000, 50):  # what is left of a budget decides how many are named
        asked = {"query": "how does a host register", "max_tokens": tokens}
        _, _, also = (await ask(kb, "search", asked)).partition("\nalso:\n")
        places += re.findall(r"^  (\S+:\d+-\d+) of", also, re.MULTILINE)
    places = list(dict.fromkeys(places))
    assert len(places) > 1

    read = await ask(kb, "fetch", {"places": places[:2], "max_tokens": 3000})

    assert [head for head in read.splitlines() if re.match(r"\S+:\d+-\d+ of ", head)] == [
        next(line for line in read.splitlines() if line.startswith(place)) for place in places[:2]
    ]


async def test_a_list_goes_on_where_it_stopped(kb: KnowledgeBase) -> None:
    async with Client(create_server(kb, form=Form.TEXT)) as client:
        seen: list[tuple[str, str, str]] = []
        arguments: dict[str, Any] = {"query": "host model server", "k": 7, "mode": "lexical"}
        for _ in range(3):
            result = await client.call_tool("search", arguments)
            text = getattr(result.content[0], "text", "")
            cursor = re.search(r"^more: cursor (\S+)$", text, re.MULTILINE)
            seen += re.findall(r"^passages? (\d+) to (\d+)|^(\d+) passages", text, re.MULTILINE)
            assert cursor is not None
            assert len(cursor[1]) < 12
            arguments["cursor"] = cursor[1]

    assert [first or count for first, _, count in seen] == ["7", "8", "15"]
