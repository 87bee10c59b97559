"""What the screens are made of, without a screen: marks, passages, keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app.shown.marks import marks
from kb_tui._keys import SEARCH, hint
from kb_tui._passage import Line, passage


def marked(text: str, query: str) -> str:
    """Return *text* with its marks in brackets."""
    for start, end in reversed(marks(text, query)):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("chunk", "the [Chunks] are [chunked] by a [chunker]"),
        ("chunking the", "the [Chunks] are [chunked] by a [chunker]"),
        ("the", "[the] Chunks are chunked by a chunker"),
        ("hunk", "the Chunks are chunked by a chunker"),
        ("", "the Chunks are chunked by a chunker"),
        ('"a chunker" -chunked', "the [Chunks] are [chunked] by a [chunker]"),
        ("-chunked by", "the Chunks are chunked [by] a chunker"),
    ],
)
def test_the_same_word_is_marked_whatever_its_ending(query: str, expected: str) -> None:
    assert marked("the Chunks are chunked by a chunker", query) == expected


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("parseHTTPRequest(x)", "http request", "parse[HTTPRequest](x)"),
        ("parse_http_date", "parsing http", "[parse]_[http]_date"),
        ("DEC-0054 is decided", "DEC-0054", "[DEC]-[0054] is decided"),
        ("Cafe und Straße", "café STRASSE", "[Cafe] und [Straße]"),
        ("a title of path", "title:path x", "a title of [path]"),
        ("검색을 검색한다", "검색은", "[검색]을 [검색]한다"),
        ("全文検索エンジン", "検索", "全文[検索]エンジン"),
        ("한국어형태소", "한국어 형태소", "[한국어][형태소]"),
        ("나무", "나", "[나]무"),
        ("general theory", "generate", "general theory"),
    ],
)
def test_marks_in_identifiers_and_scripts(text: str, query: str, expected: str) -> None:
    assert marked(text, query).replace("][", "") == expected.replace("][", "")


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("coeur", "cœur"),
        ("lodz", "Łódź"),
        ("ılgın", "Ilgın"),
        ("العربية", "العَرَبِيَّة"),
        ("שלום", "שָׁלוֹם"),
        ("Silbentrennung", "Silben\u00adtrennung"),
        ("ete", "E\u0301te\u0301"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_words_are_marked_however_their_letters_are_written(query: str, word: str) -> None:
    assert marks(f"… {word}, {word}.", query) == [
        (2, 2 + len(word)),
        (4 + len(word), 4 + 2 * len(word)),
    ]


@given(st.text(), st.text())
def test_marks_are_in_order_apart_and_inside(text: str, query: str) -> None:
    ranges = marks(text, query)
    ends = [0, *(at for pair in ranges for at in pair), len(text)]

    assert ends == sorted(ends)
    assert all(start < end for start, end in ranges)


def chunk(text: str, start: int, line: int | None) -> dict[str, Any]:
    kind = {"kind": "page", "page": 1} if line is None else {"kind": "line", "start": line}
    return {
        "text": text,
        "char_start": start,
        "char_end": start + len(text),
        "source_spans": [kind],
    }


def lines_of(whole: str, cuts: list[tuple[int, int]]) -> list[Line]:
    """Return the passage of the middle of three ranges of one text."""
    chunks = [chunk(whole[a:b], a, whole.count("\n", 0, a) + 1) for a, b in cuts]
    before, own, after = chunks
    fetched = {"chunk": own, "context_before": [before], "context_after": [after]}
    return passage(fetched)


def drawn(lines: list[Line]) -> list[str]:
    return [f"{line.number}{'┃' if line.inside else '│'}{line.text}" for line in lines]


def test_every_line_stands_once_under_its_number() -> None:
    lines = lines_of("one\ntwo\nthree\nfour\n", [(0, 4), (4, 14), (14, 19)])

    assert drawn(lines) == ["1│one", "2┃two", "3┃three", "4│four"]


def test_overlapping_neighbours_are_not_shown_twice() -> None:
    lines = lines_of("one\ntwo\nthree\nfour\n", [(0, 8), (4, 14), (8, 19)])

    assert drawn(lines) == ["1│one", "2┃two", "3┃three", "4│four"]


def test_blank_lines_between_chunks_come_back() -> None:
    lines = lines_of("one\n\n\ntwo\n\nthree", [(0, 4), (6, 10), (11, 16)])

    assert drawn(lines) == ["1│one", "2│", "3│", "4┃two", "5│", "6│three"]


def test_a_line_that_was_cut_is_whole_again() -> None:
    lines = lines_of("one two three\nfour", [(0, 4), (4, 8), (8, 18)])

    assert drawn(lines) == ["1┃one two three", "2│four"]


def test_a_page_has_no_line_numbers() -> None:
    fetched = {
        "chunk": chunk("own\ntext", 5, None),
        "context_before": [chunk("above own", 0, None)],
        "context_after": [],
    }

    assert drawn(passage(fetched)) == ["None│above", "None┃own", "None┃text"]


def test_lines_of_a_file_are_no_numbers_of_a_text_that_has_others() -> None:
    """Those of a notebook are lines of its JSON, and not of what its cells say."""
    own = {
        **chunk("own\ntext", 0, None),
        "source_spans": [{"kind": "line", "start": 40, "end": 80}],
    }

    lines = passage({"chunk": own, "context_before": [], "context_after": []})

    assert drawn(lines) == ["None┃own", "None┃text"]


@given(st.text(alphabet="a b\n", max_size=60), st.lists(st.integers(0, 60), min_size=6, max_size=6))
def test_any_three_ranges_make_ascending_lines(whole: str, ends: list[int]) -> None:
    a, b, c, d, e, f = sorted(min(end, len(whole)) for end in ends)
    numbers = [line.number for line in lines_of(whole, [(a, c), (b, e), (d, f)])]

    assert numbers == sorted(set(numbers), key=lambda n: n or 0)


def test_the_hint_line_begins_with_help_and_fits_a_small_terminal() -> None:
    for mode in ("INSERT", "NORMAL"):
        line = hint(SEARCH, mode)
        assert line.startswith("F1 help")
        assert len(line) <= 78


def test_letters_are_never_bound_in_insert_mode() -> None:
    """A typing pane gets every printable key as text."""
    letters = [key for key in SEARCH if any(len(name) == 1 for name in key.names.split(","))]

    assert letters
    assert [key.shown for key in letters if key.insert] == []
