"""Ranking knows what is there, not what was: after any history, scores are a fresh index's."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import given, settings, strategies as st

from kb_core.filters import Words
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_search import common_words
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot
from kb_search.statistics import SCORED_FIELDS, Counted, balance, drift, pivots
from kb_search.weighing import FILLING
from kb_search.writer import Writer

_WORDS = (
    *("alpha", "bread", "the", "of", "parse_glob", "HttpServer", "naïve", "connection"),
    *("connected", "벡터검색", "检索", "lighthouse"),
)
_PATHS = [f"notes/{name}.md" for name in "abcdefghij"]
_QUERIES = (
    LexicalQuery((Clause("alpha bread the connection"),)),
    LexicalQuery((Clause("parse_glob HttpServer 벡터 检索"),)),
    LexicalQuery((Clause("the bread", phrase=True), Clause("lighthouse"))),
    LexicalQuery((Clause("alpha", kind="must"), Clause("bread of the"))),
    LexicalQuery((Clause("检索", phrase=True, kind="must"), Clause("notes naive"))),
    LexicalQuery((Clause("connection"), Clause("bread", kind="must_not"))),
    LexicalQuery((Clause("ligthhouse parse_glbo"),)),
)

_RELATIVE, _ABSOLUTE = 1e-6, 1.5e-6
"""A score is rounded to 1e-6, and the engine counts in single precision."""

_UNMERGED = 3
"""Publications that leave seven segments at most: two each, and one to fill up."""

_Texts = Mapping[str, str]
_passages = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=60).map(" ".join)
_texts = st.lists(_passages, min_size=1, max_size=3).map("\n\n".join)
_steps = st.lists(
    st.dictionaries(st.sampled_from(_PATHS), st.none() | _texts, min_size=1, max_size=6),
    min_size=1,
    max_size=9,
)


def _scores(snapshot: Snapshot) -> list[dict[tuple[str, int], float]]:
    """Return, by query, the score of each passage, which a path and an ordinal name."""
    found = []
    for query in _QUERIES:
        rows = snapshot.lexical(query, None, 100)
        chunks = snapshot.chunks([row.chunk_key for row in rows])
        places = (
            (str(chunks[row.chunk_key]["path"]), int(chunks[row.chunk_key]["ordinal"]))
            for row in rows
        )
        found.append(dict(zip(places, (row.score for row in rows), strict=True)))
    return found


def _counted_as_told(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Return what a writer counted ahead, as searches for each word count it."""
    statistics = snapshot.roughly().statistics
    told, statistics._common = snapshot._common.counts, Mock(get=lambda *_: None)
    return {
        field: {word: statistics.frequency(field, word) for word in words if word != FILLING}
        | {word: count for word, count in words.items() if word == FILLING}
        for field, words in told.items()
    }


def _fresh(folder: Path, texts: _Texts) -> Snapshot:
    corpus = Corpus()
    with closing(Writer(folder)) as writer:
        writer.publish(corpus.publication(*(corpus.document(p, t) for p, t in texts.items())))
    return Reader(folder).snapshot()


@settings(max_examples=20)
@given(_steps, st.booleans(), st.booleans())
def test_scores_after_any_history_are_those_of_a_fresh_index(
    steps: list[dict[str, str | None]], one_writer: bool, is_large: bool
) -> None:
    """Whether one run made all changes, or each change was a run of its own.

    A writer of a large index counts common words ahead: of all, and then in what it changes.
    """
    texts: dict[str, str] = {}
    corpus = Corpus()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb_search.common_words.LARGE", 0 if is_large else 200_000)
        patch.setattr("kb_search.common_words._COMMON", 1)
        folder = Path(name)
        writer = Writer(folder / "old")
        for number, step in enumerate(steps, start=1):
            changed = {path: text for path, text in step.items() if text is not None}
            removed = [path for path, text in step.items() if text is None and path in texts]
            documents = [corpus.document(path, text) for path, text in changed.items()]
            writer.publish(corpus.publication(*documents, removed=removed))
            texts = {path: text for path, text in texts.items() if path not in removed} | changed
            if not one_writer:
                writer.close()
                writer = Writer(folder / "old")
            # Not only at rest: what is published is right while the writer goes on, as long as
            # no merge can have ended since, which takes eight segments.
            if not one_writer or number <= _UNMERGED:
                assert Reader(folder / "old").snapshot().drift() < 1e-6
        writer.close()
        aged = Reader(folder / "old").snapshot()

        expected = _scores(_fresh(folder / "new", texts))

        assert aged.drift() < 1e-6
        passages = sum(text.count("\n\n") + 1 for text in texts.values())
        assert aged.control.statistics["passages"] == passages
        assert aged.statistics.documents == len(texts) + 1
        assert aged._common.counts or not (is_large and aged.statistics._has_deleted)
        assert aged._common.counts == _counted_as_told(aged)
        for got, wanted in zip(_scores(aged), expected, strict=True):
            assert got == pytest.approx(wanted, rel=_RELATIVE, abs=_ABSOLUTE)


