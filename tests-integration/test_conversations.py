"""Conversations, through the command, the server and the facade: asked, kept, shown, deleted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_app.testing.model_server import ModelServer, Reply
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.answers import AskQuery
from kb_core.testing import closed_schema
from kb_mcp._tool import Form
from kb_mcp.server import create_server

NOTES = {
    "tower.md": "# Tower\n\nThe tower was built in 1889 for a fair. It is made of iron.\n"
    "The tower is painted every seven years, which takes 60 tons of paint.\n",
    "bridge.md": "# Bridge\n\nThe bridge was built in 1932 by the harbour. It is painted grey.\n",
}


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return a library of a few notes, without an embedding model."""
    kebab = KebabHere(tmp_path_factory.mktemp("conversations"))
    for path, text in NOTES.items():
        kebab.write(path, text)
    kebab.ingest()
    return kebab


@pytest.fixture
def library(ingested: InstalledKebab) -> InstalledKebab:
    """Return the library without a conversation."""
    shutil.rmtree(ingested.data_dir / "journal", ignore_errors=True)
    return ingested


def valid(name: str, found: Any) -> Any:  # noqa: ANN401 - a wire object
    jsonschema.Draft202012Validator(closed_schema(name)).validate(found)
    return found


def ask(kebab: InstalledKebab, question: str, *words: str, code: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = kebab.json("ask", question, *words, code=code)
    return valid("answer", answer)  # type: ignore[no-any-return]


def test_a_follow_up_is_asked_as_what_it_means_and_says_so(library: InstalledKebab) -> None:
    first = ask(library, "when was the tower built", "--session", "trip")
    second = ask(library, "and the bridge?", "--session", "trip")

    assert (first["conversation_id"], first["turn_index"]) == ("trip", 1)
    assert "rewritten_question" not in first
    assert (second["question"], second["turn_index"]) == ("and the bridge?", 2)
    assert second["rewritten_question"] == "when was the bridge built?"
    assert "1932" in second["answer"]
    assert second["prompt_template_version"] == f"{first['prompt_template_version']}, follow-up-1"


def test_a_third_turn_goes_on_with_what_the_second_was_asked_as(library: InstalledKebab) -> None:
    for question in ("when was the tower built", "and the bridge?"):
        ask(library, question, "--session", "trip")

    last = ask(library, "is it painted grey?", "--session", "trip")

    assert last["rewritten_question"] == "is the bridge painted grey?"
    assert "grey" in last["answer"]


def test_without_a_conversation_nothing_is_carried_and_nothing_kept(
    library: InstalledKebab,
) -> None:
    answer = ask(library, "when was the tower built")

    assert "conversation_id" not in answer
    assert not (library.data_dir / "journal").exists()
    assert library.json("list", "sessions")["items"] == []


def test_a_new_one_gets_a_name_and_the_last_one_goes_on(library: InstalledKebab) -> None:
    told = library.run("ask", "when was the tower built", "--session", "new").stderr
    again = library.run("ask", "and the bridge?", "--session", "last")

    (row,) = valid("session_list", library.json("list", "sessions"))["items"]
    assert row["turns"] == 2
    assert f"--session {row['session_id']} goes on" in told
    assert "asked as: when was the bridge built?" in again.stderr
    assert again.stdout.startswith("The bridge was built in 1932")


def test_a_turn_keeps_question_answer_evidence_and_versions(library: InstalledKebab) -> None:
    answer = ask(library, "when was the tower built", "--session", "trip")
    ask(library, "who won the world cup in 2014", "--session", "trip", code=1)

    kept = valid("session", library.json("session", "show", "trip"))

    first, second = kept["turns"]
    assert first["answer"] == answer
    assert answer["citations"][0]["chunk_id"] in first["evidence"]
    assert first["kebab_version"]
    assert second["answer"]["refusal_reason"] == "score_gate"


def test_a_conversation_is_read_and_exported_as_text(library: InstalledKebab) -> None:
    ask(library, "when was the tower built", "--session", "trip")
    ask(library, "and the bridge?", "--session", "trip")

    shown = library.run("session", "show", "trip").stdout
    exported = library.run("session", "export", "last").stdout
    listed = library.run("list", "sessions").stdout

    assert "1. when was the tower built\nThe tower was built in 1889" in shown
    assert "2. and the bridge?\nasked as: when was the bridge built?" in shown
    assert exported.startswith("# Conversation trip\n\n## when was the tower built\n\n")
    assert "*Asked as: when was the bridge built?*" in exported
    assert "1. `bridge.md#L3` · Bridge" in exported
    assert "when was the tower built" in listed


def test_deleting_shows_what_goes_and_needs_a_word(library: InstalledKebab) -> None:
    for name in ("one", "two"):
        ask(library, "when was the tower built", "--session", name)

    refused = library.run("session", "delete", "one", code=2)
    unclear = library.run("session", "delete", code=2)
    missing = library.run("session", "delete", "three", "--yes", code=2)
    gone = valid("session_list", library.json("session", "delete", "one", "--yes"))

    assert "nobody can be asked" in refused.stderr
    assert "which conversations?" in unclear.stderr
    assert "there is no conversation 'three'" in missing.stderr
    assert [row["session_id"] for row in gone["items"]] == ["one"]
    assert [row["session_id"] for row in library.json("list", "sessions")["items"]] == ["two"]
    library.run("session", "delete", "--all", "--yes")
    assert library.run("session", "show", "last", code=2).stderr.count("no conversation yet") == 1


def test_a_reset_of_the_data_names_the_journal_and_takes_it(kebab: InstalledKebab) -> None:
    kebab.write("tower.md", NOTES["tower.md"])
    kebab.ingest()
    ask(kebab, "when was the tower built", "--session", "trip")

    with KnowledgeBase.open(load_config(kebab.config)) as kb:
        scopes = ("data-only", "index-only", "config-only")
        counted = [kb.reset(scope, dry_run=True).get("conversations") for scope in scopes]
    report = valid("reset_report", kebab.json("reset", "--data-only", "--yes"))

    assert counted == [1, None, None]
    assert report["conversations"] == 1
    journal = kebab.data_dir / "journal"
    assert str(journal) in [row["path"] for row in report["removed"]]
    assert not journal.exists()


def test_read_only_a_conversation_is_read_and_not_gone_on_with(library: InstalledKebab) -> None:
    ask(library, "when was the tower built", "--session", "trip")
    before = {path: path.stat().st_mtime_ns for path in library.data_dir.rglob("*")}

    answer = ask(library, "and the bridge?", "--session", "trip", "--readonly")
    refused = library.run("session", "delete", "trip", "--yes", "--readonly", code=1)

    assert "1932" in answer["answer"]
    assert "turn_index" not in answer
    assert any("this turn is not kept" in warning for warning in answer["warnings"])
    assert "readonly" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in library.data_dir.rglob("*")} == before


