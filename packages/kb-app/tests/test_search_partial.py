"""Hybrid search where one channel knows little: foreign words, vectors still to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._search.engine import Engine
from kb_app.config import Source
from kb_app.testing import SearchWorld
from kb_app.testing.parts import writable_parts
from kb_core.filters import Glob
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchQuery
from kb_core.testing.fakes import HashEmbedder, MemoryIndex
from kb_core.testing.store import MemoryStore

TARGET = "salainen huone löytyy tornin takaa vasemmalta"
NEAR_TARGET = "salainen huone tornin takaa kirja linnasta"
"""What the model takes the question for: nearer to the target than to anything else."""
QUESTION = "where can Matilda find the hidden chamber behind a tower"


@pytest.fixture
def foreign(tmp_path: Path) -> SearchWorld:
    """Passages in one language, some with a name that a question in another one has, too."""
    world = SearchWorld(tmp_path)
    accidents = [f"Matilda leipoo leipää päivänä{n} kylässä" for n in range(12)]
    others = [f"kirja numero{n} kertoo vanhasta{n} linnasta" for n in range(100)]
    world.write(TARGET, *accidents, *others)
    return world


def asked_as(world: SearchWorld, text: str) -> Engine:
    """Return an engine whose model takes every question for *text*."""
    engine = world.engine()
    engine.embed = lambda _: world.embedder.embed_query(text)
    return engine


def paths(engine: Engine, query: SearchQuery) -> list[str]:
    return [hit.doc_path for hit in engine.search(query).hits]


def test_a_name_found_by_accident_does_not_outweigh_meaning(foreign: SearchWorld) -> None:
    engine = asked_as(foreign, NEAR_TARGET)

    assert paths(engine, SearchQuery(text=QUESTION, mode=SearchMode.HYBRID, k=3))[0] == "0.md"
    accidents = paths(engine, SearchQuery(text=QUESTION, mode=SearchMode.LEXICAL, k=20))
    assert sorted(accidents) == sorted(f"{n}.md" for n in range(1, 13))


def test_how_far_words_are_known_does_not_depend_on_a_filter(foreign: SearchWorld) -> None:
    engine, query = foreign.engine(), SearchQuery(text=QUESTION, mode=SearchMode.HYBRID)

    everywhere = engine.ranking(query).proposals.basis.known
    narrowed = engine.ranking(query, Glob("1*.md")).proposals.basis.known

    assert everywhere is not None
    assert everywhere.share < 0.5
    assert narrowed == everywhere


WORDS = SearchQuery(text="braces in a glob", k=30)
GLOBS = [
    "braces in a glob become groups",
    *(f"a glob without braces{n} in it is text" for n in range(4)),
    *(f"something else number{n} entirely here" for n in range(40)),
]


def partly(folder: Path, embedded: range) -> SearchWorld:
    """Return a world of one chunk per document, of which some have a vector."""
    world = SearchWorld(folder)
    docs = [world.corpus.document(f"{n}.md", text) for n, text in enumerate(GLOBS)]
    step = world.corpus.publication(*docs)
    wanted = {f"{n}.md" for n in embedded}
    keys = {c.chunk_key for doc in step.documents if doc.path in wanted for c in doc.chunks}
    (model,) = step.vectors
    vectors = tuple(vector for vector in step.vectors[model] if vector.chunk_key in keys)
    world.publish(replace(step, vectors={model: vectors} if vectors else {}))
    return world


@pytest.mark.parametrize("embedded", [range(0), range(1, 2), range(1, 20), range(1, 45)])
def test_the_best_by_words_stays_first_while_its_vector_is_missing(
    tmp_path: Path, embedded: range
) -> None:
    world = partly(tmp_path, embedded)
    # The model finds another passage nearest, as it does while the right one is not embedded.
    engine = asked_as(world, GLOBS[1])

    assert paths(engine, replace(WORDS, mode=SearchMode.HYBRID))[0] == "0.md"


def test_without_any_vector_hybrid_is_the_order_of_words(tmp_path: Path) -> None:
    engine = partly(tmp_path, range(0)).engine()

    hybrid = paths(engine, replace(WORDS, mode=SearchMode.HYBRID))

    assert hybrid == paths(engine, replace(WORDS, mode=SearchMode.LEXICAL))


def test_a_page_does_not_change_what_is_expected_of_missing_vectors(tmp_path: Path) -> None:
    engine = partly(tmp_path, range(3, 30)).engine()
    query = replace(WORDS, mode=SearchMode.HYBRID)

    whole = paths(engine, query)
    first = engine.search(replace(query, k=4))
    rest = engine.search(replace(query, k=4, cursor=first.next_cursor))

    assert [hit.doc_path for hit in (*first.hits, *rest.hits)] == whole[:8]


class _Noting(HashEmbedder):
    """Tells which passages it was given together."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        self.batches.append([*texts])
        return super().embed_passages(texts)


