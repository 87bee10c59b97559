"""Tables in one line of text: their rows, what heads them, and prose that is none."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_core.flat_tables import flat_table
from kb_core.sentences import units

HEAD = "Expenses were as follows (in millions): Three Months Ended June 25, 2022 June 26, 2021"
ROWS = [
    "Research and development $ 6,797 $ 5,717",
    "Percentage of net sales 8 % 7 %",
    "Interest expense (719) —",
    "Total 12,809 11,129",
]
PROSE = "Research grew during the third quarter, driven by headcount."


def cut(text: str) -> list[tuple[str, str, str]]:
    """Return kind, text and lead of each unit."""
    return [
        (each.kind, text[each.start : each.end], text[slice(*each.lead)] if each.lead else "")
        for each in units(text)
    ]


def test_a_table_in_a_sentence_is_its_head_its_rows_and_what_follows() -> None:
    text = " ".join([HEAD, *ROWS, PROSE])

    assert cut(text) == [
        ("sentence", HEAD, ""),
        *(("row", row, HEAD) for row in ROWS),
        ("sentence", PROSE, ""),
    ]


def test_years_over_columns_are_no_row_and_two_tables_are_two() -> None:
    between = f"{PROSE[:-1]} {PROSE[:-1]}"
    text = " ".join(["Sales 2023 2022", *ROWS[:3], between, HEAD, *ROWS[1:]])

    rows = [(said, lead) for kind, said, lead in cut(text) if kind == "row"]

    assert [said for said, _ in rows] == [*ROWS[:3], *ROWS[1:]]
    assert rows[0][1] == "Sales 2023 2022"
    assert rows[3][1].endswith(HEAD)


@pytest.mark.parametrize(
    "text",
    [
        "The tower was built in 1889 for a fair and weighs 7,300 tons, of which 60 are paint.",
        "On June 25, 2022 and on June 26, 2021 the company told of 3 of 4 factories in Ohio.",
        "Between 1998 and 2003 it won in 1999 2000 2001 and lost in 2002 2003 against everybody.",
        "Eran 281 754 habitantes, luego 18 189 en la villa, 17 786 419 en todo y 5 105 en la isla.",
        "A single row has 12 13 14 and then goes on in words for as long as anybody may want it.",
    ],
)
def test_prose_with_figures_is_no_table(text: str) -> None:
    assert flat_table(text, 0, len(text)) is None
    assert [kind for kind, _, _ in cut(text)] == ["sentence"]


@given(st.lists(st.sampled_from([*ROWS, HEAD, PROSE, "2023 2022", "7", "— —", ":"]), max_size=12))
def test_units_keep_every_letter_in_its_order(parts: list[str]) -> None:
    text = " ".join(parts)

    said = "".join(said for _, said, _ in cut(text))

    assert said.replace(" ", "") == text.replace(" ", "")


def test_a_page_of_figures_is_cut_in_time_proportional_to_its_length() -> None:
    text = "Label of a row 1,234 5,678 " * 3000

    assert len(units(text)) == 3000
