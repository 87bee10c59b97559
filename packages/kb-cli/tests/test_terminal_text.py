"""Text on a terminal: nothing out of line."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, cast

import pytest
from click import unstyle
from hypothesis import given, strategies as st

from kb_cli._answers import answer_lines
from kb_cli._text import pad, pairs, shorten, table, width, wrap

if TYPE_CHECKING:
    from kb_core.wire import types


@given(st.text(alphabet=st.characters(categories=["L", "Nd", "Zs", "Mn"])), st.integers(4, 90))
def test_no_line_is_wider_than_asked_and_no_word_is_lost(text: str, columns: int) -> None:
    lines = wrap(text, columns)

    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(), st.integers(1, 50), st.booleans())
def test_shortened_text_fits(text: str, columns: int, front: bool) -> None:
    assert width(shorten(text, columns, front=front)) <= columns


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("한국어", 6), ("日本", 4), ("e\u0301", 1), ("ｱ", 1), ("👍", 2)],
)
def test_width_is_what_a_terminal_shows(text: str, columns: int) -> None:
    assert width(text) == columns
    assert width(pad(text, 10)) == 10


def test_wide_words_break_anywhere_and_narrow_ones_at_spaces() -> None:
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrap("한국어문장은길다", 6) == ["한국어", "문장은", "길다"]
    assert wrap("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert wrap("    indented", 20) == ["    indented"]


def test_tables_stand_in_line_numbers_right_and_text_left() -> None:
    lines = table(("NAME", "N", "LAST"), [("한국어", 1204, "x"), ("b", None, None), ("c", 3, True)])

    assert lines == [
        "NAME        N  LAST",
        "한국어  1,204  x",
        "b           -  -",
        "c           3  yes",
    ]
    assert table(("A", "B"), []) == ["A  B"]
    assert pairs([("a", 1), ("long", "x\ny")]) == ["a     1", "long  x y"]


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        (
            "It is so\nby rules:\n- the first\n  of them\n* a second - in short\n12. the last",
            ["It is so by rules:", "- the first of them", "* a second - in short", "12. the last"],
        ),
        (
            "async def one():\n       await it\n\n   async def two():\n       return 2\n\n   run()",
            ["async def one():", "    await it", "async def two():", "    return 2", "run()"],
        ),
        (
            "def one():\n        if so:\n            return 1\n        return 2",
            ["def one():", "    if so:", "        return 1", "    return 2"],
        ),
        ("An indented\n   text\n   flows.\n\nAll of\nit.", ["An indented text flows. All of it."]),
    ],
)
def test_lists_and_code_that_are_quoted_keep_their_lines_and_prose_flows(
    quote: str, lines: list[str]
) -> None:
    answer = {
        "refusal_reason": None,
        "model": {"provider": "extractive"},
        "citations": [{"quote": quote, "marker": "[1]", "citation": {"kind": "line"}}],
    }

    told = answer_lines(cast("types.Answer", answer), 80, places=False)

    assert [unstyle(line) for line in told] == [*lines[:-1], f"{lines[-1]} [1]", ""]


@pytest.mark.parametrize(("shared", "marks"), [({"n.md"}, ["  [a]", "  [b]"]), ((), ["", ""])])
def test_a_place_names_its_source_where_another_one_has_the_path(
    shared: Collection[str], marks: list[str]
) -> None:
    place = {"kind": "line", "path": "n.md", "uri": "n.md#L3"}
    cited = {"citation": place, "quote": "One.", "stale": False, "title": "N"}
    answer = {
        "question": "what is one",
        "refusal_reason": "score_gate",
        "model": {"provider": "extractive"},
        "citations": [cited | {"source_id": source} for source in "ab"],
    }

    lines = answer_lines(cast("types.Answer", answer), 80, places=True, shared=shared)
    told = [unstyle(line) for line in lines]

    assert told[2::2] == [f" {at}. n.md:3 · N{mark}" for at, mark in enumerate(marks, 1)]
