"""``kebab reset``: nothing goes that was not shown, or agreed to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_cli.testing import knowledge_base, run
from kb_core import wire
from kb_core.testing import closed_schema

SHOWN = "    4.1 kB  /data/kebab/truth.duckdb\n    1.2 MB  /data/kebab/lexical\n"
SUM = "2 files and folders, 1.2 MB\n"


def full(conversations: int | None = None) -> ScriptedKnowledgeBase:
    """Return a knowledge base that says it has deleted two files."""
    gone = [("/data/kebab/truth.duckdb", 4096), ("/data/kebab/lexical", 1_200_000)]

    def reset(scope: str, dry_run: bool) -> Any:  # noqa: ANN401 - as the facade has it
        return wire.reset_report(
            scope.removesuffix("-only"), gone, dry_run=dry_run, conversations=conversations
        )

    return knowledge_base({"reset": reset})


def test_on_a_terminal_it_shows_what_would_go_and_whose_it_is_and_asks(tmp_path: Path) -> None:
    kb = full()
    (tmp_path / "kb.toml").write_text(
        '[storage]\ndata_dir = "kb-data"\n[[sources]]\nid = "notes"\nroot = "notes"\n'
    )
    named = ("--config", str(tmp_path / "kb.toml"))

    result = run("reset", "--data-only", *named, kb=kb, answer="y\n")

    assert kb.asked == [("reset", "data-only", True), ("reset", "data-only", False)]
    whose, shown = result.stderr.split("\n", 1)
    assert whose == f"the data of {tmp_path}/kb.toml in {tmp_path}/kb-data; sources: notes"
    assert shown.startswith(SHOWN + "would delete " + SUM + "delete this?")
    assert result.stdout.endswith(SHOWN + "deleted " + SUM)
    assert result.exit_code == 0


@pytest.mark.parametrize(("kept", "told"), [(2, ", 2 conversations"), (0, ""), (None, "")])
def test_conversations_are_counted_among_what_would_go(kept: int | None, told: str) -> None:
    result = run("reset", "--all", kb=full(kept), answer="n\n")

    assert f"would delete {SUM.strip()}{told}\n" in result.stderr


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_anything_but_yes_deletes_nothing(answer: str) -> None:
    kb = full()

    result = run("reset", "--all", kb=kb, answer=answer)

    assert kb.asked == [("reset", "all", True)]
    assert result.exit_code == 0
    assert "nothing was deleted" in result.stderr


def test_off_a_terminal_it_wants_yes() -> None:
    kb = full()

    refused = run("reset", "--index-only", kb=kb)
    done = run("reset", "--index-only", "--yes", kb=kb)

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "hint: kebab reset --index-only --yes" in refused.stderr
    assert kb.asked == [("reset", "index-only", False)]
    assert (done.exit_code, done.stdout, done.stderr) == (0, SHOWN + "deleted " + SUM, "")


def test_json_never_asks() -> None:
    refused = run("reset", "--all", "--json", answer="y\n")
    done = run("reset", "--all", "--json", "--yes")

    assert json.loads(refused.stderr)["code"] == "invalid_input"
    Draft202012Validator(closed_schema("reset_report")).validate(json.loads(done.stdout))


@pytest.mark.parametrize("words", [(), ("--all", "--data-only")])
def test_exactly_one_scope_is_wanted(words: tuple[str, ...]) -> None:
    kb = full()

    result = run("reset", "--yes", *words, kb=kb)

    assert (result.exit_code, kb.asked) == (2, [])
    assert "one expected" in result.stderr


def test_lesson_8_reset_works_on_the_configuration_that_was_named(tmp_path: Path) -> None:
    """It erased default directories although ``--config`` pointed elsewhere."""
    file = tmp_path / "other" / "config.toml"
    assert run("--config", str(file), "init", home=tmp_path).exit_code == 0
    kb = full()

    run("reset", "--all", "--yes", "--config", str(file), kb=kb, home=tmp_path)

    assert kb.config.file == file
    assert kb.config.storage.data_dir == tmp_path / "other" / "kebab-data"
    assert kb.config.storage.data_dir != file.parent, "data and configuration do not share a folder"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--all"], "reset --all --yes"),
        (["--workspace", "/a b/it's"], """reset --workspace '/a b/it'"'"'s' --yes"""),
    ],
)
def test_a_hint_deletes_from_the_knowledge_base_that_was_asked(
    tmp_path: Path, words: list[str], hint: str
) -> None:
    config = tmp_path / "my kb.toml"
    config.write_text("[sources]\n" if not words else "", "utf-8")

    refused = run("--config", str(config), "reset", *words, kb=full())
    plain = run("reset", *words, kb=full())

    assert f"  hint: kebab --config '{config}' {hint}\n" in refused.stderr
    assert f"  hint: kebab {hint}\n" in plain.stderr
