"""Names and loanwords cross between scripts: how they may be spelled, and what is read so."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given, strategies as st

from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_search.crossing import crossing_words, spellings
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot
from kb_search.writer import Writer

WORDS = [
    ("ホテル", "hotel"), ("リモコン", "remocon"), ("カメラ", "camera"), ("ラジオ", "radio"),
    ("ピアノ", "piano"), ("メモリ", "memory"), ("ルーム", "room"), ("キーボード", "keyboard"),
    ("プリンター", "printer"), ("バッテリー", "battery"), ("호텔", "hotel"), ("카메라", "camera"),
    ("라디오", "radio"), ("메모리", "memory"), ("프린터", "printer"), ("로봇", "robot"),
    ("телефон", "telefon"), ("Наташа", "natasha"), ("Владимир", "vladimir"), ("проект", "proekt"),
    ("Ολυμπία", "olympia"), ("Αθηνά", "athina"), ("Δημήτρης", "dimitris"),
]  # fmt: skip
"""Written before the first of them was tried."""


@pytest.mark.parametrize("letter", ["한", "カ", "ж"])
def test_a_text_without_spaces_is_no_name(letter: str) -> None:
    """It took the square of its length: half a minute for five thousand letters."""
    assert [*crossing_words(letter * 24)] == [letter * 24]
    assert [*crossing_words(f"{letter * 25} {letter * 5_000}")] == []


@pytest.mark.parametrize(("word", "latin"), WORDS)
def test_a_word_may_be_spelled_as_it_is_in_latin_letters(word: str, latin: str) -> None:
    assert latin in spellings(word)


@given(st.text(st.characters(min_codepoint=0x370, max_codepoint=0xD7FF), max_size=40))
def test_any_word_has_few_spellings_in_small_letters(text: str) -> None:
    for word in crossing_words(text):
        found = spellings(word)
        assert len(found) <= 1000
        assert all(spelled.isascii() and spelled.isalpha() for spelled in found)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder, corpus = tmp_path_factory.mktemp("notes"), Corpus()
    texts = ["a cookie is set by the response", "Melanie plays the violin", "Socrates asks"]
    texts += ["파라미터 목록", "other text"]
    documents = [corpus.document(f"{n}.md", text, title="x") for n, text in enumerate(texts)]
    with closing(Writer(folder)) as writer:
        writer.publish(corpus.publication(*documents))
    return Reader(folder).snapshot()


@pytest.mark.parametrize(
    ("query", "read", "found"),
    [
        ("クッキーを設定する", [("クッキー", "cookie")], 0),
        ("쿠키를 설정", [("쿠키를", "cookie")], 0),
        ("На чём играет Мелани?", [("мелани", "melanie")], 1),
        ("τι ρωτά ο Σωκράτης", [("σωκρατησ", "socrates")], 2),
    ],
)
def test_a_word_that_crosses_finds_what_it_names_and_that_is_said(
    notes: Snapshot, query: str, read: list[tuple[str, str]], found: int
) -> None:
    asked = LexicalQuery((Clause(query),))

    assert list(notes.known_words(asked).read_as) == read
    first = notes.lexical(asked, None, 5)[0].chunk_key
    assert notes.chunks([first])[first]["path"] == f"{found}.md"


@pytest.mark.parametrize("query", ["파라미터", "목록을", "ねこ", "日本語", "кот"])
def test_what_passages_hold_and_what_has_no_letters_for_it_is_read_as_it_stands(
    notes: Snapshot, query: str
) -> None:
    assert notes.known_words(LexicalQuery((Clause(query),))).read_as == ()


def test_what_is_in_quotes_is_meant_as_it_stands(notes: Snapshot) -> None:
    quoted = LexicalQuery((Clause("クッキー", phrase=True),))

    assert notes.known_words(quoted).read_as == ()
