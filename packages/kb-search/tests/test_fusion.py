"""Reciprocal rank fusion: pure arithmetic on ranks."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_core.search import Parent, Scored
from kb_search.fusion import (
    FUSIONS,
    Basis,
    Fused,
    alone,
    convex_combination,
    corroborated,
    fuse,
    reciprocal_rank_fusion,
    rounded,
)


def ranking(keys: str) -> list[Scored]:
    """Write a ranking as its chunk keys, best first: ``ranking("3 1 2")``."""
    return [Scored(int(key), 1.0) for key in keys.split()]


def check(lexical: str, vector: str, fused: str) -> None:
    """The only place that knows how fusion is called."""
    result = reciprocal_rank_fusion(ranking(lexical), ranking(vector))
    assert " ".join(str(row.chunk_key) for row in result) == fused


def test_agreement_beats_one_enthusiast() -> None:
    check("1 2 3", "4 2 5", fused="2 1 4 3 5")


def test_one_channel_keeps_its_order() -> None:
    check("3 1 2", "", fused="3 1 2")
    check("", "3 1 2", fused="3 1 2")


def test_first_in_both_is_one_and_first_in_one_is_a_half() -> None:
    both = reciprocal_rank_fusion(ranking("7"), ranking("7"))
    alone = reciprocal_rank_fusion(ranking("7"), [])

    assert both[0].score == pytest.approx(1.0)
    assert alone[0].score == pytest.approx(0.5)
    assert (alone[0].lexical_rank, alone[0].vector_rank) == (1, None)


keys = st.lists(st.integers(1, 40), unique=True, max_size=30)


@given(keys, keys)
def test_the_fused_list_is_the_union_within_bounds(words: list[int], meaning: list[int]) -> None:
    fused = reciprocal_rank_fusion(
        [Scored(k, 1.0) for k in words], [Scored(k, 1.0) for k in meaning]
    )

    assert sorted(row.chunk_key for row in fused) == sorted({*words, *meaning})
    assert all(0 < row.score <= 1 for row in fused)
    assert [row.score for row in fused] == sorted((row.score for row in fused), reverse=True)


@given(
    st.lists(st.integers(0, 40), max_size=120),
    st.sampled_from(FUSIONS),
)
def test_a_ranking_alone_is_scored_as_it_is_when_fused_with_nothing(
    scores: list[int], method: str
) -> None:
    rows = [Scored(key, score / 7) for key, score in enumerate(sorted(scores, reverse=True))]

    found = [alone(method, rows, at) for at in range(len(rows))]

    assert [row.chunk_key for row in found] == [row.chunk_key for row in rows]
    assert sorted(found, key=lambda row: (-row.score, row.chunk_key)) == fuse(method, rows, [])


@given(st.lists(st.floats(), max_size=20) | st.lists(st.floats(0, 100), max_size=20))
def test_scores_are_rounded_as_python_rounds_them(scores: list[float]) -> None:
    assert list(map(repr, rounded(scores))) == [repr(round(score, 6)) for score in scores]


def scores_of(rows: list[Scored] | list[Fused]) -> dict[int, float]:
    return {row.chunk_key: row.score for row in rows}


def test_a_document_that_speaks_of_it_throughout_comes_before_one_lucky_passage() -> None:
    rows = [Scored(1, 10.0), Scored(21, 9.5), Scored(22, 9.0), Scored(23, 8.5), Scored(3, 1.0)]
    lucky, throughout, short = Parent(1, 9), Parent(2, 9), Parent(3, 1)
    parents = {1: lucky, 21: throughout, 22: throughout, 23: throughout, 3: short}

    told = corroborated(rows, parents)

    assert [row.chunk_key for row in told] == [21, 22, 23, 1, 3]
    assert scores_of(told) == pytest.approx(
        {
            1: 10 / 1.21,
            21: (9.5 + 0.15 * (9.0 + 8.5)) / 1.21,
            22: (9.0 + 0.15 * (9.5 + 8.5)) / 1.21,
            23: (8.5 + 0.15 * (9.5 + 9.0)) / 1.21,
            3: 1.0,
        },
        abs=1e-6,
    )


ranked = st.lists(st.integers(1, 2000), max_size=130).map(
    lambda scores: [Scored(key, n / 10) for key, n in enumerate(sorted(scores, reverse=True))]
)


@given(ranked)
def test_documents_of_one_passage_keep_their_scores(rows: list[Scored]) -> None:
    parents = {row.chunk_key: Parent(row.chunk_key, 1) for row in rows}

    assert corroborated(rows, parents) == corroborated(rows, {}) == rows


@given(ranked, st.integers(1, 7), st.integers(1, 9))
def test_how_far_a_list_goes_on_reorders_nothing_before(
    rows: list[Scored], docs: int, more: int
) -> None:
    parents = {row.chunk_key: Parent(row.chunk_key % docs, docs + more) for row in rows}

    short = scores_of(corroborated(rows[:100], parents))
    whole = scores_of(corroborated(rows, parents))

    assert {key: whole[key] for key in short} == short


@given(ranked, ranked, st.integers(1, 7))
def test_a_fused_list_stays_within_bounds_and_keeps_its_rows(
    words: list[Scored], meaning: list[Scored], docs: int
) -> None:
    meaning = [Scored(row.chunk_key + 50, row.score / 200) for row in meaning]
    fused = fuse("auto", words, meaning)
    parents = {row.chunk_key: Parent(row.chunk_key % docs, 1 + docs) for row in fused}

    told = fuse("auto", words, meaning, basis=Basis(parents=parents))

    assert sorted(scores_of(told)) == sorted(scores_of(fused))
    assert all(0 <= row.score <= 1 for row in told)
    assert told == sorted(told, key=lambda row: (-row.score, row.chunk_key))
    by_key = {row.chunk_key: row for row in fused}
    for row in told:
        before = by_key[row.chunk_key]
        assert (row.lexical_rank, row.vector_rank) == (before.lexical_rank, before.vector_rank)


@given(ranked, ranked, st.integers(1, 7))
def test_a_deeper_pool_gives_the_first_candidates_of_both_the_same_scores(
    words: list[Scored], meaning: list[Scored], docs: int
) -> None:
    meaning = [Scored(row.chunk_key, row.score / 200) for row in meaning]
    parents = {key: Parent(key % docs, 1 + docs) for key in range(200)}

    shallow, deep = (
        {
            row.chunk_key: row.score
            for row in convex_combination(words[:end], meaning[:end], 0.5, parents=parents)
        }
        for end in (100, 130)
    )

    in_both = {row.chunk_key for row in words[:100]} & {row.chunk_key for row in meaning[:100]}
    assert {key: deep[key] for key in in_both} == {key: shallow[key] for key in in_both}


@given(ranked, st.integers(1, 9), st.integers(1, 5), st.integers(1, 130))
def test_a_passage_counts_with_the_best_two_others_of_its_document(
    rows: list[Scored], docs: int, chunks: int, depth: int
) -> None:
    rows = rows[:depth]
    parents = {row.chunk_key: Parent(row.chunk_key % docs, chunks) for row in rows}

    told = corroborated(rows, parents)

    expected = {}
    for key, score in rows:
        others = [row for row in rows[:100] if row.chunk_key % docs == key % docs]
        said = sorted((row.score for row in others if row.chunk_key != key), reverse=True)
        said = [*said, 0.0, 0.0][: chunks - 1] + [0.7 * score] * 2
        expected[key] = (score + 0.15 * said[0] + 0.15 * said[1]) / (1 + 0.3 * 0.7)
    if chunks == 1:
        expected = {row.chunk_key: row.score for row in rows}
    assert {row.chunk_key: row.score for row in told} == pytest.approx(expected, abs=1e-6)
