"""``list``, ``inspect``, ``status``: tables over the index."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_cli.testing import knowledge_base, run
from kb_core.search import SearchFilters
from kb_core.testing import closed_schema

DOC = {
    "doc_id": "1c0ffee5000000000000000000000001",
    "doc_path": "노트/한국어.md",
    "source_id": "notes",
    "title": "A",
    "lang": "ko",
    "tags": [],
    "trust_level": "primary",
    "source_type": "note",
    "media": "markdown",
    "byte_len": 12_345,
    "chunk_count": 1204,
    "created_at": None,
    "updated_at": None,
    "indexed_at": "2026-05-31T12:00:00Z",
    "parser_version": "p1",
    "chunker_version": "c1",
}
CODE = DOC | {
    "doc_id": "2c0ffee5000000000000000000000002",
    "doc_path": "a\x07.py",
    "media": "code",
    "lang": None,
    "code_lang": "python",
    "byte_len": 9,
    "chunk_count": 3,
}
FILES = [
    {
        "source_id": "노트",
        "doc_path": "a.md",
        "state": "indexed",
        "mtime": "2026-05-31T12:00:00Z",
        "indexed_at": "2026-05-31T12:00:00Z",
        "size": 100,
    },
    {
        "source_id": "notes",
        "doc_path": "b.bin",
        "state": "skipped",
        "reason": "unsupported",
        "detail": "no parser",
        "mtime": "2026-05-31T12:00:00Z",
        "size": 2_000_000,
    },
]
COVERAGE: dict[str, Any] = {
    "files": 2,
    "indexed": 1,
    "skipped": 1,
    "failed": 0,
    "pending": 0,
    "deleted": 0,
    "by_reason": {"unsupported": 1},
    "chunks": 1204,
    "embedded": 1000,
}


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def listing(*docs: dict[str, Any], total: int, **more: Any) -> ScriptedKnowledgeBase:  # noqa: ANN401
    items = {"items": list(docs), "total": total, "next_cursor": None, **more}
    return knowledge_base({"list_docs": {"schema_version": "doc_summary_list.v1", **items}})


def test_documents_stand_in_a_table_that_is_aligned_by_display_width() -> None:
    result = run("list", "docs", kb=listing(DOC, CODE, total=2))

    assert result.stdout == (
        "ID        MEDIA     LANG    CHUNKS  SIZE     SOURCE  PATH\n"
        "1c0ffee5  markdown  ko       1,204  12.3 kB  notes   노트/한국어.md\n"
        "2c0ffee5  code      python       3  9 B      notes   a\\x07.py\n"
        "2 documents\n"
    )


def test_a_page_says_of_how_many_it_is_one() -> None:
    kb = listing(CODE, total=340)

    result = run("list", "docs", "--tag", "x", "--limit", "1", "--offset", "20", kb=kb)

    assert kb.asked == [("list_docs", SearchFilters(tag=("x",)), 1, 20)]
    assert result.stdout.endswith("21-21 of 340 documents\n")


def test_a_filter_that_finds_nothing_says_why() -> None:
    result = run("list", "docs", "--tag", "x", kb=listing(total=0, warnings=["tag 'x' is unknown"]))

    assert (result.stdout, result.stderr) == ("0 documents\n", "warning: tag 'x' is unknown\n")


def test_an_empty_list_is_one_line() -> None:
    assert run("list", "docs", kb=ScriptedKnowledgeBase()).stdout == "0 documents\n"


def test_status_of_everything_is_a_page_and_says_how_much_more_there_is() -> None:
    answer = {"schema_version": "file_status.v1", "files": FILES, "coverage": COVERAGE}
    kb = knowledge_base({"status": {**answer, "total": len(FILES) + 1234}})

    assert "and 1,234 more files: name some, or a --state" in run("status", kb=kb).stdout
    run("status", "--json", kb=kb)
    run("status", "**", kb=kb)

    assert [limit for *_, limit, _ in kb.asked] == [200, None, None]


def test_status_shows_every_file_and_the_coverage() -> None:
    answer = {"schema_version": "file_status.v1", "files": FILES, "coverage": COVERAGE}
    kb = knowledge_base({"status": answer})

    result = run("status", "**/*", "--state", "indexed", "--changed-since", "2026-05-31", kb=kb)

    assert kb.asked == [("status", "**/*", "indexed", "2026-05-31", None, 0)]
    assert result.stdout == (
        "STATE    CHANGED           SIZE    SOURCE  PATH   WHY\n"
        "indexed  2026-05-31 12:00  100 B   노트    a.md\n"
        "skipped  2026-05-31 12:00  2.0 MB  notes   b.bin  unsupported: no parser\n"
        "2 files: 1 indexed, 1 skipped\n"
        "skipped: 1 unsupported\n"
        "1,204 chunks, 1,000 embedded\n"
    )


def test_a_state_that_does_not_exist_is_invalid_input() -> None:
    result = run("status", "--state", "lost", "--json")

    assert (result.exit_code, json.loads(result.stderr)["code"]) == (2, "invalid_input")


def test_inspect_doc_shows_metadata_blocks_and_warnings() -> None:
    result = run("inspect", "doc", "1c0ffee5")

    assert result.stdout == (
        "document  1c0ffee5000000000000000000000001\n"
        "path      notes/a.md\n"
        "source    notes (note, primary)\n"
        "title     A\n"
        "media     markdown\n"
        "language  en\n"
        "tags      x, y\n"
        "size      9 B\n"
        "chunks    1\n"
        "created   -\n"
        "updated   -\n"
        "indexed   2026-01-02 03:04\n"
        "made by   p1, c1\n"
        "metadata\n"
        "  aliases  Alpha\n"
        "blocks: 2\n"
        "  KIND       START  END  HEADING\n"
        "  heading        0    4  A\n"
        "  paragraph      5    9  A\n"
        "warning: tags: 7 is not a text\n"
    )


def test_inspect_chunk_shows_its_place_its_models_and_its_text() -> None:
    result = run("inspect", "chunk", "5669ef18")

    assert result.stdout == (
        "chunk       5669ef1867462f246ba69791918ea713\n"
        "document    1c0ffee5000000000000000000000001\n"
        "place       notes/a.md#L3\n"
        "heading     A › B\n"
        "symbol      -\n"
        "ordinal     0\n"
        "characters  5-9\n"
        "tokens      1\n"
        "made by     c1\n"
        "embeddings  hash.none.1 (64)\n"
        "\n"
        "one\n"
    )


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (["list", "docs"], "doc_summary_list"),
        (["inspect", "doc", "1c0ffee5"], "doc_inspection"),
        (["inspect", "chunk", "5669ef18"], "chunk_inspection"),
        (["status"], "file_status"),
    ],
)
def test_json_is_of_the_published_shape(words: list[str], schema: str) -> None:
    result = run(*words, "--json")

    assert result.stderr == ""
    Draft202012Validator(closed_schema(schema)).validate(json.loads(result.stdout))


def test_a_glob_that_matches_nothing_says_so() -> None:
    result = run("status", "no\x1bpe/**", kb=knowledge_base())

    assert result.exit_code == 0
    assert result.stderr == "no file that was seen matches 'no\\x1bpe/**'\n"


def test_the_nearest_passage_is_named_as_an_editor_takes_it() -> None:
    result = run("explain-miss", "one", "--doc", "notes/a.md", "--mode", "lexical")

    assert "\nnearest " in result.stdout
    assert result.stdout.split("nearest", 1)[1].split()[0] == "notes/a.md:3"


def test_the_query_that_would_find_it_is_a_command_that_asks_as_it_was_asked(
    tmp_path: Path,
) -> None:
    file = tmp_path / "the notes.toml"
    file.write_text("[search]\ndefault_k = 3\n")
    miss = ("explain-miss", "zebra", "--doc", "notes/a.md")
    told = json.loads(run(*miss, "--json").stdout)

    def tried(query: str, rank: int, mode: str = "hybrid") -> str:
        found = told | {"suggestion": {"query": query, "rank": rank}, "mode": mode}
        result = run("--config", str(file), *miss, kb=knowledge_base({"explain_miss": found}))
        return result.stdout.strip().split("\ntry ")[1].strip()

    ours = f"kebab --config '{file}' search"
    assert tried("one", 1) == f"{ours} one (rank 1)"
    assert tried("one", 3, "lexical") == f"{ours} one --mode lexical (rank 3)"
    assert tried("o'ne two", 7) == f"{ours} 'o'\"'\"'ne two' -k 10 (rank 7)"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_kept_it_out_names_commands_for_this_knowledge_base(
    form: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "notes.toml"
    file.write_text("[search]\ndefault_k = 3\n")
    miss = ("explain-miss", "zebra", "--doc", "notes/a.md")
    found = json.loads(run(*miss, "--json").stdout) | {"summary": "run 'kebab embed'"}

    kb = knowledge_base({"explain_miss": found})

    said = run("--config", str(file), *miss, *form, kb=kb).stdout
    assert f"run 'kebab --config {file} embed'" in said


LINK = {
    "kind": "wiki",
    "target": "A",
    "excerpt": "see [[A]] and [[A|it]]",
    "citation": {"kind": "line", "path": "b.md", "uri": "b.md#L3", "start": 3, "end": 3},
}
OTHER = {
    "doc_id": "2c0ffee5000000000000000000000002",
    "doc_path": "b.md",
    "source_id": "work",
    "title": "B",
}


def _linked(direction: str, *links: Any) -> ScriptedKnowledgeBase:  # noqa: ANN401 - of JSON
    head = {name: DOC[name] for name in ("doc_id", "doc_path", "source_id", "title")}
    body = {"schema_version": "link_list.v1", **head, "direction": direction}
    return knowledge_base({"links": lambda *_, **__: body | {"items": list(links), "total": 12}})


def test_links_are_listed_with_where_they_lead() -> None:
    kb = _linked("out", LINK | OTHER, LINK | {"target": "no\x07.md"})

    shown = run("list", "links", "a.md", "--limit", "2", "--offset", "4", kb=kb)
    as_json = run("list", "links", "a.md", "--json", kb=kb)

    assert shown.stdout == (
        "PLACE             LINK       DOCUMENT\n"
        "노트/한국어.md:3  A          b.md\n"
        "노트/한국어.md:3  no\\x07.md  -\n"
        "5-6 of 12 links\n"
    )
    Draft202012Validator(closed_schema("link_list")).validate(json.loads(as_json.stdout))
    assert kb.asked[0] == ("links", "a.md", False, 2, 4)


def test_backlinks_are_listed_with_the_lines_that_they_stand_in_each_once() -> None:
    kb = _linked("in", LINK | OTHER, LINK | OTHER)

    shown = run("list", "backlinks", "a.md", kb=kb)

    assert shown.stdout == (
        "PLACE   SOURCE  TEXT\nb.md:3  work    see [[A]] and [[A|it]]\n1-2 of 12 links\n"
    )
    assert kb.asked[0][:3] == ("links", "a.md", True)
