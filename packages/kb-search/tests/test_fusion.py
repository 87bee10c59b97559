"""Reciprocal rank fusion: pure arithmetic on ranks."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_core.search import Scored
from kb_search.fusion import FUSIONS, alone, fuse, reciprocal_rank_fusion


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
    st.booleans(),
)
def test_a_ranking_alone_is_scored_as_it_is_when_fused_with_nothing(
    scores: list[int], method: str, is_words: bool
) -> None:
    rows = [Scored(key, score / 7) for key, score in enumerate(sorted(scores, reverse=True))]

    found = alone(method, rows, is_words=is_words, rrf_k=60)

    assert [row.chunk_key for row in found] == [row.chunk_key for row in rows]
    fused = fuse(method, rows, []) if is_words else fuse(method, [], rows)
    assert sorted(found, key=lambda row: (-row.score, row.chunk_key)) == fused
