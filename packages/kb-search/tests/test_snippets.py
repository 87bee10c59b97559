"""Snippets are slices of the text, near the words of the query."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from kb_search import snippets
from kb_search.snippets import Highlighter

FILLER = "Nothing of interest stands in this sentence. " * 12


@given(st.text(max_size=400), st.text(max_size=40), st.integers(60, 220))
def test_a_snippet_is_a_slice_within_the_limit(text: str, query: str, limit: int) -> None:
    snippet, whole = Highlighter(query).snippet(text, limit)

    assert snippet in text
    assert whole == (snippet == text.strip())
    assert len(snippet) <= limit or not whole  # one grapheme may be longer than the limit


@pytest.mark.parametrize(
    ("query", "needle"),
    [
        ("parse an http date", "parse the HTTP date header"),
        ("헌법", "대한민국헌법은 민주공화국"),
        ("request handler", "class RequestHandler:"),
        ("naïve", "a naive approach"),
    ],
)
def test_the_window_is_where_the_words_are(query: str, needle: str) -> None:
    snippet, whole = Highlighter(query).snippet(f"{FILLER}{needle} {FILLER}", 120)

    assert needle in snippet
    assert not whole


def test_most_different_words_win_over_most_words() -> None:
    text = f"alpha alpha alpha {FILLER} alpha beta gamma {FILLER}"

    assert "beta gamma" in Highlighter("alpha beta gamma").snippet(text, 80)[0]


def test_19_short_words_match_only_at_the_start_of_a_word() -> None:
    text = f"happy apples {FILLER} the app is here {FILLER}"

    assert "the app is" in Highlighter("app is").snippet(text, 60)[0]


WORDS = ["cat", "cats", "catalog", "c++", "foo_bar", "foo.bar", "dec-0054", "über", "日本語", "本"]
AS_TYPED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
TEXTS = st.lists(st.sampled_from([*WORDS, " ", "-", "_", "x", ", "]), max_size=20).map("".join)


@given(TEXTS, AS_TYPED)
def test_matches_are_those_of_one_regular_expression(text: str, query: str) -> None:
    """Words where they begin, the longest first, to the end of what they begin; pairs anywhere."""
    matches = Highlighter(query).matches(text)
    terms = {match.term for match in matches}
    words = sorted((term for term in terms if term.isascii() or term == "uber"), key=len)[::-1]
    parts = [f"(?<![^\\W_])(?:{'|'.join(map(re.escape, words))})[^\\W_]*"] if words else []
    parts += sorted(re.escape(term) for term in terms - {*words})
    folded = text.replace("ü", "u")
    found = [m.span() for m in re.finditer("|".join(parts), folded)] if parts else []

    assert [(match.start, match.end) for match in matches] == found or not any(
        match.start == 0 or not folded[match.start - 1].isalnum() for match in matches
    )


def test_a_letter_that_another_thread_folds_meanwhile_is_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    highlighter, seen = Highlighter("gruppe"), list[list[tuple[int, int]]]()

    class Others(set[str]):
        """What another thread finds, as soon as it may."""

        def add(self, character: str) -> None:
            if not seen:
                seen.append([])
                seen[0] += [match[:2] for match in highlighter.matches("große Gruppe")]
            super().add(character)

    folding = snippets._Folding()
    folding.others = Others()
    monkeypatch.setattr(snippets, "_FOLDING", folding)
    found = [match[:2] for match in highlighter.matches("große Gruppe")]

    assert seen == [found] == [[(6, 12)]]


def test_of_another_spelling_no_more_is_marked_than_of_the_word() -> None:
    text = "The colour, or color, of a colony in the century of centers and centres."
    marked = {
        query: [text[found.start : found.end] for found in Highlighter(query).matches(text)]
        for query in ("color", "colour", "centre")
    }

    assert marked == {
        "color": ["colour", "color"],
        "colour": ["colour", "color"],
        "centre": ["centers", "centres"],
    }


@pytest.mark.parametrize(
    ("query", "before", "marked"),
    [
        ("العربية", "في ", "العَرَبِيَّة"),
        ("שלום", "אמר ", "שָׁלוֹם"),
        ("oeuvre", "le cœur de l’", "œuvre"),
        ("strasse", "die süße ", "Straße"),
        ("ete", "un ", "e\u0301te\u0301"),
        ("ılgın", "köyü ", "Ilgın"),
        ("Silbentrennung", "die ", "Silben\u00adtrennung"),
        ("ガラ", "古い", "ガラ"),
        ("ガラ", "古い", "カ\u3099ラ"),
        ("검색", "지식 ", "\u1100\u1165\u11b7\u1109\u1162\u11a8"),
        ("\u1100\u1165\u11b7\u1109\u1162\u11a8", "지식 ", "검색"),
        ("été", "… ½ № ", "ETE"),
        ("हिंदी", "वह ", "हिन्दी"),
        ("हिन्दी", "म्म ", "हिंदी"),
        ("गांव", "वह ", "गाँवों"),
        ("ভাষা", "বাংলা ", "ভাষায়"),
        ("भाषा", "परिभाषा ", "भाषाएँ"),
        ("3500", "किराया ", "३५००"),
        ("كتاب", "این ", "کتاب"),
        ("کتابها", "این ", "کتاب\u200cها"),
    ],
)
def test_marks_are_of_the_text_however_letters_are_written(
    query: str, before: str, marked: str
) -> None:
    (match,) = Highlighter(query).matches(f"{before}{marked} !")

    assert (match.start, match.end) == (len(before), len(before) + len(marked))
