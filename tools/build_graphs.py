"""Write the graphs of multilingual-e5-small that kb_search ships, or check them.

    python tools/build_graphs.py          write packages/kb-search/src/kb_search/embed/graphs
    python tools/build_graphs.py check    exit 1 if the committed graphs differ

There are two of each quality: the whole model, and its first layers, whose tokens are compared
where a passage is read closely (``docs/decisions/0012-reranking.md``).

A graph holds no weights: each tensor says where in the prepared ``weights.bin`` it lies,
as ``kb_search.embed.e5.tensors`` lays it out. ONNX files are protocol buffers, of which
four dozen lines here write what is needed, so that the check runs without the ``onnx``
package and the bytes do not change with its version.

The operators are those that onnxruntime's own optimiser would arrive at, chosen by
measurement, so that a session opens with the optimiser off: ``DynamicQuantizeMatMul``
with one matrix for query, key and value, ``MultiHeadAttention``, and plain ``Add`` and
``LayerNormalization`` (``SkipLayerNormalization`` is four times slower on the CPU). A run
takes one text and no padding, hence there is no attention mask. The input has no shape: of
values whose shapes are not known, onnxruntime does not plan which share memory, which takes most
of opening and saves none, as what is not needed any more is given back either way.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence
from itertools import product
from math import sqrt
from pathlib import Path

from kb_search.embed.e5 import (
    BLOCK,
    HEADS,
    HIDDEN,
    LAYERS,
    READ_LAYERS,
    Tensor,
    graph_name,
    layer_matrices,
    tensors,
)

__all__ = ["build_graph", "main"]

ROOT = Path(__file__).resolve().parent.parent
GRAPHS = ROOT / "packages/kb-search/src/kb_search/embed/graphs"
QUALITIES = ("int8", "fp32")

# Numbers of onnx.proto: element types, attribute types, the place of a tensor's data.
ELEMENT = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
FLOAT, INT = 1, 2
EXTERNAL = 1
OPSET, CONTRIB_OPSET, IR_VERSION = 20, 1, 10
CONTRIB = "com.microsoft"


def build_graph(quality: str, layers: int = LAYERS) -> bytes:
    """Return the ONNX file of the first *layers* of *quality*, ``int8`` or ``fp32``."""
    nodes = [*_embedding()]
    for layer in range(layers):
        nodes += _layer(layer, quality, last=layers - 1)
    constants = (
        _constant("zero", [0]),
        _constant("axis", [0]),
        _constant("thirds", [HIDDEN] * 3),
    )
    graph = (
        *(_bytes(1, node) for node in nodes),
        _text(2, f"multilingual-e5-small-{quality}"),
        *(_bytes(5, constant) for constant in constants),
        *(_bytes(5, _external(tensor)) for tensor in tensors(quality, layers)),
        _bytes(11, _value("input_ids", "int64")),
        _bytes(12, _value("last_hidden_state", "float32", [1, "tokens", HIDDEN])),
    )
    opsets = (_int(2, OPSET), _text(1, CONTRIB) + _int(2, CONTRIB_OPSET))
    return b"".join(
        (
            _int(1, IR_VERSION),
            _text(2, "kebab"),
            _bytes(7, b"".join(graph)),
            *(_bytes(8, opset) for opset in opsets),
        )
    )


# What the model computes.


def _embedding() -> Iterable[bytes]:
    yield _node(
        "GatherBlockQuantized",
        ["words.blocks", "input_ids", "words.scale"],
        ["word"],
        domain=CONTRIB,
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK,
        bits=4,
    )
    yield _node("Shape", ["input_ids"], ["n_tokens"], start=1, end=2)
    # A Gather over Range(n_tokens) is rewritten by onnxruntime to a Slice that fails.
    yield _node("Slice", ["positions", "zero", "n_tokens", "axis"], ["position"])
    yield from _add_and_norm("word", "position", "embedding_norm", "state.0")


def _layer(layer: int, quality: str, *, last: int) -> Iterable[bytes]:
    at = f"layer.{layer}"
    state = f"state.{layer}"
    following = "last_hidden_state" if layer == last else f"state.{layer + 1}"
    qkv, attention_out, expand, contract = (name for name, _, _ in layer_matrices(layer))
    yield from _linear(state, qkv, quality)
    parts = [f"{at}.query", f"{at}.key", f"{at}.value"]
    yield _node("Split", [f"{qkv}.out", "thirds"], parts, axis=-1)
    yield _node(
        "MultiHeadAttention",
        parts,
        [f"{at}.attention"],
        domain=CONTRIB,
        num_heads=HEADS,
        scale=1 / sqrt(HIDDEN / HEADS),
    )
    yield from _linear(f"{at}.attention", attention_out, quality)
    yield from _add_and_norm(f"{attention_out}.out", state, f"{at}.attention_norm", f"{at}.middle")
    yield from _linear(f"{at}.middle", expand, quality)
    yield _node("Gelu", [f"{expand}.out"], [f"{at}.gelu"])
    yield from _linear(f"{at}.gelu", contract, quality)
    yield from _add_and_norm(f"{contract}.out", f"{at}.middle", f"{at}.output_norm", following)


def _linear(source: str, name: str, quality: str) -> Iterable[bytes]:
    out = f"{name}.out"
    if quality == "int8":
        # The empty name is the zero point, which symmetric weights do not have.
        inputs = [source, f"{name}.weight", f"{name}.scale", "", f"{name}.bias"]
        yield _node("DynamicQuantizeMatMul", inputs, [out], domain=CONTRIB)
    else:
        yield _node("MatMul", [source, f"{name}.weight"], [f"{name}.product"])
        yield _node("Add", [f"{name}.product", f"{name}.bias"], [out])


def _add_and_norm(left: str, right: str, norm: str, out: str) -> Iterable[bytes]:
    yield _node("Add", [left, right], [f"{norm}.sum"])
    inputs = [f"{norm}.sum", f"{norm}.gain", f"{norm}.bias"]
    yield _node("LayerNormalization", inputs, [out], axis=-1, epsilon=1e-12)


# How ONNX writes it: messages of numbered fields, in protocol buffers' wire format.


def _node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    domain: str = "",
    **attributes: float,
) -> bytes:
    fields = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
    fields += [_text(3, outputs[0]), _text(4, operator)]
    fields += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join(fields) + (_text(7, domain) if domain else b"")


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _int(3, value) + _int(20, INT)
    return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _int(20, FLOAT)


def _constant(name: str, values: Sequence[int]) -> bytes:
    raw = struct.pack(f"<{len(values)}q", *values)
    return _int(1, len(values)) + _int(2, ELEMENT["int64"]) + _text(8, name) + _bytes(9, raw)


def _external(tensor: Tensor) -> bytes:
    place = {"location": "weights.bin", "offset": tensor.offset, "length": tensor.size}
    entries = (_text(1, key) + _text(2, str(value)) for key, value in place.items())
    return b"".join(
        (
            *(_int(1, size) for size in tensor.shape),
            _int(2, ELEMENT[tensor.dtype]),
            _text(8, tensor.name),
            *(_bytes(13, entry) for entry in entries),
            _int(14, EXTERNAL),
        )
    )


def _value(name: str, dtype: str, shape: Sequence[int | str] = ()) -> bytes:
    sizes = (_text(2, size) if isinstance(size, str) else _int(1, size) for size in shape)
    tensor = _int(1, ELEMENT[dtype])
    if shape:
        tensor += _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _int(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number is its two's complement in 64 bits
    out = bytearray()
    while value >> 7:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def main(words: Sequence[str]) -> int:
    """Write the graphs, or with ``check`` compare them; return the exit code."""
    differing = 0
    for quality, layers in product(QUALITIES, (LAYERS, READ_LAYERS)):
        path, graph = GRAPHS / graph_name(quality, layers), build_graph(quality, layers)
        if list(words) != ["check"]:
            path.write_bytes(graph)
        elif not path.is_file() or path.read_bytes() != graph:
            print(f"{path.relative_to(ROOT)} differs: run python tools/build_graphs.py")
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
