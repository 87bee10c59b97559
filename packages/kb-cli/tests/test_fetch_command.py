"""``kebab fetch``: verbatim text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing import DOC_ID, knowledge_base, run
from kb_core.errors import ChunkNotFound, SpanNotSupported
from kb_core.testing import closed_schema

ID = "5669ef18"


def test_a_chunk_is_printed_under_its_path_and_heading() -> None:
    kb = knowledge_base()

    result = run("fetch", "chunk", ID, kb=kb)

    assert kb.asked == [("fetch_chunk", ID, 0)]
    assert (result.exit_code, result.stdout) == (0, "[notes/a.md § A › B]\none\n")


def test_context_is_set_apart() -> None:
    kb = knowledge_base()
    with kb:
        result: dict[str, Any] = {**kb.fetch_chunk(ID)}
    before, after = ({**result["chunk"], "text": text} for text in ("zero\n", "two"))
    kb = knowledge_base(
        {"fetch_chunk": result | {"context_before": [before], "context_after": [after]}}
    )

    printed = run("fetch", "chunk", ID, "--context", "9223372036854775807", kb=kb)

    assert kb.asked == [("fetch_chunk", ID, 9223372036854775807)]
    assert printed.stdout == (
        "[notes/a.md § A › B]\n=== before ===\nzero\n=== target ===\none\n=== after ===\ntwo\n"
    )


def test_a_document_and_a_span_are_verbatim() -> None:
    kb = knowledge_base()

    doc = run("fetch", "doc", "1c0ffee5", "--max-tokens", "9", kb=kb)
    span = run("fetch", "span", "1c0ffee5", "1", "3", kb=kb)

    assert kb.asked == [("fetch_doc", "1c0ffee5", 9), ("fetch_span", "1c0ffee5", 1, 3, None)]
    assert doc.stdout == "[notes/a.md]\n# A\n\none\n"
    assert span.stdout == "[notes/a.md § L1-L3]\n# A\n\none\n"


def test_a_cut_is_told_on_stderr() -> None:
    kb = knowledge_base()
    with kb:
        result = kb.fetch_doc(DOC_ID)
    cut = result | {"truncated": True, "omitted_chars": 4321, "stale": True}

    printed = run("fetch", "doc", ID, kb=knowledge_base({"fetch_doc": cut}))

    assert printed.stderr == (
        "cut: 4,321 characters left out; raise --max-tokens for more\n"
        "stale: the file has changed since, or was not checked for long\n"
    )


@pytest.mark.parametrize("words", [("chunk", ID), ("doc", DOC_ID), ("span", DOC_ID, "1", "3")])
def test_json_is_the_facades_own_object(words: tuple[str, ...]) -> None:
    result = run("--json", "fetch", *words)

    Draft202012Validator(closed_schema("fetch_result")).validate(json.loads(result.stdout))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ChunkNotFound("no chunk '5669ef18'"), "chunk_not_found"),
        (SpanNotSupported("pages have no lines", hint="fetch the chunk"), "span_not_supported"),
    ],
)
def test_what_is_not_there_is_an_error_with_its_code(error: Exception, code: str) -> None:
    result = run("fetch", "chunk", ID, "--json", kb=knowledge_base(error=error))

    assert (result.exit_code, json.loads(result.stderr)["code"]) == (2, code)


@pytest.mark.parametrize(
    "words",
    [
        ("doc", ID, "--context", "1"),
        ("chunk", ID, "--max-tokens", "9"),
        ("span", ID, "one", "2"),
        ("doc", ID, "--max-tokens", "0"),
        (),
    ],
)
def test_what_makes_no_sense_is_invalid_input(words: tuple[str, ...]) -> None:
    result = run("fetch", *words, "--json")

    assert (result.exit_code, json.loads(result.stderr)["code"]) == (2, "invalid_input")
