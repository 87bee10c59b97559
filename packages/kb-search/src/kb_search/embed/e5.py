"""multilingual-e5-small: the tensors it is run with, and how they come from its file.

``tensors`` lists what the graph of a quality needs, with the place of each tensor in the
prepared ``weights.bin``; ``tools/build_graphs.py`` writes the same places into the graph,
so that onnxruntime maps the file and copies nothing. ``arrays`` makes their contents:

* ``int8``: matrices in seven bits, with a scale per output column. Seven, because
  x86 processors without VNNI add pairs of 8-bit products in 16 bits and saturate. With
  seven bits no pair overflows, sums are exact on every machine, and the mean cosine to
  fp32 is .9966 instead of .9969.
* ``fp32``: the matrices as they are, dequantised.

The word embeddings stay in four bits in both: looking a word up dequantises it exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_search.embed.e5_file import BLOCK, Source

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "HEADS",
    "HIDDEN",
    "LAYERS",
    "PAGE",
    "WORDS",
    "Tensor",
    "arrays",
    "layer_matrices",
    "tensors",
]

HIDDEN, INNER, LAYERS, HEADS = 384, 1536, 12, 12
WORDS, POSITIONS = 250_037, 512
PAGE = 4096
"""Tensors begin on a page of their own, which is what lets onnxruntime map them."""

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


def tensors(quality: str) -> tuple[Tensor, ...]:
    """Return the tensors of the graph of *quality*, in the order of ``weights.bin``."""
    found, offset = [], 0
    for name, dtype, shape in _specs(quality):
        tensor = Tensor(name, dtype, shape, offset)
        found.append(tensor)
        offset = -(-(offset + tensor.size) // PAGE) * PAGE
    return tuple(found)


def _specs(quality: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    yield "words.blocks", "uint8", (WORDS, HIDDEN // 2)
    yield "words.scale", "float32", (WORDS, HIDDEN // BLOCK)
    yield "positions", "float32", (POSITIONS, HIDDEN)
    yield from _norm_specs("embedding_norm")
    for layer in range(LAYERS):
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
