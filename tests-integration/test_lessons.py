"""Each lesson of ``docs/rulings.md`` names its tests; some that no other file has are here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kb_app._ask.language_models
from kb_cli.testing.installed import InstalledKebab
from kb_core.errors import ConfigInvalid

ROOT = Path(__file__).resolve().parent.parent
LESSONS = 52
TEST = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)


def test_every_lesson_names_tests_that_there_are() -> None:
    folders = ("packages/*/tests", "packages/*/src/*/testing", "tests-integration")
    files = [file for folder in folders for file in ROOT.glob(f"{folder}/*.py")]
    known = {name for file in files for name in TEST.findall(file.read_text("utf-8"))}
    page = (ROOT / "docs/rulings.md").read_text("utf-8").partition("## Lessons")[2]
    rows = re.findall(r"^\| \*\*(\d+)\*\* \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    named = {int(number): set(re.findall(r"`(test_\w+)`", tests)) for number, tests in rows}

    assert list(named) == list(range(1, LESSONS + 1))
    assert [number for number, names in named.items() if not names] == []
    assert {name for names in named.values() for name in names} - known == set()


def test_27_trust_changes_no_score(kebab: InstalledKebab) -> None:
    for name, level in (("a", "generated"), ("b", "secondary"), ("c", "primary")):
        text = f"---\ntrust_level: {level}\n---\n\nA walrus counts oysters.\n"
        kebab.write(f"{name}.md", text)
    kebab.ingest()

    hits = kebab.json("search", "walrus oysters")["hits"]

    assert [hit["doc_path"] for hit in hits] == ["a.md", "b.md", "c.md"]
    assert len({hit["score"] for hit in hits}) == 1


def test_28_no_ingest_asks_a_language_model(
    kebab: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def refuse(*settings: object) -> None:
        asked.append(settings)
        raise ConfigInvalid("no language model here")

    monkeypatch.setattr(kb_app._ask.language_models, "language_model", refuse)
    kebab.configure(extra='[ask]\nprovider = "ollama"\nmodel = "any"\n')
    kebab.write("a.md", "# Walrus\n\nA walrus counts oysters.\n")

    assert kebab.ingest()["new"] == 1
    assert asked == []
    kebab.run("ask", "what does a walrus count?", code=2)
    assert len(asked) == 1


def test_48_an_edited_document_is_there_once(kebab: InstalledKebab) -> None:
    for word in ("walrus", "walrus again", "walrus at last"):
        kebab.write("a.md", f"A {word}.\n")
        kebab.ingest()

        assert len(kebab.json("search", "walrus")["hits"]) == 1
        assert kebab.json("stats")["chunk_count"] == 1
