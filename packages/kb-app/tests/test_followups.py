"""Follow-ups: what a question lacks comes from the one before it, and from nowhere else."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st

from kb_app._ask.followups import standalone
from kb_app._ask.languages import is_courtesy

WEIGHTS = {"tower": 9.0, "Turm": 9.0, "pictures": 8.0}


def weight(word: str) -> float:
    """Say that a few words tell more than any other."""
    return WEIGHTS.get(word, 1.0)


def meant(before: str, question: str, name: str | None = None) -> str:
    return standalone(question, [(before, before)], weight, name) or question


def conversation(*questions: str) -> list[str]:
    """Return what each question means after those before it."""
    turns: list[tuple[str, str]] = []
    for question in questions:
        turns.append((question, standalone(question, turns, weight) or question))
    return [meant for _, meant in turns]


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("When was the tower built?", "And who painted it?", "who painted the tower?"),
        ("When was the tower built?", "Why?", "Why? (tower built)"),
        (
            "Wann wurde der Turm gebaut?",
            "Wer hat ihn gestrichen?",
            "Wer hat ihn gestrichen? (der Turm)",
        ),
        (
            "¿Cuándo se construyó la torre?",
            "¿Y quién la pintó?",
            "quién la pintó? (la torre)",
        ),
        ("Когда построили башню?", "А кто её покрасил?", "кто её покрасил? (построили башню)"),
        (
            "Wanneer is de toren gebouwd?",
            "En wie heeft hem geverfd?",
            "wie heeft hem geverfd? (de toren)",
        ),
        (
            "Quando foi construída a torre?",
            "E quem a pintou?",
            "quem a pintou? (a torre)",
        ),
        ("Kiedy zbudowano wieżę?", "A kto ją pomalował?", "kto ją pomalował? (zbudowano wieżę)"),
        ("Quand la tour fut construite ?", "Et pourquoi ?", "pourquoi ? (tour fut construite)"),
        ("Quando fu costruita la torre?", "E chi?", "chi? (costruita torre)"),
    ],
)
def test_what_is_referred_to_is_put_behind_the_question(
    before: str, question: str, expected: str
) -> None:
    assert meant(before, question) == expected


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("How many were sold in 2019?", "And in 2020?", "How many were sold in 2020?"),
        ("How many were sold in 2019?", "And 2020?", "How many were sold in 2020?"),
        (
            "How long may a worker take for one file?",
            "And for a page?",
            "How long may a worker take for a page?",
        ),
        ("How are pictures read?", "What about films?", "How are films read?"),
        ("When was the tower built?", "And the bridge?", "When was the bridge built?"),
        ("¿Cuándo se construyó la torre?", "¿Y el puente?", "Cuándo se construyó el puente?"),
        (
            "Wie lange ruht der Teig?",
            "Und im Kühlschrank?",
            "Wie lange ruht der Teig im Kühlschrank?",
        ),
        ("Wann wurde der Turm gebaut?", "Und die Brücke?", "Wann wurde die Brücke gebaut?"),
        ("Wann hat Nadja Geburtstag?", "Und Tom?", "Wann hat Tom Geburtstag?"),
        ("Wie hoch ist der Beitrag?", "Und ab 2027?", "Wie hoch ist der Beitrag ab 2027?"),
        ("Combien coûte le toit ?", "Et l'ascenseur ?", "Combien coûte l'ascenseur?"),
        ("Where is Ann's dog from?", "And what is its name?", "what is Ann's dog's name?"),
        (
            "Wie hoch ist die Miete von Frau Perrin?",
            "Und Frau Huber?",
            "Wie hoch ist die Miete von Frau Huber?",
        ),
        ("Wann hat Frau Perrin Geburtstag?", "Und Tom?", "Wann hat Tom Geburtstag?"),
        ("When is Nadja's birthday?", "And Tom's?", "When is Tom's birthday?"),
        (
            "¿Cuándo es el cumpleaños de Nadja?",
            "¿Y Tom?",
            "Cuándo es el cumpleaños de Tom?",
        ),
        (
            "Quel est le loyer de Mme Perrin ?",
            "Et M. Duvernay ?",
            "Quel est le loyer de M. Duvernay?",
        ),
    ],
)
def test_another_thing_takes_the_place_of_the_one_before(
    before: str, question: str, expected: str
) -> None:
    assert meant(before, question).lstrip("¿") == expected


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("塔はいつ建てられましたか", "それは何でできていますか", "塔は何でできていますか"),
        ("塔はいつ建てられましたか", "その高さはどのくらいですか", "塔の高さはどのくらいですか"),
        ("탑은 언제 지어졌나요", "그것은 누가 칠했나요", "탑은 누가 칠했나요"),
        ("铁塔是什么时候建的", "它有多高?", "它有多高? (铁塔是什么时候建的)"),
        ("法国的首都是什么", "那德国呢？", "德国 (法国的首都是什么)"),
    ],
)
def test_languages_without_articles_have_rules_of_their_own(
    before: str, question: str, expected: str
) -> None:
    assert meant(before, question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How large may a query be?",
        "Is there a limit for the size of a file?",
        "Which settings are there for workers?",
        "Wie groß darf eine Anfrage sein?",
        "写锁保存了什么内容",
        "設定ファイルはどこにありますか",
    ],
)
def test_a_question_that_stands_alone_stays_as_it_is(question: str) -> None:
    assert meant("When was the tower built?", question) == question


@pytest.mark.parametrize(
    ("question", "stands_alone"),
    [
        ("And who leads the youth group?", True),
        ("Und wer leitet die Jugend?", True),
        ("et qui dirige le laboratoire ?", True),
        ("And what is the price in May?", False),
        ("And who leads it?", False),
        ("And the youth group?", False),
    ],
)
def test_a_question_that_names_its_thing_stands_alone_after_and(
    question: str, *, stands_alone: bool
) -> None:
    assert (meant("Who leads the winter training?", question) == question) is stands_alone


@pytest.mark.parametrize(
    "question", ["Where is the printer?", "How much is a visa?", "Wo ist der Drucker?"]
)
def test_a_question_that_is_asked_again_stays_as_it_is(question: str) -> None:
    assert conversation(question, question, question.lower()) == [
        question,
        question,
        question.lower(),
    ]


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("Danke!", True),
        ("ok, thank you very much :)", True),
        ("merci beaucoup", True),
        ("muchas gracias por tu ayuda", True),
        ("ありがとうございました", True),
        ("谢谢你", True),
        ("감사합니다", True),
        ("Danke, und wann?", False),
        ("when is Thanksgiving", False),
        ("who is Dank", False),
        ("ok", True),
        ("alles klar!", True),
        ("Hello", True),
        ("了解です", True),
        ("so much?", False),
        ("okra", False),
        ("danke" * 40 + " x", False),
        ("", False),
    ],
)
def test_courtesies_are_known(text: str, *, is_so: bool) -> None:
    assert is_courtesy(text) is is_so


def test_the_name_that_was_answered_goes_along_with_who_it_stands_for() -> None:
    she = meant("Who is the landlady?", "When did she move in?", "Martha Keller")
    it = meant("Who built the tower?", "When was it built?", "Martha Keller")

    assert she == "When did she move in? (the landlady Martha Keller)"
    assert "Martha" not in it


@pytest.mark.parametrize(
    "questions",
    [
        {
            "what does the writer lock do": "what does the writer lock do",
            "how long do commands wait for it?": "how long do commands wait for the writer lock?",
            "where is it kept?": "where is the writer lock kept?",
        },
        {
            "what is a snapshot": "what is a snapshot",
            "how does a reader get one?": "how does a reader get a snapshot?",
            "what happens to it when files go?": "what happens to a snapshot when files go?",
        },
        {
            "what does json.dumps do": "what does json.dumps do",
            "what does its sort_keys do?": "what does json.dumps's sort_keys do?",
            "and json.loads?": "what does json.loads's sort_keys do?",
        },
        {
            "what is the default number of hits": "what is the default number of hits",
            "how do I change it?": "how do I change the default number of hits?",
            "what is the maximum?": "what is the maximum? (the default number of hits)",
        },
        {
            "how long may a worker take for one file": "how long may a worker take for one file",
            "what happens after that?": "what happens after that? (worker take file)",
            "and how many workers are there?": "how many workers are there? (a worker)",
        },
        {
            "when was the tower built": "when was the tower built",
            "is it possible to climb the stairs?": "is it possible to climb the stairs?",
        },
    ],
)
def test_the_topic_stays_for_as_long_as_questions_go_on_about_it(
    questions: dict[str, str],
) -> None:
    assert conversation(*questions) == list(questions.values())


def test_a_question_that_is_carried_on_and_on_does_not_grow() -> None:
    asked = "When was the old iron tower on the northern bank of the river built by the city?"
    for _ in range(30):
        asked = meant(asked, "And why was it that long?")

    assert len(asked) < 120


@given(st.text(max_size=80), st.text(max_size=80))
@example("and the", "the a of")
@example("???", "(")
@example("\\1 and \\g<0>?", "and \\1")
def test_nothing_is_made_up(question: str, before: str) -> None:
    made = standalone(question, [(before, before)], weight)

    if made is not None:
        known = set(re.findall(r"\w", question + before + "の"))
        assert set(re.findall(r"\w", made)) <= known
