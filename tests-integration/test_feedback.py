"""What a person says of hits: kept, shown, exported, deleted, and made into golden questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.errors import InvalidInput, ReadonlyMode
from kb_core.testing import closed_schema
from kb_mcp.testing import client_of, told
from kb_mcp.tools import allowed

QUERY = "who takes the lock"


def fill(kebab: InstalledKebab) -> InstalledKebab:
    kebab.write("locks.md", "# Locks\n\nThe one writer takes the lock before the store opens.\n")
    kebab.write("keys.md", "# Keys\n\nA key opens a lock, and nobody takes it away.\n")
    kebab.ingest()
    return kebab


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return an index that no test of these changes."""
    return fill(KebabHere(tmp_path_factory.mktemp("feedback")))


@pytest.fixture
def kebab(indexed: InstalledKebab) -> InstalledKebab:
    """Return it after a search, with nothing said."""
    journal(indexed).unlink(missing_ok=True)
    (indexed.home / "golden.yaml").unlink(missing_ok=True)
    indexed.run("search", QUERY, "--mode", "lexical")
    return indexed


def said(kebab: InstalledKebab) -> list[dict[str, Any]]:
    found = kebab.json("feedback", "list")
    Draft202012Validator(closed_schema("feedback_list")).validate(found)
    items: list[dict[str, Any]] = found["items"]
    return items


def journal(kebab: InstalledKebab) -> Path:
    return kebab.data_dir / "journal" / "_feedback.jsonl"


def test_a_hit_of_the_last_search_is_good_or_bad_by_its_number(kebab: InstalledKebab) -> None:
    assert "good: locks.md#L" in kebab.run("feedback", "good", "1").stdout
    kebab.run("feedback", "bad", "2", "--note", "only names it")

    bad, good = said(kebab)

    assert (good["verdict"], good["query"], good["rank"]) == ("good", QUERY, 1)
    assert good["quote"].startswith("# Locks")
    assert (bad["verdict"], bad["note"], bad["said_by"]) == ("bad", "only names it", "person")
    assert journal(kebab).stat().st_mode & 0o777 == 0o600


def test_what_is_said_again_of_the_same_takes_the_place_of_what_was_said(
    kebab: InstalledKebab,
) -> None:
    kebab.run("feedback", "bad", "1")
    kebab.run("feedback", "good", "1")

    assert [row["verdict"] for row in said(kebab)] == ["good"]


def test_no_ranking_changes_by_it(kebab: InstalledKebab) -> None:
    before = kebab.json("search", QUERY, "--mode", "lexical")
    kebab.run("feedback", "bad", "1")
    after = kebab.json("search", QUERY, "--mode", "lexical")

    assert after["hits"] == before["hits"]


def test_a_hit_that_the_search_did_not_have_is_named_and_nothing_is_kept(
    kebab: InstalledKebab,
) -> None:
    told = kebab.run("feedback", "good", "1", "7", code=2).stderr

    assert "has no hit 7" in told
    assert "hits 1 to 2" in told
    assert said(kebab) == []


def test_without_a_search_there_is_nothing_to_speak_of(kebab: InstalledKebab) -> None:
    (kebab.data_dir / "run" / "searched.json").unlink()

    assert "no search of this terminal" in kebab.run("feedback", "good", "1", code=2).stderr


def test_a_later_page_goes_to_the_hits_before_it(kebab: InstalledKebab) -> None:
    first = kebab.json("search", QUERY, "--mode", "lexical", "-k", "1")
    kebab.run("search", QUERY, "--mode", "lexical", "-k", "1", "--cursor", first["next_cursor"])

    kebab.run("feedback", "good", "1", "2")

    assert sorted(row["rank"] for row in said(kebab)) == [1, 2]


def test_read_only_nothing_is_kept_of_a_search_and_nothing_can_be_said(
    kebab: InstalledKebab,
) -> None:
    kept = (kebab.data_dir / "run" / "searched.json").read_bytes()
    kebab.run("--readonly", "search", "keys")

    assert (kebab.data_dir / "run" / "searched.json").read_bytes() == kept
    assert "read-only" in kebab.run("--readonly", "feedback", "good", "1", code=1).stderr


def test_it_is_exported_a_line_each_and_deleted_by_its_id(kebab: InstalledKebab) -> None:
    kebab.run("feedback", "good", "1", "2")
    lines = kebab.run("feedback", "export").stdout.splitlines()
    rows = [json.loads(line) for line in lines]

    for row in rows:
        Draft202012Validator(closed_schema("feedback")).validate(row)
    kebab.run("feedback", "delete", rows[0]["feedback_id"])

    assert [row["feedback_id"] for row in said(kebab)] == [rows[1]["feedback_id"]]
    assert rows[0]["feedback_id"] not in journal(kebab).read_text("utf-8")
    kebab.run("feedback", "delete", "--all", code=2)
    kebab.run("feedback", "delete", "--all", "--yes")
    assert not journal(kebab).exists()


