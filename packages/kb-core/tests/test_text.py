"""Lines and graphemes."""

from __future__ import annotations

import tracemalloc
import unicodedata

import pytest
from hypothesis import given, strategies as st

from kb_core.text import (
    LineIndex,
    WordPattern,
    in_any_language,
    in_word,
    is_grapheme_boundary,
    nfc,
    normalize_newlines,
    quoted,
    snap_to_grapheme,
)

lined = st.text(st.sampled_from("ab \n\r\u2028\x0c한"), max_size=40)


def lines_of(text: str) -> list[str]:
    """Split at LF only, keeping it: the plainest statement of ruling R6."""
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return whole + ([parts[-1]] if parts[-1] else [])


@given(lined)
def test_lines_are_what_lies_between_line_feeds(text: str) -> None:
    index, lines = LineIndex(text), lines_of(text)

    assert len(index) == len(lines)
    for first in range(1, len(lines) + 1):
        for last in range(first, len(lines) + 1):
            start, end = index.range_of(first, last)
            assert text[start:end] == "".join(lines[first - 1 : last])


@given(lined)
def test_every_character_is_on_the_line_that_holds_it(text: str) -> None:
    index = LineIndex(text)
    expected = [n for n, line in enumerate(lines_of(text), 1) for _ in line]

    assert [index.line_at(at) for at in range(len(text))] == expected


def test_a_line_takes_no_more_than_two_numbers() -> None:
    """Twenty million blank lines once took a gigabyte."""
    count, text = 50_000, "\n" * 50_000
    tracemalloc.start()
    try:
        index = LineIndex(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(index) == count
    assert peak < 20 * count


@given(lined, st.data())
def test_the_lines_of_a_range_cover_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    index = LineIndex(text)

    first, last = index.lines_of(start, end)

    assert 1 <= first <= last
    if start < end:
        whole_start, whole_end = index.range_of(first, last)
        assert whole_start <= start
        assert end <= whole_end


@given(st.text())
def test_newlines_and_normal_form_are_idempotent(text: str) -> None:
    once = normalize_newlines(text)

    assert (
        normalize_newlines(once.replace("\n", "\r\n")) == once.replace("\r\n", "\n") or "\r" in once
    )
    assert nfc(nfc(text)) == nfc(text) == unicodedata.normalize("NFC", text)


def test_a_lone_carriage_return_stays() -> None:
    assert normalize_newlines("a\r\nb\rc\n") == "a\nb\rc\n"


CLUSTERS = {
    "carriage return and line feed": "\r\n",
    "combining mark": "e\u0301",
    "stacked marks": "o\u0302\u0323\u0309",
    "variation selector": "\u2764\ufe0f",
    "keycap": "1\ufe0f\u20e3",
    "skin tone": "\U0001f44d\U0001f3fd",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "flag": "\U0001f1f0\U0001f1f7",
    "flag of Scotland": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "pirate flag": "\U0001f3f4\u200d\u2620\ufe0f",
    "jamo": "\u1112\u1161\u11ab",
    "old jamo": "\ua960\u1161",
    "jamo, extended": "\u1112\ud7b0\ud7cb",
    "syllable with a final": "\uac00\u11a8",
    "devanagari vowel": "\u0915\u093f",
    "devanagari conjunct": "\u0915\u094d\u0937",
    "conjunct with a joiner": "\u0915\u094d\u200d\u0937\u093f",
    "arabic number sign": "\u0600\u0661",
    "thai vowel": "\u0e01\u0e33",
    "tamil": "\u0ba8\u0bbf",
    "halfwidth voiced mark": "\uff76\uff9e",
    "zero-width non-joiner": "a\u200c",
}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS.keys())
def test_a_cluster_is_never_cut(cluster: str) -> None:
    text = f"a{cluster}b"

    cuts = [at for at in range(len(text) + 1) if is_grapheme_boundary(text, at)]

    assert cuts == [0, 1, 1 + len(cluster), 2 + len(cluster)]


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("\U0001f1f0\U0001f1f7\U0001f1fa\U0001f1f8", [0, 2, 4]),
        ("\U0001f1f0\U0001f1f7\U0001f1fa", [0, 2, 3]),
        ("\n\r", [0, 1, 2]),
        ("가나", [0, 1, 2]),
        ("\u11a8\u1100", [0, 1, 2]),
    ],
)
def test_neighbours_are_parted(text: str, cuts: list[int]) -> None:
    assert [at for at in range(len(text) + 1) if is_grapheme_boundary(text, at)] == cuts


clusters = st.lists(st.sampled_from([*CLUSTERS.values(), "a", " ", "한"]), max_size=12).map("".join)


@given(clusters, st.data())
def test_snapping_finds_a_boundary_after_the_floor(text: str, data: st.DataObject) -> None:
    floor = data.draw(st.integers(0, max(0, len(text) - 1)))
    at = data.draw(st.integers(floor, len(text)))

    cut = snap_to_grapheme(text, at, floor=floor)

    assert is_grapheme_boundary(text, cut)
    assert cut > floor or cut == len(text) or (cut == floor == 0 == at) or cut == at == floor


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"\d+", r"'\d+'"),
        (r"a\\b", r"'a\\b'"),
        ("it's", '"it\'s"'),
        ("한\n", r"'한\n'"),
        ("\x1b", r"'\x1b'"),
    ],
)
def test_what_somebody_wrote_is_said_again_as_it_was_written(text: str, said: str) -> None:
    assert quoted(text) == said


@pytest.mark.parametrize(
    ("path", "shared", "lang"),
    [
        ("docs/fr/a.md", "docs//a.md", "fr"),
        ("a.de.adoc", "a..adoc", "de"),
        ("locales/en-GB.yml", "locales/.yml", "en"),
        ("res/values-pt-rBR/strings.xml", "res/values-/strings.xml", "pt"),
        ("messages_zh_CN.properties", "messages_.properties", "zh"),
        ("docs/zh-CN/user.zh-CN.md", "docs//user..md", "zh"),
        ("den/model.py", "den/model.py", None),
        ("france/a.md", "france/a.md", None),
    ],
)
def test_a_path_names_a_language(path: str, shared: str, lang: str | None) -> None:
    assert in_any_language(path) == (shared, lang)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("foo_bar 2", ["foo", "bar", "2"]),
        ("Größe, été", ["Größe", "été"]),
        ("हिन्दी की।", ["हिन्दी", "की"]),
        ("வணக்கம்-ক্ষমা", ["வணக்கம்", "ক্ষমা"]),
        ("ދިވެހި ܐܳ བོད་", ["ދިވެހި", "ܐܳ", "བོད"]),
    ],
)
def test_words_are_those_of_any_script(text: str, words: list[str]) -> None:
    pattern = WordPattern("<word>")

    assert pattern.of(text).findall(text) == words
    assert all(in_word(sign) for word in words for sign in word)
    assert not any(map(in_word, "-_ ।,"))


def test_what_looks_for_signs_is_compiled_for_texts_that_have_them() -> None:
    pattern = WordPattern("<word>")

    assert pattern.of("Größe").pattern == pattern.of("size").pattern != pattern.of("हिंदी").pattern


@given(st.text(), st.sampled_from(["<word>", "<letters>", r"[\w<signs>]+", "<sign>", "<letter>"]))
def test_both_forms_find_the_same_where_there_is_no_sign(text: str, expression: str) -> None:
    plain, signed = (WordPattern(expression).of(script) for script in ("a", "हि"))
    text = "".join(sign for sign in text if sign < "\u0711")

    assert plain.findall(text) == signed.findall(text)
