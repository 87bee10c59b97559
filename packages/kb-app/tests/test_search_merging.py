"""One list out of several: what is the same, what it scores, and in which order it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._search.aggregate import BONUS, Merged, QueryList, merge_lists
from kb_app._search.ranking import Row
from kb_core.ports import StoredChunk
from kb_core.testing.documents import document, stored_chunk
from kb_search.fusion import Fused


def chunk(doc: str, start: int, end: int, *, line: int | None = None) -> StoredChunk:
    """Return a chunk of *doc*; *line* is the one line it stands on, else a line per character."""
    made = document(doc, "text", doc_id=doc)
    return stored_chunk(
        made.chunks[0],
        made,
        ordinal=start,
        start=start,
        end=end,
        line_start=line or start + 1,
        line_end=line or end,
    )


APART = {key: chunk(f"{key}.py", 0, 10) for key in range(12)}


def listed(name: str, scores: Mapping[int, float], *, kind: str = "fused") -> QueryList:
    rows = [Row(Fused(key, score), score, kind) for key, score in scores.items()]
    return QueryList((name,), sorted(rows, key=lambda row: -row.score))


def shown(merged: Sequence[Merged]) -> list[tuple[int, float, float, int]]:
    return [
        (one.row.chunk_key, round(one.base, 4), round(one.score, 4), one.matches) for one in merged
    ]


def test_the_base_is_the_best_score_whichever_query_had_it() -> None:
    first, second = listed("a", {1: 0.5, 2: 0.8}), listed("b", {1: 0.7})

    for lists in ([first, second], [second, first]):
        assert shown(merge_lists(lists, APART)) == [(2, 0.8, 0.8, 1), (1, 0.7, 0.735, 2)]


@pytest.mark.parametrize(("matches", "factor"), [(1, 1.0), (2, 1.05), (3, 1.1), (4, 1.15)])
def test_each_further_query_adds_five_percent(matches: int, factor: float) -> None:
    lists = [listed(str(n), {1: 0.6}) for n in range(matches)]

    (only,) = merge_lists(lists, APART)

    assert only.score == pytest.approx(0.6 * factor)
    assert (only.matches, only.found_by) == (matches, frozenset(range(matches)))


def test_the_same_chunk_twice_within_one_query_is_one_match() -> None:
    rows = [Row(Fused(1, s), s, "fused") for s in (0.6, 0.4)]

    (only,) = merge_lists([QueryList(("a",), rows)], APART)

    assert (only.base, only.score, only.matches, only.count) == (0.6, 0.6, 1, 1)


def test_the_same_query_asked_twice_is_one_match_found_by_both() -> None:
    (only,) = merge_lists([listed("a", {1: 0.6}), listed("a", {1: 0.6})], APART)

    assert (only.score, only.matches) == (0.6, 1)
    assert only.found_by == {0, 1}


def test_a_row_without_a_place_is_dropped_and_not_merged_with_others() -> None:
    lists = [listed("a", {1: 0.6, 98: 0.9, 99: 0.9}), listed("b", {98: 0.9})]

    assert shown(merge_lists(lists, APART)) == [(1, 0.6, 0.6, 1)]


def test_passages_with_the_same_lines_are_one_if_they_share_characters() -> None:
    """A line of a minified file is many chunks, and each of them is a result of its own."""
    chunks = {
        1: chunk("a.py", 0, 100, line=1),
        2: chunk("a.py", 90, 190, line=1),
        3: chunk("a.py", 190, 290, line=1),
        4: chunk("b.py", 0, 100, line=1),
    }
    lists = [listed("a", {1: 0.9, 3: 0.5}), listed("b", {2: 0.8, 4: 0.4})]

    merged = merge_lists(lists, chunks)

    assert shown(merged) == [(1, 0.9, 0.945, 2), (3, 0.5, 0.5, 1), (4, 0.4, 0.4, 1)]
    assert [one.count for one in merged] == [2, 1, 1]
    assert merged[0].found_by == {0, 1}


@pytest.mark.parametrize(("shared", "results"), [(49, 2), (50, 1)])
def test_passages_that_share_half_of_the_shorter_one_are_near_duplicates(
    shared: int, results: int
) -> None:
    chunks = {1: chunk("a.md", 0, 300), 2: chunk("a.md", 300 - shared, 400 - shared)}

    assert len(merge_lists([listed("a", {1: 0.9, 2: 0.8})], chunks)) == results


def test_bm25_is_compared_by_its_share_of_each_query_s_best() -> None:
    """A rare word scores 20 and a common one 2: neither is worth more for it (ruling R18)."""
    rare = listed("rare", {1: 20.0, 2: 10.0}, kind="bm25")
    common = listed("common", {3: 2.0, 2: 1.8}, kind="bm25")

    assert shown(merge_lists([rare, common], APART)) == [
        (1, 1.0, 1.0, 1),
        (3, 1.0, 1.0, 1),
        (2, 0.9, 0.945, 2),
    ]


def test_scores_of_different_kinds_are_compared_in_the_same_way() -> None:
    fused, cosine = listed("a", {1: 0.4, 2: 0.2}), listed("b", {3: 0.9}, kind="cosine")

    assert [one.base for one in merge_lists([fused, cosine], APART)] == [1.0, 1.0, 0.5]


def test_a_match_more_is_never_a_place_less_even_below_zero() -> None:
    lists = [listed("a", {1: -0.2, 2: -0.2}, kind="cosine"), listed("b", {2: -0.2}, kind="cosine")]

    assert [one.row.chunk_key for one in merge_lists(lists, APART)] == [2, 1]


def test_equal_scores_stand_by_source_path_and_position() -> None:
    chunks = {1: chunk("b.py", 0, 5), 2: chunk("a.py", 50, 60), 3: chunk("a.py", 0, 5)}

    merged = merge_lists([listed("a", {1: 0.5, 2: 0.5, 3: 0.5000001})], chunks)

    assert [one.row.chunk_key for one in merged] == [3, 2, 1]


def test_nothing_found_is_an_empty_list() -> None:
    assert merge_lists([], {}) == []
    assert merge_lists([listed("a", {})], APART) == []


scores = st.dictionaries(
    st.integers(0, 5), st.sampled_from([0.1, 0.25, 0.5, 0.9]), min_size=1, max_size=5
)
OVERLAPPING = {
    0: chunk("a.py", 0, 10, line=1),
    1: chunk("a.py", 5, 15, line=1),
    2: chunk("a.py", 14, 20, line=2),
    3: chunk("b.py", 0, 10),
    4: chunk("b.py", 4, 30),
    5: chunk("c.py", 0, 10),
}


@given(st.lists(scores, min_size=1, max_size=3), st.sampled_from(["fused", "bm25"]))
@settings(max_examples=150)
def test_the_order_of_the_queries_does_not_matter(found: list[dict[int, float]], kind: str) -> None:
    lists = [listed(str(at), one, kind=kind) for at, one in enumerate(found)]
    answers = []
    for order in permutations(lists):
        merged = merge_lists(order, OVERLAPPING)
        named = [(order[one.shown_for].identity, one.row) for one in merged]
        queries = [{order[at].identity for at in one.found_by} for one in merged]
        answers.append((shown(merged), named, queries))

    assert all(answer == answers[0] for answer in answers)


@given(st.lists(scores, min_size=1, max_size=3))
@settings(max_examples=150)
def test_asking_a_query_again_changes_nothing_but_who_found_it(
    found: list[dict[int, float]],
) -> None:
    lists = [listed(str(at), one) for at, one in enumerate(found)]

    again = merge_lists([*lists, lists[0]], OVERLAPPING)

    assert shown(again) == shown(merge_lists(lists, OVERLAPPING))
    assert all((0 in one.found_by) == (len(lists) in one.found_by) for one in again)


@given(st.lists(scores, min_size=1, max_size=4))
@settings(max_examples=150)
def test_every_score_is_the_best_one_and_its_bonus(found: list[dict[int, float]]) -> None:
    apart = {key: APART[key] for key in range(6)}

    merged = merge_lists([listed(str(at), one) for at, one in enumerate(found)], apart)

    best = {key: max(one.get(key, 0) for one in found) for one in found for key in one}
    assert {one.row.chunk_key: one.base for one in merged} == best
    for one in merged:
        queries = sum(one.row.chunk_key in scores for scores in found)
        assert one.matches == queries
        assert one.score == pytest.approx(one.base * (1 + BONUS * (queries - 1)))
