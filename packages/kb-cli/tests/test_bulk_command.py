"""``kebab search --bulk`` and ``codebase-search``: streams, texts, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app.testing.facade import ScriptedKnowledgeBase, hit, response
from kb_cli.testing import knowledge_base, run
from kb_core import wire
from kb_core.errors import InvalidInput, KbError, NotIndexed, StaleCursor
from kb_core.search import AggregatedResponse, Outcome, SearchFilters, SearchQuery
from kb_core.testing import closed_schema

TWO = '{"query":"a"}\n\n{"query":"b","k":3,"tag":"x"}\n'
BAD = '{"query":"a","tags":["x"]}\n'


def bulk(*words: str, lines: str, kb: ScriptedKnowledgeBase | None = None, **options: Any) -> Any:  # noqa: ANN401 - a result of click's
    return run("search", "--bulk", *words, kb=kb, answer=lines, **options)


def in_turn(*outcomes: Outcome) -> Callable[..., Iterator[Outcome]]:
    """Return what answers queries with *outcomes*, one after another."""
    return lambda queries: (one for _, one in zip(queries, outcomes, strict=True))


def valid(name: str, line: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(line)
    Draft202012Validator(closed_schema(name)).validate(read)
    return read


def test_json_is_an_item_a_line_and_ends_with_the_summary_on_stderr() -> None:
    kb = knowledge_base({"search_many": in_turn(response(hit()), StaleCursor("the cursor is old"))})

    result = bulk("--json", lines=TWO, kb=kb)

    first, second = (valid("bulk_search_item", line) for line in result.stdout.splitlines())
    assert result.exit_code == 0
    assert first["query"] == {"query": "a"}
    assert first["response"] == wire.search_response(response(hit()))
    assert second["query"] == {"query": "b", "k": 3, "tag": "x"}
    assert second["error"]["code"] == "stale_cursor"
    (line,) = result.stderr.splitlines()
    summary = valid("bulk_search_summary", line)
    assert (summary["total"], summary["succeeded"], summary["failed"]) == (2, 1, 1)


def test_queries_are_read_with_the_configured_defaults_and_nothing_of_the_command_line() -> None:
    kb = knowledge_base()
    environ = {"KEBAB_SEARCH_DEFAULT_K": "4", "KEBAB_SEARCH_SNIPPET_CHARS": "80"}

    options = ("-k", "9", "--mode", "lexical", "--tag", "y", "--json")
    bulk("word", *options, lines=TWO, kb=kb, environ=environ)

    ((name, queries),) = kb.asked
    assert name == "search_many"
    assert queries == [
        SearchQuery(text="a", k=4, snippet_chars=80),
        SearchQuery(text="b", k=3, snippet_chars=80, filters=SearchFilters(tag=("x",))),
    ]


def test_text_has_the_hits_of_each_query_on_stdout_and_its_head_on_stderr() -> None:
    warned = response(degraded=("vector: switched off",), warnings=("media 'x' is unknown",))
    kb = knowledge_base({"search_many": in_turn(response(hit()), InvalidInput("bad", hint="do"))})

    result = bulk(lines=TWO, kb=kb)

    assert (
        result.stdout == run("search", "a", kb=knowledge_base({"search": response(hit())})).stdout
    )
    assert result.stderr == (
        "# Query 1: a\n# Query 2: b\nerror: bad\n  hint: do\n# 2 queries: 1 succeeded, 1 failed\n"
    )
    blocks = bulk(lines=TWO, kb=knowledge_base({"search_many": in_turn(warned, response(hit()))}))
    first, second = blocks.stdout.split("\n\n")
    assert first.startswith("no hits")
    assert second.startswith(" 1. 0.82")
    assert "degraded: vector: switched off\nwarning: media 'x' is unknown\n" in blocks.stderr


def test_quiet_keeps_errors_and_leaves_out_heads_and_summary() -> None:
    result = bulk("--quiet", lines=TWO + BAD)

    assert result.exit_code == 0
    assert result.stderr.startswith("error: unknown parameter 'tags'")
    assert "#" not in result.stderr
    assert bulk("--quiet", "--json", lines=TWO).stderr.count("bulk_search_summary.v1") == 1


def test_a_head_has_the_beginning_of_a_long_query() -> None:
    result = bulk(lines=json.dumps({"query": "a" * 1_000_000}) + "\n")

    assert result.stderr.startswith(f"# Query 1: {'a' * 199}…\n")


def test_what_a_terminal_would_obey_is_escaped_in_heads() -> None:
    result = bulk(lines='{"query":"a\\u001b[31m\\nb"}\n')

    assert "# Query 1: a\\x1b[31m b\n" in result.stderr


@pytest.mark.parametrize("lines", ["", "\n", " \r\n\n", "\ufeff\n"])
def test_no_input_is_no_error_and_needs_no_knowledge_base(lines: str) -> None:
    kb = knowledge_base(error=NotIndexed("nothing here"))

    result = bulk("--json", lines=lines, kb=kb)

    assert (result.exit_code, result.stdout, kb.asked) == (0, "", [])
    assert valid("bulk_search_summary", result.stderr)["total"] == 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("not json\n", "line 1 of the bulk input is not JSON: expecting value at column 1"),
        ('{"query": "a\tb"}\n', "is not JSON: invalid control character at column 13"),
        (TWO + "[1]\n", "line 4 of the bulk input is not a JSON object"),
        ('"a"\n', "line 1 of the bulk input is not a JSON object"),
        ('{"query": "a"\r\n', "is not JSON: expecting ',' delimiter at column 14"),
        ('{"query": NaN}\n', "NaN is no number of JSON"),
        ('{"query": "a", "k": 1e999}\n', "1e999 is too large"),
        ("[" * 100_000 + "\n", "line 1 of the bulk input is not JSON that can be read"),
        ('{"query": "a"}\n' * 101, "queries: max 100 items"),
    ],
)
@pytest.mark.parametrize("words", [[], ["--aggregate"]])
def test_a_bad_line_fails_the_whole_and_nothing_is_run(
    lines: str, said: str, words: list[str]
) -> None:
    kb = knowledge_base()

    result = bulk("--json", *words, lines=lines, kb=kb)

    assert (result.exit_code, result.stdout, kb.asked) == (2, "", [])
    error = valid("error", result.stderr)
    assert error["code"] == "config_invalid"
    assert said in error["message"]


def test_bytes_that_are_no_text_are_a_bad_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kb_cli", "search", "--bulk", "--json"],
        input=b'{"query": "caf\xe9"}\n',
        capture_output=True,
        env=os.environ | {"HOME": str(tmp_path)},
        check=False,
    )

    assert done.returncode == 2
    assert json.loads(done.stderr)["message"] == "line 1 of the bulk input is not UTF-8"


def test_a_hundred_queries_and_a_byte_order_mark_are_fine() -> None:
    result = bulk("--json", lines="\ufeff" + '{"query": "a"}\r\n' * 100)

    assert result.exit_code == 0
    assert result.stdout.count("\n") == 100


def test_without_a_knowledge_base_the_whole_fails() -> None:
    result = bulk("--json", lines=TWO, kb=knowledge_base(error=NotIndexed("nothing here")))

    assert (result.exit_code, result.stdout) == (2, "")
    assert valid("error", result.stderr)["code"] == "not_indexed"


def test_aggregate_prints_one_list_and_passes_on_its_length_and_budget() -> None:
    both = hit(matched_queries=(0, 1), base_score=0.8, score=0.84)

    def found(queries: Sequence[SearchQuery | KbError], **_: object) -> AggregatedResponse:
        outcomes = tuple(one if isinstance(one, KbError) else response() for one in queries)
        return AggregatedResponse(outcomes=outcomes, hits=(both, hit(rank=2)))

    kb = knowledge_base({"search_aggregated": found})

    text = bulk("--aggregate", "-k", "5", "--max-tokens", "900", lines=TWO + BAD, kb=kb)
    for_programs = knowledge_base(kb.answers)
    as_json = bulk("--aggregate", "--json", lines=TWO + BAD, kb=for_programs)

    assert for_programs.asked[0][3] is None, "no limit for each document"
    ((_, queries, *options),) = kb.asked
    assert [type(query) for query in queries] == [SearchQuery, SearchQuery, InvalidInput]
    assert options == [5, 3, 900, list(map(json.loads, (TWO + BAD).split()))]
    lines = text.stdout.splitlines()
    assert (
        lines[0] == " 1. 0.84  notes/rust/architecture.md:661                5669ef18  [2 queries]"
    )
    assert lines[-1] == "2 hits for 3 queries"
    assert "# Query 3: a\nerror: unknown parameter 'tags'" in text.stderr
    (line,) = as_json.stdout.splitlines()
    assert len(valid("bulk_search_response", line)["aggregated"]) == 2
    assert valid("bulk_search_summary", as_json.stderr)["failed"] == 1


def test_aggregate_is_of_bulk_only() -> None:
    result = run("search", "q", "--aggregate", "--json")

    error = valid("error", result.stderr)
    assert (result.exit_code, error["code"]) == (2, "invalid_input")
    assert "--bulk --aggregate" in error["hint"]


FLUSHED = """
import os, sys
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_app.testing.facade import response
from kb_cli.testing import knowledge_base

