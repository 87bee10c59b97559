"""What a search says of itself: traces, deadlines, channels that could not run."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from kb_app._search.channels import Deadline, Late, is_working
from kb_app._search.hits import Freshness
from kb_app.config import Config, Embedding, Source
from kb_app.testing import SearchWorld
from kb_app.testing.parts import open_here
from kb_core import wire
from kb_core.clock import to_epoch
from kb_core.errors import InvalidInput, ModelMissing
from kb_core.filters import Filter
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.ports import IndexSnapshot, StoredFile
from kb_core.search import SearchFilters, SearchQuery, Trace
from kb_core.testing.documents import NOW
from kb_search.reader import Reader

QUERY = SearchQuery(text="searching the index", k=5, trace=True)


@pytest.fixture
def world(tmp_path: Path) -> SearchWorld:
    world = SearchWorld(tmp_path)
    world.write(*(f"searching index number {n}" for n in range(20)), "nothing of that kind")
    return world


def trace_of(world: SearchWorld, query: SearchQuery) -> Trace:
    trace = world.engine().search(query).trace
    assert trace is not None
    return trace


def test_seed_trace_hybrid_shows_both_lists_and_their_union(world: SearchWorld) -> None:
    trace = trace_of(world, QUERY)

    assert len(trace.lexical) == 20
    assert len(trace.vector) == 21
    ids = [row.chunk_id for row in trace.fused]
    assert sorted(ids) == sorted(
        {row.chunk_id for row in trace.lexical} | {row.chunk_id for row in trace.vector}
    )
    scores = [row.fusion_score for row in trace.fused]
    assert scores == sorted(scores, reverse=True)
    for channel, ranks in (
        (trace.lexical, {row.chunk_id: row.lexical_rank for row in trace.fused}),
        (trace.vector, {row.chunk_id: row.vector_rank for row in trace.fused}),
    ):
        assert [row.rank for row in channel] == list(range(1, len(channel) + 1))
        assert {row.chunk_id: row.rank for row in channel} == {
            chunk_id: rank for chunk_id, rank in ranks.items() if rank is not None
        }


@pytest.mark.parametrize(
    ("mode", "empty", "unranked"),
    [(SearchMode.LEXICAL, "vector", "vector_rank"), (SearchMode.VECTOR, "lexical", "lexical_rank")],
)
def test_seed_trace_of_one_channel_leaves_the_other_empty(
    world: SearchWorld, mode: SearchMode, empty: str, unranked: str
) -> None:
    query = dataclasses.replace(QUERY, mode=mode, k=100)
    response = world.engine().search(query)

    assert response.trace is not None
    assert getattr(response.trace, empty) == ()
    assert getattr(response.trace.timing, f"{empty}_ms") == 0
    assert {getattr(row, unranked) for row in response.trace.fused} == {None}
    shown = [(hit.rank, hit.chunk_id) for hit in response.hits]
    channel = getattr(response.trace, mode.value)
    assert [(row.rank, row.chunk_id) for row in channel] == shown
    assert [row.chunk_id for row in response.trace.fused] == [chunk_id for _, chunk_id in shown]


def test_seed_trace_of_an_empty_corpus_has_empty_lists_and_times(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.put()

    for mode in SearchMode:
        response = world.engine().search(dataclasses.replace(QUERY, mode=mode))
        story = wire.search_response(response)["trace"]
        assert response.hits == ()
        assert (story["lexical"], story["vector"], story["rrf_inputs"]) == ([], [], [])
        assert {"lexical_ms", "vector_ms", "fusion_ms", "total_ms"} <= story["timing"].keys()
        assert all(isinstance(ms, int) and ms >= 0 for ms in story["timing"].values())


def test_seed_trace_is_absent_without_the_flag_and_changes_nothing_else(
    world: SearchWorld,
) -> None:
    for mode in SearchMode:
        query = dataclasses.replace(QUERY, mode=mode)
        traced = wire.search_response(world.engine().search(query))
        plain = wire.search_response(world.engine().search(dataclasses.replace(query, trace=False)))
        del traced["trace"]
        assert plain == traced


def test_seed_trace_of_a_later_page_only_when_asked_again(world: SearchWorld) -> None:
    first = world.engine().search(QUERY)
    later = dataclasses.replace(QUERY, cursor=first.next_cursor, trace=False)

    assert world.engine().search(later).trace is None
    again = world.engine().search(dataclasses.replace(later, trace=True)).trace
    assert again is not None
    assert first.trace is not None
    assert again.fused == first.trace.fused


def test_the_total_is_no_less_than_its_stages_in_a_row(world: SearchWorld) -> None:
    timing = trace_of(world, QUERY).timing
    parts = (timing.lexical_ms, timing.vector_ms, timing.fusion_ms, timing.embed_ms or 0)

    assert timing.total_ms + len(parts) >= sum(parts)  # each is rounded


def test_a_budget_does_not_count_the_trace(world: SearchWorld) -> None:
    plain = dataclasses.replace(QUERY, trace=False, max_tokens=800)
    traced = dataclasses.replace(plain, trace=True)

    assert world.engine().search(traced).hits == world.engine().search(plain).hits


def test_without_a_deadline_no_stages_are_told(world: SearchWorld) -> None:
    assert world.engine().search(QUERY).stages is None
    timely = world.engine().search(dataclasses.replace(QUERY, deadline_ms=60_000))
    assert timely.stages == ("lexical", "vector")
    assert timely.degraded == ()
    words = dataclasses.replace(QUERY, mode=SearchMode.LEXICAL, deadline_ms=60_000)
    assert world.engine().search(words).stages == ("lexical",)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Yield what keeps a model from answering; let go of it at the end."""
    gate = threading.Event()
    yield gate
    gate.set()
    until = time.monotonic() + 120
    while is_working() and time.monotonic() < until:
        time.sleep(0.01)


