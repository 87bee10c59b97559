"""What interfaces share: nothing a terminal would obey, amounts, times, traces."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, strategies as st

from kb_app.shown import (
    brief_duration,
    bytes_text,
    count,
    duration,
    flat,
    is_hidden,
    local_time,
    moment,
    printable,
    shell_word,
    steady,
    visible,
)
from kb_app.shown.trace import TraceRow, listings
from kb_core.search import Candidate, FusionInput, Timing, Trace

EVERY_CHARACTER = "".join(map(chr, range(sys.maxunicode + 1)))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


# ------------------------------------------------------------------ safe text


@cache
def hidden() -> str:
    """Return every character that is; to collect these tests takes no second for it."""
    return "".join(filter(is_hidden, EVERY_CHARACTER))


def test_of_all_of_unicode_nothing_that_controls_or_hides_is_shown() -> None:
    """Controls, formatting but two joiners, surrogates, private use, breaks of lines."""
    unwanted = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}

    for shown in (printable(EVERY_CHARACTER), visible(EVERY_CHARACTER)):
        left = {c for c in set(shown) if unicodedata.category(c) in unwanted}
        assert left - {"\u200d"} == {"\u200c"}  # the other joiner stays before letters alone


def test_both_drawings_hide_the_same_of_all_of_unicode() -> None:
    """But for what makes one picture of several, whose width terminals differ in."""
    kept = kept_by(printable)

    assert steady(kept) == steady(kept_by(visible))
    assert len(kept) + len(hidden()) == sys.maxunicode + 1


def kept_by(drawn: Callable[[str], str]) -> str:
    """Return every character that is drawn as it is; looked at one by one where one is not."""
    size = 256
    blocks = (EVERY_CHARACTER[n : n + size] for n in range(0, sys.maxunicode + 1, size))
    return "".join(
        block if drawn(block) == block else "".join(c for c in block if drawn(c) == c)
        for block in blocks
    )


def test_what_is_hidden_is_drawn_by_what_is_not_and_can_be_written() -> None:
    for shown in (printable(hidden()), visible(hidden())):
        assert not any(map(is_hidden, shown))
        shown.encode()


def test_a_picture_takes_the_place_of_one_character_and_an_escape_names_it() -> None:
    pictures = hidden().replace("\t", "")

    assert len(visible(pictures)) == len(pictures)
    assert printable(hidden()).encode().decode("unicode_escape") == hidden()


@pytest.mark.parametrize("mark", [*BIDI, "\u200b", "\u2060", "\ufeff", "\xad", "\U000e0041"])
def test_what_turns_the_line_around_or_is_not_seen_is_drawn(mark: str) -> None:
    assert visible(f"a{mark}b") == "a\ufffdb"
    assert mark not in printable(f"a{mark}b")


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("/notes/a.md", "/notes/a.md"),
        ("it's a.md", "'it'\"'\"'s a.md'"),
        ("new\nline.md", r"$'new\x0aline.md'"),
        ("it's\\\n", r"$'it\x27s\x5c\x0a'"),
        ("bad\udcff é.md", r"$'bad\xff é.md'"),
        ("a\u202eb", r"$'a\xe2\x80\xaeb'"),
    ],
)
def test_a_word_for_a_shell_is_read_as_it_is(word: str, shown: str) -> None:
    assert shell_word(word) == shown
    said = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True)
    assert said.stdout == os.fsencode(word)


@given(st.text(alphabet=st.characters(codec=None)))
def test_what_is_shown_never_controls_a_terminal(text: str) -> None:
    for shown in (printable(text), visible(text), flat(text)):
        shown.encode()
        assert not any(map(is_hidden, shown))


@given(st.text(alphabet=st.characters(codec=None)))
def test_lines_stay_where_they_are_wanted(text: str) -> None:
    shown = visible(text, keep="\n")

    assert shown.count("\n") == text.count("\n")
    assert ({chr(code) for code in (*range(32), 127)} - {"\n"}).isdisjoint(shown)


def test_escapes_are_readable() -> None:
    assert printable("a\x1b[0m\r\u202e\udc80é한") == r"a\x1b[0m\r\u202e\udc80é한"
    assert printable("a\n\tb", keep="\n\t") == "a\n\tb"
    assert flat(" a\n\n b\x07 ") == r"a b\x07"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("한국어 é 😀 👩\u200d💻", "한국어 é 😀 👩💻"),
        ("⚠\ufe0f ❤\ufe0f 👍\U0001f3fd 1\ufe0f\u20e3", "⚠ ❤ 👍 1\u20e3"),
        ("क्\u200dष می\u200cخواهم", "क्\u200dष می\u200cخواهم"),
        ("a\tb", "a   b"),
        ("a\nb", "a␊b"),
        ("\x1b[2J\x00\r\x7f", "␛[2J␀␍␡"),
        ("\u202eabc\u2066", "\ufffdabc\ufffd"),
        ("\udcff", "\ufffd"),
        ("a\x85b", "a\ufffdb"),
    ],
)
def test_control_characters_are_shown_as_pictures(text: str, expected: str) -> None:
    assert visible(text) == expected


# ----------------------------------------------------------- amounts and times


def test_counts_are_words() -> None:
    assert [count(n, "hit") for n in (0, 1, 1200)] == ["0 hits", "1 hit", "1,200 hits"]
    assert [count(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize(
    ("size", "shown", "brief"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (12_345, "12.3 kB", "12 kB"),
        (5 * 10**12, "5.0 TB", "5 TB"),
    ],
)
def test_sizes(size: int, shown: str, brief: str) -> None:
    assert (bytes_text(size), bytes_text(size, digits=0)) == (shown, brief)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0123, "12 ms"),
        (3.21, "3.2 s"),
        (59.94, "59.9 s"),
        (0.9996, "1.0 s"),
        (59.97, "1 min 00 s"),
        (61, "1 min 01 s"),
        (1259.7, "21 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7199, "2 h 00 min"),
        (7321, "2 h 02 min"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (59.4, "59 s"), (61, "1:01 min"), (9_601, "2:40 h")],
)
def test_brief_durations_fit_a_column(seconds: float, said: str) -> None:
    assert brief_duration(seconds) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0, "0:00"), (5_999, "0:05"), (822_000, "13:42"), (3_723_000, "1:02:03")],
)
def test_a_moment_of_a_recording_is_told_as_players_do(milliseconds: int, said: str) -> None:
    assert moment(milliseconds) == said


def test_times_are_told_to_the_minute() -> None:
    assert len(local_time("2026-05-31T12:00:59Z")) == len("2026-05-31 12:00")
    assert local_time(None) == "-"


# ---------------------------------------------------------------------- traces


def test_a_trace_is_three_lists_and_the_fused_one_names_its_documents() -> None:
    trace = Trace(
        lexical=(Candidate("c1", "d1", "a.md", 1, 9.0),),
        vector=(Candidate("c2", "d2", "b.md", 1, 0.9),),
        fused=(
            FusionInput("c2", None, 1, 0.98),
            FusionInput("c1", 1, None, 0.5),
            FusionInput("c3", None, 7, 0.1),
        ),
        timing=Timing(lexical_ms=3, vector_ms=14, fusion_ms=1, total_ms=19),
    )

    lexical, vector, fused = listings(trace)

    assert lexical == ("lexical", 3, (TraceRow(1, 9.0, "c1", "a.md"),))
    assert vector == ("vector", 14, (TraceRow(1, 0.9, "c2", "b.md"),))
    assert fused.spent_ms == 1
    assert fused.rows == (
        TraceRow(1, 0.98, "c2", "b.md", (None, 1)),
        TraceRow(2, 0.5, "c1", "a.md", (1, None)),
        TraceRow(3, 0.1, "c3", "", (None, 7)),
    )
