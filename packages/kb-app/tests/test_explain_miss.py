"""explain-miss names what loses a document, and similar finds its neighbours."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest
from jsonschema import Draft202012Validator

from kb_app._search import explaining
from kb_app._search.engine import Engine
from kb_app._search.explaining import explain_miss
from kb_app._search.lookup import document_named, origin_of
from kb_app._search.similar import similar
from kb_app.testing import SearchWorld, keys_read
from kb_core.errors import DocNotFound, InvalidInput
from kb_core.media import SearchMode
from kb_core.records import FileState
from kb_core.search import SearchFilters, SearchQuery
from kb_core.testing import closed_schema
from kb_core.testing.documents import file_row


@pytest.fixture
def world(tmp_path: Path) -> SearchWorld:
    """Return a world where one note speaks of a lock, in a crowd that speaks of locks more."""
    world = SearchWorld(tmp_path)
    world.put(
        world.corpus.document("note.md", "lock appears once among many other words here"),
        world.corpus.document("zebra.md", "zebras graze in the savannah"),
        *(
            world.corpus.document(f"crowd/{n:03}.md", f"lock lock lock {'lock ' * (n % 3)}")
            for n in range(150)
        ),
        files=[file_row("bad.pdf", FileState.FAILED, reason="encrypted", detail="needs a word")],
    )
    return world


def explained(engine: Engine, doc: str, query: SearchQuery) -> Mapping[str, Any]:
    report = explain_miss(engine, query, doc)
    Draft202012Validator(closed_schema("explain_miss")).validate(report)
    return report


LEXICAL = SearchQuery(text="lock", mode=SearchMode.LEXICAL)


def test_a_path_that_no_ingest_saw(world: SearchWorld) -> None:
    report = explained(world.engine(), "nowhere.md", LEXICAL)

    assert (report["verdict"], report["doc_path"]) == ("not_in_ledger", "nowhere.md")


def test_a_file_that_was_not_indexed_is_explained_by_the_ledger(world: SearchWorld) -> None:
    report = explained(world.engine(), "./bad.pdf", LEXICAL)

    assert report["verdict"] == "not_indexed"
    assert report["file"] == {"state": "failed", "reason": "encrypted", "detail": "needs a word"}
    assert report["summary"] == "'bad.pdf' is failed: encrypted: needs a word"


def test_every_filter_is_tried_by_itself(world: SearchWorld) -> None:
    narrow = SearchFilters(media=("md",), tag=("red",))
    query = SearchQuery(text="lock -once title:note", mode=SearchMode.LEXICAL, filters=narrow)

    report = explained(world.engine(), "note.md", query)

    assert report["verdict"] == "filtered_out"
    assert report["filters"] == [
        {"name": "tag", "value": ["red"], "passes": False},
        {"name": "media", "value": ["md"], "passes": True},
        {"name": "query", "value": "-once", "passes": False},
        {"name": "query", "value": "title:note", "passes": True},
    ]
    assert report["summary"] == "kept out by tag red, -once"
    assert report["lexical"]["rank"] > 100
    assert report["fused"] is None


def test_a_document_beyond_the_candidates(world: SearchWorld) -> None:
    report = explained(world.engine(), "note.md", LEXICAL)

    assert report["verdict"] == "beyond_candidates"
    assert report["lexical"]["rank"] == 151
    assert report["pool"] == 100
    assert "rank 151" in report["summary"]
    assert report["words"] == {"found": ["lock"], "missing": []}
    suggested = report["suggestion"]
    engine = world.engine()
    found = engine.search(dataclasses.replace(LEXICAL, text=suggested["query"]))
    assert found.hits[suggested["rank"] - 1].doc_path == "note.md"


def test_a_document_without_embedding_that_shares_no_word(world: SearchWorld) -> None:
    unembedded = SearchWorld(world._folder.parent / "unembedded")
    unembedded.corpus = type(unembedded.corpus)()
    unembedded.write("zebras graze", "something else")
    for mode in (SearchMode.VECTOR, SearchMode.HYBRID):
        report = explained(unembedded.engine(), "0.md", SearchQuery(text="animals", mode=mode))

        assert report["verdict"] == "no_embedding"
        assert report["chunks"] == {"total": 1, "embedded": 0, "passing": 1}
        assert "kebab embed" in report["summary"]
        off = explained(
            unembedded.engine(model_key=None), "0.md", SearchQuery(text="animals", mode=mode)
        )
        assert off["verdict"] == "no_embedding"
        assert "switched off" in off["summary"]
        assert "kebab embed" not in off["summary"]
    report = explained(
        unembedded.engine(), "0.md", SearchQuery(text="animals", mode=SearchMode.LEXICAL)
    )
    assert report["verdict"] == "no_match"


def test_indexed_and_found_at_rank_37(world: SearchWorld) -> None:
    docs = [
        world.corpus.document(f"r/{n:02}.md", f"quokka {'filler ' * n}".strip()) for n in range(60)
    ]
    world.put(*docs)
    engine = world.engine()
    query = SearchQuery(text="quokka", mode=SearchMode.LEXICAL)
    target = engine.search(dataclasses.replace(query, k=40)).hits[36].doc_path

    report = explained(engine, target, query)

    assert (report["verdict"], report["fused"]["rank"]) == ("beyond_k", 37)
    assert report["summary"].startswith("found at rank 37 of a search for 10 hits")
    shown = explained(engine, target, dataclasses.replace(query, k=37))
    assert (shown["verdict"], shown["suggestion"]) == ("shown", None)


def test_a_budget_that_ends_before_it(world: SearchWorld) -> None:
    engine = world.engine()
    query = SearchQuery(text="zebras", max_tokens=400)
    second = engine.search(dataclasses.replace(query, max_tokens=None)).hits[1].doc_path

    report = explained(engine, second, query)

    assert (report["verdict"], report["fused"]["rank"]) == ("budget", 2)


def test_a_document_is_named_by_id_prefix_path_or_absolute_path(world: SearchWorld) -> None:
    snapshot = world.engine().snapshot
    doc = document_named(snapshot, "zebra.md")

    assert document_named(snapshot, doc["doc_id"][:10].upper()) == doc
    assert document_named(snapshot, "./zebra.md") == doc
    with pytest.raises(InvalidInput, match="missing"):
        document_named(snapshot, " ")
    with pytest.raises(DocNotFound):
        origin_of(snapshot, "nowhere.md")


def test_neighbours_are_of_other_documents_and_nearest_first(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.write(
        "red green blue\n\nred green yellow", "red green blue", "red green", "stones and sand"
    )
    engine = world.engine()
    origin = origin_of(engine.snapshot, "0.md")

    found = similar(engine, origin, SearchQuery(text="x", k=2))

    assert {hit.doc_path for hit in found.hits} == {"1.md", "2.md"}
    assert found.hits[0].score > found.hits[1].score
    assert {hit.score_kind for hit in found.hits} == {"cosine"}
    following = similar(engine, origin, SearchQuery(text="x", k=2, cursor=found.next_cursor))
    assert [hit.rank for hit in following.hits] == [3]
    assert "0.md" not in {hit.doc_path for hit in (*found.hits, *following.hits)}
    chunk = engine.snapshot.doc_chunks(origin.doc_id)[0]
    by_chunk = similar(engine, origin_of(engine.snapshot, chunk["chunk_id"]), SearchQuery(text="x"))
    assert by_chunk.hits[0].doc_path == "1.md"


def test_without_vectors_neighbours_share_telling_words(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.corpus = type(world.corpus)()
    world.write("the quokka eats the leaves", "the quokka sleeps", *["the river and the road"] * 6)
    engine = world.engine()

    found = similar(engine, origin_of(engine.snapshot, "0.md"), SearchQuery(text="x", k=3))

    assert found.hits[0].doc_path == "1.md"
    assert found.degraded == ("vector: no embedding of this text yet; found by its words",)


def test_what_is_suggested_is_what_a_person_would_type(world: SearchWorld) -> None:
    noise = "2026-01-02 0xdeadbeef c0ffee99 v1.2.3 kb_search_index "
    world.put(
        world.corpus.document("log.md", f"{noise}harbour {noise}"),
        world.corpus.document("numbers.md", "20260102 1234567"),
        *(world.corpus.document(f"other/{n}.md", "sailing boats") for n in range(20)),
    )
    query = SearchQuery(text="sailing", mode=SearchMode.LEXICAL)

    words, numbers = (
        explained(world.engine(), path, query)["suggestion"] for path in ("log.md", "numbers.md")
    )

    assert words["query"] == "harbour"
    assert numbers["query"] in {"20260102", "1234567"}


def test_what_is_suggested_has_the_rank_that_a_search_gives_it(world: SearchWorld) -> None:
    """Equal scores stand by place, and these were written in the other order."""
    paths = [f"tide/{n:02}.md" for n in reversed(range(9))]
    world.put(*(world.corpus.document(path, "ebb and flood") for path in paths))
    engine = world.engine()
    query = SearchQuery(text="sailing", mode=SearchMode.LEXICAL, k=5)

    suggested = [explained(engine, path, query)["suggestion"] for path in sorted(paths)]

    shown = engine.search(dataclasses.replace(query, text="ebb")).hits
    assert [hit.doc_path for hit in shown] == sorted(paths)[:5]
    assert [each and each["rank"] for each in suggested] == [1, 2, 3, 4, 5, None, None, None, None]


@pytest.mark.parametrize(("mode", "most"), [("lexical", 12), ("hybrid", 16), ("vector", 6)])
def test_what_is_suggested_costs_a_dozen_questions(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch, mode: str, most: int
) -> None:
    """No word finds the note alone, all of one passage do together; words of two would not."""
    words = ["amber", "basalt", "cobalt", "dolomite", "ebony", "feldspar"]
    pairs = [f"{one} {other}" for one in words for other in words if one < other]
    world.put(
        world.corpus.document("stones.md", f"{' '.join(words)}\n\ngravel granite gneiss"),
        *(world.corpus.document(f"{n}/{text}.md", text) for text in pairs for n in range(9)),
        *(world.corpus.document(f"{n}.md", "gravel granite gneiss gravel") for n in range(40)),
    )
    asked: list[str] = []
    ranking = Engine.ranking

    def counted(engine: Engine, query: SearchQuery, **more: Any) -> Any:  # noqa: ANN401 - as it is
        asked.append(query.text)
        return ranking(engine, query, **more)

    monkeypatch.setattr(Engine, "ranking", counted)
    query = SearchQuery(text="lock", mode=SearchMode(mode), k=3)

    suggested = explained(world.engine(), "stones.md", query)["suggestion"]

    assert len(asked) <= most
    if mode == "lexical":
        assert set(suggested["query"].split()) < set(words)
        assert len(suggested["query"].split()) in {3, 4}


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_nothing_is_looked_for_by_the_same_words_twice(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """What was tried by words is tried by both, and is a third of what both take."""
    world.put(
        world.corpus.document("reef.md", "coral anemone\n\nlagoon"),
        *(world.corpus.document(f"coral/{n}.md", "coral coral lagoon") for n in range(20)),
        *(world.corpus.document(f"sea/{n}.md", "anemone anemone") for n in range(20)),
    )
    engine = world.engine()
    lexical, asked = engine.snapshot.lexical, Counter[Any]()

    def counted(*query: Any) -> Any:  # noqa: ANN401 - as it is
        asked[query] += 1
        return lexical(*query)

    monkeypatch.setattr(engine.snapshot, "lexical", counted)
    query = SearchQuery(text="lock", mode=SearchMode(mode), k=3)

    suggested = explained(engine, "reef.md", query)["suggestion"]

    assert suggested["query"] == "anemone coral"
    assert set(asked.values()) == {1}


def test_where_a_list_lacks_the_document_its_passages_are_not_read_nor_all_counted(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = world.engine()
    read = keys_read(engine, monkeypatch)
    counted = Mock(wraps=engine.snapshot.count)
    monkeypatch.setattr(engine.snapshot, "count", counted)

    report = explained(engine, "note.md", LEXICAL)

    assert report["verdict"] == "beyond_candidates"
    assert len(read) < 30  # the first of each list, of which some may say the same
    assert call(None) not in counted.call_args_list, "the index says how many there are"


def test_a_document_far_down_is_not_looked_for_in_a_list_of_everything(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "DEEPEST", 120)

    report = explained(world.engine(), "note.md", LEXICAL)

    assert report["lexical"]["rank"] == 121
    assert report["verdict"] == "beyond_candidates"
    assert report["summary"].startswith("by words after rank 120: ")
