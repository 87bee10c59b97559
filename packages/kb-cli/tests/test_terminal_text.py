"""Text on a terminal: nothing it would obey, and nothing out of line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from kb_cli._table import pairs, table
from kb_cli._text import bytes_text, duration, flat, pad, printable, shorten, width, wrap


@given(st.text())
def test_what_is_printed_never_controls_a_terminal(text: str) -> None:
    shown = printable(text)

    assert not any(unicodedata.category(c) in {"Cc", "Cs"} for c in shown)
    assert not any(c in shown for c in "\u202a\u202e\u2066\u2069\u061c\u2028")


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


def test_escapes_are_readable() -> None:
    assert printable("a\x1b[0m\r\u202e\udc80é한") == r"a\x1b[0m\r\u202e\udc80é한"
    assert printable("a\n\tb", keep="\n\t") == "a\n\tb"
    assert flat(" a\n\n b\x07 ") == r"a b\x07"


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
    ("size", "shown"), [(0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (5 * 10**12, "5.0 TB")]
)
def test_sizes(size: int, shown: str) -> None:
    assert bytes_text(size) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0123, "12 ms"),
        (3.21, "3.2 s"),
        (59.94, "59.9 s"),
        (61, "1 min 01 s"),
        (7321, "2 h 02 min"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
