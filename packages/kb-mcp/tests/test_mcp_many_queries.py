"""Tools for several queries, and around one: what they pass on, and what they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from hypothesis import given, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app.testing.facade import ScriptedKnowledgeBase, hit, response
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.media import SearchMode
from kb_core.search import AggregatedResponse, Outcome, SearchFilters, SearchQuery, SearchResponse
from kb_mcp._tool import Form
from kb_mcp.testing import call, client_of, knowledge_base
from kb_mcp.text import tokens_of
from kb_mcp.text.answers import answers_text
from kb_mcp.text.reports import fetched_text


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def error_of(tool: str, arguments: dict[str, Any]) -> tuple[str, str | None]:
    kb = knowledge_base()
    result = await call(kb, tool, arguments)
    body = json.loads(text_of(result))
    assert (result.is_error, body["code"]) == (True, "invalid_input")
    assert kb.asked == []
    return body["message"], body["hint"]


async def test_queries_have_the_options_of_search_and_errors_of_their_own() -> None:
    """What came is shown as it came, but for what was null."""
    kb = knowledge_base()
    queries: list[dict[str, Any]] = [
        {"query": "a", "mode": "lexical", "tag": "x", "max_tokens": 900, "k": None},
        {"query": "b", "kk": 1},
        {"k": 3},
        {"query": "a", "mode": "lexical", "tag": "x"},
    ]
    body = (await call(kb, "bulk_search", {"queries": queries})).structured_content or {}

    assert body["summary"] == {"total": 4, "succeeded": 2, "failed": 2}
    items = body["results"]
    assert [item["query"] for item in items] == [
        {name: value for name, value in query.items() if value is not None} for query in queries
    ]
    assert [(item["error"] or {}).get("message") for item in items] == [
        None,
        "unknown parameter 'kk'",
        "parameter 'query' is missing",
        None,
    ]
    ((_, asked),) = kb.asked
    assert asked[0] == SearchQuery(
        text="a", mode=SearchMode.LEXICAL, max_tokens=900, filters=SearchFilters(tag=("x",))
    )


async def test_seed_bulk_12_two_queries_give_two_results_and_a_summary() -> None:
    queries = [{"query": "a"}, {"query": "b"}]
    body = (await call(knowledge_base(), "bulk_search", {"queries": queries})).structured_content

    assert body is not None
    assert [item["query"] for item in body["results"]] == queries
    assert all(item["response"] and item["error"] is None for item in body["results"])
    assert body["summary"] == {"total": 2, "succeeded": 2, "failed": 0}


async def test_seed_bulk_13_no_queries_give_no_results() -> None:
    result = await call(knowledge_base(), "bulk_search", {"queries": []})

    assert not result.is_error
    body = result.structured_content or {}
    assert (body["results"], body["summary"]) == ([], {"total": 0, "succeeded": 0, "failed": 0})


async def test_seed_bulk_14_a_hundred_and_one_queries_are_refused(tmp_path: Path) -> None:
    """By the facade itself, before it looks for an index."""
    with KnowledgeBase.open(Config.inside(tmp_path)) as kb:
        result = await call(kb, "bulk_search", {"queries": [{"query": "a"}] * 101})

    body = json.loads(text_of(result))
    assert (result.is_error, body["code"]) == (True, "invalid_input")
    assert body["message"] == "queries: max 100 items"


async def test_seed_bulk_15_the_tool_is_listed() -> None:
    async with client_of(knowledge_base()) as client:
        listed = await client.list_tools()

    assert "bulk_search" in {tool.name for tool in listed.tools}


async def test_one_list_has_one_budget() -> None:
    best = hit(matched_queries=(0,), base_score=0.5)
    first = response()

    def aggregated(queries: Sequence[SearchQuery | KbError], **_: object) -> AggregatedResponse:
        outcomes = tuple(query if isinstance(query, KbError) else first for query in queries)
        return AggregatedResponse(outcomes=outcomes, hits=(best,))

    kb = knowledge_base(answers={"search_aggregated": aggregated})
    queries = [{"query": "a"}, {"query": "b", "zzz": 1}]
    asked = {"queries": queries, "aggregate": True, "k": 7, "per_doc": 2, "max_tokens": 2000}
    body = (await call(kb, "bulk_search", asked)).structured_content or {}

    ((name, (one, second), k, most, max_tokens, echo),) = kb.asked
    assert (name, one, k, most, max_tokens, echo) == (
        "search_aggregated",
        SearchQuery(text="a"),
        7,
        2,
        2000,
        queries,
    )
    assert isinstance(second, KbError)
    assert [hit["chunk_id"] for hit in body["aggregated"]] == [best.chunk_id]
    assert [item["response"] and item["response"]["hits"] for item in body["results"]] == [[], None]


async def test_one_budget_is_shared_by_queries_that_stay_apart() -> None:
    kb = knowledge_base()
    queries = [{"query": "parse"}, {"query": "split", "max_tokens": 50}, {"kk": 1}]
    await call(kb, "bulk_search", {"queries": queries, "max_tokens": 900})

    ((_, asked),) = kb.asked
    assert [getattr(query, "max_tokens", None) for query in asked] == [300, 50, None]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({}, "parameter 'queries' is missing", None),
        ({"queries": "a"}, "queries 'a' is not a list", None),
        (
            {"queries": [{"query": "a"}, "b"]},
            "queries.1 is not an object",
            'a query looks like {"query": "how are chunks cut", "k": 5}',
        ),
        ({"query": "a"}, None, "did you mean 'queries'?"),
        (
            {"queries": [{"query": "a"}], "k": 5},
            "k of all queries goes with aggregate: true",
            "or give each query a k of its own",
        ),
    ],
)
async def test_a_bulk_that_makes_no_sense_is_refused_as_a_whole(
    arguments: dict[str, Any], message: str | None, hint: str | None
) -> None:
    said = await error_of("bulk_search", arguments)

    assert said == (message or said[0], hint)


async def test_a_cancelled_bulk_asks_no_further_query() -> None:
    reached, left = anyio.Event(), anyio.Event()
    asked: list[str] = []

    def slowly(queries: Sequence[SearchQuery | KbError]) -> Iterator[Outcome]:
        try:
            for query in queries:
                assert isinstance(query, SearchQuery)
                asked.append(query.text)
                yield SearchResponse(hits=(), corpus_revision=7)
                if len(asked) == 2:
                    anyio.from_thread.run_sync(reached.set)
                    anyio.from_thread.run(left.wait)
        finally:
            asked.append("closed")

    async with client_of(knowledge_base(answers={"search_many": slowly})) as client:
        async with anyio.create_task_group() as group:
            queries = [{"query": str(number)} for number in range(9)]
            group.start_soon(client.call_tool, "bulk_search", {"queries": queries})
            await reached.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(120):
            await client.call_tool("schema", {})
            left.set()
            while asked[-1] != "closed":
                await anyio.sleep(0.01)

    assert asked == ["0", "1", "2", "closed"]


async def test_code_is_text_and_structured_content() -> None:
    kb = knowledge_base()
    queries = ["parse", {"query": "split", "path": "src"}]
    request = {"queries": queries, "maxResults": 5, "include": ["code"]}
    result = await call(kb, "codebase_search", request)

    assert kb.asked == [("codebase_search", request, False)]
    assert text_of(result) == (
        'Batch Query Results (2 queries):\n- "parse"\n- "split" (path: src)\n\nResults:\n\n'
        "File path: src/parse.py\nScore: 1.05 (matched 2 queries, +5% boost)\nLines: 1-2\n"
        "Code Chunk: def parse(text):\n    return text.split()"
    )
    assert result.structured_content["schema_version"] == "codebase_search_response.v1"


async def test_no_code_is_an_answer() -> None:
    result = await call(ScriptedKnowledgeBase(), "codebase_search", {"query": "x"})

    assert result.is_error is False
    assert "No relevant code snippets found." in text_of(result)


async def test_similar_takes_an_origin_and_a_page() -> None:
    found = response(hit())
    kb = knowledge_base(answers={"similar": found})
    asked = {
        "origin": "a.md",
        "k": 3,
        "snippet_chars": 60,
        "max_tokens": 500,
        "cursor": "c",
        "media": "code",
    }
    result = await call(kb, "similar", asked)

    page = SearchQuery(
        text="a.md",
        k=3,
        snippet_chars=60,
        max_tokens=500,
        cursor="c",
        filters=SearchFilters(media=("code",)),
    )
    assert kb.asked == [("similar", "a.md", page)]
    assert result.structured_content == wire.search_response(found)


async def test_explain_miss_takes_the_search_that_missed() -> None:
    kb = knowledge_base()
    asked = {"query": "q", "doc": "a.md", "mode": "vector", "k": 3, "max_tokens": 9, "lang": ["ko"]}
    await call(kb, "explain_miss", asked)

    query = SearchQuery(
        text="q", mode=SearchMode.VECTOR, k=3, max_tokens=9, filters=SearchFilters(lang=("ko",))
    )
    assert kb.asked == [("explain_miss", "a.md", query)]


async def test_citations_are_passed_on_as_they_came() -> None:
    kb = knowledge_base()
    items = ["a.md#L1", {"uri": "b.md#L2", "content_hash": "0" * 16}]
    await call(kb, "cite_verify", {"citations": items, "source": "notes"})

    assert kb.asked == [("verify_citations", items, "notes")]


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "hint"),
    [
        ("similar", {}, "parameter 'origin' is missing", None),
        (
            "similar",
            {"chunk_id": "x"},
            "parameter 'origin' is missing; unknown parameter 'chunk_id'",
            "did you mean 'origin'?",
        ),
        ("similar", {"origin": "o", "k": 0}, "k 0 is not between 1 and 100", None),
        ("explain_miss", {"query": "q"}, "parameter 'doc' is missing", None),
        (
            "explain_miss",
            {"query": " ", "doc": "d"},
            "query ' ' is blank",
            "give at least one word",
        ),
        (
            "cite_verify",
            {"citations": []},
            "no citation to verify",
            "give at least one, such as notes/a.md#L12-L34",
        ),
        (
            "cite_verify",
            {"uri": "a.md#L1"},
            "parameter 'citations' is missing; unknown parameter 'uri'",
            "did you mean 'citations'?",
        ),
    ],
)
async def test_what_is_missing_or_wrong_is_named(
    tool: str, arguments: dict[str, Any], message: str, hint: str | None
) -> None:
    assert await error_of(tool, arguments) == (message, hint)


def _quoting(number: int, lengths: Sequence[int], reason: str | None) -> dict[str, Any]:
    """Return what is read of an answer that quotes so many words of ``number.md`` each time."""
    citations = [
        {
            "citation": {"kind": "line", "line_start": at, "line_end": at},
            "doc_path": f"{number}.md",
            "quote": " ".join(["word"] * length),
            "stale": False,
        }
        for at, length in enumerate(lengths, start=1)
    ]
    model = {"provider": "extractive", "id": "extractive"}
    return {"refusal_reason": reason, "model": model, "citations": citations, "answer": ""}


@given(
    asked=st.lists(
        st.tuples(
            st.lists(st.integers(1, 60), max_size=4),
            st.sampled_from([None, "score_gate", "no_chunks"]),
        ),
        min_size=1,
        max_size=12,
    ),
    budget=st.integers(60, 900),
)
def test_every_question_has_its_first_quotation_before_one_has_its_second(
    asked: list[tuple[list[int], str | None]], budget: int
) -> None:
    answers = [(f"question {n}", _quoting(n, *one)) for n, one in enumerate(asked)]

    text = answers_text(answers, budget)

    shown = [part.partition("\n")[2] for part in text.split("# ")[1:]]
    quoted = [re.findall(r"^\d+\.md:\d+$", part, re.MULTILINE) for part in shown]
    assert tokens_of(text) <= budget
    for (lengths, _), places in zip(asked, quoted, strict=False):
        assert len(places) >= min(1, len(lengths))
    if any(len(places) > 1 for places in quoted):
        assert len(shown) == len(asked)
    further = sum(len(lengths) for lengths, _ in asked[: len(shown)]) - sum(map(len, quoted))
    left = re.search(r"^… (.*) left out: ask fewer at once$", text, re.MULTILINE)
    told = dict(re.findall(r"(question|passage)s?()", left[1])) if left else {}
    assert set(told) == {
        *(["question"] if len(shown) < len(asked) else []),
        *(["passage"] if further else []),
    }


def test_what_all_answers_warn_of_is_said_once() -> None:
    waits, weak = "3 pictures wait", "weak evidence: confidence 0.40"
    warned = [("a", [weak, waits]), ("b", [waits, weak]), ("c", [weak, "old", waits])]
    answers = [(name, {**_quoting(0, [3], None), "warnings": said}) for name, said in warned]

    failed = wire.error(InvalidInput("no such mode"))
    lines = answers_text([*answers, ("d", failed)]).split("\n")

    assert lines[-1] == "warning: 3 pictures wait"
    assert [line for line in lines[:-1] if line.startswith("warning: ")] == [
        *[f"warning: {weak}"] * 3,
        "warning: old",
    ]


@given(lines=st.lists(st.integers(1, 90), min_size=1, max_size=12), budget=st.integers(100, 2500))
def test_places_are_whole_as_many_as_fit_and_the_others_are_named(
    lines: list[int], budget: int
) -> None:
    places = [_place(at, count) for at, count in enumerate(lines)]
    alone = [tokens_of(fetched_text(place, 10_000)) + 1 for place in places]
    found = {"results": [{"result": place, "error": None} for place in places]}

    text = fetched_text(found, budget)

    shown = [int(at) for at in re.findall(r"^(\d+)\.py:1-\d+ of 90$", text, re.MULTILINE)]
    said = text.rpartition("\n… left out: ")[2] if "… left out: " in text else ""
    named = [int(at) for at in re.findall(r"(\d+)\.py:1-\d+", said)]
    assert tokens_of(text) <= budget + 60
    assert shown == sorted(shown)
    assert not set(shown) & set(named)
    assert len(shown) + len(named) == len(lines) or "more" in said
    if "… cut" in text:
        assert shown == [0]
        assert min(alone) + 20 > budget // 2
    if sum(alone) <= budget:
        assert shown == list(range(len(lines)))


def _place(at: int, count: int) -> dict[str, Any]:
    text = "".join(f"line {number} of a file\n" for number in range(count))
    name = {"doc_path": f"{at}.py", "doc_id": f"{at:032x}", "media": "code", "stale": False}
    span = {"kind": "span", "line_start": 1, "line_end": count, "lines": 90, "truncated": False}
    return {**name, **span, "text": text}


async def test_more_room_is_not_offered_where_it_is_seldom_worth_it_but_given() -> None:
    asked = {"queries": [f"lantern moss {number}" for number in range(9)], "max_tokens": 100}
    async with client_of(knowledge_base(), form=Form.TEXT) as client:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        several = {name for name, schema in tools.items() if "queries" in schema["properties"]}
        told = {name: text_of(await client.call_tool(name, asked)) for name in several}

    assert several >= {"search", "ask", "codebase_search"}
    assert not {name for name in several if "max_tokens" in tools[name]["properties"]}
    assert {name for name in several if "left out: ask fewer at once" in told[name]} >= {"search"}
    assert not {name for name in several if "max_tokens" in told[name]}
    assert "max_tokens" in tools["fetch"]["properties"]
