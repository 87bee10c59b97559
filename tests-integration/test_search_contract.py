"""Searching through the installed command: every answer and every refusal, by its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.testing import closed_schema

pytestmark = pytest.mark.model

_NOTES = {
    "storage/locks.md": "---\ntags: [storage, rust]\ndate: 2024-03-01\n---\n"
    "# Locks\n\nThe writer takes a lock before it writes. Readers never wait for it.\n\n"
    "## Timeouts\n\nWaiting for the lock ends after five seconds.\n",
    "storage/journal.md": "---\ntags: [storage]\ndate: 2025-06-30\nlang: en\n---\n"
    "# Journal\n\nA write-ahead log keeps what was promised when the power fails.\n",
    "kitchen/bread.md": "---\ndate: 2023-01-15\n---\n# Bread\n\nFlour, water, salt and patience.\n",
    "한국어/검색.md": "# 검색\n\n한국어 문서에서 두 글자 단어를 찾는다.\n",
    "src/parse.py": "def parse_http_date(text):\n    '''Parse the date of an HTTP header.'''\n"
    "    return text.split()\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return an embedded library of notes and code."""
    kebab = KebabHere(tmp_path_factory.mktemp("library"))
    kebab.configure(model="multilingual-e5-small")
    for path, text in _NOTES.items():
        kebab.write(path, text)
    kebab.run("ingest", "--summary-only")
    return kebab


def search(library: InstalledKebab, *words: str) -> dict[str, Any]:
    """Search, and see that the answer is exactly what is published."""
    answer: dict[str, Any] = library.json("search", *words)
    Draft202012Validator(closed_schema("search_response")).validate(answer)
    return answer


def paths(answer: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(hit["doc_path"] for hit in answer["hits"]))


def refusal(library: InstalledKebab, *words: str) -> dict[str, Any]:
    """Return the one line of error.v1 that a refused command leaves on stderr."""
    done = library.run("--json", *words, code=2)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    error: dict[str, Any] = json.loads(line)
    Draft202012Validator(closed_schema("error")).validate(error)
    return error


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--tag", "rust"), {"storage/locks.md"}),
        (("--tag", "rust", "--tag", "storage"), {"storage/locks.md", "storage/journal.md"}),
        (("--lang", "ko"), {"한국어/검색.md"}),
        (("--path-glob", "storage/**"), {"storage/locks.md", "storage/journal.md"}),
        (("--trust-min", "primary"), set(_NOTES)),
        (("--media", "code"), {"src/parse.py"}),
        (("--media", "code,md"), set(_NOTES)),
        (("--ingested-after", "2020-01-01"), set(_NOTES)),
        (("--ingested-after", "2999-01-01T00:00:00Z"), set()),
        (("--since", "2025-06-30", "--until", "2025-06-30"), {"storage/journal.md"}),
        (("--until", "2024-03-01"), {"storage/locks.md", "kitchen/bread.md"}),
        (("--code-lang", "python"), {"src/parse.py"}),
        (("--repo", "nowhere"), set()),
        (("--source", "notes"), set(_NOTES)),
        (("--source-type", "note"), set(_NOTES)),
        (("--media", "papyrus"), set()),
    ],
)
def test_every_filter_narrows_before_ranking(
    library: InstalledKebab, options: tuple[str, ...], expected: set[str]
) -> None:
    answer = search(library, "lock bread 검색 date log", "-k", "50", *options)

    assert set(paths(answer)) == expected


def test_a_document_id_narrows_too(library: InstalledKebab) -> None:
    hit = search(library, "bread", "-k", "1", "--mode", "lexical")["hits"][0]

    found = search(library, "lock", "--doc-id", hit["doc_id"][:12])

    assert paths(found) == [hit["doc_path"]] == ["kitchen/bread.md"]


