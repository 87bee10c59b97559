"""Golden questions from the outside: added from hits, and found again after edits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing.installed import InstalledKebab
from kb_core.testing import closed_schema

LOCKS = (
    "# Locks\n\nThe one writer takes the lock of the data directory before it opens the store.\n"
)
OTHER = "# Readers\n\nA reader waits for nobody and never opens the store at all.\n"


@pytest.fixture
def kebab(kebab: InstalledKebab) -> InstalledKebab:
    kebab.write("locks.md", LOCKS)
    kebab.write("readers.md", OTHER)
    kebab.ingest()
    kebab.run("eval", "add", "who takes the lock", "--hit", "1", "--id", "lock")
    return kebab


def checked(kebab: InstalledKebab, *, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = kebab.json("eval", "check", code=code)
    Draft202012Validator(closed_schema("eval_check")).validate(found)
    return found


def status(kebab: InstalledKebab, *, code: int = 0) -> tuple[str, str | None]:
    (item,) = checked(kebab, code=code)["items"]
    return item["status"], item.get("now")


def test_a_hit_becomes_a_case_with_its_place_hash_and_words(kebab: InstalledKebab) -> None:
    text = (kebab.home / "golden.yaml").read_text("utf-8")

    assert "- id: lock\n  query: who takes the lock\n" in text
    assert "uri: locks.md#L" in text
    assert "content_hash:" in text
    assert "The one writer takes the lock" in text
    assert status(kebab) == ("unchanged", None)


def test_lines_put_before_a_passage_do_not_break_its_case(kebab: InstalledKebab) -> None:
    kebab.write("locks.md", "# News\n\nSomething new stands here.\n\n" + LOCKS)
    kebab.ingest()

    assert status(kebab)[0] == "moved"


def test_a_file_that_is_renamed_does_not_break_its_case(kebab: InstalledKebab) -> None:
    (kebab.notes / "locks.md").rename(kebab.notes / "keys.md")
    kebab.ingest()

    found, now = status(kebab)

    assert found == "moved"
    assert str(now).startswith("keys.md#L")


def test_a_passage_that_is_copied_elsewhere_and_removed_is_found_there(
    kebab: InstalledKebab,
) -> None:
    kebab.write("locks.md", "# Locks\n\nNothing of that is here.\n")
    kebab.write("more.md", f"# More\n\n{LOCKS}")
    kebab.ingest()

    found, now = status(kebab)

    assert found == "moved"
    assert str(now).startswith("more.md#L")


def test_an_edit_within_a_passage_is_told_and_still_counts(kebab: InstalledKebab) -> None:
    kebab.write("locks.md", LOCKS.replace("data directory", "folder"))
    kebab.ingest()

    assert status(kebab)[0] == "changed"
    assert checked(kebab)["broken"] == []


def test_a_passage_that_is_removed_says_so(kebab: InstalledKebab) -> None:
    (kebab.notes / "locks.md").unlink()
    kebab.ingest()

    found = checked(kebab, code=3)
    shown = kebab.run("eval", "check", code=3).stdout

    assert found["broken"] == ["lock"]
    assert found["counts"]["gone"] == 1
    assert "gone" in shown
    assert "left out of runs" in shown


def test_documents_and_chunks_are_looked_up_and_a_doubtful_name_is_told(
    kebab: InstalledKebab,
) -> None:
    kebab.write("deep/locks.md", "# Other\n\nAnother file of that name.\n")
    kebab.ingest()
    chunk = kebab.json("search", "reader")["hits"][0]["chunk_id"]
    golden = kebab.home / "other.yaml"
    golden.write_text(
        "- {id: a, query: q, expected_docs: [readers.md, nowhere.md],"
        f" expected_chunks: {chunk}}}\n"
        "- {id: b, query: q, expected_places: ['readers.md#L3', 'readers.md#L400', 'x']}\n",
        "utf-8",
    )

    found = kebab.json("eval", "check", "--cases", str(golden), code=3)

    states = [(item["kind"], item["status"]) for item in found["items"]]
    assert states == [
        *(("doc", "unchanged"), ("doc", "gone"), ("chunk", "unchanged")),
        *(("place", "unchanged"), ("place", "gone"), ("place", "gone")),
    ]
    assert found["broken"] == []


def test_a_question_that_nothing_answers_is_added_without_a_search(kebab: InstalledKebab) -> None:
    added = kebab.json("eval", "add", "what is the price of tea", "--nothing", "--label", "off")

    assert added == {
        "id": "what-is-the-price-of-tea",
        "query": "what is the price of tea",
        "tags": ["off"],
    }
    Draft202012Validator(closed_schema("eval_case")).validate(added)


def test_a_hit_that_is_not_there_is_refused_and_nothing_is_written(kebab: InstalledKebab) -> None:
    golden = kebab.home / "golden.yaml"
    before = golden.read_bytes()

    far = kebab.run("eval", "add", "reader", "--hit", "40", code=2)
    none = kebab.run("eval", "add", "reader", code=2)
    again = kebab.run("eval", "add", "reader", "--hit", "1", "--id", "lock", code=2)
    kebab.run("--readonly", "eval", "add", "reader", "--hit", "1", code=1)

    assert "there is no hit 40" in far.stderr
    assert "readers.md#L" in none.stderr
    assert "--nothing" in none.stderr
    assert "'lock' is of several cases" in again.stderr
    assert golden.read_bytes() == before


def test_filters_of_the_query_are_kept_with_the_case(kebab: InstalledKebab) -> None:
    added = kebab.json("eval", "add", "store", "--hit", "1", "--path-glob", "readers.md")

    assert added["filters"] == {"path_glob": ["readers.md"]}
    assert json.loads(json.dumps(added))["expected_places"][0]["uri"].startswith("readers.md")
