"""A date that is asked for: documents of it come first, and no other is kept out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._search.bulk import search_many
from kb_app.config import Source
from kb_app.testing import SearchWorld
from kb_app.testing.parts import open_here
from kb_core import wire
from kb_core.answers import AskQuery
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery, SearchResponse
from kb_core.wire import _reading

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAYS = ("2023-05-08", "2023-06-09", "2024-06-10", "2026-11-18")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SearchWorld:
    """Notes that say the same at different times, and one that says more."""
    world = SearchWorld(tmp_path_factory.mktemp("dated"))
    texts = ["the otter camp at the river", *["the otter camp by the river"] * 3, "walrus zanzibar"]
    world.put(
        *(
            world.corpus.document(
                f"{day}.md",
                text,
                title="Note",
                doc_date=datetime.fromisoformat(day).replace(tzinfo=UTC),
            )
            for day, text in zip((*DAYS, "2019-01-01"), texts, strict=True)
        )
    )
    return world


def asked(
    world: SearchWorld, text: str, mode: str = "hybrid", fusion: str = "auto"
) -> SearchResponse:
    query = SearchQuery(text=text, k=10, mode=SearchMode(mode), trace=True)
    return world.engine(now=NOW, fusion=fusion).search(query)


def first_of(response: SearchResponse) -> str:
    return response.hits[0].doc_path.removesuffix(".md")


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("in May 2023", "2023-05-08"),
        ("in June 2023", "2023-06-09"),
        ("in June", "2024-06-10"),
        ("last week", "2026-11-18"),
        ("on 9 June 2023", "2023-06-09"),
        ("since 2026-01", "2026-11-18"),
    ],
)
def test_notes_of_the_date_come_first_and_the_others_after_them(
    world: SearchWorld, when: str, expected: str, mode: str
) -> None:
    response = asked(world, f"otter camp river {when}", mode)

    assert first_of(response) == expected
    assert {hit.doc_path.removesuffix(".md") for hit in response.hits} >= set(DAYS)
    assert all(0 <= hit.score <= 1 for hit in response.hits if mode == "hybrid")
    assert response.trace is not None
    [date] = response.trace.dates
    assert date.text == when
    assert date.since <= datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_what_answers_far_better_stays_first_whatever_its_date(
    world: SearchWorld, mode: str
) -> None:
    assert first_of(asked(world, "walrus zanzibar otter in May 2023", mode)) == "2019-01-01"


@pytest.mark.parametrize("mode", list(SearchMode))
def test_several_queries_with_dates_are_answered_as_each_is(
    world: SearchWorld, mode: SearchMode
) -> None:
    """What is embedded ahead of them is without their dates, as it is for each alone."""
    texts = ("otter camp river in May 2023", "walrus walks", "in June 2024", "x in May 2018")
    queries = [SearchQuery(text=text, mode=mode) for text in texts]

    together = list(search_many(world.engine(now=NOW), queries))

    single = [world.engine(now=NOW).search(query) for query in queries]
    sent = [wire.search_response(one) for one in together if isinstance(one, SearchResponse)]
    assert sent == [wire.search_response(one) for one in single]


def test_a_date_that_no_document_is_of_changes_nothing(world: SearchWorld) -> None:
    response = asked(world, "otter camp at the river in May 2018")

    assert first_of(response) == DAYS[0]
    assert response.trace is not None
    assert response.trace.dates == ()
    assert "dates" not in wire.search_response(response)["trace"]


@pytest.mark.parametrize(("mode", "fusion"), [("vector", "auto"), ("hybrid", "rrf")])
def test_where_nothing_is_to_count_but_nearness_or_ranks_no_date_does(
    world: SearchWorld, mode: str, fusion: str
) -> None:
    with_date = asked(world, "otter camp in June 2024", mode, fusion)

    assert with_date.trace is not None
    assert with_date.trace.dates == ()


def test_the_date_is_told_to_the_words_alone(world: SearchWorld) -> None:
    """In vectors all dates are alike: what is embedded is the question without them."""
    dated, plain = (asked(world, f"otter camp at the river{w}") for w in (" in June 2024", ""))
    assert dated.trace is not None
    assert plain.trace is not None

    assert [row.score for row in dated.trace.vector] == [row.score for row in plain.trace.vector]


def test_a_question_of_nothing_but_a_date_keeps_it(world: SearchWorld) -> None:
    response = asked(world, "June 2024")

    assert first_of(response) == "2024-06-10"


def test_the_trace_travels_with_its_dates(world: SearchWorld) -> None:
    response = asked(world, "otter camp in June 2024")
    assert response.trace is not None

    told = wire.search_response(response)["trace"]

    assert told["dates"] == [
        {"text": "in June 2024", "since": "2024-06-01T00:00:00Z", "until": "2024-06-30T23:59:59Z"}
    ]
    assert _reading._trace(told).dates == response.trace.dates


def test_a_note_is_of_the_day_that_its_title_is(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "talk.md").write_text("# 1:56 pm on 8 May, 2023\n\nThe otter camp.\n", "utf-8")
    (root / "essay.md").write_text("# What the fall of 9 May 2023 was like\n\nOtters.\n", "utf-8")
    (root / "told.md").write_text(
        "---\ncreated: 2020-01-02\n---\n# 8 May 2023\n\nOtter.\n", "utf-8"
    )
    with open_here(Config.inside(tmp_path, Source(id="notes", root=root))) as kb:
        list(kb.ingest(IngestOptions(embed=False)))

        of_may = kb.list_docs(SearchFilters(since="2023-05-01", until="2023-05-31"))["items"]
        older = kb.list_docs(SearchFilters(until="2023-04-30"))["items"]

    assert [item["doc_path"] for item in of_may] == ["talk.md"]
    assert [item["doc_path"] for item in older] == ["told.md"]


TALKS = {
    "2026-02-12": "Anna repaired the boat, and Bert painted the fence.",
    "2026-02-19": "Anna repaired the roof of the shed, and Bert slept.",
    "2026-03-05": "Anna repaired the bicycle, and Bert cooked for all of us.",
}


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    home = tmp_path_factory.mktemp("talks")
    root = home / "notes"
    root.mkdir()
    for day, said in TALKS.items():
        (root / f"{day}.md").write_text(f"# Talk\n\n{said}\n\nThen we went home.\n", "utf-8")
    with open_here(Config.inside(home, Source(id="notes", root=root))) as kb:
        list(kb.ingest(IngestOptions()))
        yield kb


@pytest.mark.parametrize(
    ("question", "said", "unsaid"),
    [
        ("What did Anna repair in March 2026?", ("bicycle",), ("boat", "roof")),
        ("What did Anna repair in February?", ("boat",), ("bicycle",)),
        ("What did Anna repair on 19 February 2026?", ("roof",), ("bicycle", "boat")),
    ],
)
def test_a_question_of_a_date_is_answered_by_what_is_of_that_date(
    talks: KnowledgeBase, question: str, said: Sequence[str], unsaid: Sequence[str]
) -> None:
    answer = talks.answer(AskQuery(text=question))

    assert answer.refusal is None
    assert all(word in answer.text for word in said)
    assert not any(word in answer.text for word in unsaid)
    assert not any("not mentioned" in warning for warning in answer.warnings)


def test_where_nothing_of_the_date_answers_it_is_asked_of_all(talks: KnowledgeBase) -> None:
    answer = talks.answer(AskQuery(text="Who bought a submarine in March 2026?"))

    assert answer.refusal == "score_gate"
    assert {hit.doc_path for hit in answer.hits} == {f"{day}.md" for day in TALKS}


def test_where_what_is_of_the_date_lacks_the_number_it_is_asked_of_all(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "2022-01-02 medlar.md").write_text("# Medlar\n\nThe medlar had fruits.\n", "utf-8")
    (root / "garden.md").write_text(
        "---\ncreated: 2023-05-01\n---\n# Garden\n\nThe medlar had eleven fruits in 2022.\n",
        "utf-8",
    )
    with open_here(Config.inside(tmp_path, Source(id="notes", root=root))) as kb:
        list(kb.ingest(IngestOptions()))

        answer = kb.answer(AskQuery(text="How many fruits did the medlar have in 2022?"))

    assert answer.refusal is None
    assert "eleven" in answer.text
