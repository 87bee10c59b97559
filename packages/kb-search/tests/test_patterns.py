"""Patterns: the lines that an engine of the standard library finds, in linear time."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, strategies as st

from kb_core.errors import InvalidInput
from kb_core.stored import StoredText
from kb_search.patterns import MAX_PATTERN, compile_pattern, form_of
from kb_search.texts import batch_of

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "docs" / "guide").glob("*.md")) + sorted(
    (ROOT / "packages" / "kb-core" / "src").rglob("*.py")
)
SAMPLE = "검색은 文档 全文検索する été ÉTÉ naïve\nun été.\nÜber-Straße 한국어를\n٣ ² ½ 12 x_1\n"


def found(pattern: str, text: str, **options: bool) -> list[str]:
    """Return the lines of *text* that match."""
    data = text.encode()
    made = compile_pattern(pattern, **options)
    if options.get("multiline"):
        return [data[first:last].decode() for first, last in made.lines(data, form_of(text))]
    starts = made.starts(data, form_of(text))
    ends = [data.find(b"\n", start) for start in starts]
    return [
        data[start : len(data) if end < 0 else end].decode()
        for start, end in zip(starts, ends, strict=True)
    ]


def expected(pattern: str, text: str, flags: int = 0) -> list[str]:
    """Return what the standard library finds, line by line."""
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    return [line for line in lines if re.search(pattern, line, flags)]


SAME = [
    *("fetch_span", "walrus", "Invariant", "import", "kebab", "zzqx_nowhere", "the", "a"),
    *("nothing is lost", "best first", "from __future__ import", "any one", "한국어", "検索"),
    *(r"\bwalk\b", r"\bis_\w+\b", r"\w+_named\(", r"[A-Z]{4,}", r"[0-9]{3}-[0-9]{4}"),
    *(r"0x[0-9a-f]+", r"^def ", r"^import re$", r":$", r"^$", r"^\s+return$", r"^#+ \w+", "^", "$"),
    *(r"\d+\.\d+", r"(foo|bar|chunk)s?\b", r"def \w+\(self\) -> \w+:", r"raise \w+\("),
    *(r"""["']utf-8["']""", r"[^\x00-\x7f]", r"[가-힣]+", r"\bété\b", r"\S+é\W", r"[^a-z\s]{9,}"),
    *(
        r"x{0,2}y",
        r"a{,3}b{1}",
        r"{x}",
        r"[]a]b",
        r"[a\-z]",
        r"a.c|b.?d",
        r"(?i)INVARIANT",
        r"\x41",
    ),
]
SLOW = {
    r"(a+)+$": r"a$",
    r"(x+x+)+y": r"xx+y",
    r"(\w+\s?)*!$": r"!$",
    r"(.*)*,(.*)*,(.*)*z": r",.*,.*z",
    r"^(([a-z])+.)+[A-Z]([a-z])+$": None,
}
"""What an engine that goes back takes for ever for, and what says the same."""


@pytest.mark.parametrize("pattern", SAME)
def test_the_lines_are_those_of_the_standard_library(pattern: str) -> None:
    for text in (SAMPLE, *(file.read_text("utf-8") for file in FILES)):
        assert found(pattern, text) == expected(pattern, text)
        assert found(pattern, text, ignore_case=True) == expected(pattern, text, re.IGNORECASE)


@pytest.mark.parametrize(("pattern", "same"), SLOW.items())
def test_what_makes_other_engines_go_back_takes_no_longer(pattern: str, same: str | None) -> None:
    text = SAMPLE + "a" * 40_000 + "b\n" + "x" * 40_000 + "\nab cd Ef\n" + "w " * 20_000 + "\n"
    began = time.process_time()
    lines = found(pattern, text)

    assert time.process_time() - began < 5
    assert lines == (expected(same, text) if same else ["ab cd Ef"])


atoms = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "abc",
        "é",
        "한",
        ".",
        "[ab]",
        "[^a]",
        r"\w",
        r"\W",
        r"\d",
        r"\s",
        "(a|bc)",
        "(?:ab)",
    ]
)
pieces = st.builds(
    str.__add__, atoms, st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?"])
)
patterns = st.builds(
    lambda front, parts, back: front + "".join(parts) + back,
    st.sampled_from(["", "^"]),
    st.lists(pieces, min_size=1, max_size=5),
    st.sampled_from(["", "$"]),
)
texts = st.text(st.sampled_from("aabbc é한\n1_-"), max_size=40)


