"""Reading the best candidates once more, closely: late interaction with the embedder's model.

An embedding says of a whole passage what it is about. ``MaxSimReranker`` compares token by
token instead: each token of the query is held against the token of the passage that is
nearest to it, and the mean of these cosines, weighed by what each word of the query tells, is
the passage's score (MaxSim; Khattab and Zaharia, ColBERT, SIGIR 2020). The vectors of tokens
are those of the embedding model's first layers, so no second model is needed: later layers,
trained to be pooled, make the tokens of a text ever more alike (which layer compares words
best was asked for BERTScore, too; Zhang et al., ICLR 2020).

``CloseReader`` reads passages the same way and tells how each of their parts stands to the
query: what an answer is chosen by.

``blend`` puts these scores together with those of the list that was read, ``below`` gives
the place of what was not read. Why so, and what it brings: docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from kb_core.control import EmbeddingModel
from kb_core.errors import InvalidInput
from kb_core.ports import never
from kb_core.search import PartReading
from kb_search.analysis import cjk_runs

if TYPE_CHECKING:
    from kb_core.ports import Embedder

    Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

__all__ = [
    "DEPTH",
    "CloseReader",
    "MaxSimReranker",
    "TokenEmbedder",
    "below",
    "blend",
    "max_sim",
    "words_of",
]

_Passage = TypeVar("_Passage")
_Result = TypeVar("_Result")

DEPTH = 15
"""How many candidates are read: ten bring three quarters of the gain, twenty a twentieth more."""

_LISTED = 1 / 3
"""What the list counts against the reranker, where the index knows all words of the query.
With a half a tenth of the gain is lost; with a quarter a collection of abstracts loses by it."""

_LEAST = 0.05
"""What a sign tells that is of no word."""

_FLOOR = 0.5
"""Scores of what was read lie above, of what was not read below."""


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also tells the vectors of tokens; for any thread."""

    @property
    def model(self) -> EmbeddingModel: ...

    @property
    def threads(self) -> int:
        """How many passages are computed at once."""
        ...

    def compared_query(self, text: str, /) -> tuple[Array, list[str]]:
        """Return a row of length 1 per token of a query, perhaps none, and the letters of each.

        A space stands before letters that begin a word.
        """
        ...

    def compared_passage(self, text: str, /) -> Array:
        """Return a row of length 1 per token of a passage, perhaps none, as comparable ones."""
        ...

    def query_tokens(self, text: str, /) -> Array:
        """Return a row per token of a query as the model has it before it pools."""
        ...

    def part_tokens(self, parts: Sequence[str], /) -> list[Array]:
        """Return such rows of each part of one passage, read together."""
        ...


def _equally(_: str) -> float:
    return 1.0


class MaxSimReranker:
    """A ``Reranker`` over an embedder that is loaded already; for any thread.

    An embedder that has no vectors of tokens is refused with ``InvalidInput``.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = _token_embedder(embedder, "rerank", "reranking")

    @property
    def name(self) -> str:
        """What the scores depend on, apart from query and passage."""
        return f"maxsim:{self._embedder.model.key}"

    def rerank(
        self,
        query: str,
        passages: Sequence[str],
        /,
        *,
        telling: Callable[[str], float] = _equally,
        stop: Callable[[], bool] = never,
    ) -> list[float] | None:
        """Return a score in 0..1 per passage, or ``None`` if *stop* came before the last one.

        A token counts by what *telling* says of its word. *stop* is asked on the caller's
        thread, before the start and between passages; those that are being read then are
        waited for. A query or a passage without tokens has 0.
        """
        if stop():
            return None
        asked, pieces = self._embedder.compared_query(query)
        weights = [telling(word) if word else _LEAST for word in words_of(pieces)]

        def score(passage: str) -> float:
            return max_sim(asked, self._embedder.compared_passage(passage), weights)

        sizes = [len(passage) for passage in passages]
        return _side_by_side(score, passages, sizes, self._embedder.threads, stop)


class CloseReader:
    """A ``kb_core.ports.CloseReader`` over an embedder that is loaded already; for any thread.

    An embedder that has no vectors of tokens is refused with ``InvalidInput``.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._tokens = _token_embedder(embedder, "model", "reading closely")
        self._embed_query = embedder.embed_query

    def read(
        self,
        query: str,
        passages: Sequence[Sequence[str]],
        /,
        *,
        stop: Callable[[], bool] = never,
    ) -> list[tuple[PartReading, ...]] | None:
        """Return a reading per part of each passage, or ``None`` if *stop* came before the end."""
        if stop():
            return None
        asked = self._tokens.query_tokens(query)
        meant = np.frombuffer(self._embed_query(query), "<f4")

        def readings(parts: Sequence[str]) -> tuple[PartReading, ...]:
            rows = self._tokens.part_tokens(parts) if parts else []
            return tuple(_reading(asked, meant, part) for part in rows)

        sizes = [sum(map(len, parts)) for parts in passages]
        return _side_by_side(readings, passages, sizes, self._tokens.threads, stop)