def slowly(queries):
    for _ in queries:
        yield response()
        print(os.fstat(1).st_size > 0, file=sys.stderr)

kb = knowledge_base({"search_many": slowly})
obj = CliContext(open_kb=kb.reopened, configure_logs=lambda _: None)
cli.main(["search", "--bulk", "--json", "--quiet"], obj=obj)
"""


def test_each_item_is_out_before_the_next_is_asked_for(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-c", FLUSHED],
            input=TWO,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HOME": str(tmp_path)},
            check=False,
        )

    assert done.stderr.splitlines()[:2] == ["True", "True"]


# -------------------------------------------------------------- codebase-search


def code_response(**fields: Any) -> Mapping[str, Any]:  # noqa: ANN401 - of the emitter
    usual: dict[str, Any] = {"truncated": False, "errors": {}, "degraded": (), "warnings": ()}
    hits = fields.pop("hits", ())
    return wire.codebase_search_response([{"query": "x"}], hits, **usual | fields)


@pytest.mark.parametrize(
    ("words", "given", "request_"),
    [
        (["a b", "c"], None, {"queries": ["a b", "c"], "path": None, "maxResults": None}),
        (
            ["a", "--path", "src", "--max-results", "3"],
            None,
            {"queries": ["a"], "path": "src", "maxResults": 3},
        ),
        ([], '{"query": "a"}', {"query": "a", "path": None, "maxResults": None}),
        (
            ["--path", "src", "--max-results", "3"],
            '{"queries": ["a"], "path": "lib", "maxResults": null}',
            {"queries": ["a"], "path": "lib", "maxResults": 3},
        ),
        ([], "", {"path": None, "maxResults": None}),
        (
            ["a", "--include", "code,docs", "--group"],
            None,
            {
                "queries": ["a"],
                "path": None,
                "maxResults": None,
                "include": "code,docs",
                "group": True,
            },
        ),
    ],
)
def test_what_is_asked_comes_from_arguments_or_standard_input(
    words: list[str], given: str | None, request_: dict[str, Any]
) -> None:
    kb = knowledge_base({"codebase_search": code_response()})

    result = run("codebase-search", *words, kb=kb, answer=given)

    assert result.exit_code == 0, result.stderr
    assert kb.asked == [("codebase_search", request_, False)]


def test_the_answer_is_prose_or_the_wire_object() -> None:
    code = hit(media="code", doc_path="a.py", lines=(1, 2), snippet="def f():\n\treturn '\x1b'")
    answer = code_response(hits=(hit_of(code),))
    kb = knowledge_base({"codebase_search": answer})

    text = run("codebase-search", "x", kb=kb)
    as_json = run("codebase-search", "x", "--json", kb=knowledge_base(kb.answers))

    assert text.stdout == wire.codebase_search_text(answer).replace("\x1b", "\\x1b") + "\n"
    assert valid("codebase_search_response", as_json.stdout) == answer


def test_the_prose_names_commands_for_the_configuration_that_is_asked(tmp_path: Path) -> None:
    (file := tmp_path / "c.toml").touch()
    answer = code_response(degraded=("vector: none yet (run 'kebab embed')",))

    result = run(
        "--config",
        str(file),
        "codebase-search",
        "x",
        kb=knowledge_base({"codebase_search": answer}),
    )

    assert f"Note: vector: none yet (run 'kebab --config {file} embed')" in result.stdout


def hit_of(found: Any) -> Any:  # noqa: ANN401 - a Hit
    from dataclasses import replace

    return replace(found, matched_queries=(0,), base_score=found.score)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_request_that_cannot_be_read_is_invalid(given: str, said: str) -> None:
    result = run("codebase-search", "--json", answer=given)

    assert result.exit_code == 2
    error = valid("error", result.stderr)
    assert error["code"] == "invalid_input"
    assert said in error["message"]


def test_one_list_of_no_queries_is_still_an_object() -> None:
    as_json, text = bulk("--aggregate", "--json", lines=""), bulk("--aggregate", lines="")

    assert valid("bulk_search_response", as_json.stdout)["aggregated"] == []
    assert (text.stdout, text.stderr) == ("", "# 0 queries: 0 succeeded, 0 failed\n")
