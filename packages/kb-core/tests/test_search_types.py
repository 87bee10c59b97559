"""Queries cannot be nonsense; media and trust are what people type."""

from __future__ import annotations

from typing import Any

import pytest

from kb_core.answers import AskQuery
from kb_core.control import EmbeddingModel
from kb_core.errors import InvalidInput
from kb_core.evals import EvalVariant
from kb_core.filters import FILTERS
from kb_core.media import MEDIA_ALIASES, MEDIA_ALWAYS_COUNTED, Media, SearchMode, TrustLevel
from kb_core.records import ChunkRecord
from kb_core.search import GrepQuery, Relaxation, SearchFilters, SearchQuery


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"text": " \t"}, "query"),
        ({"text": "x", "k": 0}, "k"),
        ({"text": "x", "k": 101}, "k"),
        ({"text": "x", "snippet_chars": 59}, "snippet_chars"),
        ({"text": "x", "snippet_chars": 10_001}, "snippet_chars"),
        ({"text": "x", "mode": "nope"}, "mode"),
    ],
)
def test_a_query_that_cannot_be_answered_cannot_be_built(
    fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        SearchQuery(**fields)

    assert caught.value.details["field"] == named


@pytest.mark.parametrize("made", [SearchQuery, AskQuery])
def test_a_mode_may_be_a_text(made: type[SearchQuery | AskQuery]) -> None:
    assert made(text="x", mode=as_text("lexical")).mode is SearchMode.LEXICAL
    assert EvalVariant(mode=as_text("vector")).name == "vector"


def test_a_text_where_several_may_be_is_the_one_that_is_meant() -> None:
    """It was filtered by its letters."""
    filters = SearchFilters(**{row.name: as_text("notes") for row in FILTERS if row.many})

    given = filters.given()
    assert given == {row.name: ["notes"] for row in FILTERS if row.many}
    assert GrepQuery(pattern="x", paths=as_text("notes")).paths == ("notes",)


def as_text(value: str) -> Any:  # noqa: ANN401 - what a program hands in that checks no types
    return value


def test_a_query_has_sensible_defaults() -> None:
    query = SearchQuery(text="x")

    assert (query.mode, query.k, query.snippet_chars) == (SearchMode.HYBRID, 10, 220)


def test_trust_is_an_order() -> None:
    ranks = [TrustLevel(level).rank for level in ("generated", "secondary", "primary")]

    assert ranks == [0, 1, 2]


def test_aliases_and_counted_media_are_media() -> None:
    media = {str(medium) for medium in Media}

    assert set(MEDIA_ALIASES.values()) <= media
    assert set(MEDIA_ALWAYS_COUNTED) - media == {"other"}


def test_a_models_key_names_what_its_vectors_depend_on() -> None:
    model = EmbeddingModel(
        name="e5",
        revision="abc",
        dimensions=384,
        max_tokens=512,
        quantization="int8",
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
    )

    assert model.key == "e5.int8.abc"


def test_a_passage_is_context_and_text() -> None:
    chunk = ChunkRecord(
        chunk_id="c", ordinal=0, start=0, end=1, text="t", line_start=1, line_end=1, token_count=1
    )

    assert chunk.passage == "t"
    assert ChunkRecord(**{**_fields(chunk), "context": "Title"}).passage == "Title\n\nt"


def _fields(chunk: ChunkRecord) -> dict[str, Any]:
    return {name: getattr(chunk, name) for name in ChunkRecord.__dataclass_fields__}


def test_a_relaxation_is_told_in_sentences() -> None:
    relaxation = Relaxation(
        asked=("sqlite", '"write ahead"'),
        required=("sqlite",),
        common=("the", "of"),
        unknown=("zebra",),
    )

    assert relaxation.sentences() == (
        'no passage holds all that is required; ranked by, not required: "write ahead"',
        "in more than half of all passages, hardly counts: the, of",
        "in no passage: zebra",
    )
    assert Relaxation().sentences() == ()