def _reading(asked: Array, meant: Array, part: Array) -> PartReading:
    if not len(part) or not len(asked):
        return PartReading((0.0,) * len(asked), 0.0)
    nearest = np.einsum("qd,pd->qp", asked, part).max(axis=1)
    pooled = part.mean(axis=0)
    cosine = float(meant @ pooled) / max(float(np.linalg.norm(pooled)), 1e-12)
    return PartReading(tuple(round(float(near), 6) for near in nearest), round(cosine, 6))


def _token_embedder(embedder: Embedder, field: str, purpose: str) -> TokenEmbedder:
    model = embedder.model
    if not isinstance(embedder, TokenEmbedder) or model.pooling == "none":
        raise InvalidInput(
            f"embedding model {model.name!r} has no vectors of tokens, which {purpose} needs",
            hint=f"search without {purpose}, or set [embedding] model to another one",
            details={"field": field, "model": model.name},
        )
    return embedder


def _side_by_side(
    work: Callable[[_Passage], _Result],
    passages: Sequence[_Passage],
    sizes: Sequence[int],
    threads: int,
    stop: Callable[[], bool],
) -> list[_Result] | None:
    """Return what *work* makes of each passage, in order, or ``None`` if *stop* came first."""
    # Longest first: the threads then finish together.
    order = sorted(range(len(passages)), key=lambda i: -sizes[i])
    results: dict[int, _Result] = {}
    with ThreadPoolExecutor(threads, "kebab-rerank") as pool:
        try:
            futures = [pool.submit(work, passages[i]) for i in order]
            for place, future in zip(order, futures, strict=True):
                if stop():
                    return None
                results[place] = future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [results[i] for i in range(len(passages))]


def words_of(pieces: Sequence[str]) -> list[str]:
    """Return the word that each token of a query is of; empty for a sign that is of none.

    *pieces* are their letters, with a space before those that begin a word. In scripts that
    are written without spaces, each piece stands for itself.
    """
    words: list[list[str]] = []
    goes_on = False
    for piece in pieces:
        letters = piece.strip()
        is_word, alone = any(map(str.isalnum, letters)), bool(cjk_runs(letters))
        if goes_on and is_word and not alone and not piece.startswith(" "):
            words[-1].append(letters)
            words.append(words[-1])
        else:
            words.append([letters] if is_word else [])
        goes_on = is_word and not alone
    return ["".join(word) for word in words]


def max_sim(query: Array, passage: Array, weights: Sequence[float] | None = None) -> float:
    """Return the mean over *query*'s rows of the largest cosine with a row of *passage*.

    It is weighed by *weights*, one for each row.
    """
    if not len(query) or not len(passage):
        return 0.0
    # Not a matrix product: BLAS would start threads of its own, which wait for each other
    # where passages are read side by side.
    nearest = np.einsum("qd,pd->qp", query, passage).max(axis=1)
    return round(min(max(float(np.average(nearest, weights=weights)), 0.0), 1.0), 6)


def blend(scores: Sequence[float], reranked: Sequence[float], known: float = 1.0) -> list[float]:
    """Return what the first of a list are ordered by: one third its score, two its reading.

    Both are of the same chunks, in the same order. *known* is the share of the query's words
    that the index holds, and the list counts for as much: what matches by accident between
    two languages is what its order comes from otherwise. The list's scores, of whatever kind,
    are stretched to 0..1 over these chunks. What was read is taken as the share of the way from
    the worst of these chunks to a perfect 1: cosines of tokens differ in the second decimal
    only, and by how much depends on the model, but where a model finds all passages alike,
    stretching would let its noise speak as loudly as a difference. The result lies in .5..1,
    above every ``below``.
    """
    listed = _stretched(scores, max(scores, default=1.0))
    read = _stretched(reranked, 1.0)
    weight = _LISTED * known
    return [
        round(_FLOOR + (1 - _FLOOR) * (weight * here + (1 - weight) * there), 6)
        for here, there in zip(listed, read, strict=True)
    ]


def below(score: float) -> float:
    """Return the score of a chunk that was not read, from its score in the list.

    Higher stays higher, for any kind of score, and everything lies under .5.
    """
    return round(_FLOOR / 2 * (1 + score / (1 + abs(score))), 6)


def _stretched(values: Sequence[float], best: float) -> list[float]:
    worst = min(values, default=best)
    return [(value - worst) / (best - worst) if best > worst else 0.0 for value in values]
