"""Typing errors: a word that no passage holds is read as the one beside it, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kb_app.testing import SearchWorld
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery, SearchResponse
from kb_search.spelling import neighbours

TEXTS = {
    "harbour.md": "The harbour of the ferries is closed in winter.",
    "lantern.md": "A lantern hangs in the harbour, and another at the orchard.",
    "code.md": "def get_command(ctx): return CommandCollection(ctx)",
    "gate.md": "Гавань закрыта зимой. Ο φανός του λιμανιού.",
    "case.md": "Ticket 55123 waits.",
    "air.md": "Less CO2 at home.",
}


@pytest.fixture
def world(tmp_path: Path) -> SearchWorld:
    """Five notes."""
    world = SearchWorld(tmp_path)
    world.put(*(world.corpus.document(path, text) for path, text in TEXTS.items()))
    return world


def asked(world: SearchWorld, text: str, *globs: str, mode: str = "lexical") -> SearchResponse:
    filters = SearchFilters(path_glob=globs)
    query = SearchQuery(text=text, mode=SearchMode(mode), filters=filters)
    return world.engine().search(query)


def found(world: SearchWorld, text: str, *globs: str) -> set[str]:
    return {hit.doc_path for hit in asked(world, text, *globs).hits}


@pytest.mark.parametrize(
    ("typed", "meant", "paths"),
    [
        ("harbuor", "harbour", {"harbour.md", "lantern.md"}),
        ("harbbour", "harbour", {"harbour.md", "lantern.md"}),
        ("harour", "harbour", {"harbour.md", "lantern.md"}),
        ("hardour", "harbour", {"harbour.md", "lantern.md"}),
        ("orchardd", "orchard", {"lantern.md"}),
        ("ORCHADR", "orchard", {"lantern.md"}),
        ("wiats", "waits", {"case.md"}),
        ("haangs", "hangs", {"lantern.md"}),
        ("closd", "closed", {"harbour.md"}),
        ("get_comand", "get_command", {"code.md"}),
        ("CommandColection", "commandcollection", {"code.md"}),
        ("закрта", "закрыта", {"gate.md"}),
        ("φαονς", "φανοσ", {"gate.md"}),
        ("Гaвaнь", "гавань", {"gate.md"}),
        ("lаntеrns", "lanterns", {"lantern.md"}),
        ("ТIСКЕТ", "ticket", {"case.md"}),
        ("СО2", "co2", {"air.md"}),
    ],
)
def test_one_typing_error_is_read_and_said(
    world: SearchWorld, typed: str, meant: str, paths: set[str]
) -> None:
    response = asked(world, typed)

    assert {hit.doc_path for hit in response.hits} == paths
    said = f"no passage holds {typed.casefold()!r}; read as {meant!r}"
    assert response.warnings == (said,)


@pytest.mark.parametrize(("mode", "told"), [("hybrid", 1), ("vector", 0)])
def test_it_is_said_where_words_were_looked_for(world: SearchWorld, mode: str, told: int) -> None:
    assert len(asked(world, "harbuor", mode=mode).warnings) == told


def test_the_word_that_is_read_is_where_the_snippet_is(world: SearchWorld) -> None:
    world.put(world.corpus.document("long.md", "Nothing here. " * 40 + "A marmalade, at the end."))

    (hit,) = asked(world, "marmelade").hits

    assert "marmalade" in hit.snippet


@pytest.mark.parametrize(
    "text",
    [
        '"harbuor"',
        "lantern -harbuor",
        "55132",
        "aharbour",
        "lnatern harbuor feries clsoed",
        "zebra",
        "harb",
        "hanks",
        "ハーバー",
    ],
)
def test_what_is_meant_as_it_stands_is_not_read_otherwise(world: SearchWorld, text: str) -> None:
    """Quotes, what is left out, numbers, first letters, another language, short words.

    Of five letters, one that is wrong makes another word.
    """
    assert not any("read as" in warning for warning in asked(world, text).warnings)


@pytest.mark.parametrize("asked_with", ["where", "WHOSE", "würde", "puede"])
def test_a_word_that_people_ask_with_is_right_as_it_is(tmp_path: Path, asked_with: str) -> None:
    world = SearchWorld(tmp_path)
    texts = ["They were closed.", "The whole shed.", "Die Würze.", "El pueda."]
    world.put(*(world.corpus.document(f"{n}.md", text) for n, text in enumerate(texts)))

    response = asked(world, asked_with)

    assert (response.hits, response.warnings) == ((), ())


def test_a_word_that_some_passage_holds_is_not_read_otherwise(world: SearchWorld) -> None:
    """Whatever the filter, and until that passage goes."""
    world.put(world.corpus.document("typo.md", "An orchadr."))
    assert found(world, "orchadr") == {"typo.md"}
    assert found(world, "orchadr", "l*.md") == set()

    world.put(removed=["typo.md"])

    assert found(world, "orchadr") == {"lantern.md"}


def test_the_word_of_most_passages_is_read(world: SearchWorld) -> None:
    for number in range(3):
        world.put(world.corpus.document(f"{number}.md", "A cotton thread."))
    world.put(world.corpus.document("other.md", "A threat."))

    assert found(world, "threaf") == {"0.md", "1.md", "2.md"}


def test_a_word_that_is_typed_right_outranks_one_that_is_read(world: SearchWorld) -> None:
    world.put(world.corpus.document("wharf.md", "The wharf."))

    response = asked(world, "wharf orchadr")

    assert [hit.doc_path for hit in response.hits] == ["wharf.md", "lantern.md"]


letters = st.characters(min_codepoint=0x61, max_codepoint=0x7A)


@given(st.text(letters, min_size=5, max_size=12), st.data())
def test_what_an_error_makes_of_a_word_leads_back_to_it(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word) - 1))
    letter = data.draw(letters)
    wrong = data.draw(
        st.sampled_from(
            [
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 :],
                word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] if at > 1 else word,
            ]
        )
    )
    around = set(neighbours(wrong))

    is_short = len(wrong) < 5 or len(word) == len(wrong) == 5
    assert word in around or word == wrong or is_short
    assert wrong not in around
    assert all(other[0] == wrong[0] for other in around)
