"""Several searches in one call, through the command, and as the seeds ask for it.

``test_seed_bulk_*`` and ``test_seed_trace_*`` are the rows of the seeds' test plans, in
their order; those of the MCP server stand with its tests.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from jsonschema import Draft202012Validator

from kb_app import KnowledgeBase, load_config
from kb_app.testing.parts import open_here
from kb_app.wire_models import read_queries
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.search import Outcome, SearchQuery, SearchResponse
from kb_core.testing import closed_schema

NOTES = {
    "rust.md": "---\ntags: [rust]\n---\n# Rust\n\nAsync tasks and futures in rust.\n",
    "deep/locks.md": "# Locks\n\nA writer holds the lock; readers never wait.\n\n## Rust\n\nNo.\n",
    "ko.md": "# 검색\n\n한국어 문서를 검색한다. rust 이야기도 있다.\n",
    "code/retry.py": 'def retry(task):\n    """Error handling: try again."""\n    return task()\n',
}


def valid(name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON, read or not
    read: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    Draft202012Validator(closed_schema(name)).validate(read)
    return read


def bulk(
    kebab: InstalledKebab, *words: str, lines: str | list[dict[str, Any]], code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run ``kebab search --bulk`` over *lines*, and check its exit code."""
    given = lines if isinstance(lines, str) else "".join(f"{json.dumps(one)}\n" for one in lines)
    return kebab.run("search", "--bulk", *words, given=given, code=code)


