"""Questions within questions: which phrase can be asked for, and what may be its answer."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ask.nesting import Nesting, has_kind, mentions, names_in, nestings, says


def told(question: str) -> list[tuple[str, str]]:
    return [(each.inner, each.outer("X")) for each in nestings(question)]


@pytest.mark.parametrize(
    ("question", "inner", "outer"),
    [
        (
            "who wrote the library that Kestrel uses?",
            "the library that Kestrel uses",
            "who wrote X",
        ),
        (
            "In which year was the founder of Brandal Works born?",
            "the founder of Brandal Works",
            "In which year was X born",
        ),
        (
            "what did the composer of The Glass Orchard study in Lugano",
            "the composer of The Glass Orchard",
            "what did X study in Lugano",
        ),
        (
            "what is the home port of the captain of the Halcyon",
            "the captain of the Halcyon",
            "what is the home port of X",
        ),
        (
            "on which island did the engineer live who designed the lighthouse at Skarn Point",
            "the engineer who designed the lighthouse at Skarn Point",
            "on which island did X live",
        ),
        ("what does the Halcyon's commander keep", "the Halcyon's commander", "what does X keep"),
        (
            "wer hat die Bibliothek geschrieben, die Wortfink benutzt",
            "die Bibliothek, die Wortfink benutzt",
            "wer hat X geschrieben",
        ),
        (
            "wie lang ist der Fluss, an dem Lehenfels liegt",
            "der Fluss, an dem Lehenfels liegt",
            "wie lang ist X",
        ),
        ("dónde nació el fundador de Montalvo", "el fundador de Montalvo", "dónde nació X"),
        ("qui dirige l'équipe du moulin d'Arcy", "l'équipe du moulin d'Arcy", "qui dirige X"),
        (
            "quand le traducteur du roman est-il mort",
            "le traducteur du roman",
            "quand X est-il mort",
        ),
        (
            "ハヤブサが使っているライブラリを書いたのは誰ですか",
            "ハヤブサが使っているライブラリ",
            "Xを書いたのは誰ですか",
        ),
        ("松風社の設立者は何年に生まれましたか", "松風社の設立者", "Xは何年に生まれましたか"),
        ("红隼使用的程序库是谁编写的？", "红隼使用的程序库", "X是谁编写的"),
        ("谁编写了红隼使用的程序库？", "红隼使用的程序库", "谁编写了X"),
    ],
)
def test_a_phrase_is_asked_for_and_leaves_a_question(question: str, inner: str, outer: str) -> None:
    assert told(question)[0] == (inner, outer)


@pytest.mark.parametrize(
    "question",
    [
        "who wrote Pellucid",
        "what is the capital of France",
        "who is the founder of Brandal Works",
        "how do I remove a directory tree",
        "the west side of Fresno is the center of which community",
        "who proposed the origin of hills, what was his name",
        "was ist die Hauptstadt von Frankreich",
        "松風社を設立したのは誰ですか",
        "歌剧《沉默的牧人》是谁谱写的？",
        "¿?",
        "",
    ],
)
def test_a_question_of_one_fact_has_no_phrase(question: str) -> None:
    assert told(question) == []


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["who", "the", "of", "that", "is", "X", "der", "von"])).map(" ".join)
    | st.lists(st.sampled_from(["X", "的", "の", "は", "を", "是", "谁"])).map("".join)
)
def test_any_text_is_cut_into_parts_of_itself(question: str) -> None:
    for each in nestings(question):
        assert each.head in each.inner
        assert each.rest
        assert "X" in each.outer("X")


PHRASE = Nesting("the library that Kestrel uses", "who wrote ", "", "library")


def test_names_come_nearest_to_the_kind_of_thing_and_none_of_the_question() -> None:
    sentence = "In Bergen the program Kestrel draws with the library Pellucid."

    assert names_in(sentence, PHRASE, "who wrote the library that Kestrel uses") == [
        "Pellucid",
        "Bergen",
    ]
    assert names_in("it draws nothing.", PHRASE, "who wrote it") == []


@pytest.mark.parametrize(
    ("sentence", "question", "name"),
    [
        ("时钟厂松风社由周启明创立。", "松风社的创立者是哪一年出生的？", "周启明"),
        (
            "松風社は、桐山源三によって設立された。",
            "松風社の設立者はどこで生まれましたか",
            "桐山源三",
        ),
        (
            "地図はライブラリ「タイル堂」を使う。",
            "地図が使うライブラリを書いたのは誰ですか",
            "タイル堂",
        ),
    ],
)
def test_names_are_found_where_words_are_not_parted(
    sentence: str, question: str, name: str
) -> None:
    assert names_in(sentence, nestings(question)[0], question)[0] == name


def test_what_is_asked_has_to_be_said_with_its_number_or_date() -> None:
    assert says("Karen Tveit was born in 1902.", "in which year was born", "en")
    assert not says("Karen Tveit was born in a mill.", "in which year was born", "en")
    assert not says("Kestrel draws with Pellucid.", "who wrote", "en")
    assert not says("松風社は桐山源三が設立した。", "はどこで生まれましたか", "ja")
    assert has_kind("She retired at thirty.", "at what age did retire") is True
    assert has_kind("She retired.", "how old was she") is False


def test_a_name_is_mentioned_by_most_of_its_words() -> None:
    assert mentions("Tolle, Hedwig, of Sandau", "Ingenieurin Hedwig Tolle")
    assert not mentions("Hedwig of Sandau", "Hedwig Tolle")
    assert mentions("莲溪河全长163公里", "莲溪河畔")
    assert not mentions("anything", "")
