"""The expression tree, and the plain evaluation that fakes use."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_type_hints

import pytest
from hypothesis import given, strategies as st

from kb_core import schemas
from kb_core.filters import (
    FIELDS,
    FILTERS,
    And,
    Filter,
    FilterSpec,
    OneOf,
    all_of,
    alternatives_of,
    as_value,
    literal_glob,
    values_of,
)
from kb_core.search import SearchFilters
from kb_core.testing._memory import glob_matches

nodes = st.builds(OneOf, st.sampled_from(sorted(FIELDS)), st.tuples(st.text(max_size=2)))


@given(st.lists(st.none() | nodes, max_size=4))
def test_a_conjunction_holds_the_parts_that_are_given(parts: list[Filter | None]) -> None:
    given_parts = [part for part in parts if part is not None]

    joined = all_of(parts)

    if len(given_parts) > 1:
        assert joined == And(tuple(given_parts))
    else:
        assert joined == (given_parts[0] if given_parts else None)


@given(st.lists(st.text(st.characters(exclude_characters="\\"), min_size=1).map(str.strip)))
def test_any_values_can_be_written_as_one_text(values: list[str]) -> None:
    values = [value for value in values if value]

    assert values_of(",".join(map(as_value, values))) == values


@pytest.mark.parametrize(
    ("pattern", "patterns"),
    [
        ("docs/**", ["docs/**"]),
        ("docs/**, *.md", ["docs/**", "*.md"]),
        ("src/*.{ts,tsx}", ["src/*.ts", "src/*.tsx"]),
        ("{a,b/{c,d}}/**,e", ["a/**", "e", "b/c/**", "b/d/**"]),
        ("a{b}c", ["a{b}c"]),
        ("{a,b", ["{a", "b"]),
        ("a\\,b", ["a,b"]),
        ("{a\\,b,c}", ["a,b", "c"]),
        ("\\{a,b\\}", ["\\{a", "b\\}"]),
        ("\\{a\\,b\\}", ["\\{a,b\\}"]),
        (",", [","]),
        ("{a,b}" * 7, ["{a,b}" * 7]),
    ],
)
def test_a_pattern_gives_several(pattern: str, patterns: list[str]) -> None:
    assert alternatives_of(pattern) == patterns


def test_fields_are_texts_or_numbers() -> None:
    assert set(FIELDS.values()) == {str, int}
    assert list(FIELDS) == sorted(FIELDS)


def test_the_table_and_the_dataclass_have_the_same_filters_in_the_same_order() -> None:
    hints, empty = get_type_hints(SearchFilters), SearchFilters()

    assert [row.name for row in FILTERS] == [field.name for field in fields(SearchFilters)]
    for row in FILTERS:
        assert hints[row.name] == (tuple[str, ...] if row.many else str | None), row.name
        assert getattr(empty, row.name) == (() if row.many else None), row.name


@pytest.mark.parametrize("row", FILTERS, ids=lambda row: row.name)
def test_a_filter_narrows_a_field_by_values_that_the_field_has(row: FilterSpec) -> None:
    is_range = row.kind in {"trust", "from", "until"}

    assert FIELDS[row.field] is (int if is_range else str)
    assert not (row.many and (is_range or row.choices)), "takes one value"


def test_keys_of_the_filter_line_are_words_and_none_is_taken_twice() -> None:
    keys = [row.key for row in FILTERS if row.key]

    assert len(set(keys)) == len(keys)
    assert [key for key in keys if not re.fullmatch(r"[a-z]+", key)] == []
    assert "state" not in keys, "narrows the ledger, which is not searched"


@pytest.mark.parametrize("row", FILTERS, ids=lambda row: row.name)
def test_the_published_schema_takes_a_filter_as_the_table_has_it(row: FilterSpec) -> None:
    published = schemas.load("bulk_search_input")["properties"][row.name]

    if row.many:
        assert published["$ref"] == "#/$defs/one_or_more"
    elif row.choices:
        assert published["enum"] == [*row.choices, None]
    else:
        assert published["type"] == ["string", "null"]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.md", "a/b.md", True),
        ("/*.md", "a/b.md", False),
        ("a/**", "a/b/c", True),
        ("a/**/c", "a/c", True),
        ("**/c", "a/b/c", True),
        ("a?c", "a/c", False),
        ("[a-c]", "b", True),
        ("[!a-c]", "b", False),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("a.c", "abc", False),
        ("(a|b)", "a", False),
        ("[", "[", True),
        ("docs/", "lib/docs/x", True),
    ],
)
def test_globs_of_the_fake_are_those_of_gitignore(pattern: str, path: str, matches: bool) -> None:
    assert glob_matches(pattern, path) is matches


@given(st.text(alphabet="ab/*?[]\\{}", min_size=1), st.text(alphabet="ab/*?[]\\{}"))
def test_a_path_as_a_pattern_matches_that_path_alone(path: str, other: str) -> None:
    pattern = literal_glob(f"{path}.md")

    assert glob_matches(f"/{pattern}", f"{path}.md")
    assert glob_matches(f"/{pattern}", f"{other}.md") is (other == path)


@given(st.text(max_size=12), st.text(max_size=12))
def test_no_glob_can_raise_but_a_reversed_range(pattern: str, path: str) -> None:
    glob_matches(pattern.replace("-", ""), path)
