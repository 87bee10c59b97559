"""``kebab search``: what a person and what a program reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kb_app.testing.facade import ScriptedKnowledgeBase, hit, response
from kb_cli.testing import knowledge_base, run
from kb_core.citations import Citation, PageSpan, TimeSpan
from kb_core.errors import NotIndexed
from kb_core.media import SearchMode
from kb_core.search import (
    CHARS_PER_TOKEN,
    Candidate,
    FusionInput,
    SearchFilters,
    SearchQuery,
    Timing,
    Trace,
)
from kb_core.testing import closed_schema
from kb_core.testing.documents import document

ID = "5669ef1867462f246ba69791918ea713"
OTHER = "00000000000000000000000000000002"


def finding(*hits: object, **fields: object) -> ScriptedKnowledgeBase:
    return knowledge_base({"search": response(*hits, **fields)})  # type: ignore[arg-type]


def asked(kb: ScriptedKnowledgeBase) -> SearchQuery:
    (name, query), *rest = kb.asked
    assert (name, rest) == ("search", [])
    assert isinstance(query, SearchQuery)
    return query


def test_a_hit_shows_rank_score_citation_heading_and_snippet() -> None:
    result = run("search", "chunks", kb=finding(hit()))

    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout == (
        " 1. 0.82  notes/rust/architecture.md:661  5669ef18\n"
        "    Architecture › Chunking\n"
        "    … heading boundaries first; a code block is never cut in two\n"
        "1 hit · hybrid · 8 ms · 12 documents, 1,204 chunks\n"
    )


def test_a_stale_hit_says_so_at_the_end_of_its_line() -> None:
    result = run("search", "chunks", kb=finding(hit(stale=True)))

    assert result.stdout.splitlines()[0] == (
        " 1. 0.82  notes/rust/architecture.md:661                5669ef18  [stale]"
    )


def test_a_person_sees_the_part_that_matches_and_no_heading_twice() -> None:
    text = "# Chunking\n\nWe cut at headings. " + "Then something else. " * 40
    found = hit(snippet=f"{text}A block of code is never cut.", lines=(5, 9), title="Chunking")

    kb = finding(found)
    result = run("search", "blocks of code", kb=kb)

    assert asked(kb).snippet_chars == 10_000
    lines = result.stdout.splitlines()
    assert lines[0] == " 1. 0.82  notes/rust/architecture.md:7  5669ef18"
    assert " ".join(lines[2:-1]).split()[-7:] == ["A", "block", "of", "code", "is", "never", "cut."]
    assert "# Chunking" not in result.stdout
    assert len(lines) == 6


@pytest.mark.parametrize(("confidence", "is_said"), [(0.02, True), (0.6, False), (None, False)])
def test_hits_that_are_no_answer_are_said_to_be_none(
    confidence: float | None, is_said: bool
) -> None:
    kb = finding(hit(), confidence=confidence)

    lines = run("search", "x", kb=kb).stdout.splitlines()

    assert (lines[0] == "nothing here seems to answer this") is is_said
    assert lines[is_said].startswith(" 1. 0.82")


def test_a_document_says_what_it_kept_from_the_list_and_how_to_see_that() -> None:
    result = run("search", "chunks", kb=finding(hit(more_in_doc=4, doc_id=OTHER)))

    assert "    +4 more in this document: --doc-id 00000000\n" in result.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), 3),
        (("--per-doc", "1"), 1),
        (("--per-doc", "0"), 0),
        (("--json",), None),
        (("--json", "--per-doc", "2"), 2),
        (("--max-tokens", "500"), 3),
        (("--cursor", "c"), None),
        (("--doc-id", "00000000"), None),
    ],
)
def test_a_person_gets_three_hits_of_a_document_unless_told_otherwise(
    options: tuple[str, ...], expected: int | None
) -> None:
    kb = finding(hit())

    run("search", "chunks", *options, kb=kb)

    assert asked(kb).per_doc == expected


def test_a_source_is_named_where_two_have_the_same_path() -> None:
    """Whether the other is a hit or not: what is printed alone is to be opened, too."""
    twins = [hit(), hit(rank=2, source_id="copy"), hit(rank=3, doc_path="b.md")]
    said = ["[notes]", "[copy]", "5669ef18"]

    for hits, marks in ((twins, said), (twins[1:], said[1:])):
        kb = finding(*hits)
        kb.keep(*(document(twins[0].doc_path, "x\n", source_id=id_) for id_ in ("notes", "copy")))
        lines = run("search", "x", kb=kb).stdout.splitlines()
        heads = [line for line in lines if line.endswith(("]", "5669ef18"))]
        assert [head.rpartition("  ")[2] for head in heads] == marks


def test_a_page_and_what_has_no_lines_are_named_as_they_are() -> None:
    page = hit(citation=Citation("a.pdf", PageSpan(3)), doc_path="a.pdf", media="pdf")
    sound = hit(citation=Citation("a b.mp3", TimeSpan(1000, 2000)), doc_path="a b.mp3")

    said = run("search", "x", kb=finding(page, sound)).stdout

    assert " a.pdf, page 3  5669ef18\n" in said
    assert " a b.mp3#t=0:01.000,0:02.000  5669ef18\n" in said


def test_lines_of_code_stay_lines_and_wide_characters_wrap_by_their_width() -> None:
    code = hit(
        rank=10, media="code", snippet="def f():\n\treturn 1\n", doc_path="a.py", lines=(1, 2)
    )
    korean = hit(rank=11, heading_path=("검색",), snippet="한국어 " * 30)

    result = run("search", "x", kb=finding(code, korean))

    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "10. 0.82  a.py:1  5669ef18",
        "    Architecture › Chunking",
        "    def f():",
        "        return 1",
    ]
    assert lines[5] == "    검색"
    assert lines[6] == "    " + " ".join(["한국어"] * 11)
    assert "".join(lines[6:-1]).count("한국어") == 30


def test_no_hits_is_a_success() -> None:
    result = run("search", "nothing", "--mode", "lexical", kb=finding(mode=SearchMode.LEXICAL))

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "no hits · lexical · 8 ms · 12 documents, 1,204 chunks\n"


def test_what_a_terminal_would_obey_is_escaped_in_paths_headings_and_snippets() -> None:
    evil = hit(
        doc_path="a\x1b[31m\u202eb.md",
        heading_path=("x\x07y",),
        snippet="one\x1b]0;title\x07two\u2066three",
    )

    result = run("search", "x", kb=finding(evil))

    assert not any(c in result.stdout for c in "\x1b\x07\u202e\u2066")
    assert r"a\x1b[31m\u202eb.md:661" in result.stdout
    assert r"x\x07y" in result.stdout
    assert r"one\x1b]0;title\x07two\u2066three" in result.stdout


def test_what_did_not_work_goes_to_stderr() -> None:
    kb = finding(hit(), degraded=("vector: no embeddings yet",), warnings=("media 'x' is unknown",))

    loud, quiet = run("search", "x", kb=kb), run("search", "x", "--quiet", kb=kb)

    assert loud.stderr == "degraded: vector: no embeddings yet\nwarning: media 'x' is unknown\n"
    assert (quiet.stderr, quiet.stdout) == ("", loud.stdout)


def test_json_names_commands_for_the_configuration_that_is_asked(tmp_path: Path) -> None:
    (file := tmp_path / "c.toml").touch()
    kb = finding(hit(snippet="run 'kebab embed'"), degraded=("none (run 'kebab embed')",))

    words = ("--config", str(file), "--json", "search", "x", "--max-tokens", "500")
    result = run(*words, kb=kb)

    found = json.loads(result.stdout)
    assert found["degraded"] == [f"none (run 'kebab --config {file} embed')"]
    assert found["hits"][0]["snippet"] == "run 'kebab embed'"
    first, second = (query for _, query in kb.asked)
    assert isinstance(first, SearchQuery)
    assert isinstance(second, SearchQuery)
    budget = second.max_tokens or 0
    longer = len(result.stdout) - len(run(*words[2:], kb=kb).stdout)
    assert first.max_tokens == 500
    assert 500 - budget >= longer / CHARS_PER_TOKEN


def test_json_is_one_line_of_the_published_shape() -> None:
    trace = Trace(lexical=(Candidate(ID, OTHER, "a.md", 1, 3.5),), timing=Timing(total_ms=4))

    result = run("search", "x", "--json", "--trace", kb=finding(hit(), trace=trace))

    assert result.stdout.count("\n") == 1
    Draft202012Validator(closed_schema("search_response")).validate(json.loads(result.stdout))


def test_the_trace_shows_each_channel_its_top_three_and_the_fused_list() -> None:
    lexical = tuple(
        Candidate(ID[:-1] + str(n), OTHER, f"notes/{n}.md", n, 9 - n) for n in range(1, 5)
    )
    vector = (Candidate(OTHER, OTHER, "notes/v.md", 1, 0.91),)
    fused = (FusionInput(ID[:-1] + "1", 1, None, 0.98), FusionInput(OTHER, None, 1, 0.5))
    times = Timing(lexical_ms=3, vector_ms=14, fusion_ms=1, total_ms=19)
    trace = Trace(lexical=lexical, vector=vector, fused=fused, timing=times)

    result = run("search", "x", "--trace", kb=finding(hit(), trace=trace))

    assert result.stdout.splitlines()[3:] == [
        "Trace:",
        "  lexical     4 candidates  3 ms",
        "    1. 8.0000  notes/1.md",
        "    2. 7.0000  notes/2.md",
        "    3. 6.0000  notes/3.md",
        "  vector       1 candidate  14 ms",
        "    1. 0.9100  notes/v.md",
        "  fused       2 candidates  1 ms",
        "    1. 0.9800  notes/1.md  (lexical 1, vector -)",
        "    2. 0.5000  notes/v.md  (lexical -, vector 1)",
        "  total   19 ms = words 3 + meaning 14 + fusion 1 + rest 1",
        "1 hit · hybrid · 8 ms · 12 documents, 1,204 chunks",
    ]


def test_every_filter_reaches_the_query() -> None:
    kb = finding()
    words = [
        "search",
        "q",
        "-k",
        "3",
        "--mode",
        "vector",
        "--snippet-chars",
        "99",
        "--tag",
        "a",
        "--tag",
        "b",
        "--lang",
        "ko",
        "--path-glob",
        "n/**",
        "--trust-min",
        "secondary",
        "--media",
        "md,code",
        "--media",
        "pdf",
        "--repo",
        "r",
        "--code-lang",
        "go",
        "--ingested-after",
        "2026-01-01",
        "--since",
        "2025",
        "--until",
        "2026-02-01",
        "--doc-id",
        "1c0ffee5",
        "--source",
        "s",
        "--source-type",
        "note",
        "--json",
    ]

    result = run(*words, kb=kb)

    query = asked(kb)
    assert result.exit_code == 0
    assert (query.text, query.k, query.mode, query.snippet_chars) == ("q", 3, "vector", 99)
    assert query.filters == SearchFilters(
        tag=("a", "b"),
        lang=("ko",),
        path_glob=("n/**",),
        trust_min="secondary",
        media=("md", "code", "pdf"),
        ingested_after="2026-01-01",
        since="2025",
        until="2026-02-01",
        doc_id="1c0ffee5",
        repo=("r",),
        code_lang=("go",),
        source=("s",),
        source_type=("note",),
    )


def test_the_configuration_gives_what_the_command_line_leaves_out() -> None:
    kb = knowledge_base()
    environ = {"KEBAB_SEARCH_DEFAULT_K": "4", "KEBAB_SEARCH_SNIPPET_CHARS": "80"}

    run("search", "q", "--json", kb=kb, environ=environ)

    assert (asked(kb).k, asked(kb).snippet_chars) == (4, 80)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], "invalid_input", "the query is missing"),
        (["  "], "invalid_input", "query '  ' is blank"),
        (["two", "words"], "invalid_input", "one query is expected, not 2 arguments"),
        (["q", "-k", "0"], "invalid_input", "0 is not in the range"),
        (["q", "--mode", "fuzzy"], "invalid_input", "'fuzzy' is not one of"),
        (["q", "--ingested-after", "soon"], "config_invalid", "'soon' is not a time"),
        (["q", "--trust-min", "max"], "invalid_input", "'max' is not one of"),
    ],
)
def test_a_search_that_cannot_be_made_says_why(words: list[str], code: str, said: str) -> None:
    result = run("search", "--json", *words)

    told = json.loads(result.stderr)
    assert (result.exit_code, result.stdout, told["code"]) == (2, "", code)
    assert said in told["message"]
    Draft202012Validator(closed_schema("error")).validate(told)


def test_without_a_knowledge_base_the_hint_says_how_to_make_one() -> None:
    nothing = knowledge_base(
        error=NotIndexed("there is nothing here yet", hint="kebab add ~/notes && kebab ingest")
    )

    result = run("search", "q", kb=nothing)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: there is nothing here yet\n  hint: kebab add ~/notes && kebab ingest\n"
    )