def items(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [valid("bulk_search_item", line) for line in done.stdout.splitlines()]


def summary(done: subprocess.CompletedProcess[str]) -> tuple[int, int, int]:
    read = valid("bulk_search_summary", done.stderr.splitlines()[-1])
    return read["total"], read["succeeded"], read["failed"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return the command over a few notes, with the embedding model that is configured."""
    made = KebabHere(tmp_path_factory.mktemp("base"))
    made.configure(model="multilingual-e5-small")
    for path, text in NOTES.items():
        made.write(path, text)
    made.ingest()
    return made


@pytest.fixture(scope="module")
def kb(base: InstalledKebab) -> Iterator[KnowledgeBase]:
    with open_here(load_config(base.config, {})) as opened:
        yield opened


# -------------------------------------------------------- the seed's rows: types


def test_seed_bulk_01_an_item_is_a_response_or_an_error() -> None:
    answer, error = SearchResponse(hits=(), corpus_revision=1), InvalidInput("bad")

    good = valid("bulk_search_item", wire.bulk_search_item({"query": "a"}, answer))
    bad = valid("bulk_search_item", wire.bulk_search_item({"query": "a"}, error))

    assert (good["error"], bad["response"]) == (None, None)
    assert good["response"]["schema_version"] == "search_response.v1"
    assert bad["error"]["schema_version"] == "error.v1"


@given(st.lists(st.booleans(), max_size=100))
def test_seed_bulk_02_the_total_is_succeeded_and_failed(fine: list[bool]) -> None:
    good = SearchResponse(hits=(), corpus_revision=1)
    outcomes: list[Outcome] = [good if one else InvalidInput("bad") for one in fine]

    counts = valid("bulk_search_summary", wire.bulk_search_summary(outcomes))

    assert counts["total"] == len(fine) == counts["succeeded"] + counts["failed"]
    assert counts["succeeded"] == sum(fine)


# ------------------------------------------------------- the seed's rows: facade


def test_seed_bulk_03_nothing_in_nothing_out(kb: KnowledgeBase) -> None:
    outcomes = list(kb.search_many([]))

    assert outcomes == []
    assert wire.bulk_search_summary(outcomes)["total"] == 0


def test_seed_bulk_04_two_of_three_succeed_and_one_has_an_invalid_filter(
    kb: KnowledgeBase,
) -> None:
    asked = [{"query": q, "mode": "lexical"} for q in ("rust", "lock", "search")]
    asked[1]["ingested_after"] = "soon"

    outcomes = list(kb.search_many(read_queries(asked)))

    assert [isinstance(one, KbError) for one in outcomes] == [False, True, False]
    found = wire.bulk_search_summary(outcomes)
    assert (found["succeeded"], found["failed"]) == (2, 1)


def test_seed_bulk_05_a_hundred_and_one_items_are_refused_at_once(kb: KnowledgeBase) -> None:
    """As ``config_invalid`` on the command line (row 9), as ``invalid_input`` elsewhere."""
    with pytest.raises(InvalidInput, match="max 100"):
        kb.search_many([SearchQuery(text="a")] * 101)


# ------------------------------------------------------ the seed's rows: command


def test_seed_bulk_06_two_lines_in_two_lines_out(base: InstalledKebab) -> None:
    done = bulk(base, "--json", lines='{"query":"rust"}\n{"query":"lock"}\n')

    found = items(done)
    assert [item["query"] for item in found] == [{"query": "rust"}, {"query": "lock"}]
    assert all(item["response"]["hits"] and item["error"] is None for item in found)
    assert summary(done) == (2, 2, 0)


def test_seed_bulk_07_an_empty_stdin_is_a_success(base: InstalledKebab) -> None:
    done = bulk(base, "--json", lines="")

    assert done.stdout == ""
    assert summary(done) == (0, 0, 0)


def test_seed_bulk_08_a_line_that_is_no_json_fails_the_whole(base: InstalledKebab) -> None:
    done = bulk(base, "--json", lines='{"query":"rust"}\nnot json\n', code=2)

    assert done.stdout == ""
    assert valid("error", done.stderr)["code"] == "config_invalid"


def test_seed_bulk_09_a_hundred_and_one_lines_fail_the_whole(base: InstalledKebab) -> None:
    done = bulk(base, "--json", lines='{"query":"rust"}\n' * 101, code=2)

    error = valid("error", done.stderr)
    assert done.stdout == ""
    assert (error["code"], error["message"]) == ("config_invalid", "queries: max 100 items")


def test_seed_bulk_10_without_json_each_query_has_a_block(base: InstalledKebab) -> None:
    done = bulk(base, lines=[{"query": "rust", "mode": "lexical"}, {"query": "lock"}])

    first, second = done.stdout.split("\n\n")
    assert first.startswith(" 1. ")
    assert second.startswith(" 1. ")
    assert " hits · lexical · " in first
    assert done.stderr.splitlines() == [
        "# Query 1: rust",
        "# Query 2: lock",
        "# 2 queries: 2 succeeded, 0 failed",
    ]


def test_seed_bulk_11_an_invalid_filter_is_its_item_s_error(base: InstalledKebab) -> None:
    """An unknown medium is no error: it gives no hits, and says so."""
    done = bulk(
        base,
        "--json",
        lines=[{"query": "rust", "trust_min": "best"}, {"query": "rust", "media": ["foo"]}],
    )

    bad, odd = items(done)
    assert bad["error"]["code"] == "invalid_input"
    assert odd["response"]["hits"] == []
    assert "'foo'" in odd["response"]["warnings"][0]
    assert summary(done) == (2, 1, 1)


def test_seed_bulk_16_the_capability_is_told(base: InstalledKebab) -> None:
    able = base.json("schema")["capabilities"]

    assert able["bulk_search"]
    assert able["aggregated_search"]
    assert able["codebase_search"]


# --------------------------------------------- rows of the trace seed: command


def test_seed_trace_the_trace_has_its_parts(base: InstalledKebab) -> None:
    trace = valid("search_response", base.json("search", "rust", "--trace"))["trace"]

    assert {"lexical", "vector", "rrf_inputs", "timing"} <= trace.keys()
    assert trace["lexical"]
    assert trace["vector"]
    assert trace["rrf_inputs"]
    assert {"lexical_ms", "vector_ms", "fusion_ms", "total_ms"} <= trace["timing"].keys()


def test_seed_trace_without_it_the_key_is_absent(base: InstalledKebab) -> None:
    assert "trace" not in base.json("search", "rust")


def test_seed_trace_the_schema_counts_every_medium_and_part(base: InstalledKebab) -> None:
    stats = valid("schema", base.json("schema"))["stats"]

    always = {"markdown", "pdf", "image", "audio", "other"}
    assert always <= stats["media_breakdown"].keys()
    assert {"duckdb", "tantivy"} <= stats["index_bytes"].keys()
    assert sum(stats["lang_breakdown"].values()) == len(NOTES)
    assert "stale_doc_count" in stats


def test_seed_trace_an_empty_corpus_counts_zeros(kebab: InstalledKebab) -> None:
    stats = kebab.json("schema")["stats"]

    assert {stats["media_breakdown"][name] for name in ("markdown", "pdf", "image", "audio")} == {0}
    assert stats["lang_breakdown"] == {}


def test_seed_trace_text_has_a_section_with_counts_and_times(base: InstalledKebab) -> None:
    shown = base.run("search", "rust", "--trace").stdout

    section = shown.partition("Trace:\n")[2]
    for name in ("lexical", "vector"):
        assert any(
            line.split()[0] == name and "candidates" in line and line.endswith(" ms")
            for line in section.splitlines()
            if line.strip()
        )


# ------------------------------------------------------------------ equal bytes

TEXTS = ("rust", "who holds the lock?", "검색", '"async tasks" -ko', "\ud800 lone", "zzz")

options = st.fixed_dictionaries(
    {"query": st.sampled_from(TEXTS)},
    optional={
        "mode": st.sampled_from(["hybrid", "lexical", "vector"]),
        "k": st.integers(1, 5),
        "max_tokens": st.sampled_from([5, 300, 2000]),
        "snippet_chars": st.sampled_from([60, 300]),
        "trace": st.booleans(),
        "rerank": st.just(value=False),
        "tag": st.sampled_from(["rust", ["rust", "x"], []]),
        "media": st.sampled_from(["md", ["code"]]),
        "path_glob": st.sampled_from(["deep/**", " "]),
        "trust_min": st.just("primary"),
        "cursor": st.just("nonsense"),
    },
)


def untimed(sent: Mapping[str, Any]) -> str:
    sent.get("trace", {}).pop("timing", None)
    return wire.dumps(sent)


@given(st.lists(options, min_size=1, max_size=6))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_an_item_is_byte_for_byte_the_single_search_over_the_facade(
    kb: KnowledgeBase, asked: list[dict[str, Any]]
) -> None:
    queries = read_queries(asked)
    for query, outcome in zip(queries, kb.search_many(queries), strict=True):
        try:
            if isinstance(query, KbError):
                raise query
            single = untimed(wire.search_response(kb.search(query)))
        except KbError as error:
            single = untimed(wire.error(error))
        together = (
            wire.error(outcome) if isinstance(outcome, KbError) else wire.search_response(outcome)
        )
        assert untimed(together) == single


def as_words(asked: dict[str, Any]) -> list[str]:
    """Return the command line of a single search with the same input."""
    words = [asked["query"]]
    for name, value in asked.items():
        option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
        if name == "trace":
            words += [option] * value
        elif name != "query":
            for one in value if isinstance(value, list) else [value]:
                words += [option, str(one)]
    return words


def test_an_item_is_byte_for_byte_the_single_search_of_the_command(base: InstalledKebab) -> None:
    asked: list[dict[str, Any]] = [
        {"query": "rust", "k": 1},
        {"query": "who holds the lock?", "mode": "vector", "snippet_chars": 60, "trace": True},
        {"query": "검색", "mode": "lexical", "media": ["md"], "max_tokens": 300},
        {"query": "rust", "tag": ["rust"], "path_glob": "*.md", "since": "2020-01-01"},
        {"query": "rust", "cursor": "nonsense"},
    ]

    done = bulk(base, "--json", lines=asked)

    for item, query in zip(items(done), asked, strict=True):
        code = 2 if item["error"] else 0
        single = base.run("--json", "search", *as_words(query), code=code)
        printed = single.stderr if code else single.stdout
        assert untimed(item["error"] or item["response"]) == untimed(json.loads(printed))
    assert summary(done) == (5, 4, 1)


# ------------------------------------------------------------- errors of all kinds


def test_every_kind_of_failure_stays_with_its_item(base: InstalledKebab) -> None:
    asked: list[dict[str, Any]] = [
        {"query": "rust"},
        {},
        {"query": " "},
        {"query": "rust", "tags": ["x"]},
        {"query": "rust", "k": 101},
        {"query": "rust", "since": "soon"},
        {"query": "rust", "path_glob": " "},
        {"query": "rust", "cursor": "nonsense"},
        {"query": "rust", "max_tokens": 1},
        {"query": "lock"},
    ]

    done = bulk(base, "--json", lines=asked)

    codes = [item["error"] and item["error"]["code"] for item in items(done)]
    assert codes == [None, *["invalid_input"] * 6, "stale_cursor", "invalid_input", None]
    assert [item["query"] for item in items(done)] == asked
    assert summary(done) == (10, 2, 8)
    assert "did you mean 'tag'?" in done.stdout


def test_without_an_index_the_whole_fails(kebab: InstalledKebab) -> None:
    done = bulk(kebab, "--json", lines='{"query":"a"}\n', code=2)

    assert done.stdout == ""
    assert valid("error", done.stderr)["code"] == "not_indexed"


def test_one_query_may_continue_where_another_stopped(base: InstalledKebab) -> None:
    first = base.json("search", "rust", "-k", "1")

    (item,) = items(
        bulk(base, "--json", lines=[{"query": "rust", "k": 1, "cursor": first["next_cursor"]}])
    )

    assert [hit["rank"] for hit in item["response"]["hits"]] == [2]


def test_each_query_goes_on_as_long_as_its_own_list_is_the_same(kebab: InstalledKebab) -> None:
    for number in range(4):
        kebab.write(f"tea-{number}.md", f"Tea{' and water' * number}.\n")
        kebab.write(f"rust-{number}.md", f"Rust{' and iron' * number}.\n")
    kebab.ingest()
    asked: list[dict[str, Any]] = [{"query": query, "k": 2} for query in ("tea", "rust")]
    first = items(bulk(kebab, "--json", lines=asked))
    for query, item in zip(asked, first, strict=True):
        query["cursor"] = item["response"]["next_cursor"]

    kebab.ingest()
    second = items(bulk(kebab, "--json", lines=asked))
    kebab.write("rust-4.md", "Rust, rust and rust.\n")
    kebab.ingest()
    third = items(bulk(kebab, "--json", lines=asked))

    for item in second:
        assert [hit["rank"] for hit in item["response"]["hits"]] == [3, 4]
    tea, rust = third
    assert [hit["rank"] for hit in tea["response"]["hits"]] == [3, 4]
    assert (rust["error"]["code"], rust["response"]) == ("stale_cursor", None)


# ---------------------------------------------------------------------- streams


def test_the_seed_s_pipeline_through_jq(base: InstalledKebab) -> None:
    if shutil.which("jq") is None:
        pytest.skip("there is no jq here")
    kebab = " ".join(base.command("search", "--bulk", "--json"))
    line = f"""printf '{{"query":"rust"}}\\n{{"query":"lock"}}\\n' | {kebab} | jq -c ."""

    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert len(items(done)) == 2
    assert summary(done) == (2, 2, 0)


def test_a_closed_pipe_is_quiet(base: InstalledKebab, tmp_path: Path) -> None:
    lines = tmp_path / "queries.jsonl"
    asked = {"query": "rust", "mode": "lexical", "k": 100}
    lines.write_text(f"{json.dumps(asked)}\n" * 100, "utf-8")
    kebab = " ".join(base.command("search", "--bulk", "--json"))
    line = f"{kebab} < {lines} | head -n 1; echo ${{PIPESTATUS[0]}}"

    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)

    first, code = done.stdout.splitlines()
    assert valid("bulk_search_item", first)["error"] is None
    assert (code, done.stderr) == ("0", "")


def test_a_deadline_is_each_query_s_own(base: InstalledKebab) -> None:
    lines = '{"query": "rust", "deadline_ms": 1}\n{"query": "rust"}\n'
    done = InstalledKebab(base.home).run("search", "--bulk", "--json", given=lines)

    late, whole = items(done)
    assert late["response"]["stages"] == ["lexical"]
    assert whole["response"]["hits"]
    assert "stages" not in whole["response"]
    assert summary(done) == (2, 2, 0)


# ---------------------------------------------------------------- one list of all


def test_one_list_for_all_queries(base: InstalledKebab) -> None:
    asked: list[dict[str, Any]] = [
        {"query": "async rust"},
        {"query": "futures and tasks"},
        {"query": "rust", "since": "soon"},
    ]

    done = bulk(base, "--aggregate", "--json", lines=asked)

    (line,) = done.stdout.splitlines()
    found = valid("bulk_search_response", line)
    assert found["summary"] == {"total": 3, "succeeded": 2, "failed": 1}
    assert summary(done) == (3, 2, 1)
    assert [item["response"]["hits"] for item in found["results"][:2]] == [[], []]
    best = found["aggregated"][0]
    assert best["doc_path"] == "rust.md"
    assert best["matched_queries"] == [0, 1]
    assert best["score"] == pytest.approx(best["base_score"] * 1.05, abs=1e-5)


@pytest.mark.parametrize("max_tokens", [700, 1200, 3000])
def test_one_budget_for_all_of_it(base: InstalledKebab, max_tokens: int) -> None:
    asked = [{"query": "async rust"}, {"query": "lock"}, {"query": "검색"}]

    done = bulk(base, "--aggregate", "--json", "--max-tokens", str(max_tokens), lines=asked)

    assert len(done.stdout.rstrip("\n")) <= 4 * max_tokens
    assert valid("bulk_search_response", done.stdout)["aggregated"]


@pytest.mark.parametrize("max_tokens", [1500, 3000])
def test_one_budget_is_shared_by_answers_that_stay_apart(
    base: InstalledKebab, max_tokens: int
) -> None:
    asked: list[dict[str, Any]] = [
        {"query": "async rust"},
        {"query": "lock"},
        {"query": "검색", "max_tokens": 400},
    ]

    done = bulk(base, "--json", "--max-tokens", str(max_tokens), lines=asked)

    found = [json.loads(line)["response"] for line in done.stdout.splitlines()]
    sizes = [len(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in found]
    assert all(one["hits"] for one in found)
    assert sum(sizes) <= 4 * max_tokens
    assert sizes[2] <= 4 * 400


def test_the_order_of_lines_does_not_matter_to_one_list(base: InstalledKebab) -> None:
    asked = [{"query": query} for query in ("async rust", "who holds the lock?", "검색")]
    lists = []
    for seed in range(3):
        random.Random(seed).shuffle(asked)
        done = bulk(base, "--aggregate", "--json", lines=asked)
        found = valid("bulk_search_response", done.stdout)["aggregated"]
        lists.append([(hit["chunk_id"], hit["score"], hit["snippet"]) for hit in found])

    assert lists[0] == lists[1] == lists[2]


# ------------------------------------------------------------------ code search


def codebase(
    kebab: InstalledKebab, *words: str, given: str = "", code: int = 0
) -> subprocess.CompletedProcess[str]:
    return kebab.run("codebase-search", *words, given=given, code=code)


def test_the_forms_of_a_code_search_answer_alike(base: InstalledKebab) -> None:
    forms = [
        codebase(base, "--json", "error handling", "--path", "code"),
        codebase(base, "--json", given='{"query": "error handling", "path": "code"}'),
        codebase(base, "--json", given='{"queries": ["error handling"], "path": "./code/"}'),
        codebase(
            base, "--json", given='{"queries": [{"query": "error handling", "path": "code"}]}'
        ),
    ]

    assert {form.stdout for form in forms} == {forms[0].stdout}
    found = valid("codebase_search_response", forms[0].stdout)
    assert [hit["doc_path"] for hit in found["hits"]] == ["code/retry.py"]


def test_a_code_search_prints_what_a_model_reads(base: InstalledKebab) -> None:
    text = codebase(base, "error handling", "retry").stdout
    answer = codebase(base, "--json", "error handling", "retry").stdout

    assert text == wire.codebase_search_text(json.loads(answer)) + "\n"
    assert text.startswith(
        'Batch Query Results (2 queries):\n- "error handling"\n- "retry"\n\nResults:\n\n'
        "File path: code/retry.py\nScore: "
    )
    assert "(matched 2 queries, +5% boost)\nLines: 1-3\nCode Chunk: def retry(task):\n" in text


@pytest.mark.parametrize(
    ("words", "given"),
    [([], ""), ([], "{}"), ([" "], ""), ([], '{"queries": []}'), (["a", "--path", "/etc"], "")],
)
def test_a_code_search_that_cannot_be_made_is_an_error(
    base: InstalledKebab, words: list[str], given: str
) -> None:
    done = codebase(base, "--json", *words, given=given, code=2)

    assert done.stdout == ""
    assert valid("error", done.stderr)["code"] == "invalid_input"