def test_merges_that_forget_deleted_passages_change_no_score(tmp_path: Path) -> None:
    """Small commits are merged, and then lengths are estimated: the writer makes up for it."""
    corpus = Corpus()
    with closing(Writer(tmp_path / "old")) as writer:
        for number in range(60):
            text = f"alpha bread {'lighthouse ' * (3 * number)}"
            writer.publish(corpus.publication(corpus.document(f"{number % 7}.md", text)))
    texts = {
        f"{number % 7}.md": f"alpha bread {'lighthouse ' * (3 * number)}"
        for number in range(53, 60)
    }

    aged = Reader(tmp_path / "old").snapshot()
    wanted = _scores(_fresh(tmp_path / "new", texts))

    assert aged.drift() < 1e-6
    assert _scores(aged) == [
        pytest.approx(scores, rel=_RELATIVE, abs=_ABSOLUTE) for scores in wanted
    ]


def test_words_are_counted_by_searches_only_where_passages_were_deleted(tmp_path: Path) -> None:
    """Each publication deletes a control record, which holds no word."""
    corpus = Corpus()
    with closing(Writer(tmp_path)) as writer:
        for name in "abc":
            writer.publish(corpus.publication(corpus.document(f"{name}.md", f"alpha {name}")))
    grown = Reader(tmp_path).snapshot().statistics
    grown._searcher = cast("Any", SimpleNamespace(doc_freq=grown._searcher.doc_freq))

    assert grown._segments.has_deleted
    assert grown.frequency("stem", "alpha") == 3

    with closing(Writer(tmp_path)) as writer:
        writer.publish(corpus.publication(removed=["b.md"]))
    aged = Reader(tmp_path).snapshot().statistics

    assert aged.frequency("stem", "alpha") == 2


def test_roughly_common_words_are_counted_by_their_share_and_rare_ones_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of a million passages take milliseconds to count those that are left."""
    corpus = Corpus()
    with closing(Writer(tmp_path)) as writer:
        docs = [corpus.document(f"{n}.md", f"alpha {'bread' * (n < 3)}") for n in range(10)]
        writer.publish(corpus.publication(*docs))
        writer.publish(corpus.publication(removed=["2.md", "9.md"]))
    monkeypatch.setattr("kb_search.statistics._COMMON", 5)
    snapshot = Reader(tmp_path).snapshot()
    rough = snapshot.roughly()
    searcher = Mock(wraps=rough.statistics._searcher)
    rough.statistics._searcher = searcher

    assert rough.statistics.frequency("stem", "alpha") == 8
    assert searcher.search.call_count == 0
    assert rough.statistics.frequency("stem", "bread") == 2
    assert rough.count(Words("body", "alpha")) == snapshot.count(Words("body", "alpha")) == 8
    assert searcher.search.call_count == 1


@pytest.fixture
def counted_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every word counted by whoever writes, as in a large index."""
    monkeypatch.setattr("kb_search.common_words.LARGE", 0)
    monkeypatch.setattr("kb_search.common_words._COMMON", 1)


