"""Several queries, one list: through the engine, with its budget and its failures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._search.aggregate import search_aggregated
from kb_app._search.engine import Engine
from kb_app.testing import SearchWorld, random_documents
from kb_core import wire
from kb_core.errors import InvalidInput, KbError
from kb_core.media import SearchMode
from kb_core.search import AggregatedResponse, SearchFilters, SearchQuery, SearchResponse

ALPHA, BETA = SearchQuery(text="alpha"), SearchQuery(text="beta search")
TEXTS = ("alpha", "beta search", "parseHTTPRequest lock", "검색", "zzz")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    world = SearchWorld(tmp_path_factory.mktemp("world"))
    world.put(*random_documents(world.corpus, 11, 60))
    return world.engine()


def ask(
    engine: Engine,
    *queries: SearchQuery | KbError,
    k: int | None = None,
    max_tokens: int | None = None,
    asked: Sequence[Mapping[str, Any]] | None = None,
) -> AggregatedResponse:
    return search_aggregated(engine, queries, k=k, max_tokens=max_tokens, asked=asked)


def lexical(text: str, **fields: Any) -> SearchQuery:  # noqa: ANN401 - of SearchQuery
    return SearchQuery(text=text, mode=SearchMode.LEXICAL, **fields)


def test_one_query_gives_its_own_list_with_its_own_scores(engine: Engine) -> None:
    alone, found = engine.search(ALPHA), ask(engine, ALPHA)

    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in alone.hits]
    assert [hit.score for hit in found.hits] == [hit.score for hit in alone.hits]
    assert {hit.score_kind for hit in found.hits} == {"aggregated"}
    assert {hit.matched_queries for hit in found.hits} == {(0,)}
    assert [hit.base_score for hit in found.hits] == [hit.score for hit in found.hits]


@given(
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True),
    mode=st.sampled_from(list(SearchMode)),
)
@settings(max_examples=40)
def test_scores_are_the_best_of_the_single_searches_and_a_bonus(
    engine: Engine, texts: list[str], mode: SearchMode
) -> None:
    queries = [SearchQuery(text=text, mode=mode, k=100) for text in texts]
    found = ask(engine, *queries)

    best: dict[str, float] = {}
    found_by: dict[str, list[int]] = {}
    for at, query in enumerate(queries):
        hits = engine.search(query).hits
        top = hits[0].score if hits and mode is SearchMode.LEXICAL else 1.0
        low = min((hit.score for hit in hits), default=0.0) if mode is SearchMode.VECTOR else 0.0
        least = low + 0.5 * (hits[0].score - low) if hits else 0.0
        for hit in hits:
            best[hit.chunk_id] = max(best.get(hit.chunk_id, -1.0), hit.score / top)
            if hit.score >= least:
                found_by.setdefault(hit.chunk_id, []).append(at)
    assert len(found.hits) == min(100, len(best))
    for hit in found.hits:
        assert hit.base_score == pytest.approx(best[hit.chunk_id])
        matched = list(hit.matched_queries or ())
        assert set(found_by.get(hit.chunk_id, ())) <= set(matched)
        assert len(matched) <= max(1, len(found_by.get(hit.chunk_id, ())) + 1)
        bonus = 0.05 * (len(matched) - 1) * abs(best[hit.chunk_id])
        assert hit.score == pytest.approx(best[hit.chunk_id] + bonus)
    scores = [round(hit.score, 6) for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_the_order_of_the_queries_does_not_matter(engine: Engine) -> None:
    there, back = ask(engine, ALPHA, BETA), ask(engine, BETA, ALPHA)

    assert [bare(hit) for hit in there.hits] == [bare(hit) for hit in back.hits]
    assert [swapped(hit.matched_queries) for hit in there.hits] == [
        hit.matched_queries for hit in back.hits
    ]


def bare(hit: Any) -> Any:  # noqa: ANN401 - a Hit
    return dataclasses.replace(hit, matched_queries=None)


def swapped(positions: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(sorted(1 - at for at in positions or ()))


def test_the_same_query_twice_or_spelled_otherwise_is_no_second_match(engine: Engine) -> None:
    again = SearchQuery(text="  Alpha ")

    once, twice = ask(engine, ALPHA, BETA), ask(engine, ALPHA, BETA, ALPHA, again)

    assert [hit.score for hit in twice.hits] == [hit.score for hit in once.hits]
    assert {0, 2, 3} <= set(twice.hits[0].matched_queries or ()) or 1 in (
        twice.hits[0].matched_queries or ()
    )


def test_the_same_words_under_another_filter_are_another_query(engine: Engine) -> None:
    red = dataclasses.replace(ALPHA, filters=SearchFilters(tag=("red",)))

    found = ask(engine, ALPHA, red, k=100)

    both = [hit for hit in found.hits if hit.matched_queries == (0, 1)]
    assert both
    assert all(hit.score > (hit.base_score or 0) for hit in both)


def test_a_failing_query_leaves_the_list_of_the_others(engine: Engine) -> None:
    broken = dataclasses.replace(BETA, filters=SearchFilters(since="soon"))

    found = ask(engine, InvalidInput("no query"), ALPHA, broken)

    assert [type(one) for one in found.outcomes] == [InvalidInput, SearchResponse, InvalidInput]
    assert [hit.chunk_id for hit in found.hits] == [
        hit.chunk_id for hit in engine.search(ALPHA).hits
    ]
    assert {hit.matched_queries for hit in found.hits} == {(1,)}


def test_responses_have_no_hits_and_say_the_rest(engine: Engine) -> None:
    """Ruling R19."""
    traced = dataclasses.replace(
        ALPHA, trace=True, deadline_ms=60_000, filters=SearchFilters(media=("md", "odd"))
    )

    (response,) = ask(engine, traced).outcomes

    assert isinstance(response, SearchResponse)
    single = engine.search(traced)
    assert (response.hits, response.next_cursor, response.truncated) == ((), None, False)
    assert response.warnings == single.warnings
    assert response.stages == single.stages
    assert response.corpus_revision == single.corpus_revision
    assert response.trace is not None
    assert single.trace is not None
    assert response.trace.fused == single.trace.fused


def test_the_list_is_as_long_as_the_longest_asked_for(engine: Engine) -> None:
    short, long = dataclasses.replace(ALPHA, k=2), dataclasses.replace(BETA, k=7)

    assert len(ask(engine, short, long).hits) == 7
    assert len(ask(engine, short, long, k=30).hits) == 30
    assert [hit.rank for hit in ask(engine, short, long).hits] == list(range(1, 8))


def test_a_hit_shows_the_words_of_the_query_that_ranks_it_best(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    filler = "nothing of interest here " * 20
    world.write(f"walrus {filler} zebra", f"walrus walrus {filler}", f"{filler} zebra zebra")

    found = ask(
        world.engine(), lexical("walrus", snippet_chars=60), lexical("zebra", snippet_chars=60)
    )

    shown = {hit.doc_path: hit.snippet for hit in found.hits}
    assert "walrus" in shown["1.md"]
    assert "zebra" in shown["2.md"]
    assert all(len(snippet) <= 60 for snippet in shown.values())


@pytest.mark.parametrize(
    ("fields", "name"), [({"max_tokens": 500}, "max_tokens"), ({"cursor": "c"}, "cursor")]
)
def test_a_query_has_no_budget_and_no_cursor_of_its_own(
    engine: Engine, fields: dict[str, Any], name: str
) -> None:
    first, second = ask(engine, dataclasses.replace(ALPHA, **fields), BETA).outcomes

    assert isinstance(first, InvalidInput)
    assert first.details["field"] == name
    assert isinstance(second, SearchResponse)


@given(
    max_tokens=st.integers(1, 6000),
    k=st.sampled_from((None, 3, 40)),
    traced=st.booleans(),
    snippet_chars=st.sampled_from((60, 300)),
)
@settings(max_examples=30)
def test_one_budget_holds_the_whole_object(
    engine: Engine, max_tokens: int, k: int | None, traced: bool, snippet_chars: int
) -> None:
    """Ruling R15: the compact JSON of all of it, without traces, as it is sent."""
    shape = {"trace": traced, "snippet_chars": snippet_chars}
    queries = [dataclasses.replace(one, **shape) for one in (ALPHA, BETA)]  # type: ignore[arg-type]
    asked: list[dict[str, Any]] = [{"query": "alpha", "lang": []}, {"query": "beta search"}]

    try:
        found = ask(engine, *queries, k=k, max_tokens=max_tokens, asked=asked)
    except InvalidInput as error:
        least = int(str(error.details["min_tokens"]))
        assert least > max_tokens
        found = ask(engine, *queries, k=k, max_tokens=least, asked=asked)
        assert (len(found.hits), found.truncated) == (1, True)
        max_tokens = least

    sent = wire.aggregated_search_response(asked, found)
    for item in sent["results"]:
        assert item["response"] is not None
        assert ("trace" in item["response"]) == traced
        item["response"].pop("trace", None)
    assert len(wire.dumps(sent)) <= 4 * max_tokens
    whole = ask(engine, *queries, k=k)
    assert [hit.chunk_id for hit in found.hits] == [
        hit.chunk_id for hit in whole.hits[: len(found.hits)]
    ]
    assert found.truncated == (found.hits != whole.hits)
    if found.omitted is not None:
        assert found.omitted["hits"] == len(whole.hits) - len(found.hits)


def test_too_many_queries_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="queries: max 100 items"):
        ask(engine, *[ALPHA] * 101)


def test_no_queries_make_an_empty_list(engine: Engine) -> None:
    assert ask(engine) == AggregatedResponse(outcomes=(), hits=())
