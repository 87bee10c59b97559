"""The fuzzer finds what it looks for, gives the same inputs again, and finds nothing here."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from kb_app._ingest.making.formats.markdown import MarkdownParser
from kb_core.documents import Block, ParsedDocument
from kb_mcp.testing import knowledge_base
from kb_mcp.tools import TOOLS as ALL

TOOLS = Path(__file__).resolve().parents[1] / "tools"
NOTE = b"---\ntags: [a, b]\n---\n# One\n\nA [[b|c]] and `c`.\n\n- a\n  - b\n\n| a |\n|---|\n| b |\n"
MAIL = (
    b"From: a@example.org\nSubject: =?utf-8?q?a?=\nMIME-Version: 1.0\n"
    b'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\nSay.\n--b--\n'
)
CELL = {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": 1}
ROUNDS = 12


def book() -> bytes:
    """Return an archive of a few files, one of them HTML."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", "<container><rootfiles/></container>")
        archive.writestr("a.xhtml", "<html><body><p>Said.</p></body></html>")
    return packed.getvalue()


SAMPLES = {
    "a.md": NOTE,
    "a.rst": b"Title\n=====\n\nText.\n",
    "a.csv": b'name,what\n"a, b",c\nd,"e\nf"\n',
    "a.html": b"<html><title>a</title><body><h1>b</h1><p>c<table><tr><td>d</table></body></html>",
    "a.json": b'{"a": [1, {"b": null}], "c": "d"}',
    "a.py": b"class A:\n    def f(self):\n        return 1\n",
    "a.yaml": b"kind: A\nmetadata:\n  name: b\n---\nkind: C\n",
    "a.ipynb": json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4}).encode(),
    "a.eml": MAIL,
    "a.epub": book(),
}


@pytest.fixture
def fuzzing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("fuzzing")


@pytest.mark.parametrize("name", SAMPLES)
def test_no_parser_breaks_a_promise_over_damaged_files(fuzzing: ModuleType, name: str) -> None:
    samples = [fuzzing.Input("a", name, SAMPLES[name])]
    for number in range(ROUNDS):
        given = fuzzing.mutated(samples, Random(f"{name} {number}"), number)

        assert fuzzing.read(given) == "", given.data


def test_the_same_chance_gives_the_same_input(fuzzing: ModuleType) -> None:
    samples = [fuzzing.Input("a", name, data) for name, data in SAMPLES.items()]
    first, again = ([fuzzing.mutated(samples, Random(n), n) for n in range(30)] for _ in range(2))

    assert first == again
    assert len({given.data for given in first}) > 20


def test_an_archive_stays_one_when_a_member_is_changed(fuzzing: ModuleType) -> None:
    samples = [fuzzing.Input("book", "a.epub", book())]
    made = [fuzzing.mutated(samples, Random(n), n).data for n in range(20)]
    whole = [data for data in made if zipfile.is_zipfile(io.BytesIO(data))]

    assert len(whole) > 10
    assert book() not in whole


def test_what_a_parser_does_wrong_is_found(
    fuzzing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = fuzzing.Input("markdown", "a.md", NOTE)
    wrong = ParsedDocument(
        text="walrus", media="markdown", parser_version="x", blocks=(Block("paragraph", 0, 3),)
    )

    monkeypatch.setattr(MarkdownParser, "__call__", lambda *_: wrong)
    assert "leave something out" in fuzzing.read(given)
    monkeypatch.setattr(MarkdownParser, "__call__", lambda *_: 1 // 0)
    assert "ZeroDivisionError" in fuzzing.read(given)


def test_a_run_says_its_seed_and_counts_its_inputs(
    fuzzing: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fuzz = importlib.import_module("fuzz")
    folder = tmp_path / "samples"
    folder.mkdir()
    (folder / "a.csv").write_bytes(SAMPLES["a.csv"])
    words = ["--only", "csv", "--seed", "7", "--minutes", "0.002", "--samples", str(folder)]
    code = fuzz.main(words)
    said = capsys.readouterr().out

    assert code == 0, said
    assert said.startswith("seed 7; samples: csv")
    assert "0 findings, seed 7" in said


@pytest.fixture
def fuzzing_tools(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("fuzzing_tools")


async def test_no_tool_has_a_finding_in_one_call_of_each(fuzzing_tools: ModuleType) -> None:
    called = [each async for each in fuzzing_tools.calls(knowledge_base(), range(len(ALL)), 3)]

    assert [each.tool for each in called] == sorted(ALL)
    assert [each.wrong for each in called if each.wrong] == []


async def test_a_tool_that_breaks_is_a_finding(fuzzing_tools: ModuleType) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by nobody")

    kb = knowledge_base()
    kb.grep = broken  # type: ignore[method-assign, assignment]

    found = [each async for each in fuzzing_tools.calls(kb, range(40), 3, "grep")]

    wrong = {each.number % 2 for each in found if "internal" in each.wrong}
    assert wrong == {0, 1}, "as JSON, and as text"
