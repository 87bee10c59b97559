"""Confidence says how good the best is, and takes no hit away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kb_app._search.channels import Channel, Proposals
from kb_app._search.confidence import confidence_of
from kb_app.shown import is_doubtful
from kb_app.testing import SearchWorld
from kb_core import wire
from kb_core.media import SearchMode
from kb_core.search import KnownWords, Scored, SearchQuery
from kb_search.fusion import Basis

E5 = "multilingual-e5-small.int8.1"
BOTH = Channel.LEXICAL | Channel.VECTOR
scores = st.lists(st.floats(0, 40), max_size=5).map(lambda found: sorted(found, reverse=True))
cosines = st.lists(st.floats(-1, 1), max_size=5).map(lambda found: sorted(found, reverse=True))


def proposals(lexical: list[float], vector: list[float], full: float = 10.0) -> Proposals:
    known = KnownWords(share=1.0, full_match=full)
    return Proposals(
        lexical=[Scored(n, score) for n, score in enumerate(lexical)],
        vector=[Scored(n, score) for n, score in enumerate(vector)],
        basis=Basis(known=known),
    )


@given(scores, cosines, st.sampled_from([Channel.LEXICAL, Channel.VECTOR, BOTH]))
def test_it_lies_between_0_and_1_whatever_was_found(
    lexical: list[float], vector: list[float], wanted: Channel
) -> None:
    for model in (E5, "another.none.1", None):
        told = confidence_of(proposals(lexical, vector), wanted, model)

        assert told is None or 0 <= told <= 1
        if not lexical and not vector:
            assert told == 0


@given(st.floats(0.1, 8), st.floats(0, 0.09), st.floats(0.1, 1.9))
def test_a_better_best_is_never_less_sure(best: float, cosine: float, more: float) -> None:
    weak = proposals([best, 0.05], [0.8 + cosine, 0.78])
    strong = proposals([best + more, 0.05], [0.8 + cosine + more / 100, 0.78])

    for wanted in (Channel.LEXICAL, Channel.VECTOR, BOTH):
        told = [confidence_of(one, wanted, E5) for one in (weak, strong)]
        assert (told[0] or 0) <= (told[1] or 0)


def test_meaning_is_only_judged_by_the_model_whose_cosines_are_known() -> None:
    found = proposals([9.0], [0.95, 0.8])

    assert confidence_of(found, Channel.VECTOR, "other.none.1") is None
    by_words = confidence_of(found, Channel.LEXICAL, E5)
    assert confidence_of(found, BOTH, "other.none.1") == by_words
    assert confidence_of(found, BOTH, E5) != by_words


def test_meaning_says_nothing_where_few_passages_have_a_vector() -> None:
    """The nearest of a few is near to nothing, which is no reason to doubt what words found."""
    found = proposals([9.0], [0.75, 0.74])
    few = replace(found, basis=replace(found.basis, coverage=0.1))

    assert confidence_of(few, BOTH, E5) == confidence_of(few, Channel.LEXICAL, E5)
    assert confidence_of(few, Channel.VECTOR, E5) is None
    assert confidence_of(found, BOTH, E5) != confidence_of(few, BOTH, E5)


@pytest.fixture
def world(tmp_path: Path) -> SearchWorld:
    made = SearchWorld(tmp_path)
    filler = [f"number {n} of many notes about the {n}th thing" for n in range(30)]
    made.write("walruses sleep on the ice in the long winter", *filler)
    return made


def test_what_is_answered_is_surer_than_what_is_not_and_no_hit_is_left_out(
    world: SearchWorld,
) -> None:
    query = SearchQuery(text="where do walruses sleep in winter", mode=SearchMode.LEXICAL)
    other = replace(query, text="which thing is about quantum chromodynamics of notes")
    answered, unanswered = (world.engine().search(each) for each in (query, other))

    assert answered.confidence is not None
    assert unanswered.confidence is not None
    assert answered.confidence > unanswered.confidence
    assert len(unanswered.hits) == 10
    assert wire.search_response(answered)["confidence"] == answered.confidence


def test_it_belongs_to_the_list_and_not_to_the_page(world: SearchWorld) -> None:
    query = SearchQuery(text="many notes", mode=SearchMode.LEXICAL, k=3)
    first = world.engine().search(query)
    second = world.engine().search(replace(query, cursor=first.next_cursor))

    assert first.confidence == second.confidence


def test_only_a_weak_best_is_doubtful_and_words_alone_have_a_line_of_their_own() -> None:
    told = (None, 0.0, 0.05, 0.07, 0.09, 0.2, 1.0)

    assert [is_doubtful(one, "fused") for one in told] == [False, True, True, *[False] * 4]
    assert [is_doubtful(one, "bm25") for one in told] == [False, *[True] * 3, *[False] * 3]
