"""The expression tree, and the plain evaluation that fakes use."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_core.filters import FIELDS, And, Filter, OneOf, all_of
from kb_core.testing._filters import glob_matches

nodes = st.builds(OneOf, st.sampled_from(sorted(FIELDS)), st.tuples(st.text(max_size=2)))


@given(st.lists(st.none() | nodes, max_size=4))
def test_a_conjunction_holds_the_parts_that_are_given(parts: list[Filter | None]) -> None:
    given_parts = [part for part in parts if part is not None]

    joined = all_of(parts)

    if len(given_parts) > 1:
        assert joined == And(tuple(given_parts))
    else:
        assert joined == (given_parts[0] if given_parts else None)


def test_fields_are_texts_or_numbers() -> None:
    assert set(FIELDS.values()) == {str, int}
    assert list(FIELDS) == sorted(FIELDS)


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


@given(st.text(max_size=12), st.text(max_size=12))
def test_no_glob_can_raise_but_a_reversed_range(pattern: str, path: str) -> None:
    glob_matches(pattern.replace("-", ""), path)
