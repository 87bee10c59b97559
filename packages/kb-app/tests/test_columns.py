"""Rows of a recognised page: columns apart, and what interrupts a text behind it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, strategies as st

from kb_app._ingest.making.columns import Row, Word, in_columns, in_reading_order, initials


def row(*words: tuple[str, int], top: int) -> Row:
    made = [Word(text, (x, top, x + 10 * len(text), top + 20), 90.0) for text, x in words]
    return Row(tuple(made), opens=False)


def said(text: str, left: int, top: int, size: float = 20, *, opens: bool = False) -> Row:
    """Return a row of words of *size* that begins at *left* and *top*."""
    words, x, width = list[Word](), left, round(size / 2)
    for word in text.split():
        words.append(Word(word, (x, top, x + width * len(word), top + round(size)), 90.0))
        x += width * (len(word) + 1)
    return Row(tuple(words), opens, type_size=size)


def texts(rows: Sequence[Row]) -> list[str]:
    return [each.text for each in rows]


LEFT = [
    said("A paragraph of some length that", 0, 0, opens=True),
    said("stands in the left column and goes", 0, 30),
    said("on at the top of the right one with", 0, 60),
]
RIGHT = [
    said("the second half of its sentence.", 400, 0, opens=True),
    said("And another sentence after that.", 400, 30),
]
CAPTION = [said("A bridge in winter,", 40, 120, 14, opens=True), said("by nobody", 60, 140, 14)]


def test_columns_of_prose_are_read_one_after_the_other_and_tables_row_by_row() -> None:
    prose = [
        row(("one", 0), ("two", 40), ("more", 80), ("a", 300), ("b", 320), ("c", 340), top=30 * n)
        for n in range(3)
    ]
    table = [
        row(("Total", 0), ("of", 60), ("all", 90), ("12.50", 300), top=30 * n) for n in range(3)
    ]

    assert texts(in_columns(prose)) == ["one two more"] * 3 + ["a b c"] * 3
    assert in_columns(table) == table
    assert in_columns(prose[:2]) == prose[:2]


def test_a_paragraph_goes_on_in_the_next_column() -> None:
    ordered = in_reading_order([*LEFT, *RIGHT])

    assert texts(ordered) == texts([*LEFT, *RIGHT])
    assert [each.opens for each in ordered] == [True, False, False, False, False]


def test_a_caption_between_the_halves_of_a_paragraph_is_told_behind_it() -> None:
    ordered = in_reading_order([*LEFT, *CAPTION, *RIGHT])

    assert texts(ordered) == texts([*LEFT, *RIGHT, *CAPTION])
    assert [each.opens for each in ordered] == [True, *[False] * 4, True, False]


def test_a_caption_at_the_foot_of_a_column_is_told_behind_the_other_columns() -> None:
    ended = [*LEFT[:2], said("on until it ends at some point.", 0, 60)]
    begun = [said("The right column begins anew here", 400, 0, opens=True), *RIGHT[1:]]

    assert texts(in_reading_order([*ended, *CAPTION, *begun])) == texts([*ended, *begun, *CAPTION])


def test_a_caption_in_a_column_does_not_cut_the_paragraph_around_it() -> None:
    first = [*LEFT[:2], said("on under the picture of a bridge with", 0, 60)]
    rest = [said("the second half of its sentence.", 0, 180, opens=True)]
    more = [said("Then comes a paragraph after it.", 0, 220, opens=True)]

    ordered = in_reading_order([*first, *CAPTION, *rest, *more])

    assert texts(ordered) == texts([*first, *rest, *CAPTION, *more])


def test_a_heading_between_two_columns_is_told_before_what_stands_under_it() -> None:
    heading = [said("Further features", 0, 100, 23, opens=True)]
    under = [said("The list of features runs across both of the columns above it, from", 0, 150,
                  opens=True), said("one side of the page to the other.", 0, 180)]  # fmt: skip

    ordered = in_reading_order([*LEFT, *heading, *RIGHT, *under])

    assert texts(ordered) == texts([*LEFT, *RIGHT, *heading, *under])


def test_headings_and_lists_stay_where_they_are() -> None:
    page = [
        said("What to bring along", 0, 0, 30, opens=True),
        said("socks and shoes of some weight", 0, 50, opens=True),
        said("maps and a compass or two", 0, 80, opens=True),
        said("How to get there by train", 0, 130, 30, opens=True),
        said("the early one from platform nine", 0, 180, opens=True),
        said("The later trains do not stop there", 400, 0, opens=True),
    ]

    assert in_reading_order(page) == page


def test_a_row_with_a_large_first_letter_comes_before_those_beside_it() -> None:
    under = [said("under it, all the way", 60, 30, opens=True),
             said("and back to the margin of it", 0, 60)]  # fmt: skip
    tall = Row((Word("S", (0, 0, 50, 55), 90.0), *said("he went", 60, 0).words), True, type_size=20)

    ordered = in_reading_order([*under, tall])

    assert texts(ordered) == texts([tall, *under])
    assert [each.opens for each in ordered] == [True, False, False]


def test_rows_further_to_the_right_leave_room_for_a_large_first_letter() -> None:
    rows = [
        said("he people of the village had", 60, 0, opens=True),
        said("never seen a stranger there", 60, 30),
        said("before the winter of that year", 0, 60),
    ]
    there = said("T", 10, 10)

    assert list(initials(rows)) == [(0, (0, 0, 60, 50))]
    assert not list(initials([*rows, there]))
    assert not list(initials(rows[:2]))
    assert not list(initials([rows[0], rows[2]]))
    assert rows[0].behind(Word("T", (0, 0, 55, 50), 80.0)).text == "The people of the village had"


ROWS = st.lists(
    st.lists(st.integers(0, 60), min_size=1, max_size=8, unique=True).map(sorted), max_size=12
)


@given(ROWS, st.lists(st.tuples(st.booleans(), st.integers(10, 60)), min_size=12, max_size=12))
def test_no_word_is_lost_or_said_twice(rows: list[list[int]], how: list[tuple[bool, int]]) -> None:
    made = [
        row(*((f"w{n}{at}", 12 * at) for at in places), top=30 * n)._replace(
            opens=opens, type_size=size
        )
        for (n, places), (opens, size) in zip(enumerate(rows), how, strict=False)
    ]

    before = sorted(word.text for each in made for word in each.words)
    assert sorted(word.text for each in in_reading_order(made) for word in each.words) == before