WALRUS = SearchQuery(text="walrus", mode=SearchMode.HYBRID)


def half_embedded(home: Path, *, readonly: bool = False) -> tuple[KnowledgeBase, _Noting, Any]:
    """Return a knowledge base with a run that has embedded what is newest; two old notes wait."""
    notes = home / "notes"
    notes.mkdir()
    for number in range(40):
        day = f"2026-02-{number % 27 + 1:02}"
        (notes / f"{number}.md").write_text(f"---\ndate: {day}\n---\notter number{number}\n")
    for name in ("old", "older"):
        (notes / f"{name}.md").write_text(f"---\ndate: 2001-01-01\n---\n{name} walrus\n")
    config = Config.inside(home / "kb", Source(id="notes", root=notes))
    data, embedder = config.storage.data_dir, _Noting()
    parts = writable_parts(MemoryStore(), MemoryIndex(), embedder, data)
    kb = KnowledgeBase(config, parts, readonly=False)
    events = kb.ingest(IngestOptions())
    while next(events).kind != "embed_batch_finished":
        pass
    return KnowledgeBase(config, parts, readonly=readonly), embedder, events


def test_what_somebody_searches_for_is_embedded_next(tmp_path: Path) -> None:
    kb, embedder, events = half_embedded(tmp_path)
    assert len(embedder.batches[0]) < 42

    kb.search(WALRUS)
    next(events)

    assert sorted(text.splitlines()[-1] for text in embedder.batches[1]) == [
        "old walrus",
        "older walrus",
    ]
    hits = kb.search(WALRUS).hits[:2]
    assert all(hit.retrieval.vector_score is not None for hit in hits)
    *_, last = events
    assert last.report is not None
    assert last.report.embedded == 42
    assert sum(map(len, embedder.batches)) == 42


@pytest.mark.parametrize("how", ["by words alone", "read-only", "when nothing runs"])
def test_nobody_is_asked_to_embed(tmp_path: Path, how: str) -> None:
    kb, embedder, events = half_embedded(tmp_path, readonly=how == "read-only")
    if how == "when nothing runs":
        events.close()
    mode = SearchMode.LEXICAL if how == "by words alone" else SearchMode.HYBRID

    assert kb.search(replace(WALRUS, mode=mode)).hits

    assert not [*tmp_path.glob("kb/**/wishes*")]
    assert len(embedder.batches) == 1


def test_more_is_not_asked_for_than_a_run_can_take(tmp_path: Path) -> None:
    kb, _, events = half_embedded(tmp_path)
    wishes = next(tmp_path.glob("kb/**/job.json")).with_name("wishes")
    wishes.write_bytes(b"no number\n" + b"9 " * 40_000)

    kb.search(WALRUS)

    assert wishes.stat().st_size == 80_010
    *_, last = events
    assert last.report is not None
    assert last.report.embedded == 42
    assert not wishes.exists()


class _Asked(MemoryStore):
    """Counts how often it is asked what has no vector: among a million, that is dear."""

    times = 0

    def missing_passages(self, *args: Any) -> Any:  # noqa: ANN401 - as the store says
        self.times += 1
        return super().missing_passages(*args)


def test_the_store_is_asked_once_for_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in ("_FIRST_BATCH", "_LARGEST_BATCH"):
        monkeypatch.setattr(f"kb_app._ingest.embedding.{size}", 8)
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(80):
        (notes / f"{number}.md").write_text(f"otter number{number}\n")
    config = Config.inside(tmp_path / "kb", Source(id="notes", root=notes))
    store, embedder = _Asked(), _Noting()
    parts = writable_parts(store, MemoryIndex(), embedder, config.storage.data_dir)

    *_, last = KnowledgeBase(config, parts, readonly=False).ingest(IngestOptions())

    assert last.report is not None
    assert (last.report.embedded, len(embedder.batches), store.times) == (80, 10, 1)
    assert len({text for batch in embedder.batches for text in batch}) == 80