def test_a_journal_that_cannot_be_written_costs_the_turn_and_not_the_answer(
    library: InstalledKebab,
) -> None:
    (library.data_dir / "journal").write_text("no folder")

    done = library.run("ask", "when was the tower built", "--session", "trip", code=2)

    assert "cannot be used" in done.stderr
    (library.data_dir / "journal").unlink()
    (library.data_dir / "journal").mkdir(mode=0o700)
    ask(library, "when was the tower built", "--session", "trip")


def test_a_torn_turn_is_said_with_the_next_answer(library: InstalledKebab) -> None:
    ask(library, "when was the tower built", "--session", "trip")
    with (library.data_dir / "journal" / "trip.jsonl").open("a") as stream:
        stream.write('{"schema_version":"session_turn.v1","tu')

    answer = ask(library, "and the bridge?", "--session", "trip")
    kept = library.json("session", "show", "trip")

    assert any("left out" in warning for warning in answer["warnings"])
    assert [turn["turn_index"] for turn in kept["turns"]] == [1, 2]
    assert "warnings" not in kept


def test_a_name_that_is_none_is_refused_before_anything_is_searched(
    library: InstalledKebab,
) -> None:
    done = library.run("ask", "when", "--session", "../other", "--json", code=2)

    error = json.loads(done.stderr.splitlines()[-1])
    assert (error["code"], error["details"]["field"]) == ("invalid_input", "session")


def test_in_a_folder_that_is_no_source_the_person_keeps_the_conversation(
    library: InstalledKebab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "a.md").write_text("# A\n\nThe lighthouse was built in 1851.\n")

    folder = str(tmp_path / "clone")
    answer = ask(library, "when was the lighthouse built", "--in", folder, "--session", "far")

    assert answer["turn_index"] == 1
    assert (library.data_dir / "journal" / "far.jsonl").is_file()


# ------------------------------------------------------- a language model


def served(kebab: InstalledKebab, *replies: Reply) -> ModelServer:
    server = ModelServer(*replies)
    for path, text in NOTES.items():
        kebab.write(path, text)
    kebab.configure(
        extra=f'[ask]\nprovider = "ollama"\nmodel = "{server.model}"\nendpoint = "{server.url}"'
    )
    kebab.ingest()
    return server


