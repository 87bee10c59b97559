"""The laws of searching: filters restrict, fusion fuses, pages continue, budgets hold."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._search.engine import Engine
from kb_app._search.query import parse_query
from kb_app.testing import SearchWorld, keys_read, random_documents
from kb_core import wire
from kb_core.errors import InvalidInput, StaleCursor
from kb_core.media import SearchMode
from kb_core.search import Hit, Scored, SearchFilters, SearchQuery, SearchResponse, Trace
from kb_search.fusion import Basis, corroborated, fuse, is_lookup

SEEDS = (1, 2, 3)

texts = st.sampled_from(
    (
        "alpha",
        "how is the searching index locked by a writer",
        "parseHTTPRequest",
        "dec-0054 한국",
        '"quick brown" fox',
        "검색 index -fox",
        "the of a",
        "title:1 reader",
    )
)
modes = st.sampled_from(list(SearchMode))
filters = st.builds(
    SearchFilters,
    tag=st.sampled_from(((), ("red",), ("red", "blue"))),
    media=st.sampled_from(((), (), ("md",), ("code", "text"))),
    path_glob=st.sampled_from(((), (), ("docs/**",), ("*.py", "src/*"))),
    trust_min=st.sampled_from((None, None, "primary", "secondary")),
    since=st.sampled_from((None, None, "2021-01-01")),
    until=st.sampled_from((None, None, "2021-12-31")),
    repo=st.sampled_from(((), (), ("kebab",))),
    source=st.sampled_from(((), (), ("work",))),
    source_type=st.sampled_from(((), ("mail",))),
)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, Engine]:
    """Return engines over random corpora, each with edits behind it."""
    made = {}
    for seed in SEEDS:
        world = SearchWorld(tmp_path_factory.mktemp("world"))
        docs = random_documents(world.corpus, seed, 60)
        world.put(*docs[:40])
        world.put(*docs[40:], removed=[doc.doc_id for doc in docs[:5]])
        made[seed] = world.engine()
    return made


def traced(engine: Engine, query: SearchQuery) -> Trace:
    trace = engine.search(dataclasses.replace(query, trace=True, k=100)).trace
    assert trace is not None
    return trace


@given(seed=st.sampled_from(SEEDS), text=texts, mode=modes, narrow=filters)
@settings(max_examples=80)
def test_a_filtered_channel_is_the_exhaustive_one_restricted(
    engines: Mapping[int, Engine], seed: int, text: str, mode: SearchMode, narrow: SearchFilters
) -> None:
    """Same chunks, same order, same scores; so a selective filter never starves.

    In a list by words alone, a passage then counts with the others of that list.
    """
    engine = engines[seed]
    passing = {
        chunk["chunk_id"]: chunk["chunk_key"]
        for doc in engine.snapshot.docs(None)
        for chunk in engine.snapshot.doc_chunks(doc["doc_id"])
        if passes(chunk, narrow)
    }

    everything = traced(engine, SearchQuery(text=text, mode=mode))
    narrowed = traced(engine, SearchQuery(text=text, mode=mode, filters=narrow))

    for channel in ("lexical", "vector") if mode is not SearchMode.LEXICAL else ():
        expected = [
            (row.chunk_id, row.score)
            for row in getattr(everything, channel)
            if row.chunk_id in passing
        ]
        assert [(row.chunk_id, row.score) for row in getattr(narrowed, channel)] == expected
    if mode is SearchMode.LEXICAL:
        parsed = parse_query(text)
        whole = engine.snapshot.lexical(parsed.lexical, parsed.where, 10_000)
        kept = [row for row in whole if row.chunk_key in passing.values()]
        told = corroborated(kept, engine.snapshot.parents([row.chunk_key for row in kept]))
        shown = [(passing[row.chunk_id], row.score) for row in narrowed.lexical]
        assert sorted(shown) == sorted((row.chunk_key, row.score) for row in told)
    if mode is SearchMode.HYBRID:
        assert is_fusion(engine, text, narrowed)


def test_a_sentence_that_stands_in_a_passage_is_left_to_the_words(tmp_path: Path) -> None:
    sentence = "The walrus sleeps below the pier whenever the tide is out"
    texts = [f"{word} and {sentence[n:]}" for n, word in enumerate(sentence.split(), 4)]
    world = SearchWorld(tmp_path)
    world.put(*(world.corpus.document(f"{n}.md", text) for n, text in enumerate(texts)))
    world.put(world.corpus.document("a.md", f"Seen by the sea.\n\n{sentence}."))
    engine = world.engine()

    for text, is_quoted in (
        (sentence, True),
        (f"{sentence.replace(' ', ',  ').upper()}!", True),
        ("sleeps below the pier", False),
        (" ".join(reversed(sentence.split())), False),
    ):
        trace = traced(engine, SearchQuery(text=text))
        assert is_fusion(engine, text, trace, is_quoted=is_quoted)
        assert not is_fusion(engine, text, trace, is_quoted=not is_quoted)


def test_a_title_and_a_heading_of_two_words_are_left_to_the_words(tmp_path: Path) -> None:
    """Meaning put pages that speak of it before the page that is called so."""
    world = SearchWorld(tmp_path)
    others = (f"What can be asked of walrus {n}? All that." for n in range(9))
    world.put(*(world.corpus.document(f"{n}.md", text) for n, text in enumerate(others)))
    body = "Columns and rows of the pier.\n"
    world.put(
        world.corpus.document(
            "sql.md", f"# Harbour\n\n## What can be asked\n\n{body}\n## Tide\n\n{body}"
        )
    )
    engine = world.engine()

    for text, is_called_so in (
        ("what can be asked", True),
        ("Harbour", True),
        ("asked what can be", False),
        ("Tide", False),
    ):
        trace = traced(engine, SearchQuery(text=text))
        assert is_fusion(engine, text, trace, is_quoted=is_called_so)
        assert not is_fusion(engine, text, trace, is_quoted=not is_called_so)


def is_fusion(engine: Engine, text: str, trace: Trace, *, is_quoted: bool = False) -> bool:
    """Say whether the fused list is the fusion of the two lists beside it."""
    keys: dict[str, int] = {}

    def scored(channel: str) -> list[Scored]:
        rows = getattr(trace, channel)
        return [Scored(keys.setdefault(row.chunk_id, len(keys)), row.score) for row in rows]

    lists = scored("lexical"), scored("vector")
    chunks = {c["chunk_id"]: c["chunk_key"] for c in engine.snapshot.find_chunks("", 10_000)}
    parents = engine.snapshot.parents([chunks[name] for name in keys])
    fused = fuse(
        engine.settings.fusion,
        *lists,
        basis=Basis(
            lookup=is_quoted or is_lookup(text),
            known=engine.snapshot.known_words(parse_query(text).lexical),
            parents={key: parents[chunks[name]] for name, key in keys.items()},
        ),
    )
    ours = sorted((keys[row.chunk_id], row.fusion_score) for row in trace.fused)
    return ours == sorted((row.chunk_key, row.score) for row in fused)


def passes(chunk: Mapping[str, Any], narrow: SearchFilters) -> bool:
    """Judge a filter by plain Python over what the index shows."""
    from datetime import UTC, datetime

    dated = datetime.fromtimestamp(chunk["doc_date"], UTC).date().isoformat()
    trust = ("generated", "secondary", "primary")
    path = chunk["path"]
    globs = {
        "docs/**": path.startswith("docs/"),
        "*.py": path.endswith(".py"),
        "src/*": path.startswith("src/"),
    }
    media = {"md": "markdown"}
    return (
        (not narrow.tag or bool({*narrow.tag} & {*chunk["tags"]}))
        and (not narrow.media or chunk["media"] in {media.get(m, m) for m in narrow.media})
        and (not narrow.path_glob or any(globs[glob] for glob in narrow.path_glob))
        and trust.index(chunk["trust_level"]) >= trust.index(narrow.trust_min or "generated")
        and (narrow.since is None or dated >= narrow.since)
        and (narrow.until is None or dated <= narrow.until)
        and (not narrow.repo or chunk["repo"] in narrow.repo)
        and (not narrow.source or chunk["source_id"] in narrow.source)
        and (not narrow.source_type or chunk["source_type"] in narrow.source_type)
    )


budgets = st.one_of(st.none(), st.integers(1, 4000), st.integers(4000, 20_000))


@given(seed=st.sampled_from(SEEDS), text=texts, mode=modes, k=st.integers(4, 60), budget=budgets)
@settings(max_examples=10)
def test_pages_give_every_hit_once_in_order_and_never_pass_the_budget(
    engines: Mapping[int, Engine],
    seed: int,
    text: str,
    mode: SearchMode,
    k: int,
    budget: int | None,
) -> None:
    engine = engines[seed]
    query = SearchQuery(text=text, mode=mode, k=k)

    whole = everything(engine, query)
    found = everything(engine, dataclasses.replace(query, max_tokens=budget))

    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert [bare(hit) for hit in found] == [bare(hit) for hit in whole]
    assert len({hit.chunk_id for hit in found}) == len(found)


@given(
    seed=st.sampled_from(SEEDS),
    text=texts,
    mode=modes,
    narrow=filters,
    k=st.integers(1, 20),
    most=st.integers(1, 4),
    budget=budgets,
)
@settings(max_examples=40)
def test_a_limit_per_document_takes_its_first_hits_and_fills_every_page(  # noqa: PLR0913, PLR0917
    engines: Mapping[int, Engine],
    seed: int,
    text: str,
    mode: SearchMode,
    narrow: SearchFilters,
    k: int,
    most: int,
    budget: int | None,
) -> None:
    engine = engines[seed]
    query = SearchQuery(text=text, mode=mode, k=k, filters=narrow)
    seen: Counter[str] = Counter()
    expected = []
    for hit in everything(engine, query):
        seen[hit.doc_id] += 1
        expected += [hit.chunk_id] if seen[hit.doc_id] <= most else []

    limited = dataclasses.replace(query, per_doc=most)
    found = everything(engine, dataclasses.replace(limited, max_tokens=budget))
    first = engine.search(limited)

    assert [hit.chunk_id for hit in found] == expected
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert len(first.hits) == min(k, len(expected))
    assert (first.next_cursor is None) == (len(expected) <= k)


@given(seed=st.sampled_from(SEEDS), text=texts, mode=modes, k=st.integers(1, 20))
@settings(max_examples=30)
def test_the_last_hit_of_a_document_says_how_many_it_kept_from_the_page(
    engines: Mapping[int, Engine], seed: int, text: str, mode: SearchMode, k: int
) -> None:
    engine = engines[seed]
    query = SearchQuery(text=text, mode=mode, k=k, per_doc=1)
    order = everything(engine, dataclasses.replace(query, per_doc=0))

    page = engine.search(query)

    shown = [hit.chunk_id for hit in page.hits]
    last = len(order)
    if page.next_cursor is not None:
        last = [hit.chunk_id for hit in order].index(shown[-1])
    passed_over = Counter(hit.doc_id for hit in order[:last] if hit.chunk_id not in shown)
    assert [hit.more_in_doc or 0 for hit in page.hits] == [
        passed_over[hit.doc_id] for hit in page.hits
    ]


def test_a_cursor_brings_its_limit_per_document(engines: Mapping[int, Engine]) -> None:
    limited = SearchQuery(text="searching the index", k=3, per_doc=1)
    cursor = engines[1].search(limited).next_cursor

    page = engines[1].search(dataclasses.replace(limited, per_doc=None, cursor=cursor))

    assert [hit.chunk_id for hit in page.hits] == [
        hit.chunk_id for hit in everything(engines[1], limited)[3:6]
    ]
    with pytest.raises(StaleCursor, match="with per_doc 1"):
        engines[1].search(dataclasses.replace(limited, per_doc=2, cursor=cursor))


def test_a_limit_per_document_reads_what_is_shown_and_no_other_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = SearchWorld(tmp_path)
    world.put(
        *(world.corpus.document(f"{n:02}.md", f"otter {'pebble ' * n}") for n in range(60)),
        world.corpus.document("many.md", "\n\n".join(f"otter {'stone ' * n}" for n in range(5))),
    )
    engine = world.engine()
    read = keys_read(engine, monkeypatch)
    found = engine.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL, k=5, per_doc=2))

    assert [hit.doc_path for hit in found.hits].count("many.md") == 2
    assert len(read) <= 40  # of 65: the first ones, which are seen to say nothing twice


def everything(engine: Engine, query: SearchQuery) -> list[Hit]:
    """Return the whole list, page by page, each within the budget if there is one."""
    found: list[Hit] = []
    cursor: str | None = None
    while True:
        page = within(engine, dataclasses.replace(query, cursor=cursor))
        assert page.truncated == (page.omitted is not None)
        found += page.hits
        cursor = page.next_cursor
        if cursor is None:
            return found


def within(engine: Engine, query: SearchQuery) -> SearchResponse:
    """Answer within the budget, or within the least that the refusal names; measure it."""
    budget = query.max_tokens
    try:
        page = engine.search(query)
    except InvalidInput as error:
        budget = int(str(error.details["min_tokens"]))
        page = engine.search(dataclasses.replace(query, max_tokens=budget))
    assert budget is None or len(json_of(page)) <= 4 * budget
    return page


def bare(hit: Hit) -> Hit:
    return dataclasses.replace(hit, snippet="", snippet_full_text=False, more_in_doc=None)


def json_of(response: SearchResponse) -> str:
    return wire.dumps(wire.search_response(response))


def test_a_budget_shortens_snippets_before_it_drops_hits(engines: Mapping[int, Engine]) -> None:
    engine = engines[1]
    query = SearchQuery(text="searching the index", k=8, snippet_chars=600)
    whole = engine.search(query)
    size = len(json_of(whole))

    slightly = engine.search(dataclasses.replace(query, max_tokens=(size - 40) // 4))
    tightly = engine.search(dataclasses.replace(query, max_tokens=size // 4 // 3))

    assert (len(slightly.hits), slightly.truncated) == (8, True)
    assert slightly.omitted is not None
    assert slightly.omitted["hits"] == 0
    assert slightly.omitted["snippets_shortened"] > 0
    assert 0 < len(tightly.hits) < 8
    assert tightly.omitted == {
        "hits": 8 - len(tightly.hits),
        "snippets_shortened": sum(not hit.snippet_full_text for hit in tightly.hits),
    }


def test_a_budget_too_small_for_anything_names_the_least_that_works(
    engines: Mapping[int, Engine],
) -> None:
    for text in ("alpha", "nothinglikethis"):
        query = SearchQuery(text=text, mode=SearchMode.LEXICAL, max_tokens=1)
        with pytest.raises(InvalidInput) as caught:
            engines[1].search(query)
        needed = int(str(caught.value.details["min_tokens"]))

        answer = engines[1].search(dataclasses.replace(query, max_tokens=needed))
        assert len(json_of(answer)) <= 4 * needed
        with pytest.raises(InvalidInput):
            engines[1].search(dataclasses.replace(query, max_tokens=needed - 1))


def test_hits_of_equal_score_stand_by_source_path_and_position(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    for path in ("b.md", "c.md", "a.md"):
        world.put(world.corpus.document(path, "one word here\n\none word here"))
    engine = world.engine()

    for mode in SearchMode:
        pages = [engine.search(SearchQuery(text="word", mode=mode, k=100))]
        query = SearchQuery(text="word", mode=mode, k=1)
        paged = everything(engine, query)
        shown = [(hit.doc_path, hit.citation.uri) for hit in pages[0].hits]
        assert [(hit.doc_path, hit.citation.uri) for hit in paged] == shown
        if mode is SearchMode.LEXICAL:
            assert shown == sorted(shown)
            assert [hit.retrieval.lexical_rank for hit in paged] == [1, 2, 3, 4, 5, 6]


QUERY = SearchQuery(text="searching index", k=3)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(QUERY, text="searching indexes"),
        dataclasses.replace(QUERY, mode=SearchMode.LEXICAL),
        dataclasses.replace(QUERY, filters=SearchFilters(tag=("red",))),
    ],
)
def test_a_cursor_of_another_question_is_refused(
    engines: Mapping[int, Engine], other: SearchQuery
) -> None:
    cursor = engines[1].search(QUERY).next_cursor

    with pytest.raises(StaleCursor, match="belongs to another query") as caught:
        engines[1].search(dataclasses.replace(other, cursor=cursor))

    assert caught.value.details["reason"] == "query"


def test_a_cursor_may_change_the_size_of_the_page_and_the_order_of_filter_values(
    engines: Mapping[int, Engine],
) -> None:
    narrow = SearchFilters(tag=("red", "blue"))
    query = dataclasses.replace(QUERY, filters=narrow, k=2)
    cursor = engines[1].search(query).next_cursor
    turned = SearchFilters(tag=("blue", "red", "red"))

    page = engines[1].search(dataclasses.replace(query, filters=turned, k=4, cursor=cursor))

    whole = everything(engines[1], query)
    assert [bare(hit) for hit in page.hits] == [bare(hit) for hit in whole[2:6]]


@given(data=st.data())
@settings(max_examples=60)
def test_a_cursor_that_was_changed_is_refused(
    engines: Mapping[int, Engine], data: st.DataObject
) -> None:
    cursor = engines[1].search(QUERY).next_cursor
    assert cursor is not None
    at = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.sampled_from("AZaz09-_=é\x00"))
    changed = data.draw(st.sampled_from((cursor[:at], cursor[:at] + letter + cursor[at + 1 :])))

    if changed != cursor:
        with pytest.raises(StaleCursor):
            engines[1].search(dataclasses.replace(QUERY, cursor=changed))


def test_a_cursor_of_another_knowledge_base_or_setting_is_refused(tmp_path: Path) -> None:
    answers = []
    for name in ("a", "b"):
        world = SearchWorld(tmp_path / name)
        world.write(*(f"searching index number {n}" for n in range(9)))
        answers.append(world)
    cursor = answers[0].engine().search(QUERY).next_cursor
    asked = dataclasses.replace(QUERY, cursor=cursor)

    with pytest.raises(StaleCursor):
        answers[0].engine(rrf_k=10).search(asked)
    assert answers[0].engine().search(asked).hits


def test_the_end_of_the_pool_is_told_where_more_would_match(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.write(*(f"searching index number {n}" for n in range(130)))

    for mode in SearchMode:
        query = SearchQuery(text="searching", mode=mode, k=20)
        pages: list[SearchResponse] = []
        cursor: str | None = None
        while cursor or not pages:
            pages.append(world.engine().search(dataclasses.replace(query, cursor=cursor)))
            cursor = pages[-1].next_cursor
        assert sum(len(page.hits) for page in pages) >= 100
        assert [bool(page.warnings) for page in pages] == [False] * (len(pages) - 1) + [True]
        assert "best 100 candidates" in pages[-1].warnings[0]
    exact = world.engine().search(SearchQuery(text="number 7", mode=SearchMode.LEXICAL, k=100))
    assert exact.warnings == ()


def test_the_pool_does_not_depend_on_the_page(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.write(*(f"searching {'index ' * (n % 7)}number {n}" for n in range(250)))
    engine = world.engine()

    first = engine.search(dataclasses.replace(QUERY, k=50))
    second = engine.search(dataclasses.replace(QUERY, k=50, cursor=first.next_cursor))
    again = engine.search(dataclasses.replace(QUERY, k=100))

    ids = [hit.chunk_id for hit in (*first.hits, *second.hits)]
    assert len(set(ids)) == 100
    assert [hit.rank for hit in second.hits] == list(range(51, 101))
    assert len({hit.chunk_id for hit in again.hits}) == 100
