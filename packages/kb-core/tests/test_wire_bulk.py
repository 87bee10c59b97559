"""Several searches in one call, on the wire: shapes, and the prose of a code search."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from kb_core import schemas, wire
from kb_core.citations import Citation, CodeSpan
from kb_core.errors import ConfigInvalid, InvalidInput, KbError, StaleCursor
from kb_core.search import AggregatedResponse, Hit, Outcome, Retrieval, SearchResponse
from kb_core.testing import closed_schema

STALE = StaleCursor("the cursor is old", details={"field": "cursor"})


def check(name: str, value: object) -> Any:  # noqa: ANN401 - a JSON value
    read = json.loads(wire.dumps(value))
    Draft202012Validator(closed_schema(name)).validate(read)
    return read


def code(path: str, first: int, last: int, text: str, **fields: Any) -> Hit:  # noqa: ANN401
    hit = Hit(
        rank=1,
        score=0.89,
        score_kind="aggregated",
        chunk_id="a" * 32,
        doc_id="b" * 32,
        doc_path=path,
        title=path,
        heading_path=(),
        section_label=None,
        snippet=text,
        snippet_full_text=True,
        citation=Citation(path, CodeSpan(first, last)),
        retrieval=Retrieval(method="hybrid", fusion_score=0.8476),
        index_version="i1",
        chunker_version="c1",
        embedding_model=None,
        indexed_at=1_780_000_000,
        stale=False,
        source_id="code",
        source_type="note",
        trust_level="primary",
        lang=None,
        media="code",
        matched_queries=(0,),
        base_score=0.89,
    )
    return replace(hit, **fields)


def test_an_item_has_its_response_or_its_error_and_the_input_as_it_came() -> None:
    answered = wire.bulk_search_item({"k": 3, "query": "a", "lang": None}, response())
    failed = wire.bulk_search_item({"query": "a", "quary": 1}, STALE)

    assert check("bulk_search_item", answered)["query"] == {"k": 3, "query": "a"}
    assert list(answered["query"]) == ["k", "query"]
    assert (answered["response"], answered["error"]) == (wire.search_response(response()), None)
    assert (failed["response"], failed["error"]) == (None, wire.error(STALE))
    check("bulk_search_item", failed)


def response(**fields: Any) -> SearchResponse:  # noqa: ANN401 - of SearchResponse
    return SearchResponse(hits=(), corpus_revision=7, **fields)


@pytest.mark.parametrize(
    ("error", "found"),
    [(None, None), (wire.error(STALE), wire.search_response(response()))],
)
def test_an_item_with_both_or_neither_is_not_of_the_schema(error: object, found: object) -> None:
    item = {"schema_version": "bulk_search_item.v1", "query": {}}

    with pytest.raises(ValidationError):
        check("bulk_search_item", item | {"error": error, "response": found})


@pytest.mark.parametrize("failures", range(4))
def test_a_summary_counts_and_its_total_is_the_sum(failures: int) -> None:
    outcomes: list[Outcome] = [*[STALE] * failures, *[response()] * (3 - failures)]

    summary = check("bulk_search_summary", wire.bulk_search_summary(outcomes))

    assert (summary["succeeded"], summary["failed"]) == (3 - failures, failures)
    assert summary["total"] == summary["succeeded"] + summary["failed"] == 3


def test_an_aggregated_response_has_one_list_and_empty_responses() -> None:
    outcomes: tuple[Outcome, ...] = (response(), STALE)
    hit = code("a.py", 1, 2, "x", matched_count=2)
    omitted = {"hits": 4, "snippets_shortened": 1}
    found = AggregatedResponse(outcomes=outcomes, hits=(hit,), truncated=True, omitted=omitted)
    asked = [{"query": "a"}, {"query": "b"}]

    made = check("bulk_search_response", wire.aggregated_search_response(asked, found))

    assert made["aggregated"] == [wire.hit(hit)]
    assert (made["truncated"], made["omitted"]) == (True, omitted)
    assert [item["query"]["query"] for item in made["results"]] == ["a", "b"]
    assert made["results"][0]["response"]["hits"] == []
    assert made["summary"] == {"total": 2, "succeeded": 1, "failed": 1}


def test_a_bulk_response_that_is_not_aggregated_says_nothing_of_a_list() -> None:
    made = check("bulk_search_response", wire.bulk_search_response([{"query": "a"}], [STALE]))

    assert made.keys() == {"schema_version", "results", "summary"}
    assert check("bulk_search_response", wire.bulk_search_response([], []))["results"] == []


def codebase(
    *queries: dict[str, str],
    hits: tuple[Hit, ...] = (),
    errors: dict[int, KbError] | None = None,
    degraded: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Mapping[str, Any]:
    made = wire.codebase_search_response(
        queries, hits, truncated=False, errors=errors or {}, degraded=degraded, warnings=warnings
    )
    check("codebase_search_response", made)
    return made


def test_seed_codebase_text_of_one_query() -> None:
    token = "export function validateToken(token: string) { ... }\n"
    hit = code("src/auth/validator.ts", 45, 67, token)

    text = wire.codebase_search_text(
        codebase({"query": "authentication validation", "path": "src/auth"}, hits=(hit,))
    )

    assert text == (
        "Query: authentication validation\n"
        "Results:\n"
        "\n"
        "File path: src/auth/validator.ts\n"
        "Score: 0.89\n"
        "Lines: 45-67\n"
        "Code Chunk: export function validateToken(token: string) { ... }"
    )


def test_seed_codebase_text_of_several_queries() -> None:
    """The boost is shown only where a result matched more than one query."""
    both = code("src/utils/errorHandler.ts", 23, 45, "export class ErrorHandler { ... }")
    one = code("src/api/middleware.ts", 89, 102, "try { ... } catch (error) { ... }", score=0.72)

    text = wire.codebase_search_text(
        codebase(
            {"query": "error handling"},
            {"query": "exception handling"},
            {"query": "try catch"},
            hits=(replace(both, matched_queries=(0, 2)), one),
        )
    )

    assert text == (
        "Batch Query Results (3 queries):\n"
        '- "error handling"\n'
        '- "exception handling"\n'
        '- "try catch"\n'
        "\n"
        "Results:\n"
        "\n"
        "File path: src/utils/errorHandler.ts\n"
        "Score: 0.89 (matched 2 queries, +5% boost)\n"
        "Lines: 23-45\n"
        "Code Chunk: export class ErrorHandler { ... }\n"
        "\n"
        "File path: src/api/middleware.ts\n"
        "Score: 0.72\n"
        "Lines: 89-102\n"
        "Code Chunk: try { ... } catch (error) { ... }"
    )


def test_the_prose_says_what_failed_what_is_missing_and_that_nothing_was_found() -> None:
    error = InvalidInput("path '../x' leads out of the source")

    text = wire.codebase_search_text(
        codebase(
            {"query": "a", "path": "src"},
            {"query": "b", "path": "../x"},
            errors={1: error},
            degraded=("vector: switched off",),
            warnings=("path 'src' holds no indexed code",),
        )
    )

    assert text == (
        "Batch Query Results (2 queries):\n"
        '- "a" (path: src)\n'
        "- \"b\" (path: ../x) (error: path '../x' leads out of the source)\n"
        "\n"
        "Results:\n"
        "\n"
        "No relevant code snippets found.\n"
        "\n"
        "Note: vector: switched off\n"
        "Note: path 'src' holds no indexed code"
    )


def test_the_boost_is_five_percent_a_query_and_the_score_may_pass_one() -> None:
    hit = code("a.py", 1, 1, "x", score=1.1, matched_queries=(0, 1, 2))

    text = wire.codebase_search_text(codebase({"query": "a"}, {"query": "b"}, hits=(hit,)))

    assert "Score: 1.10 (matched 3 queries, +10% boost)" in text


def test_every_code_that_an_item_can_carry_is_in_the_schema() -> None:
    for error in (ConfigInvalid("x"), InvalidInput("x"), STALE, KbError("x")):
        check("bulk_search_item", wire.bulk_search_item({"query": "a"}, error))


def test_a_search_input_has_every_filter_under_its_one_name() -> None:
    from dataclasses import fields

    from kb_core.search import SearchFilters

    described = schemas.load("bulk_search_input")["properties"]
    assert {field.name for field in fields(SearchFilters)} <= described.keys()