def test_an_id_that_is_none_deletes_nothing(kebab: InstalledKebab) -> None:
    kebab.run("feedback", "good", "1")
    (row,) = said(kebab)

    kebab.run("feedback", "delete", row["feedback_id"], "00000000", code=2)

    assert said(kebab) == [row]


def test_a_line_that_was_not_written_to_the_end_is_told_and_left_out(
    kebab: InstalledKebab,
) -> None:
    kebab.run("feedback", "good", "1")
    with journal(kebab).open("a") as stream:
        stream.write('{"schema_version": "feedba')

    assert len(said(kebab)) == 1
    assert "left out" in kebab.run("feedback", "list").stderr
    kebab.run("feedback", "bad", "2")
    assert len(said(kebab)) == 2


def test_golden_questions_are_made_of_it_once_and_hold(kebab: InstalledKebab) -> None:
    kebab.run("feedback", "good", "1")
    kebab.run("feedback", "bad", "2")

    assert "nobody can be asked" in kebab.run("eval", "add", "--from-feedback", code=2).stderr
    assert "added 1 case" in kebab.run("eval", "add", "--from-feedback", "--yes").stdout
    assert "no feedback speaks" in kebab.run("eval", "add", "--from-feedback", "--yes").stdout

    found = kebab.json("eval", "check")
    assert [row["status"] for row in found["items"]] == ["unchanged"]
    assert "locks.md" in found["items"][0]["expected"]


def test_what_is_forgotten_is_neither_in_feedback_nor_in_the_last_search(tmp_path: Path) -> None:
    kebab = fill(KebabHere(tmp_path))
    kebab.run("search", QUERY, "--mode", "lexical")
    kebab.run("feedback", "good", "1", "2")

    kebab.run("forget", "doc", "locks.md", "--mentions", "--yes")

    assert [row["citation"].partition("#")[0] for row in said(kebab)] == ["keys.md"]
    assert not (kebab.data_dir / "run" / "searched.json").exists()


def test_a_passage_that_is_gone_is_told_and_feedback_goes_with_the_data(tmp_path: Path) -> None:
    kebab = fill(KebabHere(tmp_path))
    kebab.run("search", QUERY, "--mode", "lexical")
    kebab.run("feedback", "good", "1")
    (kebab.notes / "locks.md").unlink()
    kebab.ingest()

    done = kebab.run("eval", "add", "--from-feedback", "--yes")

    assert "not there any more" in done.stderr
    assert "added 0 cases" in done.stdout
    assert kebab.json("list", "sessions")["items"] == []
    kebab.run("reset", "--data-only", "--yes")
    assert not journal(kebab).exists()


async def test_a_model_says_it_too_where_the_person_lets_it(indexed: InstalledKebab) -> None:
    journal(indexed).unlink(missing_ok=True)
    config = load_config(indexed.config)
    with KnowledgeBase.open(config) as kb:
        assert "feedback" not in allowed(kb.preferences())
        with pytest.raises(InvalidInput, match="may say nothing of hits"):
            kb.judge_by_model(QUERY, "locks.md:3", "good")
    lets = replace(config, mcp=replace(config.mcp, feedback=True))
    words = {"query": QUERY, "passage": "locks.md:3", "verdict": "good", "note": "read it"}
    with KnowledgeBase.open(lets) as kb:
        tools = allowed(kb.preferences())
        async with client_of(kb, tools=tools) as client:
            assert "feedback" in {tool.name for tool in (await client.list_tools()).tools}
            done = await client.call_tool("feedback", words)
            Draft202012Validator(closed_schema("feedback")).validate(done.structured_content)
            unknown = await client.call_tool("feedback", {**words, "passage": "none.md:1"})
            blank = await client.call_tool("feedback", {**words, "query": " "})
        assert unknown.is_error
        assert blank.is_error
        told_of = await told(kb, "feedback", {**words, "verdict": "bad"}, tools=tools)
        assert told_of == "kept: bad, locks.md#L1-L3"
    with KnowledgeBase.open(lets, readonly=True) as kb, pytest.raises(ReadonlyMode):
        kb.judge_by_model(QUERY, "locks.md:3", "good")

    (row,) = said(indexed)
    assert (row["verdict"], row["said_by"], row["citation"]) == ("bad", "model", "locks.md#L1-L3")