@given(pattern=st.lists(patterns, min_size=1, max_size=3).map("|".join), text=texts)
def test_any_pattern_finds_the_lines_of_the_standard_library(pattern: str, text: str) -> None:
    assert found(pattern, text) == expected(pattern, text)


@given(pattern=st.lists(patterns, min_size=1, max_size=2).map("|".join), text=texts)
def test_every_line_that_matches_has_what_the_pattern_needs(pattern: str, text: str) -> None:
    for line in found(pattern, text):
        compiled = compile_pattern(pattern)
        for one in compiled.needs:
            assert any(literal in line for literal in one)


@given(
    pattern=st.lists(patterns, min_size=1, max_size=2).map("|".join),
    text=texts,
    most=st.integers(0, 3),
)
@example(pattern="^$", text="\n\n", most=1)
@example(pattern="a*$", text="b\na", most=2)
@example(pattern="abc", text="b\nabc\nc", most=1)
def test_the_first_lines_and_those_from_there_on_are_all(
    pattern: str, text: str, most: int
) -> None:
    made, data, form = compile_pattern(pattern), text.encode(), form_of(text)
    first: list[int] = []

    at = made.first_starts(data, form, (0, len(data)), first, most)

    assert len(first) <= most
    assert first + made.starts(data, form, at) == made.starts(data, form)


@pytest.mark.parametrize("pattern", ["otter", "(?i)otter", "(?i:o)tter"])
def test_a_text_is_left_out_by_its_letters_only_where_case_matters(pattern: str) -> None:
    for text, matches in (("Otter", pattern != "otter"), ("otter", True), ("heron", False)):
        assert found(pattern, text) == [text] * matches


@given(
    pattern=st.lists(patterns, min_size=1, max_size=2).map("|".join),
    texts=st.lists(texts.filter(str.isascii), min_size=1, max_size=5)
    | st.lists(texts.map(lambda text: f"é{text}"), min_size=1, max_size=5),
    data=st.data(),
)
@example(pattern="^$", texts=["\n", "", "a", "\n\n"], data=None)
def test_texts_side_by_side_and_parts_of_them_match_as_each_alone(
    pattern: str, texts: list[str], data: st.DataObject | None
) -> None:
    made = compile_pattern(pattern)
    form = form_of("".join(texts))
    batch = batch_of([StoredText(at, text.encode(), form) for at, text in enumerate(texts)])
    alone = [
        start + begin
        for (_, begin, _), text in zip(batch.spans, batch.texts(), strict=True)
        for start in made.starts(text.data, form)
    ]

    assert made.is_of_lines
    assert made.starts(batch.data, form) == alone
    ends = [at + 1 for at, byte in enumerate(batch.data) if byte == ord("\n")]
    cut = data.draw(st.sampled_from(ends)) if data and ends else 0
    parts = [(0, cut), (cut, len(batch.data))]
    assert [at for part in parts for at in made.starts(batch.data, form, *part)] == alone


@pytest.mark.parametrize(
    "pattern", [r"\bwalk\b", r"\w+ (walk|swim)s$", r"\d+ swim", r"(?i)\bWALK$"]
)
@pytest.mark.parametrize("often", [1, 40, 4_000])
def test_lines_are_the_same_where_a_word_of_each_match_is_rare_and_where_it_is_not(
    pattern: str, often: int
) -> None:
    some = ("he walks", "Walk", "walk", "she swims", "7 swim é", "no", "it WALK")
    text = "".join(f"{some[n % 7] if n % often == 0 else 'other words'}\n" for n in range(30_000))

    assert found(pattern, text) == expected(pattern, text)
    assert found(pattern, text, ignore_case=True) == expected(pattern, text, re.IGNORECASE)
    assert found("walk", text, word=True) == expected(r"\bwalk\b", text)


@pytest.mark.parametrize("pattern", [r"\Aotter", r"otter\z", r"a|(b\A)"])
def test_what_looks_for_the_ends_of_a_text_is_not_of_lines(pattern: str) -> None:
    assert not compile_pattern(pattern).is_of_lines
    assert not compile_pattern(r"otter\s", multiline=True).is_of_lines
    assert compile_pattern(r"\\A").is_of_lines


@pytest.mark.parametrize("pattern", [r"^\s*$", r"\s+$", "^ *$", r"(\t| ){2,}", "^", "$"])
def test_white_space_is_known_to_name_nothing(pattern: str) -> None:
    assert compile_pattern(pattern).is_blank
    assert not any(
        compile_pattern(f"{pattern}{more}").is_blank for more in ("|a", "|.", r"|\S", "|;")
    )


