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


def test_a_passage_of_a_recording_says_when_it_is_said() -> None:
    kb = knowledge_base()
    with kb:
        result: dict[str, Any] = {**kb.fetch_chunk(ID)}
    uri = "talk.mp3#t=13:42.000,14:10.900"
    time = {"kind": "time", "start_ms": 822_000, "end_ms": 850_900}
    place = {**time, "path": "talk.mp3", "uri": uri, "content_hash": "b26691bad2ad4405"}
    chunk = {**result["chunk"], "heading_path": ["Loomings"], "source_spans": [place]}
    kb = knowledge_base({"fetch_chunk": {**result, "doc_path": "talk.mp3", "chunk": chunk}})

    printed = run("fetch", "chunk", ID, kb=kb)

    assert printed.stdout == "[talk.mp3 13:42-14:10 § Loomings]\none\n", printed.stderr


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


@pytest.mark.parametrize(("text", "is_told"), [("", True), ("# A\n", False)])
def test_what_is_within_a_document_without_a_text_is_told(text: str, *, is_told: bool) -> None:
    said = "warning: in.mbox has no text of its own; 2 documents within it, to be fetched by path"
    told = f"{said}, such as in.mbox!/1.eml\n" if is_told else ""
    kb = knowledge_base()
    with kb:
        found: dict[str, Any] = {**kb.fetch_doc(DOC_ID), "text": text, "doc_path": "in.mbox"}
        known: dict[str, Any] = {**kb.inspect_doc(DOC_ID)}
    known["enclosed"] = ["in.mbox!/1.eml", "in.mbox!/2.eml"]
    kb = knowledge_base({"fetch": found, "fetch_doc": found, "inspect_doc": known})

    assert run("fetch", "in.mbox", kb=kb).stderr == told
    assert run("fetch", "doc", "in.mbox", kb=kb).stderr == told


def test_a_cut_is_told_on_stderr() -> None:
    kb = knowledge_base()
    with kb:
        result = kb.fetch_doc(DOC_ID)
    cut = result | {"truncated": True, "omitted_chars": 4321, "stale": True}

    printed = run("fetch", "doc", ID, kb=knowledge_base({"fetch_doc": cut}))

    assert printed.stderr == (
        "cut: 4,321 characters left out; raise --max-tokens for more, or give --all\n"
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


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("notes/a.md:1-3",), ("fetch", "notes/a.md:1-3", None)),
        (("at", "a.md", "--max-tokens", "9"), ("fetch", "a.md", 9)),
        (("a.md", "--max-tokens", "9"), ("fetch", "a.md", 9)),
        ((ID,), ("fetch", ID, None)),
        (("a.md#L1", "a.md:3"), ("fetch_many", ("a.md#L1", "a.md:3"), None)),
        (("outline", "a.md"), ("outline", "a.md")),
        (("--", "a.md:1-3"), ("fetch", "a.md:1-3", None)),
        (("--max-tokens", "9", "a.md:1-3"), ("fetch", "a.md:1-3", 9)),
        (("--quiet", "--max-tokens=9", "a.md:1-3"), ("fetch", "a.md:1-3", 9)),
        (("--", "outline", "a.md"), ("outline", "a.md")),
    ],
)
def test_a_place_is_fetched_as_it_is_printed(
    words: tuple[str, ...], asked: tuple[object, ...]
) -> None:
    kb = knowledge_base()

    result = run("fetch", *words, kb=kb)

    assert (result.exit_code, kb.asked) == (0, [asked])


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (("--", "-a.md:1"), ["-a.md:1"]),
        (("--json", "--", "-a.md"), ["-a.md"]),
        (("--", "a.md", "-b.md"), [("a.md", "-b.md")]),
        (("a.md", "--", "-b.md"), [("a.md", "-b.md")]),
    ],
)
def test_what_stands_after_two_dashes_is_no_option(
    words: tuple[str, ...], places: list[object]
) -> None:
    kb = knowledge_base()

    run("fetch", *words, kb=kb)

    assert [asked[1] for asked in kb.asked] == places


def test_several_places_are_printed_one_after_the_other() -> None:
    result = run("fetch", "a.md:1", "notes/a.md#L3")

    assert result.stdout == "[notes/a.md § L1-L1]\n# A\n[notes/a.md § L3-L3]\none\n"


def test_a_place_that_is_not_there_is_told_and_the_others_are_printed() -> None:
    result = run("fetch", "a.md:1", "nowhere.md:3")
    parsed = json.loads(run("--json", "fetch", "a.md:1", "nowhere.md:3").stdout)

    assert (result.exit_code, result.stdout) == (2, "[notes/a.md § L1-L1]\n# A\n")
    assert result.stderr.startswith("warning: no document at 'nowhere.md:3'")
    Draft202012Validator(closed_schema("fetch_results")).validate(parsed)
    assert parsed["results"][1]["error"]["code"] == "doc_not_found"


@pytest.mark.parametrize("options", [(), ("--max-tokens", "9")])
@pytest.mark.parametrize(
    "name", ["parse_query", "Server", "Server.start", "walk", "justfile", "letter-to-the-council"]
)
def test_a_name_that_is_no_command_is_looked_for(name: str, options: tuple[str, ...]) -> None:
    result = run("fetch", *options, name)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: no document at {name!r}")


@pytest.mark.parametrize("word", ["docs", "spam", "7"])
def test_a_word_that_is_nearly_a_command_or_a_number_is_refused(word: str) -> None:
    result = run("fetch", word, "1")

    assert (result.exit_code, f"no such command '{word}'" in result.stderr) == (2, True)
    assert f"kebab fetch at {word}\n" in result.stderr


def test_an_outline_has_a_line_for_each_heading_or_symbol() -> None:
    found = {
        "schema_version": "outline.v1",
        "doc_id": DOC_ID,
        "doc_path": "src/a.py",
        "media": "code",
        "chars": 900,
        "lines": 40,
        "entries": [
            {"level": 1, "name": "A", "kind": "class", "line_start": 8, "line_end": 40},
            {"level": 2, "name": "f", "kind": "function", "line_start": 12, "line_end": 12},
        ],
        "omitted": 3,
        "indexed_at": "2026-05-31T00:00:00Z",
        "stale": False,
    }

    result = run("fetch", "outline", "a.py", kb=knowledge_base({"outline": found}))
    none = run("fetch", "outline", "a.py", kb=knowledge_base({"outline": {**found, "entries": []}}))

    assert result.stdout == (
        "[src/a.py] 40 lines\n8-40  A  class\n  12    f  function\n3 more inside these\n"
    )
    assert none.stdout == "[src/a.py] 40 lines\n3 more inside these\n"
