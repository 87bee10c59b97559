"""The input of several searches: strict, helpful, and what its schema says."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from kb_app.wire_models import SearchInput, read_queries
from kb_core import schemas
from kb_core.errors import InvalidInput
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery

SCHEMA = Draft202012Validator(schemas.bundle("bulk_search_input"))
NAMES = sorted(schemas.load("bulk_search_input")["properties"])

values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 10, 10.0, 60, 100, 101, 10_001, 0.5]),
    st.sampled_from(["a", " ", "", "lexical", "primary", "fuzzy", "한국어"]),
    st.lists(st.sampled_from(["a", "b", 1]), max_size=2),
    st.just({}),
)


def read(**given: Any) -> SearchQuery | InvalidInput:  # noqa: ANN401 - JSON values
    (found,) = read_queries([given])
    return found


def test_every_name_of_the_schema_is_one_of_the_input_and_none_more() -> None:
    assert sorted(SearchInput.model_fields) == NAMES


def test_every_option_of_a_search_can_be_asked_for() -> None:
    """Ruling R20: one set of names, in every interface."""
    # Whole passages are what text is made of, and no option.
    asked = {field.name for field in fields(SearchQuery)} - {"text", "filters", "passages"}

    assert sorted(asked | {"query"} | {field.name for field in fields(SearchFilters)}) == NAMES


@given(st.dictionaries(st.sampled_from(NAMES), values, max_size=4), st.booleans())
@settings(max_examples=400)
def test_the_input_takes_what_its_schema_admits(given: dict[str, Any], has_query: bool) -> None:
    asked = given | ({"query": "a"} if has_query else {})
    (found,) = read_queries([json.loads(json.dumps(asked))])

    assert isinstance(found, SearchQuery) == SCHEMA.is_valid(asked)


def test_what_is_left_out_or_null_is_as_configured() -> None:
    (found,) = read_queries(
        [{"query": "a", "k": None, "tag": None, "trace": None}], k=7, snippet_chars=99
    )

    assert found == SearchQuery(text="a", k=7, snippet_chars=99)


def test_a_filter_takes_one_value_or_a_list() -> None:
    one, many = read(query="a", media="md", tag=[]), read(query="a", media=["md", "code"])

    assert isinstance(one, SearchQuery)
    assert isinstance(many, SearchQuery)
    assert (one.filters.media, one.filters.tag) == (("md",), ())
    assert many.filters == replace(one.filters, media=("md", "code"))


def test_everything_reaches_the_query() -> None:
    found = read(
        query="a",
        mode="vector",
        k=3.0,
        max_tokens=500,
        snippet_chars=80,
        cursor="c",
        rerank=False,
        deadline_ms=50,
        trace=True,
        trust_min="secondary",
        since="2026",
        doc_id="ab",
    )

    assert found == SearchQuery(
        text="a",
        mode=SearchMode.VECTOR,
        k=3,
        max_tokens=500,
        snippet_chars=80,
        cursor="c",
        rerank=False,
        deadline_ms=50,
        trace=True,
        filters=SearchFilters(trust_min="secondary", since="2026", doc_id="ab"),
    )


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        ({}, "parameter 'query' is missing", None),
        ({"query": " "}, "query ' ' is blank", "give at least one word"),
        ({"query": "a", "tags": "x"}, "unknown parameter 'tags'", "did you mean 'tag'?"),
        ({"query": "a", "top_k": 3}, "unknown parameter 'top_k'", "did you mean 'k'?"),
        ({"query": "a", "mode": "lexcal"}, "mode 'lexcal' is not", "did you mean 'lexical'?"),
        ({"query": "a", "k": 0}, "k 0 is not between 1 and 100", None),
        ({"query": "a", "k": True}, "k true is not a whole number", None),
        ({"query": "a", "tag": [1]}, "tag.0 1 is not a text", None),
        ({"query": ["a"]}, 'query ["a"] is not a text', None),
    ],
)
def test_a_fault_names_the_field_the_value_and_the_way_out(
    given: dict[str, Any], said: str, hint: str | None
) -> None:
    (error,) = read_queries([given])

    assert isinstance(error, InvalidInput)
    assert said in str(error)
    assert error.hint == hint


def test_all_faults_of_a_query_are_told_at_once_and_stay_with_it() -> None:
    good, bad = read_queries([{"query": "a"}, {"quary": "a", "k": "x"}])

    assert isinstance(good, SearchQuery)
    assert isinstance(bad, InvalidInput)
    problems: Any = bad.details["problems"]
    assert [problem["field"] for problem in problems] == ["query", "k", "quary"]


def test_pydantic_is_imported_for_input_and_for_golden_questions_only() -> None:
    """A search on the command line does without it, and so does everything that it loads."""
    import kb_app

    root = Path(str(kb_app.__file__)).parent
    homes = {root / "wire_models.py", root / "_evals" / "cases.py", root / "_evals" / "said.py"}
    others = [file for file in root.rglob("*.py") if file not in homes]
    pattern = re.compile(r"^\s*(from|import) (pydantic|kb_app\.wire_models)\b", re.MULTILINE)

    assert [file for file in others if pattern.search(file.read_text("utf-8"))] == []