@given(text=texts, word=st.text(st.sampled_from("ab.(+ é한[\\"), min_size=1, max_size=4))
def test_a_fixed_pattern_stands_for_itself(text: str, word: str) -> None:
    assert found(word, text, fixed=True) == expected(re.escape(word), text)


@given(text=texts, word=st.text(st.sampled_from("abé1"), min_size=1, max_size=3))
def test_whole_words_have_no_letter_beside_them(text: str, word: str) -> None:
    edges = rf"(?<!\w){word}(?!\w)"

    assert found(word, text, word=True) == expected(edges, text)
    assert found(rf"\b{word}\b", text) == expected(edges, text)


@pytest.mark.parametrize(
    "pattern",
    [r"\w+\b\s*-", r"^\s*\b\wb", r"1\b-", r"(?:\wb\b )+é|\w\b-", r"é(?:-| )\b\w\b\s*$"],
)
@given(text=texts)
def test_an_edge_between_a_letter_and_a_sign_is_one_in_any_script(pattern: str, text: str) -> None:
    assert found(pattern, text) == expected(pattern, text)
    assert not compile_pattern(pattern).inner_edges


@pytest.mark.parametrize(
    "pattern", [r"\w\b.é", r"\w+\b\s*é", r"(?:\bé)?b", r"\W?\b\s", r"(\s*|a)\b\w\S"]
)
def test_an_edge_that_may_be_none_is_told(pattern: str) -> None:
    assert compile_pattern(pattern).inner_edges
    assert not compile_pattern(r"\b(foo|bar{2}|b)\b.*\b(ba|c+)").inner_edges


@given(text=texts, word=st.text(st.sampled_from("abé1"), min_size=1, max_size=3))
def test_a_place_within_a_word_has_letters_of_any_script_beside_it(text: str, word: str) -> None:
    for pattern in (rf"\B{word}", rf"{word}\B", rf"\B{word}\B|ü\B", rf"\b1?{word}(?:é|b1)?\b"):
        assert found(pattern, text) == expected(pattern, text)
        assert not compile_pattern(pattern).inner_edges
    assert compile_pattern(rf"(?:\Bé)+{word}").inner_edges


@given(
    text=st.text(st.sampled_from("ab é한語\n-"), max_size=20),
    word=st.sampled_from(["a", "aa", "é", "b ", "^a", "a$", "aa$", "^aa$", "^$", "a|é"]),
)
def test_spans_are_where_the_standard_library_matches(text: str, word: str) -> None:
    for line in text.split("\n"):
        spans = [match.span() for match in re.finditer(word, line) if match[0]]
        assert compile_pattern(word).spans(line) == spans


@given(
    st.text("aB_é한 \n", min_size=1, max_size=40),
    st.sampled_from([r"a", r"\w+", r"a*", r"\bB", r"a.|é", r"^.", r"한|$", r" +"]),
    st.data(),
)
def test_a_part_of_a_line_is_covered_where_one_of_its_matches_holds_all_of_it(
    text: str, pattern: str, data: st.DataObject
) -> None:
    line = data.draw(st.sampled_from(text.split("\n")))
    left, right = sorted(data.draw(st.integers(0, len(line))) for _ in range(2))
    whole, first = f"x\n{line}\n{text}".encode(), len("x\n")
    places = [len(line[:at].encode()) + first for at in (0, len(line), left, right)]
    made = compile_pattern(pattern)

    covered = made.covers(whole, form_of(text), (places[0], places[1]), (places[2], places[3]))

    spans = made.spans(line)
    within = any(start <= left and right <= stop for start, stop in spans)
    assert covered == (within if left < right else bool(spans))


def test_a_word_in_a_script_without_spaces_is_found_inside_a_sentence() -> None:
    """With letters as its only borders it would never be found."""
    assert found("検索", SAMPLE, word=True) == [SAMPLE.split("\n", maxsplit=1)[0]]
    assert found("한국어", SAMPLE, word=True) == []


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_letter_with_a_mark_is_one_however_it_is_spelled(
    form: Literal["NFC", "NFD"], typed: Literal["NFC", "NFD"]
) -> None:
    text = unicodedata.normalize(form, SAMPLE)

    for word, line in (("été", 1), ("한국어", 2), ("naïve", 0)):
        spelled = unicodedata.normalize(typed, word)
        assert text.split("\n")[line] in found(spelled, text)