def test_a_model_that_is_late_is_left_out_and_told(
    world: SearchWorld, gate: threading.Event
) -> None:
    engine = world.engine()
    embed = engine.embed

    def slow(text: str) -> bytes:
        gate.wait(120)
        return embed(text)

    engine.embed = slow
    query = dataclasses.replace(QUERY, deadline_ms=30, trace=False)

    late = engine.search(query)

    assert late.stages == ("lexical",)
    assert late.degraded == ("vector: not ready within the deadline of 30 ms",)
    assert len(late.hits) == 5
    assert is_working()
    # The next page is of the same list, although the model answers by now.
    gate.set()
    following = engine.search(
        dataclasses.replace(query, deadline_ms=60_000, cursor=late.next_cursor)
    )
    words = engine.search(dataclasses.replace(query, mode=SearchMode.LEXICAL, k=10))
    assert [h.chunk_id for h in (*late.hits, *following.hits)] == [h.chunk_id for h in words.hits]
    assert following.degraded == ("vector: took no part in the list that this cursor goes on with",)


def test_a_later_page_waits_for_what_took_part_in_its_list(world: SearchWorld) -> None:
    engine = world.engine()
    embed = engine.embed
    query = dataclasses.replace(QUERY, trace=False)
    first = engine.search(query)

    def slow(text: str) -> bytes:
        time.sleep(0.1)
        return embed(text)

    engine.embed = slow
    asked = dataclasses.replace(query, cursor=first.next_cursor, deadline_ms=20)
    later = engine.search(asked)

    assert (later.stages, later.degraded) == (("lexical", "vector"), ())
    whole = engine.search(dataclasses.replace(query, k=10)).hits
    assert [h.chunk_id for h in (*first.hits, *later.hits)] == [h.chunk_id for h in whole]


def test_work_that_fails_in_time_says_so(world: SearchWorld) -> None:
    engine = world.engine()

    def missing(text: str) -> bytes:
        raise ModelMissing(f"no weights for {text!r}")

    engine.embed = missing
    for deadline_ms in (None, 60_000):
        response = engine.search(dataclasses.replace(QUERY, deadline_ms=deadline_ms))
        assert response.degraded == ("vector: no weights for 'searching the index'",)
        assert len(response.hits) == 5
    with pytest.raises(ModelMissing, match="no weights"):  # "no hits" would not be true
        engine.search(dataclasses.replace(QUERY, mode=SearchMode.VECTOR))


