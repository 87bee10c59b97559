"""Excerpts: what a person is shown of a passage."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app.shown.excerpts import Excerpt, Passage, excerpt

NOTE = """\
---
title: Tools
tags: [a]
---

# Tools

| tool | speed | remarks |
|------|-------|---------|
| recoll | 2.5 s | words only, with no idea of meaning, but very many formats |
| qmd | 1.5 s | needs a download |

We talked about [chunking](https://example.org/a) for long. A block of code is never
cut in two. Nobody disagreed.

```sh
kebab search "how are chunks cut"
```

- an item of the list
- the log survives a crash
"""


def texts(found: Excerpt) -> list[str]:
    return [line.text for line in found.lines]


def shown(query: str, text: str = NOTE, *, columns: int = 40, rows: int = 1) -> list[str]:
    passage = Passage(text=text, medium="markdown", shown=("Tools",))
    return texts(excerpt(passage, query, columns=columns, rows=rows))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cut in two", "A block of code is never cut in two."),
        ("download", "| qmd | 1.5 s | needs a download |"),
        ("how are chunks cut", 'kebab search "how are chunks cut"'),
        ("crash", "- the log survives a crash"),
        ("disagree", "Nobody disagreed."),
        ("chunking", "We talked about chunking for long."),
    ],
)
def test_sentences_rows_items_and_lines_of_code_are_shown_whole(query: str, expected: str) -> None:
    assert shown(query) == [expected]


def test_the_row_of_a_table_is_whole_where_it_is_longer_than_the_room() -> None:
    assert shown("meaning", columns=20, rows=2) == [
        "| recoll | 2.5 s | words only, with no idea of meaning, but very many formats |"
    ]


def test_front_matter_rules_fences_and_headings_that_are_shown_anyway_are_left_out() -> None:
    everything = shown("nothing of it", columns=1000)

    assert everything[0] == "| tool | speed | remarks |"
    assert not any(mark in line for line in everything for mark in ("---", "```", "# Tools"))
    assert (
        excerpt(Passage(text=NOTE, medium="markdown"), "x", columns=1000).lines[0].text == "# Tools"
    )


def test_the_fields_of_a_tiddler_are_left_out_as_front_matter_is() -> None:
    fields = "created: 20240501011409888\ntags: river [[of notes]]\ntitle: Holts\n"

    tiddler = excerpt(Passage(text=f"{fields}\nBanks.\n", medium="text"), "x", columns=1000)
    note = excerpt(Passage(text="tags: river\ntitle: Holts\n", medium="text"), "x", columns=1000)

    assert [line.text for line in tiddler.lines] == ["Banks."]
    assert "river" in note.lines[0].text


@pytest.mark.parametrize(
    ("medium", "text"),
    [
        ("office", "Grading\n\nThe exam counts sixty percent."),
        ("pdf", "1. Grading\n\nThe exam counts\nsixty percent."),
        ("text", "Grading\n=======\n\nThe exam counts\nsixty percent."),
    ],
)
def test_a_heading_that_is_shown_anyway_needs_no_marks_to_be_left_out(
    medium: str, text: str
) -> None:
    headings = ("Course", text.partition("\n")[0])

    found = excerpt(Passage(text=text, medium=medium, shown=headings), "exam", columns=60)
    assert texts(found) == ["The exam counts sixty percent."]
    assert text.split("\n")[found.line].startswith("The exam counts")
    assert texts(excerpt(Passage(text=text, medium=medium), "exam", columns=60)) != texts(found)


def test_the_names_of_columns_that_stand_above_are_not_told_again() -> None:
    text = 'day;sum\n1;"3.20"\n'

    found = excerpt(Passage(text=text, medium="csv", shown=("day, sum",)), "3.20")
    assert texts(found) == ['1;"3.20"']
    assert found.line == 1


def test_items_and_rows_of_media_without_marks_are_a_line_each() -> None:
    text = "Spring\n\nSow tomatoes\nPrune roses\n\nseed\tprice\ngarlic\t3.20"

    found = excerpt(Passage(text=text, medium="html", shown=("Spring",)), "roses", rows=6)
    assert texts(found) == ["Sow tomatoes", "Prune roses", "seed\tprice", "garlic\t3.20"]
    assert texts(excerpt(Passage(text=text, medium="pdf"), "roses", rows=6))[1:3] == [
        "Sow tomatoes Prune roses",
        "seed\tprice",
    ]


def test_prose_that_flows_is_on_one_line_and_what_stands_alone_is_not() -> None:
    assert shown("chunking disagreed", columns=110) == [
        "We talked about chunking for long. A block of code is never cut in two. Nobody disagreed."
    ]


def test_lines_that_begin_with_a_label_stand_alone() -> None:
    car = (
        "Car\nLicence plate: ZH 482 113\nTyres: 205/55 R16, summer tyres\nfrom April\n"
        "The spare key is with Rosa.\n"
    )
    found = excerpt(Passage(text=car, medium="text"), "spare key", columns=60, rows=6)

    assert texts(found) == [
        "Car",
        "Licence plate: ZH 482 113",
        "Tyres: 205/55 R16, summer tyres from April",
        "The spare key is with Rosa.",
    ]
    assert found.line == 4
    assert shown("wrote", "He wrote: come\nto the tower.\n", columns=60) == [
        "He wrote: come to the tower."
    ]


def test_the_number_of_an_item_does_not_stand_alone() -> None:
    text = "1. Wash it.\n2. Dry it, and put it away for the winter.\n"

    assert shown("wash", text, columns=16) == ["1. Wash it."]


def test_the_line_is_that_of_the_first_match() -> None:
    found = excerpt(Passage(text=NOTE, medium="markdown"), "download", columns=1000)

    assert NOTE.split("\n")[found.line] == "| qmd | 1.5 s | needs a download |"


def test_what_is_cut_inside_a_sentence_says_so_where_it_is_cut() -> None:
    long = "Word " + "word " * 50 + "needle " + "straw " * 50

    (line,) = shown("needle", long)
    assert line.startswith("… word ")
    assert line.endswith(" straw …")
    assert "needle" in line
    (start,) = shown("word", long)
    assert start.startswith("Word word ")

    torn = "and so it went on. The end."
    assert shown("x", torn) == [f"… {torn}"]
    assert texts(excerpt(Passage(text=torn, medium="text", starts=True), "x")) == [torn]


def test_code_is_shown_by_its_lines() -> None:
    text = "def f():\n    '''Say.'''\n\n    return --- 1\n"

    found = excerpt(Passage(text=text, medium="code"), "return", columns=40, rows=3)
    assert texts(found) == ["def f():", "    '''Say.'''", "    return --- 1"]
    assert found.line == 3


@given(st.text(alphabet="ab .|#-`\n*한。", max_size=200), st.text(alphabet="ab 한", max_size=8))
def test_an_excerpt_says_nothing_that_the_passage_does_not(text: str, query: str) -> None:
    found = excerpt(Passage(text=text, medium="markdown"), query, columns=20)

    letters = "".join(text.split())
    for line in found.lines:
        assert "".join(line.text.strip("… ").split()) in letters
    assert 0 <= found.line <= text.count("\n")