@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        ("s", "\u017f\n", ["\u017f"]),
        ("K", "\u212a k\n", ["\u212a k"]),
        ("ÉTÉ", SAMPLE, SAMPLE.split("\n")[:2]),
        ("σ", "ς Σ\n", ["ς Σ"]),
    ],
)
def test_case_is_ignored_in_every_script(pattern: str, text: str, lines: list[str]) -> None:
    assert found(pattern, text, ignore_case=True) == lines


def test_a_match_goes_on_over_lines_only_if_that_is_asked_for() -> None:
    text = "def f(\n    a,\n):\n    pass\n"

    assert found(r"def \w+\([^)]*\)", text) == []
    assert found(r"def \w+\([^)]*\)", text, multiline=True) == ["def f(\n    a,\n):"]
    assert found("f(\n    a", text, multiline=True, fixed=True) == ["def f(\n    a,"]
    for pattern in (r"a\n", "a\nb", r"\x0a"):
        with pytest.raises(InvalidInput, match="holds the end of a line"):
            compile_pattern(pattern)


@given(
    st.text("ab \n", max_size=16),
    st.sampled_from(
        ["a\nb", r"\s+b", r"[^a]\n[^b]", "\n\n\n", r"b\s*\Z", r"a[^b]*a|b", "(?s)a.b", r"\Ab?\s"]
    ),
)
def test_matches_over_lines_are_those_of_the_standard_library(text: str, pattern: str) -> None:
    """Also where a line that matches holds the beginning of the next match."""
    touched = set[int]()
    for match in re.finditer(pattern, text):
        first, last = (text.count("\n", 0, at) for at in (match.start(), match.end() - 1))
        touched.update(range(first, last + 1))
    made = compile_pattern(pattern, multiline=True)

    spans = [*made.lines(text.encode(), "ascii")]

    ends = [(text.count("\n", 0, first), text.count("\n", 0, last)) for first, last in spans]
    assert [line for first, last in ends for line in range(first, last + 1)] == sorted(touched)


@pytest.mark.parametrize("pattern", ["a.b", r"[ab\t]+", "(?i)a", r"\w+$", r"\p{Lu}"])
def test_what_holds_no_end_of_a_line_is_looked_for_line_by_line(pattern: str) -> None:
    assert compile_pattern(pattern, multiline=True).is_of_lines
    assert not compile_pattern(pattern.replace(".", "(?s:.)") + r"\s?", multiline=True).is_of_lines


def test_the_end_of_a_text_is_that_of_its_last_line() -> None:
    for text in ("b\na\nb\n", "b\na\nb"):
        assert compile_pattern(r"b\z").starts(text.encode(), "ascii") == [4]


@pytest.mark.parametrize("text", ["", "\n", "\n\n", "a", "a\n", "\na", "\0\n\ufffd"])
def test_lines_of_small_texts_are_counted_as_editors_do(text: str) -> None:
    assert found("^", text) == expected("^", text)
    assert found("$", text, multiline=True) == expected("$", text)


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("(", 1),
        ("a(b", 2),
        ("(a(b)", 1),
        ("a)", 2),
        ("[a", 1),
        ("foo++", 5),
        ("a**", 3),
        ("a{2}{3}b", 5),
        ("x{2,1}", 2),
        ("b[z-a]", 3),
        ("[[:^alpha:]]", 2),
        (r"[a\W]", 3),
        (r"[a\z]", 3),
        (r"[\Qab\E]", 2),
        ("\\", 1),
    ],
)
def test_what_is_wrong_with_a_pattern_is_told_with_where_it_begins(pattern: str, at: int) -> None:
    with pytest.raises(InvalidInput, match=rf"at character {at}$"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "is empty"),
        ("x" * (MAX_PATTERN + 1), "has more than 1,000 characters"),
        ("a\0", "holds what no text has"),
        ("\ud800", "holds what no text has"),
        ("(", r"a \( that nothing closes"),
        (")", r"a \) that nothing opened"),
        ("[a", r"a \[ that nothing closes"),
        ("[]", r"a \[ that nothing closes"),
        ("*a", "repeats nothing"),
        ("a|*", "repeats nothing"),
        ("a**", "repeats a repetition"),
        ("a{2}{3}", "repeats a repetition"),
        ("a{3,2}", r"repeats \{3,2\}"),
        ("a{1001}", r"repeats \{1001\}"),
        ("(?=a)", "has '"),
        ("(?<!a)b", "has '"),
        ("(?P=x)", "has '"),
        (r"(a)\1", r"has \\1"),
        (r"\k", r"has \\k"),
        (r"\d(?=a)", r"pattern '\\d\(\?=a\)' has '\(\?=a'"),
        ("a\\", "ends with a backslash"),
        ("(?x)a", "the flag x"),
        ("[z-a]", "a range from 'z'"),
        ("[[:nope:]]", r"has \[:nope:\]"),
        (r"\x{110000}", "has "),
        (r"[\W]", r"\\W"),
        (r"\w{1000}", "is too large"),
        ("(" * 51 + ")" * 51, "more than 50 deep"),
        (r"\p{Klingon}", r"has \\p\{Klingon\}, which names no set"),
        (r"a\PX", r"has \\PX, which names no set"),
        (r"\p{sc=Greek}\p{Script=Grek}", r"has \\p\{Script=Grek\}, which names no set"),
        (r"[\P{^gc=Foo}]", r"has \\P\{\^gc=Foo\}, which names no set"),
        (r"\p{Lu", r"has \\p"),
        ("[a-z&&[^b]]", "has && in brackets"),
        ("[a-z--b]", "has -- in brackets"),
        (r"[\w~~x]", "has ~~ in brackets"),
    ],
)
def test_a_pattern_that_is_none_is_refused_with_what_to_write(pattern: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        compile_pattern(pattern)

    assert caught.value.hint
    assert caught.value.details["field"] == "pattern"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"\p{sc=Greek}+", "σ"),
        (r"[\p{Script=Greek}x]{2}", "xσ"),
        (r"\P{gc=Lu}a", "Xaa"),
        ("[&]&", "&&"),
        ("[-a]-", "--"),
        ("[+--]", ","),
        ("[--/]", "."),
        (r"[a\&&]{2}", "a&"),
    ],
)
def test_sets_are_written_as_other_engines_read_them(pattern: str, line: str) -> None:
    assert compile_pattern(pattern).spans(line)


