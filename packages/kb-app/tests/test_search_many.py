"""Several searches in one call: the same answers, in order, each failure on its own."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app._search.bulk import EmbeddingAhead, search_many
from kb_app._search.engine import Engine
from kb_app.testing import SearchWorld, random_documents
from kb_core import wire
from kb_core.errors import InvalidInput, KbError, ModelMissing, NotIndexed, StaleCursor
from kb_core.media import SearchMode
from kb_core.search import (
    MAX_QUERIES,
    MAX_TRACED,
    Outcome,
    SearchFilters,
    SearchQuery,
    SearchResponse,
)

TEXTS = ("alpha", "how is the searching index locked", '"quick brown" fox', "검색 -fox", "zzz")

queries = st.builds(
    SearchQuery,
    text=st.sampled_from(TEXTS),
    mode=st.sampled_from(list(SearchMode)),
    k=st.integers(1, 12),
    snippet_chars=st.sampled_from((60, 220)),
    max_tokens=st.sampled_from((None, None, 10, 400, 3000)),
    trace=st.booleans(),
    filters=st.builds(
        SearchFilters,
        tag=st.sampled_from(((), ("red",))),
        media=st.sampled_from(((), ("md",), ("nothing",))),
        since=st.sampled_from((None, "2021-01-01", "soon")),
    ),
    cursor=st.sampled_from((None, None, None, "bad")),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SearchWorld:
    made = SearchWorld(tmp_path_factory.mktemp("world"))
    made.put(*random_documents(made.corpus, 7, 40))
    return made


def one_by_one(engine: Engine, query: SearchQuery) -> Outcome:
    try:
        return engine.search(query)
    except KbError as error:
        return error


def bytes_of(outcome: Outcome) -> str:
    """Return an outcome as it is sent, without the times of its trace (ruling R12)."""
    if isinstance(outcome, KbError):
        return wire.dumps(wire.error(outcome))
    sent = wire.search_response(outcome)
    sent.get("trace", {}).pop("timing", None)
    return wire.dumps(sent)


@given(st.lists(queries, max_size=8))
@settings(max_examples=40)
def test_an_item_is_byte_for_byte_the_single_search(
    world: SearchWorld, asked: list[SearchQuery]
) -> None:
    together = list(search_many(world.engine(), asked))
    single = [one_by_one(world.engine(), query) for query in asked]

    assert list(map(bytes_of, together)) == list(map(bytes_of, single))


def test_a_page_continues_within_a_call_of_several(world: SearchWorld) -> None:
    first = world.engine().search(SearchQuery(text="alpha", k=2))
    second = SearchQuery(text="alpha", k=2, cursor=first.next_cursor)

    other, page = search_many(world.engine(), [SearchQuery(text="beta"), second])

    assert isinstance(other, SearchResponse)
    assert isinstance(page, SearchResponse)
    assert [hit.rank for hit in page.hits] == [3, 4]


def test_a_failure_stays_with_its_query_and_keeps_its_code(world: SearchWorld) -> None:
    asked: list[SearchQuery | KbError] = [
        SearchQuery(text="alpha"),
        InvalidInput("no query"),
        SearchQuery(text="alpha", filters=SearchFilters(trust_min="best")),
        SearchQuery(text="alpha", cursor="bad"),
        SearchQuery(text="beta"),
    ]

    found = list(search_many(world.engine(), asked))

    assert [type(one) for one in found] == [
        SearchResponse,
        InvalidInput,
        InvalidInput,
        StaleCursor,
        SearchResponse,
    ]
    assert found[1] is asked[1]


def test_one_query_too_many_is_refused_before_anything_is_asked(world: SearchWorld) -> None:
    asked = [SearchQuery(text="alpha")] * (MAX_QUERIES + 1)

    assert len(list(search_many(world.engine(), asked[1:]))) == MAX_QUERIES
    with pytest.raises(InvalidInput, match="queries: max 100 items"):
        search_many(world.engine(), asked)


def test_the_eleventh_trace_is_refused_and_its_query_alone(world: SearchWorld) -> None:
    """Ruling R29."""
    traced, plain = SearchQuery(text="alpha", trace=True), SearchQuery(text="alpha")

    found = list(search_many(world.engine(), [plain, *[traced] * (MAX_TRACED + 1), plain]))

    failed = [at for at, one in enumerate(found) if isinstance(one, KbError)]
    assert failed == [MAX_TRACED + 1]
    assert all(isinstance(one, SearchResponse) and one.trace for one in found[1:-2])


def test_each_text_is_embedded_once_and_alone(world: SearchWorld) -> None:
    """Ruling R12: one call for all queries, each text one run of the model."""
    embedded: list[str] = []
    engine = world.engine()
    embed = engine.embed

    def counted(text: str) -> bytes:
        embedded.append(text)
        return embed(text)

    engine.embed = counted
    modes = (SearchMode.HYBRID, SearchMode.LEXICAL, SearchMode.VECTOR)
    asked = [SearchQuery(text=text, mode=mode) for text in ("one", "two") for mode in modes]
    lexical = SearchQuery(text="three", mode=SearchMode.LEXICAL)

    list(search_many(engine, [*asked, lexical, InvalidInput("none")]))

    assert embedded == ["one", "two"]
    assert engine.embed is counted


def test_nothing_is_embedded_where_there_are_no_vectors(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.write("alpha")
    engine = world.engine(model_key="another")
    engine.embed = lambda text: pytest.fail(f"{text} was embedded")

    found = list(search_many(engine, [SearchQuery(text="a"), SearchQuery(text="b")]))

    assert [bool(one.degraded) for one in found if isinstance(one, SearchResponse)] == [True] * 2


def test_a_model_that_is_missing_is_looked_for_once_and_words_still_answer(
    world: SearchWorld,
) -> None:
    tried: list[str] = []

    def missing(text: str) -> bytes:
        tried.append(text)
        raise ModelMissing("no weights")

    engine = world.engine()
    engine.embed = missing

    found = list(search_many(engine, [SearchQuery(text=text) for text in TEXTS]))

    assert len(tried) == 1
    assert all(isinstance(one, SearchResponse) for one in found)
    assert all(
        wire.search_response(one)["degraded"] for one in found if not isinstance(one, KbError)
    )


def test_the_first_answer_does_not_wait_for_the_last_vector() -> None:
    released = threading.Event()

    def embed(text: str) -> bytes:
        if text == "second":
            released.wait()
        return text.encode()

    with EmbeddingAhead(embed, ["first", "second"]) as ahead:
        assert ahead("first") == b"first"
        released.set()
        assert ahead("second") == b"second"


def test_who_stops_listening_stops_the_work(world: SearchWorld) -> None:
    embedded: list[str] = []
    engine = world.engine()
    embed = engine.embed
    may_go_on = threading.Event()

    def counted(text: str) -> bytes:
        if embedded:
            may_go_on.wait()
        embedded.append(text)
        return embed(text)

    engine.embed = counted
    found = search_many(engine, [SearchQuery(text=f"word {n}") for n in range(50)])
    next(found)
    threading.Timer(0.05, may_go_on.set).start()
    found.close()

    assert len(embedded) <= 2
    assert not [one for one in threading.enumerate() if one.name == "kebab-queries"]


def test_without_an_index_the_call_fails_as_a_whole_and_at_once(tmp_path: Path) -> None:
    with KnowledgeBase.open(Config.inside(tmp_path)) as kb:
        with pytest.raises(NotIndexed):
            kb.search_many([SearchQuery(text="a")])
        with pytest.raises(NotIndexed):
            kb.search_aggregated([SearchQuery(text="a")])
        with pytest.raises(NotIndexed):
            kb.codebase_search({"query": "a"})


def test_no_queries_are_answered_by_nothing(world: SearchWorld) -> None:
    assert list(search_many(world.engine(), [])) == []


def test_a_query_s_own_settings_do_not_leak_into_the_next(world: SearchWorld) -> None:
    plain = SearchQuery(text="alpha")
    narrow = dataclasses.replace(plain, filters=SearchFilters(tag=("red",)), max_tokens=900)
    alone: Mapping[str, object] = wire.search_response(world.engine().search(plain))

    first, _, last = search_many(world.engine(), [plain, narrow, plain])

    for one in (first, last):
        assert isinstance(one, SearchResponse)
        assert wire.search_response(one) == alone
