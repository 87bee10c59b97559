"""``kebab cite``: print, open, verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app.editors import FilePlace
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_cli.testing import knowledge_base, run
from kb_core import wire
from kb_core.citations import Citation, LineSpan
from kb_core.errors import DocNotFound
from kb_core.testing import closed_schema

URI = "notes/a.md#L3"
HASH = "0123456789abcdef"
CHANGED = {
    "uri": URI,
    "status": "changed",
    "checked": "file",
    "now": wire.citation(Citation("notes/a.md", LineSpan(5, 5))),
    "diff": "--- notes/a.md#L3\n+++ notes/a.md\n@@ -3 +5 @@\n-one\n+two\n",
}
MOVED = CHANGED | {"status": "moved", "diff": None}
UNCHANGED = {"uri": "b.md#L1-L2", "status": "unchanged", "checked": "index", "detail": "far away"}
GONE = {"uri": "c\x1b.md#L1", "status": "gone", "checked": "file"}


def checked(*checks: dict[str, Any]) -> ScriptedKnowledgeBase:
    return knowledge_base({"verify_citations": wire.citation_check(checks)})


def test_a_citation_is_printed_as_fetch_prints_it() -> None:
    kb = knowledge_base()

    result = run("cite", URI, "--source", "notes", kb=kb)

    assert kb.asked == [("cite", URI, "notes")]
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "[notes/a.md § L3-L3]\none\n"


def test_json_is_the_facades_own_object() -> None:
    result = run("cite", URI, "--json")

    Draft202012Validator(closed_schema("fetch_result")).validate(json.loads(result.stdout))


def test_lines_that_are_not_there_are_told() -> None:
    with knowledge_base() as kb:
        past = kb.cite(URI) | {"text": "", "line_start": 99, "line_end": 99, "effective_end": 98}

    result = run("cite", "notes/a.md#L99", kb=knowledge_base({"cite": past}))

    assert (result.exit_code, result.stderr) == (0, "warning: notes/a.md has no line 99\n")


def test_verify_shows_each_citation_and_a_summary() -> None:
    result = run("cite", "verify", URI, kb=checked(UNCHANGED, MOVED, CHANGED, GONE))

    assert result.exit_code == 3
    assert result.stdout == (
        "unchanged  b.md#L1-L2  (far away)\n"
        "moved      notes/a.md#L3 → notes/a.md#L5\n"
        "changed    notes/a.md#L3 → notes/a.md#L5\n"
        "    --- notes/a.md#L3\n"
        "    +++ notes/a.md\n"
        "    @@ -3 +5 @@\n"
        "    -one\n"
        "    +two\n"
        "gone       c\\x1b.md#L1\n"
        "4 verified: 1 unchanged, 1 moved, 1 changed, 1 gone\n"
    )


@pytest.mark.parametrize(
    ("check", "code"), [(UNCHANGED, 0), (MOVED, 0), (CHANGED, 3), (GONE, 3)]
)  # fmt: skip
def test_verify_exits_3_if_anything_is_changed_or_gone(check: dict[str, Any], code: int) -> None:
    assert run("cite", "verify", URI, kb=checked(UNCHANGED, check)).exit_code == code
    assert run("cite", "verify", URI, "--json", kb=checked(UNCHANGED, check)).exit_code == code


def test_verify_prints_its_wire_object() -> None:
    result = run("--json", "cite", "verify", URI, kb=checked(MOVED, CHANGED))

    Draft202012Validator(closed_schema("citation_check")).validate(json.loads(result.stdout))


def test_verify_reads_uris_and_objects_from_standard_input() -> None:
    kb = knowledge_base({"verify_citations": wire.citation_check(())})
    citation = {"uri": URI, "content_hash": HASH}
    response = {"hits": [{"citation": citation, "source_id": "notes"}]}
    text = f"b.md#L1\n\n  {json.dumps(citation)}  \n{json.dumps(response)}\n"

    result = run("cite", "verify", "a.md#L9", "-", kb=kb, answer=text)

    assert result.exit_code == 0
    assert kb.asked == [("verify_citations", ["a.md#L9", "b.md#L1", citation, response], None)]


def test_nothing_on_standard_input_is_nothing_to_verify() -> None:
    result = run("cite", "verify", "-", answer="\n")

    assert (result.exit_code, result.stdout) == (0, "0 verified\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the URI of a citation is missing"),
        (("a.md#L1", "b.md#L1"), "one URI is expected, not 2"),
        (("verify",), "no citation to verify"),
        (
            ("verify", "a.md#L1", "--open"),
            "verify opens and draws nothing: --open goes with one URI",
        ),
        (("a.pdf#page=1", "--open", "--image", "x.png"), "--open and --image do not go together"),
        (("a.md#L1", "--dry-run"), "--dry-run says what --open would run"),
    ],
)
def test_what_makes_no_sense_is_invalid_input(words: tuple[str, ...], message: str) -> None:
    result = run("cite", *words, "--json")

    told = json.loads(result.stderr)
    assert (result.exit_code, told["code"], told["message"]) == (2, "invalid_input", message)


@pytest.mark.parametrize("line", ['{"uri": ', "{" * 100_000])
def test_what_is_not_json_is_shown_in_short(line: str) -> None:
    result = run("cite", "verify", "-", "--json", answer=line)

    told = json.loads(result.stderr)
    assert (result.exit_code, told["code"]) == (2, "invalid_input")
    assert len(told["message"]) < 80


def test_an_error_of_the_facade_is_shown() -> None:
    kb = knowledge_base(error=DocNotFound("no document at 'x'"))

    result = run("cite", "x#L1", "--json", kb=kb)

    assert (result.exit_code, json.loads(result.stderr)["code"]) == (2, "doc_not_found")


# --------------------------------------------------------------------- opening


def editor(folder: Path, code: int = 0) -> Path:
    """Return an editor that writes its arguments, one a line, to ``asked`` beside it."""
    script = folder / "vim"
    script.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {folder}/asked\nexit {code}\n", "utf-8")
    script.chmod(0o755)
    return script


def test_open_runs_the_editor_at_the_line_without_a_shell(tmp_path: Path) -> None:
    place = FilePlace(f"{tmp_path}/a b; touch {tmp_path}/pwned #.md", line=3)
    kb = knowledge_base({"locate": place})

    result = run("cite", URI, "--open", kb=kb, environ={"EDITOR": f"'{editor(tmp_path)}' -n"})

    assert (result.exit_code, result.stdout, kb.asked) == (0, "", [("locate", URI, None)])
    assert (tmp_path / "asked").read_text("utf-8").splitlines() == ["-n", "+3", place.path]
    assert not (tmp_path / "pwned").exists()


def test_a_dry_run_says_the_command_and_runs_nothing(tmp_path: Path) -> None:
    kb = knowledge_base({"locate": FilePlace("/notes/a b.md", line=3)})
    environ = {"EDITOR": str(editor(tmp_path))}

    result = run("cite", URI, "--open", "--dry-run", kb=kb, environ=environ)

    assert (result.exit_code, result.stdout) == (0, f"{tmp_path}/vim +3 '/notes/a b.md'\n")
    assert not (tmp_path / "asked").exists()
    odd = knowledge_base({"locate": FilePlace("/notes/new\nline.md", line=3)})
    said = run("cite", URI, "--open", "--dry-run", kb=odd, environ=environ).stdout
    assert said == f"{tmp_path}/vim +3 $'/notes/new\\x0aline.md'\n"


def test_an_editor_that_fails_or_is_missing_is_an_error(tmp_path: Path) -> None:
    kb = knowledge_base({"locate": FilePlace("/notes/a.md", line=3)})
    words = ("cite", URI, "--open", "--json")

    failing = run(*words, kb=kb, environ={"EDITOR": str(editor(tmp_path, 7))})
    missing = run(*words, kb=kb, environ={"EDITOR": f"{tmp_path}/none"})

    assert (failing.exit_code, missing.exit_code) == (2, 2)
    assert json.loads(failing.stderr)["message"] == f"'{tmp_path}/vim' ended with 7"
    assert json.loads(missing.stderr)["message"].startswith(f"cannot run '{tmp_path}/none'")
