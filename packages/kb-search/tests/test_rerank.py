"""Reranking by vectors of tokens: arithmetic, order of the list, an end when it is asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_core.control import EmbeddingModel
from kb_core.errors import InvalidInput
from kb_core.ports import CloseReader as CloseReaderPort, Reranker, never
from kb_core.testing.fakes import HashEmbedder
from kb_search.rerank import CloseReader, MaxSimReranker, below, blend, max_sim, words_of

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

LETTERS = "abcdefgh"


def one_hot(text: str) -> Array:
    """A token per letter of a to h, each at a right angle to the others."""
    rows = [[float(letter == other) for other in LETTERS] for letter in text if letter in LETTERS]
    return np.array(rows, np.float32).reshape(-1, len(LETTERS))


class Letters(HashEmbedder):
    """An embedder whose tokens are letters; notes what was read, and calls *on_read* then."""

    def __init__(self, threads: int = 1, on_read: Callable[[], object] = never) -> None:
        super().__init__(name="letters")
        self.threads = threads
        self.read: list[str] = []
        self._on_read = on_read

    def embed_query(self, text: str, /) -> bytes:
        return bytes(one_hot(text).sum(axis=0).tobytes())

    def compared_query(self, text: str, /) -> tuple[Array, list[str]]:
        return one_hot(text), [f" {letter}" for letter in text if letter in LETTERS]

    def query_tokens(self, text: str, /) -> Array:
        return one_hot(text)

    def compared_passage(self, text: str, /) -> Array:
        self.read.append(text)
        self._on_read()
        return one_hot(text)

    def part_tokens(self, parts: Sequence[str], /) -> list[Array]:
        return [self.compared_passage(part) for part in parts]


def scores(query: str, *passages: str) -> list[float] | None:
    return MaxSimReranker(Letters()).rerank(query, passages)


# Scores.


def test_a_score_is_the_share_of_the_query_that_is_found() -> None:
    assert scores("abcd", "dcba", "ab", "xyz", "a a a e") == [1.0, 0.5, 0.0, 0.25]


def test_each_token_counts_by_its_nearest_one() -> None:
    query = np.array([[1, 0], [0, 1]], np.float32)
    passage = np.array([[0.6, 0.8], [0.8, 0.6], [-1, 0]], np.float32)

    assert max_sim(query, passage) == pytest.approx(0.8)


def test_what_points_away_is_worth_nothing() -> None:
    away = np.array([[1, 0]], np.float32)

    assert max_sim(away, -away) == 0


def test_a_query_or_a_passage_without_tokens_is_worth_nothing() -> None:
    assert scores("", "abc") == [0.0]
    assert scores("abc", "", "a") == [0.0, pytest.approx(1 / 3, abs=1e-6)]
    assert scores("abc") == []


words = st.text(LETTERS + "z ", max_size=12)


@given(words, st.lists(words, max_size=8), st.integers(1, 4))
def test_a_score_depends_on_query_and_passage_alone(
    query: str, passages: list[str], threads: int
) -> None:
    together = MaxSimReranker(Letters(threads)).rerank(query, passages)

    assert together == [(scores(query, passage) or [])[0] for passage in passages]
    assert all(0 <= score <= 1 for score in together)


def test_the_name_says_which_model() -> None:
    reranker: Reranker = MaxSimReranker(Letters())

    assert reranker.name == "maxsim:letters.none.1"


def test_an_embedder_without_vectors_of_tokens_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'hash' has no vectors of tokens"):
        MaxSimReranker(HashEmbedder())


def test_a_model_that_pools_inside_its_graph_is_refused() -> None:
    class Pooled(Letters):
        @property
        def model(self) -> EmbeddingModel:
            return EmbeddingModel(
                name="pooled",
                revision="1",
                dimensions=8,
                max_tokens=512,
                quantization="none",
                pooling="none",
                query_prefix="",
                passage_prefix="",
            )

    with pytest.raises(InvalidInput, match="'pooled' has no vectors of tokens"):
        MaxSimReranker(Pooled())


def test_a_token_counts_by_what_its_word_tells() -> None:
    tells = {"a": 3.0, "b": 1.0}
    found = MaxSimReranker(Letters()).rerank("ab", ["a", "b", "ab"], telling=tells.__getitem__)

    assert found == [0.75, 0.25, 1.0]


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([" weather", " in", " Se", "oul", "?"], ["weather", "in", "Seoul", "Seoul", ""]),
        ([" state", "-", "of", "-", "art"], ["state", "", "of", "", "art"]),
        ([" ", "검색", "을", " Fast", "API", "で"], ["", "검색", "을", "FastAPI", "FastAPI", "で"]),
        ([], []),
    ],
)
def test_tokens_know_the_word_that_they_are_of(pieces: list[str], words: list[str]) -> None:
    assert words_of(pieces) == words


# An end when it is asked for.


def test_nothing_is_read_when_time_is_up_before_the_start() -> None:
    embedder = Letters()

    assert MaxSimReranker(embedder).rerank("a", ["a", "b"], stop=lambda: True) is None
    assert embedder.read == []


@pytest.mark.parametrize("threads", [1, 2])
def test_what_has_not_begun_is_not_read_after_stop(threads: int) -> None:
    over = threading.Event()

    def read() -> None:
        over.set()
        time.sleep(0.01)  # what a passage takes a model: the caller can notice meanwhile

    embedder = Letters(threads, on_read=read)

    found = MaxSimReranker(embedder).rerank("a", ["a"] * 500, stop=over.is_set)

    assert found is None
    # Between stop and its notice a few may have begun; most of them have not.
    assert len(embedder.read) < 400


def test_stop_after_the_last_passage_comes_too_late() -> None:
    over = threading.Event()
    embedder = Letters(on_read=over.set)

    assert MaxSimReranker(embedder).rerank("a", ["a"], stop=never) == [1.0]
    assert over.is_set()


def test_an_error_while_reading_is_raised() -> None:
    def fail() -> None:
        raise InvalidInput("no")

    with pytest.raises(InvalidInput, match="no"):
        MaxSimReranker(Letters(2, on_read=fail)).rerank("a", ["a", "b", "c"])


# Putting it together with the list.

any_scores = st.floats(-100, 100).map(lambda score: round(score, 6))
lists = st.lists(st.tuples(any_scores, st.floats(0, 1)), max_size=30)


@given(lists)
def test_a_blend_lies_above_all_that_was_not_read(rows: list[tuple[float, float]]) -> None:
    blended = blend([score for score, _ in rows], [read for _, read in rows])

    assert len(blended) == len(rows)
    assert all(0.5 <= score <= 1 for score in blended)
    assert all(0 <= below(score) < 0.5 for score, _ in rows)


@given(any_scores, any_scores)
def test_what_was_not_read_keeps_its_order(first: float, second: float) -> None:
    if first >= second:
        assert below(first) >= below(second)
    if first > second + 0.05:
        assert below(first) > below(second)


@given(lists, st.floats(0.1, 10), st.floats(-5, 5))
def test_a_blend_does_not_depend_on_the_scale_of_the_list(
    rows: list[tuple[float, float]], factor: float, shift: float
) -> None:
    """BM25, cosines and fused scores are all welcome."""
    listed, read = [score for score, _ in rows], [read for _, read in rows]
    moved = [score * factor + shift for score in listed]

    assert blend(moved, read) == pytest.approx(blend(listed, read), abs=1e-3)


def test_list_and_reading_count_one_to_two() -> None:
    assert blend([3.0, 2.0, 1.0], [1.0, 0.5, 0.5]) == [1.0, 0.583333, 0.5]
    assert blend([1.0, 0.0], [0.5, 1.0]) == [0.666667, 0.833333]


def test_a_list_counts_as_far_as_the_words_of_the_query_are_known() -> None:
    assert blend([1.0, 0.0], [0.5, 1.0], known=0.5) == [0.583333, 0.916667]
    assert blend([1.0, 0.0], [0.5, 0.8], known=0.0) == [0.5, 0.8]


def test_readings_that_are_alike_change_little() -> None:
    """Stretched, .01 of a cosine would be all the difference there can be."""
    first, second = blend([1.0, 0.0], [0.80, 0.81])

    assert first > second + 0.1


@given(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_who_reads_better_at_the_same_place_is_first(place: float, read: list[float]) -> None:
    blended = blend([place] * len(read), read)

    assert all(
        (blended[i] >= blended[j]) or read[i] < read[j]
        for i in range(len(read))
        for j in range(len(read))
    )


def test_what_is_equal_leaves_the_order_to_the_other() -> None:
    assert blend([0.4, 0.2], [0.5, 0.5]) == [0.666667, 0.5]
    assert blend([0.4, 0.2], [1.0, 1.0]) == [0.666667, 0.5]
    assert blend([0.4], [0.9]) == [0.5]
    assert blend([], []) == []


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        blend([0.1, 0.2], [0.5])


# Reading closely.


def test_each_part_of_a_passage_is_told_how_near_it_comes_to_each_token() -> None:
    reader: CloseReaderPort = CloseReader(Letters())

    read = reader.read("abc", [["ab", "cab", "xyz"], []])

    assert read is not None
    (first, second, none), empty = read
    assert (first.nearest, second.nearest, none.nearest) == ((1, 1, 0), (1, 1, 1), (0, 0, 0))
    assert empty == ()


def test_a_reading_ends_when_nobody_waits() -> None:
    embedder = Letters()

    assert CloseReader(embedder).read("a", [["a"]], stop=lambda: True) is None
    assert embedder.read == []


def test_an_embedder_without_vectors_of_tokens_does_not_read_closely() -> None:
    with pytest.raises(InvalidInput, match="no vectors of tokens, which reading closely needs"):
        CloseReader(HashEmbedder())