def _told_and_counted(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Return in how many passages some stems stand as told ahead, and as a search counts them."""
    statistics = Reader(folder).snapshot().statistics
    told = {word: statistics._common.get("stem", word) for word in ("alpha", "bread", "lighthous")}
    statistics._common = cast("Any", SimpleNamespace(get=lambda *_: None))
    counted = {word: statistics.frequency("stem", word) for word in told}
    return {word: count for word, count in told.items() if count is not None}, counted


@pytest.mark.usefixtures("counted_ahead")
def test_a_writer_counts_common_words_ahead_where_passages_were_deleted(tmp_path: Path) -> None:
    corpus, told = Corpus(), tmp_path / "lexical/chunks/common.json"
    with closing(Writer(tmp_path)) as writer:
        docs = [corpus.document(f"{n}.md", f"alpha {'bread' * (n < 3)}") for n in range(10)]
        writer.publish(corpus.publication(*docs))
    assert not told.exists()  # what the engine's dictionary says is right

    with closing(Writer(tmp_path)) as writer:
        edited = corpus.document("0.md", "alpha lighthouse")
        writer.publish(corpus.publication(edited, removed=["2.md", "9.md"]))
    ahead, counted = _told_and_counted(tmp_path)
    assert ahead == counted == {"alpha": 8, "bread": 1, "lighthous": 1}
    statistics = Reader(tmp_path).snapshot().statistics
    statistics._searcher = cast("Any", SimpleNamespace(doc_freq=statistics._searcher.doc_freq))
    assert statistics.frequency("stem", "alpha") == 8  # no search

    with closing(Writer(tmp_path)):
        pass  # nothing is written
    assert _told_and_counted(tmp_path)[0] == ahead

    killed = Writer(tmp_path)
    killed.publish(corpus.publication(removed=["0.md"]))
    assert _told_and_counted(tmp_path) == ({}, {"alpha": 7, "bread": 1, "lighthous": 0})
    killed.close()
    assert _told_and_counted(tmp_path)[0] == {"alpha": 7, "bread": 1, "lighthous": 0}
    told.write_bytes(told.read_bytes().replace(b'"bread":1', b'"bread":9'))
    assert _told_and_counted(tmp_path)[0] == {}  # damaged: as if there were none


@pytest.mark.usefixtures("counted_ahead")
def test_words_that_are_common_in_names_too_are_counted_ahead_there(tmp_path: Path) -> None:
    """*the* of a hundred thousand titles takes milliseconds to count, in each of three fields."""
    corpus = Corpus()
    names = [f"the alpha {n}.md" for n in range(10)]

    def told() -> tuple[dict[str, int | None], dict[str, int]]:
        statistics = Reader(tmp_path).snapshot().statistics
        ahead = {field: statistics._common.get(field, "alpha") for field in ("head", "called")}
        statistics._common = cast("Any", SimpleNamespace(get=lambda *_: None))
        return ahead, {field: statistics.frequency(field, "alpha") for field in ahead}

    with closing(Writer(tmp_path)) as writer:
        docs = [corpus.document(name, "# The alpha\n\nalpha bread") for name in names]
        writer.publish(corpus.publication(*docs))
        writer.publish(corpus.publication(removed=[names[9]]))
    ahead, counted = told()
    assert ahead == counted
    assert counted["head"] == counted["called"] > 0

    with closing(Writer(tmp_path)) as writer:  # in what is replaced and added alone
        edited = corpus.document(names[0], "# The bread\n\nalpha", title="bread")
        writer.publish(corpus.publication(edited, removed=[names[1]]))
    again, counted_again = told()
    assert again == counted_again != counted


@pytest.mark.usefixtures("counted_ahead")
def test_of_few_documents_common_words_are_counted_in_these_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus()
    with closing(Writer(tmp_path)) as writer:
        docs = [corpus.document(f"{n}.md", "alpha bread lighthouse") for n in range(10)]
        writer.publish(corpus.publication(*docs))
        writer.publish(corpus.publication(removed=["9.md"]))
    count = Mock(wraps=common_words.count)
    monkeypatch.setattr(common_words, "count", count)

    for removed in (["0.md"], ["1.md", "2.md"]):
        with closing(Writer(tmp_path)) as writer:
            writer.publish(corpus.publication(corpus.document("3.md", "alpha")))
            writer.publish(corpus.publication(corpus.document("3.md", "bread"), removed=removed))
    assert _told_and_counted(tmp_path)[0] == {"alpha": 5, "bread": 6, "lighthous": 5}
    assert count.call_count == 0

    with closing(Writer(tmp_path)) as writer:
        for word in ("alpha", "bread", "alpha bread"):  # more often than counting all takes
            writer.publish(corpus.publication(corpus.document("3.md", word)))
    assert _told_and_counted(tmp_path)[0] == {"alpha": 6, "bread": 6, "lighthous": 5}
    assert count.call_count == 1


def test_an_index_that_is_mostly_dead_is_known_for_it(tmp_path: Path) -> None:
    corpus = Corpus()
    first = [corpus.document(f"{n}.md", f"alpha {n}") for n in range(1500)]
    with closing(Writer(tmp_path)) as writer:
        writer.publish(corpus.publication(*first))
        assert not writer.is_mostly_dead
        writer.publish(corpus.publication(removed=[doc.path for doc in first[1:]]))
        assert writer.is_mostly_dead


def test_a_length_that_goes_up_and_down_within_a_run_is_made_up_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time a mean falls past a step, all other fields need as many terms as records came."""
    monkeypatch.setattr("kb_search.statistics._DEAR", 1000)
    corpus, texts = Corpus(), {f"{n}.md": "alpha bread" for n in range(200)}
    with closing(Writer(tmp_path / "old")) as writer:
        for number in range(3):
            signs = {f"signs{number}{n}.md": "검색 벡터" * 30 for n in range(8)}
            words = {f"words{number}{n}.md": "connection" for n in range(200)}
            for step in (texts, signs, words) if number == 0 else (signs, words):
                docs = (corpus.document(path, text) for path, text in step.items())
                writer.publish(corpus.publication(*docs))
                texts |= step
        ongoing = Reader(tmp_path / "old").snapshot()
    aged = Reader(tmp_path / "old").snapshot()

    assert ongoing._segments.records < 1.1 * len(texts)
    assert aged._segments.records < 1.2 * len(texts)
    assert aged.drift() < 1e-6
    wanted = _scores(_fresh(tmp_path / "new", texts))
    assert _scores(aged) == [
        pytest.approx(scores, rel=_RELATIVE, abs=_ABSOLUTE) for scores in wanted
    ]


def test_an_index_that_is_to_be_mostly_filling_is_known_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making it again takes less than as many records as a mean has fallen by."""
    monkeypatch.setattr("kb_search.writer._WORTH_EXPUNGING", 0)
    corpus = Corpus()
    notes = [corpus.document(f"{n}.md", f"alpha {n}") for n in range(40)]
    signs = [corpus.document(f"signs{n}.md", "검색 벡터" * 30) for n in range(10)]
    with closing(Writer(tmp_path)) as writer:
        writer.publish(corpus.publication(*notes, *signs))
        monkeypatch.setattr("kb_search.statistics._DEAR", 0)
        writer.publish(corpus.publication(removed=[doc.path for doc in signs]))

        assert Reader(tmp_path).snapshot()._segments.records < 60
        assert writer.is_mostly_dead


_lengths = st.fixed_dictionaries({field: st.integers(0, 5000) for field in SCORED_FIELDS})


@given(_lengths, st.integers(1, 200), st.integers(1, 400))
def test_fillers_bring_every_mean_to_its_aim(
    terms: dict[str, int], passages: int, records: int
) -> None:
    aims = pivots({"passages": passages, **terms})
    counted = Counted(max(passages, records), terms)

    filled = counted.plus(balance(counted, aims))

    assert drift(filled, aims) < 1e-9
    assert balance(filled, aims) == []


def test_no_filler_is_so_long_that_it_takes_much_memory() -> None:
    aims = dict.fromkeys(SCORED_FIELDS, 3) | {"stem": 96}
    counted = Counted(500_000, dict.fromkeys(aims, 2.5 * 500_000) | {"stem": 94 * 500_000})

    fillers = balance(counted, aims)

    assert len(fillers) < 20
    assert max(length for filler in fillers for length in filler.values()) == 65_536
    assert drift(counted.plus(fillers), aims) < 1e-9


@given(_lengths, st.integers(1, 200))
def test_a_pivot_is_near_the_mean_and_never_below(terms: dict[str, int], passages: int) -> None:
    for field, pivot in pivots({"passages": passages, **terms}).items():
        mean = max(1.0, terms[field] / passages)
        assert mean <= pivot <= max(mean + 1, mean * 1.125)
