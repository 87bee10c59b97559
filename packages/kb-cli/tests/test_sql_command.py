"""``kebab sql``: a table, CSV, an object a line, or the wire object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_cli.testing import knowledge_base, run
from kb_core import wire
from kb_core.stored import QueryResult

ROWS: tuple[tuple[Any, ...], ...] = (
    ("a\x1b[31m.md", 1_234, ["x", None], None, True),
    ('b,"c".md', -1, {"k": 1.5}, "2026-01-02T03:04:05Z", False),
)


def full(*, truncated: bool = False) -> ScriptedKnowledgeBase:
    found = QueryResult(("path", "n", "tags", "at", "n"), ROWS, truncated)
    return knowledge_base({"sql": lambda **_: wire.sql_result(found)})


def test_a_table_is_aligned_and_commands_no_terminal() -> None:
    kb = full(truncated=True)

    done = run("sql", "SELECT 1", "--limit", "2", "--timeout", "1.5", kb=kb)

    assert kb.asked == [("sql", "SELECT 1", 2, 1.5)]
    head, hostile, plain, count = done.stdout.splitlines()
    assert head.split() == ["path", "n", "tags", "at", "n"]
    assert "1,234" in hostile
    assert "\x1b" not in hostile
    assert plain.split()[-2:] == ["2026-01-02T03:04:05Z", "no"]
    assert count == "2 rows"
    assert "there are more than these 2 rows: --limit" in done.stderr


def test_where_it_is_not_the_limit_that_ends_it_no_limit_is_named() -> None:
    """A longer list is refused for its size: another limit gives the same rows."""
    done = run("sql", "SELECT 1", kb=full(truncated=True))

    told = "there are more than these 2 rows: ask for less of each, an answer has 32 MB at most"
    assert told in done.stderr


def test_csv_holds_what_was_found() -> None:
    done = run("sql", "SELECT 1", "--csv", kb=full())

    assert done.stdout == (
        "path,n,tags,at,n\n"
        'a\x1b[31m.md,1234,"[""x"", null]",,true\n'
        '"b,""c"".md",-1,"{""k"": 1.5}",2026-01-02T03:04:05Z,false\n'
    )


def test_an_object_a_line_keeps_columns_of_one_name_apart() -> None:
    done = run("sql", "SELECT 1", "--jsonl", kb=full())

    first, second = map(json.loads, done.stdout.splitlines())
    assert first == dict(zip(("path", "n", "tags", "at", "n_2"), ROWS[0], strict=True))
    assert second["n_2"] is False
    assert "\x1b" not in done.stdout


def test_the_wire_object_is_printed_with_json() -> None:
    told = json.loads(run("sql", "SELECT 1", "--json", kb=full()).stdout)

    assert (told["schema_version"], len(told["rows"])) == ("sql_result.v1", 2)


@pytest.mark.parametrize("words", [("--csv", "--jsonl"), ("--json", "--csv")])
def test_one_form_is_printed(words: tuple[str, ...]) -> None:
    done = run("sql", "SELECT 1", *words)

    assert done.exit_code == 2
    assert "one can be had" in done.stderr


def test_a_statement_may_come_on_standard_input() -> None:
    kb = full()

    run("sql", "-", kb=kb, answer="SELECT 2\n")

    assert kb.asked[0][1] == "SELECT 2\n"
