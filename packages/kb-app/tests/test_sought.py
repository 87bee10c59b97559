"""What a text promises for a question before it is read: words as letters, by their rarity."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kb_app._ingest.sought import Look, wanted_words
from kb_core.search import Sampling

_LETTERS = st.text("abcdefg ", max_size=40)


def promises(question: str, *texts: tuple[str, str]) -> dict[str, float]:
    look = Look(wanted_words(question))
    for path, text in texts:
        look.at(path, path, text)
    return look.promises()


def best(question: str, *texts: str) -> str:
    promised = promises(question, *((str(at), text) for at, text in enumerate(texts)))
    return texts[int(max(promised, key=lambda name: promised[name]))]


def test_a_word_is_found_in_its_forms_accents_and_pairs_of_characters() -> None:
    assert wanted_words("caching retries") == [("cach",), ("retri",)]
    assert wanted_words("Übersetzung") == [("ubersetzung", "übersetzung")]
    assert wanted_words("数据库") == [("数据",), ("据库",)]
    assert wanted_words("maxRetries") == [("maxretri",), ("max",), ("retri",)]
    assert wanted_words("is it go") == [("is",), ("it",), ("go",)]
    assert wanted_words("?!") == []


def test_a_rare_word_promises_more_than_a_common_one() -> None:
    common = ["the otter"] * 9
    assert best("otter den", *common, "a den") == "a den"


def test_words_that_stand_together_promise_more_than_apart() -> None:
    far = f"lock {'x ' * 2_000} writer"
    assert best("writer lock", far, "the writer lock", "lock", "writer") == "the writer lock"


def test_a_path_says_what_a_text_is_of() -> None:
    promised = promises("lock", ("src/lock.py", "pass"), ("src/a.py", "pass"))
    assert promised["src/lock.py"] > promised["src/a.py"] == 0


@given(_LETTERS, st.lists(_LETTERS, min_size=1, max_size=5))
def test_a_text_promises_something_exactly_where_a_word_is_in_it(
    question: str, texts: list[str]
) -> None:
    words = wanted_words(question)
    promised = promises(question, *((str(at), text) for at, text in enumerate(texts)))

    for at, text in enumerate(texts):
        holds = any(begin in text for word in words for begin in word)
        assert (promised[str(at)] > 0) == holds


def test_what_was_chosen_by_a_word_says_how_much_rarer_that_is_in_all() -> None:
    look = Look(wanted_words("otter river"))
    for at in range(8):
        look.at(str(at), str(at), "an otter" if at < 2 else "a river")
    sampling = look.sampling({"2", "3", "4", "5"})

    assert sampling.passages == 2.0
    assert sampling.held("otter", 2) == 2
    assert sampling.held("rivers", 2) == 6
    assert sampling.held("beaver", 3) == 6
    assert Sampling().held("beaver", 3) == 3