def test_an_unknown_medium_is_a_warning(library: InstalledKebab) -> None:
    answer = search(library, "lock", "--media", "papyrus")

    assert answer["hits"] == []
    assert "papyrus" in answer["warnings"][0]


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (("search", "x", "--ingested-after", "yesterday"), "config_invalid", "ingested_after"),
        (("search", "x", "--ingested-after", ""), "config_invalid", "ingested_after"),
        (("search", "x", "--source", "work"), "invalid_input", "source"),
        (("search", "x", "--since", "yesterday"), "invalid_input", "since"),
        (("search", "x", "--until", "2024-13-01"), "invalid_input", "until"),
        (("search", "x", "--path-glob", "[a"), "invalid_input", "path_glob"),
        (
            ("search", "x", "--path-glob", "*a" * 40, "--mode", "vector"),
            "invalid_input",
            "path_glob",
        ),
        (("status", "[z-a]"), "invalid_input", "path_glob"),
        (("search", "x", "--doc-id", "zz"), "invalid_input", "doc_id"),
        (("search", "x", "--trust-min", "gossip"), "invalid_input", "trust_min"),
        (("search", "x", "--cursor", "AAAA"), "stale_cursor", "cursor"),
        (("search", "x", "--max-tokens", "1"), "invalid_input", "max_tokens"),
        (("search", "x", "--max-tokens", "0"), "invalid_input", "max_tokens"),
        (("search", "x", "--deadline-ms", "0"), "invalid_input", "deadline_ms"),
        (("search",), "invalid_input", "query"),
        (("search", "  "), "invalid_input", "query"),
        (("similar", "nowhere.md"), "doc_not_found", "id"),
        (("explain-miss", "x", "--doc", ""), "invalid_input", "doc"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_name(
    library: InstalledKebab, words: tuple[str, ...], code: str, field: str
) -> None:
    error = refusal(library, *words)

    assert (error["code"], error["details"].get("field")) == (code, field)


def test_a_budget_holds_and_its_cursor_goes_on(library: InstalledKebab) -> None:
    whole = search(library, "lock", "-k", "4")
    first = search(library, "lock", "-k", "4", "--max-tokens", "650")
    text = library.run("--json", "search", "lock", "-k", "4", "--max-tokens", "650").stdout

    assert len(text.rstrip("\n")) <= 4 * 650
    assert first["truncated"]
    assert first["omitted"]["hits"] == 4 - len(first["hits"]) > 0
    rest = search(library, "lock", "-k", "4", "--cursor", first["next_cursor"])
    ids = [hit["chunk_id"] for hit in (*first["hits"], *rest["hits"])]
    assert ids[:4] == [hit["chunk_id"] for hit in whole["hits"]]
    assert len(set(ids)) == len(ids)


def test_a_cursor_ends_with_an_ingest(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    for n in range(5):
        kebab.write(f"{n}.md", f"number {n} of the locks")
    kebab.ingest()
    first = search(kebab, "locks", "-k", "2", "--mode", "lexical")
    kebab.write("new.md", "one more of the locks")
    kebab.ingest()

    error = refusal(kebab, "search", "locks", "--mode", "lexical", "--cursor", first["next_cursor"])

    assert (error["code"], error["details"]["reason"]) == ("stale_cursor", "revision")


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_seed_trace_in_json(library: InstalledKebab, mode: str) -> None:
    traced = search(library, "write-ahead log", "--trace", "--mode", mode)
    plain = search(library, "write-ahead log", "--mode", mode)

    assert "trace" not in plain
    story = traced["trace"]
    assert bool(story["lexical"]) == (mode != "vector")
    assert bool(story["vector"]) == (mode != "lexical")
    assert {"lexical_ms", "vector_ms", "fusion_ms", "total_ms"} <= story["timing"].keys()
    if mode == "lexical":
        assert story["timing"]["vector_ms"] == 0
    assert [row["chunk_id"] for row in story["rrf_inputs"]][: len(plain["hits"])] == [
        hit["chunk_id"] for hit in plain["hits"]
    ]


def test_seed_trace_for_people(library: InstalledKebab) -> None:
    lines = library.run("search", "write-ahead log", "--trace").stdout.splitlines()

    at = lines.index("Trace:")
    section = "\n".join(lines[at:])
    for name in ("lexical", "vector", "fused", "total"):
        assert name in section
    assert section.count("storage/journal.md") >= 3
    assert " ms" in section
    assert "Trace:" not in library.run("search", "write-ahead log").stdout


def test_seed_trace_of_an_empty_corpus(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    kebab.ingest()

    answer = search(kebab, "anything", "--trace", "--mode", "lexical")

    assert answer["hits"] == []
    assert answer["trace"]["rrf_inputs"] == []


def test_a_deadline_tells_what_ran(library: InstalledKebab) -> None:
    cold = InstalledKebab(library.home)  # in a process of its own, whose model is not loaded yet

    soon = search(cold, "lock", "--deadline-ms", "1")
    late = search(cold, "lock", "--deadline-ms", "60000")

    assert soon["stages"] == ["lexical"]
    assert soon["degraded"] == ["vector: not ready within the deadline of 1 ms"]
    assert paths(soon)[0] == "storage/locks.md"
    assert late["stages"] == ["lexical", "vector"]


def test_reranking_is_told_in_every_hit(library: InstalledKebab) -> None:
    answer = search(library, "what happens to data when electricity is gone", "--rerank", "-k", "3")

    assert answer["hits"][0]["doc_path"] == "storage/journal.md"
    assert {hit["score_kind"] for hit in answer["hits"]} == {"rerank"}
    assert all("rerank_score" in hit["retrieval"] for hit in answer["hits"])
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_a_question_in_one_language_finds_the_passage_in_another(library: InstalledKebab) -> None:
    assert paths(search(library, "two-letter Korean words", "--media", "md"))[0] == "한국어/검색.md"
    assert paths(search(library, "밀가루와 소금과 물", "--lang", "en"))[0] == "kitchen/bread.md"


def test_explain_miss_and_similar_are_as_published(library: InstalledKebab) -> None:
    reports = [
        library.json("explain-miss", "lock", "--doc", "storage/locks.md"),
        library.json("explain-miss", "lock", "--doc", "kitchen/bread.md", "--media", "code"),
        library.json("explain-miss", "lock", "--doc", "not/there.md"),
    ]
    for report in reports:
        Draft202012Validator(closed_schema("explain_miss")).validate(report)
    verdicts = [report["verdict"] for report in reports]
    assert verdicts == ["shown", "filtered_out", "not_in_ledger"]
    text = library.run("explain-miss", "lock", "--doc", "storage/locks.md").stdout
    assert "it is hit 1" in text

    near = library.json("similar", "storage/locks.md", "-k", "1")
    Draft202012Validator(closed_schema("search_response")).validate(near)
    assert paths(near) == ["storage/journal.md"]


def test_statistics_of_a_filled_and_of_an_empty_knowledge_base(
    library: InstalledKebab, tmp_path: Path
) -> None:
    empty = KebabHere(tmp_path)
    always = {"markdown", "pdf", "image", "audio", "code", "other"}
    for kebab, documents in ((library, 5), (empty, 0)):
        schema, stats = kebab.json("schema"), kebab.json("stats")
        Draft202012Validator(closed_schema("schema")).validate(schema)
        Draft202012Validator(closed_schema("stats")).validate(stats)
        counts = schema["stats"]
        assert counts == {k: v for k, v in stats.items() if k != "schema_version"}
        assert always <= counts["media_breakdown"].keys()
        assert sum(counts["media_breakdown"].values()) == counts["doc_count"] == documents
        assert sum(counts["lang_breakdown"].values()) == documents
        parts = {"duckdb", "tantivy", "vectors", "assets", "costly"}
        assert counts["index_bytes"].keys() == parts
        assert (sum(counts["index_bytes"].values()) > 0) == (documents > 0)
        assert counts["stale_doc_count"] == 0
    assert library.json("stats")["lang_breakdown"]["null"] == 1
    assert empty.json("stats")["lang_breakdown"] == {}
    assert "on disk" in library.run("stats").stdout
