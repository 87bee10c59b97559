"""The recipe for a new format, as the contributing page has it: written down, it works.

The blocks of the page are put where it says, for the command and for the processes that it
starts: a module beside ours, and a row in the table.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from textwrap import dedent

import pytest

from kb_cli.testing.installed import InstalledKebab

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "contributing.md"
STEP = re.compile(r"^ *```python (\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

BOOK = b"BOOK\0\xff\xfe\0\1The walrus sleeps on the ice.\0\1Marmalade is made of oranges.\n"
"""No text in any encoding, by its first bytes."""


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the modules of the recipe in their places; return the folder of what is installed."""
    steps = {name: dedent(text) for name, text in STEP.findall(PAGE.read_text("utf-8"))}
    folder = tmp_path / "installed"
    (folder / "formats").mkdir(parents=True)
    (folder / "formats" / "book.py").write_text(steps["parser"], "utf-8")
    add_row(folder, steps["row"])
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    return folder


def add_row(folder: Path, row: str) -> None:
    """Have every process that starts from here on know *row*."""
    program = f"""
        from kb_app._ingest.making import formats
        from kb_app._media import MEDIA, Extra, Medium
        from kb_core.media import Media

        formats.__path__.append({str(folder / "formats")!r})
        MEDIA.update({{ROW}})
    """
    text = dedent(program).replace("ROW", row)
    (folder / "sitecustomize.py").write_text(text, "utf-8")


def test_a_format_added_by_the_recipe_is_indexed_found_and_cited(
    installed: InstalledKebab, parts: Path
) -> None:
    assert parts.is_dir()
    (installed.notes / "shelf.mobi").write_bytes(BOOK)
    report = installed.ingest()
    hit = installed.json("search", "marmalade")["hits"][0]
    uri = hit["citation"]["uri"]

    assert (report["new"], report["skipped"], report["errors"]) == (1, 0, 0)
    assert uri.startswith("shelf.mobi#page=2")
    assert installed.json("cite", uri)["chunk"]["text"].strip() == "Marmalade is made of oranges."
    page = installed.json("cite", "shelf.mobi#page=1")["chunk"]
    assert page["text"].strip() == "The walrus sleeps on the ice."
    assert installed.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    told = installed.run("--json", "fetch", "span", hit["doc_id"], "1", "1", code=2).stderr
    assert json.loads(told)["code"] == "span_not_supported"
    assert installed.ingest()["unchanged"] == 1


def test_a_single_file_of_it_can_be_added(installed: InstalledKebab, parts: Path) -> None:
    book = parts / "shelf.mobi"
    book.write_bytes(BOOK)
    installed.run("ingest-file", str(book))

    assert installed.paths("walrus") == [str(book)]


def test_without_its_extra_it_is_skipped_until_that_is_installed(
    installed: InstalledKebab, parts: Path
) -> None:
    row = dict(STEP.findall(PAGE.read_text("utf-8")))["row"]
    add_row(parts, row.rstrip().removesuffix(")") + 'extra=Extra("books", ("made_up_library",)))')
    (installed.notes / "shelf.mobi").write_bytes(BOOK)
    report = installed.ingest()
    told = installed.run("status").stdout

    assert report["skipped_by_reason"] == {"missing_extra:books": 1}
    assert (
        "book needs the extra 'books': in kebab's folder: pip install 'packages/kb-cli[books]'"
        in " ".join(told.split())
    )
    assert installed.ingest()["skipped"] == 1

    (parts / "made_up_library.py").touch()

    assert installed.ingest()["new"] == 1
    assert installed.paths("walrus") == ["shelf.mobi"]