def test_many_vectors_are_compared_beside_the_search_by_words(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, before = world.engine(), world.engine().search(QUERY)
    asked, embed = [], engine.embed

    def noted(text: str) -> bytes:
        asked.append(threading.current_thread().name)
        return embed(text)

    engine.embed = noted
    engine.search(QUERY)
    monkeypatch.setattr("kb_app._search.channels._MANY_VECTORS", 21)
    beside = engine.search(QUERY)
    engine.search(dataclasses.replace(QUERY, mode=SearchMode.VECTOR))

    here = threading.current_thread().name
    assert asked == [here, "kebab-nearest", here]
    assert (beside.hits, beside.confidence) == (before.hits, before.confidence)

    def fail(_text: str) -> bytes:
        raise ModelMissing("no model here")

    engine.embed = fail
    assert engine.search(QUERY).degraded == ("vector: no model here",)


def test_a_deadline_hands_over_results_and_errors(gate: threading.Event) -> None:
    assert Deadline(None).start(lambda: 5)() == 5
    assert Deadline(10_000).start(lambda: 5)() == 5
    with pytest.raises(ZeroDivisionError):
        Deadline(10_000).start(lambda: 1 // 0)()
    with pytest.raises(TimeoutError, match="mine"):
        Deadline(10_000).start(_raise_timeout)()
    with pytest.raises(Late):
        Deadline(1).start(gate.wait)()


def _raise_timeout() -> None:
    raise TimeoutError("mine")


def test_hybrid_without_embeddings_answers_by_words(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.corpus = type(world.corpus)()
    world.write("searching index", "else")

    response = world.engine().search(QUERY)

    assert [hit.doc_path for hit in response.hits] == ["0.md"]
    assert response.degraded == ("vector: no embeddings for this model yet (run 'kebab embed')",)
    assert response.hits[0].embedding_model is None
    by_meaning = world.engine().search(dataclasses.replace(QUERY, mode=SearchMode.VECTOR))
    assert (by_meaning.hits, by_meaning.degraded) == ((), response.degraded)


@pytest.mark.parametrize(
    ("days_later", "threshold", "overdue"), [(29, 30, False), (31, 30, True), (31, 0, False)]
)
def test_staleness_counts_from_when_a_run_last_verified(
    world: SearchWorld, days_later: int, threshold: int, *, overdue: bool
) -> None:
    snapshot = world.snapshot()
    now = to_epoch(NOW) + days_later * 86_400
    fresh = Freshness(snapshot, now=now, threshold_days=threshold)

    assert {fresh.is_overdue(doc) for doc in snapshot.docs(None)} == {overdue}
    assert fresh.count_overdue() == (21 if overdue else 0)


def test_an_unknown_medium_gives_no_hits_and_a_warning(world: SearchWorld) -> None:
    query = dataclasses.replace(QUERY, filters=SearchFilters(media=("papyrus",)))

    response = world.engine().search(query)

    assert response.hits == ()
    assert len(response.warnings) == 1
    assert "'papyrus' is unknown" in response.warnings[0]


@pytest.mark.parametrize(
    "narrow", [SearchFilters(tag=("\ud800",)), SearchFilters(path_glob=("a\udfff*",))]
)
def test_half_a_surrogate_pair_in_a_filter_is_refused(
    world: SearchWorld, narrow: SearchFilters
) -> None:
    with pytest.raises(InvalidInput, match="is not valid Unicode"):
        world.engine().search(dataclasses.replace(QUERY, filters=narrow))


class _Counting:
    """A snapshot that counts how often the ledger's rows are asked for."""

    def __init__(self, whole: IndexSnapshot) -> None:
        self.whole, self.asked = whole, 0

    def files(self, where: Filter | None) -> Sequence[StoredFile]:
        self.asked += 1
        return self.whole.files(where)

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole, name)


def test_files_that_were_touched_are_as_they_were_and_cost_one_question_together(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for n in range(12):
        (notes / f"{n}.md").write_text(f"an otter, number {n}\n", "utf-8")
    source = Source(id="notes", root=notes)
    config = dataclasses.replace(Config.inside(tmp_path, source), embedding=Embedding(model="none"))
    with open_here(config) as kb:
        list(kb.ingest(IngestOptions()))
        for file in notes.iterdir():
            os.utime(file, (1_000_000_000, 1_000_000_000))
        list(kb.ingest(IngestOptions()))  # nothing is read anew, and the ledger knows the times
        (notes / "3.md").write_text("an otter, no more 3\n", "utf-8")
        (notes / "5.md").unlink()
        with closing(Reader(config.storage.data_dir)) as reader:
            snapshot = _Counting(reader.snapshot())
            fresh = Freshness(cast("IndexSnapshot", snapshot), now=0, threshold_days=0)
            docs = snapshot.whole.docs(None)
            fresh.look_at(docs)

            stale = {doc["path"] for doc in docs if fresh.is_stale(doc)}
        assert stale == {"3.md", "5.md"}
        assert snapshot.asked == 1
        found = kb.search(SearchQuery(text="otter", k=20, mode=SearchMode.LEXICAL))
        assert {hit.doc_path for hit in found.hits if hit.stale} == stale
        assert len(found.hits) == 12


@pytest.mark.parametrize(
    ("asked", "unknown"),
    [
        ("방송사가 위치한 곳은", ["곳은"]),
        ("방송사가 고양이는", ["고양이는"]),
        ("NHL규격은 zebra", ["zebra"]),
        ("applies zebra", ["zebra"]),
        ("马飚毕业于哪所大学", []),
        ("7月に入ると東北地方はどうなる", []),
        ("検索", ["検索"]),
        ("データベース", ["データベース"]),
    ],
)
def test_of_scripts_without_spaces_and_with_endings_only_what_stands_nowhere_is_missing(
    tmp_path: Path, asked: str, unknown: list[str]
) -> None:
    world = SearchWorld(tmp_path)
    world.write(
        "터키 국영 방송사의 위치하는 도시", "the NHL규격을 적용, applied", "马飚 中央民族学院毕业"
    )
    query = SearchQuery(text=asked, mode=SearchMode.LEXICAL, passages=True)

    missing = world.engine().search(query).missing

    assert list(missing.unknown if missing else ()) == unknown