@given(pattern=st.text(st.sampled_from("ab()[]{}|*+?\\^$.-,1:<PQEwdxpu=!é"), max_size=12))
@example(pattern="[a-\\d]")
@example(pattern="[\\Q11")
@example(pattern="\\Q\\E*")
@example(pattern="(?i)*")
@example(pattern="\\b*")
def test_no_pattern_does_anything_but_match_or_be_refused(pattern: str) -> None:
    try:
        made = compile_pattern(pattern)
    except InvalidInput:
        return
    for text in ("ab é\n(1)\n", SAMPLE):
        for first in made.starts(text.encode(), form_of(text)):
            assert 0 <= first < len(text.encode())
        assert isinstance(made.spans(text.split("\n")[0]), list)
        assert isinstance(made.needs, Sequence)


def test_what_makes_a_large_program_is_looked_through_in_smaller_steps() -> None:
    small, large = compile_pattern(r"\d+ of"), compile_pattern(r"\w{20}\d+")

    assert small.step("ascii") > 10 * large.step("nfc")
    assert large.step("nfc") >= 1000


@given(
    letters=st.sampled_from(["", "a", "b", "ab", "abc", "é", "한", "a b"]),
    ends=st.sampled_from([("", ""), ("^", ""), ("", "$"), ("^", "$")]),
    ignore_case=st.booleans(),
    text=st.text(st.sampled_from("aabBc é한\n\n"), max_size=60),
)
def test_letters_and_ends_of_lines_are_found_as_bytes(
    letters: str, ends: tuple[str, str], ignore_case: bool, text: str
) -> None:
    pattern = f"{ends[0]}{letters}{ends[1]}"
    if not pattern:
        return

    is_plain = compile_pattern(pattern, ignore_case=ignore_case).plain is not None
    differs = ignore_case and letters not in {"", "한"}
    assert is_plain is (pattern not in {"^", "$"} and not differs)
    flags = re.IGNORECASE if ignore_case else 0
    assert found(pattern, text, ignore_case=ignore_case) == expected(pattern, text, flags)


@pytest.mark.parametrize(
    ("pattern", "options", "letters"),
    [
        ("take_lease", {}, "take_lease"),
        ("take_lease", {"word": True}, "take_lease"),
        ("a.b", {"word": True, "fixed": True}, "a.b"),
        ("a.b", {"word": True}, None),
        ("take_lease", {"word": True, "ignore_case": True}, "take_lease"),
        ("(?i)take_lease", {"word": True}, None),
    ],
)
def test_letters_that_every_match_is_are_known_also_of_words_alone(
    pattern: str, options: dict[str, bool], letters: str | None
) -> None:
    assert compile_pattern(pattern, **options).letters == letters
