"""``kebab grep``: lines for people and for scripts, and what is said beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing import KebabHere, knowledge_base, run
from kb_core.search import GrepQuery, SearchFilters
from kb_core.testing import closed_schema


def line(number: int, text: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"line": number, "text": text, "is_match": True, **fields}


def answer(*lines: dict[str, Any], **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    file = {
        "doc_id": "1c0ffee5000000000000000000000001",
        "doc_path": "src/a b.py",
        "source_id": "notes",
        "media": "code",
        "stale": False,
        "matches": 12,
        "omitted": 12 - sum(each["is_match"] for each in lines),
        "lines": list(lines),
    }
    return {
        "schema_version": "grep_response.v1",
        "pattern": "x",
        "case": "exact",
        "files": [file],
        "total_files": 1,
        "total_lines": 12,
        "searched": 40,
        "complete": True,
        "truncated": bool(file["omitted"]),
        "corpus_revision": 7,
        **fields,
    }


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (("one",), {}),
        (("one", "notes", "b.md"), {"paths": ("notes", "b.md")}),
        (("-F", "-w", "-C", "2", "one"), {"fixed": True, "word": True, "context": 2}),
        (("-i", "one"), {"case": "ignore"}),
        (("-s", "one"), {"case": "exact"}),
        (("-U", "one"), {"multiline": True}),
        (("-l", "one"), {"files_only": True}),
        (("-m", "7", "one"), {"max_lines": 7}),
        (("one", "--media", "pdf"), {"filters": SearchFilters(media=("pdf",))}),
    ],
)
def test_options_are_those_of_the_query(words: tuple[str, ...], query: dict[str, Any]) -> None:
    kb = knowledge_base()

    result = run("grep", *words, kb=kb)

    assert result.exit_code == 0
    assert kb.asked == [("grep", GrepQuery(pattern="one", **{"max_lines": 10_000, **query}))]


def test_off_a_terminal_a_line_has_its_path_and_number_before_it() -> None:
    result = run("grep", "one")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "notes/a.md:3:one\n", "")


def test_lines_around_have_dashes_and_blocks_are_set_apart() -> None:
    found = answer(
        line(1, "a", is_match=False), line(2, "x"), line(9, "\tx \x1b[0m"), line(10, "x")
    )

    kb = knowledge_base({"grep": found})
    result = run("grep", "x", "-C", "1", kb=kb)

    assert result.stdout == (
        "src/a b.py-1-a\nsrc/a b.py:2:x\n--\nsrc/a b.py:9:\tx \x1b[0m\nsrc/a b.py:10:x\n"
    )
    assert result.stderr == (
        "12 lines in 1 file, 3 shown: a path or a filter for fewer (40 documents looked through)\n"
    )
    assert "--max for more, a path" in run("grep", "x", "-m", "3", kb=kb).stderr


def test_paths_alone_and_counts() -> None:
    kb = knowledge_base({"grep": answer()})

    assert run("grep", "-l", "x", kb=kb).stdout == "src/a b.py\n"
    assert run("grep", "-c", "x", kb=kb).stdout == "src/a b.py:12\n"


def test_a_path_that_several_sources_have_is_printed_so_that_it_can_be_opened(
    tmp_path: Path,
) -> None:
    kebab = KebabHere(tmp_path)
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.md").write_text(f"The budget of {name}.\n", "utf-8")
        kebab.run("add", str(tmp_path / name))
    (tmp_path / "y" / "own.md").write_text("Another budget.\n", "utf-8")
    kebab.run("ingest", "--no-embed")
    whole = [str(tmp_path / name / "plan.md") for name in ("x", "y")]

    lines = kebab.run("grep", "budget").stdout.splitlines()
    (alone,) = kebab.run("grep", "budget of y").stdout.splitlines()
    names = kebab.run("grep", "-l", "budget").stdout.splitlines()

    assert sorted(line.rsplit(":", 2)[0] for line in lines) == sorted([*whole, "own.md"])
    assert sorted(names) == sorted([*whole, "own.md"])
    assert alone == f"{whole[1]}:1:The budget of y."
    assert kebab.run("fetch", alone.rpartition(":")[0]).stdout.endswith("The budget of y.\n")
    (row,) = json.loads(kebab.run("--json", "status", whole[1]).stdout)["files"]
    assert (row["source_id"], row["doc_path"]) == ("y", "plan.md")
    assert "[y]" in kebab.run("ask", "what is the budget of y").stdout
    refused = kebab.run("fetch", "z/plan.md", code=2).stderr
    assert "did you mean plan.md (x, " in refused


def test_finding_nothing_is_not_an_error_and_is_told() -> None:
    result = run("grep", "zzqx")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no lines (1 document looked through)\n"


def test_json_is_the_facades_own_object() -> None:
    result = run("--json", "grep", "one")

    Draft202012Validator(closed_schema("grep_response")).validate(json.loads(result.stdout))


def test_a_pattern_that_is_none_is_refused() -> None:
    result = run("--json", "grep", "(?=x)")

    error = json.loads(result.stderr)
    assert (result.exit_code, error["code"]) == (2, "invalid_input")
    assert error["details"]["field"] == "pattern"


def test_warnings_are_told() -> None:
    result = run("grep", "x", kb=knowledge_base({"grep": answer(line(1, "x"), warnings=["slow"])}))

    assert "warning: slow\n" in result.stderr


def test_in_asks_the_folder_that_is_named(tmp_path: Path) -> None:
    """It is the option of search: what it opens is tested there."""
    result = run("grep", "one", "--in", str(tmp_path / "nowhere"))

    assert result.exit_code == 2
    assert "nowhere" in result.stderr