def test_a_model_makes_the_question_stand_alone_from_the_last_turns(kebab: InstalledKebab) -> None:
    replies = [
        Reply(pieces=["It was built in 1889 [1]."]),
        Reply(pieces=['"When was the bridge', ' built?"\n']),
        Reply(pieces=["It was built in 1932 [1]."]),
    ]
    with served(kebab, *replies) as server:
        ask(kebab, "when was the tower built", "--session", "trip")
        answer = ask(kebab, "what of the other one?", "--session", "trip")

    assert answer["rewritten_question"] == "When was the bridge built?"
    assert answer["answer"] == "It was built in 1932 [1]."
    assert answer["prompt_template_version"] == "ask-1, rewrite-1"
    told = [request.body for request in server.requests if "messages" in request.body]
    rewriting, written = (body["messages"][-1]["content"] for body in told[1:])
    assert "Question: when was the tower built\nAnswer: It was built in 1889" in rewriting
    assert "what of the other one?" in rewriting
    assert "when was the tower built" not in written


@pytest.mark.parametrize("reply", [Reply(pieces=[" \n"]), Reply(pieces=["When"], ends=False)])
def test_where_the_model_makes_nothing_of_it_rules_do(kebab: InstalledKebab, reply: Reply) -> None:
    replies = [Reply(pieces=["In 1889 [1]."]), reply, Reply(pieces=["It was built in 1932 [1]."])]
    with served(kebab, *replies):
        ask(kebab, "when was the tower built", "--session", "trip")
        answer = ask(kebab, "and the bridge?", "--session", "trip")

    assert answer["rewritten_question"] == "when was the bridge built?"
    assert answer["prompt_template_version"] == "ask-1, follow-up-1"


def test_an_error_of_the_model_is_no_turn(kebab: InstalledKebab) -> None:
    served(kebab).close()

    kebab.run("ask", "when was the tower built", "--session", "trip", code=2)

    assert kebab.json("list", "sessions")["total"] == 0


# --------------------------------------------------------------- in Python


def test_the_facade_keeps_a_turn_before_its_final_event(library: InstalledKebab) -> None:
    with KnowledgeBase.open(load_config(library.config)) as kb:
        events = kb.ask(AskQuery(text="when was the tower built", conversation="trip"))
        first = next(event["answer"] for event in events if event["kind"] == "final")
        kept = kb.conversations()["total"]
        second = kb.answer(AskQuery(text="and the bridge?", conversation="last"))
        whole = kb.conversation("trip")

    assert kept == 1  # though nobody has asked what comes after the final event
    assert (first["turn_index"], second.turn) == (1, 2)
    assert whole["turns"][0]["answer"] == first


def test_thanks_are_not_searched_and_what_comes_after_them_goes_on(library: InstalledKebab) -> None:
    with KnowledgeBase.open(load_config(library.config)) as kb:
        asked = ("when was the tower built", "Thank you!", "and the bridge?")
        told = [kb.answer(AskQuery(text=text, conversation="trip")) for text in asked]

    assert (told[1].refusal, told[1].rewritten, told[1].citations) == ("no_chunks", None, ())
    assert told[1].warnings == ("nothing is asked: nothing was read",)
    assert told[2].rewritten == "when was the bridge built?"


def test_closing_the_events_early_keeps_no_turn(library: InstalledKebab) -> None:
    with KnowledgeBase.open(load_config(library.config)) as kb:
        events = kb.ask(AskQuery(text="when was the tower built", conversation="trip"))
        next(events)
        del events
        assert kb.conversations()["total"] == 0


# ----------------------------------------------------------- for models


async def call(kb: KnowledgeBase, form: Form, **arguments: str) -> Any:  # noqa: ANN401 - a result
    async with Client(create_server(kb, form=form)) as client:
        result = await client.call_tool("ask", arguments)
    assert not result.is_error, result.content
    return result


async def test_a_model_goes_on_with_a_conversation_by_the_name_it_was_told(
    library: InstalledKebab,
) -> None:
    with KnowledgeBase.open(load_config(library.config)) as kb:
        first = await call(kb, Form.TEXT, query="when was the tower built", session="new")
        said = first.content[0].text
        name = said.rpartition("session: ")[2].strip()
        second = await call(kb, Form.TEXT, query="and the bridge?", session=name)
        third = await call(kb, Form.JSON, query="and the tower?", session=name)
        kept = kb.conversation(name)

    assert said.startswith("answer, verbatim:\n")
    assert second.content[0].text.startswith("asked as: when was the bridge built?\n")
    assert third.structured_content["turn_index"] == 3
    assert len(kept["turns"]) == 3


async def test_read_only_a_model_is_told_that_the_turn_is_not_kept(
    library: InstalledKebab,
) -> None:
    with KnowledgeBase.open(load_config(library.config), readonly=True) as kb:
        result = await call(kb, Form.TEXT, query="when was the tower built", session="new")

    assert "this turn is not kept" in result.content[0].text
    assert "session: " not in result.content[0].text
    assert not (library.data_dir / "journal").exists()
